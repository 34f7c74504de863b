/* latency.h: how long an idle machine takes, by its settings. */
#ifndef ALLOT_MACHINE_LATENCY_H
#define ALLOT_MACHINE_LATENCY_H

#include "machine/machine.h"

/* Core cycles of a load from global memory that DRAM answers from a closed row, without
 * any queue. */
double latency_dram(const struct machine *m);

/* Core cycles from the issue of an instruction of a class (enum ptx_latency) to that of one
 * that uses its result (docs/model.md, Pipelines and write-back). */
uint32_t latency_dependent(const struct machine *m, unsigned class);

#endif
