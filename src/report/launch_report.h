/* launch_report.h: the launches of a device: as a table with what was asked for beside it, as
 * JSON, as CSV. */
#ifndef ALLOT_REPORT_LAUNCH_REPORT_H
#define ALLOT_REPORT_LAUNCH_REPORT_H

#include "allot/allot.h"
#include "base/diag.h"

#include <jansson.h>
#include <stdio.h>

enum launch_form { LAUNCH_TEXT, LAUNCH_CSV, LAUNCH_JSON };

/* What is told. */
struct launch_report {
    enum launch_form form;
    const struct allot_device *dev;
    const struct allot_machine *machine;
    const char *name;  /* of the workload or the file */
    const char *check; /* "passed", "failed"; "": nothing was checked */
    const char *why;   /* it failed; "" or NULL: nothing is known */
    bool functional;   /* without what only the cycle model knows */
    bool stats;        /* text: every counter, not only the summary */
    bool energy;       /* by component */
    bool slots;        /* issue slots by cause, of each SM (options.per_sm) */
};
/* As `form` says; options: taken over, of the object (NULL with other forms). False as below. */
bool launch_report(FILE *f, const struct launch_report *r, json_t *options,
                   struct diag_sink *diag);
/* False and diagnostics: energies or issue slots of a launch do not add up. */
bool launch_report_text(FILE *f, const struct launch_report *r, struct diag_sink *diag);
/* A line a launch, with every counter. */
bool launch_report_csv(FILE *f, const struct launch_report *r, struct diag_sink *diag);
/* One object with every counter. options: taken over. */
json_t *launch_report_json(const struct launch_report *r, json_t *options,
                           struct diag_sink *diag, bool *ok);

/* A row a launch. functional: without what only the cycle model knows. */
void launch_report_summary(FILE *f, const struct allot_device *dev, bool functional);
/* One launch with every counter. */
json_t *launch_report_counters(const struct allot_result *r);
/* Below each kernel's name all its counters, with units. */
void launch_report_stats(FILE *f, const struct allot_device *dev);

#endif
