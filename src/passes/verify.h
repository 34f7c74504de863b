/* verify.h: holds what passes leave against what must be true of it. Private to src/passes. */
#ifndef ALLOT_PASSES_VERIFY_H
#define ALLOT_PASSES_VERIFY_H

#include "base/diag.h"
#include "ptx/ir.h"

struct verify;

/* Notes what is true of the module before its passes. each: it is verified after each pass, not
 * only after the last. */
struct verify *verify_new(struct ptx_module *m, bool each, const struct diag_sink *diag);
void verify_free(struct verify *v);

/* Whether the environment asks for `each` in all pipelines: ALLOT_VERIFY_EACH=1 (tests). */
bool verify_always(void);

/* After a pass that changed something; true if it is not to be verified after each.
 *   - Instructions exist, and the module's .target and .version have them.
 *   - It is printed and parsed, and the two are equal.
 *   - Each .loc of inlined code follows the one that it refers to.
 *   - Each kernel can be decoded for execution.
 * What was not so before of the module, or of a function, is not asked of it. False and a
 * diagnostic that names the pass. */
bool verify_pass(struct verify *v, struct ptx_module *m, const char *pass,
                 struct diag_sink *diag);
/* After the last pass: the first two, unless that was done after each. */
bool verify_end(struct verify *v, struct ptx_module *m, struct diag_sink *diag);

#endif
