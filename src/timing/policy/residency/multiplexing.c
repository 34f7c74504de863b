/* multiplexing.c: blocks allocate part of their scratchpad while they run (003 section 5).
 *
 * A kernel says by scratchalloc and scratchfree, barriers of a block, when it needs its
 * public part: the bytes that scratchalloc names. What else it has of scratchpad is its
 * private part: a block has that from its start to its end. With no private part this is
 * the document's HW, with one its CO-HW. Figure 10, 16 KB, 4 KB private and 2 KB public:
 *
 *     0      4096   8192   12288  14336
 *     | TB 0 | TB 1 | TB 2 | TB 0 | TB 1 |     TB 2 waits at scratchalloc
 *       private parts        public parts
 *
 * - Blocks: at most K + n, K those of the static allocation, n residency.extra_blocks; and
 *   no more than other resources allow, nor so many that their private parts leave less
 *   than one public part.
 * - The private parts lie below the public ones. Plain first fit of both can cut the free
 *   bytes up so that no public part ever fits. 8 KB, 1 KB private, 4 KB public, addresses
 *   in KB: blocks A (0) and B (1) start, A allocates 2 to 6, C starts (6), A frees, D starts
 *   (2). Free are 3 to 6 and 7 to 8: all four blocks wait for ever.
 * - Public parts have one size, and are allocated first come, first served. A block that
 *   waits issues nothing. Who holds a part never waits for one (no nesting): no deadlock.
 * - Static (residency.allocation): scratchalloc and scratchfree are plain barriers; their
 *   regions are timed (003 Figure 1). */
#include "base/bitset.h"
#include "machine/occupancy.h"
#include "timing/policy/residency/multiplexing.h"
#include "timing/policy/residency/scratch_table.h"

#include <assert.h>

enum state { OUTSIDE, WAITS, HOLDS };

struct block {
    uint8_t state;    /* enum state */
    uint64_t asked;   /* number of its request: who came first */
    uint64_t started; /* cycle */
    uint64_t since;   /* cycle in which it got into its state */
    uint64_t held;    /* cycles in all */
};

struct multiplexing {
    struct multiplexing_plan plan;
    uint64_t requests;
    unsigned waiting; /* blocks */
    uint64_t counted; /* cycle up to which free bytes are counted */
    uint64_t free;    /* bytes of the SM's scratchpad */
    struct scratch_entry *table;
    unsigned entries;
    struct block block[]; /* by slot */
};

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    struct occ_multiplexed o;
    if (!occ_multiplex(m, k, &o, diag))
        return false;
    struct multiplexing_plan *x = (struct multiplexing_plan *)(void *)p->own;
    const bool dynamic = m->residency.allocation == ALLOCATION_DYNAMIC && o.public_bytes;
    *p = (struct residency_plan){.blocks = dynamic ? o.blocks : o.baseline,
                                 .baseline = o.baseline};
    *x = (struct multiplexing_plan){.blocks = p->blocks,
                                    .private_bytes = o.private_bytes,
                                    .public_bytes = o.public_bytes,
                                    .size = o.size,
                                    .dynamic = dynamic};
    return true;
}

/* -- state -- */

static size_t
table_at(const struct multiplexing_plan *p)
{
    size_t n = sizeof(struct multiplexing) + p->blocks * sizeof(struct block);
    return (n + 15) / 16 * 16;
}

static size_t
state_size(const void *plan)
{
    const struct multiplexing_plan *p = plan;
    return table_at(p) + 2 * (size_t)p->blocks * sizeof(struct scratch_entry);
}

static void
publish(const struct multiplexing *x, struct sm_view *v, unsigned s)
{
    v->asks[s] = x->plan.dynamic && x->block[s].state != HOLDS;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct multiplexing *x = state;
    (void)m;
    x->plan = *(const struct multiplexing_plan *)plan;
    x->entries = 2 * x->plan.blocks;
    x->table = (struct scratch_entry *)(void *)((char *)state + table_at(&x->plan));
    x->free = x->plan.size;
    for (unsigned s = 0; s < x->plan.blocks; s++)
        publish(x, v, s);
}

/* Bytes below this are for private parts. */
static uint32_t
public_from(const struct multiplexing *x)
{
    return x->plan.blocks * x->plan.private_bytes;
}

static void
count_free(struct multiplexing *x, const struct sm_view *v)
{
    if (x->waiting)
        v->stats->multiplex_free_bytes += x->free * (v->now - x->counted);
    x->counted = v->now;
}

static void
enter(struct multiplexing *x, const struct sm_view *v, unsigned s, enum state to)
{
    struct block *b = &x->block[s];
    const uint64_t n = v->now - b->since;
    if (b->state == WAITS) {
        v->stats->multiplex_wait_cycles += n;
        x->waiting--;
    }
    if (b->state == HOLDS) {
        v->stats->multiplex_held_cycles += n;
        b->held += n;
    }
    x->waiting += to == WAITS;
    v->stats->multiplex_waits += to == WAITS;
    v->stats->multiplex_allocations += to == HOLDS;
    b->state = (uint8_t)to;
    b->since = v->now;
}

/* -- scratchalloc and scratchfree, when all threads have come -- */

static bool
take(struct multiplexing *x, const struct sm_view *v, unsigned s)
{
    if (x->plan.dynamic) {
        if (!scratch_take(x->table, x->entries, s, public_from(x), x->plan.size,
                          x->plan.public_bytes))
            return false;
        x->free -= x->plan.public_bytes;
    }
    enter(x, v, s, HOLDS);
    return true;
}

/* Those that wait, in the order in which they came, as far as there is room. */
static void
serve(struct multiplexing *x, const struct sm_view *v)
{
    while (x->waiting) {
        unsigned first = x->plan.blocks;
        for (unsigned s = 0; s < x->plan.blocks; s++)
            if (x->block[s].state == WAITS &&
                (first == x->plan.blocks || x->block[s].asked < x->block[first].asked))
                first = s;
        if (!take(x, v, first))
            return;
    }
}

static void
give(struct multiplexing *x, const struct sm_view *v, unsigned s)
{
    if (x->plan.dynamic) {
        scratch_give(x->table, x->entries, s, public_from(x));
        x->free += x->plan.public_bytes;
    }
    enter(x, v, s, OUTSIDE);
    serve(x, v);
}

static void
changed(const struct multiplexing *x, struct sm_view *v)
{
    for (unsigned s = 0; s < x->plan.blocks; s++)
        publish(x, v, s);
    v->changed = x->plan.dynamic;
}

/* Has the block passed a scratchalloc or scratchfree? The executor knows when the last of
 * its threads has come there, or has ended instead. */
static void
update(struct multiplexing *x, struct sm_view *v, unsigned s)
{
    struct block *b = &x->block[s];
    const bool holds = v->cta[s]->holds;
    if (holds == (b->state != OUTSIDE))
        return;
    count_free(x, v);
    if (!holds) {
        give(x, v, s);
    } else if (!take(x, v, s)) { /* then nobody waits: parts have one size */
        b->asked = ++x->requests;
        enter(x, v, s, WAITS);
    }
    changed(x, v);
}

static void
operation(void *state, struct sm_view *v, const struct sm_event *e)
{
    update(state, v, e->slot);
}

static void
threads_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    update(state, v, e->slot);
}

/* -- blocks come and go -- */

static void
block_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct multiplexing *x = state;
    count_free(x, v);
    x->block[e->slot] = (struct block){.started = v->now, .since = v->now};
    if (x->plan.dynamic && x->plan.private_bytes) {
        bool there = scratch_take(x->table, x->entries, e->slot, 0, public_from(x),
                                  x->plan.private_bytes);
        assert(there);
        (void)there;
        x->free -= x->plan.private_bytes;
    }
    publish(x, v, e->slot);
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct multiplexing *x = state;
    struct block *b = &x->block[e->slot];
    count_free(x, v);
    if (b->state == HOLDS) /* it leaves without scratchfree */
        give(x, v, e->slot);
    if (x->plan.dynamic && x->plan.private_bytes) {
        scratch_give(x->table, x->entries, e->slot, 0);
        x->free += x->plan.private_bytes;
    }
    if (v->now > b->started)
        v->stats->multiplex_held_ppm += b->held * 1000000 / (v->now - b->started);
    changed(x, v);
}

/* -- what may issue -- */

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct multiplexing *x = state;
    const struct exec_access *a = e->access;
    if (x->block[e->slot].state == WAITS)
        return false;
    FOR_BITS(lane, a ? a->mask : 0)
    if (exec_not_held(v->cta[e->slot], a, (unsigned)lane)) {
        v->fault = "access to scratchpad outside of what the block holds: it lies in the "
                   "part that scratchalloc takes";
        return false;
    }
    return true;
}

/* Of all instructions: none issues while the block waits. */
static bool
concerns(const struct exec_static *st, const void *plan)
{
    (void)st;
    return ((const struct multiplexing_plan *)plan)->dynamic;
}

static void
explain(const void *state, unsigned s, struct strbuf *out)
{
    static const char *const words[] = {"holds only its private part of the scratchpad",
                                        "waits for scratchpad",
                                        "holds all of its scratchpad"};
    const struct multiplexing *x = state;
    strbuf_printf(out, "slot %u %s", s, words[x->block[s].state]);
}

const struct residency_policy residency_multiplexing = {
    .name = "multiplexing",
    .meaning = "blocks allocate scratchpad while they run (scratchalloc, scratchfree)",
    .plan = plan,
    .mechanism =
        {
            .wait = WAIT_scratchpad,
            .state_size = state_size,
            .init = init,
            .block_started = block_started,
            .block_ended = block_ended,
            .operation = operation,
            .threads_ended = threads_ended,
            .peeks = true,
            .whole = true,
            .may_issue = may_issue,
            .concerns = concerns,
            .explain = explain,
        },
};
