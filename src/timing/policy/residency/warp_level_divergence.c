/* warp_level_divergence.c: one more block than the registers hold whole (Xiang, Yang,
 * Zhou, "Warp-level divergence in GPUs", HPCA 2014, as 001 section 2.5.1.9 compares with
 * it).
 *
 * Registers are given to warps, not to blocks: floor(R / Rw) warps have theirs at once.
 * The blocks that the baseline holds have them all; the registers left over go to the
 * first warps of one additional, partial block. A warp that ends gives its registers to
 * the oldest warp that has none, so at most the youngest block is partial. Threads,
 * blocks and scratchpad of the partial block must fit whole. Warps without registers do
 * not issue; no other warp waits for them, so there is no deadlock. */
#include "timing/policy/residency/warp_level_divergence.h"

#include "base/bitset.h"

struct slot {
    uint64_t order;   /* of its block: later ones are larger; 0: empty */
    uint32_t granted; /* warps 0 .. granted-1 have their registers */
    uint64_t since;   /* cycle up to which its waiting is counted */
};

struct divergence {
    uint32_t warps, tokens, free, nslots;
    uint64_t order;
    struct slot slot[];
};

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    struct allot_occupancy o;
    if (!occ_compute(m, k, OCC_SHARE_NONE, 1, &o, diag))
        return false;
    struct occ_demand d = occ_demand(m, k);
    uint64_t tokens = OCC_UNLIMITED, B = o.resident_blocks;
    if (d.registers)
        tokens = m->sm.registers / occ_partitions(m) / (d.registers / d.warps) *
                 occ_partitions(m);
    bool room = o.by_threads > B && o.by_blocks > B && o.by_scratchpad > B &&
                tokens > B * d.warps;
    *p = (struct residency_plan){.blocks = (unsigned)B + room, .baseline = (unsigned)B};
    p->late = room ? p->blocks : 0; /* any block may be the partial one */
    *(struct partial_plan *)(void *)p->own =
        (struct partial_plan){.warps = d.warps,
                              .tokens = (unsigned)tokens,
                              .blocks = p->blocks,
                              .baseline = (unsigned)B};
    return true;
}

static size_t
state_size(const void *plan)
{
    const struct partial_plan *p = plan;
    return sizeof(struct divergence) + sizeof(struct slot) * p->blocks;
}

/* Warps of slot i may have to wait. */
static void
publish(const struct divergence *d, struct sm_view *v, uint32_t i)
{
    v->asks[i] = d->slot[i].granted < d->warps;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct divergence *s = state;
    const struct partial_plan *p = plan;
    (void)m;
    s->warps = p->warps;
    s->tokens = s->free = p->tokens;
    s->nslots = p->blocks;
    for (uint32_t i = 0; i < s->nslots; i++)
        publish(s, v, i);
}

/* Waiting of the slot's warps up to now. */
static void
count(struct divergence *d, const struct sm_view *v, struct slot *s)
{
    if (s->order)
        v->stats->partial_wait_cycles += (d->warps - s->granted) * (v->now - s->since);
    s->since = v->now;
}

/* Hands free registers to the warps that wait, the oldest block first. */
static bool
grant(struct divergence *d, struct sm_view *v)
{
    bool any = false;
    while (d->free) {
        struct slot *oldest = NULL;
        for (uint32_t i = 0; i < d->nslots; i++) {
            struct slot *s = &d->slot[i];
            if (s->order && s->granted < d->warps &&
                (!oldest || s->order < oldest->order))
                oldest = s;
        }
        if (!oldest)
            break;
        uint32_t n = d->warps - oldest->granted;
        n = n < d->free ? n : d->free;
        count(d, v, oldest);
        uint32_t first = (uint32_t)(oldest - d->slot) * d->warps + oldest->granted;
        for (uint32_t w = first; w < first + n; w++)
            bitset_add(v->got, w);
        oldest->granted += n;
        d->free -= n;
        publish(d, v, (uint32_t)(oldest - d->slot));
        any = true;
    }
    return any;
}

static void
block_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct divergence *d = state;
    unsigned s = e->slot;
    d->slot[s] = (struct slot){.order = ++d->order, .since = v->now};
    publish(d, v, s);
    grant(d, v);
    v->stats->share_additional_blocks += d->slot[s].granted < d->warps;
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct divergence *d = state;
    (void)e;
    d->free++;
    if (grant(d, v))
        v->changed = true;
}

static void
block_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct divergence *d = state;
    d->slot[e->slot].order = 0;
    v->changed = true;
}

static bool
may_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    const struct divergence *d = state;
    (void)v;
    return e->warp < d->slot[e->slot].granted;
}

static bool
concerns(const struct exec_static *st, const void *plan)
{
    const struct partial_plan *p = plan;
    (void)st;
    return p->blocks > p->baseline;
}

static void
explain(const void *state, unsigned s, struct strbuf *out)
{
    const struct divergence *d = state;
    strbuf_printf(out, "slot %u has registers for %u of %u warps", s, d->slot[s].granted,
                  d->warps);
}

const struct residency_policy residency_warp_level_divergence = {
    .name = "warp-level-divergence",
    .meaning = "one more, partial block with the registers left over, warp by warp",
    .plan = plan,
    .mechanism =
        {
            .wait = WAIT_lock,
            .state_size = state_size,
            .init = init,
            .block_started = block_started,
            .block_ended = block_ended,
            .warp_ended = warp_ended,
            .may_issue = may_issue,
            .concerns = concerns,
            .explain = explain,
        },
};
