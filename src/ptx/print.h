/* print.h: IR to PTX text that ptx_parse and ptxas accept. */
#ifndef ALLOT_PTX_PRINT_H
#define ALLOT_PTX_PRINT_H

#include "ptx/ir.h"

void ptx_print(const struct ptx_module *m, struct strbuf *out);
/* What ptx_copy takes of it for one kernel; NULL: all. */
void ptx_print_part(const struct ptx_module *m, const char *kernel, struct strbuf *out);
void ptx_print_inst(const struct ptx_func *f, const struct ptx_inst *in,
                    struct strbuf *out);

/* True if two modules are equal as IR (names, types, instructions, operands,
 * initialisers, not source places). On difference *why, if not NULL, gets a malloc'd
 * sentence. */
bool ptx_equal(const struct ptx_module *a, const struct ptx_module *b, char **why);

#endif
