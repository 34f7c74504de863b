/* driver_graph.c: the driver API's side of graphs (core_graph.h): its structures, and the
 * entry points that differ from the runtime's. Capture by either API is the same. */
#include "cuda/core/core_graph.h"
#include "cuda/driver/driver.h"

/* -- what differs in descriptions of nodes -- */

struct kernel_params { /* CUDA_KERNEL_NODE_PARAMS_v2, _v3; _v1 ends before `kernel` */
    struct acu_function *f;
    unsigned grid[3], block[3], smem;
    void **args, **extra;
    struct acu_function *kernel;
    struct drv_context *context;
};
struct kernel_params_v1 {
    struct acu_function *f;
    unsigned grid[3], block[3], smem;
    void **args, **extra;
};
struct set_params { /* CUDA_MEMSET_NODE_PARAMS_v2; _v1 ends before the context */
    uint64_t dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};
struct copy_params {
    int flags, reserved;
    struct drv_context *context;
    struct drv_copy3d copy;
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
    struct drv_context *context;
};
_Static_assert(sizeof(struct kernel_params) == 72, "CUDA_KERNEL_NODE_PARAMS_v2");

static int
describe_kernel_of(struct acu_function *f, const struct kernel_params_v1 *p,
                   struct acu_node *what)
{
    if (!drv_function_valid(f))
        return ACU_INVALID_HANDLE;
    if (!p->args && p->extra)
        return acu_not_supported("a kernel node with packed arguments");
    *what = (struct acu_node){ACU_NODE_KERNEL, .f = f,
                              .launch = {.grid = {p->grid[0], p->grid[1], p->grid[2]},
                                         .block = {p->block[0], p->block[1], p->block[2]},
                                         .dynamic_scratchpad = p->smem,
                                         .args = p->args}};
    return drv_bind_refs(f);
}

static int
describe_kernel(const struct kernel_params *p, struct acu_node *what)
{
    if (!p)
        return ACU_INVALID_VALUE;
    struct kernel_params_v1 v1;
    memcpy(&v1, p, sizeof v1);
    return describe_kernel_of(p->f ? p->f : p->kernel, &v1, what);
}

static int
describe_kernel_v1(const struct kernel_params_v1 *p, struct acu_node *what)
{
    return p ? describe_kernel_of(p->f, p, what) : ACU_INVALID_VALUE;
}

static int
describe_copy(const struct drv_copy3d *c, struct acu_node *what)
{
    if (!c)
        return ACU_INVALID_VALUE;
    *what = (struct acu_node){ACU_NODE_COPY, .width = c->width, .height = c->height,
                              .depth = c->depth};
    return drv_copy3d_places(c, &what->dst, &what->src);
}

static int
describe_copy_node(const struct copy_params *p, struct acu_node *what)
{
    return describe_copy(&p->copy, what);
}

static int
describe_set(const struct set_params *p, struct acu_node *what)
{
    if (!p)
        return ACU_INVALID_VALUE;
    *what =
        (struct acu_node){ACU_NODE_SET,      .dst = {.addr = p->dst, .pitch = p->pitch},
                          .value = p->value, .element = p->element,
                          .width = p->width, .height = p->height,
                          .depth = 1};
    return 0;
}

#define ENTRY CU
#define API(name) cu##name
#define ENTER drv_begin
#define LEAVE drv_end
#define PLAIN_EDGES
#define EDGES_NAME(name) name##_v2
#define EDGES(name) EDGES_NAME(name)
#include "cuda/graph_entries.h"

/* -- adding nodes -- */

ADD(cuGraphAddKernelNode, (PLACE, const struct kernel_params_v1 *p),
    describe_kernel_v1(p, &what))
ADD(cuGraphAddKernelNode_v2, (PLACE, const struct kernel_params *p),
    describe_kernel(p, &what))
ADD(cuGraphAddMemcpyNode,
    (PLACE, const struct drv_copy3d *p, struct drv_context *context),
    describe_copy(p, &what))
ADD(cuGraphAddMemsetNode,
    (PLACE, const struct set_params *p, struct drv_context *context),
    describe_set(p, &what))

/* -- graphs -- */

CU
cuGraphInstantiate(struct acu_graph **out, struct acu_graph *g, struct acu_node **wrong,
                   char *log, size_t size)
{
    if (wrong)
        *wrong = NULL;
    if (log && size)
        *log = 0;
    CALL(acu_graph_instantiate(out, g, 0));
}

CU
cuGraphConditionalHandleCreate(uint64_t *handle, struct acu_graph *g,
                               struct drv_context *context, unsigned value,
                               unsigned flags)
{
    CALL(acu_graph_condition(g, value, flags, handle));
}

CU
cuGraphExecUpdate(struct acu_graph *exec, struct acu_graph *g, struct acu_node **wrong,
                  int *result)
{
    struct acu_node *node = NULL;
    int why = 1, e = drv_begin();
    if (!e)
        e = acu_graph_update(exec, g, &node, &why);
    if (wrong)
        *wrong = node;
    if (result)
        *result = why;
    return drv_end(e);
}

CU
cuGraphExecUpdate_v2(struct acu_graph *exec, struct acu_graph *g,
                     struct update_result *result)
{
    struct acu_node *node = NULL;
    int why = 1, e = drv_begin();
    if (!e)
        e = acu_graph_update(exec, g, &node, &why);
    if (result)
        *result = (struct update_result){why, node, NULL};
    return drv_end(e);
}

/* -- changing nodes -- */

SET(cuGraphKernelNodeSetParams, cuGraphExecKernelNodeSetParams,
    (const struct kernel_params_v1 *p), describe_kernel_v1(p, &what))
SET(cuGraphKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2,
    (const struct kernel_params *p), describe_kernel(p, &what))

CU
cuGraphMemcpyNodeSetParams(struct acu_node *n, const struct drv_copy3d *p)
{
    struct acu_node what = {0};
    CALL(change(n, &what, describe_copy(p, &what)));
}

CU
cuGraphExecMemcpyNodeSetParams(struct acu_graph *exec, struct acu_node *n,
                               const struct drv_copy3d *p, struct drv_context *context)
{
    struct acu_node what = {0};
    CALL(change(acu_graph_copy_of(exec, n), &what, describe_copy(p, &what)));
}

CU
cuGraphMemsetNodeSetParams(struct acu_node *n, const struct set_params *p)
{
    struct acu_node what = {0};
    CALL(change(n, &what, describe_set(p, &what)));
}

CU
cuGraphExecMemsetNodeSetParams(struct acu_graph *exec, struct acu_node *n,
                               const struct set_params *p, struct drv_context *context)
{
    struct acu_node what = {0};
    CALL(change(acu_graph_copy_of(exec, n), &what, describe_set(p, &what)));
}

static int
get_kernel_params(const struct acu_node *n, struct kernel_params_v1 *p)
{
    if (!n || !p || n->kind != ACU_NODE_KERNEL)
        return ACU_INVALID_VALUE;
    const struct acu_launch *l = &n->launch;
    *p = (struct kernel_params_v1){.f = n->f,
                                   .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                   .block = {l->block[0], l->block[1], l->block[2]},
                                   .smem = l->dynamic_scratchpad,
                                   .args = (void **)l->args};
    return 0;
}

CU
cuGraphKernelNodeGetParams(const struct acu_node *n, struct kernel_params_v1 *p)
{
    CALL(get_kernel_params(n, p));
}

static int
get_kernel_params_v2(const struct acu_node *n, struct kernel_params *p)
{
    struct kernel_params_v1 v1;
    int e = p ? get_kernel_params(n, &v1) : ACU_INVALID_VALUE;
    if (e)
        return e;
    *p = (struct kernel_params){0};
    memcpy(p, &v1, sizeof v1);
    return 0;
}

CU
cuGraphKernelNodeGetParams_v2(const struct acu_node *n, struct kernel_params *p)
{
    CALL(get_kernel_params_v2(n, p));
}

CU
cuGraphMemFreeNodeGetParams(const struct acu_node *n, uint64_t *p)
{
    CALL(n && p && n->kind == ACU_NODE_FREE ? (*p = n->addr, 0) : ACU_INVALID_VALUE);
}

/* -- capture -- */

CU
cuStreamBeginCapture(drv_stream s)
{
    CALL(acu_stream_capture_begin(s, 0, NULL, NULL, 0));
}

CU
cuStreamBeginCapture_v2(drv_stream s, int mode)
{
    CALL(acu_stream_capture_begin(s, mode, NULL, NULL, 0));
}

CU
cuStreamGetCaptureInfo(drv_stream s, int *status, unsigned long long *id)
{
    CALL(capture_info(s, status, id, NULL, NULL, NULL, NULL));
}

CU
cuStreamGetCaptureInfo_v2(drv_stream s, int *status, unsigned long long *id,
                          struct acu_graph **g, const struct acu_node *const **front,
                          size_t *n)
{
    CALL(capture_info(s, status, id, g, front, NULL, n));
}

CU
cuStreamGetCaptureInfo_v3(drv_stream s, int *status, unsigned long long *id,
                          struct acu_graph **g, const struct acu_node *const **front,
                          const void **edges, size_t *n)
{
    CALL(capture_info(s, status, id, g, front, edges, n));
}
