/* lrr.c: loose round robin. Starts after the warp that issued last; a warp that cannot
 * issue is passed over. */
#include "base/bitset.h"
#include "timing/policy/policy.h"

struct lrr {
    uint8_t start; /* position after the warp that issued last */
};

static int
pick(void *state, const struct sched_view *v, uint64_t ready)
{
    const struct lrr *l = state;
    uint64_t after = l->start < 64 ? ready >> l->start << l->start : 0;
    return bit_lowest(after ? after : ready);
}

static void
issued(void *state, const struct sched_view *v, int i, int count, bool long_latency)
{
    ((struct lrr *)state)->start = (uint8_t)(i + 1);
}

const struct sched_policy sched_lrr = {
    .name = "lrr",
    .meaning = "loose round robin: the next ready warp after the last that issued",
    .state_size = sizeof(struct lrr),
    .pick = pick,
    .issued = issued,
};
