/* late_products.c: a product that one sum in another block reads is computed there.
 *
 *     mul.lo.s32 %r1, %r9, 31;
 *     L: ...                          L: ...
 *        add.s32 %r2, %r1, %r8;   ->     mul.lo.s32 %r1, %r9, 31;
 *                                        add.s32 %r2, %r1, %r8;
 *
 * On today's cards the two are one operation there (IMAD, LEA, IMAD.WIDE: ptx/fusions.def), so
 * that the product costs nothing, also in a loop, and its register is free until then. ptxas
 * does so. What the product is computed from must live there anyway, or be a parameter or a size
 * of the launch, which late-operands reads where it is used. O(instructions), and liveness. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "analysis/live.h"
#include "ptx/expansion.h"

struct readers {
    uint32_t at;
    uint32_t *count, *last; /* of each register: instructions that read it; the last */
};

static void
note_read(void *user, int32_t reg, bool write, bool partial)
{
    struct readers *r = user;
    (void)partial;
    if (write || r->last[reg] == r->at + 1)
        return;
    r->count[reg]++;
    r->last[reg] = r->at + 1;
}

struct place {
    const struct ptx_func *f;
    const struct defs *defs;
    const struct live *live;
    uint32_t block;    /* of the sum */
    uint32_t from, to; /* the product, the sum */
    bool ok;
};

/* A parameter, or a size of the launch: a card's instructions take it from the constant bank. */
static bool
is_operand(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_LD ||
            (in->op == PTX_OP_MOV && in->ops[1].kind == PTX_OPD_SREG)) &&
           !ptx_machine_operations(in);
}

/* Whether the register lives where the sum is, whatever becomes of the product. */
static void
check_source(void *user, int32_t reg, bool write, bool partial)
{
    struct place *p = user;
    (void)partial;
    const int32_t at = p->defs->at[reg];
    if (write)
        return;
    if (at < 0 || !defs_reach(p->defs, reg, p->from) ||
        (!live_at_end(p->live, p->block, (uint32_t)reg) &&
         !is_operand(&p->f->body.v[at])))
        p->ok = false;
}

static bool
is_product(const struct ptx_inst *in)
{
    if (in->guard >= 0 || !rewrite_is_pure(in) || in->nops != 3 ||
        in->ops[0].kind != PTX_OPD_REG || in->ops[0].comp)
        return false;
    return (in->op == PTX_OP_MUL && in->mod[PTX_MG_PART] == PTX_PART_LO &&
            ptx_type_bytes(in->type[0]) == 4) ||
           (in->op == PTX_OP_SHL && in->ops[2].kind == PTX_OPD_IMM &&
            ptx_type_bytes(in->type[0]) == 4) ||
           (in->op == PTX_OP_MULW && ptx_type_bytes(in->type[0]) == 4);
}

static bool
is_sum_of(const struct ptx_inst *in, const struct ptx_inst *product)
{
    const unsigned bytes = product->op == PTX_OP_MULW ? 8 : 4;
    if (in->op != PTX_OP_ADD || in->guard >= 0 || ptx_type_bytes(in->type[0]) != bytes ||
        in->mod[PTX_MG_SAT] || in->mod[PTX_MG_CC] || in->ops[1].kind != PTX_OPD_REG ||
        in->ops[2].kind != PTX_OPD_REG)
        return false;
    return (in->ops[1].reg == product->ops[0].reg) !=
           (in->ops[2].reg == product->ops[0].reg);
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    struct live *live = live_new(x->cfg);
    struct readers r = {.count = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1),
                        .last = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1)};
    uint32_t *moved = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1), n = 0;
    uint64_t *gone = bitset_new(&mem, f->body.n + 1);
    for (r.at = 0; r.at < f->body.n; r.at++)
        if (!ptx_is_pseudo(&f->body.v[r.at]))
            defuse_each(&f->body.v[r.at], note_read, &r);
    for (uint32_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in) || !is_product(in))
            continue;
        const int32_t d = in->ops[0].reg;
        const uint32_t to = r.count[d] == 1 ? r.last[d] - 1 : i;
        if (x->defs->at[d] != (int32_t)i || x->cfg->block_of[to] == x->cfg->block_of[i] ||
            !is_sum_of(&f->body.v[to], in) || !defs_reach(x->defs, d, to) || moved[to])
            continue;
        struct place p = {f, x->defs, live, x->cfg->block_of[to], i, to, true};
        defuse_each(in, check_source, &p);
        if (!p.ok)
            continue;
        moved[to] = i + 1;
        bitset_add(gone, i);
        n++;
    }
    VEC(struct ptx_inst) to = {0};
    for (uint32_t i = 0; i < f->body.n && n; i++) {
        if (moved[i])
            *vec_push(&to) = f->body.v[moved[i] - 1];
        if (!bitset_has(gone, i))
            *vec_push(&to) = f->body.v[i];
    }
    if (n) {
        vec_take(&f->body, &to);
        *changed = true;
    }
    if (a->report && n)
        strbuf_printf(a->report, "%s: %u products are computed at their sums\n", f->name,
                      n);
    live_free(live);
    arena_free(&mem);
    return true;
}

const struct pass pass_late_products = {
    .name = "late-products",
    .meaning = "computes a product beside the one sum that reads it",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
