/* common_subexpressions.c: what was computed before is not computed twice.
 *
 * Two unguarded pure instructions with equal operands compute the same if every register
 * they read has one definition that reaches them (analysis/defs.h). Where the first
 * dominates the second, the second becomes a copy of the first's result (copy-propagation
 * and dead-code do the rest). Reads of kernel parameters, and of special registers that
 * do not change while a thread runs, count as pure. Blocks are visited in reverse
 * post-order, so dominators come first. Expected O(instructions) with a hash table, which
 * is only looked up in. */
#include "passes/pass.h"
#include "passes/rewrite.h"

struct table {
    int32_t *slot; /* instruction, -1: free */
    size_t n;      /* a power of two */
    int32_t *next; /* of an instruction: older one of the same slot */
};

static bool
constant_sreg(unsigned s)
{
    switch (s) {
    case PTX_SREG_TID:
    case PTX_SREG_NTID:
    case PTX_SREG_CTAID:
    case PTX_SREG_NCTAID:
    case PTX_SREG_LANEID:
    case PTX_SREG_GRIDID:
        return true;
    default:
        return false;
    }
}

/* May instruction i be compared with others at all? */
static bool
candidate(const struct ptx_func *f, const struct defs *defs, uint32_t i)
{
    const struct ptx_inst *in = &f->body.v[i];
    bool mov_sreg = in->op == PTX_OP_MOV && in->nops == 2 &&
                    in->ops[0].kind == PTX_OPD_REG && in->ops[1].kind == PTX_OPD_SREG &&
                    constant_sreg(in->ops[1].sreg);
    bool ld_param = in->op == PTX_OP_LD && f->is_entry && ptx_nops(in) == 2 &&
                    in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_PARAM && !in->mod[PTX_MG_VEC] &&
                    in->ops[0].kind == PTX_OPD_REG && in->ops[1].kind == PTX_OPD_ADDR &&
                    in->ops[1].var && in->ops[1].var->is_param && in->ops[1].reg < 0;
    if (in->guard >= 0 || !(mov_sreg || ld_param || rewrite_is_pure(in)))
        return false;
    return defs_single(defs, i);
}

static uint64_t
mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

static uint64_t
hash_operand(const struct ptx_operand *o)
{
    uint64_t h = mix(o->kind, (uint64_t)(uint32_t)o->reg);
    h = mix(h, o->imm ^ (uint64_t)o->off << 1);
    h = mix(h, (uint64_t)o->sreg << 16 | (uint64_t)o->comp << 8 | o->neg);
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        h = mix(h, hash_operand(&o->vec[k]));
    return h;
}

static uint64_t
hash_inst(const struct ptx_inst *in)
{
    uint64_t h = mix(in->op, in->nops);
    for (unsigned t = 0; t < in->ntypes; t++)
        h = mix(h, in->type[t]);
    for (unsigned i = 1; i < in->nops; i++)
        h = mix(h, hash_operand(&in->ops[i]));
    return h;
}

static bool
same_value(const struct ptx_func *f, const struct ptx_inst *a, const struct ptx_inst *b)
{
    if (a->op != b->op || a->nops != b->nops || a->ntypes != b->ntypes ||
        memcmp(a->type, b->type, a->ntypes) || memcmp(a->mod, b->mod, PTX_NMODGROUPS * sizeof *a->mod) ||
        f->regs.v[a->ops[0].reg].type != f->regs.v[b->ops[0].reg].type)
        return false;
    for (unsigned i = 1; i < a->nops; i++)
        if (!ptx_operand_same(&a->ops[i], &b->ops[i]))
            return false;
    return true;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    struct arena mem = {0};
    struct table t = {.n = 64};
    while (t.n < f->body.n)
        t.n *= 2;
    t.slot = ARENA_ARRAY(&mem, int32_t, t.n);
    t.next = ARENA_ARRAY(&mem, int32_t, f->body.n + 1);
    for (size_t i = 0; i < t.n; i++)
        t.slot[i] = -1;
    const struct cfg *g = x->cfg;
    for (uint32_t k = 0; k < g->nrpo; k++) {
        uint32_t b = g->rpo[k];
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++) {
            struct ptx_inst *in = &f->body.v[i];
            if (!candidate(f, x->defs, i))
                continue;
            int32_t *head = &t.slot[hash_inst(in) & (t.n - 1)], at = *head;
            while (at >= 0 && !(same_value(f, &f->body.v[at], in) &&
                                cfg_dominates(g, (int32_t)g->block_of[at], (int32_t)b)))
                at = t.next[at];
            bool is_copy = (in->op == PTX_OP_MOV || in->op == PTX_OP_MOVP) &&
                           in->ops[1].kind == PTX_OPD_REG;
            if (at >= 0 && !is_copy) {
                struct ptx_operand src = f->body.v[at].ops[0];
                rewrite_as_mov(f, in, &src);
                *changed = true;
                continue;
            }
            t.next[i] = *head;
            *head = (int32_t)i;
        }
    }
    arena_free(&mem);
    return true;
}

const struct pass pass_common_subexpressions = {
    .name = "common-subexpressions",
    .meaning = "what a dominating instruction computed is not computed twice",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
    .keeps = AN_CFG | AN_DEFS,
};
