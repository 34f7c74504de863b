/* vtb.c: virtual thread blocks (003 section 4.1 and 4.2): blocks are merged into one that
 * has one block's scratchpad, and take turns in the parts of the code that use it
 * (analysis/regions.h). A block of the original is then a virtual block.
 *
 * Virtual blocks are told apart by the depth of the merged block, so that warps keep their
 * threads. With K of them, of depth Z, merged along x:
 *
 *     v = %tid.z / Z          which virtual block; %tid.z -> %tid.z % Z, %ntid.z -> Z
 *     %ctaid.x -> K * %ctaid.x + v                 %nctaid.x -> K * %nctaid.x
 *     bar.sync i -> bar.sync own(i, v), threads of a virtual block
 *
 * Turns. All three passes have one code for all virtual blocks, and differ in the barriers
 * at the ends of a region. Every virtual block passes the ends equally often (regions.h),
 * so these barriers always meet their partners.
 *
 *     vtb        take: v times bar.sync 0        give: K - v times bar.sync 0
 *                Everybody waits until all had their turn; virtual block v has the turn
 *                between the v-th and the next of K + 1 points in time.
 *     vtb-pipe   start: v times                  take: K - 1 times
 *                give: once                      end: K - 1 - v times
 *                A virtual block waits only before its turn. What it computes after one
 *                region overlaps the others' turns. With two, virtual block 1 starts when 0
 *                is in its first region: `ahead` instructions before region 1 (the
 *                splitting point).
 *     vtb-named  take: bar.sync h(v - 1)         give: bar.arrive h(v)
 *                The scratchpad goes round like a token; barrier h(v) joins the one that
 *                gives and the one that takes, twice a virtual block's threads. The last
 *                virtual block sends the first token at the start, the first one receives
 *                the last token at the end. Nobody else waits.
 *
 * A grid that K does not divide is rounded up; virtual blocks past its end leave at once,
 * and the others are counted (`live`). That needs the grid's size, so code for a known
 * launch only. Blocks must be whole warps: barriers count those. */
#include "passes/region_shrink.h"
#include "passes/rewrite.h"
#include "passes/shape.h"

#include "analysis/uniform.h"
#include "ptx/note.h"

#include <string.h>

enum { MOST_BLOCKS = 8, BARRIERS = 16, MOST_DEPTH = 64 };
enum scheme { VTB, PIPE, NAMED };

typedef VEC(struct ptx_inst) body_t;

struct merge {
    struct ptx_func *f;
    const struct pass_args *a;
    enum scheme scheme;
    unsigned k;             /* virtual blocks of a block */
    unsigned dim;           /* of the grid, that shrinks */
    unsigned depth;         /* of a virtual block */
    unsigned pad;           /* virtual blocks past the grid's end */
    uint32_t ids[BARRIERS]; /* numbers of barriers in the original code */
    unsigned nids;
    double ahead;
    unsigned moved[2]; /* instructions before regions, and behind them */
    body_t to;
    struct {
        int32_t v, z, ctaid, id[BARRIERS], give, take;
    } reg; /* v: number of the virtual block, z: %tid.z; -1: none */
    struct ptx_operand live, threads, all,
        pair; /* virtual blocks; threads of one, of all,
                                                    * of two */
};

/* -- what is refused -- */

static bool
replaced(const struct merge *m, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_SREG)
        return false;
    if (o->sreg == PTX_SREG_CTAID || o->sreg == PTX_SREG_NCTAID)
        return o->comp == m->dim;
    return (o->sreg == PTX_SREG_TID || o->sreg == PTX_SREG_NTID) && o->comp == 2;
}

static const char *
add_number(struct merge *m, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_IMM || o->imm >= BARRIERS)
        return "the number of a barrier is in a register";
    for (unsigned i = 0; i < m->nids; i++)
        if (m->ids[i] == o->imm)
            return NULL;
    m->ids[m->nids++] = (uint32_t)o->imm;
    return NULL;
}

static const char *
code_refuses(struct merge *m)
{
    const struct ptx_func *f = m->f;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        const char *why = NULL;
        const int number = ptx_inst_barrier(in);
        if (number >= 0)
            why = add_number(m, &in->ops[number]);
        else if (in->op == PTX_OP_SALLOC)
            why = "it allocates its scratchpad while it runs";
        for (unsigned k = 0; k < in->nops && !why; k++) {
            const struct ptx_operand *o = &in->ops[k];
            bool whole = o->kind == PTX_OPD_SREG && o->sreg <= PTX_SREG_NCTAID;
            if (rewrite_numbers_warps(o))
                why = "it reads the number of its warp or the size of its scratchpad";
            else if (whole && !rewrite_reads_word(in))
                why = "it reads its place other than by mov.u32";
        }
        if (why)
            return why;
    }
    unsigned own = m->scheme == NAMED ? m->k : 1;
    if (own + m->nids * m->k > BARRIERS)
        return "there are 16 barriers, and it would need more";
    if (f->module->sm < 20)
        return "its target has no barriers for a part of a block (they need sm_20)";
    return f->attrs.n ? "its blocks are clusters" : NULL;
}

/* -- the launch -- */

static const char *
no_launch(struct merge *m)
{
    const struct ptx_func *f = m->f;
    m->depth = f->reqntid[0] && f->reqntid[2] ? f->reqntid[2] : 1;
    m->dim = 0;
    uint32_t threads = f->reqntid[0] * (f->reqntid[1] ? f->reqntid[1] : 1) * m->depth;
    return threads % 32 ? "its blocks are no whole warps" : NULL;
}

/* Chooses the dimension along which blocks are merged: one that is divided, else the
 * longest. */
static const char *
launch_refuses(struct merge *m, double most)
{
    const struct pass_launch *l = m->a->launch;
    if (!l->kernel)
        return no_launch(m);
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    unsigned longest = 0;
    m->depth = l->block[2];
    m->dim = 3;
    for (unsigned d = 3; d-- > 0;) {
        longest = l->grid[d] >= l->grid[longest] ? d : longest;
        if (l->grid[d] && l->grid[d] % m->k == 0)
            m->dim = d;
    }
    if (m->dim == 3)
        m->dim = longest;
    const uint32_t along = l->grid[m->dim];
    m->pad = (m->k - along % m->k) % m->k;
    if (along < 2)
        return "the grid has one block";
    if (threads % 32)
        return "its blocks are no whole warps";
    if (m->depth * m->k > MOST_DEPTH)
        return "merged blocks would be too deep";
    return (double)(threads * m->k) > most ? "merged blocks would be too large" : NULL;
}

/* -- code -- */

static struct ptx_operand
reg(int32_t r)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = r, .label = -1};
}

static int32_t
emit(struct merge *m, enum ptx_op op, enum ptx_type type, struct ptx_operand a,
     struct ptx_operand b)
{
    int32_t r = ptx_reg_new(m->f, PTX_U32);
    struct ptx_inst in = ptx_inst_new(m->f->module, op, op == PTX_OP_MOV ? 2 : 3);
    in.ntypes = 1;
    in.type[0] = (uint8_t)type;
    in.ops[0] = reg(r);
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
    return emit(m, PTX_OP_MOV, PTX_U32, o, o);
}

/* A times the number n; folded where A is a number. */
static struct ptx_operand
times(struct merge *m, struct ptx_operand a, uint64_t n)
{
    if (a.kind == PTX_OPD_IMM)
        return rewrite_literal(a.imm * n);
    return n == 1 ? a : reg(emit(m, PTX_OP_MUL, PTX_U32, a, rewrite_literal(n)));
}

static int32_t
compare(struct merge *m, unsigned cmp, struct ptx_operand a, struct ptx_operand b)
{
    struct ptx_inst in = ptx_inst_new(m->f->module, PTX_OP_SETP, 5);
    int32_t p = ptx_reg_new(m->f, PTX_PRED);
    in.ntypes = 1;
    in.type[0] = PTX_U32;
    ptx_set_mod(m->f->module, &in, PTX_MG_CMP, cmp);
    in.ops[0] = reg(p);
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

/* bar.sync 0 of all virtual blocks, `n` times less or more v times, between none and
 * K - 1 of them: sign 1: v times; -1: live - 1 - v times; 0: live - 1 times. */
static void
turns(struct merge *m, int sign)
{
    for (unsigned t = 1; t < m->k; t++) {
        int32_t p = -1;
        if (sign > 0)
            p = compare(m, PTX_CMP_GE, reg(m->reg.v), rewrite_literal(t));
        else if (sign < 0 || m->live.kind == PTX_OPD_REG) {
            struct ptx_operand rest = rewrite_literal(t);
            if (sign < 0) /* v + t < live */
                rest = reg(emit(m, PTX_OP_ADD, PTX_U32, reg(m->reg.v), rest));
            p = compare(m, PTX_CMP_LT, rest, m->live);
        }
        barrier(m, p, false, rewrite_literal(0), m->all);
    }
}

static void
take(struct merge *m)
{
    if (m->scheme == NAMED)
        barrier(m, -1, false, reg(m->reg.take), m->pair);
    else
        turns(m, m->scheme == VTB ? 1 : 0);
}

static void
give(struct merge *m)
{
    if (m->scheme == NAMED) {
        barrier(m, -1, true, reg(m->reg.give), m->pair);
        return;
    }
    barrier(m, -1, false, rewrite_literal(0), m->all);
    if (m->scheme == VTB)
        turns(m, -1);
}

/* Where the turns of the kernel begin, and before it ends. */
static void
start(struct merge *m)
{
    if (m->scheme == PIPE)
        turns(m, 1);
    if (m->scheme == NAMED) {
        struct ptx_operand next =
            reg(emit(m, PTX_OP_ADD, PTX_U32, reg(m->reg.v), rewrite_literal(1)));
        barrier(m, compare(m, PTX_CMP_EQ, next, m->live), true, reg(m->reg.give),
                m->pair);
    }
}

static void
finish(struct merge *m)
{
    if (m->scheme == PIPE)
        turns(m, -1);
    if (m->scheme == NAMED)
        barrier(m, compare(m, PTX_CMP_EQ, reg(m->reg.v), rewrite_literal(0)), false,
                reg(m->reg.take), m->pair);
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
    struct ptx_operand x = reg(read_sreg(m, PTX_SREG_NTID, 0));
    struct ptx_operand y = reg(read_sreg(m, PTX_SREG_NTID, 1));
    struct ptx_operand n = reg(emit(m, PTX_OP_MUL, PTX_U32, x, y));
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
    out.guard = compare(m, PTX_CMP_GE, reg(m->reg.ctaid), grid);
    *vec_push(&m->to) = out;
    int32_t left = emit(m, PTX_OP_SUB, PTX_U32, grid, first);
    m->live = reg(emit(m, PTX_OP_MIN, PTX_U32, reg(left), rewrite_literal(m->k)));
}

static struct ptx_operand
product(struct merge *m, struct ptx_operand a, struct ptx_operand b)
{
    if (b.kind == PTX_OPD_IMM)
        return times(m, a, b.imm);
    if (a.kind == PTX_OPD_IMM)
        return times(m, b, a.imm);
    return reg(emit(m, PTX_OP_MUL, PTX_U32, a, b));
}

/* Barrier v + n. */
static int32_t
numbered(struct merge *m, uint32_t n)
{
    return n ? emit(m, PTX_OP_ADD, PTX_U32, reg(m->reg.v), rewrite_literal(n)) : m->reg.v;
}

static void
prologue(struct merge *m)
{
    struct ptx_operand depth = rewrite_literal(m->depth);
    m->reg.v = m->reg.z = read_sreg(m, PTX_SREG_TID, 2);
    if (m->depth > 1) {
        m->reg.v = emit(m, PTX_OP_DIV, PTX_U32, reg(m->reg.z), depth);
        m->reg.z = emit(m, PTX_OP_REM, PTX_U32, reg(m->reg.z), depth);
    }
    struct ptx_operand first = times(m, reg(read_sreg(m, PTX_SREG_CTAID, m->dim)), m->k);
    m->reg.ctaid = emit(m, PTX_OP_ADD, PTX_U32, first, reg(m->reg.v));
    count_live(m, first);
    m->threads = count_threads(m);
    m->all = product(m, m->threads, m->live);
    m->pair = times(m, m->threads, 2);
    unsigned own = m->scheme == NAMED ? m->k : 1;
    for (unsigned i = 0; i < m->nids; i++)
        m->reg.id[i] = numbered(m, own + i * m->k);
    if (m->scheme != NAMED)
        return;
    /* takes from v - 1, the first one from the last */
    struct ptx_operand n = m->live;
    struct ptx_operand before = reg(emit(m, PTX_OP_ADD, PTX_U32, reg(m->reg.v), n));
    before = reg(emit(m, PTX_OP_SUB, PTX_U32, before, rewrite_literal(1)));
    m->reg.give = m->reg.v;
    m->reg.take = emit(m, PTX_OP_REM, PTX_U32, before, n);
}

static struct ptx_operand
replacement(struct merge *m, const struct ptx_operand *o)
{
    switch (o->sreg) {
    case PTX_SREG_TID:
        return m->depth > 1 ? reg(m->reg.z) : rewrite_literal(0);
    case PTX_SREG_NTID:
        return rewrite_literal(m->depth);
    case PTX_SREG_CTAID:
        return reg(m->reg.ctaid);
    default:
        if (m->pad)
            return rewrite_literal(m->a->launch->grid[m->dim]);
        return times(m, reg(read_sreg(m, PTX_SREG_NCTAID, m->dim)), m->k);
    }
}

static struct ptx_inst
rewritten(struct merge *m, struct ptx_inst in)
{
    for (unsigned k = 0; k < in.nops; k++)
        if (replaced(m, &in.ops[k])) {
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
    in.ops[at] = reg(m->reg.id[i]);
    if (!counted)
        in.ops[at + 1] = m->threads;
    return in;
}

/* -- the kernel -- */

/* For vtb-pipe: the instruction of the first block before which later virtual blocks wait
 * for those that run ahead: `ahead` instructions before the first region. */
static uint32_t
splitting_point(const struct merge *m, const struct cfg *g, const struct regions *r)
{
    uint32_t at = g->block[0].end;
    for (size_t i = 0; i < r->point.n; i++)
        if (r->point.v[i].take && r->point.v[i].at < at)
            at = r->point.v[i].at;
    double left = m->ahead;
    const struct ptx_inst *last = &m->f->body.v[g->block[0].end - 1];
    if (at == g->block[0].end &&
        (cfg_targets(last, NULL, 0) || ptx_ops[last->op].flags & PTX_ENDS))
        at--;
    while (at > g->block[0].first && left >= 1)
        left -= !ptx_is_pseudo(&m->f->body.v[--at]);
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

static void
ends(struct merge *m, const struct regions *r, size_t *next, uint32_t i)
{
    for (; *next < r->point.n && r->point.v[*next].at == i; ++*next)
        if (r->point.v[*next].take)
            take(m);
        else
            give(m);
}

static void
rebuild(struct merge *m, const struct cfg *g, const struct regions *r)
{
    struct ptx_func *f = m->f;
    struct uniform *u = uniform_new(g);
    uint32_t split = m->scheme == PIPE ? splitting_point(m, g, r) : 0;
    size_t next = 0;
    prologue(m);
    for (uint32_t v = 0; v < g->n; v++) {
        const struct cfg_block *b = &g->block[v];
        const struct ptx_inst last = f->body.v[b->end - 1];
        const bool jumps = cfg_targets(&last, NULL, 0) || leaves(&last);
        const bool end = is_end(g, u, v);
        for (uint32_t i = b->first; i < b->end; i++) {
            if (i == split)
                start(m);
            ends(m, r, &next, i);
            /* may push what it needs: before the instruction itself */
            struct ptx_inst in = rewritten(m, f->body.v[i]);
            if (end && jumps && i + 1 == b->end)
                finish(m);
            if (leaves(&in) && in.guard >= 0 && b->rpo >= 0 && !end &&
                u->block[v] == UNIFORM_GRID)
                guarded_leave(m, in);
            else
                *vec_push(&m->to) = in;
        }
        if (b->end == split && v == 0)
            start(m);
        /* behind the block's last instruction, before the next one's labels */
        ends(m, r, &next, b->end);
        if (end && !jumps)
            finish(m);
    }
    uniform_free(u);
    vec_free(&f->body);
    f->body.v = m->to.v;
    f->body.n = m->to.n;
    f->body.cap = m->to.cap;
}

static void
deepen(struct merge *m)
{
    struct ptx_func *f = m->f;
    uint32_t *const sizes[] = {f->reqntid, f->maxntid};
    for (int i = 0; i < 2; i++)
        if (sizes[i][0]) {
            sizes[i][1] = sizes[i][1] ? sizes[i][1] : 1;
            sizes[i][2] = m->depth * m->k;
        }
    f->minnctapersm = (f->minnctapersm + m->k - 1) / m->k;
    const struct pass_launch was = *m->a->launch;
    shape_change(f, m->a, SHAPE_BLOCK, 2, '=', m->depth);
    if (!was.kernel && !f->reqntid[0])
        shape_change(f, m->a, SHAPE_BLOCK, SHAPE_ALL, '%', 32);
    if (m->pad) {
        shape_change(f, m->a, SHAPE_GRID, m->dim, '=', was.grid[m->dim]);
        shape_change(f, m->a, SHAPE_GRID, m->dim, '+', m->pad);
    }
    shape_change(f, m->a, SHAPE_GRID, m->dim, '/', m->k);
    shape_change(f, m->a, SHAPE_BLOCK, 2, '*', m->k);
}

static void
tell(const struct merge *m, const struct regions *r, const struct scratch_use *use)
{
    struct strbuf *b = m->a->report;
    if (!b)
        return;
    strbuf_printf(b,
                  "%s: %u blocks are merged into one along %c with %llu bytes of "
                  "scratchpad; %zu region%s, %.1f%% of its instructions:\n",
                  m->f->name, m->k, (char)('x' + m->dim),
                  (unsigned long long)use->layout.bytes, r->region.n,
                  r->region.n == 1 ? "" : "s",
                  r->all ? 100.0 * (double)r->inside / (double)r->all : 0);
    if (m->moved[SHRINK_BEFORE] || m->moved[SHRINK_BEHIND])
        strbuf_printf(b, "  %u instructions moved before regions, %u behind them\n",
                      m->moved[SHRINK_BEFORE], m->moved[SHRINK_BEHIND]);
    for (size_t i = 0; i < r->region.n; i++) {
        const struct region *p = &r->region.v[i];
        strbuf_printf(b, "  lines %u to %u, bytes %llu to %llu:", p->from, p->to,
                      (unsigned long long)p->low, (unsigned long long)p->high - 1);
        for (size_t v = 0; v < use->var.n; v++)
            if (p->vars >> scratch_bit(use, v) & 1)
                strbuf_printf(b, " %s", use->var.v[v].var->name);
        strbuf_addz(b, "\n");
    }
}

static bool
run_scheme(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
           enum scheme scheme, bool *changed, struct diag_sink *diag)
{
    double most, k, gap, share, motion;
    (void)facts;
    struct merge m = {.f = f, .a = a, .scheme = scheme};
    if (!pass_arg_number(a, "max-threads", 1, 65536, &most, diag) ||
        !pass_arg_number(a, "merge", 2, MOST_BLOCKS, &k, diag) ||
        !pass_arg_number(a, "gap", 0, 1e6, &gap, diag) ||
        !pass_arg_number(a, "share", 0, 1, &share, diag) ||
        !pass_arg_number(a, "motion", 0, 1, &motion, diag) ||
        (scheme == PIPE && !pass_arg_number(a, "ahead", 0, 1e6, &m.ahead, diag)))
        return false;
    if (k != (unsigned)k)
        return diag_error(diag, "pass %s: merge=%g: give a whole number from 2 to 8",
                          a->pass->name, k);
    if (!f->is_entry || (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    m.k = (unsigned)k;
    char *note = ptx_note(f, "launch");
    const char *why = note ? "its launches are changed already" : NULL;
    free(note);
    if (!why)
        why = launch_refuses(&m, most);
    struct region_facts x = {0};
    if (!why) {
        region_facts_find(&x, f, a->launch, (unsigned)gap);
        why = x.regions->why;
    }
    if (!why)
        why = code_refuses(&m);
    if (!why && motion)
        region_shrink(f, &x, a->launch, m.k, m.moved);
    if (!why && (double)x.regions->inside > share * (double)x.regions->all)
        why = "its scratchpad is in use all the time";
    if (a->report && why)
        strbuf_printf(a->report, "%s: blocks are not merged: %s\n", f->name, why);
    if (!why) {
        tell(&m, x.regions, x.use);
        rebuild(&m, x.cfg, x.regions);
        deepen(&m);
        *changed = true;
    }
    *changed |= m.moved[0] || m.moved[1];
    region_facts_drop(&x);
    return true;
}

static bool
run_vtb(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
        bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, VTB, changed, diag);
}

static bool
run_pipe(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, PIPE, changed, diag);
}

static bool
run_named(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
          bool *changed, struct diag_sink *diag)
{
    return run_scheme(f, facts, a, NAMED, changed, diag);
}

#define KEYS                                                                             \
    {"merge", "2", "blocks that are merged into one, 2 to 8"},                           \
        {"max-threads", "1024", "most threads of a block"},                              \
        {"gap", "4", "regions with at most so many instructions in between are one"},    \
        {"motion", "1", "1: code that needs no scratchpad moves out of regions"},        \
    {                                                                                    \
        "share", "0.95", "largest share of a block's instructions in regions"            \
    }

const struct pass pass_vtb = {
    .name = "vtb",
    .meaning = "merges blocks that take turns with one block's scratchpad",
    .keys = (const struct pass_key[]){KEYS, {0}},
    .run_func = run_vtb,
    .shapes = true,
};

const struct pass pass_vtb_pipe = {
    .name = "vtb-pipe",
    .meaning = "the same, each virtual block one step behind the one before",
    .keys = (const struct pass_key[]){KEYS,
                                      {"ahead", "16",
                                       "instructions before the first region at which "
                                       "later virtual blocks wait"},
                                      {0}},
    .run_func = run_pipe,
    .shapes = true,
};

const struct pass pass_vtb_named = {
    .name = "vtb-named",
    .meaning = "the same, the scratchpad handed over by named barriers",
    .keys = (const struct pass_key[]){KEYS, {0}},
    .run_func = run_named,
    .shapes = true,
};
