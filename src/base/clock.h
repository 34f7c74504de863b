/* clock.h: a clock of the host in seconds, from some start of its own; for durations.
 * CLOCK_MONOTONIC: time that passes; CLOCK_PROCESS_CPUTIME_ID: time this process had a
 * processor. */
#ifndef ALLOT_BASE_CLOCK_H
#define ALLOT_BASE_CLOCK_H

#include <time.h>

static inline double
clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
