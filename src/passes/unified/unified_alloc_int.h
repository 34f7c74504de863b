/* unified_alloc_int.h: between the files of the unified on-chip allocation (002).
 *
 *   unified_alloc.c   the pass: registers, what is free of the scratchpad, fallbacks
 *   unified_slots.c   one kernel's spilled values into slots: variables, code, check
 *   unified_search.c  registers=auto: how many blocks an SM should hold */
#ifndef ALLOT_PASSES_UNIFIED_ALLOC_INT_H
#define ALLOT_PASSES_UNIFIED_ALLOC_INT_H

#include "analysis/slots.h"
#include "passes/regalloc/register_allocate_int.h"

/* A function of the kernel at hand. */
struct us_func {
    struct ptx_func *f;
    struct ptx_var *local; /* its spilled values, NULL: none that may move to slots. Its
                            * register number f->registers is then the base, and the one
                            * after it (where it calls) the mover */
    bool calls;
    /* results */
    uint32_t to_slots, to_local; /* spilled values, by where they are now */
};

/* The block that code is made for. */
struct us_block {
    uint32_t threads; /* the most */
    uint32_t dim[3];  /* 0: not known */
    uint32_t stride;  /* bytes of a slot: whole warps' words */
    enum slots_rule prune;
};

struct us_result {
    uint32_t slots; /* a thread, with those of the deepest chain of calls */
    uint64_t bytes; /* of scratchpad, a block */
    uint32_t moves; /* of the stack, at calls */
};

/* Whether kernel fn[0] and its callees, the other n - 1, call each other recursively. */
bool us_recursive(const struct us_func *fn, size_t n);

/* Puts spilled values of kernel fn[0] and its callees into at most `limit` slots of a new
 * scratchpad variable, and has the result checked. False and a diagnostic: it is wrong. */
bool us_place(struct us_func *fn, size_t n, const struct us_block *block, uint32_t limit,
              struct us_result *out, struct diag_sink *diag);

/* -- registers=auto -- */

/* Instructions of allocated code, each once. */
struct us_count {
    uint64_t compute, offchip;
    uint64_t cycles; /* that a warp alone takes to issue them, loads not waited for */
};

/* Adds those of f. latency: cycles of each class of latencies.def. */
void us_count(const struct ptx_func *f, const uint32_t *latency, struct us_count *c);

/* Cycles between two adjacent instructions, on average. */
double us_interval(const struct us_count *c);

/* A number of blocks of an SM, and the kernel allocated for it. */
struct us_level {
    uint32_t blocks;
    uint32_t limit; /* registers that leave that many */
    bool fits;      /* the kernel can do with so few; else what follows is void */
    uint32_t registers, to_slots, to_local; /* registers; spilled values, by home */
    struct us_count count;
};

struct us_search {
    const struct us_level *level; /* n, of ascending blocks, one more each; [0]: with the
                                   * registers that the kernel wants */
    uint32_t n;
    uint32_t block_threads, cores; /* cores: lanes of an SM that start a cycle */
    double interval;               /* cycles between two instructions of a warp */
    double most_ratio;             /* MAX_cmratio */
    bool ratio_given;              /* by the user */
    bool least_fit;                /* never below SmemFitTnum */
    uint64_t own_memory;           /* off-chip instructions that CI_pred leaves out */
};

/* Figure 5: the number of the level to take; says each step in b (NULL: not wanted). */
uint32_t us_search(const struct us_search *s, struct strbuf *b);

#endif
