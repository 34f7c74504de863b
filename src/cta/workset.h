/* workset.h: working sets of a launch's blocks: the distinct cache lines of global memory
 * that each of them touches (004 Definition 1), by array and in all, and what blocks have in
 * common. An observer of functional execution (exec/observer.h); exact. */
#ifndef ALLOT_CTA_WORKSET_H
#define ALLOT_CTA_WORKSET_H

#include "exec/exec.h"

struct workset;

/* Of a launch of so many blocks; line: bytes, a power of two. */
struct workset *workset_new(uint64_t blocks, uint32_t line, const struct dev_mem *mem);
void workset_free(struct workset *w); /* or NULL */

/* Takes down the accesses of the launch, while exec_run_grid executes it. */
void workset_watch(struct workset *w, struct exec_grid *g);
/* After the last access. Before it there are no figures. */
void workset_finish(struct workset *w);

/* An allocation that blocks touch. */
struct workset_array {
    uint64_t addr, bytes;
    uint64_t lines;    /* summed over blocks */
    uint64_t distinct; /* touched by any block */
};

uint32_t workset_line(const struct workset *w); /* bytes */
uint64_t workset_blocks(const struct workset *w);
const uint64_t *workset_sizes(const struct workset *w); /* lines, by block */
uint64_t workset_sum(const struct workset *w);          /* of the sizes */
uint64_t workset_distinct(const struct workset *w);     /* lines touched by any block */
size_t workset_arrays(const struct workset *w);         /* in order of their address */
struct workset_array workset_array_at(const struct workset *w, size_t i);

/* Lines that two blocks have in common. O(their sizes). */
uint64_t workset_common(const struct workset *w, uint64_t a, uint64_t b);
/* Distinct lines of n blocks together. O(their sizes). */
uint64_t workset_union(const struct workset *w, const uint32_t *blocks, size_t n);
/* The same as cta_problem.together: user is the workset. */
uint64_t workset_together(void *user, const uint32_t *blocks, size_t n);

#endif
