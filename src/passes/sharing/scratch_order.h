/* scratch_order.h: the order in which a kernel's scratchpad variables lie. Private to
 * src/passes. */
#ifndef ALLOT_PASSES_SCRATCH_ORDER_H
#define ALLOT_PASSES_SCRATCH_ORDER_H

#include "passes/pass.h"

/* Lays the n variables, all static ones of a kernel and its callees, out in this order.
 * Those of several functions become variables of the module. */
void scratch_order(struct ptx_module *m, struct ptx_var **order, size_t n);

#endif
