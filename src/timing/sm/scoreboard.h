/* scoreboard.h: pending register writes of each warp. An instruction may issue when none
 * of its sources (RAW) and destinations (WAW) is pending; a register is released when its
 * value is written back. One bit per register and warp, and another if the load/store
 * unit brings the value: only to tell what a warp waits for.
 *
 * Optionally (score_track_reads) also the instructions that have yet to read a register: an
 * instruction waits until nobody has (RAR, WAR). Mechanisms that act on a register once it
 * has been read need this (001 section 4.2.4). Since a second one waits, there is one at
 * most: a bit per register and warp. */
#ifndef ALLOT_TIMING_SCOREBOARD_H
#define ALLOT_TIMING_SCOREBOARD_H

#include "base/bitset.h"

struct scoreboard {
    uint64_t *bits;   /* row of `words` per warp slot */
    uint64_t *memory; /* of those: from the load/store unit */
    uint64_t *unread; /* an instruction has yet to read it; NULL: not tracked */
    uint32_t words;
};

static inline void
score_init(struct scoreboard *s, struct arena *a, unsigned warps, unsigned regs)
{
    s->words = (uint32_t)BITSET_WORDS(regs ? regs : 1);
    s->bits = ARENA_ARRAY(a, uint64_t, (size_t)s->words * warps);
    s->memory = ARENA_ARRAY(a, uint64_t, (size_t)s->words * warps);
}

static inline void
score_track_reads(struct scoreboard *s, struct arena *a, unsigned warps)
{
    s->unread = ARENA_ARRAY(a, uint64_t, (size_t)s->words * warps);
}

/* Whether one of the registers is pending in `of`: s->bits or s->memory. */
static inline bool
score_hazard_in(const struct scoreboard *s, const uint64_t *of, unsigned warp,
                const uint16_t *reg, unsigned n)
{
    const uint64_t *row = of + (size_t)s->words * warp;
    uint64_t hit = 0;
    for (unsigned i = 0; i < n; i++)
        hit |= row[reg[i] / 64] >> (reg[i] % 64);
    return hit & 1;
}

/* Whether an instruction has yet to read one of the registers; false where it is not tracked. */
static inline bool
score_is_unread(const struct scoreboard *s, unsigned warp, const uint16_t *reg,
                unsigned n)
{
    return s->unread && score_hazard_in(s, s->unread, warp, reg, n);
}

static inline bool
score_hazard(const struct scoreboard *s, unsigned warp, const uint16_t *reg, unsigned n)
{
    return score_hazard_in(s, s->bits, warp, reg, n);
}

/* An instruction will read these registers, or has. */
static inline void
score_will_read(struct scoreboard *s, unsigned warp, const uint16_t *reg, unsigned n)
{
    uint64_t *row = s->unread + (size_t)s->words * warp;
    for (unsigned i = 0; i < n; i++)
        bitset_add(row, reg[i]);
}

static inline void
score_has_read(struct scoreboard *s, unsigned warp, const uint16_t *reg, unsigned n)
{
    uint64_t *row = s->unread + (size_t)s->words * warp;
    for (unsigned i = 0; i < n; i++)
        bitset_del(row, reg[i]);
}

static inline void
score_reserve(struct scoreboard *s, unsigned warp, const uint16_t *reg, unsigned n,
              bool memory)
{
    for (unsigned i = 0; i < n; i++)
        bitset_add(s->bits + (size_t)s->words * warp, reg[i]);
    for (unsigned i = 0; memory && i < n; i++)
        bitset_add(s->memory + (size_t)s->words * warp, reg[i]);
}

static inline void
score_release(struct scoreboard *s, unsigned warp, const uint16_t *reg, unsigned n,
              bool memory)
{
    for (unsigned i = 0; i < n; i++)
        bitset_del(s->bits + (size_t)s->words * warp, reg[i]);
    for (unsigned i = 0; memory && i < n; i++)
        bitset_del(s->memory + (size_t)s->words * warp, reg[i]);
}

#endif
