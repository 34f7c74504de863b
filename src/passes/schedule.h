/* schedule.h: pass schedule for others: a function ordered within a number of registers. */
#ifndef ALLOT_PASSES_SCHEDULE_H
#define ALLOT_PASSES_SCHEDULE_H

#include "passes/pass.h"

/* Orders f, which has virtual registers, for an allocation to so many. a: of a pass with the
 * setting `latencies`. */
bool schedule_within(struct ptx_func *f, const struct pass_args *a, uint32_t registers,
                     struct diag_sink *diag);

#endif
