/* arrivals.h: requests for the L2 slices of a partition that is simulated ahead of the
 * request crossbar, possibly in another host thread.
 *
 * The serial phase steps the crossbar and accepts packets for the slices, as these would
 * have done at the time (inbound_had_room). Unless arrivals_alone is on, slices may run
 * at the same time. Then what is accepted waits in `arrivals` until the partition next
 * begins, and the credits that slices return count when they are published. All that is
 * exchanged is double-buffered; arrivals_swap and arrivals_publish swap the buffers while
 * neither side runs. */
#ifndef ALLOT_TIMING_ARRIVALS_H
#define ALLOT_TIMING_ARRIVALS_H

#include "timing/mem/inbound.h"

/* A slice as acceptance sees it. */
struct credit_snapshot {
    _Alignas(64) struct inbound_history history;
};

/* Credits that accepted packets will take of the delay lines, less those that struct
 * credit_snapshot has: of one buffer of arrivals and the other. */
struct inflight_credits {
    _Alignas(64) uint32_t pieces[2][INBOUND_LINES];
};

struct arrived { /* packets accepted that are not in the delay lines yet */
    _Alignas(64) RING(struct timed_packet) q;
};

struct arrivals_slice { /* one of two is read, one is written */
    struct credit_snapshot snapshot[2];
    struct inflight_credits inflight;
    struct arrived arrived[2];
};

struct arrivals { /* of a partition */
    struct inbound *in;
    bool alone;
    uint8_t published, filling; /* snapshot; arrived */
    struct arrivals_slice *slice;
};

/* For the slices behind `in`, which are ahead. */
void arrivals_init(struct arrivals *x, struct arena *a, struct inbound *in);

/* Accepts the packet at the crossbar's output for the slice, if the slice had room in L2
 * tick l2 (inbound_had_room). Precondition: there is one. icnt: the crossbar's first tick not
 * done then. Returns the L2 tick in which it can leave the delay line, 0: there was no room.
 * That tick must not come before the partition next begins. */
uint64_t arrivals_accept(struct arrivals *x, unsigned slice, uint64_t l2, uint64_t icnt);

/* The slices go through L2 ticks before l2_end, with all that was accepted up to
 * arrivals_swap; after them: arrivals_end. */
void arrivals_begin(struct arrivals *x, uint64_t l2_end);
void arrivals_end(struct arrivals *x);
void arrivals_swap(struct arrivals *x);
/* What they did until arrivals_end is known to arrivals_accept. */
void arrivals_publish(struct arrivals *x);
/* While neither is at work: all that was accepted is in the delay lines, and all that the
 * slices did is known. */
void arrivals_settle(struct arrivals *x);
/* alone: until the next call acceptance and slices do not overlap. Then nothing is double
 * buffered, which costs less and gives the same results. */
void arrivals_alone(struct arrivals *x, bool alone);

#endif
