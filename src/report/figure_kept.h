/* figure_kept.h: the small version of a figure (--quick), whose values are kept in
 * papers/001/quick/fig2.13.csv and are those of the code beside them: a change that moves a figure
 * fails until they are kept again. And how old the values in papers/001/results/ are. */
#ifndef ALLOT_REPORT_FIGURE_KEPT_H
#define ALLOT_REPORT_FIGURE_KEPT_H

#include "experiments/figure.h"

/* papers/001/quick/fig2.13.csv of papers/001/fig2.13.yaml, malloc'd. */
char *figure_kept_small(const char *experiment);
/* Keeps the values of a small version there. False and a diagnostic. */
bool figure_kept_put(const struct figure *f, const char *name, struct diag_sink *diag);
/* Holds them against what is kept. False and a diagnostic for each of the first that differ, or
 * where none are kept. */
bool figure_kept_same(const struct figure *f, const char *name, struct diag_sink *diag);

/* Of each of these figures (n 0: of all) that has kept results: how old they are, and why. */
struct figure_ages {
    size_t kept, same, code, old, unknown;
};
bool figure_kept_ages(const char *const *names, size_t n, struct strbuf *out,
                      struct figure_ages *ages, struct diag_sink *diag);

#endif
