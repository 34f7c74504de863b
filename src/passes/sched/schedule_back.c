/* schedule_back.c: an order of a region from its end to its begin.
 *
 * Each cycle, counted from the end, takes one of the instructions that all later ones allow:
 * whose results nobody needs before they are there, and whose unit is free. Of these the one
 * at the end of the longest path from the region's begin, of equal ones the later in the
 * source. So a load stands as long before its use as it takes, and no longer. A result that
 * is live after the region counts as needed at its end.
 *
 * Where each of them would make more live than the limit allows, what makes least live is
 * taken, whether or not its results come in time: mostly a load, early, which leaves room for
 * others. Where all make more live, the last of another order is: the source's, or the one of
 * schedule_min_pressure.c. MOST_LOOKED bounds how many are looked at for that, and with it the cost:
 * O(n (log n + MOST_LOOKED)) for n instructions.
 *
 * A load from scratchpad goes as soon as it may, and nothing beside it while it issues: so it is
 * for ptxas, whose sums of such loads take registers by the number of sums, not of loads.
 *
 * With s->by_source the key is a mean of the longest path and of the place in the source, by which
 * one sum is formed after the other. ALU instructions then issue every cycle: ptxas forms four
 * sums at the same time so, each of which issues every four.
 *
 * A thread has seven predicates. An order takes no more at the same time, unless the source's does: where one
 * more would be live, what makes none live goes first. */
#include "passes/sched/schedule_int.h"

#include "base/pqueue.h"

#include "analysis/defuse.h"

enum {
    MOST_LOOKED = 32,  /* of each queue */
    PREDICATES = 7,    /* of a thread: P0 to P6 of a card */
    TOO_MANY = 1 << 16 /* registers, more than any limit */
};

struct back {
    struct sched *s;
    struct pqueue ready[SCHED_UNITS], soon; /* by key_of; by the cycle they get ready */
    uint64_t unit_free[SCHED_UNITS];
    uint64_t now;
    uint32_t limit;
    const uint32_t *base; /* where all make more live, the last of this order goes */
    uint32_t last;        /* none after this place of it is left */
    const char *why;      /* the last choice, in words */
};

/* -- what is live before an instruction, going back -- */

static bool
is_predicate(const struct sched *s, int32_t r)
{
    return s->f->regs.v[r].type == PTX_PRED;
}

static void
end_here(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    struct sched_use *u = &s->use[r];
    if (write && !partial && u->live) {
        u->live = false;
        s->now_live -= s->units[r];
        s->now_preds -= is_predicate(s, r);
    }
}

static void
begin_here(void *user, int32_t r, bool write, bool partial)
{
    struct sched *s = user;
    struct sched_use *u = &s->use[r];
    if ((!write || partial) && !u->live) {
        u->live = true;
        s->now_live += s->units[r];
        s->now_preds += is_predicate(s, r);
    }
}

void
schedule_back_start(struct sched *s)
{
    for (size_t i = 0; i < s->touched.n; i++) {
        struct sched_use *u = &s->use[s->touched.v[i]];
        u->live = u->after;
    }
    s->now_live = s->end;
    s->now_preds = s->end_preds;
}

void
schedule_back_step(struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[s->node.v[i].inst];
    defuse_each(in, end_here, s);
    defuse_each(in, begin_here, s);
}

struct was {
    const struct sched *s;
    int32_t reg[32];
    bool live[32];
    unsigned n;
};

static void
note_was(void *user, int32_t r, bool write, bool partial)
{
    struct was *w = user;
    (void)write;
    (void)partial;
    if (w->n < sizeof w->live) {
        w->live[w->n] = w->s->use[r].live;
        w->reg[w->n++] = r;
    }
}

/* Registers, and each predicate too many as more than there are. */
static uint32_t
with_predicates(const struct sched *s, uint32_t live)
{
    return live +
           (s->now_preds > s->most_preds ? s->now_preds - s->most_preds : 0) * TOO_MANY;
}

/* What is live before node i; in *pressure, unless NULL, with_predicates. */
static uint32_t
live_before(struct sched *s, uint32_t i, uint32_t *pressure)
{
    struct was w = {.s = s};
    const uint32_t now = s->now_live, preds = s->now_preds;
    defuse_each(&s->f->body.v[s->node.v[i].inst], note_was, &w);
    schedule_back_step(s, i);
    const uint32_t live = s->now_live + s->node.v[i].between;
    if (pressure)
        *pressure = with_predicates(s, live);
    s->now_live = now;
    s->now_preds = preds;
    while (w.n-- > 0)
        s->use[w.reg[w.n]].live = w.live[w.n];
    return live;
}

uint32_t
schedule_back_live(struct sched *s, uint32_t i)
{
    return live_before(s, i, NULL);
}

static void
note_lives_on(void *user, int32_t r, bool write, bool partial)
{
    struct was *w = user;
    (void)partial;
    w->n += write && w->s->use[r].after;
}

static bool
lives_on(const struct sched *s, uint32_t i)
{
    struct was w = {.s = s};
    defuse_each(&s->f->body.v[s->node.v[i].inst], note_lives_on, &w);
    return w.n > 0;
}

/* -- queues -- */

static uint64_t
key_of(const struct sched *s, uint32_t i)
{
    if (s->by_source)
        return (uint64_t)s->by_source * (s->node.n - i) +
               (uint64_t)(SCHED_PARTS - s->by_source) * s->rank[i];
    return ((uint64_t)(INT32_MAX - s->node.v[i].depth) << 24) + (s->node.n - i);
}

static void
make_ready(struct back *b, uint32_t i)
{
    const struct sched_node *x = &b->s->node.v[i];
    b->soon.key[i] = x->ready;
    b->ready[x->unit].key[i] = key_of(b->s, i);
    pqueue_add(&b->soon, i);
}

static void
drop_done(const struct sched *s, struct pqueue *q)
{
    while (q->n && s->node.v[q->v[0]].done)
        pqueue_take(q);
}

static void
move_ready(struct back *b)
{
    drop_done(b->s, &b->soon);
    while (b->soon.n && b->soon.key[b->soon.v[0]] <= b->now) {
        uint32_t i = pqueue_take(&b->soon);
        pqueue_add(&b->ready[b->s->node.v[i].unit], i);
        drop_done(b->s, &b->soon);
    }
}

/* Of those that come first, what makes least live; of equal ones the latest in the source. */
static void
find_least_pressure(const struct back *b, const struct pqueue *q, uint32_t *best,
                    uint32_t *least)
{
    for (uint32_t k = 0; k < q->n && k < MOST_LOOKED; k++) {
        const uint32_t i = q->v[k];
        if (b->s->node.v[i].done)
            continue;
        uint32_t live;
        live_before(b->s, i, &live);
        if (live < *least || (live == *least && i > *best)) {
            *best = i;
            *least = live;
        }
    }
}

static uint32_t
make_room(struct back *b)
{
    uint32_t best = 0, least = UINT32_MAX;
    find_least_pressure(b, &b->soon, &best, &least);
    for (int u = 0; u < SCHED_UNITS; u++)
        find_least_pressure(b, &b->ready[u], &best, &least);
    b->why = "no other keeps to the limit; it leaves least live";
    if (least <= with_predicates(b->s, b->s->now_live))
        return best;
    b->why = "all raise the pressure; it is last in the order to fall back on";
    while (b->s->node.v[b->base[b->last]].done)
        b->last--;
    return b->base[b->last];
}

/* Whether that much may be live: within the limit, or not above what is live now. */
static bool
is_within(const struct back *b, uint32_t pressure)
{
    return pressure <= b->limit || pressure <= with_predicates(b->s, b->s->now_live);
}

static bool
has_room(const struct back *b, uint32_t i)
{
    uint32_t pressure;
    live_before(b->s, i, &pressure);
    const bool within = is_within(b, pressure);
    b->s->held |= !within;
    return within;
}

/* Where predicates are too many: of those that are ready and make none live the one at the end of
 * the longest path; else, of those that get ready, the first. UINT32_MAX: none. */
static uint32_t
without_predicates(const struct back *b)
{
    uint32_t best = UINT32_MAX;
    for (int u = 0; u < SCHED_UNITS; u++)
        for (uint32_t k = 0; k < b->ready[u].n && k < MOST_LOOKED; k++) {
            const uint32_t i = b->ready[u].v[k];
            if (!b->s->node.v[i].done &&
                (best == UINT32_MAX || key_of(b->s, i) < key_of(b->s, best)) &&
                has_room(b, i))
                best = i;
        }
    for (uint32_t k = 0; best == UINT32_MAX && k < b->soon.n && k < MOST_LOOKED; k++) {
        const uint32_t i = b->soon.v[k];
        if (!b->s->node.v[i].done && has_room(b, i))
            best = i;
    }
    return best;
}

/* The load from scratchpad that is first of the accesses that are ready; UINT32_MAX: another is, or
 * none, or the order goes by the source's. */
static uint32_t
scratch_load(struct back *b)
{
    const struct sched *s = b->s;
    struct pqueue *q = &b->ready[SCHED_UNIT_MEMORY];
    drop_done(s, q);
    return !s->by_source && q->n && s->node.v[q->v[0]].order == MOTION_LOAD &&
                   schedule_is_scratch(s, &s->node.v[q->v[0]])
               ? q->v[0]
               : UINT32_MAX;
}

/* The next in order; it stays in its queue. */
static uint32_t
pick(struct back *b)
{
    struct sched *s = b->s;
    const uint64_t *memory = &b->unit_free[SCHED_UNIT_MEMORY];
    for (;;) {
        uint32_t best = UINT32_MAX;
        bool over = false, predicates = false;
        move_ready(b);
        uint64_t next = b->soon.n ? b->soon.key[b->soon.v[0]] : UINT64_MAX;
        const uint32_t load = scratch_load(b);
        if (load != UINT32_MAX && has_room(b, load)) {
            b->why = "a shared load that may go";
            if (*memory <= b->now)
                return load;
            b->now = *memory;
            continue;
        }
        for (int u = 0; u < SCHED_UNITS; u++) {
            struct pqueue *q = &b->ready[u];
            drop_done(s, q);
            if (!q->n)
                continue;
            const uint32_t i = q->v[0];
            if (b->unit_free[u] > b->now) {
                next = b->unit_free[u] < next ? b->unit_free[u] : next;
                continue;
            }
            uint32_t pressure;
            const uint32_t live = live_before(s, i, &pressure);
            if (!is_within(b, pressure)) {
                predicates |= live <= b->limit || live <= s->now_live;
                over = s->held = true;
            } else if (best == UINT32_MAX || key_of(s, i) < key_of(s, best))
                best = i;
        }
        b->why = s->by_source ? "longest path and place in the source" : "longest path";
        if (best == UINT32_MAX && predicates) {
            best = without_predicates(b);
            b->why = "no more predicates may be live";
        }
        if (best != UINT32_MAX)
            return best;
        if (over)
            return make_room(b);
        b->now = next;
    }
}

static void
issue(struct back *b, uint32_t i)
{
    struct sched *s = b->s;
    struct sched_node *x = &s->node.v[i];
    uint64_t *unit = &b->unit_free[x->unit];
    x->done = true;
    b->now = x->ready > b->now ? x->ready : b->now;
    b->now = *unit > b->now ? *unit : b->now;
    *unit = b->now + (s->by_source && schedule_is_alu(x) ? x->slots : x->busy);
    schedule_back_step(s, i);
    for (uint32_t e = x->first_in; e < schedule_edges_in_end(s, i); e++) {
        struct sched_node *y = &s->node.v[s->pred.v[e].from];
        const uint64_t at = b->now + (uint64_t)s->pred.v[e].taken;
        y->ready = at > y->ready ? at : y->ready;
        if (!--y->waits)
            make_ready(b, s->pred.v[e].from);
    }
    b->now += x->slots;
}

static void
trace(struct back *b, uint32_t i)
{
    uint32_t candidates = 0;
    const struct pqueue *q = b->ready;
    for (int u = 0; u <= SCHED_UNITS; u++, q = u < SCHED_UNITS ? &b->ready[u] : &b->soon)
        for (uint32_t k = 0; k < q->n; k++)
            candidates += !b->s->node.v[q->v[k]].done;
    schedule_trace(b->s, i, b->now, candidates, live_before(b->s, i, NULL), b->why);
}

/* As many predicates as there are, or as the source's order takes: ptxas moves some to registers and
 * back then (P2R, R2P), or computes them again. */
static uint32_t
most_predicates(struct sched *s)
{
    schedule_back_start(s);
    uint32_t most = s->now_preds > PREDICATES ? s->now_preds : PREDICATES;
    for (uint32_t i = (uint32_t)s->node.n; i-- > 0;) {
        schedule_back_step(s, i);
        most = s->now_preds > most ? s->now_preds : most;
    }
    return most;
}

void
schedule_back(struct sched *s, uint32_t limit, const uint32_t *base, uint32_t *order)
{
    const uint32_t n = (uint32_t)s->node.n;
    struct arena mem = {0};
    struct back b = {
        .s = s, .soon = pqueue_new(&mem, n), .limit = limit, .base = base, .last = n - 1};
    for (int u = 0; u < SCHED_UNITS; u++)
        b.ready[u] = pqueue_new(&mem, n);
    s->held = false;
    s->most_preds = most_predicates(s);
    schedule_back_start(s);
    for (uint32_t i = 0; i < n; i++) {
        struct sched_node *x = &s->node.v[i];
        x->done = false;
        x->waits = schedule_edges_end(s, i) - x->first;
        x->ready = x->taken && lives_on(s, i) ? (uint64_t)x->until - 1 : 0;
        if (!x->waits)
            make_ready(&b, i);
    }
    for (uint32_t k = n; k-- > 0;) {
        order[k] = pick(&b);
        if (s->traced)
            trace(&b, order[k]);
        issue(&b, order[k]);
    }
    arena_free(&mem);
}
