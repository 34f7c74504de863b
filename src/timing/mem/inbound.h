/* inbound.h: requests on their way into the L2 slices of a memory partition: from the
 * crossbar's outputs into delay lines, which they leave a piece a tick.
 *
 * A delay line is a bounded queue with times (timed_queue.h) whose consumer, the slice, may
 * be simulated further than its producer, the crossbar. So a packet is accepted late, and
 * as the slice would have done at the time: the slice keeps, for its last INBOUND_HISTORY
 * ticks, in which of them a credit came back and in which its own queue had no room.
 * Example: a delay line of 10 pieces, of which a packet wants 4 free, holds 6 and lost one
 * in each of ticks 11 and 12. It held 8 before tick 11 and 7 before tick 12, so a packet
 * of these ticks is refused, and one of tick 13 is accepted. Every answer is yes or no.
 *
 * Slices that are not ahead take what has come in their own ticks: inbound_receive.
 *
 * Threads. Once inbound_alone is off, slices and acceptance may go on in two host threads.
 * Then what is accepted waits until the partition next begins, and what the slices did is
 * known when it is published. All that is exchanged is double-buffered; inbound_swap and
 * inbound_publish turn the buffers over while neither is at work. */
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

/* A slice as acceptance sees it. */
struct credit_snapshot {
    _Alignas(64) struct occupancy_history history;
    uint32_t pieces[INBOUND_LINES]; /* in the delay lines */
    bool room;                      /* in the slice's queue */
};

/* Pieces that accepted packets will make in the delay lines, less those that struct
 * credit_snapshot has: of one buffer of arrivals and the other. */
struct inflight_credits {
    _Alignas(64) uint32_t pieces[2][INBOUND_LINES];
};

struct arrivals { /* packets accepted that are not in the delay lines yet */
    _Alignas(64) RING(struct delayed) q;
};

struct inbound_slice {
    struct delay_line line[INBOUND_LINES];
    struct occupancy_history history; /* if the slices are ahead */
    bool room;                        /* in the slice's queue, after its last tick */
    /* Without inbound_alone: one is read, one is written. */
    struct credit_snapshot snapshot[2];
    struct inflight_credits inflight;
    struct arrivals arrivals[2];
};

struct inbound { /* of a partition */
    struct icnt *requests;
    const uint8_t *half_of; /* by SM: part of the chip; NULL: there is one */
    unsigned first, slices; /* output of the crossbar for slice 0 */
    unsigned half;          /* part of the chip that the partition lies in */
    unsigned unit;          /* bytes answered as one piece */
    uint32_t latency[INBOUND_LINES],
        most[INBOUND_LINES]; /* L2 ticks; pieces that a line holds */
    bool ahead;
    bool alone;
    uint8_t published, filling; /* snapshot; arrivals */
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

/* -- the slice -- */

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

/* The packet at the crossbar's output enters a delay line in L2 tick `now`; icnt: the
 * crossbar's first tick not done. */
void inbound_receive(struct inbound *in, unsigned slice, uint64_t now, uint64_t icnt);

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

/* In the delay lines, or on their way there. */
unsigned inbound_waiting(const struct inbound *in, const struct inbound_slice *s);

/* -- acceptance, for slices that are ahead -- */

/* The packet at the crossbar's output for the slice (there is one) is accepted as it would
 * have been in L2 tick l2, one of the last INBOUND_HISTORY that it has done, or a later
 * one; icnt: the crossbar's first tick not done then. The L2 tick in which it can leave the
 * delay line, which must not come before the partition next begins; 0: there is no room. */
uint64_t inbound_accept(struct inbound *in, unsigned slice, uint64_t l2, uint64_t icnt);

/* The slices go through L2 ticks before l2_end, with all that was accepted up to
 * inbound_swap; after them: inbound_end. */
void inbound_begin(struct inbound *in, uint64_t l2_end);
void inbound_end(struct inbound *in);
void inbound_swap(struct inbound *in);
/* What they did until inbound_end is known to inbound_accept. */
void inbound_publish(struct inbound *in);
/* alone: until the next call nothing goes on beside anything; for less, and the same. */
void inbound_alone(struct inbound *in, bool alone);

#endif
