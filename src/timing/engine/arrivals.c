/* arrivals.c: requests accepted for slices that are ahead (arrivals.h). Cost: constant a
 * packet, and a slice and quantum. */
#include "timing/engine/arrivals.h"

void
arrivals_init(struct arrivals *x, struct arena *a, struct inbound *in)
{
    x->in = in;
    x->slice = ARENA_ARRAY(a, struct arrivals_slice, in->slices);
    for (struct arrivals_slice *s = x->slice; s < x->slice + in->slices; s++) {
        s->snapshot[0].history.room = true;
        for (unsigned k = 0; k < 2; k++)
            ring_init(&s->arrived[k].q, a,
                      in->most[INBOUND_NEAR] + in->most[INBOUND_FAR]);
    }
}

static bool
had_room(const struct arrivals *x, unsigned slice, uint64_t now)
{
    if (x->alone) {
        const struct inbound_history history = inbound_history(&x->in->slice[slice]);
        assert(now >= x->in->history_from);
        return inbound_had_room(x->in, &history, now);
    }
    const struct arrivals_slice *s = &x->slice[slice];
    struct inbound_history history = s->snapshot[x->published].history;
    for (unsigned k = 0; k < INBOUND_LINES; k++)
        history.line[k].used += s->inflight.pieces[0][k] + s->inflight.pieces[1][k];
    return inbound_had_room(x->in, &history, now);
}

uint64_t
arrivals_accept(struct arrivals *x, unsigned slice, uint64_t l2, uint64_t icnt)
{
    if (!had_room(x, slice, l2))
        return 0;
    const struct timed_packet m = inbound_take(x->in, slice, l2, icnt);
    if (x->alone) {
        inbound_put(x->in, slice, &m);
        return m.at;
    }
    struct arrivals_slice *s = &x->slice[slice];
    struct timed_packet *at = ring_push(&s->arrived[x->filling].q);
    *at = m;
    s->inflight.pieces[x->filling][inbound_line(&m)] += m.credits;
    __builtin_prefetch(at + 1, 1); /* the next place, which another thread had */
    return m.at;
}

static void
put_arrived(struct arrivals *x)
{
    for (unsigned i = 0; i < x->in->slices; i++)
        for (struct arrived *h = &x->slice[i].arrived[!x->filling]; h->q.n;
             ring_pop(&h->q)) {
            __builtin_prefetch(ring_front(&h->q) + 2); /* another thread wrote it */
            inbound_put(x->in, i, ring_front(&h->q));
        }
}

void
arrivals_begin(struct arrivals *x, uint64_t l2_end)
{
    inbound_open(x->in, l2_end);
    if (!x->alone)
        put_arrived(x);
}

void
arrivals_end(struct arrivals *x)
{
    for (unsigned i = 0; !x->alone && i < x->in->slices; i++)
        x->slice[i].snapshot[!x->published].history = inbound_history(&x->in->slice[i]);
}

void
arrivals_swap(struct arrivals *x)
{
    x->filling ^= 1;
}

void
arrivals_publish(struct arrivals *x)
{
    if (x->alone)
        return;
    x->published ^= 1;
    for (struct arrivals_slice *s = x->slice; s < x->slice + x->in->slices; s++)
        for (unsigned k = 0; k < INBOUND_LINES; k++)
            s->inflight.pieces[!x->filling][k] = 0;
}

void
arrivals_settle(struct arrivals *x)
{
    for (unsigned k = 0; !x->alone && k < 2; k++) { /* in the order of acceptance */
        put_arrived(x);
        arrivals_end(x);
        arrivals_publish(x);
        arrivals_swap(x);
    }
}

void
arrivals_alone(struct arrivals *x, bool alone)
{
    if (x->alone == alone)
        return;
    x->alone = false;
    arrivals_settle(x);
    x->alone = alone;
}
