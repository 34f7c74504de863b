/* multiply_add.c: a multiplication whose only use is an addition becomes one mad or fma.
 *
 * Integers: mul.lo and mul.wide with add of the product's type; always exact. Floating
 * point, only with float=yes and only where neither instruction states a rounding: the
 * ISA (9.7.3.5, 9.7.3.3) lets mul and add without a modifier be contracted and forbids it
 * for .rn. It rounds once instead of twice, so it is off unless asked for: other passes
 * never change results. The multiplication stays for dead-code; it must be in the block
 * of the addition, so that nothing is computed more often than before. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"

struct uses {
    uint32_t *n;    /* of each register: reads */
    uint32_t *sums; /* those by 64-bit sums that it may be a product of */
    bool floats, each;
};

static void
count(void *user, int32_t reg, bool write, bool partial)
{
    struct uses *u = user;
    (void)partial;
    u->n[reg] += !write;
}

static bool
is_sum(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_ADD || in->op == PTX_OP_ADDF || in->op == PTX_OP_ADDD) &&
           in->guard < 0 && in->nops == 3;
}

static void
note_sum(const struct ptx_inst *in, struct uses *u)
{
    if (!is_sum(in) || ptx_type_bytes(in->type[0]) != 8 || in->mod[PTX_MG_SAT] ||
        in->mod[PTX_MG_CC])
        return;
    for (unsigned k = 1; k < 3; k++)
        if (in->ops[k].kind == PTX_OPD_REG && !in->ops[k].comp && !in->ops[k].neg)
            u->sums[in->ops[k].reg]++;
}

/* The row of a multiply-add for this product and sum, PTX_NOPS: none. */
static enum ptx_op
fused(const struct ptx_inst *mul, const struct ptx_inst *add, bool floats)
{
    unsigned m = mul->type[0], s = add->type[0];
    if (mul->op == PTX_OP_MUL && add->op == PTX_OP_ADD && !add->mod[PTX_MG_SAT] &&
        mul->mod[PTX_MG_PART] == PTX_PART_LO && ptx_type_bytes(m) == ptx_type_bytes(s))
        return PTX_OP_MAD;
    if (mul->op == PTX_OP_MULW && add->op == PTX_OP_ADD && !add->mod[PTX_MG_SAT] &&
        ptx_type_bytes(s) == 2 * ptx_type_bytes(m))
        return PTX_OP_MADW;
    if (!floats || mul->mod[PTX_MG_RND] || add->mod[PTX_MG_RND] || mul->mod[PTX_MG_SAT] ||
        mul->mod[PTX_MG_FTZ] != add->mod[PTX_MG_FTZ])
        return PTX_NOPS;
    return mul->op == PTX_OP_MULF && add->op == PTX_OP_ADDF   ? PTX_OP_FMAF
           : mul->op == PTX_OP_MULD && add->op == PTX_OP_ADDD ? PTX_OP_FMAD
                                                              : PTX_NOPS;
}

/* Source of the multiplication: a literal, or a register that holds the same at i. */
static bool
still_there(const struct ptx_func *f, const struct pass_facts *x,
            const struct ptx_operand *o, uint32_t mul)
{
    (void)f;
    if (o->kind == PTX_OPD_REG)
        return !o->comp && !o->neg && defs_reach(x->defs, o->reg, mul);
    return o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_F32 || o->kind == PTX_OPD_F64;
}

static bool
combine(struct ptx_func *f, const struct pass_facts *x, struct ptx_inst *add, uint32_t i,
        unsigned which, const struct uses *u)
{
    const struct ptx_operand *p = &add->ops[which];
    if (p->kind != PTX_OPD_REG || p->comp || p->neg || !defs_reach(x->defs, p->reg, i) ||
        (u->n[p->reg] != 1 && !u->each))
        return false;
    uint32_t at = (uint32_t)x->defs->at[p->reg];
    const struct ptx_inst *mul = &f->body.v[at];
    const bool each =
        u->each && mul->op == PTX_OP_MULW && u->n[p->reg] == u->sums[p->reg];
    if (mul->guard >= 0 || mul->nops != 3 ||
        (!each && (u->n[p->reg] != 1 || x->cfg->block_of[at] != x->cfg->block_of[i])))
        return false;
    enum ptx_op op = fused(mul, add, u->floats);
    if (op == PTX_NOPS || !still_there(f, x, &mul->ops[1], at) ||
        !still_there(f, x, &mul->ops[2], at))
        return false;
    struct ptx_inst mad = ptx_inst_new(f->module, op, 4);
    mad.ntypes = 1;
    mad.type[0] = mul->type[0];
    mad.mod = mul->mod;
    if (op == PTX_OP_FMAF || op == PTX_OP_FMAD) {
        ptx_set_mod(f->module, &mad, PTX_MG_RND, PTX_RND_RN); /* fma has no default */
        ptx_set_mod(f->module, &mad, PTX_MG_SAT, add->mod[PTX_MG_SAT]);
    }
    mad.line = add->line;
    mad.col = add->col;
    mad.ops[0] = add->ops[0];
    mad.ops[1] = mul->ops[1];
    mad.ops[2] = mul->ops[2];
    mad.ops[3] = add->ops[3 - which];
    *add = mad;
    return true;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    const char *text = pass_arg(a, "float");
    bool floats = !strcmp(text, "yes");
    if (!floats && strcmp(text, "no"))
        return diag_error(diag, "pass multiply-add: float=%s: yes or no", text);
    struct arena mem = {0};
    struct uses u = {.n = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1),
                     .sums = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1),
                     .floats = floats,
                     .each = !strcmp(pass_arg(a, "each"), "yes")};
    for (size_t i = 0; i < f->body.n; i++) {
        defuse_each(&f->body.v[i], count, &u);
        note_sum(&f->body.v[i], &u);
    }
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst *in = &f->body.v[i];
        if (is_sum(in))
            *changed |= combine(f, x, in, (uint32_t)i, 1, &u) ||
                        combine(f, x, in, (uint32_t)i, 2, &u);
    }
    arena_free(&mem);
    return true;
}

static const struct pass_key keys[] = {
    {"float", "no", "yes: floating-point mul and add without a rounding, too"},
    {"each", "no",
     "yes: a wide product becomes a part of each sum, if sums alone read it"},
    {0}};

const struct pass pass_multiply_add = {
    .name = "multiply-add",
    .meaning = "mul whose only use is an add becomes mad (floats: fma, if asked for)",
    .keys = keys,
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
    .keeps = AN_CFG | AN_DEFS,
};
