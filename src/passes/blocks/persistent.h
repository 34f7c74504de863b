/* persistent.h: what pass persistent-blocks leaves in a module: the array of block numbers
 * that a kernel's blocks take their work from (docs/passes.md). */
#ifndef ALLOT_PASSES_PERSISTENT_H
#define ALLOT_PASSES_PERSISTENT_H

#include "ptx/ir.h"

/* The array of kernel f, of 4 bytes an entry; NULL: its blocks are not persistent. */
const struct ptx_var *persistent_order(const struct ptx_func *f);
/* Where the steps of kernel f begin in that array, of 4 bytes each, one more than entries; NULL:
 * its blocks have no steps. If they have, all must be resident at the same time: they meet after each. */
const struct ptx_var *persistent_steps(const struct ptx_func *f);

#endif
