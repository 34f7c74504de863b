/* replacement.h: what a replacement policy of a cache is. Each stands in a file of this
 * folder and has a row in registry.def; nothing else changes when one is added.
 *
 * A set keeps its ways in an order. The line at the last place whose way is not reserved
 * by a miss is replaced next; empty ways are taken first. A policy says at which place a
 * line enters, and to which it moves when it is accessed; the others keep their order. */
#ifndef ALLOT_TIMING_REPLACEMENT_H
#define ALLOT_TIMING_REPLACEMENT_H

#include <stddef.h>
#include <stdint.h>

struct replacement_policy {
    const char *name, *meaning; /* the value of l2.replacement, l1d.replacement ... */
    /* Both return a place, 0 .. ways - 1. state: the policy's own, a word per cache, 0
     * when the cache is made. */
    unsigned (*filled)(unsigned ways, uint64_t *state); /* of a new line */
    /* Of a line at `place`, above 0, that is read or written: what is at place 0 stays.
     * NULL: accesses move nothing. */
    unsigned (*accessed)(unsigned place, unsigned ways, uint64_t *state);
};

const struct replacement_policy *replacement_find(const char *name); /* NULL: unknown */
const struct replacement_policy *replacement_at(size_t i); /* NULL: past the last */

#endif
