/* timeline.h: counters of every piece of a launch, as CSV. */
#ifndef ALLOT_CLI_TIMELINE_H
#define ALLOT_CLI_TIMELINE_H

#include "allot/allot.h"

/* One line per launch and piece: kernel, launch, from, to (core cycles), then every
 * counter that is summed: what it grew by; and the derived values of that. sms: a column
 * "sm" behind "to", and after each line one for each SM, empty where a value is not an
 * SM's. False after saying why. */
bool timeline_write(const struct allot_device *dev, const char *path, bool sms);

#endif
