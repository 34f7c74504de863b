/* sets.h: what an instruction does with the registers of its warp, as sets of registers
 * (bit = register, 64 a word). Made once per launch, so that an SM asks and changes all
 * registers of an instruction by a few operations on words.
 *
 * Only registers that a warp of the launch can have are in them. Predicates lie outside of
 * the register file. */
#ifndef ALLOT_TIMING_REGPOWER_SETS_H
#define ALLOT_TIMING_REGPOWER_SETS_H

#include "base/arena.h"
#include "timing/policy/regpower/regpower.h"

enum { SETS_READ, SETS_WRITTEN }; /* registers that it only reads; that it writes */

struct regpower_sets {          /* one word of an instruction: a cache line of the host */
    _Alignas(64) uint64_t uses; /* what it reads or writes */
    uint64_t results;           /* what it writes and does not read */
    uint64_t sleep[2]; /* what sleeps after the access: SETS_READ, SETS_WRITTEN */
    uint64_t off[2];   /* what is OFF */
    uint64_t needs;    /* what must be ON when it issues */
    uint64_t twice;    /* what several of its operands name */
};

/* Words of the sets of a warp with so many registers. */
static inline uint32_t
regpower_words(uint32_t registers)
{
    return registers ? (registers + 63) / 64 : 1;
}

/* Of each of n instructions, regpower_words(registers) words. late: what it only writes need
 * not be ON when it issues (regpower.destination: write). */
const struct regpower_sets *regpower_sets_new(struct arena *a,
                                              const struct exec_static *code, uint32_t n,
                                              const struct regpower_policy *policy,
                                              uint32_t registers, bool late);

/* Operands of `st` that name a register of `set`, which starts with register `first`,
 * beyond the first one of each. */
unsigned regpower_named_again(const struct exec_static *st, uint64_t set, uint32_t first);

#endif
