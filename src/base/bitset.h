/* bitset.h: fixed-size bit sets over uint64_t words, and the common bit tricks. */
#ifndef ALLOT_BASE_BITSET_H
#define ALLOT_BASE_BITSET_H

#include "base/arena.h"

#include <stdbool.h>

#define BITSET_WORDS(n) (((size_t)(n) + 63) / 64)

static inline uint64_t *
bitset_new(struct arena *a, size_t n)
{
    return ARENA_ARRAY(a, uint64_t, BITSET_WORDS(n));
}

static inline bool
bitset_has(const uint64_t *s, size_t i)
{
    return s[i / 64] >> (i % 64) & 1;
}

static inline void
bitset_add(uint64_t *s, size_t i)
{
    s[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void
bitset_del(uint64_t *s, size_t i)
{
    s[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* d |= s over n bits; true if d changed. */
static inline bool
bitset_or(uint64_t *d, const uint64_t *s, size_t n)
{
    bool changed = false;
    for (size_t i = 0; i < BITSET_WORDS(n); i++) {
        uint64_t v = d[i] | s[i];
        changed |= v != d[i];
        d[i] = v;
    }
    return changed;
}

/* Index of the lowest set bit; x must not be 0. */
static inline int
bit_lowest(uint64_t x)
{
    return __builtin_ctzll(x);
}

/* Index of the lowest set bit at or after `from` < 64, else of the lowest; x must not be
 * 0. Branchless: in a round robin the branches would be mispredicted. */
static inline unsigned
bit_in_turn(uint64_t x, unsigned from)
{
    const uint64_t after = x >> from << from;
    return (unsigned)bit_lowest(after | (x & -(uint64_t)!after));
}

static inline int
bit_count(uint64_t x)
{
    return __builtin_popcountll(x);
}

/* Loop over the set bits of a uint64_t or uint32_t mask, lowest first. */
#define FOR_BITS(i, mask)                                                                \
    for (uint64_t i##_m = (mask), i; i##_m && (i = (uint64_t)bit_lowest(i##_m), 1);      \
         i##_m &= i##_m - 1)

#endif
