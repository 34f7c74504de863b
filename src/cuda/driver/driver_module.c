/* driver_module.c: modules, libraries, linking, functions, launches, occupancy.
 *
 * A CUlibrary is a module, a CUkernel is its function: there is one device. What
 * cuLinkComplete gives as a cubin is the linked module's PTX, which every call that loads
 * modules takes. */
#include "cuda/core/core_graph.h"
#include "cuda/driver/driver.h"

#include "base/arena.h"

#include <stdlib.h>

/* -- JIT options -- */

enum {
    JIT_INFO_LOG = 3,
    JIT_INFO_LOG_SIZE,
    JIT_ERROR_LOG,
    JIT_ERROR_LOG_SIZE,
};

struct jit {
    unsigned n;
    const int *options;
    void **values;
    void **out; /* where lengths of logs go; values, unless those were kept aside */
};

static void *
jit_value(const struct jit *j, int option)
{
    for (unsigned i = 0; i < j->n; i++)
        if (j->options[i] == option)
            return j->values[i];
    return NULL;
}

/* Puts text into a log buffer and its length into the size's value, as CUDA does. */
static void
jit_log(const struct jit *j, int log, const char *text)
{
    char *buf = jit_value(j, log);
    size_t room = (size_t)(uintptr_t)jit_value(j, log + 1), n = strlen(text);
    if (!buf || !room)
        room = n = 0;
    else if (n >= room)
        n = room - 1;
    if (room) {
        memcpy(buf, text, n);
        buf[n] = 0;
    }
    for (unsigned i = 0; i < j->n; i++)
        if (j->options[i] == log + 1)
            j->out[i] = (void *)(uintptr_t)n;
}

/* Messages go to the log where there is one, else to stderr. */
static void
jit_begin(const struct jit *j)
{
    if (jit_value(j, JIT_ERROR_LOG))
        acu_capture_begin();
}

static int
jit_end(const struct jit *j, int e)
{
    if (jit_value(j, JIT_ERROR_LOG)) {
        char *text = acu_capture_end();
        jit_log(j, JIT_ERROR_LOG, text);
        free(text);
    }
    if (jit_value(j, JIT_INFO_LOG))
        jit_log(j, JIT_INFO_LOG, "");
    return e;
}

/* -- modules -- */

static int
load_data(struct acu_module **m, const void *image, const struct jit *j)
{
    if (!m || !image || (j->n && (!j->options || !j->values)))
        return ACU_INVALID_VALUE;
    jit_begin(j);
    return jit_end(j, acu_module_load(image, "module", m));
}

static int
load_file(struct acu_module **m, const char *path, const struct jit *j)
{
    if (!m || !path || (j->n && (!j->options || !j->values)))
        return ACU_INVALID_VALUE;
    jit_begin(j);
    return jit_end(j, acu_module_load_file(path, m));
}

CU
cuModuleLoad(struct acu_module **m, const char *path)
{
    CALL(load_file(m, path, &(struct jit){0}));
}

CU
cuModuleLoadData(struct acu_module **m, const void *image)
{
    CALL(load_data(m, image, &(struct jit){0}));
}

CU
cuModuleLoadDataEx(struct acu_module **m, const void *image, unsigned n,
                   const int *options, void **values)
{
    CALL(load_data(m, image, &(struct jit){n, options, values, values}));
}

CU
cuModuleLoadFatBinary(struct acu_module **m, const void *image)
{
    CALL(load_data(m, image, &(struct jit){0}));
}

static int
unload(struct acu_module *m)
{
    return acu_module_valid(m) ? acu_module_unload(m) : ACU_INVALID_HANDLE;
}

CU
cuModuleUnload(struct acu_module *m)
{
    CALL(unload(m));
}

static int
get_function(struct acu_function **f, struct acu_module *m, const char *name)
{
    return !f || !name           ? ACU_INVALID_VALUE
           : acu_module_valid(m) ? acu_module_function(m, name, f)
                                 : ACU_INVALID_HANDLE;
}

CU
cuModuleGetFunction(struct acu_function **f, struct acu_module *m, const char *name)
{
    CALL(get_function(f, m, name));
}

static int
get_functions(struct acu_function **list, unsigned room, unsigned *count,
              struct acu_module *m)
{
    struct acu_function *f;
    unsigned n = 0;
    if (!acu_module_valid(m))
        return ACU_INVALID_HANDLE;
    while (n < room && acu_module_function_at(m, n, &f)) {
        if (list)
            list[n] = f;
        n++;
    }
    if (count)
        *count = n;
    return 0;
}

CU
cuModuleGetFunctionCount(unsigned *count, struct acu_module *m)
{
    CALL(!count ? ACU_INVALID_VALUE : get_functions(NULL, UINT32_MAX, count, m));
}

CU
cuModuleEnumerateFunctions(struct acu_function **list, unsigned n, struct acu_module *m)
{
    CALL(!list || !n ? ACU_INVALID_VALUE : get_functions(list, n, NULL, m));
}

static int
get_global(uint64_t *p, size_t *bytes, struct acu_module *m, const char *name)
{
    struct acu_symbol *s;
    if (!name || (!p && !bytes))
        return ACU_INVALID_VALUE;
    if (!acu_module_valid(m))
        return ACU_INVALID_HANDLE;
    int e = acu_module_symbol(m, name, &s);
    if (!e && p)
        *p = s->addr;
    if (!e && bytes)
        *bytes = s->size;
    return e;
}

CU
cuModuleGetGlobal_v2(uint64_t *p, size_t *bytes, struct acu_module *m, const char *name)
{
    CALL(get_global(p, bytes, m, name));
}

CU
cuModuleGetLoadingMode(int *mode)
{
    CALL_DEVICE(!mode ? ACU_INVALID_VALUE : (*mode = 1, 0)); /* eager */
}

/* -- libraries -- */

CU
cuLibraryLoadData(struct acu_module **lib, const void *image, int *jit, void **jit_values,
                  unsigned njit, int *options, void **values, unsigned n)
{
    CALL_DEVICE(
        (drv_primary(), e_ = acu_device_ready())
            ? e_
            : load_data(lib, image, &(struct jit){njit, jit, jit_values, jit_values}));
}

CU
cuLibraryLoadFromFile(struct acu_module **lib, const char *path, int *jit,
                      void **jit_values, unsigned njit, int *options, void **values,
                      unsigned n)
{
    CALL_DEVICE(
        (drv_primary(), e_ = acu_device_ready())
            ? e_
            : load_file(lib, path, &(struct jit){njit, jit, jit_values, jit_values}));
}

CU
cuLibraryUnload(struct acu_module *lib)
{
    CALL_DEVICE(unload(lib));
}

CU
cuLibraryGetKernel(struct acu_function **f, struct acu_module *lib, const char *name)
{
    CALL_DEVICE((e_ = acu_device_ready()) ? e_ : get_function(f, lib, name));
}

CU
cuLibraryGetKernelCount(unsigned *count, struct acu_module *lib)
{
    CALL_DEVICE(!count ? ACU_INVALID_VALUE : get_functions(NULL, UINT32_MAX, count, lib));
}

CU
cuLibraryEnumerateKernels(struct acu_function **list, unsigned n, struct acu_module *lib)
{
    CALL_DEVICE(!list || !n ? ACU_INVALID_VALUE : get_functions(list, n, NULL, lib));
}

CU
cuLibraryGetModule(struct acu_module **m, struct acu_module *lib)
{
    CALL(!m                       ? ACU_INVALID_VALUE
         : !acu_module_valid(lib) ? ACU_INVALID_HANDLE
                                  : (*m = lib, 0));
}

CU
cuLibraryGetGlobal(uint64_t *p, size_t *bytes, struct acu_module *lib, const char *name)
{
    CALL(get_global(p, bytes, lib, name));
}

CU
cuLibraryGetManaged(uint64_t *p, size_t *bytes, struct acu_module *lib, const char *name)
{
    struct acu_range r;
    uint64_t a = 0;
    CALL((e_ = get_global(&a, bytes, lib, name)) ? e_
         : !acu_range_find(a, &r) || r.kind != ACU_KIND_MANAGED
             ? ACU_NOT_FOUND
             : (p ? (void)(*p = a) : (void)0, 0));
}

/* -- linking -- */

struct drv_link {
    struct jit jit; /* options as they were given: later calls write to the same logs */
    int *options;
    void **values;
    struct acu_link *link;
};

enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBIN, INPUT_OBJECT, INPUT_LIBRARY, INPUT_END };

CU
cuLinkCreate_v2(unsigned n, int *options, void **values, struct drv_link **state)
{
    int e = drv_begin();
    if (!e && (!state || (n && (!options || !values))))
        e = ACU_INVALID_VALUE;
    if (!e) {
        struct drv_link *l = *state = xcalloc(1, sizeof *l);
        l->options = xcalloc(n + 1, sizeof *l->options);
        l->values = xcalloc(n + 1, sizeof *l->values);
        if (n) {
            memcpy(l->options, options, n * sizeof *options);
            memcpy(l->values, values, n * sizeof *values);
        }
        l->jit = (struct jit){n, l->options, l->values, values};
        l->link = acu_link_new();
    }
    return drv_end(e);
}

static int
link_data(struct drv_link *l, int type, const void *data, size_t size, const char *name)
{
    if (!l || !data || type < 0 || type >= INPUT_END)
        return ACU_INVALID_VALUE;
    jit_begin(&l->jit);
    return jit_end(&l->jit, acu_link_add(l->link, data, size,
                                         name && *name ? name : "linker input"));
}

CU
cuLinkAddData_v2(struct drv_link *l, int type, const void *data, size_t size,
                 const char *name, unsigned n, int *options, void **values)
{
    CALL(link_data(l, type, data, size, name));
}

static int
link_file(struct drv_link *l, int type, const char *path)
{
    if (!l || !path || type < 0 || type >= INPUT_END)
        return ACU_INVALID_VALUE;
    /* The library of CUDA functions for device code is built in. */
    if (type == INPUT_LIBRARY && strstr(path, "cudadevrt"))
        return 0;
    jit_begin(&l->jit);
    return jit_end(&l->jit, acu_link_add_file(l->link, path));
}

CU
cuLinkAddFile_v2(struct drv_link *l, int type, const char *path, unsigned n, int *options,
                 void **values)
{
    CALL(link_file(l, type, path));
}

static int
link_complete(struct drv_link *l, void **image, size_t *size)
{
    char *text = NULL;
    if (!l || !image)
        return ACU_INVALID_VALUE;
    jit_begin(&l->jit);
    int e = jit_end(&l->jit, acu_link_complete(l->link, &text));
    if (!e)
        *image = text;
    if (!e && size)
        *size = strlen(text) + 1;
    return e;
}

CU
cuLinkComplete(struct drv_link *l, void **image, size_t *size)
{
    CALL(link_complete(l, image, size));
}

CU
cuLinkDestroy(struct drv_link *l)
{
    CALL(!l ? ACU_INVALID_VALUE
            : (acu_link_free(l->link), free(l->options), free(l->values), free(l), 0));
}

/* -- functions -- */

bool
drv_function_valid(const struct acu_function *f)
{
    return acu_function_find(f) == f && f;
}

CU
cuFuncGetAttribute(int *value, int attribute, struct acu_function *f)
{
    CALL(!value                   ? ACU_INVALID_VALUE
         : !drv_function_valid(f) ? ACU_INVALID_HANDLE
                                  : acu_function_get(f, attribute, value));
}

CU
cuFuncSetAttribute(struct acu_function *f, int attribute, int value)
{
    CALL(!drv_function_valid(f) ? ACU_INVALID_HANDLE
                                : acu_function_set(f, attribute, value));
}

CU
cuKernelGetAttribute(int *value, int attribute, struct acu_function *f, int device)
{
    return device ? ACU_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, f);
}

CU
cuKernelSetAttribute(int attribute, int value, struct acu_function *f, int device)
{
    return device ? ACU_INVALID_DEVICE : cuFuncSetAttribute(f, attribute, value);
}

CU
cuFuncSetCacheConfig(struct acu_function *f, int config)
{
    CALL(!drv_function_valid(f)     ? ACU_INVALID_HANDLE
         : config < 0 || config > 3 ? ACU_INVALID_VALUE
                                    : (f->cache_config = config, 0));
}

CU
cuKernelSetCacheConfig(struct acu_function *f, int config, int device)
{
    return device ? ACU_INVALID_DEVICE : cuFuncSetCacheConfig(f, config);
}

CU
cuFuncSetSharedMemConfig(struct acu_function *f, int config)
{
    CALL(drv_function_valid(f) ? 0 : ACU_INVALID_HANDLE);
}

CU
cuFuncGetModule(struct acu_module **m, struct acu_function *f)
{
    CALL(!m                       ? ACU_INVALID_VALUE
         : !drv_function_valid(f) ? ACU_INVALID_HANDLE
                                  : (*m = f->module, 0));
}

CU
cuKernelGetLibrary(struct acu_module **lib, struct acu_function *f)
{
    return cuFuncGetModule(lib, f);
}

CU
cuKernelGetFunction(struct acu_function **out, struct acu_function *f)
{
    CALL(!out                     ? ACU_INVALID_VALUE
         : !drv_function_valid(f) ? ACU_INVALID_HANDLE
                                  : (*out = f, 0));
}

CU
cuFuncGetName(const char **name, struct acu_function *f)
{
    CALL_DEVICE(!name                    ? ACU_INVALID_VALUE
                : !drv_function_valid(f) ? ACU_INVALID_HANDLE
                                         : (*name = f->name, 0));
}

CU
cuKernelGetName(const char **name, struct acu_function *f)
{
    return cuFuncGetName(name, f);
}

static int
param_info(const struct acu_function *f, size_t i, size_t *offset, size_t *size)
{
    uint64_t at, bytes;
    if (!drv_function_valid(f))
        return ACU_INVALID_HANDLE;
    if (!offset || !acu_function_param(f, i, &at, &bytes))
        return ACU_INVALID_VALUE;
    *offset = at;
    if (size)
        *size = bytes;
    return 0;
}

CU
cuFuncGetParamInfo(struct acu_function *f, size_t i, size_t *offset, size_t *size)
{
    CALL_DEVICE(param_info(f, i, offset, size));
}

CU
cuKernelGetParamInfo(struct acu_function *f, size_t i, size_t *offset, size_t *size)
{
    return cuFuncGetParamInfo(f, i, offset, size);
}

CU
cuFuncIsLoaded(int *loaded, struct acu_function *f)
{
    CALL(!loaded                  ? ACU_INVALID_VALUE
         : !drv_function_valid(f) ? ACU_INVALID_HANDLE
                                  : (*loaded = 1, 0));
}

CU
cuFuncLoad(struct acu_function *f)
{
    CALL(drv_function_valid(f) ? acu_function_load(f) : ACU_INVALID_HANDLE);
}

/* -- occupancy -- */

CU
cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, struct acu_function *f,
                                                     int threads, size_t dynamic,
                                                     unsigned flags)
{
    CALL(!blocks || threads <= 0 || flags > 1 ? ACU_INVALID_VALUE
         : !drv_function_valid(f)             ? ACU_INVALID_HANDLE
                                  : acu_occupancy(f, (uint32_t)threads, dynamic, blocks));
}

CU
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct acu_function *f,
                                            int threads, size_t dynamic)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads,
                                                                dynamic, 0);
}

CU
cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, struct acu_function *f, int blocks,
                                        int threads)
{
    CALL(!drv_function_valid(f) ? ACU_INVALID_HANDLE
                                : acu_occupancy_dynamic(f, blocks, threads, bytes));
}

/* The block size that keeps most threads resident; of equals the largest. */
static int
potential(int *grid, int *block, struct acu_function *f, size_t (*bytes_of)(int threads),
          size_t dynamic, int limit)
{
    struct acu_props p;
    int most, best = 0;
    if (!grid || !block)
        return ACU_INVALID_VALUE;
    if (!drv_function_valid(f))
        return ACU_INVALID_HANDLE;
    int e = acu_function_get(f, ACU_FUNC_MAX_THREADS, &most);
    acu_props(&p);
    if (limit > 0 && limit < most)
        most = limit;
    for (int t = (most + p.warp - 1) / p.warp * p.warp; !e && t > 0; t -= p.warp) {
        int threads = t < most ? t : most, n;
        size_t bytes = bytes_of ? bytes_of(threads) : dynamic;
        e = acu_occupancy(f, (uint32_t)threads, bytes, &n);
        if (!e && n * threads > best) {
            best = n * threads;
            *block = threads;
            *grid = n * p.sms;
        }
    }
    return e ? e : best ? 0 : ACU_INVALID_VALUE;
}

CU
cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, struct acu_function *f,
                                          size_t (*bytes_of)(int), size_t dynamic,
                                          int limit, unsigned flags)
{
    CALL(flags > 1 ? ACU_INVALID_VALUE
                   : potential(grid, block, f, bytes_of, dynamic, limit));
}

CU
cuOccupancyMaxPotentialBlockSize(int *grid, int *block, struct acu_function *f,
                                 size_t (*bytes_of)(int), size_t dynamic, int limit)
{
    CALL(potential(grid, block, f, bytes_of, dynamic, limit));
}

/* -- launches -- */

/* Pointers into the packed buffer of `extra`: pairs of a key and a value. */
static int
unpack(struct acu_function *f, void **extra, void ***args)
{
    enum { END, POINTER, SIZE };
    char *buffer = NULL;
    size_t size = 0;
    for (size_t i = 0; (uintptr_t)extra[i] != END; i += 2) {
        if ((uintptr_t)extra[i] == POINTER)
            buffer = extra[i + 1];
        else if ((uintptr_t)extra[i] == SIZE)
            size = *(size_t *)extra[i + 1];
        else
            return ACU_INVALID_VALUE;
    }
    int e = acu_function_load(f);
    if (e)
        return e;
    size_t n = f->kernel->nparams;
    *args = xcalloc(n + 1, sizeof **args);
    for (size_t i = 0; i < n; i++) {
        uint64_t at, bytes;
        if (!acu_function_param(f, i, &at, &bytes) || at + bytes > size || !buffer) {
            acu_say("%s: the buffer of parameters holds %zu bytes, too few for parameter "
                    "%zu",
                    f->name, size, i + 1);
            return ACU_INVALID_VALUE;
        }
        (*args)[i] = buffer + at;
    }
    return 0;
}

int
drv_launch(struct acu_function *f, struct acu_launch *l, drv_stream s, void **params,
           void **extra)
{
    void **packed = NULL;
    if (!drv_function_valid(f) || !acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (params && extra)
        return ACU_INVALID_VALUE;
    int e = extra ? unpack(f, extra, &packed) : 0;
    l->args = extra ? packed : params;
    l->told = true;
    if (!e)
        e = drv_bind_refs(f);
    if (!e)
        e = acu_do_launch(s, f, l);
    free(packed);
    return e;
}

CU
cuLaunchKernel(struct acu_function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
               unsigned by, unsigned bz, unsigned smem, drv_stream s, void **params,
               void **extra)
{
    struct acu_launch l = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_scratchpad = smem};
    CALL(drv_launch(f, &l, s, params, extra));
}

CU
cuLaunchCooperativeKernel(struct acu_function *f, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned smem,
                          drv_stream s, void **params)
{
    struct acu_launch l = {.grid = {gx, gy, gz},
                           .block = {bx, by, bz},
                           .dynamic_scratchpad = smem,
                           .cooperative = true};
    CALL(drv_launch(f, &l, s, params, NULL));
}

static int
config_launch(const struct drv_config *c, struct acu_launch *l)
{
    if (!c || (c->nattributes && !c->attributes))
        return ACU_INVALID_VALUE;
    *l = (struct acu_launch){.grid = {c->grid[0], c->grid[1], c->grid[2]},
                             .block = {c->block[0], c->block[1], c->block[2]},
                             .dynamic_scratchpad = c->smem};
    if (!acu_stream_valid(c->stream))
        return ACU_INVALID_HANDLE;
    for (unsigned i = 0; i < c->nattributes; i++) {
        const struct drv_attribute *a = &c->attributes[i];
        int e = acu_launch_attribute(l, ACU_ON_LAUNCH, acu_capturing(c->stream), a->id,
                                     a->value);
        if (e)
            return e;
    }
    return 0;
}

static int
launch_config(const struct drv_config *c, struct acu_function *f, void **params,
              void **extra)
{
    struct acu_launch l;
    int e = config_launch(c, &l);
    return e ? e : drv_launch(f, &l, c->stream, params, extra);
}

static int
clusters(int *n, struct acu_function *f, const struct drv_config *c,
         int (*ask)(struct acu_function *, const struct acu_launch *, int *))
{
    struct acu_launch l;
    if (!n)
        return ACU_INVALID_VALUE;
    if (!drv_function_valid(f))
        return ACU_INVALID_HANDLE;
    int e = config_launch(c, &l);
    return e ? e : ask(f, &l, n);
}

CU
cuOccupancyMaxActiveClusters(int *n, struct acu_function *f, const struct drv_config *c)
{
    CALL(clusters(n, f, c, acu_occupancy_clusters));
}

CU
cuOccupancyMaxPotentialClusterSize(int *size, struct acu_function *f,
                                   const struct drv_config *c)
{
    CALL(clusters(size, f, c, acu_occupancy_cluster_size));
}

CU
cuLaunchKernelEx(const struct drv_config *c, struct acu_function *f, void **params,
                 void **extra)
{
    CALL(launch_config(c, f, params, extra));
}
