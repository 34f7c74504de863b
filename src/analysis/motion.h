/* motion.h: how instructions may move over each other, as far as memory and side effects go. Their
 * registers are the caller's (analysis/defuse.h). */
#ifndef ALLOT_ANALYSIS_MOTION_H
#define ALLOT_ANALYSIS_MOTION_H

#include "ptx/ir.h"

enum motion {
    MOTION_FREE,   /* with its registers */
    MOTION_LOAD,   /* not over a store that may touch its bytes */
    MOTION_STORE,  /* not over an access that may touch its bytes */
    MOTION_ACCESS, /* not over any access */
    MOTION_FIXED   /* not at all, and nothing over it */
};

enum motion motion_of(const struct ptx_func *f, const struct ptx_inst *in);

/* Whether the load may not go over the instruction: a store to its space, or what keeps accesses. */
bool motion_stops_load(const struct ptx_func *f, const struct ptx_inst *load,
                       const struct ptx_inst *in);

/* Its first operand that is an address; NULL: it has none. */
const struct ptx_operand *motion_address(const struct ptx_inst *in);

/* An access to memory. base_at: number of the write that its address' register holds; two
 * accesses with one register and one number have the same base. */
struct motion_access {
    const struct ptx_inst *in;
    enum motion motion;
    uint32_t base_at;
};

/* May the two touch the same bytes? One of them may be an asynchronous copy or its commit. */
bool motion_may_overlap(struct motion_access x, struct motion_access y);

#endif
