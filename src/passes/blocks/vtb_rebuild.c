/* vtb_rebuild.c: the code of merged blocks: what distinguishes virtual blocks, their turns at
 * the ends of regions, their barriers (vtb.c says how). Cost: the instructions. */
#include "passes/blocks/vtb_int.h"

#include "passes/rewrite.h"

#include "analysis/uniform.h"

#include <string.h>

bool
vtb_replaces(const struct merge *m, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_SREG)
        return false;
    if (o->sreg == PTX_SREG_CTAID || o->sreg == PTX_SREG_NCTAID)
        return o->comp == m->dim;
    return (o->sreg == PTX_SREG_TID || o->sreg == PTX_SREG_NTID) && o->comp == 2;
}

struct ptx_operand
vtb_reg(int32_t r)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = r, .label = -1};
}

int32_t
vtb_emit(struct merge *m, enum ptx_op op, enum ptx_type type, struct ptx_operand a,
         struct ptx_operand b)
{
    int32_t r = ptx_reg_new(m->f, PTX_U32);
    struct ptx_inst in = ptx_inst_new(m->f->module, op, op == PTX_OP_MOV ? 2 : 3);
    in.ntypes = 1;
    in.type[0] = (uint8_t)type;
    in.ops[0] = vtb_reg(r);
    in.ops[1] = a;
    if (op != PTX_OP_MOV)
        in.ops[2] = b;
    if (op == PTX_OP_MUL)
        ptx_set_mod(m->f->module, &in, PTX_MG_PART, PTX_PART_LO);
    *vec_push(&m->to) = in;
    return r;
}

static int32_t
read_sreg(struct merge *m, unsigned sreg, unsigned comp)
{
    struct ptx_operand o = {.kind = PTX_OPD_SREG, .sreg = (uint16_t)sreg, .label = -1};
    o.comp = (uint8_t)comp;
    return vtb_emit(m, PTX_OP_MOV, PTX_U32, o, o);
}

/* A times the number n; folded where A is a number. */
static struct ptx_operand
times(struct merge *m, struct ptx_operand a, uint64_t n)
{
    if (a.kind == PTX_OPD_IMM)
        return rewrite_literal(a.imm * n);
    return n == 1 ? a : vtb_reg(vtb_emit(m, PTX_OP_MUL, PTX_U32, a, rewrite_literal(n)));
}

int32_t
vtb_compare(struct merge *m, unsigned cmp, struct ptx_operand a, struct ptx_operand b)
{
    struct ptx_inst in = ptx_inst_new(m->f->module, PTX_OP_SETP, 5);
    int32_t p = ptx_reg_new(m->f, PTX_PRED);
    in.ntypes = 1;
    in.type[0] = PTX_U32;
    ptx_set_mod(m->f->module, &in, PTX_MG_CMP, cmp);
    in.ops[0] = vtb_reg(p);
    in.ops[2] = a;
    in.ops[3] = b;
    *vec_push(&m->to) = in;
    return p;
}

static void
barrier(struct merge *m, int32_t guard, bool arrive, struct ptx_operand number,
        struct ptx_operand count)
{
    struct ptx_inst in = ptx_inst_new(m->f->module, PTX_OP_BAR, 2);
    if (arrive)
        ptx_set_mod(m->f->module, &in, PTX_MG_ARRIVE, PTX_ARRIVE_ARRIVE);
    else
        ptx_set_mod(m->f->module, &in, PTX_MG_SYNC, PTX_SYNC_SYNC);
    in.guard = guard;
    in.ops[0] = number;
    in.ops[1] = count;
    *vec_push(&m->to) = in;
}

/* A predicate for what virtual block v does up to a turn t; -1: it is always so. */
static int32_t
before_last(struct merge *m, bool from_own, unsigned t)
{
    struct ptx_operand rest = rewrite_literal(t);
    if (!from_own && m->live.kind != PTX_OPD_REG)
        return -1;
    if (from_own)
        rest = vtb_reg(vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(m->reg.v), rest));
    return vtb_compare(m, PTX_CMP_LT, rest, m->live);
}

static int32_t
has_before(struct merge *m, unsigned t)
{
    return vtb_compare(m, PTX_CMP_GE, vtb_reg(m->reg.v), rewrite_literal(t));
}

static void
take(struct merge *m)
{
    if (m->scheme == NAMED) {
        barrier(m, -1, false, vtb_reg(m->reg.take), m->pair);
        return;
    }
    for (unsigned t = 1; t < m->k; t++)
        if (m->scheme == VTB)
            barrier(m, has_before(m, t), false, rewrite_literal(0), m->all);
        else
            barrier(m, before_last(m, false, t), false, vtb_reg(m->reg.turn[t - 1]),
                    m->all);
}

static void
give(struct merge *m)
{
    if (m->scheme != VTB) {
        barrier(m, -1, true, vtb_reg(m->reg.give), m->scheme == PIPE ? m->all : m->pair);
        return;
    }
    barrier(m, -1, false, rewrite_literal(0), m->all);
    for (unsigned t = 1; t < m->k; t++)
        barrier(m, before_last(m, true, t), false, rewrite_literal(0), m->all);
}

/* Where the turns of the kernel begin, and before it ends. */
static void
start(struct merge *m)
{
    for (unsigned t = 1; t < m->k && m->scheme == PIPE; t++)
        barrier(m, has_before(m, t), false, rewrite_literal(t - 1), m->all);
    if (m->scheme == NAMED) {
        struct ptx_operand next = vtb_reg(
            vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(m->reg.v), rewrite_literal(1)));
        barrier(m, vtb_compare(m, PTX_CMP_EQ, next, m->live), true, vtb_reg(m->reg.give),
                m->pair);
    }
}

static void
finish(struct merge *m)
{
    for (unsigned t = 1; t < m->k && m->scheme == PIPE; t++)
        barrier(m, before_last(m, true, t), true, vtb_reg(m->reg.turn[t - 1]), m->all);
    if (m->scheme == NAMED)
        barrier(m, vtb_compare(m, PTX_CMP_EQ, vtb_reg(m->reg.v), rewrite_literal(0)),
                false, vtb_reg(m->reg.take), m->pair);
}

/* Threads of a virtual block: a number where it is known. */
static struct ptx_operand
count_threads(struct merge *m)
{
    const struct pass_launch *l = m->a->launch;
    const uint32_t *r = m->f->reqntid;
    if (l->kernel)
        return rewrite_literal((uint64_t)l->block[0] * l->block[1] * l->block[2]);
    if (r[0])
        return rewrite_literal((uint64_t)r[0] * (r[1] ? r[1] : 1) * m->depth);
    struct ptx_operand x = vtb_reg(read_sreg(m, PTX_SREG_NTID, 0));
    struct ptx_operand y = vtb_reg(read_sreg(m, PTX_SREG_NTID, 1));
    struct ptx_operand n = vtb_reg(vtb_emit(m, PTX_OP_MUL, PTX_U32, x, y));
    return times(m, n, m->depth);
}

/* Virtual blocks of this block that there are; those past the grid's end leave. */
static void
count_live(struct merge *m, struct ptx_operand first)
{
    m->live = rewrite_literal(m->k);
    if (!m->pad)
        return;
    struct ptx_operand grid = rewrite_literal(m->a->launch->grid[m->dim]);
    struct ptx_inst out = ptx_inst_new(m->f->module, PTX_OP_RET, 0);
    out.guard = vtb_compare(m, PTX_CMP_GE, vtb_reg(m->reg.ctaid), grid);
    *vec_push(&m->to) = out;
    int32_t left = vtb_emit(m, PTX_OP_SUB, PTX_U32, grid, first);
    m->live =
        vtb_reg(vtb_emit(m, PTX_OP_MIN, PTX_U32, vtb_reg(left), rewrite_literal(m->k)));
}

static struct ptx_operand
product(struct merge *m, struct ptx_operand a, struct ptx_operand b)
{
    if (b.kind == PTX_OPD_IMM)
        return times(m, a, b.imm);
    if (a.kind == PTX_OPD_IMM)
        return times(m, b, a.imm);
    return vtb_reg(vtb_emit(m, PTX_OP_MUL, PTX_U32, a, b));
}

/* Barrier v + n. */
static int32_t
numbered(struct merge *m, uint32_t n)
{
    return n ? vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(m->reg.v), rewrite_literal(n))
             : m->reg.v;
}

static void
prologue(struct merge *m)
{
    struct ptx_operand depth = rewrite_literal(m->depth);
    m->reg.v = m->reg.z = read_sreg(m, PTX_SREG_TID, 2);
    if (m->depth > 1) {
        m->reg.v = vtb_emit(m, PTX_OP_DIV, PTX_U32, vtb_reg(m->reg.z), depth);
        m->reg.z = vtb_emit(m, PTX_OP_REM, PTX_U32, vtb_reg(m->reg.z), depth);
    }
    struct ptx_operand first =
        times(m, vtb_reg(read_sreg(m, PTX_SREG_CTAID, m->dim)), m->k);
    m->reg.ctaid = vtb_emit(m, PTX_OP_ADD, PTX_U32, first, vtb_reg(m->reg.v));
    count_live(m, first);
    m->threads = count_threads(m);
    m->all = product(m, m->threads, m->live);
    m->pair = times(m, m->threads, 2);
    for (unsigned i = 0; i < m->nids; i++)
        m->reg.id[i] = numbered(m, vtb_barriers(m) + i * m->k);
    if (m->nasks)
        m->reg.yes = vtb_compare(m, PTX_CMP_GE, vtb_reg(m->reg.v), rewrite_literal(0));
    if (m->scheme == VTB)
        return;
    /* v - 1, and of the first one the last */
    struct ptx_operand v = vtb_reg(m->reg.v);
    int32_t down = vtb_emit(m, PTX_OP_SUB, PTX_U32, v, rewrite_literal(1));
    int32_t up = vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(down), m->live);
    int32_t before = vtb_emit(m, PTX_OP_MIN, PTX_U32, vtb_reg(down), vtb_reg(up));
    m->reg.give = m->scheme == NAMED ? m->reg.v : before;
    m->reg.take = before;
    for (unsigned t = 0; t + 1 < m->k && m->scheme == PIPE; t++) { /* v + t, round */
        int32_t at = numbered(m, t);
        int32_t over = vtb_emit(m, PTX_OP_SUB, PTX_U32, vtb_reg(at), m->live);
        m->reg.turn[t] = vtb_emit(m, PTX_OP_MIN, PTX_U32, vtb_reg(at), vtb_reg(over));
    }
}

static struct ptx_operand
replacement(struct merge *m, const struct ptx_operand *o)
{
    switch (o->sreg) {
    case PTX_SREG_TID:
        return m->depth > 1 ? vtb_reg(m->reg.z) : rewrite_literal(0);
    case PTX_SREG_NTID:
        return rewrite_literal(m->depth);
    case PTX_SREG_CTAID:
        return vtb_reg(m->reg.ctaid);
    default:
        if (m->pad)
            return rewrite_literal(m->a->launch->grid[m->dim]);
        return times(m, vtb_reg(read_sreg(m, PTX_SREG_NCTAID, m->dim)), m->k);
    }
}

static struct ptx_inst
rewritten(struct merge *m, struct ptx_inst in)
{
    for (unsigned k = 0; k < in.nops; k++)
        if (vtb_replaces(m, &in.ops[k])) {
            in.ops = ptx_operands_dup(m->f->module, in.ops, in.nops);
            in.ops[k] = replacement(m, &in.ops[k]);
        }
    if (ptx_inst_barrier(&in) < 0)
        return in;
    const unsigned at = (unsigned)ptx_inst_barrier(&in);
    const bool counted = at + 1 < in.nops && in.ops[at + 1].kind != PTX_OPD_NONE;
    unsigned i = 0;
    while (m->ids[i] != in.ops[at].imm)
        i++;
    struct ptx_operand *ops = in.ops;
    if (at + 1 >= in.nops) { /* room for the count */
        struct ptx_inst wide = ptx_inst_new(m->f->module, in.op, at + 2);
        memcpy(wide.ops, ops, in.nops * sizeof *ops);
        in.ops = wide.ops;
        in.nops = (uint8_t)(at + 2);
    } else {
        in.ops = ptx_operands_dup(m->f->module, ops, in.nops);
    }
    in.ops[at] = vtb_reg(m->reg.id[i]);
    if (!counted)
        in.ops[at + 1] = m->threads;
    return in;
}

/* -- the kernel -- */

/* From the first end of a region in the body to the next. */
static double
first_region_cost(const struct merge *m, const struct regions *r)
{
    double cost = 0;
    for (size_t i = 0; i < r->point.n; i++) {
        if (!r->point.v[i].take)
            continue;
        uint32_t end = i + 1 < r->point.n ? r->point.v[i + 1].at : (uint32_t)m->f->body.n;
        for (uint32_t k = r->point.v[i].at; k < end; k++)
            cost += vtb_cost_of(m, &m->f->body.v[k]);
        break;
    }
    return cost;
}

/* For vtb-pipe: the instruction of the first block before which later virtual blocks wait
 * for those that run ahead: `ahead` instructions before the first region, or as many as
 * take as long as that region, so that what a later virtual block computes is what overlaps
 * with it. */
static uint32_t
splitting_point(const struct merge *m, const struct cfg *g, const struct regions *r)
{
    const struct ptx_inst *last = &m->f->body.v[g->block[0].end - 1];
    uint32_t at = g->block[0].end;
    for (size_t i = 0; i < r->point.n; i++)
        if (r->point.v[i].take && r->point.v[i].at < at)
            at = r->point.v[i].at;
    double left = m->ahead < 0 ? first_region_cost(m, r) : m->ahead;
    if (at == g->block[0].end &&
        (cfg_targets(last, NULL, 0) || ptx_ops[last->op].flags & PTX_ENDS))
        at--;
    while (at > g->block[0].first && left >= 1) {
        const struct ptx_inst *in = &m->f->body.v[--at];
        left -= m->ahead < 0 ? vtb_cost_of(m, in) : !ptx_is_pseudo(in);
    }
    while (at < g->block[0].end && ptx_is_pseudo(&m->f->body.v[at]))
        at++;
    return at;
}

static bool
leaves(const struct ptx_inst *in)
{
    return in->op == PTX_OP_RET || in->op == PTX_OP_EXIT;
}

/* Whether no end of a region can follow block v of the flow graph, but could follow its
 * start: all threads of the grid come here equally often, and leave, or part for good. */
static bool
is_end(const struct cfg *g, const struct uniform *u, uint32_t v)
{
    const struct cfg_block *b = &g->block[v];
    if (b->rpo < 0 || u->block[v] != UNIFORM_GRID)
        return false;
    for (uint32_t e = 0; e < b->nsucc; e++)
        if (b->succ[e] >= 0 && (u->block[b->succ[e]] == UNIFORM_GRID || b->ipdom >= 0))
            return false;
    return true;
}

/* A thread's leave under a guard that is the same in the whole grid: the last turns, then
 * it leaves. */
static void
guarded_leave(struct merge *m, struct ptx_inst in)
{
    struct ptx_inst bra = ptx_inst_new(m->f->module, PTX_OP_BRA, 1);
    struct ptx_inst label = ptx_inst_new(m->f->module, PTX_OP_LABEL, 1);
    bra.ops[0].kind = label.ops[0].kind = PTX_OPD_LABEL;
    bra.ops[0].label = label.ops[0].label = ptx_label_new(m->f);
    bra.guard = in.guard;
    bra.guard_neg = !in.guard_neg;
    in.guard = -1;
    in.guard_neg = false;
    *vec_push(&m->to) = bra;
    finish(m);
    *vec_push(&m->to) = in;
    *vec_push(&m->to) = label;
}

/* p: whether any virtual block says yes. */
static int32_t
vote(struct merge *m, bool yes)
{
    struct ptx_inst in = ptx_inst_new(m->f->module, PTX_OP_BARREDP, 4);
    const int32_t p = ptx_reg_new(m->f, PTX_PRED);
    in.ntypes = 1;
    in.type[0] = PTX_PRED;
    ptx_set_mod(m->f->module, &in, PTX_MG_RED, PTX_RED_RED);
    ptx_set_mod(m->f->module, &in, PTX_MG_ATOMOP, PTX_ATOMOP_OR);
    in.ops[0] = vtb_reg(p);
    in.ops[1] = rewrite_literal(vtb_barriers(m) - 1);
    in.ops[2] = m->all;
    in.ops[3] = vtb_reg(m->reg.yes);
    in.ops[3].neg = !yes;
    *vec_push(&m->to) = in;
    return p;
}

/* A label, or a branch to one, taken where predicate `guard` (-1: always) is false. */
static void
jump(struct merge *m, enum ptx_op op, int32_t label, int32_t guard)
{
    struct ptx_inst in = ptx_inst_new(m->f->module, op, 1);
    in.ops[0].kind = PTX_OPD_LABEL;
    in.ops[0].label = label;
    in.guard = guard;
    in.guard_neg = guard >= 0;
    *vec_push(&m->to) = in;
}

/* Where virtual blocks meet that came to regions unequally often: turns for nothing, until
 * none asks for one. */
static void
meet(struct merge *m)
{
    const int32_t again = ptx_label_new(m->f), out = ptx_label_new(m->f);
    jump(m, PTX_OP_LABEL, again, -1);
    jump(m, PTX_OP_BRA, out, vote(m, false));
    take(m);
    give(m);
    jump(m, PTX_OP_BRA, again, -1);
    jump(m, PTX_OP_LABEL, out, -1);
}

static void
ends(struct merge *m, const struct regions *r, size_t *next, uint32_t i)
{
    for (; *next < r->point.n && r->point.v[*next].at == i; ++*next) {
        const struct region_point *p = &r->point.v[*next];
        if (p->take && m->asks[p->block])
            vote(m, true);
        if (p->take)
            take(m);
        else
            give(m);
    }
}

void
vtb_rebuild(struct merge *m, const struct region_facts *x)
{
    const struct cfg *g = x->cfg;
    const struct regions *r = x->regions;
    struct ptx_func *f = m->f;
    struct uniform *u = uniform_new(g);
    uint32_t split = m->scheme == PIPE ? splitting_point(m, g, r) : 0;
    size_t next = 0;
    prologue(m);
    if (m->parts)
        co_begin(m, x);
    for (uint32_t v = 0; v < g->n; v++) {
        const struct cfg_block *b = &g->block[v];
        const struct ptx_inst last = f->body.v[b->end - 1];
        const bool jumps = cfg_targets(&last, NULL, 0) || leaves(&last);
        const bool end = is_end(g, u, v);
        bool to_meet = m->meets[v];
        for (uint32_t i = b->first; i < b->end; i++) {
            if (i == split && v == 0)
                start(m);
            if (to_meet && !ptx_is_pseudo(&f->body.v[i])) {
                meet(m);
                to_meet = false;
            }
            ends(m, r, &next, i);
            /* may push what it needs: before the instruction itself */
            struct ptx_inst in = rewritten(m, f->body.v[i]);
            if (m->parts)
                co_rewrite(m, x, i, &in);
            if (end && jumps && i + 1 == b->end)
                finish(m);
            if (leaves(&in) && in.guard >= 0 && b->rpo >= 0 && !end &&
                u->block[v] == UNIFORM_GRID)
                guarded_leave(m, in);
            else
                *vec_push(&m->to) = in;
        }
        if (to_meet)
            meet(m);
        if (b->end == split && v == 0)
            start(m);
        /* after the block's last instruction, before the next one's labels */
        ends(m, r, &next, b->end);
        if (end && !jumps)
            finish(m);
    }
    uniform_free(u);
    vec_take(&f->body, &m->to);
}
