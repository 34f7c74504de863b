/* share.h: how a resource is split when two share it (001 section 2.2). */
#ifndef ALLOT_BASE_SHARE_H
#define ALLOT_BASE_SHARE_H

#include <stdint.h>

/* Thresholds are exact to nine decimals: 0.1 is 100000000 billionths. */
static inline uint64_t
share_billionths(double threshold)
{
    return (uint64_t)(threshold * 1e9 + 0.5);
}

/* Units that stay private to each of a sharing pair: floor(units * t). */
static inline uint64_t
share_private(uint64_t units, double threshold)
{
    return (uint64_t)((unsigned __int128)units * share_billionths(threshold) /
                      1000000000u);
}

#endif
