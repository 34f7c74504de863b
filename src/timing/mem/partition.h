/* partition.h: one memory partition: L2 slices before a DRAM channel, their queues and
 * delays. */
#ifndef ALLOT_TIMING_PARTITION_H
#define ALLOT_TIMING_PARTITION_H

#include "timing/mem/addrmap.h"
#include "timing/mem/dram.h"
#include "timing/mem/clk.h"
#include "timing/mem/inbound.h"
#include "timing/mem/outbound.h"

struct partition;

/* What all partitions have in common. */
struct partition_env {
    const struct machine *m;
    const struct addrmap *map;
    const struct clk *clk;
    struct icnt *requests, *replies;
    const uint16_t *port_of; /* by SM: its interconnect port */
    const uint8_t *half_of;  /* by SM: part of the chip; NULL: there is one */
};

/* The way of requests to the slices, and of replies from them. */
struct partition_ends {
    struct inbound *in;
    struct outbound *out;
};

/* index: of the channel; stats: of all its slices; ends: what it gets. */
struct partition *partition_new(struct arena *a, const struct partition_env *env,
                                unsigned index, struct stat_mem *stats,
                                struct partition_ends *ends, struct diag_sink *diag);

struct instant {  /* a time at which clocks tick */
    uint8_t core; /* cycle, after the first */
    uint8_t domains;
};
struct partition_span { /* of time */
    const struct instant *first, *end;
    const uint64_t *tick; /* by clock domain: the first not done before it */
    uint64_t icnt_end;    /* the interconnect's first after it */
    uint64_t from;        /* its first core cycle */
    bool all;             /* parts are stepped that have nothing to do, too */
};
/* Ticks of the span from time t on (NULL: the span begins): at each time, replies into the
 * crossbar, then the DRAM channel, then the L2 slices. Returns span.end; or a time at which
 * it is not known yet whether there is room for replies, and the L2 tick depends on it. Of
 * that time nothing but replies is done: on from there, when the crossbar has come to it
 * (outbound.waits_at). */
const struct instant *partition_ticks(struct partition *p,
                                      const struct partition_span *span,
                                      const struct instant *t);
/* First core cycle from `from` on in which a tick does anything, if nothing else is called
 * before; NEVER: none. */
uint64_t partition_next(const struct partition *p, uint64_t from);
/* The request crossbar has something new for slice s; the L2 tick in which it comes. */
uint64_t partition_notice(struct partition *p, unsigned s);

/* Sectors of one line become valid without time passing. */
void partition_prefill(struct partition *p, unsigned slice, uint64_t local,
                       uint8_t sectors);
/* Counters that grow with time, up to these ticks. */
void partition_settle(struct partition *p, uint64_t l2_now, uint64_t dram_now);
/* Under way: replies still to be given by the slices; bursts the DRAM has still to do. */
struct partition_left {
    unsigned replies, bursts;
    bool idle; /* nothing is, of any kind */
};
struct partition_left partition_left(const struct partition *p);
void partition_explain(const struct partition *p, struct strbuf *out);

#endif
