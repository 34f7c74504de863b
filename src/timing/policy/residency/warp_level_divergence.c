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
#include "timing/policy/policy.h"

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
        tokens = m->sm.registers / m->sm.register_partitions / (d.registers / d.warps) *
                 m->sm.register_partitions;
    bool room = o.by_threads > B && o.by_blocks > B && o.by_scratchpad > B &&
                tokens > B * d.warps;
    *p = (struct residency_plan){.blocks = (unsigned)B + room,
                                 .baseline = (unsigned)B,
                                 .warps = d.warps,
                                 .tokens = (unsigned)tokens};
    return true;
}

static size_t
state_size(const struct residency_plan *p)
{
    return sizeof(struct divergence) + sizeof(struct slot) * p->blocks;
}

static void
init(void *state, const struct machine *m, const struct residency_plan *p)
{
    struct divergence *s = state;
    (void)m;
    s->warps = p->warps;
    s->tokens = s->free = p->tokens;
    s->nslots = p->blocks;
}

/* Waiting of the slot's warps up to now. */
static void
count(struct divergence *d, const struct residency_view *v, struct slot *s)
{
    if (s->order)
        v->stats->partial_wait_cycles += (d->warps - s->granted) * (v->now - s->since);
    s->since = v->now;
}

/* Hands free registers to the warps that wait, the oldest block first. */
static bool
grant(struct divergence *d, const struct residency_view *v)
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
        oldest->granted += n;
        d->free -= n;
        any = true;
    }
    return any;
}

static void
started(void *state, const struct residency_view *v, unsigned s)
{
    struct divergence *d = state;
    d->slot[s] = (struct slot){.order = ++d->order, .since = v->now};
    grant(d, v);
    v->stats->share_additional_blocks += d->slot[s].granted < d->warps;
}

static bool
warp_ended(void *state, struct residency_view *v, unsigned s)
{
    struct divergence *d = state;
    (void)s;
    d->free++;
    return grant(d, v);
}

static void
ended(void *state, const struct residency_view *v, unsigned s)
{
    struct divergence *d = state;
    (void)v;
    d->slot[s].order = 0;
}

static bool
may_issue(void *state, struct residency_view *v, unsigned s, const struct exec_static *st,
          const struct exec_access *access, bool *changed)
{
    const struct divergence *d = state;
    (void)st;
    (void)access;
    (void)changed;
    return v->warp < d->slot[s].granted;
}

static bool
concerns(const struct exec_static *st, const struct residency_plan *p)
{
    (void)st;
    return p->blocks > p->baseline;
}

static bool
watches(const void *state, unsigned s)
{
    const struct divergence *d = state;
    return d->slot[s].granted < d->warps;
}

static bool
holds(const void *state, unsigned s, unsigned warp)
{
    const struct divergence *d = state;
    return warp < d->slot[s].granted;
}

static enum warp_class
cls(const void *state, unsigned s)
{
    (void)state;
    (void)s;
    return WARP_UNSHARED;
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
    .state_size = state_size,
    .init = init,
    .started = started,
    .ended = ended,
    .warp_ended = warp_ended,
    .holds = holds,
    .may_issue = may_issue,
    .concerns = concerns,
    .watches = watches,
    .cls = cls,
    .explain = explain,
};
