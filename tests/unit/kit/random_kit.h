/* random_kit.h: random numbers for tests, the same everywhere (splitmix64). */
#ifndef TESTS_UNIT_RANDOM_KIT_H
#define TESTS_UNIT_RANDOM_KIT_H

#include <stdint.h>

static inline uint64_t
random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint64_t
random_in(uint64_t *state, uint64_t from, uint64_t to)
{
    return from + random_next(state) % (to - from + 1);
}

#endif
