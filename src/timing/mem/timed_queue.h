/* timed_queue.h: a bounded queue of packets between two components that are simulated up
 * to different times.
 *
 * The producer puts packets in and the consumer takes them out, each in the order of its
 * own time; neither waits for the other to get there. So every packet carries the time
 * after which the consumer sees it, and room comes back as credits, each from a time on.
 * The one question of the producer is answered for a simulated time t:
 *
 *   ROOM_YES      there is room at t
 *   ROOM_NO       there is none, whatever the consumer does that is not simulated yet
 *   ROOM_UNKNOWN  it depends on that: ask again when the consumer has come to t
 *
 * Yes and no are final. So the producer goes on until it needs an answer that is not known
 * yet, and results do not depend on which of the two is simulated first.
 *
 * Capacity is counted in credits: a packet needs some of them, and one that is larger than
 * the queue fits when it is empty. Credits come back in one of two ways, the same for all
 * packets of a queue:
 *   timed_queue_take   all credits of a packet at one time
 *   timed_queue_drain  one by one, while the packet leaves. Of a packet of three credits
 *                      that came at 5 and is drained from 10 on, its parts arriving in
 *                      every second time (stride 2):
 *                      credit j   not before 10 + j   nor 2 * (5 + j)   back after
 *                           0                  10                  10           10
 *                           1                  11                  12           12
 *                           2                  12                  14           14
 *
 * Threads. The two ends are used in turns, unless the queue is split: from
 * timed_queue_split to timed_queue_join one host thread may put while another takes. Then
 * neither sees what the other does: new packets are unpublished, and credits of packets
 * taken are not counted. To the producer that is the same as a consumer that is simulated
 * later, so the answers have the same three values. What the producer writes meanwhile
 * lies in struct tq_split, which its owner puts into a cache line that the consumer does
 * not use, to avoid false sharing. A queue that is never split has none. */
#ifndef ALLOT_TIMING_TIMED_QUEUE_H
#define ALLOT_TIMING_TIMED_QUEUE_H

#include "base/inline.h"
#include "timing/mem/packet.h"

enum room { ROOM_NO, ROOM_YES, ROOM_UNKNOWN };

struct timed_packet { /* one cache line */
    _Alignas(64) struct packet p;
    uint64_t local; /* requests: address inside the slice */
    /* The consumer sees it after this time. Once taken: its credits are back from then on. */
    uint64_t at;
    uint16_t out; /* for the consumer: where it goes */
    uint16_t credits;
};

struct timed_queue { /* one cache line */
    /* The first `taken` are still here for the times at which their credits are back. */
    _Alignas(64) RING(struct timed_packet) q;
    uint64_t front_at; /* `at` of the first that is not taken; NEVER: none */
    uint64_t back_at; /* of the first that is taken; NEVER: none. Drained: from when on */
    uint64_t arrival; /* drained: time of its first part, in units of `stride` */
    uint16_t taken;
    uint16_t leaving; /* credits of those taken, or of the one drained last */
    uint16_t used;    /* without tq_split: credits of those in q */
    uint16_t stride;
};
static_assert(sizeof(struct timed_queue) == 64, "one line");

struct tq_split {           /* the producer's part */
    struct timed_packet *v; /* slots of the ring */
    uint64_t front_at;      /* of the first that may be taken while split; NEVER: none */
    uint32_t unpublished;   /* packets in the ring that the consumer does not see yet */
    uint32_t slots;         /* for so many of them there is place, and */
    uint16_t overflow;      /* so many more are in the slots behind the ring */
    uint16_t used;     /* credits of those in q, of those taken, of the unpublished */
    uint32_t at, mask; /* next place */
};

#ifndef TQ_UNPUBLISHED /* tests take less, so that they get to the end of it */
#define TQ_UNPUBLISHED 24
#endif

/* cap: its credits. s: NULL, if it is never split. */
static inline void
timed_queue_init(struct timed_queue *q, struct tq_split *s, struct arena *a, uint32_t cap)
{
    *q = (struct timed_queue){.front_at = NEVER, .back_at = NEVER};
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

/* The front leaves, and its credits are back from time t on. */
static inline void
timed_queue_take(struct timed_queue *q, uint64_t t)
{
    assert(q->taken < q->q.n);
    struct timed_packet *m = timed_queue_front(q);
    m->at = t;
    q->leaving = (uint16_t)(q->leaving + m->credits);
    if (!q->taken++)
        q->back_at = t;
    q->front_at = q->taken < q->q.n ? timed_queue_front(q)->at : NEVER;
    __builtin_prefetch(ring_at(&q->q, q->taken + 1u)); /* another thread wrote it */
}

/* The front leaves: its credit j is back after the later of `from` + j and stride * (at +
 * j). Precondition: all credits of the one before are back by then. */
static inline void
timed_queue_drain(struct timed_queue *q, uint64_t from, unsigned stride)
{
    const struct timed_packet *m = ring_front(&q->q);
    q->back_at = from;
    q->arrival = m->at;
    q->stride = (uint16_t)stride;
    q->leaving = m->credits;
    q->used = (uint16_t)(q->used - m->credits);
    ring_pop(&q->q);
    q->front_at = q->q.n ? ring_front(&q->q)->at : NEVER;
}

/* -- room where packets are taken -- */

/* Credits that are back at time t are counted. */
static inline void
timed_queue_return(struct timed_queue *q, struct tq_split *s, uint64_t t)
{
    while (q->back_at <= t) {
        const uint16_t credits = ring_front(&q->q)->credits;
        s->used = (uint16_t)(s->used - credits);
        q->leaving = (uint16_t)(q->leaving - credits);
        ring_pop(&q->q);
        q->back_at = --q->taken ? ring_front(&q->q)->at : NEVER;
    }
}

/* Room for n of its `cap` credits at time t. split: it is. Times do not go back. */
static inline enum room
timed_queue_room(struct timed_queue *q, struct tq_split *s, unsigned cap, unsigned n,
                 uint64_t t, bool split)
{
    if (!split)
        timed_queue_return(q, s, t);
    if (!s->used || s->used + n <= cap)
        return ROOM_YES;
    return split && s->front_at < t ? ROOM_UNKNOWN : ROOM_NO;
}

/* -- room where packets are drained -- */

/* Of the packet drained last, so many credits are not back before time t. */
static inline uint32_t
timed_queue_draining(const struct timed_queue *q, uint64_t t)
{
    if (!q->leaving || t <= q->back_at)
        return q->leaving;
    /* Credit j is back if j < t - back_at, and stride * (arrival + j) < t. */
    const uint64_t here = (t + q->stride - 1) / q->stride;
    const uint64_t gone =
        min_u64(t - q->back_at, here > q->arrival ? here - q->arrival : 0);
    return gone >= q->leaving ? 0 : q->leaving - (uint32_t)gone;
}

static inline bool
timed_queue_fits(const struct timed_queue *q, unsigned cap, unsigned n, uint64_t t)
{
    if (q->used + q->leaving + n <= cap)
        return true;
    const uint32_t used = q->used + timed_queue_draining(q, t);
    return !used || used + n <= cap;
}

/* It does not fit. True: from time *from on it will, if nothing is put in before. Else it
 * depends on when the next packet is drained: timed_queue_room_after. */
static inline bool
timed_queue_room_from(const struct timed_queue *q, unsigned cap, unsigned n,
                      uint64_t *from)
{
    const uint32_t stay = n < cap ? cap - n : 0; /* so many may be used */
    if (q->used > stay)
        return false;
    const uint64_t j = q->leaving - (stay - q->used) - 1; /* this one must be back */
    *from = max_u64(q->back_at + j, q->stride * (q->arrival + j)) + 1;
    return true;
}

/* It does not fit before this time, if the next packet is not drained before `next`: from
 * then on one credit is back in every time, at best. */
static inline uint64_t
timed_queue_room_after(const struct timed_queue *q, unsigned cap, unsigned n,
                       uint64_t next)
{
    return next + q->used - (n < cap ? cap - n : 0);
}

/* -- the producer -- */

/* A place at the end, for a packet that the consumer sees after time `at`; of a
 * queue that is not split. */
static inline struct timed_packet *
timed_queue_push(struct timed_queue *q, uint64_t at)
{
    q->front_at = min_u64(q->front_at, at); /* what is behind another comes later */
    return ring_push(&q->q);
}

/* The same of one that is. True: it is the first unpublished. */
static inline bool
timed_queue_push_split(const struct timed_queue *q, struct tq_split *s,
                       const struct timed_packet *m)
{
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
        s->used = (uint16_t)(s->used - q->leaving);
        ring_drop(&q->q, q->taken);
        q->taken = q->leaving = 0;
        q->back_at = NEVER;
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
