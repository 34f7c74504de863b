/* guarded.h: which guarded writes keep nothing that anybody reads. */
#ifndef ALLOT_ANALYSIS_GUARDED_H
#define ALLOT_ANALYSIS_GUARDED_H

#include "ptx/ir.h"

/* Sets ptx_inst.full_def of each instruction of f: nobody reads what its destinations held
 * before in the lanes that it leaves out. Of one without a guard it is false. */
void guarded_mark(struct ptx_func *f);

/* Is any instruction of f marked? */
bool guarded_any(const struct ptx_func *f);

#endif
