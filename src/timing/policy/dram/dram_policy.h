/* dram_policy.h: what a DRAM request scheduler is. Each stands in a file of this folder
 * and has a row in registry.def; nothing else changes when one is added. */
#ifndef ALLOT_TIMING_DRAM_POLICY_H
#define ALLOT_TIMING_DRAM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dram_req {
    uint64_t row;
    uint64_t local; /* address inside the slice, for the way back */
    uint32_t token; /* the caller's */
    uint16_t bank;
    uint8_t bursts;  /* column commands it needs */
    uint8_t sectors; /* of the L2 line, for the way back */
    uint8_t slice;   /* of the channel */
    bool write;
    bool answered; /* it comes back through the return queue when done */
};

/* A request in the controller's queue, as a policy sees it: half a host cache line. */
struct dram_entry {
    _Alignas(32) uint64_t row;
    uint64_t arrived; /* tick */
    uint64_t order;   /* of arrival */
    /* In the bank's list; DRAM_NONE: the last, the first. */
    uint16_t next, before;
    uint8_t bursts; /* still to come */
    bool write, answered;
};
enum { DRAM_NONE = 0xffff };

struct dram_view {
    const struct dram_entry *entry;
    const uint16_t *first; /* by bank: oldest request waiting for it, DRAM_NONE: none */
    unsigned banks;
    uint64_t now;
    uint32_t age_limit; /* dram.age_limit */
};

struct dram_policy {
    const char *name, *meaning; /* the value of dram.scheduler */
    /* The bank has nothing to do and requests wait for it. Index of the one it does next,
     * or DRAM_NONE (none now; asked again whenever a request comes or leaves). open: its
     * row buffer holds `row`. */
    uint16_t (*pick)(const struct dram_view *v, unsigned bank, bool open, uint64_t row);
};
const struct dram_policy *dram_policy_find(const char *name); /* NULL: unknown */
const struct dram_policy *dram_policy_at(size_t i);           /* NULL: past the last */

#endif
