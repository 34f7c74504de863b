/* youngest.c: policies of a repository of their own (README.md).
 *
 * youngest issues the ready warp that was launched last: a counter-example for age-based schedulers,
 * since all warps of an SM then reach their memory phases late and together. mru replaces the line
 * that was used last, which is best for loops over more than the cache holds. */
#include "timing/policy/policy_plugin.h"

/* -- a warp scheduler -- */

static void
init(void *state, unsigned n, const struct machine *m)
{
}

static int
pick(void *state, const struct sched_view *v, uint64_t ready)
{
    int best = __builtin_ctzll(ready);
    for (uint64_t left = ready; left; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        if (v->dynamic_id[i] > v->dynamic_id[best])
            best = i;
    }
    return best;
}

static const struct sched_policy youngest = {
    .name = "youngest",
    .meaning = "the warp launched last",
    .init = init,
    .pick = pick,
};

/* -- a cache replacement -- */

static unsigned
filled(unsigned ways, uint64_t *state)
{
    return ways - 1; /* the place that is replaced next */
}

static unsigned
accessed(unsigned place, unsigned ways, uint64_t *state)
{
    return ways - 1;
}

static const struct replacement_policy mru = {
    .name = "mru",
    .meaning = "the line used last",
    .filled = filled,
    .accessed = accessed,
};

static const struct sched_policy *const schedulers[] = {&youngest, NULL};
static const struct replacement_policy *const replacement[] = {&mru, NULL};

const struct policy_plugin allot_policies = {
    POLICY_ABI, .schedulers = schedulers, .replacement = replacement};
