/* peel.h: one loop whose turns become straight code (peel_loops.c), between the choice of it
 * and the copies (peel_copies.c). Private to src/passes. */
#ifndef ALLOT_PASSES_PEEL_H
#define ALLOT_PASSES_PEEL_H

#include "analysis/live.h"
#include "analysis/loops.h"

struct peel {
    struct ptx_func *f;
    const struct cfg *g;
    const struct loop *l;
    uint32_t before, latch, after; /* blocks: the one way in, the way back, behind it */
    uint64_t turns;                /* that are peeled */
    enum { LEFT_NONE, LEFT_GUARDED, LEFT_LOOP } left;
    uint32_t *order, n; /* the loop's blocks, each behind those that lead to it */
    /* Of each register, within a copy: its name where the definition of this turn reaches,
     * and elsewhere; block of that definition, -1: it keeps its name. */
    int32_t *now, *was, *home;
    uint64_t *given;    /* registers whose definition of this turn has been copied */
    int32_t *label_of;  /* of each block of the flow graph: label in this copy */
    int32_t *old_label; /* of header and the block behind: where they stand */
    VEC(struct ptx_inst) to;
    struct arena mem;
};

/* Whether block v is in the loop. */
static inline bool
peel_has(const struct peel *p, int32_t v)
{
    return v >= 0 && bitset_has(p->l->blocks, (size_t)v);
}

/* Which registers get new names in each copy. */
void peel_find_names(struct peel *p, const struct live *live, const struct loops *all);

/* Puts the copies behind the block before the loop, and takes the loop away unless some of it
 * is left. The flow graph is void then. */
void peel_rebuild(struct peel *p);

#endif
