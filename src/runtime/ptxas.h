/* ptxas.h: register counts of ptxas, NVIDIA's assembler, where it is installed. */
#ifndef ALLOT_RUNTIME_PTXAS_H
#define ALLOT_RUNTIME_PTXAS_H

#include "base/diag.h"
#include "ptx/ir.h"

/* Registers of a thread of kernel `name` in the code that `ptxas -O3` makes of module m for
 * compute capability `sm` (80: sm_80), or for the oldest that it still has. ptxas is looked
 * for in $PATH and given the PTX on its standard input; no shell and no file. False and a
 * diagnostic: it is not there, or refuses the PTX. Takes as long as ptxas does. */
bool ptxas_registers(const struct ptx_module *m, const char *name, unsigned sm,
                     uint32_t *registers, struct diag_sink *diag);

#endif
