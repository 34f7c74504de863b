/* dispatch.h: hands blocks to SMs. Private to gpu.c. */
#ifndef ALLOT_TIMING_DISPATCH_H
#define ALLOT_TIMING_DISPATCH_H

#include "timing/sm/sm.h"

struct dispatch {
    const struct cta_order_policy *order;
    void *state;
    uint64_t left; /* blocks not yet started */
    unsigned last; /* SM that got the last block */
    unsigned nsm, per_cycle;
};

/* last: the SM that got the last block of the launch before. */
void dispatch_init(struct dispatch *d, struct arena *a, const struct machine *m,
                   const struct cta_order_policy *order,
                   const struct cta_schedule *schedule, uint64_t blocks, unsigned last);
/* Whether the SM may get a block that has not started. Only reads. */
static inline bool
dispatch_wants(const struct dispatch *d, const struct sm *s)
{
    return d->left && sm_has_room(s) &&
           (!d->order->open || d->order->open(d->state, s->id, s->blocks));
}
/* At the end of cycle `now`: each SM with room gets a block, dispatch_per_cycle at most.
 * The round starts behind the SM that got the last block. only: the SMs that have come to
 * this cycle, NULL: all. */
void dispatch_cycle(struct dispatch *d, struct sm *sm, const uint64_t *only,
                    uint64_t now);

#endif
