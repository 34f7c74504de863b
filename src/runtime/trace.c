/* trace.c: a trace as JSON in Chrome's trace event format ("JSON Array Format" in an
 * object): one process an SM with a thread for each block slot and warp slot and counters
 * for what is under way; one process for the launches, L2 and DRAM channels. Perfetto
 * shows the number of a process or thread after its name, so these end in the same
 * digits; it calls a counter by its name and its argument's, adds up slices of the same
 * name, and orders processes by how many slices they have, but one named Gpu comes first.
 * What the limit cuts ends at the cut. tools/trace-check looks at the result. */
#include "runtime/device.h"

#include "timing/trace.h"

static const char *const states[TRACE_NSTATES] = {
    [TRACE_NO_WARP] = "none",
    [TRACE_READY] = "ready",
#define WAIT(id, cause, holds, ends, state, over, ...) [TRACE_##id] = #state,
#include "timing/waits.def"
#undef WAIT
    [TRACE_FETCH] = "fetch",
    [TRACE_ENDED] = "ended",
};
static const char *const levels[TRACE_NLEVELS][2] = {{"collectors", "in use"},
                                                     {"instructions", "in pipelines"},
                                                     {"instructions", "under way"}};

enum { GPU_PID = 1, FIRST_SM = 1000, BLOCK_TID = 1000, WARP_TID = 2000 };

static void
name(struct strbuf *b, const char *what, unsigned pid, unsigned tid, const char *fmt,
     unsigned n)
{
    strbuf_printf(
        b, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
        what, pid, tid);
    strbuf_printf(b, fmt, n);
    strbuf_addz(b, "\"}},\n");
}

static uint64_t
end_of(const struct trace *t, const struct trace_event *e)
{
    return e->to < t->cut ? e->to : t->cut;
}

static void
slice(struct strbuf *b, const struct trace *t, const struct trace_event *e, unsigned pid,
      unsigned tid)
{
    strbuf_printf(
        b, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu,\"name\":\"",
        pid, tid, (unsigned long long)e->from,
        (unsigned long long)(end_of(t, e) - e->from));
    if (e->kind == TRACE_WARP)
        strbuf_printf(b, "%s\"},\n", states[e->value]);
    else if (e->kind == TRACE_BLOCK)
        strbuf_printf(b, "block %u\"},\n", e->value);
    else
        strbuf_printf(b, "%s\",\"args\":{\"launch\":%u}},\n", t->launch[e->value].kernel,
                      e->value);
}

/* A counter is 0 where no piece tells its value. Pieces of one track come in order: the
 * end of one is known to be the start of the next or not only when that comes. */
struct counters {
    struct strbuf *b;
    unsigned pid;
    const struct trace *t;
    struct piece {
        uint64_t end; /* 0: none yet */
        double value;
    } * last; /* by track */
};

static void
sample(const struct counters *c, unsigned track, uint64_t at, double value)
{
    strbuf_printf(c->b, "{\"ph\":\"C\",\"pid\":%u,\"ts\":%llu,\"name\":\"", c->pid,
                  (unsigned long long)at);
    if (c->pid != GPU_PID)
        strbuf_printf(c->b, "%s\",\"args\":{\"%s", levels[track][0], levels[track][1]);
    else /* as many digits for each, so that the order of names is that of channels */
        strbuf_printf(c->b, "%s\",\"args\":{\"channel %0*u",
                      track & 1 ? "DRAM busy %" : "L2 accesses/cycle",
                      c->t->nchannels > 100 ? 3 : 1 + (c->t->nchannels > 10), track / 2);
    strbuf_printf(c->b, "\":%.9g}},\n", value);
}

static void
counter_piece(struct counters *c, const struct trace_event *e)
{
    struct piece *last = &c->last[e->track];
    double value = e->value;
    if (e->kind == TRACE_LEVEL)
        value /= TRACE_PARTS;
    else /* a rate: pieces have different lengths */
        value /= (double)(e->to - e->from);
    if (e->kind == TRACE_CHANNEL && e->track & 1)
        value *= 100 / c->t->dram_ratio;
    bool joins = last->end == e->from;
    if (last->end && !joins)
        sample(c, e->track, last->end, 0);
    if (!joins || value != last->value)
        sample(c, e->track, e->from, value);
    *last = (struct piece){end_of(c->t, e), value};
}

static void
counters_end(struct counters *c, unsigned ntracks)
{
    for (unsigned k = 0; k < ntracks; k++)
        if (c->last[k].end)
            sample(c, k, c->last[k].end, 0);
}

static void
sm_names(struct strbuf *b, const struct trace_sm *s, unsigned i)
{
    bool block[256] = {0}, warp[256] = {0};
    unsigned pid = FIRST_SM + i;
    for (size_t k = 0; k < s->events.n; k++) {
        const struct trace_event *e = &s->events.v[k];
        if (e->kind == TRACE_BLOCK)
            block[e->track & 255] = true;
        if (e->kind == TRACE_WARP)
            warp[e->track & 255] = true;
    }
    name(b, "process_name", pid, 0, "SM %u", i);
    for (unsigned k = 0; k < 256; k++) {
        if (block[k])
            name(b, "thread_name", pid, BLOCK_TID + k, "block slot %u", k);
        if (warp[k])
            name(b, "thread_name", pid, WARP_TID + k, "warp %u", k);
    }
}

static struct allot_trace_cut
cut_of(const struct trace *t)
{
    struct allot_trace_cut c = {.full = t->cut != UINT64_MAX};
    if (c.full && t->nlaunch) {
        c.launch = t->nlaunch - 1; /* those later are not kept */
        c.cycle = t->cut - t->launch[c.launch].start;
    }
    return c;
}

char *
allot_trace(const struct allot_device *dev, size_t *n, struct allot_trace_cut *cut)
{
    const struct trace *t = dev->gpu ? timing_trace(dev->gpu) : NULL;
    struct strbuf b = {0};
    if (!t)
        return NULL;
    struct allot_trace_cut end = cut_of(t);
    strbuf_printf(&b,
                  "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"1 us = 1 core "
                  "cycle\",\"DRAM clocks a cycle\":%.9g},\n\"traceEvents\":[\n",
                  t->dram_ratio);
    name(&b, "process_name", GPU_PID, 0, "Gpu", 0);
    name(&b, "thread_name", GPU_PID, 1, "launches", 0);
    struct counters c = {&b, GPU_PID, t,
                         xcalloc(2 * (size_t)t->nchannels, sizeof *c.last)};
    for (size_t k = 0; k < t->gpu.n; k++)
        if (t->gpu.v[k].kind == TRACE_LAUNCH)
            slice(&b, t, &t->gpu.v[k], GPU_PID, 1);
        else
            counter_piece(&c, &t->gpu.v[k]);
    counters_end(&c, 2 * t->nchannels);
    free(c.last);
    for (unsigned i = 0; i < t->nsm; i++) {
        const struct trace_sm *s = &t->sm[i];
        if (!s->events.n)
            continue;
        sm_names(&b, s, i);
        struct piece last[TRACE_NLEVELS] = {0};
        c = (struct counters){&b, FIRST_SM + i, t, last};
        for (size_t k = 0; k < s->events.n; k++) {
            const struct trace_event *e = &s->events.v[k];
            if (e->kind == TRACE_LEVEL)
                counter_piece(&c, e);
            else
                slice(&b, t, e, FIRST_SM + i,
                      e->track + (e->kind == TRACE_BLOCK ? BLOCK_TID : WARP_TID));
        }
        counters_end(&c, TRACE_NLEVELS);
    }
    strbuf_printf(&b,
                  "{\"ph\":\"M\",\"name\":\"trace_lost_events\",\"pid\":%d,\"tid\":0,"
                  "\"args\":{\"lost\":%s",
                  GPU_PID, end.full ? "true" : "false");
    if (end.full)
        strbuf_printf(&b, ",\"ts\":%llu,\"launch\":%llu,\"cycle\":%llu",
                      (unsigned long long)t->cut, (unsigned long long)end.launch,
                      (unsigned long long)end.cycle);
    strbuf_addz(&b, "}}\n]}\n");
    if (cut)
        *cut = end;
    *n = b.n;
    return strbuf_take(&b);
}
