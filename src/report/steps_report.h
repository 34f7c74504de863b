/* steps_report.h: what more blocks of an SM cost in spills (allot_register_steps), as a table
 * and as JSON. */
#ifndef ALLOT_REPORT_STEPS_REPORT_H
#define ALLOT_REPORT_STEPS_REPORT_H

#include "allot/allot.h"

#include <jansson.h>
#include <stdio.h>

enum { STEPS_MOST = 64 }; /* more than any SM has blocks */

void steps_report(FILE *f, const struct allot_register_step *step, size_t n);
json_t *steps_report_json(const struct allot_register_step *step, size_t n);

#endif
