/* region_shrink.h: scratchpad access regions of a kernel in a launch, and code that moves out
 * of them. Private to src/passes. */
#ifndef ALLOT_PASSES_REGION_SHRINK_H
#define ALLOT_PASSES_REGION_SHRINK_H

#include "passes/thread_bytes.h"

/* What part of the scratchpad an access goes to: below byte `own`, or the rest; none: it is
 * no access. */
enum region_part { PART_OWN, PART_REST, PART_BOTH, PART_NONE };

/* What is known of the code; void once it changes. */
struct region_facts {
    struct cfg *cfg;
    struct scratch_use *use;
    struct thread_bytes *bytes; /* NULL: the size of a block is not known */
    struct regions *regions;
    uint8_t *part; /* enum region_part of each access, where `own` is set */
    unsigned gap;
    enum uniform_level places; /* where ends of regions may stand */
    uint64_t cells;            /* bytes of a block, as in analysis/regions.h */
    uint64_t own; /* bytes that each block has for itself: no region is theirs */
};

enum region_part region_part(const struct region_facts *x, uint32_t i, uint64_t own);

/* Setting `gap`. auto: two ends of regions cost `ends` instructions, the barriers that they
 * are made of; with no more than that in between, going on is cheaper. */
#define REGION_GAP                                                                            \
    "regions with at most that many instructions in between are one; auto: as many as their " \
    "ends would add"
bool region_gap(const struct pass_args *a, unsigned ends, unsigned *gap,
                struct diag_sink *diag);

/* gap, x->own and x->places are the caller's. */
void region_facts_find(struct region_facts *x, const struct ptx_func *f,
                       const struct pass_launch *l, unsigned gap);
void region_facts_drop(struct region_facts *x);
/* The regions that there are if each block has `own` bytes for itself; x (own 0) stays as it
 * is. Free with regions_free. */
struct regions *region_facts_divided(struct region_facts *x, const struct ptx_func *f,
                                     const struct pass_launch *l, uint64_t own);

/* Bytes of scratchpad that a block of the launch has, used or not. */
uint64_t region_block_bytes(const struct region_facts *x, const struct pass_launch *l);

enum { SHRINK_BEFORE, SHRINK_AFTER };

/* Reorders f's body within the blocks of its flow graph so that what need not be within
 * regions stands before or after them; finds the facts again. `merge` blocks will be one:
 * a thread gets as many registers as cost no block of an SM then. Adds the instructions
 * that moved to moved[SHRINK_BEFORE] and moved[SHRINK_AFTER]. */
void region_shrink(struct ptx_func *f, struct region_facts *x,
                   const struct pass_launch *l, unsigned merge, unsigned moved[2]);

#endif
