/* why.h: where the issue slots of a launch went, for each SM and in total. */
#ifndef ALLOT_CLI_WHY_H
#define ALLOT_CLI_WHY_H

#include "allot/allot.h"

#include <jansson.h>

/* Prints the table of every launch of the device (options.per_sm). False, after saying
 * so, if the causes of some SM do not add up to its slots. */
bool why_print(const struct allot_device *dev);
/* One object per SM: slots by cause. NULL as above. */
json_t *why_json(const struct allot_result *r);

/* Of launches as rows of JSON with every counter (allot exec): a row a kernel, of all SMs. */
bool why_print_launches(const json_t *launches, FILE *to);

#endif
