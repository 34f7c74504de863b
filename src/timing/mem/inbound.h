/* inbound.h: requests on their way into the L2 slices of a memory partition: from the
 * crossbar's outputs into delay lines, which they leave a piece a tick.
 *
 * A slice takes what has come in its own ticks (inbound_receive). Or the slices are
 * simulated further than the crossbar (`ahead`). Then a packet is deferred: it is put in only if
 * the slice would have had room for it at the time. The delay lines are timed queues whose
 * credits, the pieces, are logged (credits.h). A packet also wants room in the slice's own
 * queue, of which the same ticks are logged. Every answer is yes or no. */
#ifndef ALLOT_TIMING_INBOUND_H
#define ALLOT_TIMING_INBOUND_H

#include "timing/mem/icnt.h"
#include "timing/mem/near_copies.h"

enum { INBOUND_HISTORY = CREDITS_TICKS };
enum {
    INBOUND_NEAR,
    INBOUND_FAR,
    INBOUND_LINES
}; /* far: packets from other parts of the chip */

struct inbound_slice {
    /* Of the packets p.sectors says what has not left. */
    struct timed_queue line[INBOUND_LINES];
    struct near_copies *copies; /* of inbound_take only; NULL: none are kept */
    uint64_t no_room; /* ticks, as in a log, before which the slice's queue had none */
    bool room;        /* in the slice's queue, after its last tick */
};

/* All that inbound_had_room has to know of a slice: a snapshot of it. */
struct inbound_history {
    struct credits line[INBOUND_LINES];
    uint64_t no_room;
    bool room;
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

/* Which delay line a packet takes that inbound_take gave. */
static inline unsigned
inbound_line(const struct timed_packet *m)
{
    return m->out;
}

/* Most pieces of a packet. */
enum { INBOUND_PIECES = 4 };

/* Room for a packet in the delay lines in tick t. */
static inline bool
inbound_lines_have_room(const struct inbound *in, const struct credits *near,
                        const struct credits *far, uint64_t t)
{
    const uint32_t *most = in->most;
    bool room = credits_room(near, CREDITS_LOGGED, most[INBOUND_NEAR], INBOUND_PIECES,
                             t) == ROOM_YES;
    bool far_room =
        !most[INBOUND_FAR] || credits_room(far, CREDITS_LOGGED, most[INBOUND_FAR],
                                           INBOUND_PIECES, t) == ROOM_YES;
    return room && far_room;
}

/* A packet could be received now. */
static inline bool
inbound_has_room(const struct inbound *in, const struct inbound_slice *s)
{
    return s->room && inbound_lines_have_room(in, &s->line[INBOUND_NEAR].credits,
                                              &s->line[INBOUND_FAR].credits, NEVER);
}

/* The packet that has arrived leaves the crossbar, to be in the slice in L2 tick `now`;
 * icnt: the crossbar's first tick not done. */
struct timed_packet inbound_take(const struct inbound *in, unsigned slice, uint64_t now,
                                 uint64_t icnt);
/* It enters its delay line. */
void inbound_put(const struct inbound *in, unsigned slice, const struct timed_packet *m);
/* Both at once. */
void inbound_receive(const struct inbound *in, unsigned slice, uint64_t now,
                     uint64_t icnt);

/* -- the slice -- */

/* Tick in which the next piece can leave; NEVER. */
static inline uint64_t
inbound_ready(const struct inbound_slice *s)
{
    return min_u64(s->line[INBOUND_NEAR].front_at, s->line[INBOUND_FAR].front_at);
}

/* Before the slice does tick `now`: since its last nothing has changed. */
void inbound_tick(const struct inbound *in, struct inbound_slice *s, uint64_t now);

/* A piece of the packet at the front has left in tick `now`; `left`: its sectors that have
 * not. */
static inline void
inbound_leave(struct inbound_slice *s, unsigned which, uint8_t left, uint64_t now)
{
    ring_front(&s->line[which].q)->p.sectors = left;
    timed_queue_leave(&s->line[which], now);
}

/* Pieces in the delay lines. */
static inline unsigned
inbound_waiting(const struct inbound_slice *s)
{
    return s->line[INBOUND_NEAR].credits.used + s->line[INBOUND_FAR].credits.used;
}

/* -- occupancy history, if slices are ahead -- */

/* Slices go on through L2 ticks before l2_end: older ones than the last INBOUND_HISTORY of
 * these are forgotten. */
void inbound_open(struct inbound *in, uint64_t l2_end);

static inline struct inbound_history
inbound_history(const struct inbound_slice *s)
{
    return (struct inbound_history){
        {s->line[INBOUND_NEAR].credits, s->line[INBOUND_FAR].credits},
        s->no_room,
        s->room};
}

/* inbound_has_room as it was before L2 tick `now`, one of the last INBOUND_HISTORY that the
 * slice has done, or a later one. */
bool inbound_had_room(const struct inbound *in, const struct inbound_history *history,
                      uint64_t now);

#endif
