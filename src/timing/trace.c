/* trace.c: see trace.h. A state lasts until the cycle in which another is seen; an SM
 * that sleeps changes none. Cost: a look at every warp of an SM in each cycle that it is
 * stepped, only where there is a trace. */
#include "timing/trace.h"

#include "timing/memsys.h"
#include "timing/sm.h"

enum { LEVEL_EVERY = 32 /* cycles over which levels are averaged */ };

static void
buffer_init(struct trace_buffer *b, struct arena *a, uint64_t cap)
{
    b->cap = (uint32_t)(cap < 16 ? 16 : cap);
    b->v = ARENA_ARRAY(a, struct trace_event, b->cap);
}

struct trace *
trace_new(struct arena *a, const struct machine *m, uint64_t from, uint64_t to,
          uint64_t limit)
{
    struct trace *t = ARENA_NEW(a, struct trace);
    *t = (struct trace){.from = from,
                        .to = to,
                        .nsm = m->sm.count,
                        .nchannels = m->dram.channels,
                        .dram_ratio = m->clock.dram / m->clock.core};
    t->sm = ARENA_ARRAY(a, struct trace_sm, t->nsm);
    t->l2_before = ARENA_ARRAY(a, uint64_t, t->nchannels);
    t->dram_before = ARENA_ARRAY(a, uint64_t, t->nchannels);
    if (limit > UINT32_MAX)
        limit = UINT32_MAX;
    buffer_init(&t->gpu, a, limit / 4);
    for (unsigned i = 0; i < t->nsm; i++) {
        struct trace_sm *s = &t->sm[i];
        s->trace = t;
        buffer_init(&s->events, a, (limit - limit / 4) / t->nsm);
        s->since = ARENA_ARRAY(a, uint64_t, 2 * SM_MAX_WARPS);
        s->state = ARENA_ARRAY(a, uint8_t, SM_MAX_WARPS);
        s->block = ARENA_ARRAY(a, uint32_t, SM_MAX_WARPS);
    }
    return t;
}

/* Keeps [from, to) of the launch, as far as it lies in the window, with that share of
 * what was counted in it. */
static void
keep(const struct trace *t, struct trace_buffer *b, uint64_t from, uint64_t to,
     unsigned kind, unsigned track, uint64_t value)
{
    uint64_t lo = t->start + t->from,
             hi = t->to < NEVER - t->start ? t->start + t->to : NEVER, length = to - from;
    if (from < lo)
        from = lo;
    if (to > hi)
        to = hi;
    if (from >= to)
        return;
    if (kind == TRACE_CHANNEL) {
        value = (value * (to - from) + length / 2) / length;
        if (!value)
            return;
    }
    if (b->n == b->cap) {
        b->lost++;
        return;
    }
    b->v[b->n++] = (struct trace_event){.from = from,
                                        .to = to,
                                        .value = (uint32_t)value,
                                        .track = (uint16_t)track,
                                        .kind = (uint8_t)kind};
}

void
trace_begin(struct trace *t, uint64_t now)
{
    t->start = t->channels_at = now;
    for (unsigned i = 0; i < t->nchannels; i++)
        t->l2_before[i] = t->dram_before[i] = 0;
    for (unsigned i = 0; i < t->nsm; i++)
        t->sm[i].level_from = t->sm[i].level_at = now;
}

static enum trace_state
state_of(const struct sm *s, unsigned w)
{
    const struct sm_sched *c = &s->sched[s->warp[w].sched];
    uint64_t bit = (uint64_t)1 << s->warp[w].pos;
    if (bitset_has(s->finishing, w))
        return TRACE_ENDED;
    if (!(c->live & bit))
        return TRACE_NO_WARP;
    if (c->atomic & bit)
        return TRACE_MEMORY;
    if (c->fence & bit)
        return TRACE_FENCE;
    if (c->wait & bit)
        return TRACE_BARRIER;
    if (c->lock & bit)
        return TRACE_LOCK;
    if (c->load & bit)
        return TRACE_MEMORY;
    if (c->hazard & bit)
        return TRACE_RESULT;
    return c->head & bit ? TRACE_READY : TRACE_FETCH;
}

static void
trace_blocks(struct trace_sm *t, const struct sm *s, uint64_t now)
{
    for (unsigned k = 0; k < s->plan.blocks && k < SM_MAX_WARPS; k++) {
        const struct exec_cta *b = s->cta[k];
        const struct exec_grid *g = s->prog->grid;
        uint32_t id =
            b ? b->ctaid.x + g->grid.x * (b->ctaid.y + g->grid.y * b->ctaid.z) + 1 : 0;
        if (id == t->block[k])
            continue;
        uint64_t *since = &t->since[SM_MAX_WARPS + k];
        if (t->block[k])
            keep(t->trace, &t->events, *since, now, TRACE_BLOCK, k, t->block[k] - 1);
        t->block[k] = id;
        *since = now;
    }
}

static void
end_piece(struct trace_sm *t, uint64_t end)
{
    uint64_t length = end - t->level_from;
    for (unsigned k = 0; k < TRACE_NLEVELS; k++) {
        uint64_t sum = t->level_sum[k] + t->level[k] * (end - t->level_at);
        if (sum)
            keep(t->trace, &t->events, t->level_from, end, TRACE_LEVEL, k,
                 (sum * TRACE_PARTS + length / 2) / length);
        t->level_sum[k] = 0;
    }
    t->level_from = t->level_at = end;
}

/* Levels are up to `end` what they were. Pieces end at the same cycles however long an SM
 * sleeps; those that it sleeps through are one. */
static void
keep_levels(struct trace_sm *t, uint64_t end)
{
    if (end >= t->level_from + LEVEL_EVERY)
        end_piece(t, t->level_from + LEVEL_EVERY);
    if (end >= t->level_from + LEVEL_EVERY)
        end_piece(t, end - (end - t->level_from) % LEVEL_EVERY);
    for (unsigned k = 0; k < TRACE_NLEVELS; k++)
        t->level_sum[k] += t->level[k] * (end - t->level_at);
    t->level_at = end;
}

static void
trace_levels(struct trace_sm *t, const struct sm *s, uint64_t now)
{
    keep_levels(t, now);
    t->level[TRACE_PIPELINES] = s->on_wheel;
    t->level[TRACE_UNDER_WAY] = s->in_flight;
    t->level[TRACE_COLLECTORS] = 0;
    for (unsigned k = 0; k < s->nparts; k++)
        t->level[TRACE_COLLECTORS] += s->part[k].busy;
}

void
trace_cycle(struct trace_sm *t, const struct sm *s, uint64_t now)
{
    if (now - t->trace->start > t->trace->to)
        return; /* what is open ends outside the window */
    trace_blocks(t, s, now);
    for (unsigned w = 0; w < s->nwarps; w++) {
        enum trace_state state = s->warp[w].ew ? state_of(s, w) : TRACE_NO_WARP;
        if (state == t->state[w])
            continue;
        if (t->state[w] != TRACE_NO_WARP)
            keep(t->trace, &t->events, t->since[w], now, TRACE_WARP, w, t->state[w]);
        t->state[w] = (uint8_t)state;
        t->since[w] = now;
    }
    trace_levels(t, s, now);
}

void
trace_channels(struct trace *t, struct memsys *ms, uint64_t now)
{
    for (unsigned i = 0; i < t->nchannels; i++) {
        struct stat_mem s;
        memsys_channel_stats(ms, i, &s);
        if (s.l2_accesses != t->l2_before[i])
            keep(t, &t->gpu, t->channels_at + 1, now + 1, TRACE_CHANNEL, 2 * i,
                 s.l2_accesses - t->l2_before[i]);
        if (s.dram_busy != t->dram_before[i])
            keep(t, &t->gpu, t->channels_at + 1, now + 1, TRACE_CHANNEL, 2 * i + 1,
                 s.dram_busy - t->dram_before[i]);
        t->l2_before[i] = s.l2_accesses;
        t->dram_before[i] = s.dram_busy;
    }
    t->channels_at = now;
}

void
trace_end(struct trace *t, uint64_t now)
{
    for (unsigned i = 0; i < t->nsm; i++) {
        struct trace_sm *s = &t->sm[i];
        for (unsigned w = 0; w < SM_MAX_WARPS; w++) {
            if (s->state[w] != TRACE_NO_WARP)
                keep(t, &s->events, s->since[w], now + 1, TRACE_WARP, w, s->state[w]);
            if (s->block[w])
                keep(t, &s->events, s->since[SM_MAX_WARPS + w], now + 1, TRACE_BLOCK, w,
                     s->block[w] - 1);
            s->state[w] = TRACE_NO_WARP;
            s->block[w] = 0;
        }
        if (now >= s->level_at)
            keep_levels(s, now + 1);
        if (s->level_at > s->level_from)
            end_piece(s, s->level_at);
        memset(s->level, 0, sizeof s->level);
    }
    keep(t, &t->gpu, t->start + 1, now + 1, TRACE_LAUNCH, 0, t->launches++);
}
