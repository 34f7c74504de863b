/* cudart_graph.c: the runtime API's side of graphs (core_graph.h): its structures, and
 * the signatures that differ between versions. */
#include "cuda/cudart.h"

/* -- descriptions of nodes -- */

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
struct host_params {
    void (*fn)(void *);
    void *user;
};
struct alloc_params {
    char pool[88]; /* cudaMemPoolProps: there is one device */
    const void *access;
    size_t naccess, bytes;
    void *p;
};
struct node_params { /* cudaGraphNodeParams */
    int type;
    int reserved0[3];
    union {
        long long room[29];
        struct kernel_params kernel;
        struct {
            int flags, reserved[3];
            struct rt_memcpy3d copy;
        } copy;
        struct set_params set;
        struct host_params host;
        struct {
            struct acu_graph *graph;
            int ownership;
        } graph;
        rt_event event;
        struct alloc_params alloc;
        void *free;
        struct {
            unsigned long long handle;
            int type;
            unsigned size;
            struct acu_graph **out;
        } conditional;
    } u;
    long long reserved1;
};
_Static_assert(sizeof(struct node_params) == 256, "cudaGraphNodeParams");
_Static_assert(sizeof(struct alloc_params) == 120, "cudaMemAllocNodeParams");

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
describe_host(const struct host_params *p, struct acu_node *what)
{
    if (!p)
        return ACU_INVALID_VALUE;
    *what = (struct acu_node){ACU_NODE_HOST, .host = p->fn, .user = p->user};
    return 0;
}

/* graph: a place for the pointer that *what points to. */
static int
describe(const struct node_params *p, struct acu_graph **graph, struct acu_node *what)
{
    enum { CLONE, MOVE };
    if (!p)
        return ACU_INVALID_VALUE;
    *what = (struct acu_node){.kind = (enum acu_node_kind)p->type};
    switch (p->type) {
    case ACU_NODE_KERNEL:
        return describe_kernel(&p->u.kernel, what);
    case ACU_NODE_COPY:
        return describe_copy(&p->u.copy.copy, what);
    case ACU_NODE_SET:
        return describe_set(&p->u.set, what);
    case ACU_NODE_HOST:
        return describe_host(&p->u.host, what);
    case ACU_NODE_GRAPH:
        *graph = p->u.graph.graph;
        what->body = graph;
        what->nbody = 1;
        what->takes_over = p->u.graph.ownership == MOVE;
        return 0;
    case ACU_NODE_EMPTY:
        return 0;
    case ACU_NODE_EVENT_WAIT:
    case ACU_NODE_EVENT_RECORD:
        what->event = p->u.event;
        return 0;
    case ACU_NODE_ALLOC:
        what->bytes = p->u.alloc.bytes;
        return 0;
    case ACU_NODE_FREE:
        what->addr = ADDR(p->u.free);
        return 0;
    case ACU_NODE_CONDITIONAL:
        what->handle = p->u.conditional.handle;
        what->conditional = (enum acu_conditional)p->u.conditional.type;
        what->nbody = p->u.conditional.size;
        return 0;
    default:
        return p->type == 8 || p->type == 9
                   ? acu_not_supported("a graph node of an external semaphore")
                   : ACU_INVALID_VALUE;
    }
}

/* -- adding nodes -- */

/* e: of making the description. */
static int
add(struct acu_node **node, struct acu_graph *g, struct acu_node *const *after, size_t n,
    struct acu_node *what, int e)
{
    return e ? e : acu_node_add(g, what, after, n, node);
}

/* An entry point that adds one kind of node: its parameters, how they are described. */
#define ADD(name, parameters, description)                                               \
    EXPORT int name parameters                                                           \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(add(node, g, after, nafter, &what, description));                           \
    }
#define PLACE                                                                            \
    struct acu_node **node, struct acu_graph *g, struct acu_node *const *after,          \
        size_t nafter

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
ADD(cudaGraphAddHostNode, (PLACE, const struct host_params *p), describe_host(p, &what))
ADD(cudaGraphAddEmptyNode, (PLACE), (what.kind = ACU_NODE_EMPTY, 0))
ADD(cudaGraphAddEventRecordNode, (PLACE, rt_event event),
    (what.kind = ACU_NODE_EVENT_RECORD, what.event = event, 0))
ADD(cudaGraphAddEventWaitNode, (PLACE, rt_event event),
    (what.kind = ACU_NODE_EVENT_WAIT, what.event = event, 0))
ADD(cudaGraphAddChildGraphNode, (PLACE, struct acu_graph *child),
    (what.kind = ACU_NODE_GRAPH, what.body = &child, what.nbody = 1, 0))
ADD(cudaGraphAddMemFreeNode, (PLACE, void *p),
    (what.kind = ACU_NODE_FREE, what.addr = ADDR(p), 0))

static int
add_alloc(struct acu_node **node, struct acu_graph *g, struct acu_node *const *after,
          size_t n, struct alloc_params *p)
{
    if (!p)
        return ACU_INVALID_VALUE;
    struct acu_node what = {ACU_NODE_ALLOC, .bytes = p->bytes};
    int e = acu_node_add(g, &what, after, n, node);
    p->p = e ? NULL : PTR(what.addr);
    return e;
}

EXPORT int
cudaGraphAddMemAllocNode(PLACE, struct alloc_params *p)
{
    CALL(add_alloc(node, g, after, nafter, p));
}

static int
add_any(struct acu_node **node, struct acu_graph *g, struct acu_node *const *after,
        size_t n, struct node_params *p)
{
    struct acu_node what;
    struct acu_graph *graph;
    int e = add(node, g, after, n, &what, describe(p, &graph, &what));
    if (!e && p->type == ACU_NODE_ALLOC)
        p->u.alloc.p = PTR(what.addr);
    if (!e && p->type == ACU_NODE_CONDITIONAL)
        p->u.conditional.out = what.body;
    return e;
}

/* Since CUDA 13 the names without a number have what those with _v2 had: annotations of
 * edges, which only allow more overlap. */
#if CUDART < 13
#define EDGES(name) name##_v2
EXPORT int
cudaGraphAddNode(PLACE, struct node_params *p)
{
    CALL(add_any(node, g, after, nafter, p));
}

EXPORT int
cudaGraphAddDependencies(struct acu_graph *g, struct acu_node *const *from,
                         struct acu_node *const *to, size_t n)
{
    CALL(acu_graph_add_edges(g, from, to, n));
}

EXPORT int
cudaGraphRemoveDependencies(struct acu_graph *g, struct acu_node *const *from,
                            struct acu_node *const *to, size_t n)
{
    CALL(acu_graph_remove_edges(g, from, to, n));
}

EXPORT int
cudaGraphGetEdges(const struct acu_graph *g, struct acu_node **from, struct acu_node **to,
                  size_t *n)
{
    CALL(acu_graph_edges(g, from, to, n));
}

EXPORT int
cudaGraphNodeGetDependencies(const struct acu_node *node, struct acu_node **out,
                             size_t *n)
{
    CALL(acu_node_before(node, out, n));
}

EXPORT int
cudaGraphNodeGetDependentNodes(const struct acu_node *node, struct acu_node **out,
                               size_t *n)
{
    CALL(acu_node_behind(node, out, n));
}
#else
#define EDGES(name) name
#endif

EXPORT int
EDGES(cudaGraphAddNode)(struct acu_node **node, struct acu_graph *g,
                        struct acu_node *const *after, const void *edges, size_t n,
                        struct node_params *p)
{
    CALL(add_any(node, g, after, n, p));
}

EXPORT int
EDGES(cudaGraphAddDependencies)(struct acu_graph *g, struct acu_node *const *from,
                                struct acu_node *const *to, const void *edges, size_t n)
{
    CALL(acu_graph_add_edges(g, from, to, n));
}

EXPORT int
EDGES(cudaGraphRemoveDependencies)(struct acu_graph *g, struct acu_node *const *from,
                                   struct acu_node *const *to, const void *edges,
                                   size_t n)
{
    CALL(acu_graph_remove_edges(g, from, to, n));
}

/* Annotations that are all 0: nothing overlaps. */
static int
no_annotations(void *edges, const size_t *n, int e)
{
    enum { EDGE_BYTES = 8 };
    if (!e && edges && n)
        memset(edges, 0, *n * EDGE_BYTES);
    return e;
}

EXPORT int
EDGES(cudaGraphGetEdges)(const struct acu_graph *g, struct acu_node **from,
                         struct acu_node **to, void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_graph_edges(g, from, to, n)));
}

EXPORT int
EDGES(cudaGraphNodeGetDependencies)(const struct acu_node *node, struct acu_node **out,
                                    void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_node_before(node, out, n)));
}

EXPORT int
EDGES(cudaGraphNodeGetDependentNodes)(const struct acu_node *node, struct acu_node **out,
                                      void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_node_behind(node, out, n)));
}

/* -- graphs -- */

EXPORT int
cudaGraphCreate(struct acu_graph **g, unsigned flags)
{
    CALL(!g || flags ? ACU_INVALID_VALUE : (*g = acu_graph_new(), 0));
}

EXPORT int
cudaGraphDestroy(struct acu_graph *g)
{
    CALL(acu_graph_free(g));
}

EXPORT int
cudaGraphExecDestroy(struct acu_graph *g)
{
    CALL(acu_graph_free(g));
}

EXPORT int
cudaGraphDestroyNode(struct acu_node *n)
{
    CALL(acu_node_remove(n));
}

EXPORT int
cudaGraphClone(struct acu_graph **out, struct acu_graph *g)
{
    CALL(acu_graph_clone(out, g));
}

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

EXPORT int
cudaGraphInstantiateWithFlags(struct acu_graph **out, struct acu_graph *g,
                              unsigned long long flags)
{
    CALL(acu_graph_instantiate(out, g, flags));
}

#if CUDART >= 12
struct instantiate_params {
    unsigned long long flags;
    rt_stream upload;
    struct acu_node *wrong;
    int result;
};

EXPORT int
cudaGraphInstantiateWithParams(struct acu_graph **out, struct acu_graph *g,
                               struct instantiate_params *p)
{
    enum { SUCCESS, ERROR };
    int e = acu_begin();
    if (!e)
        e = p ? acu_graph_instantiate(out, g, p->flags) : ACU_INVALID_VALUE;
    if (p) {
        p->wrong = NULL;
        p->result = e ? ERROR : SUCCESS;
    }
    return acu_end(e);
}

EXPORT int
cudaGraphExecGetFlags(const struct acu_graph *exec, unsigned long long *flags)
{
    CALL(exec && flags ? (*flags = exec->flags, 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaGraphConditionalHandleCreate(unsigned long long *handle, struct acu_graph *g,
                                 unsigned value, unsigned flags)
{
    CALL(acu_graph_condition(g, value, flags, (uint64_t *)handle));
}
#endif

EXPORT int
cudaGraphUpload(struct acu_graph *g, rt_stream s)
{
    CALL(!g ? ACU_INVALID_VALUE : acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE);
}

EXPORT int
cudaGraphLaunch(struct acu_graph *g, rt_stream s)
{
    CALL(acu_graph_launch(g, s));
}

struct update_result { /* CUDA 12 and later; before: node, number */
    int result;
    struct acu_node *node, *from;
};

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

EXPORT int
cudaGraphGetNodes(const struct acu_graph *g, struct acu_node **nodes, size_t *n)
{
    CALL(acu_graph_nodes(g, nodes, n));
}

EXPORT int
cudaGraphGetRootNodes(const struct acu_graph *g, struct acu_node **nodes, size_t *n)
{
    CALL(acu_graph_roots(g, nodes, n));
}

EXPORT int
cudaGraphNodeGetType(const struct acu_node *n, int *type)
{
    CALL(n && type ? (*type = (int)n->kind, 0) : ACU_INVALID_VALUE);
}

static int
child_graph(const struct acu_node *n, struct acu_graph **g)
{
    if (!n || !g || n->kind != ACU_NODE_GRAPH)
        return ACU_INVALID_VALUE;
    *g = n->body[0];
    return 0;
}

EXPORT int
cudaGraphChildGraphNodeGetGraph(const struct acu_node *n, struct acu_graph **g)
{
    CALL(child_graph(n, g));
}

static int
find_in_clone(struct acu_node **out, const struct acu_node *node,
              const struct acu_graph *clone)
{
    struct acu_node *n = acu_graph_copy_of(clone, node);
    return out && n ? (*out = n, 0) : ACU_INVALID_VALUE;
}

EXPORT int
cudaGraphNodeFindInClone(struct acu_node **out, const struct acu_node *node,
                         const struct acu_graph *clone)
{
    CALL(find_in_clone(out, node, clone));
}

EXPORT int
cudaGraphDebugDotPrint(const struct acu_graph *g, const char *path, unsigned flags)
{
    CALL(acu_graph_print(g, path));
}

/* -- changing nodes, in a graph and in an executable one -- */

static int
change(struct acu_node *n, const struct acu_node *what, int e)
{
    return e ? e : acu_node_set(n, what);
}

#define SET(name, exec_name, parameters, description)                                    \
    EXPORT int name(struct acu_node *n, UNPACK parameters)                               \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(change(n, &what, description));                                             \
    }                                                                                    \
    EXPORT int exec_name(struct acu_graph *exec, struct acu_node *n, UNPACK parameters)  \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(change(acu_graph_copy_of(exec, n), &what, description));                    \
    }
#define UNPACK(...) __VA_ARGS__

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
SET(cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams,
    (const struct host_params *p), describe_host(p, &what))
SET(cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent,
    (rt_event event), (what.kind = ACU_NODE_EVENT_RECORD, what.event = event, 0))
SET(cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent, (rt_event event),
    (what.kind = ACU_NODE_EVENT_WAIT, what.event = event, 0))

EXPORT int
cudaGraphExecChildGraphNodeSetParams(struct acu_graph *exec, struct acu_node *n,
                                     struct acu_graph *child)
{
    struct acu_node what = {ACU_NODE_GRAPH, .body = &child, .nbody = 1};
    CALL(acu_node_set(acu_graph_copy_of(exec, n), &what));
}

#if CUDART >= 12
static int
change_any(struct acu_node *n, const struct node_params *p)
{
    struct acu_node what;
    struct acu_graph *graph;
    return change(n, &what, describe(p, &graph, &what));
}

EXPORT int
cudaGraphNodeSetParams(struct acu_node *n, const struct node_params *p)
{
    CALL(change_any(n, p));
}

EXPORT int
cudaGraphExecNodeSetParams(struct acu_graph *exec, struct acu_node *n,
                           const struct node_params *p)
{
    CALL(change_any(acu_graph_copy_of(exec, n), p));
}
#endif

/* -- what a node is -- */

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

static int
get_set_params(const struct acu_node *n, struct set_params *p)
{
    if (!n || !p || n->kind != ACU_NODE_SET)
        return ACU_INVALID_VALUE;
    *p = (struct set_params){PTR(n->dst.addr), n->dst.pitch, n->value,
                             n->element,       n->width,     n->height};
    return 0;
}

EXPORT int
cudaGraphMemsetNodeGetParams(const struct acu_node *n, struct set_params *p)
{
    CALL(get_set_params(n, p));
}

static int
get_host_params(const struct acu_node *n, struct host_params *p)
{
    if (!n || !p || n->kind != ACU_NODE_HOST)
        return ACU_INVALID_VALUE;
    *p = (struct host_params){n->host, n->user};
    return 0;
}

EXPORT int
cudaGraphHostNodeGetParams(const struct acu_node *n, struct host_params *p)
{
    CALL(get_host_params(n, p));
}

static int
get_event(const struct acu_node *n, enum acu_node_kind kind, rt_event *event)
{
    return n && event && n->kind == kind ? (*event = n->event, 0) : ACU_INVALID_VALUE;
}

EXPORT int
cudaGraphEventRecordNodeGetEvent(const struct acu_node *n, rt_event *event)
{
    CALL(get_event(n, ACU_NODE_EVENT_RECORD, event));
}

EXPORT int
cudaGraphEventWaitNodeGetEvent(const struct acu_node *n, rt_event *event)
{
    CALL(get_event(n, ACU_NODE_EVENT_WAIT, event));
}

static int
get_alloc_params(const struct acu_node *n, struct alloc_params *p)
{
    if (!n || !p || n->kind != ACU_NODE_ALLOC)
        return ACU_INVALID_VALUE;
    static const int pinned_on_device[] = {1, 0, 1, 0}; /* cudaMemPoolProps */
    *p = (struct alloc_params){.bytes = n->bytes, .p = PTR(n->addr)};
    memcpy(p->pool, pinned_on_device, sizeof pinned_on_device);
    return 0;
}

EXPORT int
cudaGraphMemAllocNodeGetParams(const struct acu_node *n, struct alloc_params *p)
{
    CALL(get_alloc_params(n, p));
}

EXPORT int
cudaGraphMemFreeNodeGetParams(const struct acu_node *n, void **p)
{
    CALL(n && p && n->kind == ACU_NODE_FREE ? (*p = PTR(n->addr), 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaGraphNodeSetEnabled(struct acu_graph *exec, struct acu_node *n, unsigned enabled)
{
    CALL(acu_node_enable(acu_graph_copy_of(exec, n), enabled));
}

static int
get_enabled(const struct acu_node *n, unsigned *enabled)
{
    if (!n || !enabled)
        return ACU_INVALID_VALUE;
    *enabled = !n->disabled;
    return 0;
}

EXPORT int
cudaGraphNodeGetEnabled(struct acu_graph *exec, struct acu_node *n, unsigned *enabled)
{
    CALL(get_enabled(acu_graph_copy_of(exec, n), enabled));
}

/* -- memory of graphs -- */

EXPORT int
cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    CALL(device ? ACU_INVALID_DEVICE : acu_graph_memory_get(attribute, value));
}

EXPORT int
cudaDeviceSetGraphMemAttribute(int device, int attribute, const void *value)
{
    CALL(device  ? ACU_INVALID_DEVICE
         : value ? acu_graph_memory_set(attribute, *(const uint64_t *)value)
                 : ACU_INVALID_VALUE);
}

EXPORT int
cudaDeviceGraphMemTrim(int device)
{
    CALL(device ? ACU_INVALID_DEVICE : (acu_graph_memory_trim(), 0));
}

/* -- capture -- */

EXPORT int
cudaStreamBeginCapture(rt_stream s, int mode)
{
    CALL(acu_stream_capture_begin(s, mode, NULL, NULL, 0));
}

#if CUDART >= 12
EXPORT int
cudaStreamBeginCaptureToGraph(rt_stream s, struct acu_graph *g,
                              struct acu_node *const *after, const void *edges, size_t n,
                              int mode)
{
    CALL(g ? acu_stream_capture_begin(s, mode, g, after, n) : ACU_INVALID_VALUE);
}
#endif

EXPORT int
cudaStreamEndCapture(rt_stream s, struct acu_graph **g)
{
    CALL(acu_stream_capture_end(s, g));
}

EXPORT int
cudaStreamIsCapturing(rt_stream s, int *status)
{
    CALL(!status                ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*status = !!acu_capturing(s), 0));
}

static int
capture_info(rt_stream s, int *status, unsigned long long *id, struct acu_graph **g,
             const struct acu_node *const **front, const void **edges, size_t *n)
{
    size_t count;
    if (!status)
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    struct acu_graph *into = acu_capturing(s);
    const struct acu_node *const *list = acu_capture_front(s, &count);
    *status = !!into;
    if (into && id)
        *id = ADDR(into);
    if (into && g)
        *g = into;
    if (into && front)
        *front = list;
    if (into && edges)
        *edges = NULL;
    if (into && n)
        *n = count;
    return 0;
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

enum { FRONT_ADD, FRONT_SET };

#if CUDART < 13
EXPORT int
cudaStreamUpdateCaptureDependencies(rt_stream s, struct acu_node *const *nodes, size_t n,
                                    unsigned flags)
{
    CALL(flags > FRONT_SET ? ACU_INVALID_VALUE
                           : acu_capture_move(s, nodes, n, flags == FRONT_ADD));
}
#endif

EXPORT int
EDGES(cudaStreamUpdateCaptureDependencies)(rt_stream s, struct acu_node *const *nodes,
                                           const void *edges, size_t n, unsigned flags)
{
    CALL(flags > FRONT_SET ? ACU_INVALID_VALUE
                           : acu_capture_move(s, nodes, n, flags == FRONT_ADD));
}
