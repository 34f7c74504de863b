/* dispatch.c: the block dispatcher. Which block an SM gets is the order policy's
 * decision; whether it has room is the residency plan's; here are only the turns. */
#include "timing/engine/dispatch.h"

#include "base/bitset.h"

void
dispatch_init(struct dispatch *d, struct arena *a, const struct machine *m,
              const struct cta_order_policy *order, const struct cta_schedule *schedule,
              uint64_t blocks, unsigned last)
{
    *d = (struct dispatch){.order = order,
                           .state = arena_alloc(a, order->state_size + 1),
                           .left = blocks,
                           .last = m->gpu.dispatch_from_first ? m->sm.count - 1 : last,
                           .nsm = m->sm.count,
                           .per_cycle = m->gpu.dispatch_per_cycle};
    order->init(d->state, m, blocks);
    if (schedule && order->follow)
        order->follow(d->state, schedule);
}

void
dispatch_cycle(struct dispatch *d, struct sm *sm, const uint64_t *only, uint64_t now)
{
    unsigned first = d->last + 1;
    for (unsigned i = 0; i < d->nsm && d->left; i++) {
        unsigned k = (first + i) % d->nsm;
        if (only && !bitset_has(only, k))
            continue;
        for (unsigned n = d->per_cycle; n && dispatch_wants(d, &sm[k]); n--) {
            int64_t id = d->order->next(d->state, k);
            if (id < 0)
                break;
            sm_start_block(&sm[k], (uint32_t)id, now);
            d->left--;
            d->last = k;
        }
    }
}
