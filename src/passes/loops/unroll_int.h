/* unroll_int.h: one loop between the choice of its copies (unroll.c) and the code
 * (unroll_copies.c). Private to src/passes. */
#ifndef ALLOT_PASSES_UNROLL_INT_H
#define ALLOT_PASSES_UNROLL_INT_H

#include "passes/pass.h"
#include "passes/loops/peel.h"

#include "analysis/uniform.h"

/* Copies of a loop whose iterations are not known, in the new loop. */
enum { UNROLL_UNKNOWN_TRIPS = 4 };
/* Ways out of a loop beside the one at its end. Ours, not ptxas'. */
enum { UNROLL_SIDE = 8 };

/* A value in the loop: that of register `base` at the iteration's start, + off; base -1: another. */
struct unroll_line {
    int32_t base;
    uint64_t off;
};

enum unroll_way { UNROLL_NONE, UNROLL_FULL, UNROLL_PART, UNROLL_UNKNOWN };

struct unroll {
    struct peel p;
    const struct live *live;
    const struct loops *all;
    struct uniform *uniform;    /* NULL: not asked for yet */
    struct defs_writes *writes; /* the same */
    uint64_t *address; /* registers that are addresses, while a loop is measured */
    size_t nregs;      /* before the round */
    uint64_t *traced;  /* registers that differs() has been at */
    uint64_t
        *loaded; /* registers that come from global memory, while a loop is measured */
    /* The loop. */
    uint32_t branch;  /* the instruction that leaves it */
    bool branch_back; /* it goes to the header, and falls through else */
    bool goes_on;     /* on what value of the predicate it does not leave */
    uint32_t next;    /* the block whose code stands after it afterwards */
    uint32_t side[UNROLL_SIDE], nside; /* blocks that other branches leave for */
    int32_t exit; /* label of the block after the loop, -1: that is `next` */
    /* Its registers. */
    struct unroll_line *line; /* of each that the loop writes */
    uint32_t *defined;        /* of each with a line: its definition */
    uint32_t *based, nbased;  /* the bases */
    int32_t *start;           /* of a base: its name at the first iteration of a group */
    uint64_t *known;    /* those that are literals in each iteration of straight code */
    uint64_t iteration; /* of the group that is being copied */
    /* Of each register: definitions in the function, twice under a guard, and the sum of their
     * instructions' numbers. */
    uint32_t *ndefs, at;
    uint64_t *defsum;
    /* UNROLL_UNKNOWN: while `cmp` (enum ptx_mod) holds between x and bound */
    const struct ptx_inst *test;
    struct unroll_line x;
    struct ptx_operand bound;
    unsigned cmp;
    bool never; /* the literal bound is below the steps of the copied iterations */
    uint64_t trips, rest; /* of the new loop, or of all; before it */
    unsigned full, part;  /* loops so far */
};

/* Bytes of an integer register; 0: it holds something else. */
unsigned unroll_bytes(const struct ptx_func *f, int32_t r);
/* v as a signed number of register r's width. */
int64_t unroll_signed(const struct unroll *u, int32_t r, uint64_t v);
/* How far register r steps in an iteration; 0: it is no base. */
int64_t unroll_step(const struct unroll *u, int32_t r);
/* How far x goes in all but the last of `trips` iterations. */
int64_t unroll_reach(const struct unroll *u, unsigned trips);
/* A literal bound less `off`; false: that wraps. */
bool unroll_limit(const struct unroll *u, int64_t off, uint64_t *v);
/* A label of block v, -1: it has none. */
int32_t unroll_label(const struct peel *p, uint32_t v);

/* An iteration of a loop as ptxas counts it. */
struct unroll_size {
    uint64_t
        size; /* operations, accesses to memory and barriers twice, the comparison of the
                       * counter included; without what steps */
    uint64_t
        folded; /* operations that compute literals, or sums for addresses with one */
    uint64_t literal; /* accesses that have a literal for an address in straight code */
    uint64_t scratch; /* loads from scratchpad */
    bool memory;      /* loads from global or local memory */
    /* Bit k: loads from state space k (enum ptx_space); stores to an address there that no
     * iteration changes. */
    unsigned loads, fixed;
    bool barrier, atomic;
    bool stores;        /* to global memory */
    bool stores_in_arm; /* ... in a block that not every iteration runs */
    unsigned
        on_loaded; /* branches on what a load from global memory of the iteration gives */
};

/* Measures loop u->p.l, whose names and lines are found; false: copies would not do the
 * same. */
bool unroll_measure(struct unroll *u, struct unroll_size *x);
/* Whether that many iterations become straight code. */
bool unroll_fits(uint64_t trips, const struct unroll_size *x);
/* Largest size of an iteration where the iterations are not known. */
uint64_t unroll_unknown_size(const struct unroll_size *x);

/* Whether copies of the instruction do the same. */
bool unroll_can_copy(const struct ptx_inst *in);
/* Iterations loops that leave in their middle so that they leave at their end; how many. */
uint32_t unroll_rotate(struct ptx_func *f);

/* Called for each instruction of a copy (peel.h). */
void unroll_edit(void *user, uint32_t i, struct ptx_inst *in);
/* Appends the loop's new code to u->p.to. */
void unroll_put_loop(struct unroll *u, enum unroll_way way);
/* Appends the head of a loop that is left as it is. */
void unroll_put_head(struct peel *p, int32_t label);
/* Appends a block that stood between the loop's. */
void unroll_put_between(struct unroll *u, uint32_t v);

#endif
