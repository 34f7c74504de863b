/* reference_report.h: what there is to choose from, as tables: machines, workloads, policies,
 * passes, settings, counters, instructions. */
#ifndef ALLOT_REPORT_REFERENCE_REPORT_H
#define ALLOT_REPORT_REFERENCE_REPORT_H

#include "allot/allot.h"

#include <stdio.h>

/* The kinds; NULL-terminated. */
extern const char *const reference_report_kinds[];
/* All of one kind; false: there is no such kind. */
bool reference_report(const char *kind, FILE *f);
/* Every setting of a machine, its own and those of its bases. */
void reference_report_machine(const struct allot_machine *m, FILE *f);

#endif
