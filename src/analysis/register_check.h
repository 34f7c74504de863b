/* register_check.h: is an allocated function still the function it was?
 *
 * Independent of the allocator: neither its liveness nor its interference is used. */
#ifndef ALLOT_ANALYSIS_REGISTER_CHECK_H
#define ALLOT_ANALYSIS_REGISTER_CHECK_H

#include "ptx/ir.h"

/* Follows all paths of `after`, keeping for each virtual register of `before` the set of
 * physical places that hold its value, and requires every read to find its value in the
 * place it names. origin[i]: instruction of `before` that after->body.v[i] stands for,
 * -1: inserted. Inserted may be: moves between physical registers, loads and stores of
 * the variable `slots` in local memory (NULL: none), and repetitions of an instruction of
 * `before` that reads no register. Left out may be: moves, and instructions that are
 * repeated. All else must be as it was but for the names of registers, in the same order,
 * in the same blocks. False and a diagnostic naming instruction and line. */
bool register_check(const struct ptx_func *before, const struct ptx_func *after,
                    const int32_t *origin, const struct ptx_var *slots,
                    struct diag_sink *diag);

#endif
