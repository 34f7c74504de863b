/* cfg.h: control flow of one function: basic blocks, edges, dominators, post-dominators.
 *
 * Pure: a function in, facts out; nothing in the IR changes. The facts are those of the
 * body as it was when cfg_new read it. Block 0 is the entry. The exit is virtual and has
 * no block: exit, ret, trap, and running off the end of the body lead to it. A call is an
 * ordinary instruction inside a block (control comes back after it). */
#ifndef ALLOT_ANALYSIS_CFG_H
#define ALLOT_ANALYSIS_CFG_H

#include "ptx/ir.h"

enum {
    CFG_EXIT = -1, /* the virtual exit, where a block is expected */
    CFG_NONE = -2
}; /* no such block */

struct cfg_block {
    uint32_t first, end; /* instructions body.v[first .. end), pseudo ones included */
    uint32_t nsucc, npred;
    const int32_t *succ; /* blocks, or CFG_EXIT; in the order branch target(s), fall
                          * through; no duplicates */
    const int32_t *pred; /* blocks, ascending */
    int32_t idom;        /* immediate dominator; CFG_NONE: the entry, or unreachable */
    int32_t ipdom;       /* immediate post-dominator, may be CFG_EXIT; CFG_NONE: no path
                          * leads from here to the exit (an endless loop) */
    int32_t rpo;         /* place in reverse post-order, -1: unreachable from the entry */
    /* Numbers in a walk over the tree of dominators (0) and of post-dominators (1): those
     * of the blocks below this one lie within [enter, leave). */
    uint32_t enter[2], leave[2];
};

struct cfg {
    const struct ptx_func *func;
    struct cfg_block *block;
    uint32_t n;         /* blocks */
    uint32_t *block_of; /* of each instruction of the body */
    uint32_t *rpo;      /* the nrpo reachable blocks in reverse post-order */
    uint32_t nrpo;
    uint32_t *label_at; /* of each label: index of its instruction; UINT32_MAX: none */
    struct arena mem;
};

/* The control flow of f, which must have a body. Free with cfg_free. */
struct cfg *cfg_new(const struct ptx_func *f);
void cfg_free(struct cfg *g);

/* a dominates b / a post-dominates b (both reflexive; a may be CFG_EXIT in the latter).
 * False where unreachable blocks make the question void. */
bool cfg_dominates(const struct cfg *g, int32_t a, int32_t b);
/* Whether every cycle is a natural loop: each backward edge goes to a dominator. */
bool cfg_is_reducible(const struct cfg *g);
bool cfg_postdominates(const struct cfg *g, int32_t a, int32_t b);

/* Adds the blocks that come after the end of block v on some way that does not pass block
 * `stop` (negative: any way) to `set`, a bit set over the blocks; v itself if it comes again. */
void cfg_reach(const struct cfg *g, uint32_t v, int32_t stop, uint64_t *set);

/* The conditional bra that ends block v; NULL: it ends otherwise. */
const struct ptx_inst *cfg_condition(const struct cfg *g, uint32_t v);

/* Whether block v does nothing but leave the kernel. */
bool cfg_leaves(const struct cfg *g, uint32_t v);

/* Labels a branch may jump to (bra: one, brx: its list): fills at most `max`, returns how
 * many there are; 0: not a branch. */
uint32_t cfg_targets(const struct ptx_inst *in, int32_t *label, uint32_t max);

/* Immediate dominators of any graph: node v's successors are to[start[v] .. start[v+1]).
 * idom[root] = root; -1 for nodes that root does not reach. O(edges log nodes), and
 * nearly O(edges) in practice. */
void cfg_idoms(uint32_t n, const uint32_t *start, const uint32_t *to, uint32_t root,
               int32_t *idom);

#endif
