/* cudart_stream.c: streams, events, callbacks. Work is done when it is asked for
 * (core.h), so that a stream is always idle and a recorded event always reached. */
#include "cuda/cudart/cudart.h"

/* -- streams -- */

static int
stream_new(rt_stream *s, unsigned flags, int priority)
{
    if (!s || flags > 1)
        return ACU_INVALID_VALUE;
    return acu_stream_new(flags, priority > 0 ? 0 : priority < -5 ? -5 : priority, s);
}

EXPORT int
cudaStreamCreate(rt_stream *s)
{
    CALL(stream_new(s, 0, 0));
}

EXPORT int
cudaStreamCreateWithFlags(rt_stream *s, unsigned flags)
{
    CALL(stream_new(s, flags, 0));
}

EXPORT int
cudaStreamCreateWithPriority(rt_stream *s, unsigned flags, int priority)
{
    CALL(stream_new(s, flags, priority));
}

EXPORT int
cudaStreamDestroy(rt_stream s)
{
    CALL(acu_stream_free(s));
}

static int
check(rt_stream s)
{
    return acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE;
}

EXPORT int
cudaStreamSynchronize(rt_stream s)
{
    CALL(check(s));
}

EXPORT int
cudaStreamQuery(rt_stream s)
{
    CALL(check(s));
}

EXPORT int
cudaStreamWaitEvent(rt_stream s, rt_event e, unsigned flags)
{
    CALL(acu_do_wait(s, e));
}

EXPORT int
cudaStreamGetFlags(rt_stream s, unsigned *flags)
{
    CALL(!flags     ? ACU_INVALID_VALUE
         : check(s) ? check(s)
                    : (*flags = acu_stream_flags(s), 0));
}

EXPORT int
cudaStreamGetPriority(rt_stream s, int *priority)
{
    CALL(!priority  ? ACU_INVALID_VALUE
         : check(s) ? check(s)
                    : (*priority = acu_stream_priority(s), 0));
}

EXPORT int
cudaStreamGetId(rt_stream s, unsigned long long *id)
{
    CALL(!id ? ACU_INVALID_VALUE : check(s) ? check(s) : (*id = acu_stream_id(s), 0));
}

EXPORT int
cudaStreamGetDevice(rt_stream s, int *device)
{
    CALL(!device ? ACU_INVALID_VALUE : check(s) ? check(s) : (*device = 0, 0));
}

EXPORT int
cudaStreamAttachMemAsync(rt_stream s, void *p, size_t n, unsigned flags)
{
    struct acu_range r;
    CALL(check(s)                                                    ? check(s)
         : acu_range_find(ADDR(p), &r) && r.kind == ACU_KIND_MANAGED ? 0
                                                                     : ACU_INVALID_VALUE);
}

EXPORT int
cudaStreamSetAttribute(rt_stream s, int attr, const void *value)
{
    CALL(acu_stream_attribute_set(s, attr, value));
}

EXPORT int
cudaStreamGetAttribute(rt_stream s, int attr, void *value)
{
    CALL(acu_stream_attribute_get(s, attr, value));
}

EXPORT int
cudaStreamCopyAttributes(rt_stream dst, rt_stream src)
{
    CALL(acu_stream_attributes_copy(dst, src));
}

EXPORT int
cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static __thread int current;
    if (!mode || *mode < 0 || *mode > 2)
        CALL_LIGHT(ACU_INVALID_VALUE);
    int before = current;
    current = *mode;
    *mode = before;
    CALL_LIGHT(0);
}

/* -- callbacks -- */

struct callback {
    void (*fn)(rt_stream, int status, void *user);
    rt_stream stream;
    void *user;
};

static void
run_callback(void *user)
{
    struct callback *c = user;
    c->fn(c->stream, 0, c->user);
}

EXPORT int
cudaStreamAddCallback(rt_stream s, void (*fn)(rt_stream, int, void *), void *user,
                      unsigned flags)
{
    struct callback c = {fn, s, user};
    CALL(!fn || flags ? ACU_INVALID_VALUE
         : check(s)   ? check(s)
                      : (acu_call_back(run_callback, &c), 0));
}

EXPORT int
cudaLaunchHostFunc(rt_stream s, void (*fn)(void *), void *user)
{
    CALL(acu_do_host(s, fn, user));
}

/* -- events -- */

static int
event_new(rt_event *e, unsigned flags)
{
    return e && flags < 8 ? acu_event_new(flags, e) : ACU_INVALID_VALUE;
}

EXPORT int
cudaEventCreate(rt_event *e)
{
    CALL(event_new(e, 0));
}

EXPORT int
cudaEventCreateWithFlags(rt_event *e, unsigned flags)
{
    CALL(event_new(e, flags));
}

EXPORT int
cudaEventDestroy(rt_event e)
{
    CALL(acu_event_free(e));
}

EXPORT int
cudaEventRecord(rt_event e, rt_stream s)
{
    CALL(acu_do_record(s, e));
}

EXPORT int
cudaEventRecordWithFlags(rt_event e, rt_stream s, unsigned flags)
{
    CALL(flags > 1 ? ACU_INVALID_VALUE : acu_do_record(s, e));
}

EXPORT int
cudaEventQuery(rt_event e)
{
    CALL(acu_event_valid(e) ? 0 : ACU_INVALID_HANDLE);
}

EXPORT int
cudaEventSynchronize(rt_event e)
{
    CALL(acu_event_valid(e) ? 0 : ACU_INVALID_HANDLE);
}

EXPORT int
cudaEventElapsedTime(float *ms, rt_event from, rt_event to)
{
    CALL(ms ? acu_event_elapsed(from, to, ms) : ACU_INVALID_VALUE);
}
