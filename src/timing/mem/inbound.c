/* inbound.c: delay lines before the L2 slices of a partition (inbound.h). Cost: constant a
 * packet, piece and tick. */
#include "timing/mem/inbound.h"

void
inbound_init(struct inbound *in, struct arena *a)
{
    in->slice = ARENA_ARRAY(a, struct inbound_slice, in->slices);
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++) {
        s->room = s->snapshot[0].room = true;
        for (unsigned k = 0; k < INBOUND_LINES; k++) {
            s->line[k].ready = NEVER;
            ring_init(&s->line[k].q, a, in->most[k]);
        }
        for (unsigned k = 0; in->ahead && k < 2; k++)
            ring_init(&s->arrivals[k].q, a,
                      in->most[INBOUND_NEAR] + in->most[INBOUND_FAR]);
    }
}

uint8_t
inbound_sectors(const struct packet *p)
{
    if (p->sectors)
        return p->sectors & 15;
    unsigned from = (unsigned)(p->addr & 127) / 32;
    unsigned to = ((unsigned)(p->addr & 127) + (p->bytes ? p->bytes : 1u) - 1) / 32;
    uint8_t s = 0;
    for (unsigned i = from; i <= to && i < 4; i++)
        s |= (uint8_t)(1u << i);
    return s;
}

/* Whether the SM lies in another part of the chip. */
static unsigned
line_of(const struct inbound *in, unsigned sm)
{
    return in->half_of && in->half_of[sm] != in->half ? INBOUND_FAR : INBOUND_NEAR;
}

/* The packet that has arrived leaves the crossbar. */
static struct delayed
receive(const struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    const struct timed_packet *m = icnt_front(in->requests, in->first + slice);
    struct delayed d = {.p = m->p, .local = m->local & ~(uint64_t)127};
    d.p.sectors = inbound_sectors(&m->p);
    d.ready = now + in->latency[line_of(in, m->p.sm)];
    icnt_pop(in->requests, in->first + slice, icnt);
    return d;
}

static void
delay(const struct inbound *in, struct inbound_slice *s, const struct delayed *d)
{
    struct delay_line *line = &s->line[line_of(in, d->p.sm)];
    *ring_push(&line->q) = *d;
    if (line->q.n == 1)
        line->ready = d->ready;
    line->pieces += inbound_pieces(in->unit, d->p.sectors);
}

void
inbound_receive(struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    struct delayed d = receive(in, slice, now, icnt);
    delay(in, &in->slice[slice], &d);
}

/* Ticks from..to as a set, at most INBOUND_HISTORY of them. */
static uint64_t
ticks_between(uint64_t from, uint64_t to)
{
    uint64_t n = to + 1 - from;
    if (n >= INBOUND_HISTORY)
        return ~(uint64_t)0;
    uint64_t ones = ((uint64_t)1 << n) - 1;
    unsigned by = from % INBOUND_HISTORY;
    return by ? ones << by | ones >> (INBOUND_HISTORY - by) : ones;
}

void
inbound_tick(const struct inbound *in, struct inbound_slice *s, uint64_t now)
{
    if (!s->room)
        s->history.no_room |=
            ticks_between(max_u64(s->history.last + 1, in->history_from), now);
    s->history.last = now;
}

/* Of its ticks up to `to` none is done. */
static void
history_drop(struct inbound_slice *s, uint64_t to)
{
    uint64_t old = ~ticks_between(s->history.last + 1, to);
    s->history.no_room &= old;
    for (unsigned k = 0; k < INBOUND_LINES; k++)
        s->history.left[k] &= old;
}

static struct credit_snapshot
snapshot_of(const struct inbound_slice *s)
{
    return (struct credit_snapshot){
        s->history, {s->line[INBOUND_NEAR].pieces, s->line[INBOUND_FAR].pieces}, s->room};
}

/* inbound_has_room as it was before tick `now`. */
static bool
had_room(const struct inbound *in, const struct inbound_slice *s, uint64_t now)
{
    const struct credit_snapshot d =
        in->alone ? snapshot_of(s) : s->snapshot[in->published];
    const bool past = now <= d.history.last;
    uint32_t pieces[INBOUND_LINES];
    uint64_t since = 0;
    bool room = d.room;
    assert(!in->alone || now >= in->history_from);
    if (past) {
        assert(d.history.last - now < INBOUND_HISTORY);
        since = ticks_between(now, d.history.last);
        room = !(d.history.no_room >> now % INBOUND_HISTORY & 1);
    }
    for (unsigned k = 0; k < INBOUND_LINES; k++) {
        pieces[k] = d.pieces[k] + s->inflight.pieces[0][k] + s->inflight.pieces[1][k];
        if (past)
            pieces[k] += (uint32_t)__builtin_popcountll(d.history.left[k] & since);
    }
    return room & inbound_lines_have_room(in, pieces[INBOUND_NEAR], pieces[INBOUND_FAR]);
}

uint64_t
inbound_accept(struct inbound *in, unsigned slice, uint64_t l2, uint64_t icnt)
{
    struct inbound_slice *s = &in->slice[slice];
    if (!had_room(in, s, l2))
        return 0;
    const struct delayed d = receive(in, slice, l2, icnt);
    if (in->alone) {
        assert(d.ready > s->history.last);
        delay(in, s, &d);
        return d.ready;
    }
    struct delayed *at = ring_push(&s->arrivals[in->filling].q);
    *at = d;
    s->inflight.pieces[in->filling][line_of(in, d.p.sm)] +=
        inbound_pieces(in->unit, d.p.sectors);
    __builtin_prefetch(at + 1, 1); /* the next place, which another thread had */
    return d.ready;
}

static void
take_arrivals(struct inbound *in)
{
    if (!in->ahead || in->alone)
        return;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++)
        for (struct arrivals *h = &s->arrivals[!in->filling]; h->q.n; ring_pop(&h->q)) {
            __builtin_prefetch(ring_front(&h->q) + 2); /* another thread wrote it */
            assert(ring_front(&h->q)->ready > s->history.last);
            delay(in, s, ring_front(&h->q));
        }
}

void
inbound_begin(struct inbound *in, uint64_t l2_end)
{
    in->history_from = l2_end > INBOUND_HISTORY ? l2_end - INBOUND_HISTORY : 0;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++)
        history_drop(s, l2_end - 1);
    take_arrivals(in);
}

void
inbound_end(struct inbound *in)
{
    if (!in->ahead || in->alone)
        return;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++)
        s->snapshot[!in->published] = snapshot_of(s);
}

void
inbound_swap(struct inbound *in)
{
    in->filling ^= 1;
}

void
inbound_publish(struct inbound *in)
{
    if (!in->ahead || in->alone)
        return;
    in->published ^= 1;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++)
        for (unsigned k = 0; k < INBOUND_LINES; k++)
            s->inflight.pieces[!in->filling][k] = 0;
}

void
inbound_alone(struct inbound *in, bool alone)
{
    if (!in->ahead || in->alone == alone)
        return;
    in->alone = false;
    for (unsigned k = 0; k < 2; k++) { /* first what was accepted first */
        take_arrivals(in);
        inbound_end(in);
        inbound_publish(in);
        inbound_swap(in);
    }
    in->alone = alone;
}

unsigned
inbound_waiting(const struct inbound *in, const struct inbound_slice *s)
{
    unsigned n = s->line[INBOUND_NEAR].pieces + s->line[INBOUND_FAR].pieces;
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < s->arrivals[k].q.n; i++)
            n += inbound_pieces(in->unit, ring_at(&s->arrivals[k].q, i)->p.sectors);
    return n;
}
