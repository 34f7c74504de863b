/* transform.c: see transform.h. */
#include "advise/transform.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
transform_passes(const struct transform *t, struct allot_module *mod,
                 const struct allot_machine *m, const struct allot_pass_watch *watch,
                 char **report, struct allot_diag *d)
{
    char threshold[64] = "0.1", defaults[160];
    allot_machine_get(m, "residency.threshold", threshold, sizeof threshold);
    snprintf(defaults, sizeof defaults, "threshold=%s dynamic=%u threads=%u", threshold,
             t->x ? explain_dynamic(t->x) : 0, t->threads);
    return allot_module_opt_watched(mod, m, t->passes, defaults, report, watch, d) &&
           (!t->strip || allot_module_opt(mod, "strip-extensions", NULL, d));
}

bool
transform_write(const struct allot_module *mod, const char *ptx, const char *dot, FILE *f,
                struct diag_sink *diag, struct allot_diag *d)
{
    bool ok = true;
    if (ptx) {
        char *text = allot_module_print(mod);
        ok = file_put(ptx, text, strlen(text), f, diag);
        free(text);
    }
    if (ok && dot) {
        char *text = allot_module_dot(mod, NULL, d);
        ok = text && file_put(dot, text, strlen(text), f, diag);
        free(text);
    }
    return ok;
}
