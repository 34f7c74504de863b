/* dispatch.c: the block dispatcher. Which block an SM gets is the order policy's
 * decision; whether it has room is the residency plan's; here are only the turns. */
#include "timing/engine/dispatch.h"

#include "base/bitset.h"

#include <string.h>

void
dispatch_init(struct dispatch *d, struct arena *a, const struct cta_order_policy *order,
              const struct cta_launch *l, unsigned last)
{
    const struct machine *m = l->machine;
    *d = (struct dispatch){.order = order,
                           .state = arena_alloc(a, order->state_size + 1),
                           .left = l->blocks,
                           .again = NEVER,
                           .none = ARENA_ARRAY(a, uint64_t, m->sm.count),
                           .last = m->gpu.dispatch_from_first ? m->sm.count - 1 : last,
                           .nsm = m->sm.count,
                           .per_cycle = m->gpu.dispatch_per_cycle};
    if (order->ended)
        d->told = ARENA_ARRAY(a, uint64_t, m->sm.count);
    order->init(d->state, a, l);
}

void
dispatch_ended(struct dispatch *d, const struct sm *sm, const uint64_t *only,
               uint64_t now)
{
    for (unsigned k = 0; d->told && k < d->nsm; k++) {
        if ((only && !bitset_has(only, k)) || !dispatch_tells(d, &sm[k]))
            continue;
        d->order->ended(d->state, k, (unsigned)(sm[k].blocks_done - d->told[k]), now);
        d->told[k] = sm[k].blocks_done;
    }
}

static void
ask_all(struct dispatch *d)
{
    memset(d->none, 0, sizeof *d->none * d->nsm);
    d->any_none = false;
}

uint64_t
dispatch_drained(struct dispatch *d, uint64_t end)
{
    const uint64_t from = d->order->drained ? d->order->drained(d->state, end) : 0;
    if (from && d->any_none)
        ask_all(d);
    return from;
}

uint64_t
dispatch_syncs(const struct dispatch *d)
{
    return d->order->syncs ? d->order->syncs(d->state) : 0;
}

void
dispatch_time(struct dispatch *d, uint64_t now)
{
    if (d->again <= now && d->any_none)
        ask_all(d);
}

void
dispatch_cycle(struct dispatch *d, struct sm *sm, const uint64_t *only, uint64_t now)
{
    unsigned first = d->last + 1;
    for (unsigned i = 0; i < d->nsm && d->left; i++) {
        unsigned k = (first + i) % d->nsm;
        if (only && !bitset_has(only, k))
            continue;
        for (unsigned n = d->per_cycle; n && dispatch_wants(d, &sm[k], now); n--) {
            int64_t id = d->order->next(d->state, k, now);
            if (id < 0) {
                d->none[k] = sm[k].blocks_done + 1;
                d->any_none = true;
                break;
            }
            sm_start_block(&sm[k], (uint32_t)id, now);
            d->left--;
            d->last = k;
        }
    }
}

void
dispatch_look_ahead(struct dispatch *d, uint64_t now)
{
    d->again = d->order->again && d->left ? d->order->again(d->state, now) : NEVER;
    assert(d->again > now);
}
