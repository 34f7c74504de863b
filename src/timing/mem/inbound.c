/* inbound.c: delay lines before the L2 slices of a partition (inbound.h). Cost: constant a
 * packet, piece and tick. */
#include "timing/mem/inbound.h"

void
inbound_init(struct inbound *in, struct arena *a)
{
    in->slice = ARENA_ARRAY(a, struct inbound_slice, in->slices);
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++) {
        s->room = true;
        for (unsigned k = 0; k < INBOUND_LINES; k++) {
            s->line[k].ready = NEVER;
            ring_init(&s->line[k].q, a, in->most[k]);
        }
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

struct delayed
inbound_take(const struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    const struct timed_packet *m = icnt_front(in->requests, in->first + slice);
    struct delayed d = {.p = m->p, .local = m->local & ~(uint64_t)127};
    d.p.sectors = inbound_sectors(&m->p);
    d.ready = now + in->latency[inbound_line(in, m->p.sm)];
    icnt_pop(in->requests, in->first + slice, icnt);
    return d;
}

void
inbound_put(const struct inbound *in, unsigned slice, const struct delayed *d)
{
    struct inbound_slice *s = &in->slice[slice];
    struct delay_line *line = &s->line[inbound_line(in, d->p.sm)];
    assert(!in->ahead || d->ready > s->history.last);
    *ring_push(&line->q) = *d;
    if (line->q.n == 1)
        line->ready = d->ready;
    line->pieces += inbound_pieces(in->unit, d->p.sectors);
}

void
inbound_receive(const struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    struct delayed d = inbound_take(in, slice, now, icnt);
    inbound_put(in, slice, &d);
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

void
inbound_open(struct inbound *in, uint64_t l2_end)
{
    in->history_from = l2_end > INBOUND_HISTORY ? l2_end - INBOUND_HISTORY : 0;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++)
        history_drop(s, l2_end - 1);
}

bool
inbound_had_room(const struct inbound *in, const struct inbound_past *past,
                 const uint32_t *more, uint64_t now)
{
    const bool done = now <= past->history.last;
    uint32_t pieces[INBOUND_LINES];
    uint64_t since = 0;
    bool room = past->room;
    if (done) {
        assert(past->history.last - now < INBOUND_HISTORY);
        since = ticks_between(now, past->history.last);
        room = !(past->history.no_room >> now % INBOUND_HISTORY & 1);
    }
    for (unsigned k = 0; k < INBOUND_LINES; k++) {
        pieces[k] = past->pieces[k] + more[k];
        if (done)
            pieces[k] += (uint32_t)__builtin_popcountll(past->history.left[k] & since);
    }
    return room & inbound_lines_have_room(in, pieces[INBOUND_NEAR], pieces[INBOUND_FAR]);
}
