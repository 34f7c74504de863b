/* spill_check.h: do spilled values that moved from local memory to scratchpad slots still
 * arrive?
 *
 * Independent of how the slots were assigned: neither the liveness nor the call graph of
 * the assignment is used. */
#ifndef ALLOT_ANALYSIS_SPILL_CHECK_H
#define ALLOT_ANALYSIS_SPILL_CHECK_H

#include "ptx/ir.h"

/* A function of the kernel. Registers of `before` have the same numbers in `after`. */
struct spill_func {
    const struct ptx_func *before; /* spills to local memory; NULL: it was not changed */
    const struct ptx_func *after;
    const int32_t *origin; /* of each instruction of after: that of before which it, or
                            * it with its neighbours, stands for; -1: inserted */
    const struct ptx_var
        *local;          /* before's spilled values; in after, those that stayed */
    int32_t base, mover; /* registers of after: address of slot 0; what slots are moved
                          * through. -1: none */
};

/* Follows all paths of each changed function, keeping for each spilled word the place that
 * holds it: a slot, or a word of local memory. Requires every read of a spilled value to
 * name that place, all else to be as it was, and nothing but the prologue to write the
 * base register. A slot is `stride` bytes of `area`, from [base + slot * stride] on. A
 * call ends what lies in the slots that the callee's code, or that of its callees, writes.
 * False and a diagnostic naming function and instruction. */
bool spill_check(const struct spill_func *fn, size_t n, const struct ptx_var *area,
                 uint64_t stride, struct diag_sink *diag);

#endif
