/* driver_context.c: start, devices, contexts, errors. */
#define _GNU_SOURCE
#include "cuda/driver/driver.h"

#include "base/vec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct drv_context {
    unsigned flags;
    unsigned long long id;
    size_t limits[8];
    int cache_config, smem_config;
};

/* As core_int.h's struct acu: the driver API has no handle on which this could hang.
 * Guarded by the lock of acu_begin. */
static struct {
    bool init;
    struct drv_context primary;
    unsigned primary_refs;              /* 0: not active */
    VEC(struct drv_context *) contexts; /* those of cuCtxCreate */
    unsigned long long ids;
} drv;

/* The contexts pushed on this thread; some may be gone. */
enum { STACK = 64 };
static _Thread_local struct {
    struct drv_context *v[STACK];
    unsigned n;
} stack;

static const size_t limits_default[8] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};

static bool
context_valid(const struct drv_context *c)
{
    if (c == &drv.primary)
        return drv.primary_refs > 0;
    for (size_t i = 0; i < drv.contexts.n; i++)
        if (drv.contexts.v[i] == c)
            return true;
    return false;
}

static void
context_start(struct drv_context *c, unsigned flags)
{
    *c = (struct drv_context){.flags = flags, .id = ++drv.ids};
    memcpy(c->limits, limits_default, sizeof c->limits);
}

struct drv_context *
drv_primary(void)
{
    if (!drv.primary_refs) {
        context_start(&drv.primary, drv.primary.flags);
        drv.primary_refs = 1;
    }
    return &drv.primary;
}

struct drv_context *
drv_current(void)
{
    if (stack.n) {
        struct drv_context *c = stack.v[stack.n - 1];
        return context_valid(c) ? c : NULL;
    }
    /* The runtime API makes the primary context current wherever none is. */
    return acu_runtime_used() ? drv_primary() : NULL;
}

/* By cuInit, or by the runtime API, whose first call does the same. */
static bool
initialised(void)
{
    return drv.init || acu_runtime_called();
}

int
drv_begin_device(void)
{
    acu_begin_light();
    if (!initialised())
        return ACU_NOT_INITIALIZED;
    return acu_device_count() ? 0 : ACU_NO_DEVICE;
}

int
drv_begin(void)
{
    acu_begin_light();
    if (!initialised())
        return ACU_NOT_INITIALIZED;
    if (!drv_current())
        return ACU_INVALID_CONTEXT;
    acu_end_quiet(0);
    return acu_begin();
}

/* Numbers that cudaError_t alone has. */
int
drv_end(int error)
{
    if (!acu_error_driver_name(error))
        error = error == ACU_INVALID_SYMBOL || error == ACU_INVALID_DEVICE_FUNCTION
                    ? ACU_NOT_FOUND
                    : ACU_INVALID_VALUE;
    return acu_end_quiet(error);
}

/* -- start, errors -- */

CU
cuInit(unsigned flags)
{
    acu_begin_light();
    int e = flags ? ACU_INVALID_VALUE : acu_device_count() ? 0 : ACU_NO_DEVICE;
    drv.init |= !e;
    return drv_end(e);
}

CU
cuDriverGetVersion(int *version)
{
    if (!version)
        return ACU_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return 0;
}

CU
cuGetErrorString(int error, const char **text)
{
    if (!text)
        return ACU_INVALID_VALUE;
    *text = acu_error_driver_name(error) ? acu_error_text(error) : NULL;
    return *text ? 0 : ACU_INVALID_VALUE;
}

CU
cuGetErrorName(int error, const char **name)
{
    if (!name)
        return ACU_INVALID_VALUE;
    *name = acu_error_driver_name(error);
    return *name ? 0 : ACU_INVALID_VALUE;
}

CU
cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
    enum { FOUND, NOT_FOUND, TOO_OLD };
    enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };
    if (!name || !fn || flags & ~(uint64_t)(LEGACY_STREAM | PER_THREAD_STREAM))
        return ACU_INVALID_VALUE;
    bool newer = false;
    *fn = drv_entry(name, version, flags & PER_THREAD_STREAM, &newer);
    if (status)
        *status = *fn ? FOUND : newer ? TOO_OLD : NOT_FOUND;
    return *fn || status ? 0 : ACU_NOT_FOUND;
}

CU
cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, fn, version, flags, NULL);
}

/* nvJitLink and NVRTC ask for the tables too, and do without. */
static bool
asks_in_vain(const void *caller)
{
    Dl_info i;
    const char *file =
        dladdr(caller, &i) && i.dli_fname ? strrchr(i.dli_fname, '/') : NULL;
    return file &&
           (!strncmp(file, "/libnvJitLink.", 14) || !strncmp(file, "/libnvrtc.", 10));
}

/* The driver's private tables. The statically linked runtime asks for several, and
 * through one of them has the driver prove that it is NVIDIA's; without them it answers
 * every call with an error. */
CU
cuGetExportTable(const void **table, const unsigned char *uuid)
{
    static bool said; /* guarded by the lock */
    if (!table || !uuid)
        return ACU_INVALID_VALUE;
    *table = NULL;
    acu_begin_light();
    const void *caller = __builtin_return_address(0);
    bool tell = !said && !asks_in_vain(caller);
    Dl_info of;
    if (tell)
        acu_say(
            "a CUDA runtime linked statically (nvcc's default) in %s asks for private "
            "tables of the driver; it takes no other driver than NVIDIA's, and its calls "
            "will fail: rebuild with -cudart shared, or, if it stands in the program "
            "itself, run that unstripped by 'allot exec'",
            dladdr(caller, &of) && of.dli_fname ? of.dli_fname : "the program");
    said |= tell;
    return drv_end(ACU_NOT_FOUND);
}

/* -- devices -- */

static int
device_ok(int device)
{
    return device ? ACU_INVALID_DEVICE : 0;
}

CU
cuDeviceGetCount(int *n)
{
    CALL_DEVICE(n ? (*n = acu_device_count(), 0) : ACU_INVALID_VALUE);
}

CU
cuDeviceGet(int *device, int ordinal)
{
    CALL_DEVICE(!device   ? ACU_INVALID_VALUE
                : ordinal ? ACU_INVALID_DEVICE
                          : (*device = 0));
}

CU
cuDeviceGetName(char *name, int n, int device)
{
    struct acu_props p;
    CALL_DEVICE(!name || n <= 0 ? ACU_INVALID_VALUE
                : device        ? ACU_INVALID_DEVICE
                         : (acu_props(&p), snprintf(name, (size_t)n, "%s", p.name), 0));
}

CU
cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    struct acu_props p;
    CALL_DEVICE(!bytes   ? ACU_INVALID_VALUE
                : device ? ACU_INVALID_DEVICE
                         : (acu_props(&p), *bytes = p.memory, 0));
}

CU
cuDeviceGetAttribute(int *value, int attribute, int device)
{
    CALL_DEVICE(!value   ? ACU_INVALID_VALUE
                : device ? ACU_INVALID_DEVICE
                         : acu_device_attribute(attribute, value));
}

CU
cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    struct acu_props p;
    CALL_DEVICE(!uuid    ? ACU_INVALID_VALUE
                : device ? ACU_INVALID_DEVICE
                         : (acu_props(&p), memcpy(uuid, p.uuid, sizeof p.uuid), 0));
}

CU
cuDeviceGetPCIBusId(char *text, int n, int device)
{
    CALL_DEVICE(!text || n < 13 ? ACU_INVALID_VALUE
                : device        ? ACU_INVALID_DEVICE
                                : (snprintf(text, (size_t)n, "0000:01:00.0"), 0));
}

CU
cuDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned domain = 0, bus = 0, dev = 0;
    CALL_DEVICE(!device || !text ? ACU_INVALID_VALUE
                : (sscanf(text, "%x:%x:%x", &domain, &bus, &dev) == 3 ||
                   (domain = 0, sscanf(text, "%x:%x", &bus, &dev) == 2)) &&
                        !domain && bus == 1 && !dev
                    ? (*device = 0)
                    : ACU_INVALID_DEVICE);
}

CU
cuDeviceComputeCapability(int *major, int *minor, int device)
{
    struct acu_props p;
    CALL_DEVICE(!major || !minor ? ACU_INVALID_VALUE
                : device         ? ACU_INVALID_DEVICE
                         : (acu_props(&p), *major = p.major, *minor = p.minor, 0));
}

CU
cuDeviceGetProperties(int *prop, int device)
{
    struct acu_props p;
    int e = drv_begin_device();
    if (!e)
        e = !prop ? ACU_INVALID_VALUE : device_ok(device);
    if (!e) {
        acu_props(&p);
        int v[14] = {p.max_threads_block, p.max_block[0],
                     p.max_block[1],      p.max_block[2],
                     p.max_grid[0],       p.max_grid[1],
                     p.max_grid[2],       p.smem_block,
                     p.const_bytes,       p.warp,
                     INT32_MAX,           p.regs_block,
                     p.core_khz,          512};
        memcpy(prop, v, sizeof v); /* CUdevprop */
    }
    return drv_end(e);
}

CU
cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels,
                                   int device)
{
    int v = 0;
    CALL_DEVICE(!width   ? ACU_INVALID_VALUE
                : device ? ACU_INVALID_DEVICE
                         : (acu_device_attribute(69, &v), *width = (size_t)v, 0));
}

CU
cuDeviceGetExecAffinitySupport(int *yes, int type, int device)
{
    CALL_DEVICE(!yes ? ACU_INVALID_VALUE : (*yes = 0, device_ok(device)));
}

CU
cuDeviceCanAccessPeer(int *yes, int device, int peer)
{
    CALL_DEVICE(!yes             ? ACU_INVALID_VALUE
                : device || peer ? ACU_INVALID_DEVICE
                                 : (*yes = 0));
}

CU
cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
    CALL_DEVICE(!value ? ACU_INVALID_VALUE : ACU_INVALID_DEVICE); /* no peer of itself */
}

/* -- the primary context -- */

CU
cuDevicePrimaryCtxRetain(struct drv_context **c, int device)
{
    int e = drv_begin_device();
    if (!e)
        e = !c ? ACU_INVALID_VALUE : device_ok(device);
    if (!e && drv.primary_refs)
        drv.primary_refs++;
    if (!e)
        *c = drv_primary();
    return drv_end(e);
}

/* Where no context is left, nothing of theirs is. The runtime API holds its own. */
static void
contexts_gone(void)
{
    if (!drv.primary_refs && !drv.contexts.n && !acu_runtime_used())
        acu_device_reset();
}

CU
cuDevicePrimaryCtxRelease_v2(int device)
{
    int e = drv_begin_device();
    if (!e)
        e = device_ok(device);
    if (!e && !drv.primary_refs)
        e = ACU_INVALID_CONTEXT;
    if (!e && !--drv.primary_refs)
        contexts_gone();
    return drv_end(e);
}

CU
cuDevicePrimaryCtxReset_v2(int device)
{
    int e = drv_begin_device();
    if (!e)
        e = device_ok(device);
    if (!e)
        acu_device_reset();
    return drv_end(e);
}

CU
cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    CALL_DEVICE(device ? ACU_INVALID_DEVICE : (drv.primary.flags = flags, 0));
}

CU
cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    CALL_DEVICE(!flags || !active ? ACU_INVALID_VALUE
                : device
                    ? ACU_INVALID_DEVICE
                    : (*flags = drv.primary.flags, *active = drv.primary_refs > 0, 0));
}

/* -- contexts -- */

CU
cuCtxCreate_v2(struct drv_context **out, unsigned flags, int device)
{
    int e = drv_begin_device();
    if (!e)
        e = !out ? ACU_INVALID_VALUE : device_ok(device);
    if (!e && stack.n == STACK)
        e = ACU_OUT_OF_MEMORY;
    if (!e) {
        struct drv_context *c = xcalloc(1, sizeof *c);
        context_start(c, flags);
        *vec_push(&drv.contexts) = c;
        stack.v[stack.n++] = *out = c;
    }
    return drv_end(e);
}

CU
cuCtxCreate_v3(struct drv_context **out, const void *params, int n, unsigned flags,
               int device)
{
    return n ? acu_not_supported("cuCtxCreate with an execution affinity")
             : cuCtxCreate_v2(out, flags, device);
}

CU
cuCtxCreate_v4(struct drv_context **out, const void *params, unsigned flags, int device)
{
    return cuCtxCreate_v2(out, flags, device);
}

CU
cuCtxDestroy_v2(struct drv_context *c)
{
    int e = drv_begin_device();
    size_t i = 0;
    while (i < drv.contexts.n && drv.contexts.v[i] != c)
        i++;
    if (!e && i == drv.contexts.n)
        e = ACU_INVALID_CONTEXT;
    if (!e) {
        if (stack.n && stack.v[stack.n - 1] == c)
            stack.n--;
        drv.contexts.v[i] = drv.contexts.v[--drv.contexts.n];
        free(c);
        contexts_gone();
    }
    return drv_end(e);
}

CU
cuCtxPushCurrent_v2(struct drv_context *c)
{
    CALL_DEVICE(!context_valid(c)  ? ACU_INVALID_CONTEXT
                : stack.n == STACK ? ACU_OUT_OF_MEMORY
                                   : (stack.v[stack.n++] = c, 0));
}

CU
cuCtxPopCurrent_v2(struct drv_context **c)
{
    int e = drv_begin_device();
    if (!e && !stack.n)
        e = ACU_INVALID_CONTEXT;
    if (!e) {
        stack.n--;
        if (c)
            *c = stack.v[stack.n];
    }
    return drv_end(e);
}

CU
cuCtxSetCurrent(struct drv_context *c)
{
    int e = drv_begin_device();
    if (!e && c && !context_valid(c))
        e = ACU_INVALID_CONTEXT;
    if (!e && c && !stack.n)
        stack.n = 1;
    if (!e && c)
        stack.v[stack.n - 1] = c;
    else if (!e && stack.n)
        stack.n--;
    return drv_end(e);
}

CU
cuCtxGetCurrent(struct drv_context **c)
{
    CALL_DEVICE(!c ? ACU_INVALID_VALUE : (*c = drv_current(), 0));
}

CU
cuCtxGetDevice(int *device)
{
    CALL_DEVICE(!device          ? ACU_INVALID_VALUE
                : !drv_current() ? ACU_INVALID_CONTEXT
                                 : (*device = 0));
}

/* Older programs that put _v2 behind every name call this without a context. */
CU
cuCtxGetDevice_v2(int *device, struct drv_context *c)
{
    CALL_DEVICE(!device                               ? ACU_INVALID_VALUE
                : !context_valid(c) && !drv_current() ? ACU_INVALID_CONTEXT
                                                      : (*device = 0));
}

CU
cuCtxGetApiVersion(struct drv_context *c, unsigned *version)
{
    CALL_DEVICE(
        !version ? ACU_INVALID_VALUE
        : !c     ? (drv_current() ? (*version = DRIVER_VERSION, 0) : ACU_INVALID_CONTEXT)
        : !context_valid(c) ? ACU_INVALID_CONTEXT
                            : (*version = DRIVER_VERSION, 0));
}

CU
cuCtxGetId(struct drv_context *c, unsigned long long *id)
{
    int e = drv_begin_device();
    if (!c)
        c = drv_current();
    if (!e)
        e = !id ? ACU_INVALID_VALUE : !context_valid(c) ? ACU_INVALID_CONTEXT : 0;
    if (!e)
        *id = c->id;
    return drv_end(e);
}

CU
cuCtxGetFlags(unsigned *flags)
{
    CALL(!flags ? ACU_INVALID_VALUE : (*flags = drv_current()->flags, 0));
}

CU
cuCtxSetFlags(unsigned flags)
{
    CALL((drv_current()->flags = flags, 0));
}

/* Launches run to their end when they are made: there is nothing to wait for. */
CU
cuCtxSynchronize(void)
{
    CALL(0);
}

CU
cuCtxSynchronize_v2(struct drv_context *c)
{
    int e = drv_begin_device();
    if (!e && !context_valid(c) && !drv_current()) /* as cuCtxGetDevice_v2 */
        e = ACU_INVALID_CONTEXT;
    return drv_end(e ? e : acu_device_ready());
}

CU
cuCtxGetLimit(size_t *value, int limit)
{
    CALL(!value                   ? ACU_INVALID_VALUE
         : limit < 0 || limit > 7 ? ACU_UNSUPPORTED_LIMIT
                                  : (*value = drv_current()->limits[limit], 0));
}

static int
set_limit(int limit, size_t value)
{
    enum { PENDING = 4 };
    if (limit == PENDING)
        acu_pending_limit(value);
    drv_current()->limits[limit] = value;
    return 0;
}

CU
cuCtxSetLimit(int limit, size_t value)
{
    CALL(limit < 0 || limit > 7 ? ACU_UNSUPPORTED_LIMIT : set_limit(limit, value));
}

CU
cuCtxGetCacheConfig(int *config)
{
    CALL(!config ? ACU_INVALID_VALUE : (*config = drv_current()->cache_config, 0));
}

CU
cuCtxSetCacheConfig(int config)
{
    CALL((drv_current()->cache_config = config, 0));
}

CU
cuCtxGetSharedMemConfig(int *config)
{
    CALL(!config ? ACU_INVALID_VALUE : (*config = drv_current()->smem_config, 0));
}

CU
cuCtxSetSharedMemConfig(int config)
{
    CALL((drv_current()->smem_config = config, 0));
}

CU
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    CALL((least ? (void)(*least = 0) : (void)0,
          greatest ? (void)(*greatest = -5) : (void)0, 0));
}

CU
cuCtxResetPersistingL2Cache(void)
{
    CALL(0);
}

CU
cuCtxEnablePeerAccess(struct drv_context *peer, unsigned flags)
{
    CALL(!context_valid(peer) ? ACU_INVALID_CONTEXT : ACU_PEER_ACCESS_UNSUPPORTED);
}

CU
cuCtxDisablePeerAccess(struct drv_context *peer)
{
    CALL(!context_valid(peer) ? ACU_INVALID_CONTEXT : ACU_PEER_ACCESS_NOT_ENABLED);
}

CU
cuCtxAttach(struct drv_context **c, unsigned flags)
{
    CALL(!c ? ACU_INVALID_VALUE : (*c = drv_current(), 0));
}

CU
cuCtxDetach(struct drv_context *c)
{
    CALL(!context_valid(c) ? ACU_INVALID_CONTEXT : 0);
}

/* -- profiling: what was launched is always counted -- */

CU
cuProfilerInitialize(const char *config, const char *out, int mode)
{
    CALL_DEVICE(0);
}

CU
cuProfilerStart(void)
{
    CALL(0);
}

CU
cuProfilerStop(void)
{
    CALL(0);
}

CU
cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    CALL(0);
}
