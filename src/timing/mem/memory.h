/* memory.h: the memory system beyond the SMs: ports, two crossbars, memory partitions, and
 * what is counted of them. Each part is stepped in ticks of its own clock and says when it
 * next acts; who steps which part when, and in which host thread, is the engine's business
 * (engine/memsys.h).
 *
 * Ticks are exact times (clk.h). At one instant:
 *   1. ports of the SMs show their next reply, and take one from their side of the reply
 *      crossbar, which is published the cycle after (core clock)
 *   2. L2 replies go into the reply crossbar (interconnect)
 *   3. DRAM channels
 *   4. L2 slices, which first take a request from the request crossbar
 *   5. both crossbars
 * and then the SMs, whose requests enter in the next tick of the interconnect.
 *
 * A request makes one reply for each 32-byte sector of `sectors` (one for each line if the
 * L2 has no sectors), read, write and atomic alike; the reply is the request with addr,
 * bytes and sectors of its piece. */
#ifndef ALLOT_TIMING_MEMORY_H
#define ALLOT_TIMING_MEMORY_H

#include "base/diag.h"
#include "machine/machine.h"
#include "stats/stats.h"
#include "timing/mem/partition.h"

struct port { /* of one SM, or of the SMs that share it */
    _Alignas(64) RING(struct packet) fifo;
    bool published;  /* the front reply can be taken */
    bool again;      /* it is published with the next step */
    bool refused;    /* a request found no room in cycle `now` */
    uint16_t wanted; /* flits of the smallest that was refused */
    uint16_t front_flits;
    const struct packet *front; /* refused last */
    uint64_t now;               /* core cycle last stepped */
    uint64_t tick;              /* first of the interconnect after it */
    /* for the launch's counters */
    uint64_t requests, request_flits, asked, given, latency;
};

struct channel_stats { /* a cache line of their own */
    _Alignas(64) struct stat_mem s;
};

/* Of the interconnect, beside core cycles from `from` on: the first tick not done at the
 * time of the cycle, and after it. */
enum { MEMORY_CYCLES = 32 };
struct core_ticks {
    uint64_t from, at[MEMORY_CYCLES], after[MEMORY_CYCLES];
};

struct memory {
    const struct machine *m;
    struct addrmap map;
    struct clk clk;
    struct core_ticks ticks;          /* written by the thread that steps the parts */
    unsigned ports, channels, slices; /* slices: of all channels */
    struct icnt *requests, *replies;  /* ports x slices, slices x ports */
    struct partition **partition;     /* by channel */
    struct partition_ends *ends;
    struct port *port;
    uint16_t *port_of; /* by SM */
    uint16_t *part_of; /* by slice */
    struct channel_stats *stats;
    struct stat_mem own; /* counted here, not by a partition */
    uint64_t began_dram; /* DRAM tick at which the launch began */
};

bool memory_init(struct memory *mem, struct arena *a, const struct machine *m,
                 struct diag_sink *diag);

/* -- ports: SM i has port i / sm.per_cluster -- */

/* Core cycle `now`, one of memory.ticks. The SM whose reply the port shows, or
 * MEMORY_NO_SM. */
enum { MEMORY_NO_SM = 0xffff };
unsigned memory_port(struct memory *mem, unsigned port, uint64_t now);
/* First core cycle after `now` in which the port has something to do; NEVER. */
uint64_t memory_port_next(const struct memory *mem, unsigned port, uint64_t now);

/* Dequeues the reply that the port has published; NULL: there is none. */
const struct packet *memory_reply(const struct memory *mem, unsigned port);
void memory_reply_over(struct memory *mem, unsigned port);

/* Hands a request to the SM's port of the request crossbar, at the end of the port's
 * cycle. ROOM_NO: try again in a later cycle; ROOM_UNKNOWN: in this cycle, when the
 * crossbar has come to it. */
enum room memory_inject(struct memory *mem, const struct packet *p);
bool memory_refused(const struct memory *mem, unsigned port); /* in its cycle */
/* It was. True: a retry up to core cycle `now` may succeed; conservative, since the crossbar
 * has not been stepped that far. */
bool memory_may_have_room(const struct memory *mem, unsigned port, uint64_t now);

/* -- the whole -- */

bool memory_idle(const struct memory *mem); /* nothing under way anywhere */
/* Counters of a launch that begins, or so far; l2, dram: first ticks not done. */
void memory_begin(struct memory *mem, uint64_t l2, uint64_t dram);
void memory_stats(struct memory *mem, uint64_t l2, uint64_t dram,
                  struct launch_stats *out);
/* Of a channel and its slices. */
const struct stat_mem *memory_channel_stats(const struct memory *mem, unsigned channel);
/* Lines that a host copy leaves in the L2. */
void memory_prefill(struct memory *mem, uint64_t addr, uint64_t bytes);
/* What waits, and for what, in words (for stuck simulations). */
void memory_explain(const struct memory *mem, struct strbuf *out);

#endif
