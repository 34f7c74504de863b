/* cudart_function.c: kernels as objects: attributes, occupancy, libraries loaded by hand.
 */
#define _GNU_SOURCE
#include "cuda/cudart.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- attributes -- */

enum { FUNC_MAX_DYNAMIC = 8, FUNC_CARVEOUT = 9, FUNC_LAST = 15 };

static int
function_load(const void *handle, struct acu_function **f)
{
    *f = acu_function_find(handle);
    return *f ? acu_function_load(*f) : ACU_INVALID_DEVICE_FUNCTION;
}

/* Dynamic scratchpad that a launch may ask for. */
static int
max_dynamic(const struct acu_function *f)
{
    struct acu_props p;
    acu_props(&p);
    int left = p.smem_block - (int)f->kernel->scratchpad;
    return f->dynamic_set ? (int)f->dynamic_max : left > 0 ? left : 0;
}

/* Threads of a block, as registers and .maxntid allow. */
static int
max_threads(const struct acu_function *f)
{
    struct acu_props p;
    acu_props(&p);
    int n = p.max_threads_block;
    if (f->kernel->max_block_threads && (int)f->kernel->max_block_threads < n)
        n = (int)f->kernel->max_block_threads;
    uint32_t regs = acu_function_registers(f);
    int fit = regs ? p.regs_block / (int)regs / p.warp * p.warp : n;
    return fit < n ? fit : n;
}

static int
attributes(struct rt_function_attributes *a, const void *handle)
{
    struct acu_function *f;
    struct acu_props p;
    if (!a)
        return ACU_INVALID_VALUE;
    int e = function_load(handle, &f);
    if (e)
        return e;
    acu_props(&p);
    *a = (struct rt_function_attributes){.shared_bytes = f->kernel->scratchpad,
                                         .local_bytes = f->kernel->local_bytes,
                                         .max_threads = max_threads(f),
                                         .registers = (int)acu_function_registers(f),
                                         .ptx_version = (int)acu_function_capability(f),
                                         .binary_version = 10 * p.major + p.minor,
                                         .max_dynamic = max_dynamic(f),
                                         .carveout = f->carveout};
    return 0;
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
    struct acu_props p;
    int e = function_load(handle, &f);
    if (e)
        return e;
    acu_props(&p);
    switch (attr) {
    case FUNC_MAX_DYNAMIC:
        if (value < 0 || value > p.smem_block_optin - (int)f->kernel->scratchpad)
            return ACU_INVALID_VALUE;
        f->dynamic_set = true;
        f->dynamic_max = (uint32_t)value;
        return 0;
    case FUNC_CARVEOUT:
        if (value < -1 || value > 100)
            return ACU_INVALID_VALUE;
        f->carveout = value;
        return 0;
    default: /* clusters */
        return attr > FUNC_CARVEOUT && attr < FUNC_LAST && !value ? 0 : ACU_INVALID_VALUE;
    }
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

/* The most dynamic scratchpad with which `blocks` blocks reside, by bisection over what a
 * block may have: residency falls as scratchpad grows. */
static int
available(size_t *bytes, const void *handle, int blocks, int threads)
{
    struct acu_function *f;
    struct acu_props p;
    int n = 0;
    if (!bytes || blocks <= 0 || threads <= 0)
        return ACU_INVALID_VALUE;
    int e = function_load(handle, &f);
    if (!e)
        e = acu_occupancy(f, (uint32_t)threads, 0, &n);
    if (e || n < blocks)
        return e ? e : ACU_INVALID_VALUE;
    acu_props(&p);
    size_t lo = 0, hi = (size_t)p.smem_block_optin - f->kernel->scratchpad + 1;
    while (hi - lo > 1) { /* lo fits, hi does not */
        size_t mid = lo + (hi - lo) / 2;
        e = acu_occupancy(f, (uint32_t)threads, mid, &n);
        if (e)
            return e;
        if (n >= blocks)
            lo = mid;
        else
            hi = mid;
    }
    *bytes = lo;
    return 0;
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

/* A file's contents, NUL-terminated; NULL if it cannot be read. */
static char *
read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
        size_t n = (size_t)st.st_size, at = 0;
        text = malloc(n + 1);
        while (text && at < n) {
            ssize_t r = read(fd, text + at, n - at);
            if (r <= 0)
                break;
            at += (size_t)r;
        }
        if (text)
            text[at] = 0;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static int
load_file(struct acu_module **lib, const char *path)
{
    if (!lib || !path)
        return ACU_INVALID_VALUE;
    char *image = read_file(path);
    int e = image ? acu_module_load(image, path, lib) : ACU_FILE_NOT_FOUND;
    free(image);
    return e;
}

EXPORT int
cudaLibraryLoadFromFile(struct acu_module **lib, const char *path, int *jit,
                        void **jit_values, unsigned njit, int *options, void **values,
                        unsigned n)
{
    CALL(load_file(lib, path));
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
