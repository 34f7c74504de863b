/* timed_queue.h: a bounded queue of packets between two components that are simulated up
 * to different times.
 *
 * The producer puts packets in and the consumer takes them out, each in the order of its
 * own time; neither waits for the other to get there. So every packet carries the time
 * after which the consumer sees it, and room comes back as credits, each from a time on
 * (credits.h: the producer's question for room, and its three answers).
 *
 * The queues of the memory system, from an SM's port to the L2 and back:
 *
 *   queue                                        credits  come back  by
 *   input buffer of a crossbar (icnt.c)          flits    drained    timed_queue_drain
 *   output buffer of a crossbar (icnt.c)         flits    whole      timed_queue_take
 *   delay line of an L2 slice (inbound.h)        pieces   logged     timed_queue_leave
 *   replies of an L2 slice (outbound.h)          replies  behind     timed_queue_send
 *
 * Threads. The two ends are used in turns, unless one of two things is done.
 *   Split: from timed_queue_split to timed_queue_join one host thread may put while another
 *     takes (credits that come back whole). New packets are unpublished, and credits of
 *     packets taken are not counted. To the producer that is the same as a consumer that is
 *     simulated later. What the producer writes meanwhile lies in struct tq_split, which its
 *     owner puts into a cache line that the consumer does not use, to avoid false sharing.
 *     A queue that is never split has none.
 *   Double buffer: the producer asks a snapshot of struct credits and keeps what it puts in
 *     a ring of its own; both are exchanged at a time when neither is at work
 *     (engine/arrivals.h). */
#ifndef ALLOT_TIMING_TIMED_QUEUE_H
#define ALLOT_TIMING_TIMED_QUEUE_H

#include "timing/mem/credits.h"
#include "timing/mem/packet.h"

struct timed_packet { /* one cache line */
    _Alignas(64) struct packet p;
    uint64_t local; /* requests: address inside the slice */
    /* The consumer sees it after this time. Once taken: its credits are back from then on. */
    uint64_t at;
    uint16_t out; /* for the consumer: where it goes */
    uint16_t credits;
    uint16_t flits;  /* before a crossbar: credits it will need there */
    uint32_t number; /* of a slice's request */
};

struct timed_queue { /* one cache line */
    /* The first `taken` are still here for the times at which their credits are back. */
    _Alignas(64) RING(struct timed_packet) q;
    uint64_t front_at; /* `at` of the first that is not taken; NEVER: none */
    struct credits credits;
    uint16_t taken;
};
static_assert(sizeof(struct timed_queue) == 64, "one line");

struct tq_split {           /* the producer's part */
    struct timed_packet *v; /* slots of the ring */
    uint64_t front_at;      /* of the first that may be taken while split; NEVER: none */
    uint32_t unpublished;   /* packets in the ring that the consumer does not see yet */
    uint32_t slots;         /* for so many of them there is place, and */
    uint32_t used;     /* credits of those in q, of those taken, of the unpublished */
    uint32_t at, mask; /* next place */
    uint16_t overflow; /* so many more are in the slots behind the ring */
};

#ifndef TQ_UNPUBLISHED /* tests take less, so that they get to the end of it */
#define TQ_UNPUBLISHED 24
#endif

/* cap: the most packets. s: NULL, if it is never split. */
static inline void
timed_queue_init(struct timed_queue *q, struct tq_split *s, struct arena *a, uint32_t cap)
{
    *q = (struct timed_queue){.front_at = NEVER, .credits.back_at = NEVER};
    ring_init(&q->q, a, cap);
    if (!s)
        return;
    *s = (struct tq_split){.front_at = NEVER};
    q->q.v = ARENA_SPARSE(a, struct timed_packet, 2 * ring_slots(cap));
}

static inline unsigned
timed_queue_waiting(const struct timed_queue *q)
{
    return q->q.n - q->taken;
}

/* -- the consumer -- */

/* Precondition: one is waiting. */
static inline struct timed_packet *
timed_queue_front(const struct timed_queue *q)
{
    return ring_at(&q->q, q->taken);
}

/* The front goes out of a queue whose packets are not kept once taken. */
static inline void
timed_queue_pop(struct timed_queue *q)
{
    ring_pop(&q->q);
    q->front_at = q->q.n ? ring_front(&q->q)->at : NEVER;
}

/* Whole: the front leaves, and its credits are back from time t on. */
static inline void
timed_queue_take(struct timed_queue *q, uint64_t t)
{
    assert(q->taken < q->q.n);
    struct timed_packet *m = timed_queue_front(q);
    m->at = t;
    q->credits.leaving = (uint16_t)(q->credits.leaving + m->credits);
    if (!q->taken++)
        q->credits.back_at = t;
    q->front_at = q->taken < q->q.n ? timed_queue_front(q)->at : NEVER;
    __builtin_prefetch(ring_at(&q->q, q->taken + 1u)); /* another thread wrote it */
}

/* Drained: the front leaves, its credit j is back after the later of `from` + j and stride
 * * (at + j). Precondition: all credits of the one before are back by then. */
static inline void
timed_queue_drain(struct timed_queue *q, uint64_t from, unsigned stride)
{
    const struct timed_packet *m = ring_front(&q->q);
    q->credits.back_at = from;
    q->credits.arrival = m->at;
    q->credits.stride = (uint16_t)stride;
    q->credits.leaving = m->credits;
    q->credits.used -= m->credits;
    timed_queue_pop(q);
}

/* Logged: a credit of the front comes back in tick `now`; with its last it leaves. */
static inline void
timed_queue_leave(struct timed_queue *q, uint64_t now)
{
    q->credits.log |= (uint64_t)1 << now % CREDITS_TICKS;
    q->credits.used--;
    if (!--ring_front(&q->q)->credits)
        timed_queue_pop(q);
}

/* Logged: of the ticks up to `to` that come after the last none is done. Once for so many
 * as the log has, before they are. */
static inline void
timed_queue_forget(struct timed_queue *q, uint64_t to)
{
    q->credits.log &= ~credits_ticks(q->credits.back_at + 1, to);
}

/* Behind: the front leaves. */
static inline void
timed_queue_send(struct timed_queue *q)
{
    q->credits.used -= ring_front(&q->q)->credits;
    timed_queue_pop(q);
}

/* -- the producer -- */

/* Whole: credits that are back at time t are counted. */
static inline void
timed_queue_return(struct timed_queue *q, struct tq_split *s, uint64_t t)
{
    while (q->credits.back_at <= t) {
        const uint16_t credits = ring_front(&q->q)->credits;
        s->used -= credits;
        q->credits.leaving = (uint16_t)(q->credits.leaving - credits);
        ring_pop(&q->q);
        q->credits.back_at = --q->taken ? ring_front(&q->q)->at : NEVER;
    }
}

/* Whole: room for n of `cap` credits at time t. split: it is. Times do not go back. */
static inline enum room
timed_queue_room(struct timed_queue *q, struct tq_split *s, unsigned cap, unsigned n,
                 uint64_t t, bool split)
{
    if (!split)
        timed_queue_return(q, s, t);
    return credits_answer(s->used, cap, n, split && s->front_at < t);
}

/* A place at the end for a packet of so many credits, which the consumer sees after time
 * `at`. `used`: of credits, or of tq_split. */
static inline struct timed_packet *
timed_queue_push(struct timed_queue *q, uint32_t *used, uint64_t at, unsigned credits)
{
    *used += credits;
    q->front_at = min_u64(q->front_at, at); /* what is behind another comes later */
    struct timed_packet *m = ring_push(&q->q);
    m->at = at;
    m->credits = (uint16_t)credits;
    return m;
}

/* The packet into a queue that is split. True: it is the first unpublished. */
static inline bool
timed_queue_push_split(const struct timed_queue *q, struct tq_split *s,
                       const struct timed_packet *m)
{
    s->used += m->credits;
    s->front_at = min_u64(s->front_at, m->at);
    if (s->unpublished == s->slots) {
        s->v[ring_slots(q->q.cap) + s->overflow++] = *m;
        return s->unpublished + s->overflow == 1;
    }
    s->v[s->at] = *m;
    s->at = (s->at + 1) & s->mask;
    __builtin_prefetch(&s->v[s->at], 1); /* another thread had it */
    return !s->unpublished++;
}

/* -- both -- */

static inline void
timed_queue_split(struct timed_queue *q, struct tq_split *s)
{
    if (q->taken) {
        s->used -= q->credits.leaving;
        ring_drop(&q->q, q->taken);
        q->taken = q->credits.leaving = 0;
        q->credits.back_at = NEVER;
    }
    s->front_at = q->front_at;
    ring_reserve(&q->q, TQ_UNPUBLISHED);
    s->unpublished = s->overflow = 0;
    s->slots = q->q.span - q->q.n;
    s->v = q->q.v;
    s->at = ring_index(&q->q, q->q.n);
    s->mask = q->q.span - 1;
}

/* What is unpublished is there. True: before nothing was. */
static inline bool
timed_queue_join(struct timed_queue *q, struct tq_split *s)
{
    q->q.n += s->unpublished;
    assert(q->q.n <= q->q.cap);
    for (uint32_t i = 0; i < s->overflow; i++) {
        const struct timed_packet *m = &s->v[ring_slots(q->q.cap) + i];
        *ring_push(&q->q) = *m;
    }
    const bool more = s->unpublished + s->overflow, none = q->front_at == NEVER;
    s->unpublished = s->overflow = 0;
    if (none & more)
        q->front_at = timed_queue_front(q)->at;
    return none & more;
}

#endif
