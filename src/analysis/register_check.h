/* register_check.h: is an allocated function still the function it was?
 *
 * Independent of the allocator: neither its liveness nor its interference is used. */
#ifndef ALLOT_ANALYSIS_REGISTER_CHECK_H
#define ALLOT_ANALYSIS_REGISTER_CHECK_H

#include "ptx/ir.h"

enum { REGISTER_CHECK_INSERTED = -1 };

/* origin[] of an instruction inserted before instruction i of `before`, after all
 * that was left out before i. REGISTER_CHECK_INSERTED: before the next that stayed. */
static inline int32_t
register_check_inserted(int32_t i)
{
    return REGISTER_CHECK_INSERTED - 1 - i;
}

/* Follows all paths of `after`, keeping for each virtual register of `before` the set of
 * physical places that hold its value, and requires every read to find its value in the
 * place it names. origin[i]: instruction of `before` that after->body.v[i] stands for, or
 * that it was inserted (register_check_inserted). Inserted may be: moves between physical
 * registers, loads and stores of the variable `slots` in local memory (NULL: none), and
 * repetitions of a pure instruction of `before` on the values that it had. Left out may
 * be: moves, and such instructions, whose registers are then read where they are repeated.
 * All else must be as it was but for the names of registers, in the same order, in the
 * same blocks. False and a diagnostic naming instruction and line. */
bool register_check(const struct ptx_func *before, const struct ptx_func *after,
                    const int32_t *origin, const struct ptx_var *slots,
                    struct diag_sink *diag);

/* Whether each register that the code of an allocated function names has a place within
 * f->registers (predicates: f->predicates). True of a function that is not allocated. False:
 * a pass after allocation made registers; a diagnostic (diag may be NULL) names one. */
bool register_check_places(const struct ptx_func *f, struct diag_sink *diag);

#endif
