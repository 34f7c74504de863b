/* working_report.h: working sets of a launch (runtime/working.h) as text, CSV and chart. */
#ifndef ALLOT_REPORT_WORKING_REPORT_H
#define ALLOT_REPORT_WORKING_REPORT_H

#include "base/diag.h"
#include "report/chart.h"

#include <jansson.h>
#include <stdio.h>

/* What is shown of working sets: JSON, CSV, text, a chart, or a schedule made from them. */
struct working_show {
    uint64_t nth;       /* which launch of each kernel they are */
    const char *kernel; /* this one alone; NULL: all */
    const char *chart;  /* file of the contention ratio; NULL: none */
    struct chart_look look;
    const char *out; /* file of the schedule; NULL: f, unless `json` holds it */
    bool schedule, json, csv;
};
/* launches: by rt_working_json, of one launch a kernel. False and a diagnostic: there is none,
 * or several are to go into one file. */
bool working_report(const json_t *launches, const char *machine,
                    const struct working_show *w, FILE *f, struct diag_sink *diag);

#endif
