/* hotspot.h: what hotspot and hotspot_derived share. */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "allot/workload.h"

/* Four time steps, two a launch, and the check. derived: the kernel takes the chip's
 * capacity and resistances instead of the coefficients that follow from them. */
bool hotspot_run(struct allot_run *r, bool derived);

#endif
