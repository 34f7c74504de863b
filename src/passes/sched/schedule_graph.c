/* schedule_graph.c: regions of code and their dependences.
 *
 * A block is cut at calls, reads of clocks, labels and directives other than .loc, and after
 * IEEE quotients and roots where these are several operations (a card branches in them).
 *
 *     registers   read after write (the latency of the writer), write after read, write after
 *                 write; the carry flag counts as a register
 *     memory      accesses that may touch the same bytes, and those that keep their order
 *                 (analysis/motion.h)
 *
 * Cost: O(operands + accesses x MOST_PENDING). */
#include "passes/sched/schedule_int.h"

#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"
#include "analysis/motion.h"
#include "ptx/expansion.h"

enum {
    MOST_PENDING = 256
}; /* accesses that a later one is compared with; then a fence */

/* -- dependences -- */

static void
add_edge(struct sched *s, uint32_t from, uint32_t to, enum sched_why why)
{
    if (from != to)
        *vec_push(&s->edge) = (struct sched_edge){from, to, 1, 1, (uint8_t)why};
}

static int32_t
at_least(int32_t taken, int32_t cycles)
{
    return taken > cycles ? taken : cycles;
}

/* Cycles that a predicate takes to what it guards. */
static int32_t
to_guard(const struct sched *s, const struct sched_node *n)
{
    return at_least(n->taken, s->taken[SCHED_LAT_GUARD]);
}

/* Cycles that the result of n takes to its reader. */
static int32_t
to_reader(const struct sched *s, const struct sched_node *n,
          const struct sched_node *reader)
{
    if (s->guards)
        return to_guard(s, n);
    if (schedule_is_alu(n) && schedule_is_alu(reader) && n->unit != reader->unit)
        return at_least(n->taken, s->taken[SCHED_LAT_CROSS]);
    if (s->place && n->taken && n->unit != SCHED_UNIT_MEMORY &&
        reader->unit == SCHED_UNIT_MEMORY)
        return at_least(n->taken, s->taken[SCHED_LAT_ACCESS]);
    return n->taken;
}

/* `to` needs what `from` writes. */
static void
add_result(struct sched *s, uint32_t from, uint32_t to)
{
    const struct sched_node *n = &s->node.v[from];
    const int32_t taken = to_reader(s, n, &s->node.v[to]);
    if (from != to)
        *vec_push(&s->edge) = (struct sched_edge){from, to, n->latency + s->early,
                                                  taken + s->early, SCHED_WHY_REGISTER};
}

static struct sched_use *
use_of(struct sched *s, uint32_t r)
{
    struct sched_use *u = &s->use[r];
    if (!u->seen) {
        *u = (struct sched_use){.readers = -1, .seen = true};
        u->after = r < s->carry && !s->place && live_has(&s->set, r);
        *vec_push(&s->touched) = r;
    }
    return u;
}

static void
note_read(struct sched *s, uint32_t r)
{
    struct sched_use *u = use_of(s, r);
    if (u->writer)
        add_result(s, u->writer - 1, s->at);
    *vec_push(&s->reader) = (struct sched_reader){s->at, u->readers};
    u->readers = (int32_t)s->reader.n - 1;
}

static void
note_write(struct sched *s, uint32_t r)
{
    struct sched_use *u = use_of(s, r);
    for (int32_t k = u->readers; k >= 0; k = s->reader.v[k].next)
        add_edge(s, s->reader.v[k].node, s->at, SCHED_WHY_REGISTER);
    if (u->writer)
        add_result(s, u->writer - 1, s->at);
    u->writer = s->at + 1;
    u->readers = -1;
}

/* By places: their numbers are after the carry flag's, those of predicates last. */
static uint32_t
first_place(const struct sched *s, int32_t r, uint32_t *n)
{
    const enum ptx_type t = s->f->regs.v[r].type;
    const uint32_t at = s->carry + 1 + (uint32_t)s->place[r];
    *n = s->place[r] < 0 ? 0 : t == PTX_PRED ? 1 : (ptx_type_bytes(t) + 3u) / 4;
    return t == PTX_PRED ? at + RA_MAX_UNITS : at;
}

static void
note(struct sched *s, int32_t r, void (*how)(struct sched *s, uint32_t r))
{
    if (!s->place) {
        how(s, (uint32_t)r);
        return;
    }
    uint32_t n, at = first_place(s, r, &n);
    for (uint32_t k = 0; k < n; k++)
        how(s, at + k);
}

/* A guarded write keeps the old value in some lanes: it reads it too. */
static void
note_sources(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    const struct ptx_inst *in = &s->f->body.v[s->node.v[s->at].inst];
    if (write && !partial)
        return;
    if (in->nops == 3 && in->ops[2].kind == PTX_OPD_REG && in->ops[2].reg == r)
        s->early = schedule_divisor_early(s, in);
    s->guards = in->guard == r;
    note(s, r, note_read);
    s->guards = false;
    s->early = 0;
}

static void
note_dests(void *user, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (write)
        note(user, r, note_write);
}

/* Node + 1 that last wrote r, 0: none of the region. */
static uint32_t
writer_of(struct sched *s, int32_t r)
{
    uint32_t n = 1, at = s->place ? first_place(s, r, &n) : (uint32_t)r;
    return n ? use_of(s, at)->writer : 0;
}

static bool
may_overlap(const struct sched *s, const struct sched_node *x, const struct sched_node *y)
{
    return motion_may_overlap(
        (struct motion_access){&s->f->body.v[x->inst], x->order, x->base_at},
        (struct motion_access){&s->f->body.v[y->inst], y->order, y->base_at});
}

static void
note_access(struct sched *s, struct sched_node *n)
{
    enum motion o = n->order;
    if (o == MOTION_FREE)
        return;
    if (s->loads.n + s->stores.n >= MOST_PENDING)
        o = MOTION_ACCESS;
    if (s->fence)
        add_edge(s, s->fence - 1, s->at, SCHED_WHY_FENCE);
    for (size_t i = 0; i < s->stores.n; i++)
        if (o == MOTION_ACCESS || may_overlap(s, n, &s->node.v[s->stores.v[i]]))
            add_edge(s, s->stores.v[i], s->at, SCHED_WHY_MEMORY);
    for (size_t i = 0; i < s->loads.n && o != MOTION_LOAD; i++)
        if (o == MOTION_ACCESS || may_overlap(s, n, &s->node.v[s->loads.v[i]]))
            add_edge(s, s->loads.v[i], s->at, SCHED_WHY_MEMORY);
    if (o == MOTION_ACCESS) {
        s->fence = s->at + 1;
        s->loads.n = s->stores.n = 0;
    } else if (o == MOTION_LOAD) {
        *vec_push(&s->loads) = s->at;
    } else {
        *vec_push(&s->stores) = s->at;
    }
}

void
schedule_add(struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    s->at = (uint32_t)s->node.n;
    struct sched_node *n = vec_push(&s->node);
    n->inst = i;
    n->order = (uint8_t)motion_of(s->f, in);
    n->operand = in->nops && in->ops[0].kind == PTX_OPD_REG &&
                 s->operand[in->ops[0].reg] && defuse_is_dest(in, 0);
    n->between = s->expanded ? (uint8_t)ptx_machine_registers(in) : 0;
    schedule_cost(s, n);
    const struct ptx_operand *p = motion_address(in);
    if (p && p->reg >= 0)
        n->base_at = writer_of(s, p->reg);
    note_access(s, n);
    defuse_each(in, note_sources, s);
    if (ptx_ops[in->op].flags & PTX_CCIN)
        note_read(s, s->carry);
    defuse_each(in, note_dests, s);
    if (in->mod[PTX_MG_CC])
        note_write(s, s->carry);
}

uint32_t
schedule_edges_end(const struct sched *s, uint32_t i)
{
    return i + 1 < s->node.n ? s->node.v[i + 1].first : (uint32_t)s->succ.n;
}

uint32_t
schedule_edges_in_end(const struct sched *s, uint32_t i)
{
    return i + 1 < s->node.n ? s->node.v[i + 1].first_in : (uint32_t)s->pred.n;
}

/* succ and pred: counting sorts, each node's edges in the order in which they came. */
static void
sort_edges(struct sched *s)
{
    const uint32_t n = (uint32_t)s->node.n;
    for (size_t e = 0; e < s->edge.n; e++) {
        s->node.v[s->edge.v[e].from].first++;
        s->node.v[s->edge.v[e].to].first_in++;
    }
    for (uint32_t i = 0, out = 0, in = 0; i < n; i++) { /* their ends, for now */
        struct sched_node *x = &s->node.v[i];
        out += x->first;
        in += x->first_in;
        x->first = out;
        x->first_in = in;
    }
    vec_reserve(&s->succ, s->edge.n + 1);
    vec_reserve(&s->pred, s->edge.n + 1);
    s->succ.n = s->pred.n = s->edge.n;
    for (size_t e = s->edge.n; e-- > 0;) {
        s->succ.v[--s->node.v[s->edge.v[e].from].first] = s->edge.v[e];
        s->pred.v[--s->node.v[s->edge.v[e].to].first_in] = s->edge.v[e];
    }
}

/* What the instruction after the region waits for: its guard longer than other results. */
static void
find_until(struct sched *s, uint32_t next)
{
    const int32_t guard = next < s->f->body.n ? s->f->body.v[next].guard : -1;
    const uint32_t writer = guard < 0 ? 0 : writer_of(s, guard);
    if (writer)
        s->node.v[writer - 1].until = to_guard(s, &s->node.v[writer - 1]);
}

void
schedule_finish_graph(struct sched *s, uint32_t next)
{
    const uint32_t n = (uint32_t)s->node.n;
    sort_edges(s);
    find_until(s, next);
    for (uint32_t i = n; i-- > 0;) {
        struct sched_node *x = &s->node.v[i];
        x->height = x->until;
        for (uint32_t e = x->first; e < schedule_edges_end(s, i); e++) {
            int64_t h = s->node.v[s->succ.v[e].to].height + s->succ.v[e].taken;
            x->height = h > x->height ? h : x->height;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sched_node *x = &s->node.v[i];
        x->depth = 0;
        for (uint32_t e = x->first_in; e < schedule_edges_in_end(s, i); e++) {
            int64_t d = s->node.v[s->pred.v[e].from].depth + s->pred.v[e].taken;
            x->depth = d > x->depth ? d : x->depth;
        }
    }
}

/* -- regions -- */

/* Whether a region ends after instruction i: a card branches in it, and nothing that stands
 * after moves before that. */
static bool
ends_region(const struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    return s->expanded && !ptx_is_loc(in) && ptx_machine_branches(in);
}

bool
schedule_is_barrier(const struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    return (s->diverged && bitset_has(s->diverged, i)) ||
           (s->expanded && (in->op == PTX_OP_RCPF || in->op == PTX_OP_SQRTF) &&
            ptx_machine_branches(in)) ||
           motion_of(s->f, &s->f->body.v[i]) == MOTION_FIXED;
}

uint32_t
schedule_region(const struct sched *s, const struct cfg_block *b, uint32_t end)
{
    uint32_t first = end;
    while (first > b->first && (ptx_is_loc(&s->f->body.v[first - 1]) ||
                                (!schedule_is_barrier(s, first - 1) &&
                                 (first == end || !ends_region(s, first - 1)))))
        first--;
    return first;
}

void
schedule_forget(struct sched *s)
{
    for (size_t i = 0; i < s->touched.n; i++)
        s->use[s->touched.v[i]].seen = false;
    s->node.n = s->edge.n = s->succ.n = s->pred.n = s->reader.n = s->touched.n = 0;
    s->loads.n = s->stores.n = 0;
    s->fence = 0;
    arena_free(&s->mem);
    s->mem = (struct arena){0};
}

void
schedule_free(struct sched *s)
{
    vec_free(&s->node);
    vec_free(&s->edge);
    vec_free(&s->succ);
    vec_free(&s->pred);
    vec_free(&s->reader);
    vec_free(&s->touched);
    vec_free(&s->loads);
    vec_free(&s->stores);
}

void
schedule_reorder(struct ptx_func *f, const uint32_t *order)
{
    size_t n = f->body.n;
    struct ptx_inst *was = xmalloc((n + 1) * sizeof *was);
    int32_t *loc = xmalloc((n + 1) * sizeof *loc), at = -1;
    memcpy(was, f->body.v, n * sizeof *was);
    for (size_t i = 0; i < n; i++) {
        at = ptx_is_loc(&was[i]) ? (int32_t)i : at;
        loc[i] = at;
    }
    f->body.n = 0;
    at = -1;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = order[k];
        if (ptx_is_loc(&was[i]))
            continue;
        if (loc[i] != at && loc[i] >= 0)
            *vec_push(&f->body) = was[loc[i]];
        at = loc[i];
        *vec_push(&f->body) = was[i];
    }
    free(was);
    free(loc);
}
