/* cudart_start.c: what compiled programs call before main and at a launch: registration
 * of fatbins, functions and variables, and the launch itself. These entry points are in
 * no manual; their order is what nvcc and clang emit. */
#include "cuda/cudart/cudart.h"

/* -- registration -- */

EXPORT void **
__cudaRegisterFatBinary(void *wrapper)
{
    acu_begin_light();
    struct acu_module *m = acu_register_image(wrapper);
    acu_end_quiet(0);
    return (void **)m;
}

EXPORT void
__cudaRegisterFatBinaryEnd(void **handle)
{
    acu_begin_light();
    acu_register_end((struct acu_module *)handle);
    acu_end_quiet(0);
}

EXPORT void
__cudaUnregisterFatBinary(void **handle)
{
    acu_begin_light();
    acu_unregister_image((struct acu_module *)handle);
    acu_end_quiet(0);
}

EXPORT void
__cudaRegisterFunction(void **handle, const char *host, char *device_fun,
                       const char *device_name, int thread_limit, void *tid, void *bid,
                       struct rt_dim3 *block, struct rt_dim3 *grid, int *warp)
{
    acu_begin_light();
    acu_register_function((struct acu_module *)handle, host, device_name);
    acu_end_quiet(0);
}

EXPORT void
__cudaRegisterVar(void **handle, char *host, char *device_address,
                  const char *device_name, int ext, size_t size, int constant, int global)
{
    acu_begin_light();
    acu_register_symbol((struct acu_module *)handle, host, device_name, size, constant);
    acu_end_quiet(0);
}

EXPORT void
__cudaRegisterManagedVar(void **handle, void **host, char *device_address,
                         const char *device_name, int ext, size_t size, int constant,
                         int global)
{
    acu_begin_light();
    acu_register_managed((struct acu_module *)handle, host, device_name, size);
    acu_end_quiet(0);
}

/* Managed variables are ready as soon as there is a device; the program may touch them
 * before any other call, so the device is made now. */
EXPORT char
__cudaInitModule(void **handle)
{
    int e = acu_begin();
    acu_end_quiet(e);
    return !e;
}

/* -- launches -- */

enum { CONFIG_DEPTH = 16 };

static __thread struct config {
    struct rt_dim3 grid, block;
    size_t smem;
    rt_stream stream;
} configs[CONFIG_DEPTH];
static __thread unsigned nconfigs;

EXPORT unsigned
__cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block, size_t smem,
                            rt_stream stream)
{
    if (nconfigs == CONFIG_DEPTH)
        return 1;
    configs[nconfigs++] = (struct config){grid, block, smem, stream};
    return 0;
}

EXPORT int
__cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block, size_t *smem,
                           void *stream)
{
    if (!nconfigs)
        CALL_LIGHT(ACU_MISSING_CONFIGURATION);
    struct config *c = &configs[--nconfigs];
    *grid = c->grid;
    *block = c->block;
    *smem = c->smem;
    *(rt_stream *)stream = c->stream;
    return 0;
}

struct acu_function *
rt_function(const void *f)
{
    return acu_function_find(f);
}

static int
get_kernel(struct acu_function **kernel, const void *host)
{
    *kernel = acu_function_find(host);
    return *kernel ? 0 : ACU_INVALID_DEVICE_FUNCTION;
}

EXPORT int
__cudaGetKernel(struct acu_function **kernel, const void *host)
{
    CALL_LIGHT(get_kernel(kernel, host));
}

EXPORT int
cudaGetKernel(struct acu_function **kernel, const void *host)
{
    if (!kernel)
        CALL_LIGHT(ACU_INVALID_VALUE);
    CALL_LIGHT(get_kernel(kernel, host));
}

/* What <<<>>> compiles to: nobody sees its answer. Calls that the program makes itself. */
enum launch_by { LAUNCH_STUB, LAUNCH_CALL, LAUNCH_COOPERATIVE };

/* l: its attributes. */
static int
launch_as(struct acu_launch *l, const void *function, struct rt_dim3 grid,
          struct rt_dim3 block, void **args, size_t smem, rt_stream stream,
          enum launch_by by)
{
    struct acu_function *f = acu_function_find(function);
    if (!f)
        return ACU_INVALID_DEVICE_FUNCTION;
    memcpy(l->grid, (uint32_t[]){grid.x, grid.y, grid.z}, sizeof l->grid);
    memcpy(l->block, (uint32_t[]){block.x, block.y, block.z}, sizeof l->block);
    /* more than any block may have in either case */
    l->dynamic_scratchpad = smem > UINT32_MAX ? UINT32_MAX : (uint32_t)smem;
    l->args = args;
    l->cooperative = by == LAUNCH_COOPERATIVE;
    l->told = by != LAUNCH_STUB;
    return acu_do_launch(stream, f, l);
}

static int
launch(const void *function, struct rt_dim3 grid, struct rt_dim3 block, void **args,
       size_t smem, rt_stream stream, enum launch_by by)
{
    struct acu_launch l = {0};
    return launch_as(&l, function, grid, block, args, smem, stream, by);
}

EXPORT int
__cudaLaunchKernel(struct acu_function *kernel, struct rt_dim3 grid, struct rt_dim3 block,
                   void **args, size_t smem, rt_stream stream)
{
    CALL(launch(kernel, grid, block, args, smem, stream, LAUNCH_STUB));
}

EXPORT int
cudaLaunchKernel(const void *f, struct rt_dim3 grid, struct rt_dim3 block, void **args,
                 size_t smem, rt_stream stream)
{
    CALL(launch(f, grid, block, args, smem, stream, LAUNCH_STUB));
}

EXPORT int
cudaLaunchCooperativeKernel(const void *f, struct rt_dim3 grid, struct rt_dim3 block,
                            void **args, size_t smem, rt_stream stream)
{
    CALL(launch(f, grid, block, args, smem, stream, LAUNCH_COOPERATIVE));
}

#if CUDART < 13
/* One launch per device; there is one device. */
struct multi_launch {
    void *func;
    struct rt_dim3 grid, block;
    void **args;
    size_t smem;
    rt_stream stream;
};

EXPORT int
cudaLaunchCooperativeKernelMultiDevice(struct multi_launch *list, unsigned n,
                                       unsigned flags)
{
    if (!list || n != 1)
        CALL_LIGHT(ACU_INVALID_VALUE);
    CALL(launch(list->func, list->grid, list->block, list->args, list->smem, list->stream,
                LAUNCH_COOPERATIVE));
}
#endif

/* -- launches with attributes -- */

/* What the configuration's attributes say; the rest of the launch is as it was. */
static int
launch_attributes(const struct rt_launch_config *c, struct acu_launch *l)
{
    if (!c || (c->nattributes && !c->attributes))
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(c->stream))
        return ACU_INVALID_HANDLE;
    for (unsigned i = 0; i < c->nattributes; i++) {
        const struct rt_launch_attribute *a = &c->attributes[i];
        int e = acu_launch_attribute(l, ACU_ON_LAUNCH, acu_capturing(c->stream), a->id,
                                     a->value);
        if (e)
            return e;
    }
    return 0;
}

static int
clusters(int *n, const void *f, const struct rt_launch_config *c,
         int (*ask)(struct acu_function *, const struct acu_launch *, int *))
{
    struct acu_launch l = {0};
    if (!n)
        return ACU_INVALID_VALUE;
    struct acu_function *k = acu_function_find(f);
    if (!k)
        return ACU_INVALID_DEVICE_FUNCTION;
    int e = launch_attributes(c, &l);
    if (e)
        return e;
    const uint32_t block[3] = {c->block.x, c->block.y, c->block.z};
    memcpy(l.block, block, sizeof l.block);
    l.dynamic_scratchpad = (uint32_t)c->dynamic_smem;
    return ask(k, &l, n);
}

EXPORT int
cudaOccupancyMaxActiveClusters(int *n, const void *f, const struct rt_launch_config *c)
{
    CALL(clusters(n, f, c, acu_occupancy_clusters));
}

EXPORT int
cudaOccupancyMaxPotentialClusterSize(int *size, const void *f,
                                     const struct rt_launch_config *c)
{
    CALL(clusters(size, f, c, acu_occupancy_cluster_size));
}

static int
launch_ex(const struct rt_launch_config *c, const void *f, void **args)
{
    struct acu_launch l = {0};
    int e = launch_attributes(c, &l);
    if (e)
        return e;
    return launch_as(&l, f, c->grid, c->block, args, c->dynamic_smem, c->stream,
                     l.cooperative ? LAUNCH_COOPERATIVE : LAUNCH_CALL);
}

EXPORT int
cudaLaunchKernelExC(const struct rt_launch_config *c, const void *f, void **args)
{
    CALL(launch_ex(c, f, args));
}
