/* why_report.h: where the issue slots of a launch went, for each SM and in total. */
#ifndef ALLOT_REPORT_WHY_REPORT_H
#define ALLOT_REPORT_WHY_REPORT_H

#include "allot/allot.h"
#include "base/diag.h"
#include "stats/causes.def"

#include <jansson.h>
#include <stdio.h>

/* Causes of an issue slot: the counter, and the word in tables and charts. */
enum {
#define CAUSE(id, word, meaning) WHY_CAUSE_##id,
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
        WHY_CAUSES
};
extern const struct why_cause {
    const char *id, *title;
} why_causes[WHY_CAUSES];

/* A table of every launch of the device (options.per_sm). False and a diagnostic if the
 * causes of some SM do not add up to its slots. */
bool why_report_text(FILE *f, const struct allot_device *dev, struct diag_sink *diag);
/* One object per SM: slots by cause. NULL as above. */
json_t *why_report_json(const struct allot_result *r, struct diag_sink *diag);

/* Of launches as rows of JSON with every counter (allot exec): a row a kernel, of all SMs. */
bool why_report_launches(FILE *f, const json_t *launches, struct diag_sink *diag);

#endif
