/* late_extensions.c: 32 unsigned bits are made 64 where they are read.
 *
 *     cvt.u64.u32 %rd1, %r1;               ...
 *     ...                          ->      cvt.u64.u32 %rd7, %r1;
 *     add.s64 %rd3, %rd2, %rd1;            add.s64 %rd3, %rd2, %rd7;
 *
 * A card's additions and shifts of 64 bits are two operations, and read RZ for a high half of zero:
 * ptxas (CUDA 13.0) has no register for it, and no operation (ptx/fusions.def, WIDEN). So each
 * instruction that reads such a value gets an extension of its own right before, if the 32 bits
 * still hold there (analysis/defs.h). Addresses need both halves in registers and keep theirs.
 * O(operands). */
#include "passes/pass.h"
#include "passes/rewrite.h"

struct late {
    struct ptx_func *f;
    const struct defs *defs;
    size_t nregs; /* of them; those made here stand after */
    uint32_t at;
    uint32_t *reads; /* of each register, those that are left */
    VEC(struct ptx_inst) body;
    size_t copies;
};

static bool
is_extension(const struct ptx_func *f, const struct ptx_inst *in)
{
    return in->op == PTX_OP_CVTII && in->guard < 0 && !in->mod[PTX_MG_SAT] &&
           ptx_types[in->type[0]].bytes == 8 && ptx_types[in->type[1]].bytes == 4 &&
           ptx_types[in->type[1]].kind == PTX_K_UINT && in->ops[0].kind == PTX_OPD_REG &&
           in->ops[1].kind == PTX_OPD_REG && !in->ops[0].comp && !in->ops[1].comp &&
           ptx_type_bytes(f->regs.v[in->ops[1].reg].type) == 4;
}

static bool
replace(void *user, struct ptx_inst *in, struct ptx_operand *o, unsigned index,
        bool in_list)
{
    struct late *l = user;
    (void)in;
    (void)index;
    if (o->kind != PTX_OPD_REG || in_list || (size_t)o->reg >= l->nregs ||
        !defs_reach(l->defs, o->reg, l->at))
        return false;
    const struct ptx_inst *def = &l->f->body.v[l->defs->at[o->reg]];
    if (!is_extension(l->f, def) || !defs_reach(l->defs, def->ops[1].reg, l->at))
        return false;
    struct ptx_inst own = *def;
    own.ops = ptx_operands_dup(l->f->module, def->ops, def->nops);
    own.ops[0].reg = ptx_reg_new(l->f, l->f->regs.v[o->reg].type);
    *vec_push(&l->body) = own;
    l->reads[o->reg]--;
    o->reg = own.ops[0].reg;
    l->copies++;
    return true;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    struct late l = {.f = f, .defs = x->defs, .nregs = f->regs.n};
    l.reads = rewrite_count_reads(f, &mem);
    vec_reserve(&l.body, f->body.n + 1);
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        l.at = (uint32_t)i;
        if (!ptx_is_pseudo(&in) && ptx_ops[in.op].unit == PTX_UNIT_ALU)
            rewrite_sources(&in, replace, &l);
        *vec_push(&l.body) = in;
    }
    size_t n = 0;
    for (size_t i = 0; i < l.body.n && l.copies; i++) {
        const struct ptx_inst *in = &l.body.v[i];
        if (ptx_is_pseudo(in) || !is_extension(f, in) ||
            (size_t)in->ops[0].reg >= l.nregs || l.reads[in->ops[0].reg])
            l.body.v[n++] = *in;
    }
    if (l.copies) {
        l.body.n = n;
        vec_take(&f->body, &l.body);
        *changed = true;
    } else {
        vec_free(&l.body);
    }
    if (a->report && l.copies)
        strbuf_printf(a->report, "%s: %zu extensions to 64 bits where they are read\n",
                      f->name, l.copies);
    arena_free(&mem);
    return true;
}

const struct pass pass_late_extensions = {
    .name = "late-extensions",
    .meaning =
        "unsigned 32 bits become 64 where they are read, as ptxas' high half is RZ",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
