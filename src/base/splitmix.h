/* splitmix.h: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014): random numbers that are the same everywhere, and their mixing step as a hash. */
#ifndef ALLOT_BASE_SPLITMIX_H
#define ALLOT_BASE_SPLITMIX_H

#include <stdint.h>

/* Each bit of x is spread over the result; 0 stays 0. */
static inline uint64_t
splitmix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The next number of the sequence that *state began as. */
static inline uint64_t
splitmix_next(uint64_t *state)
{
    return splitmix(*state += 0x9e3779b97f4a7c15u);
}

#endif
