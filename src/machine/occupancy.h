/* occupancy.h: how many blocks reside in an SM, with and without sharing. */
#ifndef ALLOT_MACHINE_OCCUPANCY_H
#define ALLOT_MACHINE_OCCUPANCY_H

#include "allot/allot.h"
#include "base/diag.h"
#include "machine/machine.h"

/* What a launch asks of an SM. */
struct occ_kernel {
    uint32_t threads;    /* of a block */
    uint32_t registers;  /* 32-bit, of a thread */
    uint32_t scratchpad; /* bytes of a block, static + dynamic */
};

enum occ_share { OCC_SHARE_NONE, OCC_SHARE_REGISTERS, OCC_SHARE_SCRATCHPAD };

/* Fills out; threshold t in (0, 1], 1 shares nothing. False and a diagnostic if not even one
 * block fits (naming the resource). */
bool occ_compute(const struct machine *m, const struct occ_kernel *k, enum occ_share share,
                 double threshold, struct allot_occupancy *out, struct diag_sink *diag);

#endif
