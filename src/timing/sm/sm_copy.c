/* sm_copy.c: asynchronous copies (cp.async) as the SM sees them.
 *
 * The load/store unit numbers a warp's copies by segments (ldst_copies_close) and says
 * which segments are complete. A group committed is the segments up to its own; a wait
 * holds the warp until those it names are complete; an arrival at an mbarrier that stands
 * for copies is made when theirs are. Groups are the warp's, not the thread's; more than
 * GROUPS open ones count as the oldest. An arrival for which there is no room is made at
 * once. */
#include "timing/sm/sm.h"

#include <string.h>

enum { GROUPS = 16, ARRIVALS = 8 };

struct warp_copies {
    uint64_t end[GROUPS]; /* first segment behind group g, at g % GROUPS */
    uint64_t groups;      /* committed */
    uint64_t until;       /* the wait: all segments below must be complete */
    struct {
        uint64_t end, addr;
        uint32_t count;
    } arrival[ARRIVALS];
    uint8_t narrivals;
};

void
sm_copies_init(struct sm *s, struct arena *a)
{
    s->copies = ARENA_SPARSE(a, struct warp_copies, s->nwarps);
}

void
sm_copies_start(struct sm *s, unsigned w)
{
    s->copies[w].groups = 0;
    s->copies[w].narrivals = 0;
}

bool
sm_copies_issue(struct sm *s, unsigned w, const struct sm_inst *in,
                const struct exec_step *st)
{
    struct warp_copies *k = &s->copies[w];
    uint64_t end = ldst_copies_close(s->ldst, w), keep = in->copy_n;
    switch (in->copy) {
    case COPY_COMMIT:
        k->end[k->groups++ % GROUPS] = end;
        return false;
    case COPY_WAIT:
        if (k->groups <= keep)
            return false;
        if (keep >= GROUPS)
            keep = GROUPS - 1;
        end = k->end[(k->groups - 1 - keep) % GROUPS];
        break;
    case COPY_ARRIVE:
        if (!st->mask || !st->arrive_count)
            return false;
        if (end <= ldst_copies_done(s->ldst, w) || k->narrivals == ARRIVALS) {
            exec_mbarrier_arrive(s->warp[w].ew->cta, st->arrive_addr, st->arrive_count);
            return false;
        }
        k->arrival[k->narrivals].end = end;
        k->arrival[k->narrivals].addr = st->arrive_addr;
        k->arrival[k->narrivals++].count = st->arrive_count;
        bitset_add(s->arriving, w);
        return false;
    }
    k->until = end;
    return end > ldst_copies_done(s->ldst, w);
}

bool
sm_copies_there(const struct sm *s, unsigned w)
{
    return s->copies[w].until <= ldst_copies_done(s->ldst, w);
}

void
sm_copies_cycle(struct sm *s)
{
    for (unsigned v = 0; v * 64 < s->nwarps; v++)
        FOR_BITS(i, s->arriving[v])
        {
            unsigned w = v * 64 + (unsigned)i, n = 0;
            struct warp_copies *k = &s->copies[w];
            uint64_t done = ldst_copies_done(s->ldst, w);
            while (n < k->narrivals && k->arrival[n].end <= done) {
                exec_mbarrier_arrive(s->warp[w].ew->cta, k->arrival[n].addr,
                                     k->arrival[n].count);
                n++;
            }
            if (!n)
                continue;
            k->narrivals -= (uint8_t)n;
            memmove(k->arrival, k->arrival + n, k->narrivals * sizeof *k->arrival);
            if (!k->narrivals)
                bitset_del(s->arriving, w);
            s->worked = true;
        }
}
