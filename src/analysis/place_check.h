/* place_check.h: does code after register allocation keep two values in one place?
 *
 * A pass that knows nothing of places moves reads and writes as if each name were a register
 * of its own. Where two names share a place (%R5 and the upper half of %D4) that may be wrong. */
#ifndef ALLOT_ANALYSIS_PLACE_CHECK_H
#define ALLOT_ANALYSIS_PLACE_CHECK_H

#include "ptx/ir.h"

struct place_clash {
    const struct ptx_inst *in; /* it writes */
    int32_t written, kept; /* this register; that one holds a value that is read later */
};

/* Whether an instruction of an allocated function writes a place while a register of another
 * name, which shares it, is live and has been written on some path to here. The first such
 * goes to *clash (may be NULL). Of a function that is not allocated: false.
 * O(instructions x registers that share a place), liveness, and blocks x registers / 64. */
bool place_check_clash(const struct ptx_func *f, struct place_clash *clash);

#endif
