/* pairs.h: which slots share, and how many (001 sections 2.1 and 2.2), for the policies
 * by which pairs of blocks share something. Private to src/timing/residency.
 *
 * Slots 0..B-1 are those of the baseline; the first U = B-S of them share nothing, as TB0
 * and TB1 of 001 figures 2.3 to 2.6. Slots B..B+S-1 are additional, and additional slot
 * B+i shares with slot U+i: these are pair i, the additional slot is its side 1. Blocks
 * take the lowest free slot, so additional slots fill last. */
#ifndef ALLOT_TIMING_RESIDENCY_PAIRS_H
#define ALLOT_TIMING_RESIDENCY_PAIRS_H

#include "timing/policy/policy.h"

struct pairs {
    unsigned unshared, baseline; /* U, B */
};

static inline struct pairs
pairs_of(const struct residency_plan *p)
{
    unsigned baseline = p->blocks - p->pairs;
    return (struct pairs){baseline - p->pairs, baseline};
}

/* Pair of slot s, -1: unshared. */
static inline int
pairs_index(const struct pairs *p, unsigned s)
{
    return s >= p->baseline   ? (int)(s - p->baseline)
           : s >= p->unshared ? (int)(s - p->unshared)
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
    unsigned n = p->baseline - p->unshared;
    return pairs_side(p, s) ? s - n : s + n;
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
                                 .baseline = o.baseline_blocks,
                                 .pairs = o.shared_pairs,
                                 .private_units = occ_private(units, t)};
    return true;
}

/* What policies that look at warps need beside: register sharing. */
static inline void
pairs_plan_warps(const struct machine *m, const struct occ_kernel *k,
                 struct residency_plan *p)
{
    p->warps = (k->threads + LANES - 1) / LANES;
    p->period = m->residency.dynamic_warps && p->pairs ? m->residency.dynamic_period : 0;
}

#endif
