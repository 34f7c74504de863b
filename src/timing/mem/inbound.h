/* inbound.h: requests on their way into the L2 slices of a memory partition: from the
 * crossbar's outputs into delay lines, which they leave a piece a tick.
 *
 * A slice takes what has come in its own ticks (inbound_receive). Or the delay lines are
 * bounded queues with times, as in timed_queue.h, whose consumer, the slice, is simulated
 * further than their producer (`ahead`). Then a packet is put in late, and only if the slice
 * would have had room for it at the time. To answer that, the slice remembers of its last
 * INBOUND_HISTORY ticks in which of them a credit came back, and in which its own queue
 * had no room. Every answer is yes or no.
 * Example: a delay line of 10 pieces, of which a packet wants 4 free, holds 6 and lost one
 * in each of ticks 11 and 12. It held 8 before tick 11 and 7 before tick 12, so a packet
 * of these ticks is refused, and one of tick 13 is accepted. */
#ifndef ALLOT_TIMING_INBOUND_H
#define ALLOT_TIMING_INBOUND_H

#include "timing/mem/icnt.h"

enum { INBOUND_HISTORY = 64 };
enum {
    INBOUND_NEAR,
    INBOUND_FAR,
    INBOUND_LINES
}; /* far: packets from other parts of the chip */

struct delayed { /* a packet in a delay line; p.sectors: those that have not left it */
    struct packet p;
    uint64_t local, ready;
};

struct delay_line {
    RING(struct delayed) q;
    uint64_t ready;  /* of the front; NEVER: empty */
    uint32_t pieces; /* that the packets in it make */
};

/* The last ticks a slice has done; sets of ticks modulo INBOUND_HISTORY. */
struct occupancy_history {
    uint64_t last;                /* tick done */
    uint64_t no_room;             /* before these ticks the slice's queue had none */
    uint64_t left[INBOUND_LINES]; /* in these a piece left the delay line */
};

struct inbound_slice {
    struct delay_line line[INBOUND_LINES];
    struct occupancy_history history; /* if the slices are ahead */
    bool room;                        /* in the slice's queue, after its last tick */
};

/* All that inbound_had_room has to know of a slice. */
struct inbound_past {
    struct occupancy_history history;
    uint32_t pieces[INBOUND_LINES]; /* in the delay lines */
    bool room;                      /* in the slice's queue */
};

struct inbound { /* of a partition */
    struct icnt *requests;
    const uint8_t *half_of; /* by SM: part of the chip; NULL: there is one */
    unsigned first, slices; /* output of the crossbar for slice 0 */
    unsigned half;          /* part of the chip that the partition lies in */
    unsigned unit;          /* bytes answered as one piece */
    uint32_t latency[INBOUND_LINES],
        most[INBOUND_LINES]; /* L2 ticks; pieces that a line holds */
    bool ahead; /* slices are given requests (inbound_put), not in their ticks */
    struct inbound_slice *slice;
    _Alignas(64) uint64_t history_from; /* L2 tick: before it nothing is asked */
};

/* `in` has all but `slice`; arrays are made in a. */
void inbound_init(struct inbound *in, struct arena *a);

/* Sectors of a packet's 128-byte block; pieces of `unit` bytes that they make. */
uint8_t inbound_sectors(const struct packet *p);
static inline unsigned
inbound_pieces(unsigned unit, uint8_t sectors)
{
    unsigned s = sectors; /* of each piece one is left */
    if (unit >= 64)
        s = (s | s >> 1) & 5;
    if (unit >= 128)
        s = (s | s >> 2) & 1;
    return (unsigned)__builtin_popcount(s);
}

/* Which delay line packets of this SM take. */
static inline unsigned
inbound_line(const struct inbound *in, unsigned sm)
{
    return in->half_of && in->half_of[sm] != in->half ? INBOUND_FAR : INBOUND_NEAR;
}

/* With so many pieces in the delay lines. */
static inline bool
inbound_lines_have_room(const struct inbound *in, uint32_t near, uint32_t far)
{
    return (in->most[INBOUND_NEAR] - near >= 4) &
           (!in->most[INBOUND_FAR] | (in->most[INBOUND_FAR] - far >= 4));
}

/* A packet could be received. */
static inline bool
inbound_has_room(const struct inbound *in, const struct inbound_slice *s)
{
    return s->room && inbound_lines_have_room(in, s->line[INBOUND_NEAR].pieces,
                                              s->line[INBOUND_FAR].pieces);
}

/* The packet that has arrived leaves the crossbar, to be in the slice in L2 tick `now`;
 * icnt: the crossbar's first tick not done. */
struct delayed inbound_take(const struct inbound *in, unsigned slice, uint64_t now,
                            uint64_t icnt);
/* It enters its delay line. */
void inbound_put(const struct inbound *in, unsigned slice, const struct delayed *d);
/* Both at once. */
void inbound_receive(const struct inbound *in, unsigned slice, uint64_t now,
                     uint64_t icnt);

/* -- the slice -- */

/* Tick in which the next piece can leave; NEVER. */
static inline uint64_t
inbound_ready(const struct inbound_slice *s)
{
    return min_u64(s->line[INBOUND_NEAR].ready, s->line[INBOUND_FAR].ready);
}

/* Before the slice does tick `now`: since its last nothing has changed. */
void inbound_tick(const struct inbound *in, struct inbound_slice *s, uint64_t now);

/* A piece of the packet at the front has left in tick `now`; `left`: its sectors that have
 * not. */
static inline void
inbound_leave(struct inbound_slice *s, unsigned which, uint8_t left, uint64_t now)
{
    struct delay_line *line = &s->line[which];
    s->history.left[which] |= (uint64_t)1 << now % INBOUND_HISTORY;
    line->pieces--;
    ring_front(&line->q)->p.sectors = left;
    if (left)
        return;
    ring_pop(&line->q);
    line->ready = line->q.n ? ring_front(&line->q)->ready : NEVER;
}

/* Pieces in the delay lines. */
static inline unsigned
inbound_waiting(const struct inbound_slice *s)
{
    return s->line[INBOUND_NEAR].pieces + s->line[INBOUND_FAR].pieces;
}

/* -- the past, if slices are ahead -- */

/* Slices go on through L2 ticks before l2_end: older ones than the last INBOUND_HISTORY of
 * these are forgotten. */
void inbound_open(struct inbound *in, uint64_t l2_end);

static inline struct inbound_past
inbound_past(const struct inbound_slice *s)
{
    return (struct inbound_past){
        s->history, {s->line[INBOUND_NEAR].pieces, s->line[INBOUND_FAR].pieces}, s->room};
}

/* inbound_has_room as it was before L2 tick `now`, one of the last INBOUND_HISTORY that the
 * slice has done, or a later one; with so many more pieces in the delay lines. */
bool inbound_had_room(const struct inbound *in, const struct inbound_past *past,
                      const uint32_t *more, uint64_t now);

#endif
