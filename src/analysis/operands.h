/* operands.h: which constants a card's instruction takes as an operand, and which have to be in
 * a register first.
 *
 * Of the sources of an arithmetic instruction one may be a literal or a word of the constant
 * bank (a parameter, a launch's size); zero is a register there (RZ). The value of a store, what an
 * atomic takes, and an address outside scratchpad are registers. So ptxas' code has
 *
 *     MOV R7, 0x4;  IMAD.WIDE R2, R0, R7, c[0x0][0x168]
 *
 * Source: ptxas of CUDA 13.0 for sm_75 to sm_90, read with nvdisasm. */
#ifndef ALLOT_ANALYSIS_OPERANDS_H
#define ALLOT_ANALYSIS_OPERANDS_H

#include "analysis/defs.h"

/* Is the result a constant that an instruction may have as an operand: a parameter or word of
 * constant memory from a known place, a literal, an address, a launch's size? */
bool operands_constant(const struct ptx_func *f, const struct ptx_inst *in);

/* Is it zero? That is a register (RZ), wherever it is read. */
bool operands_zero(const struct ptx_inst *constant);

/* Of each register: its only definition is such a constant, in a register of its own; zero only if
 * `zero`. In mem. operands_flagged asks such an array. */
bool *operands_constants(const struct ptx_func *f, const struct defs *d, bool zero,
                         struct arena *mem);
bool operands_flagged(const void *flags, int32_t reg);

/* Which sources of `in` are constants that have to be in a register: bit k for operand k.
 * `constant` tells whether a register's value is one, and not zero. Of two the last stays an operand. */
uint64_t operands_in_registers(const struct ptx_inst *in,
                               bool (*constant)(const void *user, int32_t reg),
                               const void *user);

/* Of each register: pass late-operands reads it where it is used, as an operand. Its only definition
 * takes no machine operation (ptx/expansion.h) and no register; its copies take none either. The base
 * of an address outside scratchpad is none, since a card's accesses take their addresses from
 * registers; nor is an operand of a call. In mem. */
bool *operands_late(const struct ptx_func *f, const struct defs *d, struct arena *mem);

#endif
