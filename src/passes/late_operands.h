/* late_operands.h: which registers are operands in the constant bank or literals, for pass
 * schedule. */
#ifndef ALLOT_PASSES_LATE_OPERANDS_H
#define ALLOT_PASSES_LATE_OPERANDS_H

#include "analysis/defs.h"

extern const struct pass pass_late_operands;

/* Of each register of d's function f: pass late-operands reads it where it is used. In mem. */
bool *late_operands_find(const struct ptx_func *f, const struct defs *d,
                         struct arena *mem);

#endif
