/* thread_bytes.h: which bytes of scratchpad each instruction touches, all threads of a
 * block together, and where bytes are written again (what analysis/regions.h asks for).
 * Private to src/passes. */
#ifndef ALLOT_PASSES_THREAD_BYTES_H
#define ALLOT_PASSES_THREAD_BYTES_H

#include "analysis/loops.h"
#include "analysis/regions.h"
#include "passes/pass.h"

struct thread_bytes {
    struct region_bytes *inst; /* of each instruction of the body */
    unsigned exact,
        accesses; /* accesses to scratchpad, and those whose bytes are known */
    struct arena mem;
};

/* NULL: the size of a block is not known, neither from the launch nor from .reqntid. Free
 * with thread_bytes_free. */
struct thread_bytes *thread_bytes_new(const struct cfg *g, const struct scratch_use *use,
                                      const struct pass_launch *l);
void thread_bytes_free(struct thread_bytes *t);

/* Questions to threads of a block, answered by running the address arithmetic of each.
 * NULL as above. g and use must outlive it. */
struct thread_walk;
struct thread_walk *thread_walk_new(const struct cfg *g, const struct scratch_use *use,
                                    const struct pass_launch *l);
void thread_walk_free(struct thread_walk *w);
/* Threads of a block. */
uint32_t thread_walk_threads(const struct thread_walk *w);
/* at[t]: byte of the scratchpad at which access i begins in thread t, whether its guard lets it
 * run or not. False: not known for some thread; at[] is void. */
bool thread_walk_places(struct thread_walk *w, uint32_t i, uint32_t *at);
/* Whether all threads run instruction i under its guard: 1, none does: 0; -1: they differ,
 * or it is not known. */
int thread_walk_guard(struct thread_walk *w, uint32_t i);
/* Iterations of a loop whenever a thread comes to it, the fewest and the most over the threads
 * that do. before: the block from which alone it is entered; latch: from which alone it
 * goes on or ends. False: not known for some thread. */
bool thread_walk_trips(struct thread_walk *w, const struct loop *l, uint32_t latch,
                       uint32_t before, uint64_t *least, uint64_t *most);

#endif
