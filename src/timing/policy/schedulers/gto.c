/* gto.c: greedy then oldest (Rogers et al., Cache-Conscious Wavefront Scheduling, MICRO
 * 2012). The warp that issued last goes on as long as it is ready; then the oldest, that
 * is the one with the smallest dynamic id. */
#include "base/bitset.h"
#include "timing/policy/policy.h"

struct gto {
    int8_t last; /* -1: none */
};

static void
init(void *state, unsigned n, const struct machine *m)
{
    ((struct gto *)state)->last = -1;
}

static int
pick(void *state, const struct sched_view *v, uint64_t ready)
{
    const struct gto *g = state;
    if (g->last >= 0 && ready >> g->last & 1)
        return g->last;
    int best = bit_lowest(ready);
    FOR_BITS(i, ready & (ready - 1))
    if (v->dynamic_id[i] < v->dynamic_id[best])
        best = (int)i;
    return best;
}

static void
issued(void *state, const struct sched_view *v, int i, int count, bool long_latency)
{
    ((struct gto *)state)->last = (int8_t)i;
}

const struct sched_policy sched_gto = {
    .name = "gto",
    .meaning =
        "greedy then oldest: the same warp as long as it is ready, then the oldest",
    .state_size = sizeof(struct gto),
    .init = init,
    .pick = pick,
    .issued = issued,
};
