/* pqueue.h: numbers 0 .. n-1 by their keys, the least key first, of equal keys the lowest
 * number. A key may change while its number is in the queue: pqueue_up or pqueue_down
 * then restores the order. A binary heap: O(log n) each. */
#ifndef ALLOT_BASE_PQUEUE_H
#define ALLOT_BASE_PQUEUE_H

#include "base/arena.h"

enum { PQUEUE_OUT = -1 };

struct pqueue {
    uint64_t *key; /* of each number, set by the user */
    uint32_t *v;   /* the heap: numbers */
    int32_t *at;   /* of each number: its index in v, PQUEUE_OUT: not in the queue */
    uint32_t n;
};

/* An empty queue of up to n numbers; all keys are 0. */
static inline struct pqueue
pqueue_new(struct arena *mem, uint32_t n)
{
    struct pqueue q = {ARENA_ARRAY(mem, uint64_t, n + 1),
                       ARENA_ARRAY(mem, uint32_t, n + 1),
                       ARENA_ARRAY(mem, int32_t, n + 1), 0};
    for (uint32_t i = 0; i < n; i++)
        q.at[i] = PQUEUE_OUT;
    return q;
}

static inline bool
pqueue_before(const struct pqueue *q, uint32_t a, uint32_t b)
{
    return q->key[a] != q->key[b] ? q->key[a] < q->key[b] : a < b;
}

static inline void
pqueue_set(struct pqueue *q, uint32_t i, uint32_t x)
{
    q->v[i] = x;
    q->at[x] = (int32_t)i;
}

/* x, whose key may have become less, moves forward. */
static inline void
pqueue_up(struct pqueue *q, uint32_t x)
{
    uint32_t i = (uint32_t)q->at[x];
    for (; i && pqueue_before(q, x, q->v[(i - 1) / 2]); i = (i - 1) / 2)
        pqueue_set(q, i, q->v[(i - 1) / 2]);
    pqueue_set(q, i, x);
}

/* x, whose key may have become greater, moves back. */
static inline void
pqueue_down(struct pqueue *q, uint32_t x)
{
    uint32_t i = (uint32_t)q->at[x];
    for (uint32_t k; (k = 2 * i + 1) < q->n; i = k) {
        k += k + 1 < q->n && pqueue_before(q, q->v[k + 1], q->v[k]);
        if (!pqueue_before(q, q->v[k], x))
            break;
        pqueue_set(q, i, q->v[k]);
    }
    pqueue_set(q, i, x);
}

static inline void
pqueue_add(struct pqueue *q, uint32_t x)
{
    pqueue_set(q, q->n++, x);
    pqueue_up(q, x);
}

/* Takes the first out; the queue must not be empty. */
static inline uint32_t
pqueue_take(struct pqueue *q)
{
    uint32_t x = q->v[0], last = q->v[--q->n];
    q->at[x] = PQUEUE_OUT;
    if (q->n) {
        pqueue_set(q, 0, last);
        pqueue_down(q, last);
    }
    return x;
}

#endif
