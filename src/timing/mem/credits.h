/* credits.h: the room of a timed queue (timed_queue.h), as its producer asks for it.
 *
 * Capacity is counted in credits: a packet needs some of them, and one that is larger than
 * the queue fits when it is empty. Producer and consumer are simulated up to different
 * times, so the question is asked for a simulated time t and has three answers:
 *
 *   ROOM_YES      there is room at t
 *   ROOM_NO       there is none, whatever the consumer does that is not simulated yet
 *   ROOM_UNKNOWN  it depends on that: ask again when the consumer has come to t
 *
 * Yes and no are final. So the producer goes on until it needs an answer that is not known
 * yet, and results do not depend on which of the two is simulated first.
 *
 * What differs is how the credits of a packet come back, and what of that is recorded:
 *
 *   credits come back  who is ahead  recorded                   used at t         unknown if
 *   WHOLE     at once  either        the time, in the packet    not back yet      split, and the
 *                                                                                 front came
 *   DRAINED   by one   producer      formula of the last drain  used + draining   a drain may
 *                                                                                 be due
 *   LOGGED    by one   consumer      set of the last 64 ticks   used + left since never
 *   BEHIND    at once  producer      the time from which takes  used              t is not
 *                                    are not known                                before that
 *
 * A queue has one way for all its packets. It is a constant where it is asked, so the
 * compiler makes a function of each; which is why there is no pointer to one.
 *
 * Drained. Of a packet of three credits that came at 5 and is drained from 10 on, its parts
 * arriving in every second time (stride 2):
 *                      credit j   not before 10 + j   nor 2 * (5 + j)   back after
 *                           0                  10                  10           10
 *                           1                  11                  12           12
 *                           2                  12                  14           14
 * Logged. A queue of 10 credits holds 6 and got one back in each of ticks 11 and 12. It
 * held 8 before tick 11 and 7 before tick 12. So a packet that needs 4 has no room in these
 * ticks, and has it in tick 13.
 *
 * Cost: constant a question. */
#ifndef ALLOT_TIMING_CREDITS_H
#define ALLOT_TIMING_CREDITS_H

#include "base/inline.h"
#include "timing/cycles.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum room { ROOM_NO, ROOM_YES, ROOM_UNKNOWN };
enum credits_back { CREDITS_WHOLE, CREDITS_DRAINED, CREDITS_LOGGED, CREDITS_BEHIND };

enum { CREDITS_TICKS = 64 }; /* of a log */

/* All that the producer has to know of the consumer. A copy is as good until the consumer
 * goes on: a snapshot, for a producer in another thread. */
struct credits {
    /* Whole: of the first packet taken. Drained: from when on. Both: NEVER, if none.
     * Logged: tick done last. Behind: from then on takes are not known; NEVER: they are. */
    uint64_t back_at;
    union {
        uint64_t arrival; /* drained: time of its first part, in units of `stride` */
        uint64_t log;     /* ticks modulo CREDITS_TICKS in which one came back */
    };
    uint32_t used;    /* by packets in the queue; of a queue with tq_split: see there */
    uint16_t leaving; /* credits of those taken, or of the one drained last */
    uint16_t stride;
};

/* Does it fit, if so many are used? If not: may others come back that are not recorded? */
static inline enum room
credits_answer(uint32_t used, uint32_t cap, uint32_t n, bool others)
{
    if (!used || used + n <= cap)
        return ROOM_YES;
    return others ? ROOM_UNKNOWN : ROOM_NO;
}

/* Drained: so many credits of the last packet are not back before time t. */
static inline uint32_t
credits_draining(const struct credits *c, uint64_t t)
{
    if (!c->leaving || t <= c->back_at)
        return c->leaving;
    /* Credit j is back if j < t - back_at, and stride * (arrival + j) < t. */
    const uint64_t here = (t + c->stride - 1) / c->stride;
    const uint64_t gone =
        min_u64(t - c->back_at, here > c->arrival ? here - c->arrival : 0);
    return gone >= c->leaving ? 0 : c->leaving - (uint32_t)gone;
}

/* Ticks from..to as a set. */
static inline uint64_t
credits_ticks(uint64_t from, uint64_t to)
{
    const uint64_t n = to + 1 - from;
    if (n >= CREDITS_TICKS)
        return ~(uint64_t)0;
    const uint64_t ones = ((uint64_t)1 << n) - 1;
    const unsigned by = from % CREDITS_TICKS;
    return by ? ones << by | ones >> (CREDITS_TICKS - by) : ones;
}

/* Logged: so many credits came back in tick t or later. Precondition: t is one of the last
 * CREDITS_TICKS, or later. */
static inline uint32_t
credits_since(const struct credits *c, uint64_t t)
{
    if (t > c->back_at)
        return 0;
    assert(c->back_at - t < CREDITS_TICKS);
    return (uint32_t)__builtin_popcountll(c->log & credits_ticks(t, c->back_at));
}

/* Room for n of `cap` credits at time t. Whole: timed_queue_room. Drained, and unknown:
 * credits_back_from and credits_back_after narrow it down. */
static inline enum room
credits_room(const struct credits *c, enum credits_back how, uint32_t cap, uint32_t n,
             uint64_t t)
{
    switch (how) {
    case CREDITS_DRAINED:
        if (c->used + c->leaving + n <= cap)
            return ROOM_YES;
        return credits_answer(c->used + credits_draining(c, t), cap, n, true);
    case CREDITS_LOGGED:
        return credits_answer(c->used + credits_since(c, t), cap, n, false);
    default:
        return credits_answer(c->used, cap, n, c->back_at <= t);
    }
}

/* Drained, and it does not fit. True: from time *from on it will, if nothing is put in
 * before. Else it depends on when the next packet is drained: credits_back_after. */
static inline bool
credits_back_from(const struct credits *c, uint32_t cap, uint32_t n, uint64_t *from)
{
    const uint32_t stay = n < cap ? cap - n : 0; /* so many may be used */
    if (c->used > stay)
        return false;
    const uint64_t j = c->leaving - (stay - c->used) - 1; /* this one must be back */
    *from = max_u64(c->back_at + j, c->stride * (c->arrival + j)) + 1;
    return true;
}

/* Drained, and it does not fit before this time, if the next packet is not drained before
 * `next`: from then on one credit is back in every time, at best. */
static inline uint64_t
credits_back_after(const struct credits *c, uint32_t cap, uint32_t n, uint64_t next)
{
    return next + c->used - (n < cap ? cap - n : 0);
}

#endif
