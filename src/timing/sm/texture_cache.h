/* texture_cache.h: an SM's texture cache: tags, and the FIFOs that bring results out in
 * the order of their accesses. Igehy, Eldridge, Proudfoot: Prefetching in a Texture Cache
 * Architecture (1998), as GPGPU-Sim has it. Time and the queue of requests to the next
 * level are the caller's.
 *
 *            tags ----------> fragment FIFO ----------> results -> write-back
 *              | a miss                 ^ the oldest goes on when its data are there
 *              v                        |
 *     requests -> next level -> reorder buffer
 *
 * An access looks up its tag once. A miss makes its line present at once, though the data
 * are on their way: later accesses to the line hit and wait in the FIFO behind the miss.
 * So nobody merges, no line is ever reserved, and a hit comes out behind every miss that
 * is older than it. */
#ifndef ALLOT_TIMING_TEXTURE_CACHE_H
#define ALLOT_TIMING_TEXTURE_CACHE_H

#include "base/arena.h"
#include "machine/machine.h"

enum texcache_result {
    TEXCACHE_HIT,
    TEXCACHE_MISS, /* the caller asks for the line, with *entry */
    TEXCACHE_FULL, /* a FIFO or the reorder buffer is full: retry */
};

struct texcache;

/* All memory is taken from `a`. */
struct texcache *texcache_new(struct arena *a, const struct machine *m);
/* An access of operation `op` to the line at addr. room: the caller's queue takes a
 * request (without room a hit is refused too). *entry, of a miss: what texcache_fill
 * wants with the data. FULL changes nothing. */
enum texcache_result texcache_access(struct texcache *c, uint64_t addr, uint16_t op,
                                     uint64_t now, bool room, uint32_t *entry);
/* Sectors (bit s = bytes [32 s, 32 s + 32) of the line) of a miss have come. */
void texcache_fill(struct texcache *c, uint32_t entry, uint8_t sectors);
/* Can texcache_step do anything? */
bool texcache_can_step(const struct texcache *c);
/* A cycle: the oldest fragment goes to the results, if its data are there. */
void texcache_step(struct texcache *c);
unsigned texcache_results(const struct texcache *c); /* waiting for write-back */
uint16_t texcache_take(struct texcache *c);          /* the oldest of them: its op */
unsigned texcache_pending(const struct texcache *c); /* misses outstanding */
void texcache_flush(struct texcache *c);             /* every line; nothing outstanding */

#endif
