/* dram.h: one DRAM channel: queue, banks, timing constraints, data bus.
 *
 * Time is counted in command clocks (ticks). The caller hands requests in, ticks, and
 * takes completed reads from the return queue. */
#ifndef ALLOT_TIMING_DRAM_H
#define ALLOT_TIMING_DRAM_H

#include "machine/machine.h"
#include "stats/stats.h"
#include "timing/policy/dram/dram_policy.h"
#include "timing/mem/packet.h"

enum dram_command { DRAM_ACTIVATE, DRAM_PRECHARGE, DRAM_READ, DRAM_WRITE, DRAM_REFRESH };

struct dram;

/* stats: where the channel counts. NULL and a diagnostic if the policy is unknown. */
struct dram *dram_new(struct arena *a, const struct machine *m, struct stat_mem *stats,
                      struct diag_sink *diag);
/* Keeps a request, under a number, until it comes into the queue by dram_push, when that
 * is not full. Room for as many in between: dram_most_accepted. */
uint16_t dram_take(struct dram *d, const struct dram_req *r);
unsigned dram_most_accepted(const struct machine *m);
const struct dram_req *dram_accepted(const struct dram *d, uint16_t i);
bool dram_full(const struct dram *d);
void dram_push(struct dram *d, uint16_t i, uint64_t now);
void dram_tick(struct dram *d, uint64_t now);
bool dram_returns(const struct dram *d); /* it has something for: */
const struct dram_req *dram_return_front(const struct dram *d); /* NULL: none */
void dram_return_pop(struct dram *d);

/* First tick > now in which dram_tick would do anything, unless a request comes or the
 * return queue is popped first. */
uint64_t dram_next(const struct dram *d, uint64_t now);
unsigned dram_pending(const struct dram *d); /* requests in the channel, wherever */
unsigned dram_bursts(const struct dram *d);  /* column commands still to be issued */
/* Counters that grow with time (queue occupancy, refreshes) brought up to tick now. */
void dram_settle(struct dram *d, uint64_t now);
void dram_explain(const struct dram *d, struct strbuf *out);

/* Every command as it is issued (tests, traces). */
void dram_watch(struct dram *d,
                void (*f)(void *user, uint64_t now, enum dram_command c, unsigned bank,
                          uint64_t row),
                void *user);

#endif
