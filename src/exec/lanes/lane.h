/* lane.h: what one instruction computes from registers, 32 lanes at a time.
 *
 * The seam between the value semantics (lanes.c, made from opcodes.def) and the executor.
 * A register row is 32 lanes contiguous: uint32_t[32] for types up to 32 bits (8- and
 * 16-bit values zero-extended), uint64_t[32] for 64-bit types. A predicate is one
 * uint32_t, bit per lane. Rows are 64-byte aligned. A destination may be the same row as
 * a source.
 *
 * Lanes outside `mask` keep their old destination value. No lane function traps, whatever
 * the operands (integer division by zero gives all ones, as a card does). Results are the
 * same on every machine and for every compiler. */
#ifndef ALLOT_EXEC_LANE_H
#define ALLOT_EXEC_LANE_H

#include "ptx/ir.h"

enum { LANES = 32, ROW_BYTES = 128 };

/* d[0]: destination row (or predicate), d[1]: second destination (setp p|q; the carry
 * flag CC.CF as a predicate for .cc and addc/subc/madc), s[]: sources in operand order
 * (unused ones may be anything). A setp whose q is not wanted may get NULL or d[0] for
 * d[1]: p is written last. Rows are as wide as the written types: a wider register is the
 * caller's matter. A result of type s8 is sign-extended to the 32 bits of the row, one of
 * type s16 or u16 zero-extended. Negated predicates (!p) are the caller's matter too. */
typedef void lane_fn(void *const d[2], const void *const s[4], uint32_t mask,
                     uint32_t aux);

/* The function that computes this instruction, and the constant to pass it in *aux. NULL
 * if the instruction is not a pure lane computation (memory, control, cross-lane, mov of
 * special registers, symbols and vectors: the executor's). mov of registers and literals,
 * cvt, setp, set, selp, slct and so on are here. */
lane_fn *lane_select(const struct ptx_inst *in, uint32_t *aux);

/* Picks the instruction-set variant of the lane functions for this processor (once). */
void lane_init(void);

#endif
