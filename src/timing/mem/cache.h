/* cache.h: tags and miss-status registers of one cache: L1 data, instruction, constant,
 * and an L2 slice. Time is the caller's; this answers "hit, pending, miss, no room" and
 * keeps lines, sectors, replacement and MSHRs. Terms: PTX-independent, as in Kroft
 * (1981).
 *
 * Sector masks: bit s = bytes [32*s, 32*s+32) of the line, whatever cfg.sector is; a
 * cache without sectors takes any mask for the whole line when it reads. */
#ifndef ALLOT_TIMING_CACHE_H
#define ALLOT_TIMING_CACHE_H

#include "base/arena.h"
#include "machine/machine.h"
#include "timing/mem/packet.h"
#include "timing/policy/replacement/replacement.h"

enum cache_result {
    CACHE_HIT,
    CACHE_HIT_PENDING, /* line or sector is on its way: merged into its MSHR */
    CACHE_MISS,        /* MSHR taken: the caller sends the request */
    CACHE_SECTOR_MISS, /* the line is there, the sector not: likewise */
    CACHE_NO_LINE,     /* every way is reserved: retry */
    CACHE_NO_MSHR,     /* no MSHR or no merge slot: retry */
    CACHE_NO_QUEUE,    /* miss queue full: retry (decided by the caller) */
};

struct cache;
struct cache_config; /* what cache_new takes from a CACHE group of the machine file */

struct cache_eviction { /* dirty data that must be written back */
    bool any;
    uint64_t addr;
    uint8_t dirty_sectors;
    uint64_t
        words; /* 4-byte words of the line that hold data (all, in sectors read whole) */
};

/* CFG is one of the CACHE groups of struct machine. */
#define CACHE_NEW(arena, CFG) cache_new(arena, CACHE_CONFIG(CFG))
#define CACHE_CONFIG(CFG)                                                                \
    (&(struct cache_config){(CFG).sets, (CFG).line, (CFG).ways, (CFG).sector,            \
                            (CFG).mshrs, (CFG).merge, (CFG).hash,                        \
                            replacement_find((CFG).replacement), (CFG).allocate,         \
                            (CFG).write, (CFG).write_allocate, (CFG).perfect})
struct cache_config {
    uint32_t sets, line, ways, sector, mshrs, merge;
    enum machine_cache_hash hash;
    const struct replacement_policy *replacement;
    enum machine_cache_allocate allocate;
    enum machine_cache_write write;
    enum machine_write_allocate write_allocate;
    bool perfect;
};
/* All memory is taken here, from `a`. line: a power of two (32..256; others are rounded
 * up). */
struct cache *cache_new(struct arena *a, const struct cache_config *cfg);

/* A read of `sectors` of the line at addr. On MISS and SECTOR_MISS an MSHR is taken and
 * `token` waits in it; on HIT_PENDING it waits too. room: the caller can send a request.
 * NO_LINE, NO_MSHR and NO_QUEUE change nothing. *ev (may be NULL for read-only caches)
 * says what the new line drove out. */
enum cache_result cache_read(struct cache *c, uint64_t addr, uint8_t sectors,
                             uint32_t token, uint64_t now, bool room,
                             struct cache_eviction *ev);
/* After MISS or SECTOR_MISS, of a read or of a write that fetches: the sectors to ask for
 * (0 after a write: nothing to fetch). */
uint8_t cache_asked(const struct cache *c);

/* The MSHRs' number to give to cache_fill_of when what cache_asked names comes. */
uint32_t cache_asked_of(const struct cache *c);

/* The data of one request came, in any number of pieces: sectors become valid when all of
 * their fetch unit (sector, or whole line) are there; then each waiting token is given to
 * `wake` (in order of arrival). True: something became whole, so that what was refused
 * may be accepted now. */
bool cache_fill(struct cache *c, uint64_t addr, uint8_t sectors, uint64_t now,
                void (*wake)(void *user, uint32_t token), void *user,
                struct cache_eviction *ev);
/* The same for one that asked, without a search for its MSHRs. */
bool cache_fill_of(struct cache *c, uint32_t of, uint8_t sectors,
                   void (*wake)(void *user, uint32_t token), void *user,
                   struct cache_eviction *ev);
/* The same if nothing becomes whole by it; false: it would, nothing is done. */
bool cache_fill_part(struct cache *c, uint32_t of, uint8_t sectors);
/* Prefetches what an access to addr, or cache_fill_of, will need. */
void cache_soon(const struct cache *c, uint64_t addr);
void cache_fill_soon(const struct cache *c, uint64_t addr, uint32_t of);

/* Write access by the cache's policy; see cache.c. full: the sectors are written whole.
 * Nobody waits for a write: HIT, HIT_PENDING, MISS and SECTOR_MISS all mean that the
 * cache has done its part. cache_sends says whether the data must go on to the next
 * level. room: the caller can send a request or write a line back. */
enum cache_result cache_write(struct cache *c, uint64_t addr, uint8_t sectors, bool full,
                              uint64_t now, bool room, struct cache_eviction *ev);
/* The same with the 4-byte words that are written whole (bit per word of the line), so
 * that partial writes that together cover a sector make it readable; local: a write to
 * local memory, which the policy local-back treats as write-back. */
enum cache_result cache_write_words(struct cache *c, uint64_t addr, uint8_t sectors,
                                    uint64_t words, bool local, uint64_t now, bool room,
                                    struct cache_eviction *ev);
bool cache_sends(const struct cache *c); /* the last write must be sent on */

/* From now on the cache has so many ways, at most those it was made with. Only after
 * cache_flush. */
void cache_set_ways(struct cache *c, uint32_t ways);
void cache_invalidate(struct cache *c, uint64_t addr); /* one line */
void cache_flush(struct cache *c);             /* every line, dirty data dropped */
unsigned cache_pending(const struct cache *c); /* MSHRs in use */
/* Set index of an address (for bank selection and tests). */
uint32_t cache_set(const struct cache *c, uint64_t addr);

#endif
