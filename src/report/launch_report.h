/* launch_report.h: the launches of a device for people: a table of them, and every counter. */
#ifndef ALLOT_REPORT_LAUNCH_REPORT_H
#define ALLOT_REPORT_LAUNCH_REPORT_H

#include "allot/allot.h"

#include <stdio.h>

/* A row a launch. functional: without what only the cycle model knows. */
void launch_report_summary(FILE *f, const struct allot_device *dev, bool functional);
/* Below each kernel's name all its counters, with units. */
void launch_report_stats(FILE *f, const struct allot_device *dev);

#endif
