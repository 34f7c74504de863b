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

/* What happens between two steps. */
enum cta_barriers {
    CTA_BARRIER_CHANGE, /* where the TLP changes, all blocks end first */
    CTA_BARRIER_EVERY,  /* all blocks end at every step */
    CTA_BARRIER_SUSPEND, /* where the TLP changes, no block starts for a while; those that run
                          * go on */
};

struct cta_schedule {
    char *kernel;    /* whose launches it is for; NULL: any kernel's */
    uint32_t blocks; /* of the launch */
    uint32_t *order; /* each block once, step after step */
    uint32_t nsteps;
    struct cta_step *step;
    enum cta_barriers barriers;
};

/* Step i is not the first. Whether its TLP is another than that of the step before. */
static inline bool
cta_step_changes(const struct cta_schedule *s, uint32_t i)
{
    return s->step[i].tlp != s->step[i - 1].tlp;
}
/* Whether it waits for all blocks before it. */
static inline bool
cta_step_is_barrier(const struct cta_schedule *s, uint32_t i)
{
    return s->barriers == CTA_BARRIER_EVERY ||
           (s->barriers == CTA_BARRIER_CHANGE && cta_step_changes(s, i));
}
/* Whether a synchronisation stands before it. */
static inline bool
cta_step_synchronises(const struct cta_schedule *s, uint32_t i)
{
    return s->barriers == CTA_BARRIER_EVERY || cta_step_changes(s, i);
}

#endif
