/* figure.h: what an experiment came to: our values beside the paper's, and how well they
 * agree. */
#ifndef ALLOT_EXPERIMENTS_FIGURE_H
#define ALLOT_EXPERIMENTS_FIGURE_H

#include "experiments/experiment.h"
#include "experiments/store.h"

/* Values are indexed by figure_at; NaN: not known. */
struct figure {
    const struct experiment *e;
    double *ours, *paper, *raw; /* raw: before the comparison with the baseline */
    double *paper_mean;         /* over all rows, [metric * nseries + series] */
    size_t missing, failed;     /* runs not in the store, failed runs */
};

static inline size_t
figure_at(const struct experiment *e, size_t row, size_t series, size_t metric)
{
    return (metric * e->nrow + row) * e->nseries + series;
}

/* Takes our values from the store and the paper's from its CSV. NULL and diagnostics if
 * the CSV cannot be read or names what is not in the experiment. */
struct figure *figure_make(const struct experiment *e, struct store *s,
                           struct diag_sink *diag);
/* The same with our values from a results file (report/page.h); raw stays unknown. A row
 * that the file does not have is unknown. */
struct figure *figure_read(const struct experiment *e, const char *path,
                           struct diag_sink *diag);
void figure_free(struct figure *f);

/* Whether any of our values is known. */
bool figure_known(const struct figure *f);

/* Agreement of one metric over the cells where both values are known. */
struct verdict {
    size_t cells;              /* with both values */
    size_t signs, signs_equal; /* cells that can have a sign: not the baseline's */
    size_t equal;              /* cells whose values are the same number */
    double rank;               /* Spearman's; NaN: fewer than 3 cells, or all the same */
    double mean_ours, mean_paper; /* geometric means over these cells: of the ratio to the
                                   * baseline for gains and decreases, as percent; of the
                                   * values else; NaN: none */
    size_t bounded,
        within; /* cells with both values that are not the baseline's; of these within
                             * the bound: 5 points of a gain or decrease, 10 % of other values */
};
struct verdict figure_verdict(const struct figure *f, size_t metric);

/* How far our value is from the paper's, in percent of it; NaN: one is not known. */
double figure_off(const struct figure *f, size_t row, size_t series, size_t metric);
/* Median of its size over the rows of series first to last, where both are known, and in
 * how many it is at most 5 %; NaN: nowhere. */
double figure_median_off(const struct figure *f, size_t first, size_t last, size_t metric,
                         size_t *within);

/* Mean of a series over all rows, geometric as in a verdict or arithmetic, as the experiment has
 * it; NaN if one is not known. */
double figure_mean(const struct figure *f, size_t series, size_t metric);
/* The paper's: what it states, else of its values. */
double figure_paper_mean(const struct figure *f, size_t series, size_t metric);

/* One of the experiment's checks: 1 holds, 0 does not, -1 values are missing. False and a
 * diagnostic if it cannot be understood. */
bool figure_check(const struct figure *f, size_t check, int *holds,
                  struct diag_sink *diag);

/* How many statements there are, and hold: the text's, those that are true by construction, and
 * our own. diag NULL: what cannot be understood does not hold. */
struct statements {
    size_t text, text_hold, made, made_hold, ours, ours_hold;
    bool wrong; /* one cannot be understood */
};
struct statements figure_statements(const struct figure *f, struct diag_sink *diag);

/* A value by its words, as in a statement: "[mean, shared-owf]", "paper [mean, shared-owf]",
 * "rank ipc", "100 * (1 - [a, b] / [a, c])". NULL, or what is wrong with it. */
const char *figure_value(const struct figure *f, const char *text, double *v);

/* Papers: path of "001/fig2.13" (or of a file, as it is), malloc'd; NULL: not found. */
char *figure_find(const char *name);
/* All names "001/fig2.13", sorted; NULL-terminated; with the array malloc'd. */
char **figure_names(void);
/* The name that is nearest to a wrong one, in mem; NULL: none is near. */
const char *figure_near(const char *name, struct arena *mem);

#endif
