/* outbound.c: replies between the L2 slices of a partition and the crossbar (outbound.h).
 * Cost: constant a reply, and a slice and tick with something to send. */
#include "timing/mem/outbound.h"

void
outbound_init(struct outbound *out, struct arena *a, uint32_t cap, uint32_t requests)
{
    out->slice = ARENA_ARRAY(a, struct outbound_slice, out->slices);
    for (struct outbound_slice *s = out->slice; s < out->slice + out->slices; s++) {
        timed_queue_init(&s->q, NULL, a, cap);
        s->request = ARENA_SPARSE(a, struct request, requests);
        freelist_init(&s->numbers, a, requests);
    }
}

static bool
is_deferred(const struct outbound_slice *s)
{
    return s->q.credits.back_at != NEVER;
}

static void
push(struct outbound *out, unsigned slice, uint32_t number, unsigned flits, uint64_t tick)
{
    struct outbound_slice *s = &out->slice[slice];
    const struct packet *p = &s->request[number].p;
    icnt_push(out->replies, out->first + slice, out->port_of[p->sm], flits, p, 0, tick);
    freelist_give(&s->numbers, number);
    out->stats->icnt_replies++;
    out->stats->icnt_reply_flits += flits;
    s->from = tick + 1;
}

/* It can go in the interconnect's next tick, or the one after that if another goes first.
 * If there is room in that already now, and it is to be simulated, it goes at once, with
 * that tick's time; the queue would have had two in it at most, and so would not have been
 * full. */
void
outbound_answer(struct outbound *out, unsigned slice, uint32_t number, uint64_t now,
                uint64_t ready, uint64_t tick)
{
    struct outbound_slice *s = &out->slice[slice];
    const struct packet *p = &s->request[number].p;
    const unsigned flits =
        icnt_flits(out->header + (p->kind == PKT_WRITE ? 0 : p->bytes), out->flit);
    const uint64_t at = max_u64(tick, s->from);
    if (!s->q.q.n & (ready == now) & (at <= tick + 1) & (at < out->end) & out->direct &&
        icnt_room(out->replies, out->first + slice, flits, at) == ROOM_YES) {
        push(out, slice, number, flits, at);
        return;
    }
    out->busy += !s->q.q.n;
    struct timed_packet *m = timed_queue_push(&s->q, &s->q.credits.used, ready, 1);
    m->number = number;
    m->flits = (uint16_t)flits;
}

/* Flits of the reply at the front, if it is ready before this L2 tick; 0. */
static unsigned
front_flits(const struct outbound_slice *s, uint64_t l2)
{
    return s->q.front_at < l2 ? timed_queue_front(&s->q)->flits : 0;
}

static void
send_front(struct outbound *out, unsigned slice, uint64_t tick)
{
    struct outbound_slice *s = &out->slice[slice];
    const struct timed_packet *m = timed_queue_front(&s->q);
    if (ring_full(&s->q.q))
        *s->wake = 0;
    push(out, slice, m->number, m->flits, tick);
    timed_queue_send(&s->q);
    out->busy -= !s->q.q.n;
}

void
outbound_send(struct outbound *out, uint64_t tick, uint64_t l2)
{
    for (unsigned i = 0; i < out->slices; i++) {
        struct outbound_slice *s = &out->slice[i];
        const bool later = is_deferred(s) || s->from > tick;
        const unsigned flits = later ? 0 : front_flits(s, l2);
        if (!flits)
            continue;
        const enum room room = icnt_room(out->replies, out->first + i, flits, tick);
        if (room == ROOM_YES) {
            send_front(out, i, tick);
        } else if (room == ROOM_UNKNOWN) {
            s->q.credits.back_at = tick;
            out->deferred = true;
        }
    }
}

enum room
outbound_room(const struct outbound *out, uint64_t tick)
{
    for (unsigned i = 0; out->deferred && i < out->slices; i++) {
        const struct timed_queue *q = &out->slice[i].q;
        if (credits_room(&q->credits, CREDITS_BEHIND, q->q.cap, 2, tick) == ROOM_UNKNOWN)
            return ROOM_UNKNOWN;
    }
    return ROOM_YES;
}

void
outbound_caught_up(struct outbound *out)
{
    for (unsigned i = 0; out->deferred && i < out->slices; i++)
        out->slice[i].q.credits.back_at = NEVER;
    out->deferred = false;
}

void
outbound_follow(struct outbound *out, uint64_t tick)
{
    if (tick == out->end) {
        outbound_caught_up(out);
        return;
    }
    const uint64_t l2 = clk_at_or_after(out->clk, CLK_ICNT, tick, CLK_L2);
    for (unsigned i = 0; i < out->slices; i++) {
        const struct outbound_slice *s = &out->slice[i];
        const unsigned flits = s->q.credits.back_at <= tick ? front_flits(s, l2) : 0;
        if (flits && icnt_room(out->replies, out->first + i, flits, tick) == ROOM_YES)
            send_front(out, i, tick);
    }
}
