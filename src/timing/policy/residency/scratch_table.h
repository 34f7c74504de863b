/* scratch_table.h: the table by which an SM's scratchpad is managed (003 section 5, Figure
 * 7): who holds which part of it. Private to src/timing/policy/residency.
 *
 *     Valid   TB id   Size   Starting address
 *     1       6       4kB    0
 *     1       10      4kB    4096
 *
 * First fit: the lowest address at which the part overlaps no valid entry. Cost: entries
 * squared, at an allocation. */
#ifndef ALLOT_TIMING_RESIDENCY_SCRATCH_TABLE_H
#define ALLOT_TIMING_RESIDENCY_SCRATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct scratch_entry {
    bool valid;
    uint8_t slot; /* of the block */
    uint32_t size, start;
};

/* Whether [start, start + size) is free of valid entries. */
static inline bool
scratch_free_at(const struct scratch_entry *t, unsigned n, uint32_t start, uint32_t size)
{
    for (unsigned i = 0; i < n; i++)
        if (t[i].valid && start < t[i].start + t[i].size && t[i].start < start + size)
            return false;
    return true;
}

/* Lowest free place of that size within [low, high): at `low` or where an entry ends. -1:
 * there is none. */
static inline int64_t
scratch_first_fit(const struct scratch_entry *t, unsigned n, uint32_t low, uint32_t high,
                  uint32_t size)
{
    int64_t best = -1;
    for (unsigned i = 0; i <= n; i++) {
        uint32_t at = i < n ? t[i].start + t[i].size : low;
        if ((i < n && !t[i].valid) || at < low || (uint64_t)at + size > high ||
            (best >= 0 && at >= best))
            continue;
        if (scratch_free_at(t, n, at, size))
            best = at;
    }
    return best;
}

/* Fills an entry for that block. False: no part of that size is free. There must be an
 * invalid entry. */
static inline bool
scratch_take(struct scratch_entry *t, unsigned n, unsigned slot, uint32_t low,
             uint32_t high, uint32_t size)
{
    int64_t at = scratch_first_fit(t, n, low, high, size);
    for (unsigned i = 0; at >= 0 && i < n; i++)
        if (!t[i].valid) {
            t[i] = (struct scratch_entry){true, (uint8_t)slot, size, (uint32_t)at};
            return true;
        }
    return false;
}

/* Invalidates the block's entries that start at `low` or above. */
static inline void
scratch_give(struct scratch_entry *t, unsigned n, unsigned slot, uint32_t low)
{
    for (unsigned i = 0; i < n; i++)
        if (t[i].valid && t[i].slot == slot && t[i].start >= low)
            t[i].valid = false;
}

#endif
