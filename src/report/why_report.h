/* why_report.h: where the issue slots of a launch went, for each SM and in total. */
#ifndef ALLOT_REPORT_WHY_REPORT_H
#define ALLOT_REPORT_WHY_REPORT_H

#include "allot/allot.h"
#include "base/diag.h"

#include <jansson.h>
#include <stdio.h>

/* A table of every launch of the device (options.per_sm). False and a diagnostic if the
 * causes of some SM do not add up to its slots. */
bool why_report_text(FILE *f, const struct allot_device *dev, struct diag_sink *diag);
/* One object per SM: slots by cause. NULL as above. */
json_t *why_report_json(const struct allot_result *r, struct diag_sink *diag);

/* Of launches as rows of JSON with every counter (allot exec): a row a kernel, of all SMs. */
bool why_report_launches(FILE *f, const json_t *launches, struct diag_sink *diag);

#endif
