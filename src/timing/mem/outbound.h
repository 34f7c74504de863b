/* outbound.h: replies on their way out of the L2 slices of a memory partition: each slice
 * has a bounded queue of them before its input of the reply crossbar.
 *
 * A reply goes in the first interconnect tick after it is ready in which the crossbar has
 * room. If that is not known yet (ROOM_UNKNOWN, credits.h), the queue's replies are
 * *deferred* from that tick on: whether they go is found out when the crossbar comes there
 * (outbound_follow). Meanwhile the queue holds what it held, or less: it is a timed queue
 * whose consumer is behind. So the slice's question, whether there is room for the replies
 * of its next tick, has the answer yes as long as they fit even if none has left, else not
 * known yet. */
#ifndef ALLOT_TIMING_OUTBOUND_H
#define ALLOT_TIMING_OUTBOUND_H

#include "stats/stats.h"
#include "timing/mem/clk.h"
#include "timing/mem/icnt.h"

struct request { /* of a slice: one piece of a packet */
    _Alignas(64) struct packet p;
    uint64_t local;
    uint8_t mask; /* sectors of the L2 line */
};

struct outbound_slice {
    /* Of replies: `number` of the request, `flits`, and the L2 tick `at` after which it can
     * go. credits.back_at: interconnect tick from which they are deferred. */
    struct timed_queue q;
    uint64_t from;  /* the next reply goes in this interconnect tick or later */
    uint64_t *wake; /* set to 0 when a full queue gets room */
    /* Requests by number, from their arrival until their reply has gone or, if there is
     * none, they are done. */
    struct request *request;
    struct freelist numbers;
};

struct outbound { /* of a partition */
    struct icnt *replies;
    const struct clk *clk;
    const uint16_t *port_of; /* by SM: output of the crossbar */
    struct stat_mem *stats;
    unsigned first, slices; /* input of the crossbar for slice 0 */
    unsigned header, flit;  /* bytes */
    bool direct;            /* replies may go as soon as they are made */
    struct outbound_slice *slice;
    _Alignas(64) unsigned busy; /* slices with something in their queues */
    bool deferred;              /* a slice's replies are */
    uint64_t waits_at;          /* a slice waits for the crossbar to come to this tick */
    uint64_t end;               /* first interconnect tick that is not to be simulated */
};

/* `out` has all but `slice`, which is made in a: with queues of `cap` replies and tables of
 * so many requests. */
void outbound_init(struct outbound *out, struct arena *a, uint32_t cap,
                   uint32_t requests);

/* -- the slices -- */

/* A request is answered in L2 tick `now`, so that it can go after tick `ready`; tick: of
 * the interconnect, the first after `now`. */
void outbound_answer(struct outbound *out, unsigned slice, uint32_t number, uint64_t now,
                     uint64_t ready, uint64_t tick);

/* Replies go in interconnect tick `tick`; l2: first L2 tick not done. Made again in the
 * same tick, it does what could not be known. */
void outbound_send(struct outbound *out, uint64_t tick, uint64_t l2);

/* Room in interconnect tick `tick` for the replies of an L2 tick, two at most, in all queues
 * of which a reply is deferred; ROOM_UNKNOWN: or there may be. */
enum room outbound_room(const struct outbound *out, uint64_t tick);

/* -- the stage that steps the crossbar -- */

static inline bool
outbound_deferred(const struct outbound *out)
{
    return out->deferred;
}

/* The crossbar is about to step this tick: deferred replies go. At outbound.end, or when it
 * has come as far as the slices (outbound_caught_up), none are deferred any more. */
void outbound_follow(struct outbound *out, uint64_t tick);
void outbound_caught_up(struct outbound *out);

#endif
