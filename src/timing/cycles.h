/* cycles.h: times in cycles, of any clock. */
#ifndef ALLOT_TIMING_CYCLES_H
#define ALLOT_TIMING_CYCLES_H

#include <stdint.h>

#define NEVER UINT64_MAX /* "no event until something arrives from outside" */

static inline uint64_t
min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t
max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
