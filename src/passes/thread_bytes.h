/* thread_bytes.h: which bytes of scratchpad each instruction touches, all threads of a
 * block together, and where bytes are written anew (what analysis/regions.h asks for).
 * Private to src/passes. */
#ifndef ALLOT_PASSES_THREAD_BYTES_H
#define ALLOT_PASSES_THREAD_BYTES_H

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

#endif
