/* late_operands.h: pass late-operands, for those who ask whether it runs. */
#ifndef ALLOT_PASSES_LATE_OPERANDS_H
#define ALLOT_PASSES_LATE_OPERANDS_H

#include "passes/pass.h"

extern const struct pass pass_late_operands;

#endif
