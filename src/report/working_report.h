/* working_report.h: working sets of a launch (runtime/working.h) as text, CSV and chart. */
#ifndef ALLOT_REPORT_WORKING_REPORT_H
#define ALLOT_REPORT_WORKING_REPORT_H

#include "base/arena.h"
#include "report/chart.h"

#include <stdio.h>

/* Distribution, arrays, overlap and contention ratio. */
void working_print(const json_t *o, FILE *f);
/* A line a block: kernel,block,lines. */
void working_csv_head(FILE *f);
void working_csv(const json_t *o, FILE *f);
/* Contention ratio over TLP; what it needs is in mem. */
struct chart working_chart(const json_t *o, struct arena *mem);

#endif
