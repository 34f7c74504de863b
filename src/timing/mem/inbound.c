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
            timed_queue_init(&s->line[k], NULL, a, in->most[k]);
            s->line[k].credits.back_at = 0;
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

/* The delay line of a packet that comes in tick `now`. */
static unsigned
way_in(const struct inbound *in, unsigned slice, const struct timed_packet *m,
       uint64_t now)
{
    const bool far = in->half_of && in->half_of[m->p.sm] != in->half;
    struct near_copies *copies = in->slice[slice].copies;
    if (copies && m->p.kind != PKT_READ)
        near_copies_drop(copies, m->local);
    else if (copies && far &&
             near_copies_read(copies, m->local, m->p.sectors,
                              now + in->latency[INBOUND_NEAR],
                              now + in->latency[INBOUND_FAR]))
        return INBOUND_NEAR;
    return far ? INBOUND_FAR : INBOUND_NEAR;
}

struct timed_packet
inbound_take(const struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    struct timed_packet m = *icnt_front(in->requests, in->first + slice);
    m.local &= ~(uint64_t)127;
    m.p.sectors = inbound_sectors(&m.p);
    m.out = (uint16_t)way_in(in, slice, &m, now);
    m.at = now + in->latency[m.out];
    m.credits = (uint16_t)inbound_pieces(in->unit, m.p.sectors);
    icnt_pop(in->requests, in->first + slice, icnt);
    return m;
}

void
inbound_put(const struct inbound *in, unsigned slice, const struct timed_packet *m)
{
    struct timed_queue *line = &in->slice[slice].line[inbound_line(m)];
    assert(!in->ahead || m->at > line->credits.back_at);
    *timed_queue_push(line, &line->credits.used, m->at, m->credits) = *m;
}

void
inbound_receive(const struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt)
{
    const struct timed_packet m = inbound_take(in, slice, now, icnt);
    inbound_put(in, slice, &m);
}

void
inbound_tick(const struct inbound *in, struct inbound_slice *s, uint64_t now)
{
    const uint64_t last = s->line[INBOUND_NEAR].credits.back_at;
    if (!s->room)
        s->no_room |= credits_ticks(max_u64(last + 1, in->history_from), now);
    s->line[INBOUND_NEAR].credits.back_at = now;
    s->line[INBOUND_FAR].credits.back_at = now;
}

void
inbound_open(struct inbound *in, uint64_t l2_end)
{
    in->history_from = l2_end > INBOUND_HISTORY ? l2_end - INBOUND_HISTORY : 0;
    for (struct inbound_slice *s = in->slice; s < in->slice + in->slices; s++) {
        s->no_room &=
            ~credits_ticks(s->line[INBOUND_NEAR].credits.back_at + 1, l2_end - 1);
        for (unsigned k = 0; k < INBOUND_LINES; k++)
            timed_queue_forget(&s->line[k], l2_end - 1);
    }
}

bool
inbound_had_room(const struct inbound *in, const struct inbound_history *history,
                 uint64_t now)
{
    const struct credits *near = &history->line[INBOUND_NEAR];
    const bool room = now > near->back_at
                          ? history->room
                          : !(history->no_room >> now % INBOUND_HISTORY & 1);
    return room && inbound_lines_have_room(in, near, &history->line[INBOUND_FAR], now);
}
