/* trace.c: a trace as JSON in Chrome's trace event format ("JSON Array Format" in an
 * object): one process an SM with a thread for each block slot and warp slot and counters
 * for what is under way; one process for the launches, L2 and DRAM channels. */
#include "runtime/device.h"

#include "timing/trace.h"

static const char *const states[TRACE_NSTATES] = {
    "none", "ready", "memory", "result", "barrier", "fence", "lock", "fetch", "ended"};
static const char *const levels[TRACE_NLEVELS] = {"collectors", "in pipelines",
                                                  "under way"};

enum { GPU_PID = 1, FIRST_SM = 10, WARP_TID = 1000 };

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

static void
slice(struct strbuf *b, const struct trace_event *e, unsigned pid, unsigned tid)
{
    strbuf_printf(
        b, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu,\"name\":\"",
        pid, tid, (unsigned long long)e->from, (unsigned long long)(e->to - e->from));
    if (e->kind == TRACE_WARP)
        strbuf_addz(b, states[e->value]);
    else
        strbuf_printf(b, "%s %u", e->kind == TRACE_BLOCK ? "block" : "launch", e->value);
    strbuf_addz(b, "\"},\n");
}

static void
counter(struct strbuf *b, uint64_t at, unsigned pid, const char *what, int number,
        uint64_t value)
{
    strbuf_printf(b, "{\"ph\":\"C\",\"pid\":%u,\"ts\":%llu,\"name\":\"%s", pid,
                  (unsigned long long)at, what);
    if (number >= 0)
        strbuf_printf(b, " %d", number);
    strbuf_printf(b, "\",\"args\":{\"value\":%llu}},\n", (unsigned long long)value);
}

/* Traffic of a channel: the value at the start of its piece, and 0 at its end, which the
 * next piece replaces if it joins. */
static void
channel(struct strbuf *b, const struct trace_event *e)
{
    const char *what = e->track & 1 ? "DRAM bus clocks, channel" : "L2 accesses, channel";
    counter(b, e->from, GPU_PID, what, e->track / 2, e->value);
    counter(b, e->to, GPU_PID, what, e->track / 2, 0);
}

static void
sm_names(struct strbuf *b, const struct trace_sm *s, unsigned i)
{
    bool block[256] = {0}, warp[256] = {0};
    unsigned pid = FIRST_SM + i;
    for (uint32_t k = 0; k < s->events.n; k++) {
        const struct trace_event *e = &s->events.v[k];
        if (e->kind == TRACE_BLOCK)
            block[e->track & 255] = true;
        if (e->kind == TRACE_WARP)
            warp[e->track & 255] = true;
    }
    name(b, "process_name", pid, 0, "SM %u", i);
    for (unsigned k = 0; k < 256; k++) {
        if (block[k])
            name(b, "thread_name", pid, k + 1, "block slot %u", k);
        if (warp[k])
            name(b, "thread_name", pid, WARP_TID + k, "warp %u", k);
    }
}

char *
allot_trace(const struct allot_device *dev, size_t *n, uint64_t *lost)
{
    const struct trace *t = dev->gpu ? timing_trace(dev->gpu) : NULL;
    struct strbuf b = {0};
    uint64_t missed = 0;
    if (!t)
        return NULL;
    strbuf_addz(&b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"1 us = 1 core "
                    "cycle\"},\n\"traceEvents\":[\n");
    name(&b, "process_name", GPU_PID, 0, "GPU", 0);
    name(&b, "thread_name", GPU_PID, 1, "launches", 0);
    for (uint32_t k = 0; k < t->gpu.n; k++)
        if (t->gpu.v[k].kind == TRACE_LAUNCH)
            slice(&b, &t->gpu.v[k], GPU_PID, 1);
        else
            channel(&b, &t->gpu.v[k]);
    missed += t->gpu.lost;
    for (unsigned i = 0; i < t->nsm; i++) {
        const struct trace_sm *s = &t->sm[i];
        missed += s->events.lost;
        if (!s->events.n)
            continue;
        sm_names(&b, s, i);
        for (uint32_t k = 0; k < s->events.n; k++) {
            const struct trace_event *e = &s->events.v[k];
            if (e->kind == TRACE_LEVEL)
                counter(&b, e->from, FIRST_SM + i, levels[e->track], -1, e->value);
            else
                slice(&b, e, FIRST_SM + i,
                      e->track + (e->kind == TRACE_BLOCK ? 1 : WARP_TID));
        }
    }
    strbuf_printf(&b,
                  "{\"ph\":\"M\",\"name\":\"trace_lost_events\",\"pid\":%d,\"tid\":0,"
                  "\"args\":{\"count\":%llu}}\n]}\n",
                  GPU_PID, (unsigned long long)missed);
    if (lost)
        *lost = missed;
    *n = b.n;
    return strbuf_take(&b);
}
