/* defuse.h: which registers an instruction reads and writes, by its row's operand pattern
 * (ptx/opcodes.def). The guard is a read. */
#ifndef ALLOT_ANALYSIS_DEFUSE_H
#define ALLOT_ANALYSIS_DEFUSE_H

#include "ptx/ir.h"

/* Calls fn for each register, reads first (a register may come more than once). A guarded
 * instruction's destination is written only in some lanes: `partial` is true for it, unless
 * nobody reads what the others hold (ptx_inst.full_def). */
void defuse_each(const struct ptx_inst *in,
                 void (*fn)(void *user, int32_t reg, bool write, bool partial),
                 void *user);

/* Where operand i stands in the row's pattern: true if it is a destination. */
bool defuse_is_dest(const struct ptx_inst *in, unsigned operand);

#endif
