/* dispatch.h: hands blocks to SMs. Private to the engine.
 *
 * An SM that got none ("none now") is not asked again before one of its blocks has ended,
 * all blocks have, or the order policy's time has come. Until then it does not count as an
 * SM with room, so it costs no short quanta. */
#ifndef ALLOT_TIMING_DISPATCH_H
#define ALLOT_TIMING_DISPATCH_H

#include "timing/sm/sm.h"

struct dispatch {
    const struct cta_order_policy *order;
    void *state;
    uint64_t left;  /* blocks not yet started */
    uint64_t again; /* SMs that got none are asked again behind this cycle; NEVER */
    uint64_t *none; /* by SM: 1 + blocks it had ended when it got none; 0: it did not */
    uint64_t *told; /* by SM: blocks whose end the policy knows; NULL: it wants none */
    unsigned last;  /* SM that got the last block */
    unsigned nsm, per_cycle;
    bool any_none; /* an SM got none */
};

/* last: the SM that got the last block of the launch before. */
void dispatch_init(struct dispatch *d, struct arena *a,
                   const struct cta_order_policy *order, const struct cta_launch *l,
                   unsigned last);
/* Whether the SM may get a block that has not started in cycle `now`. Only reads. */
static inline bool
dispatch_wants(const struct dispatch *d, const struct sm *s, uint64_t now)
{
    return d->left && sm_has_room(s) &&
           (!d->any_none || d->none[s->id] != s->blocks_done + 1) &&
           (!d->order->open || d->order->open(d->state, s->id, s->blocks, now));
}
/* Whether the policy is to be told of blocks of the SM that have ended. Only reads. */
static inline bool
dispatch_tells(const struct dispatch *d, const struct sm *s)
{
    return d->told && d->left && d->told[s->id] != s->blocks_done;
}
/* Blocks have ended in cycle `now`. only: SMs that have come to this cycle, NULL: all. */
void dispatch_ended(struct dispatch *d, const struct sm *sm, const uint64_t *only,
                    uint64_t now);
/* All blocks that started have ended, the last one in cycle `end`. The cycle at whose end
 * blocks may start; 0: any. */
uint64_t dispatch_drained(struct dispatch *d, uint64_t end);
/* Synchronisations of the order so far. */
uint64_t dispatch_syncs(const struct dispatch *d);
/* At the end of cycle `now`, before dispatch_cycle: SMs that got none are asked again if
 * it is time. */
void dispatch_time(struct dispatch *d, uint64_t now);
/* At the end of cycle `now`: each SM with room gets a block, dispatch_per_cycle at most.
 * The round starts behind the SM that got the last block. only: as above. */
void dispatch_cycle(struct dispatch *d, struct sm *sm, const uint64_t *only,
                    uint64_t now);
/* After all of that in cycle `now`: `again` is up to date. */
void dispatch_look_ahead(struct dispatch *d, uint64_t now);

#endif
