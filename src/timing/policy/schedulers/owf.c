/* owf.c: owner warp first (001 section 2.3.1): owners of a shared resource, then warps
 * that share nothing, then those that wait for an owner; the oldest first within a class.
 * Without sharing all warps are of one class and this is the order by dynamic warp id. */
#include "base/bitset.h"
#include "timing/policy/policy.h"

static int
pick(void *state, const struct sched_view *v, uint64_t ready)
{
    int best = bit_lowest(ready);
    FOR_BITS(i, ready & (ready - 1))
    {
        if (v->cls[i] < v->cls[best] ||
            (v->cls[i] == v->cls[best] && v->dynamic_id[i] < v->dynamic_id[best]))
            best = (int)i;
    }
    return best;
}

const struct sched_policy sched_owf = {
    .name = "owf",
    .meaning =
        "owner warp first: owners, unshared, non-owners; the oldest within a class",
    .pick = pick,
};
