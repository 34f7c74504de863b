/* driver_stream.c: streams, events, host functions, values in memory. Work is done when
 * the call that orders it returns (core.h), so waiting is only checking handles. */
#include "cuda/core/core_graph.h"
#include "cuda/driver/driver.h"

/* -- streams -- */

CU
cuStreamCreateWithPriority(drv_stream *s, unsigned flags, int priority)
{
    CALL(!s || flags > 1 ? ACU_INVALID_VALUE : acu_stream_new(flags, priority, s));
}

CU
cuStreamCreate(drv_stream *s, unsigned flags)
{
    return cuStreamCreateWithPriority(s, flags, 0);
}

CU
cuStreamDestroy_v2(drv_stream s)
{
    CALL(acu_stream_free(s));
}

CU
cuStreamSynchronize(drv_stream s)
{
    CALL(acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE);
}

CU
cuStreamQuery(drv_stream s)
{
    CALL(acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE);
}

CU
cuStreamWaitEvent(drv_stream s, drv_event e, unsigned flags)
{
    CALL(acu_do_wait(s, e));
}

CU
cuStreamGetFlags(drv_stream s, unsigned *flags)
{
    CALL(!flags                 ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*flags = acu_stream_flags(s), 0));
}

CU
cuStreamGetPriority(drv_stream s, int *priority)
{
    CALL(!priority              ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*priority = acu_stream_priority(s), 0));
}

CU
cuStreamGetId(drv_stream s, unsigned long long *id)
{
    CALL(!id                    ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*id = acu_stream_id(s), 0));
}

CU
cuStreamGetDevice(drv_stream s, int *device)
{
    CALL(!device                ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*device = 0));
}

CU
cuStreamGetCtx(drv_stream s, struct drv_context **c)
{
    CALL(!c                     ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*c = drv_current(), 0));
}

CU
cuStreamGetCtx_v2(drv_stream s, struct drv_context **c, void **green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(s, c);
}

CU
cuStreamAttachMemAsync(drv_stream s, uint64_t p, size_t bytes, unsigned flags)
{
    CALL(!acu_stream_valid(s) ? ACU_INVALID_HANDLE : acu_check(p, bytes ? bytes : 1));
}

CU
cuStreamCopyAttributes(drv_stream dst, drv_stream src)
{
    CALL(acu_stream_attributes_copy(dst, src));
}

CU
cuStreamGetAttribute(drv_stream s, int id, void *value)
{
    CALL(acu_stream_attribute_get(s, id, value));
}

CU
cuStreamSetAttribute(drv_stream s, int id, const void *value)
{
    CALL(acu_stream_attribute_set(s, id, value));
}

CU
cuThreadExchangeStreamCaptureMode(int *mode)
{
    CALL_DEVICE(!mode ? ACU_INVALID_VALUE : 0);
}

/* -- the host's functions -- */

struct call {
    union {
        void (*plain)(void *user);
        void (*callback)(drv_stream s, int status, void *user);
    } fn;
    drv_stream stream;
    void *user;
};

static void
call_back(void *user)
{
    struct call *c = user;
    c->fn.callback(c->stream, 0, c->user);
}

CU
cuStreamAddCallback(drv_stream s, void (*fn)(drv_stream, int, void *), void *user,
                    unsigned flags)
{
    struct call c = {.fn.callback = fn, .stream = s, .user = user};
    CALL(!fn || flags           ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (acu_call_back(call_back, &c), 0));
}

CU
cuLaunchHostFunc(drv_stream s, void (*fn)(void *), void *user)
{
    CALL(acu_do_host(s, fn, user));
}

/* -- events -- */

CU
cuEventCreate(drv_event *ev, unsigned flags)
{
    CALL(!ev || flags > 7 ? ACU_INVALID_VALUE : acu_event_new(flags, ev));
}

CU
cuEventDestroy_v2(drv_event ev)
{
    CALL(acu_event_free(ev));
}

CU
cuEventRecord(drv_event ev, drv_stream s)
{
    CALL(acu_do_record(s, ev));
}

CU
cuEventRecordWithFlags(drv_event ev, drv_stream s, unsigned flags)
{
    CALL(flags > 1 ? ACU_INVALID_VALUE : acu_do_record(s, ev));
}

CU
cuEventQuery(drv_event ev)
{
    CALL(acu_event_valid(ev) ? 0 : ACU_INVALID_HANDLE);
}

CU
cuEventSynchronize(drv_event ev)
{
    CALL(acu_event_valid(ev) ? 0 : ACU_INVALID_HANDLE);
}

CU
cuEventElapsedTime(float *ms, drv_event from, drv_event to)
{
    CALL(!ms ? ACU_INVALID_VALUE : acu_event_elapsed(from, to, ms));
}

CU
cuEventElapsedTime_v2(float *ms, drv_event from, drv_event to)
{
    return cuEventElapsedTime(ms, from, to);
}

/* -- values in memory that a stream writes or waits for -- */

static int
write_value(drv_stream s, uint64_t p, uint64_t v, unsigned bytes)
{
    return !acu_stream_valid(s) ? ACU_INVALID_HANDLE
           : p % bytes          ? ACU_INVALID_VALUE
                                : acu_set(p, &v, bytes, 1);
}

CU
cuStreamWriteValue32_v2(drv_stream s, uint64_t p, uint32_t v, unsigned flags)
{
    CALL(write_value(s, p, v, sizeof v));
}

CU
cuStreamWriteValue64_v2(drv_stream s, uint64_t p, uint64_t v, unsigned flags)
{
    CALL(write_value(s, p, v, sizeof v));
}

/* What a stream waits for must have been ordered before: nothing that comes later could
 * run first. A wait for what is not there is refused rather than never ending. */
static int
wait_value(drv_stream s, uint64_t p, uint64_t v, unsigned bytes, unsigned flags)
{
    enum { GEQ, EQ, AND, NOR };
    uint64_t have = 0;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (p % bytes)
        return ACU_INVALID_VALUE;
    int e = acu_copy(ADDR(&have), ACU_ANY, p, ACU_ANY, bytes);
    if (e)
        return e;
    uint64_t mask = bytes == 8 ? UINT64_MAX : UINT32_MAX;
    bool ok = false;
    switch (flags & 3) {
    case GEQ:
        ok = bytes == 8 ? (int64_t)(have - v) >= 0 : (int32_t)(have - v) >= 0;
        break;
    case EQ:
        ok = have == v;
        break;
    case AND:
        ok = have & v;
        break;
    default:
        ok = ~(have | v) & mask;
    }
    if (ok)
        return 0;
    acu_say(
        "cuStreamWaitValue waits for a value that nothing before it has written; work "
        "is done in the order of the calls, so that it would wait for ever");
    return ACU_NOT_SUPPORTED;
}

CU
cuStreamWaitValue32_v2(drv_stream s, uint64_t p, uint32_t v, unsigned flags)
{
    CALL(wait_value(s, p, v, sizeof v, flags));
}

CU
cuStreamWaitValue64_v2(drv_stream s, uint64_t p, uint64_t v, unsigned flags)
{
    CALL(wait_value(s, p, v, sizeof v, flags));
}
