/* unified_alloc.h: what pass unified-alloc knows of a kernel at every number of blocks. */
#ifndef ALLOT_PASSES_UNIFIED_ALLOC_H
#define ALLOT_PASSES_UNIFIED_ALLOC_H

#include "allot/types.h"
#include "passes/pass.h"

extern const struct pass pass_unified_alloc;

/* The steps of a kernel's occupancy, at most `most`, and which of them the search of
 * registers=auto takes. a: settings, with a launch that names a machine. Returns how many
 * there are; 0: an SM does not hold one block. The module is of no use afterwards. */
size_t unified_steps(struct ptx_module *m, const char *kernel, const struct pass_args *a,
                     struct allot_register_step *out, size_t most,
                     struct diag_sink *diag);

#endif
