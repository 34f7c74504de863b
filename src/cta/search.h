/* search.h: schedules of blocks from the sizes of their working sets: Problems 1 to 3 and
 * Algorithms 1 to 3 of 004 section 5. Pure. */
#ifndef ALLOT_CTA_SEARCH_H
#define ALLOT_CTA_SEARCH_H

#include "cta/pack.h"
#include "timing/policy/schedule.h"

struct cta_problem {
    uint32_t blocks;
    const uint64_t *size;        /* working set of each block, in any unit */
    uint64_t capacity;           /* of the last-level cache, in the same unit; not 0 */
    uint32_t max_tlp;            /* blocks that the GPU holds; not 0 */
    double cps;                  /* cost of a synchronisation, in steps (equation 5) */
    bool static_tlp;             /* Problem 2: one TLP for all steps */
    bool relaxed;                /* Problem 3: a step's largest block does not count */
    const struct packer *packer; /* NULL: the best of those that take the problem */
    /* Size of n blocks together, common lines once: for cta_window. */
    uint64_t (*together)(void *user, const uint32_t *blocks, size_t n);
    void *user;
};

/* Algorithm 3, which is Algorithm 1 with static_tlp off and Algorithm 2 with it on: packs
 * with at most k blocks a step, k falling from the most possible as long as the cost does
 * not rise; steps in the order of rising TLP. A block whose working set exceeds the
 * capacity counts as filling it. Free the result. */
struct cta_schedule *cta_search(const struct cta_problem *p);

/* Blocks of one step as many as `tlp` run at once, in order of their number. */
struct cta_schedule *cta_one_step(uint32_t blocks, uint32_t tlp);
/* The same in an order drawn by the seed: all orders are equally likely. */
struct cta_schedule *cta_random(uint32_t blocks, uint32_t tlp, uint64_t seed);

/* Blocks of one step in order of their number, as many at once as fit the capacity where
 * lines that they have in common count once: the largest number of which windows of
 * consecutive blocks fit on average (a sample of them), at most max_tlp. For blocks that
 * share with those next to them, whose sum says too much. Our own, not in 004. */
struct cta_schedule *cta_window(const struct cta_problem *p);

/* Changes of the TLP from one step to the next (equation 4). */
uint32_t cta_syncs(const struct cta_schedule *s);
/* Steps plus cps times synchronisations (Problem 1). */
double cta_cost(const struct cta_schedule *s, double cps);
/* NULL if each block is there once, no step holds more than its TLP or max_tlp and all keep
 * the constraint on working sets; else what is wrong, in words. */
const char *cta_infeasible(const struct cta_problem *p, const struct cta_schedule *s);

struct cta_schedule *cta_schedule_new(uint32_t blocks, uint32_t steps); /* zeroed */
void cta_schedule_free(struct cta_schedule *s);                         /* or NULL */

#endif
