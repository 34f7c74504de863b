/* ranges.h: access ranges of scratchpad variables as values of an experiment. */
#ifndef ALLOT_EXPERIMENTS_RANGES_H
#define ALLOT_EXPERIMENTS_RANGES_H

#include <stdbool.h>

/* Is `stat` "access_in:A+B" or "access_out:A+B", A and B scratchpad variables? */
bool ranges_knows(const char *stat);
/* AccIN or AccOUT (000 section 6.1) of the set at the block that begins at `label` of the
 * first kernel in the PTX file: 0 or 1. False: no such block or variable. */
bool ranges_value(const char *file, const char *label, const char *stat, double *value);

#endif
