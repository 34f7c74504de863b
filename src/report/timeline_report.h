/* timeline_report.h: counters of every piece of a launch, as CSV. */
#ifndef ALLOT_REPORT_TIMELINE_REPORT_H
#define ALLOT_REPORT_TIMELINE_REPORT_H

#include "allot/allot.h"
#include "base/str.h"

/* One line per launch and piece: kernel, launch, from, to (core cycles), then every
 * counter that is summed: what it grew by; and the derived values of that. sms: a column
 * "sm" behind "to", and after each line one for each SM, empty where a value is not an
 * SM's. */
void timeline_report_csv(const struct allot_device *dev, bool sms, struct strbuf *out);

#endif
