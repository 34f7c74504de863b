/* link.h: several modules become one, as nvlink does with relocatable device code. */
#ifndef ALLOT_PTX_LINK_H
#define ALLOT_PTX_LINK_H

#include "ptx/ir.h"

/* The functions and module-scope variables of all parts in one module; references to
 * .extern (or only declared) names point to their definitions. Of several definitions of
 * a name one may be .visible (or a kernel); it goes before .weak ones, they before
 * .common ones; of weak ones the first counts, of common ones the largest. What is
 * neither belongs to its part, and gets another name where two parts use the same. On
 * success the parts belong to the result (ptx_module_free frees them); on failure (NULL,
 * diagnostics) they are as before. */
struct ptx_module *ptx_link(struct ptx_module *const *parts, size_t n, const char *name,
                            struct diag_sink *diag);

/* Functions that the GPU's runtime brings along: vprintf, malloc, free, __assertfail, and
 * the cuda... functions of the device runtime. They need no definition. */
bool ptx_is_builtin(const char *name);

#endif
