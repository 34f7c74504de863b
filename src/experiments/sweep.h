/* sweep.h: labels that are one text around numbers: a swept parameter. */
#ifndef ALLOT_EXPERIMENTS_SWEEP_H
#define ALLOT_EXPERIMENTS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

/* Three or more labels whose numbers rise, or fall where that is allowed: "t = 0.1",
 * "t = 0.5", ... The numbers to x. "DCT4" is a name. */
bool sweep_numbers(const char *const *labels, size_t n, bool may_fall, double *x);
/* What stands behind the number of such a label, without blanks: "%" of "t = 10 %". */
const char *sweep_unit(const char *label);

#endif
