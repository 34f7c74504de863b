/* access_range.h: between which points of a function a set of scratchpad variables is in
 * use (000 section 6.1, definitions 6.1 and 6.2), and where the shared part of the
 * scratchpad can be given up (section 6.3). */
#ifndef ALLOT_ANALYSIS_ACCESS_RANGE_H
#define ALLOT_ANALYSIS_ACCESS_RANGE_H

#include "analysis/cfg.h"
#include "analysis/scratchpad.h"

/* The four data-flow problems, all variables at the same time: bit v of pre_in[b] is
 * PreIN(v, b), and so on. Blocks that the entry does not reach have nothing before them.
 */
struct access_range {
    const struct cfg *cfg;
    const scratch_set *touch; /* per instruction */
    scratch_set *pre_in, *pre_out, *post_in, *post_out;
    struct arena mem;
};

/* `touch` as in scratch_func.touch, of g's function; both must outlive the result. Cost:
 * O(blocks x loop nesting). Free with access_range_free. */
struct access_range *access_range_new(const struct cfg *g, const scratch_set *touch);
void access_range_free(struct access_range *a);

/* AccIN(s, b) and AccOUT(s, b): is the point before / after block b in the access range
 * of the set? */
static inline bool
access_in(const struct access_range *a, uint32_t b, scratch_set s)
{
    return a->pre_in[b] & s && a->post_in[b] & s;
}

static inline bool
access_out(const struct access_range *a, uint32_t b, scratch_set s)
{
    return a->pre_out[b] & s && a->post_out[b] & s;
}

/* Instructions within the access range of s, from the first access to the last, along
 * the path through the function on which they are most; `weight` (per block,
 * loops_weights) says how often each runs. Back edges are left out. */
uint64_t access_length(const struct access_range *a, scratch_set s,
                       const uint64_t *weight);

/* -- where to release -- */

/* A place for relssp. */
struct release_point {
    enum {
        RELEASE_BEFORE,  /* before instruction `inst` */
        RELEASE_GUARDED, /* the same, under its guard: it leaves the kernel */
        RELEASE_EDGE     /* on the edge from block `from` to block `to`: split it */
    } kind;
    uint32_t inst;
    uint32_t from, to;
};

struct release_plan {
    VEC(struct release_point) point;
};

enum release_mode { RELEASE_OPTIMAL, RELEASE_POSTDOM, RELEASE_AT_EXIT };

/* Where each thread gives up set s, so that it does so exactly once on every path that
 * ends, after its last access.
 *
 * OPTIMAL, section 6.3: SafeIN/SafeOUT backward, INS_IN and INS_OUT, as early as that
 * allows: right after a block's last access, or where paths with and without further
 * accesses part; critical edges that receive a point are given as RELEASE_EDGE. (A point
 * before INS_IN of a block with several predecessors lies on its edges, where only
 * some of them need it.) POSTDOM: at the nearest common post-dominator of all blocks with
 * an access that every thread passes exactly once; at the exits if there is none.
 * AT_EXIT: before every exit of the kernel.
 *
 * Nothing if s is not accessed at all. Free with release_plan_free. */
void release_plan(const struct access_range *a, scratch_set s, enum release_mode mode,
                  struct release_plan *out);
void release_plan_free(struct release_plan *p);

#endif
