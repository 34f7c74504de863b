/* cudart_graph.c: the runtime API's side of graphs (core_graph.h): its structures, and
 * the signatures that differ between versions. */
#include "cuda/cudart/cudart.h"

/* -- what differs in descriptions of nodes -- */

struct kernel_params {
    void *func;
    struct rt_dim3 grid, block;
    unsigned smem;
    void **args, **extra;
};
struct set_params {
    void *dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};
struct copy_params {
    int flags, reserved[3];
    struct rt_memcpy3d copy;
};
struct graph_params {
    struct acu_graph *graph;
    int ownership;
};
struct conditional_params {
    unsigned long long handle;
    int type;
    unsigned size;
    struct acu_graph **out;
};

static int
describe_kernel(const struct kernel_params *p, struct acu_node *what)
{
    if (!p)
        return ACU_INVALID_VALUE;
    struct acu_function *f = rt_function(p->func);
    if (!f)
        return ACU_INVALID_DEVICE_FUNCTION;
    if (!p->args && p->extra)
        return acu_not_supported("a kernel node with packed arguments");
    *what = (struct acu_node){ACU_NODE_KERNEL, .f = f,
                              .launch = {.grid = {p->grid.x, p->grid.y, p->grid.z},
                                         .block = {p->block.x, p->block.y, p->block.z},
                                         .dynamic_scratchpad = p->smem,
                                         .args = p->args}};
    return 0;
}

static int
describe_copy(const struct rt_memcpy3d *p, struct acu_node *what)
{
    struct rt_extent x;
    *what = (struct acu_node){.kind = ACU_NODE_COPY};
    int e = p ? rt_memcpy3d_places(p, &what->dst, &what->src, &x) : ACU_INVALID_VALUE;
    if (e)
        return e;
    what->width = x.width;
    what->height = x.height;
    what->depth = x.depth;
    return 0;
}

static int
describe_copy_1d(void *dst, const void *src, size_t n, int kind, struct acu_node *what)
{
    struct rt_sides s;
    int e = rt_sides(kind, &s);
    if (!e)
        *what = (struct acu_node){ACU_NODE_COPY,
                                  .dst = {.side = s.dst, .addr = ADDR(dst)},
                                  .src = {.side = s.src, .addr = ADDR(src)},
                                  .width = n,
                                  .height = 1,
                                  .depth = 1};
    return e;
}

static int
describe_copy_symbol(const void *symbol, const void *other, size_t n, size_t offset,
                     int kind, bool to_symbol, struct acu_node *what)
{
    *what = (struct acu_node){ACU_NODE_COPY, .width = n, .height = 1, .depth = 1};
    return rt_symbol_places(symbol, ADDR(other), n, offset, kind, to_symbol, &what->dst,
                            &what->src);
}

static int
describe_set(const struct set_params *p, struct acu_node *what)
{
    if (!p)
        return ACU_INVALID_VALUE;
    *what = (struct acu_node){
        ACU_NODE_SET,      .dst = {.addr = ADDR(p->dst), .pitch = p->pitch},
        .value = p->value, .element = p->element,
        .width = p->width, .height = p->height,
        .depth = 1};
    return 0;
}

static int
describe_copy_node(const struct copy_params *p, struct acu_node *what)
{
    return describe_copy(&p->copy, what);
}

#define ENTRY EXPORT int
#define API(name) cuda##name
#define ENTER acu_begin
#define LEAVE acu_end
#if CUDART < 13
#define PLAIN_EDGES
#define EDGES_NAME(name) name##_v2
#else
#define EDGES_NAME(name) name
#endif
#define EDGES(name) EDGES_NAME(name)
#include "cuda/graph_entries.h"

/* -- adding nodes -- */

ADD(cudaGraphAddKernelNode, (PLACE, const struct kernel_params *p),
    describe_kernel(p, &what))
ADD(cudaGraphAddMemcpyNode, (PLACE, const struct rt_memcpy3d *p), describe_copy(p, &what))
ADD(cudaGraphAddMemcpyNode1D, (PLACE, void *dst, const void *src, size_t n, int kind),
    describe_copy_1d(dst, src, n, kind, &what))
ADD(cudaGraphAddMemcpyNodeToSymbol,
    (PLACE, const void *symbol, const void *src, size_t n, size_t offset, int kind),
    describe_copy_symbol(symbol, src, n, offset, kind, true, &what))
ADD(cudaGraphAddMemcpyNodeFromSymbol,
    (PLACE, void *dst, const void *symbol, size_t n, size_t offset, int kind),
    describe_copy_symbol(symbol, dst, n, offset, kind, false, &what))
ADD(cudaGraphAddMemsetNode, (PLACE, const struct set_params *p), describe_set(p, &what))

/* -- graphs -- */

#if CUDART >= 12
EXPORT int
cudaGraphInstantiate(struct acu_graph **out, struct acu_graph *g,
                     unsigned long long flags)
{
    CALL(acu_graph_instantiate(out, g, flags));
}
#else
EXPORT int
cudaGraphInstantiate(struct acu_graph **out, struct acu_graph *g, struct acu_node **wrong,
                     char *log, size_t size)
{
    if (wrong)
        *wrong = NULL;
    if (log && size)
        *log = 0;
    CALL(acu_graph_instantiate(out, g, 0));
}
#endif

#if CUDART >= 12
EXPORT int
cudaGraphConditionalHandleCreate(unsigned long long *handle, struct acu_graph *g,
                                 unsigned value, unsigned flags)
{
    CALL(acu_graph_condition(g, value, flags, (uint64_t *)handle));
}
#endif

EXPORT int
cudaGraphExecUpdate(struct acu_graph *exec, struct acu_graph *g, void *first, int *second)
{
    struct acu_node *node = NULL;
    int why = 1, e = acu_begin();
    if (!e)
        e = acu_graph_update(exec, g, &node, &why);
#if CUDART >= 12
    if (first)
        *(struct update_result *)first = (struct update_result){why, node, NULL};
#else
    if (first)
        *(struct acu_node **)first = node;
    if (second)
        *second = why;
#endif
    return acu_end(e);
}

/* -- changing nodes -- */

SET(cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams,
    (const struct kernel_params *p), describe_kernel(p, &what))
SET(cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams,
    (const struct rt_memcpy3d *p), describe_copy(p, &what))
SET(cudaGraphMemcpyNodeSetParams1D, cudaGraphExecMemcpyNodeSetParams1D,
    (void *dst, const void *src, size_t bytes, int kind),
    describe_copy_1d(dst, src, bytes, kind, &what))
SET(cudaGraphMemcpyNodeSetParamsToSymbol, cudaGraphExecMemcpyNodeSetParamsToSymbol,
    (const void *symbol, const void *src, size_t bytes, size_t offset, int kind),
    describe_copy_symbol(symbol, src, bytes, offset, kind, true, &what))
SET(cudaGraphMemcpyNodeSetParamsFromSymbol, cudaGraphExecMemcpyNodeSetParamsFromSymbol,
    (void *dst, const void *symbol, size_t bytes, size_t offset, int kind),
    describe_copy_symbol(symbol, dst, bytes, offset, kind, false, &what))
SET(cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams,
    (const struct set_params *p), describe_set(p, &what))

static int
get_kernel_params(const struct acu_node *n, struct kernel_params *p)
{
    if (!n || !p || n->kind != ACU_NODE_KERNEL)
        return ACU_INVALID_VALUE;
    const struct acu_launch *l = &n->launch;
    *p = (struct kernel_params){.func = PTR(ADDR(n->f->host ? n->f->host : n->f)),
                                .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                .block = {l->block[0], l->block[1], l->block[2]},
                                .smem = l->dynamic_scratchpad,
                                .args = (void **)l->args};
    return 0;
}

EXPORT int
cudaGraphKernelNodeGetParams(const struct acu_node *n, struct kernel_params *p)
{
    CALL(get_kernel_params(n, p));
}

EXPORT int
cudaGraphMemFreeNodeGetParams(const struct acu_node *n, void **p)
{
    CALL(n && p && n->kind == ACU_NODE_FREE ? (*p = PTR(n->addr), 0) : ACU_INVALID_VALUE);
}

/* -- capture -- */

EXPORT int
cudaStreamBeginCapture(rt_stream s, int mode)
{
    CALL(acu_stream_capture_begin(s, mode, NULL, NULL, 0));
}

#if CUDART >= 13
EXPORT int
cudaStreamGetCaptureInfo(rt_stream s, int *status, unsigned long long *id,
                         struct acu_graph **g, const struct acu_node *const **front,
                         const void **edges, size_t *n)
{
    CALL(capture_info(s, status, id, g, front, edges, n));
}
#else
EXPORT int
cudaStreamGetCaptureInfo(rt_stream s, int *status, unsigned long long *id)
{
    CALL(capture_info(s, status, id, NULL, NULL, NULL, NULL));
}

EXPORT int
cudaStreamGetCaptureInfo_v2(rt_stream s, int *status, unsigned long long *id,
                            struct acu_graph **g, const struct acu_node *const **front,
                            size_t *n)
{
    CALL(capture_info(s, status, id, g, front, NULL, n));
}

EXPORT int
cudaStreamGetCaptureInfo_v3(rt_stream s, int *status, unsigned long long *id,
                            struct acu_graph **g, const struct acu_node *const **front,
                            const void **edges, size_t *n)
{
    CALL(capture_info(s, status, id, g, front, edges, n));
}
#endif
