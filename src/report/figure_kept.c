/* figure_kept.c: see figure_kept.h. */
#include "report/figure_kept.h"

#include "base/file.h"
#include "experiments/origin.h"
#include "report/figure_files.h"
#include "report/figure_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *
figure_kept_small(const char *experiment)
{
    return figure_files_beside(experiment, "quick");
}

bool
figure_kept_put(const struct figure *f, const char *name, struct diag_sink *diag)
{
    struct strbuf b = {0};
    char *path = figure_kept_small(f->e->file), *slash = strrchr(path, '/');
    bool ok = !f->missing && !f->failed;
    if (!ok)
        diag_error(diag, "the small version of %s stays as it was: runs are missing",
                   name);
    *slash = 0;
    ok = ok && (file_folder(path) ||
                diag_error(diag, "cannot make the folder %s: %s", path, strerror(errno)));
    *slash = '/';
    strbuf_printf(&b, "# allot paper %s --quick --keep\n", name);
    figure_results(f, &b);
    ok = ok && file_put(path, b.s, b.n, stdout, diag);
    strbuf_free(&b);
    free(path);
    return ok;
}

/* The same value. Counters are exact; in the last digits of energies and exponentials the host's
 * library of mathematics may differ. */
static bool
same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b ||
           fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

bool
figure_kept_same(const struct figure *f, const char *name, struct diag_sink *diag)
{
    enum { SHOWN = 3 };
    const struct experiment *e = f->e;
    char *path = figure_kept_small(e->file);
    struct figure *kept = access(path, R_OK) ? NULL : figure_read(e, path, diag);
    size_t differ = 0;
    if (f->missing || f->failed)
        diag_error(diag, "%s: runs are missing", name);
    else if (!kept)
        diag_hint(diag,
                  diag_add(diag, DIAG_ERROR, NULL, "%s: no small version is kept in %s",
                           name, path),
                  "allot paper %s --quick --keep", name);
    for (size_t m = 0; kept && m < e->nmetric; m++)
        for (size_t r = 0; r < e->nrow; r++)
            for (size_t k = 0; k < e->nseries; k++) {
                const double was = kept->ours[figure_at(e, r, k, m)],
                             now = f->ours[figure_at(e, r, k, m)];
                if (same(was, now) || ++differ > SHOWN)
                    continue;
                diag_error(diag, "%s: [%s, %s, %s] is %.10g, kept is %.10g", name,
                           e->row[r].label, e->series[k].label, e->metric[m].name, now,
                           was);
            }
    if (differ) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "%s: %zu values of its small version have changed", name, differ);
        diag_hint(diag, d, "if they should: allot paper %s --quick --keep (of all: tools/keep-small)", name);
    }
    const bool ok = kept && !differ && !f->missing && !f->failed;
    figure_free(kept);
    free(path);
    return ok;
}

/* One figure; false and diagnostics where its experiment cannot be read. */
static bool
age(const char *name, struct strbuf *out, struct figure_ages *ages,
    struct diag_sink *diag)
{
    static const char *const words[] = {"", "code", "old", "unknown"};
    size_t *const count[] = {&ages->same, &ages->code, &ages->old, &ages->unknown};
    char *path = figure_find(name), *kept = path ? figure_files_kept(path) : NULL,
         *small = path ? figure_kept_small(path) : NULL;
    struct experiment *e = NULL;
    struct origin was, now;
    struct strbuf why = {0};
    bool ok = path || diag_error(diag, "there is no experiment '%s'", name);
    if (ok && origin_read(kept, &was)) {
        ages->kept++;
        e = experiment_load(path, false, diag);
        ok = e && origin_make(e, small, &now, diag);
        if (ok) {
            const enum origin_age a = origin_compare(&was, &now, &why);
            ++*count[a];
            if (a != ORIGIN_SAME)
                strbuf_printf(out, "%-8s %-20s %s\n", words[a], name, why.s);
        }
        if (e)
            origin_free(&now);
        origin_free(&was);
    }
    strbuf_free(&why);
    experiment_free(e);
    free(small);
    free(kept);
    free(path);
    return ok;
}

bool
figure_kept_ages(const char *const *names, size_t n, struct strbuf *out,
                 struct figure_ages *ages, struct diag_sink *diag)
{
    char **all = n ? NULL : figure_names();
    bool ok = true;
    for (size_t i = 0; all ? all[i] != NULL : i < n; i++)
        ok &= age(all ? all[i] : names[i], out, ages, diag);
    allot_names_free(all);
    return ok;
}
