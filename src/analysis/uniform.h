/* uniform.h: which registers hold one value in all threads of a grid or block, and which
 * code all of them run equally often. */
#ifndef ALLOT_ANALYSIS_UNIFORM_H
#define ALLOT_ANALYSIS_UNIFORM_H

#include "analysis/cfg.h"

enum uniform_level {
    UNIFORM_GRID,  /* the same in all threads of the launch */
    UNIFORM_BLOCK, /* the same in all threads of a block */
    UNIFORM_NOT    /* threads of a block may differ */
};

struct uniform {
    uint8_t *reg;    /* enum uniform_level, of each register's values */
    uint8_t *block;  /* of each block of the flow graph: how often threads run it */
    uint32_t *cause; /* of each block that is not UNIFORM_GRID: the branch (instruction)
                      * to which it owes its level */
    struct arena mem;
};

/* Without regard to order: a register has the level of the worst of its definitions. A
 * block has the level of the worst branch between which and whose post-dominator it
 * stands; where no post-dominator is (threads leave the kernel), everything after the
 * branch. A definition is no better than its block, so that neither what depends on the
 * way taken nor what a loop leaves after a differing number of turns counts as uniform.
 *
 * A load from .shared or .global through a uniform address is UNIFORM_BLOCK: kernels that
 * do not race within a block read one value there. Cost: a few sweeps over the body and,
 * for each branch that is not uniform, a walk over the blocks after it. */
struct uniform *uniform_new(const struct cfg *g);
void uniform_free(struct uniform *u);

/* The member mask of an instruction between lanes of a warp; NULL: it has none. */
const struct ptx_operand *uniform_members(const struct ptx_inst *in);

/* Whether what `in` writes is the same in all lanes of a warp that are at it. differ: whether registers
 * that it reads may differ between them; masks_differ: whether its member mask is one. */
bool uniform_of_lanes(const struct ptx_func *f, const struct ptx_inst *in, bool differ,
                      bool masks_differ);

/* Bitset of the function's instructions: of each block where lanes of a warp may have diverged, the
 * first and the last that exchange something between lanes (shfl, vote, match, redux, bar.warp).
 * Lanes may have diverged between a branch on which they may differ and where its ways meet. ptxas
 * branches there (BRA.DIV, BRA.CONV; CUDA 13.0), to bring the lanes together. As it does, what
 * vote and shfl.idx deliver to lanes with one member mask counts as the same, what bar.red delivers does not, and
 * lanes that have left the kernel are not missed. NULL: there are none. Cost: as uniform_new,
 * where the function has such instructions. */
uint64_t *uniform_diverged(const struct cfg *g, struct arena *mem);

#endif
