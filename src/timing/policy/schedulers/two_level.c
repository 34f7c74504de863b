/* two_level.c: two-level warp scheduling (Narasiman et al., Improving GPU Performance via
 * Large Warps and Two-Level Warp Scheduling, MICRO 2011). A small active set is scheduled
 * round robin; a warp that starts a memory access leaves it for the end of a queue of
 * pending warps. When no active warp is ready, the longest pending ready one takes the
 * place of the active warp that issued the longest time ago. */
#include "base/bitset.h"
#include "timing/policy/policy.h"

struct two_level {
    uint64_t active, queued; /* sets of warps; queued: those in queue */
    uint32_t since[64];      /* order in which warps came to the queue or last issued */
    uint32_t tick;
    uint8_t start, limit;
};

static void
init(void *state, unsigned n, const struct machine *m)
{
    struct two_level *t = state;
    t->limit = (uint8_t)m->sm.two_level_active;
}

/* The member of set whose `since` is the earliest. */
static int
earliest(const struct two_level *t, uint64_t set)
{
    int best = bit_lowest(set);
    FOR_BITS(i, set & (set - 1))
    if (t->since[i] < t->since[best])
        best = (int)i;
    return best;
}

static void
promote(struct two_level *t)
{
    while (t->queued && bit_count(t->active) < t->limit) {
        uint64_t bit = (uint64_t)1 << earliest(t, t->queued);
        t->queued ^= bit;
        t->active |= bit;
    }
}

static int
pick(void *state, const struct sched_view *v, uint64_t ready)
{
    struct two_level *t = state;
    uint64_t r = ready & t->active;
    if (r) {
        uint64_t after = t->start < 64 ? r >> t->start << t->start : 0;
        return bit_lowest(after ? after : r);
    }
    return earliest(t, ready);
}

static void
issued(void *state, const struct sched_view *v, int i, int count, bool long_latency)
{
    struct two_level *t = state;
    uint64_t bit = (uint64_t)1 << i;
    if (t->queued & bit) { /* came from the queue: changes place with an active warp */
        t->queued ^= bit;
        if (bit_count(t->active) >= t->limit) {
            int out = earliest(t, t->active);
            t->active ^= (uint64_t)1 << out;
            t->queued |= (uint64_t)1 << out;
            t->since[out] = t->tick++;
        }
        t->active |= bit;
    }
    t->since[i] = t->tick++;
    t->start = (uint8_t)(i + 1);
    if (long_latency && t->active & bit && t->queued) {
        t->active ^= bit;
        promote(t);
        t->queued |= bit;
    }
}

static void
warp(void *state, const struct sched_view *v, int i, bool started)
{
    struct two_level *t = state;
    uint64_t bit = (uint64_t)1 << i;
    t->active &= ~bit;
    t->queued &= ~bit;
    if (started) {
        t->queued |= bit;
        t->since[i] = t->tick++;
    }
    promote(t);
}

const struct sched_policy sched_two_level = {
    .name = "two-level",
    .meaning = "round robin over a small active set; warps that access memory leave it",
    .state_size = sizeof(struct two_level),
    .init = init,
    .pick = pick,
    .issued = issued,
    .warp = warp,
};
