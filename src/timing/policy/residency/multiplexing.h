/* multiplexing.h: the plan of residency multiplexing. */
#ifndef ALLOT_TIMING_RESIDENCY_MULTIPLEXING_H
#define ALLOT_TIMING_RESIDENCY_MULTIPLEXING_H

#include "timing/policy/policy.h"

#include <assert.h>

struct multiplexing_plan {
    uint32_t blocks;                      /* resident, at most */
    uint32_t private_bytes, public_bytes; /* of a block, as they are allocated */
    uint32_t size;                        /* of the SM's scratchpad */
    bool dynamic;
};
static_assert(sizeof(struct multiplexing_plan) <=
                  sizeof(((struct residency_plan *)0)->own),
              "room for it in the residency plan");

#endif
