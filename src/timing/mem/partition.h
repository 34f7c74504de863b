/* partition.h: one memory partition: L2 slices before a DRAM channel, their queues and
 * delays. The memory system calls the three ticks in the order of their clocks. */
#ifndef ALLOT_TIMING_PARTITION_H
#define ALLOT_TIMING_PARTITION_H

#include "timing/mem/addrmap.h"
#include "timing/mem/dram.h"
#include "timing/mem/icnt.h"
#include "timing/mem/clk.h"

struct partition;

/* What all partitions have in common. */
struct partition_env {
    const struct machine *m;
    const struct addrmap *map;
    const struct clk *clk;
    struct icnt *requests, *replies;
    const uint16_t *port_of; /* by SM: its interconnect port */
    const uint8_t *half_of;  /* by SM: part of the chip; NULL: there is one */
    const uint64_t *tick; /* by clock domain: this partition's first tick not done yet */
    bool ahead; /* slices take requests by partition_accept, not in their ticks */
};

/* index: of the channel; stats: of all its slices. */
struct partition *partition_new(struct arena *a, const struct partition_env *env,
                                unsigned index, struct stat_mem *stats,
                                struct diag_sink *diag);

/* Replies into the crossbar (interconnect clock). Where it is not known yet whether there
 * is room (ROOM_UNKNOWN), the slice's replies are deferred: those of this and the following
 * cycles are partition_send_deferred's business, called before the crossbar steps that
 * cycle, until partition_caught_up says that it is where the partition is. Before an L2
 * tick, partition_must_wait: the partition must first be caught up with. */
void partition_reply(struct partition *p);
bool partition_deferred(const struct partition *p);
bool partition_must_wait(const struct partition *p);
void partition_send_deferred(struct partition *p, uint64_t cycle);
void partition_caught_up(struct partition *p);
/* DRAM clock; core: core cycle in progress. */
void partition_dram(struct partition *p, uint64_t now, uint64_t core);
/* L2 clock: the slices that have something to do; or all. icnt: first interconnect tick
 * after it. */
void partition_l2(struct partition *p, uint64_t now, uint64_t icnt);
void partition_l2_all(struct partition *p, uint64_t now, uint64_t icnt);
/* Of a partition that is ahead of the request crossbar: slice s takes the packet that has
 * arrived for it (there is one), as it would have in L2 tick l2, one of the last
 * PARTITION_PAST it has done or a later one; icnt: the crossbar's first tick not done
 * then. The L2 tick in which the packet leaves the delay line, which must not come before
 * the partition begins with it; 0: it has no room.
 * What is taken up to partition_swap_arrivals, the partition begins with: partition_begin (before
 * every quantum; l2_end, icnt_end: first ticks after that), its ticks, partition_end.
 * Another thread may do so beside partition_accept, which does not see it before
 * partition_publish. */
enum { PARTITION_HISTORY = 64 };
uint64_t partition_accept(struct partition *p, unsigned s, uint64_t l2, uint64_t icnt);
void partition_swap_arrivals(struct partition *p);
void partition_begin(struct partition *p, uint64_t l2_end, uint64_t icnt_end);
void partition_end(struct partition *p);
void partition_publish(struct partition *p);
/* alone: until the next call nothing goes on beside anything; for less, and the same. */
void partition_alone(struct partition *p, bool alone);
/* The request crossbar has something new for slice s; the L2 tick in which it comes. */
uint64_t partition_notice(struct partition *p, unsigned s);

/* First tick of its domain at which the call above does anything, if nothing else is
 * called before; NEVER: none. */
bool partition_reply_due(const struct partition *p);
uint64_t partition_dram_at(const struct partition *p);
uint64_t partition_l2_at(const struct partition *p);

/* Sectors of one line become valid without time passing. */
void partition_prefill(struct partition *p, unsigned slice, uint64_t local,
                       uint8_t sectors);
bool partition_idle(const struct partition *p);
/* Counters that grow with time, up to these ticks. */
void partition_settle(struct partition *p, uint64_t l2_now, uint64_t dram_now);
/* Under way: replies still to be given by the slices; bursts the DRAM has still to do. */
unsigned partition_replies_left(const struct partition *p);
unsigned partition_bursts(const struct partition *p);
void partition_explain(const struct partition *p, struct strbuf *out);

/* How a slice answers a packet of these sectors: so many replies. */
unsigned partition_pieces(const struct machine *m, const struct packet *p);

#endif
