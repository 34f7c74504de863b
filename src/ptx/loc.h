/* loc.h: debug lines. */
#ifndef ALLOT_PTX_LOC_H
#define ALLOT_PTX_LOC_H

#include "ptx/ir.h"

/* A .loc directive. It belongs to the instruction that follows it. */
static inline bool
ptx_is_loc(const struct ptx_inst *in)
{
    return in->op == PTX_OP_DIRECTIVE && in->text && !strncmp(in->text, ".loc", 4);
}

#endif
