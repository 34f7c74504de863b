/* slots.h: which variables go to scratchpad, and into which slots (002 section 3.2).
 *
 * A slot is a 4-byte word of each thread. What is given are procedures, with what is live
 * after each instruction; what comes out is a home for each variable. */
#ifndef ALLOT_ANALYSIS_SLOTS_H
#define ALLOT_ANALYSIS_SLOTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { SLOTS_NONE = -1, SLOTS_WORDS = 2 };

/* An instruction. */
struct slots_point {
    const uint64_t *live; /* bit set of the variables live on its exit */
    int32_t callee;       /* procedure that it calls, SLOTS_NONE: none */
};

struct slots_proc {
    uint32_t nvars, npoints;
    const uint8_t *words; /* of each variable: slots that it takes, 1 to SLOTS_WORDS */
    const struct slots_point *point;
};

/* Which of the variables over the limit leave first; see slots.c. */
enum slots_rule { SLOTS_LEAST_FREQUENT, SLOTS_MOST_FREQUENT };

struct slots_home {
    /* of each variable: its SLOTS_WORDS slots, not always adjacent; SLOTS_NONE in the
     * first: local memory. From the procedure's own first slot. */
    int32_t (*slot)[SLOTS_WORDS];
    uint32_t nslots;   /* in use */
    uint32_t max_live; /* of what stays in scratchpad, callees included */
};

struct slots {
    struct slots_home *of; /* of each procedure */
    uint32_t pruned;       /* variables that steps 1 to 3 sent to local memory */
    uint32_t uncoloured;   /* those for which the colouring found no slot */
};

/* Homes for the variables of procedure 0, the kernel, and all that it calls, in `limit`
 * slots. False: the calls are recursive, so that no limit can be kept. Procedures that are
 * not called keep SLOTS_NONE. Time: O(instructions * limit on live words), and
 * O(variables^2) per procedure. */
bool slots_assign(const struct slots_proc *proc, uint32_t nprocs, uint32_t limit,
                  enum slots_rule rule, struct arena *mem, struct slots *out);

/* How a callee's slots lie to its caller's (Figure 3). */
enum slots_stack {
    SLOTS_TRADITIONAL,    /* after all of the caller's */
    SLOTS_REGISTER_STACK, /* after the last one live at the call */
    SLOTS_MOVING_STACK    /* after the live ones, which are made contiguous first */
};

/* Slots that the kernel and its calls need. */
uint32_t slots_height(const struct slots_proc *proc, uint32_t nprocs,
                      const struct slots *s, enum slots_stack stack);

/* One move of the moving stack: slot `from` to slot `to`. */
struct slots_move {
    int32_t from, to;
};

/* The moves before the call at `point`: afterwards the live slots are the first ones. No
 * move overwrites a live slot. Returns their number; move[] has room for nslots. The
 * callee starts at *height. The way back is the same moves reversed. */
uint32_t slots_shuffle(const struct slots_proc *proc, const struct slots_home *h,
                       const struct slots_point *point, struct slots_move *move,
                       uint32_t *height);

#endif
