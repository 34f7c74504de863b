/* sm_barrier.c: when the warps that a barrier lets go, or that a branch holds, may issue again.
 *
 * The executor lets them go when the last of them has arrived. That is at once where
 * sm.barrier_interval and barrier_latency are 0 (GPGPU-Sim). Else a block's barriers take one
 * warp each so many cycles, and open so long after the last of them:
 *
 *     32 warps issue in 8 cycles, 4 a cycle; taken every 2 cycles: the last after 64
 *     and 21 later all go on: 85 cycles a barrier
 *
 * Source of the rule: Burtchell and Burtscher, IISWC 2024, an A100: 21 cycles and two a warp. */
#include "timing/sm/sm.h"

void
sm_barriers_init(struct sm *s, struct arena *a)
{
    s->arrived = ARENA_ARRAY(a, uint64_t, s->nslots);
    s->opens_at = NEVER;
}

void
sm_barrier_arrives(struct sm *s, unsigned w, uint64_t now)
{
    uint64_t *next = &s->arrived[s->warp[w].slot];
    *next = (*next > now ? *next : now) + (uint64_t)s->m->sm.barrier_interval;
}

static void
go_on(struct sm *s, unsigned w)
{
    struct sm_sched *c = &s->sched[s->warp[w].sched];
    const uint64_t bit = (uint64_t)1 << s->warp[w].pos;
    c->waits.barrier &= ~bit;
    c->waits.branch &= ~bit;
    sm_head_changed(s, w);
}

static void
opens_later(struct sm *s, unsigned w, uint64_t at)
{
    s->opens[w] = at;
    bitset_add(s->opening, w);
    s->opens_at = at < s->opens_at ? at : s->opens_at;
}

void
sm_branch_taken(struct sm *s, unsigned w, uint64_t now)
{
    s->sched[s->warp[w].sched].waits.branch |= (uint64_t)1 << s->warp[w].pos;
    opens_later(s, w, now + (uint64_t)s->m->sm.branch_latency);
}

void
sm_barrier_opens(struct sm *s, unsigned w, uint64_t woken, uint64_t now)
{
    const uint64_t last = s->arrived[s->warp[w].slot],
                   at = (last > now ? last : now) + (uint64_t)s->m->sm.barrier_latency;
    unsigned first = w - s->warp[w].ew->index;
    FOR_BITS(k, woken)
    {
        unsigned v = first + (unsigned)k;
        if (s->warp[v].ew->state != EXEC_READY)
            continue;
        if (at <= now) {
            go_on(s, v);
            continue;
        }
        s->sched[s->warp[v].sched].waits.barrier |= (uint64_t)1 << s->warp[v].pos;
        opens_later(s, v, at);
    }
}

void
sm_barriers_cycle(struct sm *s, uint64_t now)
{
    s->opens_at = NEVER;
    for (unsigned i = 0; i < SM_MAX_WARPS / 64; i++)
        FOR_BITS(k, s->opening[i])
        {
            unsigned v = i * 64 + (unsigned)k;
            if (s->opens[v] <= now) {
                bitset_del(s->opening, v);
                go_on(s, v);
            } else if (s->opens[v] < s->opens_at) {
                s->opens_at = s->opens[v];
            }
        }
    s->worked = true;
}
