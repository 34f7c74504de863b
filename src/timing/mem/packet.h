/* packet.h: packets between SMs and memory partitions, the ring buffers they wait in, and
 * freelists of table indices. Packets are values: no pointers. */
#ifndef ALLOT_TIMING_PACKET_H
#define ALLOT_TIMING_PACKET_H

#include "base/arena.h"
#include "timing/cycles.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* k modulo n, without a division if n is a power of two, as it mostly is. */
static inline unsigned
wrap(uint64_t k, unsigned n)
{
    return n & (n - 1) ? (unsigned)(k % n) : (unsigned)k & (n - 1);
}

enum packet_kind { PKT_READ, PKT_WRITE, PKT_ATOMIC };

/* Which part of the SM asked; the reply goes back there. */
enum packet_client {
    PKT_L1D,
    PKT_L1I,
    PKT_L1C,
    PKT_L1T,
    PKT_BYPASS /* global past the L1 */
};

struct packet {
    uint64_t addr;  /* of the first byte; line- or sector-aligned except partial writes */
    uint64_t born;  /* core cycle of its making, for latency statistics */
    uint32_t token; /* the client's own, comes back in the reply */
    uint16_t sm;
    uint16_t bytes;     /* data asked for or carried */
    uint8_t kind;       /* enum packet_kind */
    uint8_t client;     /* enum packet_client */
    uint8_t sectors;    /* 32-byte sectors of the 128-byte line, bit per sector */
    uint8_t space;      /* enum ptx_space, for statistics */
    uint32_t byte_mask; /* writes: which 4-byte words of the line are written */
};

/* 4-byte words of a line of up to 256 bytes that these sectors of it cover: to each bit a
 * byte of ones. */
static inline uint64_t
packet_words(uint8_t sectors)
{
    uint64_t own = sectors * 0x0101010101010101u & 0x8040201008040201u;
    return ((own + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u) * 0xff;
}

/* Sectors of which there is a word. */
static inline uint8_t
packet_touched(uint64_t words)
{
    uint64_t low = (words & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu;
    return (uint8_t)(((low | words) >> 7 & 0x0101010101010101u) * 0x0102040810204080u >>
                     56);
}

/* Ring buffer of T, of fixed capacity: RING(struct packet) q; ring_init(&q, arena, cap).
 * It uses the first `span` slots only, a power of two, and doubles `span` when those are
 * full; an empty ring starts again at RING_SPAN. So a long ring with few entries stays
 * cached, and unused slots cost no memory. A push may move entries. */
#define RING(T)                                                                          \
    struct {                                                                             \
        T *v;                                                                            \
        uint32_t head, n, cap, span;                                                     \
    }
enum { RING_SPAN = 8 }; /* at first */
#define ring_init(r, arena, capacity)                                                    \
    ((r)->cap = (capacity), (r)->head = (r)->n = 0, (r)->span = RING_SPAN,               \
     (r)->v = ring_alloc((arena), sizeof *(r)->v * ring_slots((r)->cap),                 \
                         _Alignof(__typeof__(*(r)->v))))
#define ring_full(r) ((r)->n == (r)->cap)
#define ring_empty(r) ((r)->n == 0)
#define ring_front(r) (&(r)->v[(r)->head])
/* Index of the i-th from the front, i <= n. */
#define ring_index(r, i) (((r)->head + (i)) & ((r)->span - 1))
#define ring_at(r, i) (&(r)->v[ring_index(r, i)])
#define ring_push(r)                                                                     \
    (assert(!ring_full(r)),                                                              \
     (r)->n == (r)->span                                                                 \
         ? (void)((r)->span = ring_widen((r)->v, sizeof *(r)->v, (r)->head, (r)->span))  \
         : (void)0,                                                                      \
     &(r)->v[((r)->head + (r)->n++) & ((r)->span - 1)])
#define ring_pop(r) ring_drop(r, 1)

/* The first k of it. */
#define ring_drop(r, k)                                                                  \
    (assert((r)->n >= (k)), (r)->n -= (k),                                               \
     (r)->head = ((r)->head + (k)) & ((r)->span - 1) & -(uint32_t)((r)->n != 0),         \
     (r)->span = RING_SPAN + (((r)->span - RING_SPAN) & -(uint32_t)((r)->n != 0)))

/* Slots for `more` entries, as far as the capacity allows. */
#define ring_reserve(r, more)                                                            \
    do {                                                                                 \
        while ((r)->span - (r)->n < (more) && (r)->span < (r)->cap)                      \
            (r)->span = ring_widen((r)->v, sizeof *(r)->v, (r)->head, (r)->span);        \
    } while (0)

static inline void *
ring_alloc(struct arena *a, size_t bytes, size_t align)
{
    return bytes > 1024 ? arena_alloc_sparse(a, bytes)
                        : arena_alloc_aligned(a, bytes, align);
}

/* Slots of a ring of this capacity: its widest span. */
static inline size_t
ring_slots(uint32_t cap)
{
    size_t n = cap ? RING_SPAN : 0;
    while (n < cap)
        n *= 2;
    return n;
}

/* A ring that goes round in its span from `head` on gets twice of it: what lies before
 * head comes behind the rest. */
static inline uint32_t
ring_widen(void *v, size_t size, uint32_t head, uint32_t span)
{
    memcpy((char *)v + size * span, v, size * head);
    return 2 * span;
}

/* Free indices of a table of `cap` entries. Kept outside the table, whose entries would be
 * host cache misses. */
struct freelist {
    uint32_t *freed;        /* indices given back, `n` of them; last in, first out */
    uint32_t n, fresh, cap; /* fresh: indices from here on were never used */
};

static inline void
freelist_init(struct freelist *p, struct arena *a, uint32_t cap)
{
    *p = (struct freelist){.freed = ARENA_SPARSE(a, uint32_t, cap), .cap = cap};
}

static inline uint32_t
freelist_used(const struct freelist *p)
{
    return p->fresh - p->n;
}

static inline uint32_t
freelist_take(struct freelist *p)
{
    assert(freelist_used(p) < p->cap);
    return p->n ? p->freed[--p->n] : p->fresh++;
}

static inline void
freelist_give(struct freelist *p, uint32_t i)
{
    p->freed[p->n++] = i;
}

#endif
