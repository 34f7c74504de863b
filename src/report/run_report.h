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
/* A row for each run. */
void run_report_list(struct store *s, const int64_t *ids, size_t n, FILE *out);
/* The whole machine, every counter of every launch, and energy where it is known. */
void run_report_show(struct store *s, const json_t *run, FILE *out);
/* The same as JSON: what a run (store_run) lacks of it is added. */
void run_report_complete(struct store *s, json_t *run);
/* Facts, settings and counters in which two runs differ. */
void run_report_diff(struct store *s, const json_t *a, const json_t *b, FILE *out);
/* Every launch with every counter and setting: CSV into out, and as JSON. */
json_t *run_report_export(struct store *s, const int64_t *ids, size_t n,
                          struct strbuf *out);

#endif
