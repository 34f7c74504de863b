/* sm_program.h: a decoded kernel as the SMs of a machine issue it. */
#ifndef ALLOT_TIMING_SM_SM_PROGRAM_H
#define ALLOT_TIMING_SM_SM_PROGRAM_H

#include "base/diag.h"
#include "timing/sm/sm.h"

/* Whether the machine has a unit for every instruction; false and a diagnostic. */
bool sm_program_check(const struct machine *m, const struct exec_prog *p,
                      struct diag_sink *diag);
/* The pipelines that instructions of that unit (enum ptx_unit) and latency class (enum
 * ptx_latency) issue to. */
enum sm_class sm_program_class(const struct machine *m, unsigned unit, unsigned latency);
/* In mem. setup: the mechanisms whose instructions are marked. */
struct sm_program sm_program_make(const struct machine *m, struct exec_grid *grid,
                                  const struct sm_setup *setup, struct arena *mem);

#endif
