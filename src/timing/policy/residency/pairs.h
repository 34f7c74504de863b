/* pairs.h: which slots share, and how many (001 sections 2.1 and 2.2), for the policies
 * by which pairs of blocks share something. Private to src/timing/residency.
 *
 * Slots 0..B-1 are those of the baseline; the first U = B-S of them share nothing, as TB0
 * and TB1 of 001 figures 2.3 to 2.6. Slots B..B+S-1 are additional, and additional slot
 * B+i shares with slot B-1-i: these are pair i, the additional slot is its side 1. So the
 * first one shares with the last slot of the baseline, as TB3 with TB2 in figure 2.3. Blocks
 * take the lowest free slot, so additional slots fill last. */
#ifndef ALLOT_TIMING_RESIDENCY_PAIRS_H
#define ALLOT_TIMING_RESIDENCY_PAIRS_H

#include "timing/policy/policy.h"

#include <assert.h>

/* The plan of a policy with pairs. */
struct pairs_plan {
    unsigned blocks;        /* resident blocks M = U + 2S */
    unsigned pairs;         /* S */
    unsigned private_units; /* of the shared resource: below this a location is private */
    unsigned private_bytes; /* of scratchpad, where registers are shared too */
    unsigned warps;         /* of a block */
    bool dynamic;           /* dynamic warp execution */
    bool shares_scratchpad;
    bool progress; /* of warps, is counted: not twice where two things are shared */
};
static_assert(sizeof(struct pairs_plan) <= sizeof(((struct residency_plan *)0)->own),
              "room for it in the residency plan");

static inline struct pairs_plan *
pairs_own(struct residency_plan *p)
{
    return (struct pairs_plan *)(void *)p->own;
}

static inline unsigned
pairs_count(const struct residency_plan *p)
{
    return ((const struct pairs_plan *)(const void *)p->own)->pairs;
}

struct pairs {
    unsigned unshared, baseline; /* U, B */
};

static inline struct pairs
pairs_of(const struct pairs_plan *p)
{
    unsigned baseline = p->blocks - p->pairs;
    return (struct pairs){baseline - p->pairs, baseline};
}

/* Pair of slot s, -1: unshared. */
static inline int
pairs_index(const struct pairs *p, unsigned s)
{
    return s >= p->baseline   ? (int)(s - p->baseline)
           : s >= p->unshared ? (int)(p->baseline - 1 - s)
                              : -1;
}

/* Side of slot s, which is in a pair. */
static inline unsigned
pairs_side(const struct pairs *p, unsigned s)
{
    return s >= p->baseline;
}

/* The slot that shares with slot s, which is in a pair. */
static inline unsigned
pairs_partner(const struct pairs *p, unsigned s)
{
    assert(s >= p->unshared);
    return 2 * p->baseline - 1 - s;
}

/* -- what an SM is told of its slots -- */

/* owner: of the pair of slot s, if it is in one. */
static inline enum warp_class
pairs_class(const struct pairs *p, unsigned s, unsigned owner)
{
    return pairs_index(p, s) < 0 ? WARP_UNSHARED
           : owner == s          ? WARP_OWNER
                                 : WARP_NON_OWNER;
}

/* A policy's answers for slot s: are its instructions asked about; its warps' class. */
struct pairs_answers {
    bool (*asks)(const void *state, unsigned s);
    enum warp_class (*cls)(const void *state, unsigned s);
};

static inline void
pairs_publish(const struct pairs_answers *a, const void *state, struct sm_view *v,
              unsigned s)
{
    v->asks[s] = a->asks(state, s);
    v->cls[s] = (uint8_t)a->cls(state, s);
}

/* Of all slots: classes or locks have changed. */
static inline void
pairs_changed(const struct pairs_answers *a, const void *state, struct sm_view *v,
              unsigned slots)
{
    for (unsigned s = 0; s < slots; s++)
        pairs_publish(a, state, v, s);
    v->changed = true;
}

/* -- plans; `policy` is the policy's name in messages -- */

static inline bool
pairs_threshold(const struct machine *m, const char *policy, struct diag_sink *diag)
{
    double t = m->residency.threshold;
    return t > 0 || diag_error(diag,
                               "residency.threshold is %g; %s needs a value above 0 (1 "
                               "shares nothing)",
                               t, policy);
}

/* Blocks and pairs that share one resource; private_units are of it. */
static inline bool
pairs_plan(const struct machine *m, const struct occ_kernel *k, enum occ_share share,
           const char *policy, struct residency_plan *p, struct diag_sink *diag)
{
    struct allot_occupancy o;
    double t = m->residency.threshold;
    if (!pairs_threshold(m, policy, diag) || !occ_compute(m, k, share, t, &o, diag))
        return false;
    uint32_t units = share == OCC_SHARE_REGISTERS ? k->registers : k->scratchpad;
    *p = (struct residency_plan){.blocks = o.resident_blocks,
                                 .baseline = o.baseline_blocks};
    if (share == OCC_SHARE_REGISTERS) {
        p->late = 2 * o.shared_pairs;
        p->start = occ_private(units, t);
    }
    *pairs_own(p) = (struct pairs_plan){.blocks = o.resident_blocks,
                                        .pairs = o.shared_pairs,
                                        .private_units = occ_private(units, t),
                                        .warps = (k->threads + LANES - 1) / LANES,
                                        .progress = true};
    return true;
}

/* Dynamic warp execution, where registers are shared. */
static inline void
pairs_plan_dynamic(const struct machine *m, struct residency_plan *p)
{
    bool dynamic = m->residency.dynamic_warps && pairs_own(p)->pairs;
    p->period = dynamic ? m->residency.dynamic_period : 0;
    pairs_own(p)->dynamic = p->period != 0;
}

#endif
