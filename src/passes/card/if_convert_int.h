/* if_convert_int.h: between the files of pass if-convert.
 *
 *   if_convert.c        the pass: arms, what takes a guard, rounds
 *   if_convert_worth.c  whether guards are worth it, as ptxas sees it */
#ifndef ALLOT_PASSES_IF_CONVERT_INT_H
#define ALLOT_PASSES_IF_CONVERT_INT_H

#include "analysis/live.h"
#include "base/arena.h"

/* What follows a branch: one or two arms, and where they meet. */
struct diamond {
    uint32_t head, arm[2], narms; /* blocks; head ends with the branch */
    uint32_t meet;                /* block */
    int32_t guard;
    bool neg;            /* of the guard of the first arm */
    uint32_t operations; /* of the longer arm */
    uint32_t loading;    /* arms with long loads */
    bool lives_on;       /* what an arm writes is read after it, or by the other */
};

/* A round over a function; in an arena. */
struct worth {
    const struct ptx_func *f;
    const struct cfg *g;
    const struct live *live;
    const uint8_t *operations; /* of each instruction */
    const bool *guarded;       /* of each block: an arm that has become guards */
    struct worth_mark *mark;   /* of each register */
    uint32_t seen;
};

struct worth worth_new(struct arena *mem, const struct live *live,
                       const uint8_t *operations, const bool *guarded);
/* A load of the function that takes longer than from scratchpad or of a constant. */
bool worth_is_long_load(const struct worth *w, uint32_t inst);
/* Whether that many operations, none of them a long load, become guards always. */
bool worth_is_short(uint32_t operations);
/* Do guards take a warp less time than the branch? O(instructions of its blocks). */
bool worth_guards(struct worth *w, const struct diamond *d);

#endif
