/* pass.h: the pass driver. A pass is one file and one row of passes.def. */
#ifndef ALLOT_PASSES_PASS_H
#define ALLOT_PASSES_PASS_H

#include "ptx/ir.h"

struct pass {
    const char *name, *meaning;
    /* Changes the module in place. False and a diagnostic on failure. */
    bool (*run)(struct ptx_module *m, struct diag_sink *diag);
};

/* Pass i, NULL past the last. */
const struct pass *pass_at(size_t i);
const struct pass *pass_find(const char *name);

/* Runs a comma-separated pipeline ("" runs nothing). After each pass the module is
 * printed and parsed again: what a pass leaves must be valid PTX, and equal to what it
 * printed. */
bool pass_run(struct ptx_module *m, const char *pipeline, struct diag_sink *diag);

#endif
