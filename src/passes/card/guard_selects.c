/* guard_selects.c: a select of what one operation computes becomes that operation, guarded.
 *
 *     add.s32 %r2, %r1, 1;
 *     ...                                   ...
 *     selp.b32 %r3, %r3, %r2, %p1;    ->    @!%p1 add.s32 %r3, %r1, 1;
 *
 * ptxas (CUDA 13.0) does so where the operation stands in the select's block and nothing else
 * reads its result, and where the select's other source is a register that dies there or is its
 * destination; where both sources are such results, with the one that is computed later. Not
 * with loads, moves, MUFU, 64 bits, an IADD3 of three registers, negations that the select
 * takes along, and what branches. O(instructions). */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "analysis/live.h"
#include "base/bitset.h"
#include "ptx/expansion.h"

enum { NONE, FIRST, SECOND }; /* a source of a select: its operand's number */

struct guards {
    struct ptx_func *f;
    const struct cfg *g;
    const struct defs *defs;
    uint32_t *reads;   /* of each register */
    uint32_t *written; /* of each: instruction + 1 that wrote it last, in this block */
    uint8_t *dies;     /* of each select: bit k: its operand k is not read after it */
    uint8_t *which;    /* of each select: the source that becomes a guarded operation */
    uint64_t *gone;    /* instructions that stand at their select */
    size_t n;
};

static bool
is_select(const struct ptx_func *f, const struct ptx_inst *in)
{
    return in->op == PTX_OP_SELP && in->guard < 0 && ptx_type_bytes(in->type[0]) == 4 &&
           in->ops[0].kind == PTX_OPD_REG && in->ops[3].kind == PTX_OPD_REG &&
           ptx_type_bytes(f->regs.v[in->ops[0].reg].type) == 4;
}

/* -- what dies -- */

static void
find_deaths(struct guards *x, const struct live *live, struct live_set *set, uint32_t v)
{
    const struct cfg_block *b = &x->g->block[v];
    live_set_end(live, v, set);
    for (uint32_t i = b->end; i-- > b->first;) {
        const struct ptx_inst *in = &x->f->body.v[i];
        for (unsigned k = FIRST; k <= SECOND && is_select(x->f, in); k++)
            if (in->ops[k].kind == PTX_OPD_REG &&
                !live_has(set, (uint32_t)in->ops[k].reg))
                x->dies[i] |= (uint8_t)(1u << k);
        live_step_back(in, set);
    }
}

/* -- which selects -- */

/* Whether the result of another sum, which nothing else reads, is a source: an IADD3. */
static bool
sums_a_sum(const struct guards *x, const struct ptx_inst *in)
{
    for (unsigned k = 1; k < in->nops; k++) {
        const int32_t r = in->ops[k].kind == PTX_OPD_REG ? in->ops[k].reg : -1;
        if (r < 0 || x->reads[r] != 1 || x->defs->at[r] < 0)
            continue;
        const enum ptx_op op = x->f->body.v[x->defs->at[r]].op;
        if (op == PTX_OP_ADD || op == PTX_OP_SUB)
            return true;
    }
    return false;
}

static bool
takes_guard(const struct guards *x, const struct ptx_inst *in)
{
    if (in->guard >= 0 || in->power || !rewrite_is_pure(in) || ptx_machine_branches(in) ||
        in->mod[PTX_MG_CC] || ptx_ops[in->op].flags & PTX_CCIN ||
        ptx_ops[in->op].latency == PTX_LAT_SFU || !ptx_machine_operations(in))
        return false;
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_NEGF: /* FSEL has a sign */
    case PTX_OP_NEGH:
    case PTX_OP_ABSF:
    case PTX_OP_ABSH:
        return false;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return !sums_a_sum(x, in);
    default:
        return true;
    }
}

static bool
is_kept(const struct guards *x, const struct ptx_operand *o, uint32_t since)
{
    return o->kind != PTX_OPD_REG ? o->kind != PTX_OPD_VEC && o->kind != PTX_OPD_ADDR
                                  : x->written[o->reg] <= since + 1;
}

/* The instruction that computes source k of select i and can stand in its place; -1: none. */
static int32_t
computes(const struct guards *x, const struct cfg_block *b, uint32_t i, unsigned k)
{
    const struct ptx_inst *select = &x->f->body.v[i];
    const struct ptx_operand *o = &select->ops[k],
                             *old = &select->ops[FIRST + SECOND - k];
    if (o->kind != PTX_OPD_REG || o->comp || x->reads[o->reg] != 1 ||
        old->kind != PTX_OPD_REG || old->comp || old->reg == o->reg)
        return -1;
    const int32_t at = x->defs->at[o->reg];
    if (at < (int32_t)b->first || at >= (int32_t)i || bitset_has(x->gone, (size_t)at) ||
        x->which[at])
        return -1;
    const struct ptx_inst *in = &x->f->body.v[at];
    if (!takes_guard(x, in) || in->ops[0].kind != PTX_OPD_REG || in->ops[0].comp ||
        ptx_type_bytes(x->f->regs.v[o->reg].type) != 4 ||
        ptx_type_bytes(x->f->regs.v[old->reg].type) != 4)
        return -1;
    const bool same = old->reg == select->ops[0].reg;
    if (!same && !(x->dies[i] >> (FIRST + SECOND - k) & 1))
        return -1;
    for (unsigned s = 1; s < in->nops; s++)
        if (!is_kept(x, &in->ops[s], (uint32_t)at) ||
            (!same && in->ops[s].kind == PTX_OPD_REG &&
             in->ops[s].reg == select->ops[0].reg))
            return -1;
    return at;
}

static void
note_write(void *user, int32_t r, bool write, bool partial)
{
    struct guards *x = user;
    (void)partial;
    if (write)
        x->written[r] = x->written[x->f->regs.n];
}

static void
choose(struct guards *x, uint32_t v)
{
    const struct cfg_block *b = &x->g->block[v];
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct ptx_inst *in = &x->f->body.v[i];
        if (is_select(x->f, in)) {
            const int32_t first = computes(x, b, i, FIRST),
                          second = computes(x, b, i, SECOND);
            if (first >= 0 || second >= 0) {
                x->which[i] = first > second ? FIRST : SECOND;
                bitset_add(x->gone, (size_t)(first > second ? first : second));
                x->n++;
            }
        }
        x->written[x->f->regs.n] = i + 1;
        defuse_each(in, note_write, x);
    }
}

/* -- code -- */

static void
write_code(struct guards *x)
{
    VEC(struct ptx_inst) to = {0};
    for (uint32_t i = 0; i < x->f->body.n; i++) {
        const struct ptx_inst *in = &x->f->body.v[i];
        if (bitset_has(x->gone, i))
            continue;
        if (!x->which[i]) {
            *vec_push(&to) = *in;
            continue;
        }
        const unsigned k = x->which[i];
        const struct ptx_operand *old = &in->ops[FIRST + SECOND - k];
        if (old->reg != in->ops[0].reg) {
            struct ptx_inst copy = ptx_inst_new(x->f->module, PTX_OP_MOV, 2);
            copy.ntypes = 1;
            copy.type[0] = PTX_B32;
            copy.line = in->line;
            copy.col = in->col;
            copy.ops[0] = in->ops[0];
            copy.ops[1] = *old;
            *vec_push(&to) = copy;
        }
        struct ptx_inst op = x->f->body.v[x->defs->at[in->ops[k].reg]];
        op.ops[0] = in->ops[0];
        op.guard = in->ops[3].reg;
        op.guard_neg = (k == SECOND) != in->ops[3].neg;
        *vec_push(&to) = op;
    }
    vec_take(&x->f->body, &to);
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    bool any = false;
    for (size_t i = 0; i < f->body.n && !any; i++)
        any = is_select(f, &f->body.v[i]);
    if (!any)
        return true;
    struct arena mem = {0};
    struct guards x = {.f = f, .g = facts->cfg, .defs = facts->defs};
    x.reads = rewrite_count_reads(f, &mem);
    x.written = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    x.dies = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    x.which = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    x.gone = bitset_new(&mem, f->body.n + 1);
    struct live_set set = live_set_new(&mem, facts->live->nregs);
    for (uint32_t v = 0; v < x.g->n; v++)
        if (x.g->block[v].rpo >= 0) {
            find_deaths(&x, facts->live, &set, v);
            choose(&x, v);
        }
    if (x.n)
        write_code(&x);
    *changed = x.n;
    if (a->report && x.n)
        strbuf_printf(a->report, "%s: %zu selects become guarded operations\n", f->name,
                      x.n);
    arena_free(&mem);
    return true;
}

const struct pass pass_guard_selects = {
    .name = "guard-selects",
    .meaning = "a select of what one operation computes becomes that operation, guarded",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS | AN_LIVE,
};
