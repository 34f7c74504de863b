/* cudart_function.c: kernels as objects: attributes, occupancy, libraries loaded by hand.
 */
#include "cuda/cudart/cudart.h"

/* -- attributes -- */

static int
function_load(const void *handle, struct acu_function **f)
{
    *f = acu_function_find(handle);
    return *f ? acu_function_load(*f) : ACU_INVALID_DEVICE_FUNCTION;
}

static int
attributes(struct rt_function_attributes *a, const void *handle)
{
    struct acu_function *f;
    int v[ACU_FUNC_END];
    if (!a)
        return ACU_INVALID_VALUE;
    int e = function_load(handle, &f);
    for (int i = 0; !e && i < ACU_FUNC_END; i++)
        e = acu_function_get(f, i, &v[i]);
    if (!e)
        *a = (struct rt_function_attributes)
        {
            .shared_bytes = (size_t)v[ACU_FUNC_SHARED_BYTES],
            .local_bytes = (size_t)v[ACU_FUNC_LOCAL_BYTES],
            .max_threads = v[ACU_FUNC_MAX_THREADS], .registers = v[ACU_FUNC_REGISTERS],
            .ptx_version = v[ACU_FUNC_PTX_VERSION],
            .binary_version = v[ACU_FUNC_BINARY_VERSION],
            .max_dynamic = v[ACU_FUNC_MAX_DYNAMIC], .carveout = v[ACU_FUNC_CARVEOUT],
#if CUDART >= 12
            .cluster_must_be_set = v[ACU_FUNC_CLUSTER_MUST_BE_SET],
            .cluster = {v[ACU_FUNC_CLUSTER_WIDTH], v[ACU_FUNC_CLUSTER_HEIGHT],
                        v[ACU_FUNC_CLUSTER_DEPTH]},
            .cluster_policy = v[ACU_FUNC_CLUSTER_POLICY],
            .non_portable_cluster = v[ACU_FUNC_NON_PORTABLE_CLUSTER],
#endif
        };
    return e;
}

EXPORT int
cudaFuncGetAttributes(struct rt_function_attributes *a, const void *f)
{
    CALL(attributes(a, f));
}

static int
set_attribute(const void *handle, int attr, int value)
{
    struct acu_function *f;
    int e = function_load(handle, &f);
    return e ? e : acu_function_set(f, attr, value);
}

EXPORT int
cudaFuncSetAttribute(const void *f, int attr, int value)
{
    CALL(set_attribute(f, attr, value));
}

EXPORT int
cudaKernelSetAttributeForDevice(const void *f, int attr, int value, int device)
{
    CALL(device ? ACU_INVALID_DEVICE : set_attribute(f, attr, value));
}

EXPORT int
cudaFuncSetCacheConfig(const void *f, int config)
{
    struct acu_function *fn = NULL;
    CALL(config < 0 || config > 3 ? ACU_INVALID_VALUE : function_load(f, &fn));
}

EXPORT int
cudaFuncSetSharedMemConfig(const void *f, int config)
{
    struct acu_function *fn = NULL;
    CALL(config < 0 || config > 2 ? ACU_INVALID_VALUE : function_load(f, &fn));
}

EXPORT int
cudaFuncGetName(const char **name, const void *handle)
{
    acu_begin_light();
    struct acu_function *f = acu_function_find(handle);
    if (name && f)
        *name = f->name;
    return acu_end(!name ? ACU_INVALID_VALUE : f ? 0 : ACU_INVALID_DEVICE_FUNCTION);
}

static int
param_info(const void *handle, size_t i, size_t *offset, size_t *size)
{
    struct acu_function *f;
    uint64_t at, bytes;
    int e = function_load(handle, &f);
    if (e)
        return e;
    if (!offset || !acu_function_param(f, i, &at, &bytes))
        return ACU_INVALID_VALUE;
    *offset = (size_t)at;
    if (size)
        *size = (size_t)bytes;
    return 0;
}

EXPORT int
cudaFuncGetParamInfo(const void *f, size_t i, size_t *offset, size_t *size)
{
    CALL(param_info(f, i, offset, size));
}

EXPORT int
cudaGetFuncBySymbol(struct acu_function **f, const void *symbol)
{
    CALL(f ? function_load(symbol, f) : ACU_INVALID_VALUE);
}

/* -- occupancy -- */

static int
occupancy(int *blocks, const void *handle, int threads, size_t dynamic)
{
    struct acu_function *f;
    if (!blocks || threads <= 0)
        return ACU_INVALID_VALUE;
    int e = function_load(handle, &f);
    return e ? e : acu_occupancy(f, (uint32_t)threads, dynamic, blocks);
}

EXPORT int
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads,
                                              size_t dynamic)
{
    CALL(occupancy(blocks, f, threads, dynamic));
}

EXPORT int
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f,
                                                       int threads, size_t dynamic,
                                                       unsigned flags)
{
    CALL(flags > 1 ? ACU_INVALID_VALUE : occupancy(blocks, f, threads, dynamic));
}

static int
available(size_t *bytes, const void *handle, int blocks, int threads)
{
    struct acu_function *f;
    int e = function_load(handle, &f);
    return e ? e : acu_occupancy_dynamic(f, blocks, threads, bytes);
}

EXPORT int
cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *f, int blocks,
                                          int threads)
{
    CALL(available(bytes, f, blocks, threads));
}

/* -- libraries: modules loaded by hand (CUDA 12.8 and later) -- */

EXPORT int
cudaLibraryLoadData(struct acu_module **lib, const void *code, int *jit,
                    void **jit_values, unsigned njit, int *options, void **values,
                    unsigned n)
{
    CALL(lib && code ? acu_module_load(code, "library", lib) : ACU_INVALID_VALUE);
}

EXPORT int
cudaLibraryLoadFromFile(struct acu_module **lib, const char *path, int *jit,
                        void **jit_values, unsigned njit, int *options, void **values,
                        unsigned n)
{
    CALL(lib && path ? acu_module_load_file(path, lib) : ACU_INVALID_VALUE);
}

EXPORT int
cudaLibraryUnload(struct acu_module *lib)
{
    CALL(acu_module_unload(lib));
}

EXPORT int
cudaLibraryGetKernel(struct acu_function **f, struct acu_module *lib, const char *name)
{
    CALL(!f || !name             ? ACU_INVALID_VALUE
         : acu_module_valid(lib) ? acu_module_function(lib, name, f)
                                 : ACU_INVALID_HANDLE);
}

static int
library_symbol(void **p, size_t *n, struct acu_module *lib, const char *name)
{
    struct acu_symbol *s;
    if (!name || (!p && !n))
        return ACU_INVALID_VALUE;
    if (!acu_module_valid(lib))
        return ACU_INVALID_HANDLE;
    int e = acu_module_symbol(lib, name, &s);
    if (e)
        return e;
    if (p)
        *p = PTR(s->addr);
    if (n)
        *n = s->size;
    return 0;
}

EXPORT int
cudaLibraryGetGlobal(void **p, size_t *n, struct acu_module *lib, const char *name)
{
    CALL(library_symbol(p, n, lib, name));
}

EXPORT int
cudaLibraryGetManaged(void **p, size_t *n, struct acu_module *lib, const char *name)
{
    CALL(library_symbol(p, n, lib, name));
}

static int
library_kernels(struct acu_function **list, unsigned room, unsigned *count,
                struct acu_module *lib)
{
    struct acu_function *f;
    unsigned n = 0;
    if (!acu_module_valid(lib))
        return ACU_INVALID_HANDLE;
    while (n < room && acu_module_function_at(lib, n, &f)) {
        if (list)
            list[n] = f;
        n++;
    }
    if (count)
        *count = n;
    return 0;
}

EXPORT int
cudaLibraryGetKernelCount(unsigned *count, struct acu_module *lib)
{
    CALL(count ? library_kernels(NULL, UINT32_MAX, count, lib) : ACU_INVALID_VALUE);
}

EXPORT int
cudaLibraryEnumerateKernels(struct acu_function **list, unsigned n,
                            struct acu_module *lib)
{
    CALL(list && n ? library_kernels(list, n, NULL, lib) : ACU_INVALID_VALUE);
}
