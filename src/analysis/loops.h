/* loops.h: natural loops of a function, and how often they run where that can be seen. */
#ifndef ALLOT_ANALYSIS_LOOPS_H
#define ALLOT_ANALYSIS_LOOPS_H

#include "analysis/cfg.h"

struct loop {
    uint32_t header;
    uint64_t *blocks; /* bit set over the blocks: header, and all that reach a back edge
                       * to it without passing through it */
    uint32_t *list;   /* the same, ascending */
    uint32_t n;
    uint64_t trips; /* how often the body runs; 0: not a constant */
    uint64_t tests; /* how often the block runs whose end leaves it; 0: not a constant */
};

struct loops {
    const struct cfg *cfg;
    struct loop *loop;
    uint32_t n;
    uint32_t *innermost; /* of each block: the smallest loop around it; n: none */
    struct arena mem;
};

/* Back edges are those to a dominator; loops of one header are one. The trip count is
 * found for loops left by a comparison of constants and registers that the loop steps by
 * constants (moves, additions, shifts, multiplications): it is counted out, up to 65536.
 * Cost: the instructions, the blocks of each loop, the trips counted, and a bit for each
 * loop and block. Free with loops_free; g must outlive it. */
struct loops *loops_new(const struct cfg *g);
void loops_free(struct loops *l);

/* How often each of the g->n blocks runs when its function runs once: the product of the
 * trips of the loops around it, `unknown` standing for those that are not constant;
 * saturates at 2^40. out: g->n numbers. */
void loops_weights(const struct loops *l, uint64_t unknown, uint64_t *out);

#endif
