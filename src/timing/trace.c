/* trace.c: see trace.h. A state lasts until the cycle in which another is seen; an SM
 * that sleeps changes none. Cost: a look at every warp of an SM in each cycle that it is
 * stepped, only where there is a trace. */
#include "timing/trace.h"

#include "timing/mem/memory.h"
#include "timing/sm/sm.h"

enum { LEVEL_EVERY = 32 /* cycles over which levels are averaged */ };

struct trace *
trace_new(const struct machine *m, uint64_t from, uint64_t to, uint64_t limit)
{
    struct trace *t = xmalloc(sizeof *t);
    *t = (struct trace){.from = from,
                        .to = to,
                        .limit = limit,
                        .cut = NEVER,
                        .nsm = m->sm.count,
                        .nchannels = m->dram.channels,
                        .dram_ratio = m->clock.dram / m->clock.core};
    t->sm = ARENA_ARRAY(&t->arena, struct trace_sm, t->nsm);
    t->l2_before = ARENA_ARRAY(&t->arena, uint64_t, t->nchannels);
    t->dram_before = ARENA_ARRAY(&t->arena, uint64_t, t->nchannels);
    for (unsigned i = 0; i < t->nsm; i++) {
        struct trace_sm *s = &t->sm[i];
        s->trace = t;
        s->since = ARENA_ARRAY(&t->arena, uint64_t, 2 * SM_MAX_WARPS);
        s->state = ARENA_ARRAY(&t->arena, uint8_t, SM_MAX_WARPS);
        s->block = ARENA_ARRAY(&t->arena, uint32_t, SM_MAX_WARPS);
    }
    return t;
}

void
trace_free(struct trace *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < t->nsm; i++)
        free(t->sm[i].events.v);
    free(t->gpu.v);
    free(t->launch);
    arena_free(&t->arena);
    free(t);
}

/* Room for one more than n of so many bytes each; grows by half: little is unused. */
static void *
one_more(void *v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return v;
    *cap += *cap / 2 + 16;
    return xrealloc(v, *cap * size);
}

static uint64_t
window_end(const struct trace *t)
{
    return t->to < NEVER - t->start ? t->start + t->to : NEVER;
}

/* Keeps [from, to) of the launch, as far as it lies in the window, with that share of
 * what was counted in it. False: nothing of it is kept. */
static bool
keep(const struct trace *t, struct trace_buffer *b, uint64_t from, uint64_t to,
     unsigned kind, unsigned track, uint64_t value)
{
    uint64_t lo = t->start + t->from, hi = window_end(t), length = to - from;
    if (from < lo)
        from = lo;
    if (to > hi)
        to = hi;
    if (from >= to || from >= t->cut)
        return false;
    if (kind == TRACE_CHANNEL) {
        value = (value * (to - from) + length / 2) / length;
        if (!value)
            return false;
    }
    b->v = one_more(b->v, b->n, &b->cap, sizeof *b->v);
    b->v[b->n++] = (struct trace_event){.from = from,
                                        .to = to,
                                        .value = (uint32_t)value,
                                        .track = (uint16_t)track,
                                        .kind = (uint8_t)kind};
    return true;
}

/* Events that begin before cycle c. */
static uint64_t
begun(const struct trace_buffer *b, uint64_t c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->v[i].from < c;
    return n;
}

static void
drop(struct trace_buffer *b, uint64_t cut)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].from < cut)
            b->v[n++] = b->v[i];
    b->n = n;
}

/* Where the last events of levels are now. */
static void
find_levels(struct trace_sm *s)
{
    memset(s->level_event, 0, sizeof s->level_event);
    for (size_t i = 0; i < s->events.n; i++)
        if (s->events.v[i].kind == TRACE_LEVEL)
            s->level_event[s->events.v[i].track] = i + 1;
}

static struct trace_buffer *
buffer(struct trace *t, unsigned i)
{
    return i < t->nsm ? &t->sm[i].events : &t->gpu;
}

/* Down to the limit, if there are more than `most` events. Reads all some 30 times, to
 * drop at least `most` - limit. */
static void
bound(struct trace *t, uint64_t most)
{
    uint64_t n = 0, low = 0, high = t->cut; /* limit holds before low, not before high */
    for (unsigned i = 0; i <= t->nsm; i++)
        n += buffer(t, i)->n;
    if (n <= most)
        return;
    if (high == NEVER) /* every event has come to an end */
        for (unsigned i = high = 0; i <= t->nsm; i++)
            for (size_t k = 0; k < buffer(t, i)->n; k++)
                if (buffer(t, i)->v[k].from >= high)
                    high = buffer(t, i)->v[k].from + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        n = 0;
        for (unsigned i = 0; i <= t->nsm; i++)
            n += begun(buffer(t, i), middle);
        if (n <= t->limit)
            low = middle;
        else
            high = middle;
    }
    t->cut = low;
    for (unsigned i = 0; i <= t->nsm; i++)
        drop(buffer(t, i), low);
    for (unsigned i = 0; i < t->nsm; i++)
        find_levels(&t->sm[i]);
    /* Each launch begins with at most `limit` events of those before it: trace_end. */
    assert(!t->nlaunch || t->launch[t->nlaunch - 1].start <= low);
}

void
trace_bound(struct trace *t)
{
    bound(t, t->limit + t->limit / 2);
}

void
trace_begin(struct trace *t, const char *kernel, uint64_t now)
{
    t->start = t->channels_at = now;
    if (now <= t->cut) {
        t->launch = one_more(t->launch, t->nlaunch, &t->cap_launch, sizeof *t->launch);
        t->launch[t->nlaunch++] =
            (struct trace_launch){arena_strdup(&t->arena, kernel), now};
    }
    for (unsigned i = 0; i < t->nchannels; i++)
        t->l2_before[i] = t->dram_before[i] = 0;
    for (unsigned i = 0; i < t->nsm; i++)
        t->sm[i].level_from = t->sm[i].level_at = now + 1;
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
    switch (sm_wait_of(c, bit)) {
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    case WAIT_##id:                                                                      \
        return TRACE_##state;
#include "timing/waits.def"
#undef WAIT
    case SM_NWAITS:
        break;
    }
    return c->head & bit ? TRACE_READY : TRACE_FETCH;
}

static void
trace_blocks(struct trace_sm *t, const struct sm *s, uint64_t now)
{
    for (unsigned k = 0; k < s->nslots && k < SM_MAX_WARPS; k++) {
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

/* Pieces of one level that follow each other are one event: so there are as many events
 * whether the SM sleeps or is stepped. */
static void
keep_piece(struct trace_sm *t, unsigned k, uint64_t sum, uint64_t end)
{
    struct trace_buffer *b = &t->events;
    uint64_t length = end - t->level_from;
    uint64_t value = (sum * TRACE_PARTS + length / 2) / length;
    if (!keep(t->trace, b, t->level_from, end, TRACE_LEVEL, k, value))
        return;
    struct trace_event *last = t->level_event[k] ? &b->v[t->level_event[k] - 1] : NULL;
    if (last && last->to == b->v[b->n - 1].from && last->value == value)
        last->to = b->v[--b->n].to;
    else
        t->level_event[k] = b->n;
}

static void
end_piece(struct trace_sm *t, uint64_t end)
{
    for (unsigned k = 0; k < TRACE_NLEVELS; k++) {
        uint64_t sum = t->level_sum[k] + t->level[k] * (end - t->level_at);
        if (sum)
            keep_piece(t, k, sum, end);
        t->level_sum[k] = 0;
    }
    t->level_from = t->level_at = end;
}

/* Levels are up to `end` what they were. Pieces end at the same cycles however long an SM
 * sleeps. */
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
    uint64_t last = window_end(t->trace);
    if (last > t->trace->cut)
        last = t->trace->cut;
    if (t->level_from >= last)
        return; /* what is open ends later, pieces of levels to come begin later */
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
trace_channels(struct trace *t, const struct memory *mem, uint64_t now)
{
    for (unsigned i = 0; i < t->nchannels; i++) {
        const struct stat_mem s = *memory_channel_stats(mem, i);
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
trace_end(struct trace *t, uint64_t end, uint64_t now)
{
    for (unsigned i = 0; i < t->nsm; i++) {
        struct trace_sm *s = &t->sm[i];
        for (unsigned w = 0; w < SM_MAX_WARPS; w++) {
            if (s->state[w] != TRACE_NO_WARP)
                keep(t, &s->events, s->since[w], end + 1, TRACE_WARP, w, s->state[w]);
            if (s->block[w])
                keep(t, &s->events, s->since[SM_MAX_WARPS + w], end + 1, TRACE_BLOCK, w,
                     s->block[w] - 1);
            s->state[w] = TRACE_NO_WARP;
            s->block[w] = 0;
        }
        keep_levels(s, now + 1);
        if (s->level_at > s->level_from)
            end_piece(s, s->level_at);
        memset(s->level, 0, sizeof s->level);
    }
    keep(t, &t->gpu, t->start + 1, end + 1, TRACE_LAUNCH, 0, t->launches++);
    bound(t, t->limit);
}
