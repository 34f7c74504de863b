/* warp_level_divergence.h: the plan of warp-level divergence, for its tests. Private to
 * src/timing/residency. */
#ifndef ALLOT_TIMING_RESIDENCY_WARP_LEVEL_DIVERGENCE_H
#define ALLOT_TIMING_RESIDENCY_WARP_LEVEL_DIVERGENCE_H

#include "timing/policy/policy.h"

#include <assert.h>

/* The policy's plan. */
struct partial_plan {
    unsigned warps;            /* of a block */
    unsigned tokens;           /* warps that have registers at once */
    unsigned blocks, baseline; /* resident, of these whole */
};
static_assert(sizeof(struct partial_plan) <= sizeof(((struct residency_plan *)0)->own),
              "room for it in the residency plan");

#endif
