/* schedule.h: a schedule of thread blocks: the order in which they start, in steps, and how
 * many run at once (004 section 5.1). Made and written by src/cta, followed by the order
 * policy `schedule`. */
#ifndef ALLOT_TIMING_POLICY_SCHEDULE_H
#define ALLOT_TIMING_POLICY_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct cta_step {
    uint32_t first, n; /* its blocks: order[first .. first + n - 1] */
    uint32_t tlp;      /* blocks that run at once at most, over all SMs; not 0 */
};

struct cta_schedule {
    char *kernel;    /* whose launches it is for; NULL: any kernel's */
    uint32_t blocks; /* of the launch */
    uint32_t *order; /* each block once, step after step */
    uint32_t nsteps;
    struct cta_step *step;
    bool every_step; /* each step is a barrier; false: only where the TLP changes */
};

/* Whether step i (not the first) waits for all blocks before it. */
static inline bool
cta_step_is_barrier(const struct cta_schedule *s, uint32_t i)
{
    return s->every_step || s->step[i].tlp != s->step[i - 1].tlp;
}

#endif
