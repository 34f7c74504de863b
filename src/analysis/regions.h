/* regions.h: the parts of a kernel in which a block's scratchpad holds something, so that
 * blocks can take turns with one block's scratchpad (003 section 4.1).
 *
 * A region is the code from the first write to the last read of what was written, over
 * all threads of the block. Its ends stand where every thread of a block passes equally
 * often, or of the whole grid: blocks that wait for each other at the ends need that. */
#ifndef ALLOT_ANALYSIS_REGIONS_H
#define ALLOT_ANALYSIS_REGIONS_H

#include "analysis/cfg.h"
#include "analysis/scratchpad.h"
#include "analysis/uniform.h"
#include "base/str.h"

/* The bytes that an instruction touches, in all threads of a block together, where that
 * is known better than by the variable: bit sets over the scratchpad's bytes. */
struct region_bytes {
    const uint64_t *may;  /* touched; NULL: every byte of the variables */
    const uint64_t *must; /* written by the block whenever it runs this; NULL: none */
    const uint64_t
        *dead; /* of the last instruction of a block of the flow graph: what all
                           * ways from here write again before it is read; NULL: none */
};

/* How many bytes of scratchpad such sets are over: variables, padding, extern arrays. */
uint64_t regions_cells(const struct scratch_use *use, uint64_t dynamic);

/* A place where a block takes the scratchpad, or gives it up again. */
struct region_point {
    uint32_t at;    /* before this instruction; after the labels that lead there */
    uint32_t block; /* of the flow graph, in which it stands */
    bool take;
};

struct region {
    uint32_t from, to; /* lines of its first and last access */
    scratch_set vars;
    uint64_t low, high; /* bytes [low, high) that it touches */
};

struct regions {
    VEC(struct region_point) point; /* in the order of the body */
    VEC(struct region) region;      /* parts of the body, by the order of their lines */
    uint64_t inside, all; /* instructions, weighted by how often loops run (of an unknown
                           * number of turns: 10) */
    bool *open;    /* of each block of the flow graph: a region goes on at its start */
    char *why;     /* NULL, or why no such places are; points and regions are void */
    uint32_t line; /* where */
    struct arena mem;
};

/* g: the kernel's. places: whose threads pass an end of a region equally often, those of
 * the grid or of a block. bytes: per instruction of the body, or NULL. dynamic: bytes of extern
 * arrays, 0: not known, one part. Regions of one straight part of code with at most
 * `gap` instructions between them become one.
 *
 * Per byte of scratchpad: data is there where a write may have come before and a read may
 * come after without a write of all threads in between. What is so for some threads counts
 * for all (they are distinguished by branches alone, and a race within the block is an error
 * of the kernel). Refused: calls; a part of the kernel that only some blocks or threads
 * run and that cannot be enclosed, as they leave the kernel in it; barriers that not all
 * threads reach; loops that wait for what another block writes. Cost: sweeps over the
 * bytes at each block of the flow graph. Free with regions_free. */
struct regions *regions_new(const struct cfg *g, const struct scratch_use *use,
                            enum uniform_level places, const struct region_bytes *bytes,
                            uint64_t dynamic, unsigned gap);
void regions_free(struct regions *r);

#endif
