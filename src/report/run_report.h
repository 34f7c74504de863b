/* run_report.h: runs of the store for people and scripts: a table of them, one in full, two
 * compared, all as CSV or JSON. Texts are as a terminal may show them: anyone may have
 * written the store. */
#ifndef ALLOT_REPORT_RUN_REPORT_H
#define ALLOT_REPORT_RUN_REPORT_H

#include "base/str.h"
#include "experiments/experiment.h"
#include "experiments/store.h"

#include <jansson.h>
#include <stdio.h>

/* A line for each run of an experiment: whether the store has it, its key, what it is. */
void run_report_plan(struct store *s, const struct experiment *e, FILE *out);
/* A row for each run that the filter chooses. False: the store is damaged. */
bool run_report_list(struct store *s, const struct store_filter *filter, FILE *out);
/* Runs by their names (store_run_named), in full: the whole machine, every counter of every
 * launch, and energy where it is known; as JSON into the file `json` ("-": out), NULL: as
 * text. False and a diagnostic: there is no such run. */
bool run_report_show(struct store *s, const char *const *names, size_t n,
                     const char *json, FILE *out, struct diag_sink *diag);
/* Facts, settings and counters in which two runs, by their names, differ. The same. */
bool run_report_diff(struct store *s, const char *const names[2], FILE *out,
                     struct diag_sink *diag);
/* Every launch of the runs chosen, with every counter and setting, into files ("-": out; both
 * NULL: CSV to out). False and a diagnostic, and no file: the store is damaged. */
bool run_report_export(struct store *s, const struct store_filter *filter,
                       const char *csv, const char *json, FILE *out,
                       struct diag_sink *diag);

#endif
