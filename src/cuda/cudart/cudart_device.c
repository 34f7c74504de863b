/* cudart_device.c: the device, its properties, limits and peers; versions; errors. */
#define _GNU_SOURCE
#include "cuda/cudart/cudart.h"

#include <dlfcn.h>
#include <stdio.h>

/* -- errors -- */

EXPORT int
cudaGetLastError(void)
{
    return acu_last_error(true);
}

EXPORT int
cudaPeekAtLastError(void)
{
    return acu_last_error(false);
}

EXPORT const char *
cudaGetErrorName(int e)
{
    const char *s = acu_error_runtime_name(e);
    return s ? s : "unrecognized error code";
}

EXPORT const char *
cudaGetErrorString(int e)
{
    return acu_error_runtime_name(e) ? acu_error_text(e) : "unrecognized error code";
}

/* -- versions -- */

enum { VERSION = CUDART == 13 ? 13000 : CUDART == 12 ? 12090 : 11080 };

EXPORT int
cudaRuntimeGetVersion(int *version)
{
    CALL_LIGHT(version ? (*version = VERSION, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaDriverGetVersion(int *version)
{
    CALL_LIGHT(version ? (*version = 13000, 0) : ACU_INVALID_VALUE);
}

/* -- the device -- */

static int
check_device(int device)
{
    return device ? ACU_INVALID_DEVICE : 0;
}

EXPORT int
cudaGetDeviceCount(int *n)
{
    acu_begin_light();
    int e = n ? 0 : ACU_INVALID_VALUE;
    if (!e) {
        *n = acu_device_count();
        e = *n ? 0 : ACU_NO_DEVICE;
    }
    return acu_end(e);
}

EXPORT int
cudaGetDevice(int *device)
{
    CALL_LIGHT(device ? (*device = 0, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaSetDevice(int device)
{
    CALL(check_device(device));
}

EXPORT int
cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    CALL(check_device(device));
}

EXPORT int
cudaSetValidDevices(int *devices, int n)
{
    int e = n < 0 || (n && !devices) ? ACU_INVALID_VALUE : 0;
    for (int i = 0; !e && i < n; i++)
        e = check_device(devices[i]);
    CALL_LIGHT(e);
}

EXPORT int
cudaChooseDevice(int *device, const void *prop)
{
    CALL_LIGHT(device && prop ? (*device = 0, 0) : ACU_INVALID_VALUE);
}

static unsigned device_flags;

EXPORT int
cudaSetDeviceFlags(unsigned flags)
{
    /* Scheduling of the host's waiting (bits 0 to 2), mapping of host memory, local
     * memory kept: nothing to do for any. */
    CALL_LIGHT(flags & ~0xffu ? ACU_INVALID_VALUE : (device_flags = flags, 0));
}

EXPORT int
cudaGetDeviceFlags(unsigned *flags)
{
    enum { MAP_HOST = 8 };
    CALL_LIGHT(flags ? (*flags = device_flags | MAP_HOST, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceSynchronize(void)
{
    CALL(0);
}

EXPORT int
cudaDeviceReset(void)
{
    acu_begin_light();
    acu_device_reset();
    acu_end(0);
    acu_last_error(true);
    return 0;
}

EXPORT int
cudaProfilerStart(void)
{
    CALL_LIGHT(0);
}

EXPORT int
cudaProfilerStop(void)
{
    CALL_LIGHT(0);
}

EXPORT int
cudaCtxResetPersistingL2Cache(void)
{
    CALL(0);
}

/* -- properties -- */

struct properties {
    char name[256];
    uint8_t uuid[16];
    char luid[8];
    unsigned luid_mask;
#define PROP_SIZE(name, attribute) size_t name;
#define PROP_INT(name, attribute) int name;
#include "cuda/properties.def"
#undef PROP_SIZE
#undef PROP_INT
#if CUDART >= 13
    int reserved[56];
#elif CUDART == 12
    int reserved[63];
#endif
};
#if CUDART == 13
_Static_assert(sizeof(struct properties) == 1008, "cudaDeviceProp of CUDA 13");
#elif CUDART == 12
_Static_assert(sizeof(struct properties) == 1032, "cudaDeviceProp of CUDA 12");
#else
_Static_assert(sizeof(struct properties) == 728, "cudaDeviceProp of CUDA 11.8");
#endif

static size_t
attribute(int number)
{
    int v = 0;
    return number && !acu_device_attribute(number, &v) ? (size_t)v : 0;
}

static int
properties(struct properties *p, int device)
{
    struct acu_props facts;
    if (!p)
        return ACU_INVALID_VALUE;
    if (device)
        return ACU_INVALID_DEVICE;
    acu_props(&facts);
    memset(p, 0, sizeof *p);
    memcpy(p->name, facts.name, sizeof p->name);
    memcpy(p->uuid, facts.uuid, sizeof p->uuid);
#define PROP_SIZE(name, number) p->name = attribute(number);
#define PROP_INT(name, number) p->name = (int)attribute(number);
#include "cuda/properties.def"
#undef PROP_SIZE
#undef PROP_INT
    p->total_memory = facts.memory;
    return 0;
}

/* Needs a machine, but no device. */
static int
properties_call(struct properties *p, int device)
{
    acu_begin_light();
    return acu_end(acu_device_count() ? properties(p, device) : ACU_NO_DEVICE);
}

#if CUDART == 12
/* Programs of CUDA 12 call this name; the old one is for those of CUDA 11, whose struct
 * ends earlier. */
EXPORT int
cudaGetDeviceProperties_v2(struct properties *p, int device)
{
    return properties_call(p, device);
}

EXPORT int
cudaGetDeviceProperties(void *p, int device)
{
    enum { SIZE_11 = 728 };
    struct properties q;
    int e = properties_call(p ? &q : NULL, device);
    if (!e)
        memcpy(p, &q, SIZE_11);
    return e;
}
#else
EXPORT int
cudaGetDeviceProperties(struct properties *p, int device)
{
    return properties_call(p, device);
}
#endif

EXPORT int
cudaDeviceGetAttribute(int *value, int attr, int device)
{
    acu_begin_light();
    return acu_end(!acu_device_count() ? ACU_NO_DEVICE
                   : !value            ? ACU_INVALID_VALUE
                   : device            ? ACU_INVALID_DEVICE
                                       : acu_device_attribute(attr, value));
}

EXPORT int
cudaDeviceGetPCIBusId(char *id, int len, int device)
{
    if (!id || len < 13)
        CALL_LIGHT(ACU_INVALID_VALUE);
    snprintf(id, (size_t)len, "0000:01:00.0");
    CALL_LIGHT(check_device(device));
}

EXPORT int
cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    unsigned domain = 0, bus = 0, dev = 0;
    if (!device || !id)
        CALL_LIGHT(ACU_INVALID_VALUE);
    bool ok = sscanf(id, "%x:%x:%x", &domain, &bus, &dev) == 3 ||
              (domain = 0, sscanf(id, "%x:%x", &bus, &dev) == 2);
    *device = 0;
    CALL_LIGHT(ok && !domain && bus == 1 && !dev ? 0 : ACU_INVALID_DEVICE);
}

EXPORT int
cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const void *format, int device)
{
    CALL_LIGHT(device            ? ACU_INVALID_DEVICE
               : width && format ? (*width = 134217728, 0)
                                 : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    CALL_LIGHT(0);
}

/* -- limits and preferences: kept; the heap of kernels and the launches that they may
 * have waiting have an effect -- */

static size_t limits[] = {1024,    /* stack of a thread */
                          1 << 20, /* printf buffer */
                          8 << 20, /* heap of malloc in kernels */
                          2,       2048, 128, 0};
enum { NLIMITS = sizeof limits / sizeof *limits };

static int
set_limit(int limit, size_t value)
{
    enum { HEAP = 2, PENDING = 4 };
    if (limit < 0 || limit >= NLIMITS)
        return ACU_UNSUPPORTED_LIMIT;
    int e = limit == HEAP ? acu_heap_limit(value) : 0;
    if (limit == PENDING)
        acu_pending_limit(value);
    if (!e)
        limits[limit] = value;
    return e;
}

EXPORT int
cudaDeviceSetLimit(int limit, size_t value)
{
    CALL(set_limit(limit, value));
}

EXPORT int
cudaDeviceGetLimit(size_t *value, int limit)
{
    CALL(!value                          ? ACU_INVALID_VALUE
         : limit < 0 || limit >= NLIMITS ? ACU_UNSUPPORTED_LIMIT
                                         : (*value = limits[limit], 0));
}

static int cache_config, bank_config;

EXPORT int
cudaDeviceSetCacheConfig(int config)
{
    CALL(config < 0 || config > 3 ? ACU_INVALID_VALUE : (cache_config = config, 0));
}

EXPORT int
cudaDeviceGetCacheConfig(int *config)
{
    CALL(config ? (*config = cache_config, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceSetSharedMemConfig(int config)
{
    CALL(config < 0 || config > 2 ? ACU_INVALID_VALUE : (bank_config = config, 0));
}

EXPORT int
cudaDeviceGetSharedMemConfig(int *config)
{
    CALL(config ? (*config = bank_config ? bank_config : 1, 0) : ACU_INVALID_VALUE);
}

#if CUDART < 13
/* Names of the first CUDA, kept till 12. */
EXPORT int
cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

EXPORT int
cudaThreadExit(void)
{
    return cudaDeviceReset();
}

EXPORT int
cudaThreadSetLimit(int limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

EXPORT int
cudaThreadGetLimit(size_t *value, int limit)
{
    return cudaDeviceGetLimit(value, limit);
}

EXPORT int
cudaThreadSetCacheConfig(int config)
{
    return cudaDeviceSetCacheConfig(config);
}

EXPORT int
cudaThreadGetCacheConfig(int *config)
{
    return cudaDeviceGetCacheConfig(config);
}

EXPORT int
cudaSetDoubleForDevice(double *d)
{
    CALL_LIGHT(d ? 0 : ACU_INVALID_VALUE);
}

EXPORT int
cudaSetDoubleForHost(double *d)
{
    CALL_LIGHT(d ? 0 : ACU_INVALID_VALUE);
}
#endif

/* -- peers: there is one device -- */

EXPORT int
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    CALL(device || peer ? ACU_INVALID_DEVICE : can ? (*can = 0, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CALL(ACU_INVALID_DEVICE);
}

EXPORT int
cudaDeviceDisablePeerAccess(int peer)
{
    CALL(peer ? ACU_INVALID_DEVICE : ACU_PEER_ACCESS_NOT_ENABLED);
}

EXPORT int
cudaDeviceGetP2PAttribute(int *value, int attr, int source, int target)
{
    CALL(ACU_INVALID_DEVICE);
}

EXPORT int
cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    CALL(0);
}

/* -- the driver below -- */

/* Entry points of the driver API, from the library that stands for it. */
static int
entry_point(const char *name, unsigned version, unsigned long long flags, void **out,
            int *status)
{
    enum { FOUND, NOT_FOUND };
    if (!name || !out)
        return ACU_INVALID_VALUE;
    *out = NULL;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get)(const char *, void **, int, uint64_t, int *) = NULL;
    if (lib)
        *(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
    int found = 1;
    if (get)
        get(name, out, (int)version, flags, &found);
    if (status)
        *status = *out ? FOUND : NOT_FOUND;
    return *out || status ? 0 : ACU_NOT_FOUND;
}

#if CUDART == 11
EXPORT int
cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags)
{
    return entry_point(name, VERSION, flags, out, NULL);
}
#else
EXPORT int
cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                        int *status)
{
    return entry_point(name, VERSION, flags, out, status);
}

EXPORT int
cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                 unsigned long long flags, int *status)
{
    return entry_point(name, version, flags, out, status);
}
#endif

/* Tables of what is in no manual; programs that ask can do without. */
EXPORT int
cudaGetExportTable(const void **table, const void *id)
{
    if (table)
        *table = NULL;
    return ACU_NOT_SUPPORTED;
}
