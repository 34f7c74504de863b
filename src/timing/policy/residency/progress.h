/* progress.h: how far additional warps get (001 section 2.5.1.6, Figure 2.19). Private to
 * src/timing/residency.
 *
 * Additional are the warps of a block that started beside its partner, until the block
 * becomes the owner or the warp ends. Progress of one is the part of that time in which
 * it did not wait for what the pair shares; the figure is the mean over warps. */
#ifndef ALLOT_TIMING_RESIDENCY_PROGRESS_H
#define ALLOT_TIMING_RESIDENCY_PROGRESS_H

#include "timing/policy/policy.h"

struct progress {
    uint64_t started, waits_from; /* cycle; waits_from 0: does not wait */
    uint64_t waited;              /* cycles */
    bool closed;                  /* no longer additional */
};

static inline void
progress_waits(struct progress *p, const struct sm_view *v)
{
    if (!p->waits_from)
        p->waits_from = v->now;
}

static inline void
progress_goes_on(struct progress *p, const struct sm_view *v)
{
    if (p->waits_from) {
        p->waited += v->now - p->waits_from;
        p->waits_from = 0;
    }
}

/* The warp has ended or owns. One that was additional for no cycle never waited. */
static inline void
progress_close(struct progress *p, const struct sm_view *v)
{
    if (p->closed)
        return;
    progress_goes_on(p, v);
    p->closed = true;
    uint64_t life = v->now - p->started;
    v->stats->share_additional_warps++;
    v->stats->share_additional_cycles += life;
    v->stats->share_additional_waits += p->waited;
    v->stats->share_additional_permille += life ? 1000 * (life - p->waited) / life : 1000;
}

#endif
