/* compare_report.h: subjects (workloads, kernels, programs) under variants, the first of which
 * is the reference: speed-ups as table, JSON and chart. A speed-up is a ratio of cycles. */
#ifndef ALLOT_REPORT_COMPARE_REPORT_H
#define ALLOT_REPORT_COMPARE_REPORT_H

#include "base/diag.h"
#include "experiments/compare.h"
#include "report/chart.h"

#include <jansson.h>
#include <stdio.h>

struct compare {
    size_t nsubject, nvariant;
    const char *const *subject, *const *variant; /* names */
    const struct compare_cell *cell;             /* [subject * nvariant + variant] */
    const char *machine;
    bool quick;
    bool checked; /* results are held against something */
};

/* What is shown: tables or one JSON object; best: compare_report_best too. */
struct compare_show {
    bool json, best, energy;
    const char *chart; /* a file for it; NULL: none */
    struct chart_look look;
};
/* False and a diagnostic: no chart could be drawn. */
bool compare_report(const struct compare *t, const struct compare_show *show, FILE *f,
                    struct diag_sink *diag);
/* A row for each cell, and the geometric means of several subjects. */
void compare_report_text(const struct compare *t, FILE *f);
/* The variant "tlp=N" with the fewest cycles, of each subject. */
void compare_report_best(const struct compare *t, FILE *f);
/* By component, and how a variant's energy and energy-delay product differ from the first's. */
void compare_report_energy(const struct compare *t, FILE *f);
json_t *compare_report_json(const struct compare *t, bool energy);
/* Bars of the speed-ups; of several subjects their geometric mean behind them. */
bool compare_report_chart(const struct compare *t, const char *path,
                          const struct chart_look *look, struct diag_sink *diag);

#endif
