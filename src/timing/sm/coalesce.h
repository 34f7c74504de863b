/* coalesce.h: from the addresses of a warp's lanes to the few accesses the hardware
 * makes, and the degree of scratchpad bank conflicts. Pure functions of addresses and
 * rules. */
#ifndef ALLOT_TIMING_COALESCE_H
#define ALLOT_TIMING_COALESCE_H

#include "machine/machine.h"

/* Accesses one instruction can make: 8 words of local memory in 32 lanes, each in a
 * sector of its own. */
enum { COAL_MAX = 256 };

/* The path an access takes through the SM. */
enum coal_route { COAL_L1D, COAL_BYPASS, COAL_CONST, COAL_TEXTURE };

struct coal_access {
    uint64_t addr;   /* first byte of the (reduced) segment */
    uint32_t words;  /* 4-byte words of the 128-byte line at addr & ~127 touched whole */
    uint16_t bytes;  /* of the segment */
    uint8_t sectors; /* 32-byte sectors of that line that are touched */
    uint8_t route;   /* enum coal_route */
};

struct coal_rules {
    uint32_t segment; /* granule of wide accesses (memory.segment, at most the L1 line) */
    uint32_t const_line;        /* line of the constant cache */
    uint32_t texture_line;      /* ... of the texture cache */
    uint32_t banks, bank_bytes; /* scratchpad */
    bool first_word;            /* scratchpad.wide = first-word */
    bool atomic_conflicts;
    bool combine_atomics;
    uint32_t atomic_segment; /* 32, 64 or 128 */
};
void coal_rules(struct coal_rules *r, const struct machine *m);

/* Accesses of the lanes in `mask` (addr[lane], `bytes` each) to global memory; by_sector:
 * one access per touched sector instead of per segment. Returns how many were written to
 * out. */
unsigned coal_global(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
                     unsigned bytes, bool by_sector, struct coal_access out[COAL_MAX]);
/* Texture reads: n touched sectors, each once, to the same accesses as coal_global's of
 * wide elements. */
unsigned coal_sectors(const struct coal_rules *r, const uint64_t *sector, unsigned n,
                      bool by_sector, struct coal_access out[COAL_MAX]);
/* The same for a texture cache: one access per distinct line of it. */
unsigned coal_texture(const struct coal_rules *r, const uint64_t *sector, unsigned n,
                      struct coal_access out[COAL_MAX]);
/* Atomics: a segment of atomic_segment bytes each, reduced as a load's; lanes on one word make
 * one request each (combine_atomics: one). */
unsigned coal_atomic(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
                     unsigned bytes, struct coal_access out[COAL_MAX]);
/* Constant and parameter memory: one access per distinct line of the constant cache. */
unsigned coal_const(const struct coal_rules *r, const uint64_t addr[32], uint32_t mask,
                    unsigned bytes, struct coal_access out[COAL_MAX]);
/* Local memory. offset[lane]: in the thread's local memory. Word w of thread t lies at
 * base + 4 * (w * stride + first + lane): consecutive threads' same word are neighbours.
 * stride: threads of the GPU; first: number of the warp's lane 0. */
unsigned coal_local(const struct coal_rules *r, const uint64_t offset[32], uint32_t mask,
                    unsigned bytes, bool by_sector, uint64_t base, uint64_t stride,
                    uint64_t first, struct coal_access out[COAL_MAX]);

/* Cycles the scratchpad's banks need for the access, at least 1. */
unsigned coal_conflicts(const struct coal_rules *r, const uint64_t addr[32],
                        uint32_t mask, unsigned bytes, bool atomic);

#endif
