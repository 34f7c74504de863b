/* packet.h: what travels between an SM and the memory partitions, and the ring buffers it
 * waits in. Packets are values: no pool, no pointers. */
#ifndef ALLOT_TIMING_PACKET_H
#define ALLOT_TIMING_PACKET_H

#include "base/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define NEVER UINT64_MAX /* "no event until something arrives from outside" */

enum packet_kind { PKT_READ, PKT_WRITE, PKT_ATOMIC };

/* Which part of the SM asked; the reply goes back there. */
enum packet_client { PKT_L1D, PKT_L1I, PKT_L1C, PKT_BYPASS /* global past the L1 */ };

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

/* Fixed ring of T: RING(struct packet) q; ring_init(&q, arena, capacity). An empty one
 * starts from its beginning again, so that a long ring with little in it stays in the
 * host's cache. */
#define RING(T)                                                                          \
    struct {                                                                             \
        T *v;                                                                            \
        uint32_t head, n, cap;                                                           \
    }
#define ring_init(r, arena, capacity)                                                    \
    ((r)->cap = (capacity), (r)->head = (r)->n = 0,                                      \
     (r)->v = arena_alloc((arena), sizeof *(r)->v * (r)->cap))
#define ring_full(r) ((r)->n == (r)->cap)
#define ring_empty(r) ((r)->n == 0)
#define ring_front(r) (&(r)->v[(r)->head])
/* Index of the i-th from the front, i <= n: a compare, not a division. */
#define ring_index(r, i)                                                                 \
    ((r)->head + (i) >= (r)->cap ? (r)->head + (i) - (r)->cap : (r)->head + (i))
#define ring_at(r, i) (&(r)->v[ring_index(r, i)])
#define ring_push(r) (assert(!ring_full(r)), (r)->n++, &(r)->v[ring_index(r, (r)->n - 1)])
#define ring_pop(r)                                                                      \
    (assert((r)->n),                                                                     \
     (r)->head = (r)->n == 1 || (r)->head + 1 == (r)->cap ? 0 : (r)->head + 1, (r)->n--)

#endif
