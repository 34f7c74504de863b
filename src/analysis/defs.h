/* defs.h: registers with one definition, and where that definition holds.
 *
 * PTX registers may be written in several places. Of one that is written by a single,
 * unguarded instruction, every read that this instruction dominates sees its last result;
 * and if it is computed from registers of the same kind, those still hold what they held
 * then. So such registers may be treated as values in SSA form, without building it. */
#ifndef ALLOT_ANALYSIS_DEFS_H
#define ALLOT_ANALYSIS_DEFS_H

#include "analysis/cfg.h"

enum { DEFS_NONE = -1, DEFS_MANY = -2 };

struct defs {
    const struct cfg *cfg;
    uint32_t nregs;
    int32_t *at; /* of each register: its only definition, DEFS_NONE, DEFS_MANY (also: one
                  * that is guarded, or a parameter) */
    struct arena mem;
};

/* g must outlive it, and its function's definitions stay where they are. */
struct defs *defs_new(const struct cfg *g);
void defs_free(struct defs *d);

/* Does instruction i, after its only definition, read what that wrote? */
bool defs_reach(const struct defs *d, int32_t reg, uint32_t i);
/* Does instruction i read only definitions that reach it so, and write only what nothing else
 * does? */
bool defs_single(const struct defs *d, uint32_t i);

/* Where each register is written, by any number of instructions. */
struct defs_writes;

/* g must outlive it. O(operands). */
struct defs_writes *defs_writes_new(const struct cfg *g);
void defs_writes_free(struct defs_writes *w);
/* The n instructions that write reg, ascending. */
const uint32_t *defs_writes_of(const struct defs_writes *w, int32_t reg, uint32_t *n);

/* Is reg written on no path from after instruction `from`, whose block dominates that of
 * `to`, to before `to`, `from` not passed again? Then it holds what it held after `from`.
 * Looks at 64 blocks at most; false where there are more. */
bool defs_writes_none_between(struct defs_writes *w, int32_t reg, uint32_t from,
                              uint32_t to);

#endif
