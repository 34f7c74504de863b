/* latency.h: how long an idle machine takes, by its settings. */
#ifndef ALLOT_MACHINE_LATENCY_H
#define ALLOT_MACHINE_LATENCY_H

#include "machine/machine.h"

/* Core cycles of a load from global memory that DRAM answers from a closed row, without
 * any queue. */
double latency_dram(const struct machine *m);

#endif
