/* transform.h: PTX in, passes, PTX out (allot opt). */
#ifndef ALLOT_ADVISE_TRANSFORM_H
#define ALLOT_ADVISE_TRANSFORM_H

#include "advise/explain.h"
#include "base/diag.h"

/* Passes over a module for a machine, whose threshold of sharing they are told; x: whose
 * launches they are for, and `threads` of a block (0: not known). strip: invented instructions
 * are taken out behind them. *report (NULL: not wanted): what they say of themselves, malloc'd.
 * False and diagnostics. */
struct transform {
    const char *passes;
    bool strip;
    uint32_t threads;
    struct explain *x; /* NULL: not known */
};
bool transform_passes(const struct transform *t, struct allot_module *mod,
                      const struct allot_machine *m, const struct allot_pass_watch *watch,
                      char **report, struct allot_diag *d);
/* Writes a module and its control-flow graphs to files ("-": f; NULL: nowhere). */
bool transform_write(const struct allot_module *mod, const char *ptx, const char *dot,
                     FILE *f, struct diag_sink *diag, struct allot_diag *d);

#endif
