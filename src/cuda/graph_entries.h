/* graph_entries.h: entry points for graphs that the runtime API and the driver API have
 * alike, but for their names. Included once by cudart_graph.c and driver_graph.c, which
 * define before:
 *
 *     ENTRY, API(name)    return type and name of an entry point; ENTER, LEAVE, CALL
 *     EDGES(name)         the name whose calls have annotations of edges
 *     PLAIN_EDGES         defined if there are names without them, too
 *     struct kernel_params, copy_params, set_params, conditional_params, graph_params
 *     describe_kernel, describe_copy_node, describe_set */

/* -- descriptions of nodes -- */

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
struct node_params { /* cudaGraphNodeParams, CUgraphNodeParams */
    int type;
    int reserved0[3];
    union {
        long long room[29];
        struct kernel_params kernel;
        struct copy_params copy;
        struct set_params set;
        struct host_params host;
        struct graph_params graph;
        struct acu_event *event;
        struct alloc_params alloc;
        void *free;
        struct conditional_params conditional;
    } u;
    long long reserved1;
};
_Static_assert(sizeof(struct node_params) == 256, "CUgraphNodeParams");
_Static_assert(sizeof(struct alloc_params) == 120, "CUDA_MEM_ALLOC_NODE_PARAMS");

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
        return describe_copy_node(&p->u.copy, what);
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
    ENTRY name parameters                                                                \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(add(node, g, after, nafter, &what, description));                           \
    }
#define PLACE                                                                            \
    struct acu_node **node, struct acu_graph *g, struct acu_node *const *after,          \
        size_t nafter

ADD(API(GraphAddHostNode), (PLACE, const struct host_params *p), describe_host(p, &what))
ADD(API(GraphAddEmptyNode), (PLACE), (what.kind = ACU_NODE_EMPTY, 0))
ADD(API(GraphAddEventRecordNode), (PLACE, struct acu_event *event),
    (what.kind = ACU_NODE_EVENT_RECORD, what.event = event, 0))
ADD(API(GraphAddEventWaitNode), (PLACE, struct acu_event *event),
    (what.kind = ACU_NODE_EVENT_WAIT, what.event = event, 0))
ADD(API(GraphAddChildGraphNode), (PLACE, struct acu_graph *child),
    (what.kind = ACU_NODE_GRAPH, what.body = &child, what.nbody = 1, 0))
ADD(API(GraphAddMemFreeNode), (PLACE, void *p),
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

ENTRY
API(GraphAddMemAllocNode)(PLACE, struct alloc_params *p)
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

/* Since CUDA 13 the runtime's names without a number have what those with _v2 had:
 * annotations of edges, which only allow more overlap. */
#ifdef PLAIN_EDGES
ENTRY
API(GraphAddNode)(PLACE, struct node_params *p)
{
    CALL(add_any(node, g, after, nafter, p));
}

ENTRY
API(GraphAddDependencies)(struct acu_graph *g, struct acu_node *const *from,
                          struct acu_node *const *to, size_t n)
{
    CALL(acu_graph_add_edges(g, from, to, n));
}

ENTRY
API(GraphRemoveDependencies)(struct acu_graph *g, struct acu_node *const *from,
                             struct acu_node *const *to, size_t n)
{
    CALL(acu_graph_remove_edges(g, from, to, n));
}

ENTRY
API(GraphGetEdges)(const struct acu_graph *g, struct acu_node **from,
                   struct acu_node **to, size_t *n)
{
    CALL(acu_graph_edges(g, from, to, n));
}

ENTRY
API(GraphNodeGetDependencies)(const struct acu_node *node, struct acu_node **out,
                              size_t *n)
{
    CALL(acu_node_before(node, out, n));
}

ENTRY
API(GraphNodeGetDependentNodes)(const struct acu_node *node, struct acu_node **out,
                                size_t *n)
{
    CALL(acu_node_behind(node, out, n));
}
#endif

ENTRY
EDGES(API(GraphAddNode))(struct acu_node **node, struct acu_graph *g,
                         struct acu_node *const *after, const void *edges, size_t n,
                         struct node_params *p)
{
    CALL(add_any(node, g, after, n, p));
}

ENTRY
EDGES(API(GraphAddDependencies))(struct acu_graph *g, struct acu_node *const *from,
                                 struct acu_node *const *to, const void *edges, size_t n)
{
    CALL(acu_graph_add_edges(g, from, to, n));
}

ENTRY
EDGES(API(GraphRemoveDependencies))(struct acu_graph *g, struct acu_node *const *from,
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

ENTRY
EDGES(API(GraphGetEdges))(const struct acu_graph *g, struct acu_node **from,
                          struct acu_node **to, void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_graph_edges(g, from, to, n)));
}

ENTRY
EDGES(API(GraphNodeGetDependencies))(const struct acu_node *node, struct acu_node **out,
                                     void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_node_before(node, out, n)));
}

ENTRY
EDGES(API(GraphNodeGetDependentNodes))(const struct acu_node *node, struct acu_node **out,
                                       void *edges, size_t *n)
{
    CALL(no_annotations(edges, n, acu_node_behind(node, out, n)));
}

/* -- graphs -- */

ENTRY
API(GraphCreate)(struct acu_graph **g, unsigned flags)
{
    CALL(!g || flags ? ACU_INVALID_VALUE : (*g = acu_graph_new(), 0));
}

ENTRY
API(GraphDestroy)(struct acu_graph *g)
{
    CALL(acu_graph_free(g));
}

ENTRY
API(GraphExecDestroy)(struct acu_graph *g)
{
    CALL(acu_graph_free(g));
}

ENTRY
API(GraphDestroyNode)(struct acu_node *n)
{
    CALL(acu_node_remove(n));
}

ENTRY
API(GraphClone)(struct acu_graph **out, struct acu_graph *g)
{
    CALL(acu_graph_clone(out, g));
}

ENTRY
API(GraphInstantiateWithFlags)(struct acu_graph **out, struct acu_graph *g,
                               unsigned long long flags)
{
    CALL(acu_graph_instantiate(out, g, flags));
}

struct instantiate_params {
    unsigned long long flags;
    struct acu_stream *upload;
    struct acu_node *wrong;
    int result;
};

ENTRY
API(GraphInstantiateWithParams)(struct acu_graph **out, struct acu_graph *g,
                                struct instantiate_params *p)
{
    enum { SUCCESS, ERROR };
    int e = ENTER();
    if (!e)
        e = p ? acu_graph_instantiate(out, g, p->flags) : ACU_INVALID_VALUE;
    if (p) {
        p->wrong = NULL;
        p->result = e ? ERROR : SUCCESS;
    }
    return LEAVE(e);
}

ENTRY
API(GraphExecGetFlags)(const struct acu_graph *exec, unsigned long long *flags)
{
    CALL(exec && flags ? (*flags = exec->flags, 0) : ACU_INVALID_VALUE);
}

struct update_result { /* of an update since CUDA 12 */
    int result;
    struct acu_node *node, *from;
};

ENTRY
API(GraphUpload)(struct acu_graph *g, struct acu_stream *s)
{
    CALL(!g ? ACU_INVALID_VALUE : acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE);
}

ENTRY
API(GraphLaunch)(struct acu_graph *g, struct acu_stream *s)
{
    CALL(acu_graph_launch(g, s));
}

ENTRY
API(GraphGetNodes)(const struct acu_graph *g, struct acu_node **nodes, size_t *n)
{
    CALL(acu_graph_nodes(g, nodes, n));
}

ENTRY
API(GraphGetRootNodes)(const struct acu_graph *g, struct acu_node **nodes, size_t *n)
{
    CALL(acu_graph_roots(g, nodes, n));
}

ENTRY
API(GraphNodeGetType)(const struct acu_node *n, int *type)
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

ENTRY
API(GraphChildGraphNodeGetGraph)(const struct acu_node *n, struct acu_graph **g)
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

ENTRY
API(GraphNodeFindInClone)(struct acu_node **out, const struct acu_node *node,
                          const struct acu_graph *clone)
{
    CALL(find_in_clone(out, node, clone));
}

ENTRY
API(GraphDebugDotPrint)(const struct acu_graph *g, const char *path, unsigned flags)
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
    ENTRY name(struct acu_node *n, UNPACK parameters)                                    \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(change(n, &what, description));                                             \
    }                                                                                    \
    ENTRY exec_name(struct acu_graph *exec, struct acu_node *n, UNPACK parameters)       \
    {                                                                                    \
        struct acu_node what = {0};                                                      \
        CALL(change(acu_graph_copy_of(exec, n), &what, description));                    \
    }
#define UNPACK(...) __VA_ARGS__

SET(API(GraphHostNodeSetParams), API(GraphExecHostNodeSetParams),
    (const struct host_params *p), describe_host(p, &what))
SET(API(GraphEventRecordNodeSetEvent), API(GraphExecEventRecordNodeSetEvent),
    (struct acu_event * event),
    (what.kind = ACU_NODE_EVENT_RECORD, what.event = event, 0))
SET(API(GraphEventWaitNodeSetEvent), API(GraphExecEventWaitNodeSetEvent),
    (struct acu_event * event), (what.kind = ACU_NODE_EVENT_WAIT, what.event = event, 0))

ENTRY
API(GraphExecChildGraphNodeSetParams)(struct acu_graph *exec, struct acu_node *n,
                                      struct acu_graph *child)
{
    struct acu_node what = {ACU_NODE_GRAPH, .body = &child, .nbody = 1};
    CALL(acu_node_set(acu_graph_copy_of(exec, n), &what));
}

static int
change_any(struct acu_node *n, const struct node_params *p)
{
    struct acu_node what;
    struct acu_graph *graph;
    return change(n, &what, describe(p, &graph, &what));
}

ENTRY
API(GraphNodeSetParams)(struct acu_node *n, const struct node_params *p)
{
    CALL(change_any(n, p));
}

ENTRY
API(GraphExecNodeSetParams)(struct acu_graph *exec, struct acu_node *n,
                            const struct node_params *p)
{
    CALL(change_any(acu_graph_copy_of(exec, n), p));
}
/* -- what a node is -- */

static int
get_set_params(const struct acu_node *n, struct set_params *p)
{
    if (!n || !p || n->kind != ACU_NODE_SET)
        return ACU_INVALID_VALUE;
    *p = (struct set_params){.pitch = n->dst.pitch,
                             .value = n->value,
                             .element = n->element,
                             .width = n->width,
                             .height = n->height};
    memcpy(&p->dst, &n->dst.addr, sizeof p->dst); /* a pointer, or a number */
    return 0;
}

ENTRY
API(GraphMemsetNodeGetParams)(const struct acu_node *n, struct set_params *p)
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

ENTRY
API(GraphHostNodeGetParams)(const struct acu_node *n, struct host_params *p)
{
    CALL(get_host_params(n, p));
}

static int
get_event(const struct acu_node *n, enum acu_node_kind kind, struct acu_event **event)
{
    return n && event && n->kind == kind ? (*event = n->event, 0) : ACU_INVALID_VALUE;
}

ENTRY
API(GraphEventRecordNodeGetEvent)(const struct acu_node *n, struct acu_event **event)
{
    CALL(get_event(n, ACU_NODE_EVENT_RECORD, event));
}

ENTRY
API(GraphEventWaitNodeGetEvent)(const struct acu_node *n, struct acu_event **event)
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

ENTRY
API(GraphMemAllocNodeGetParams)(const struct acu_node *n, struct alloc_params *p)
{
    CALL(get_alloc_params(n, p));
}

ENTRY
API(GraphKernelNodeSetAttribute)(struct acu_node *n, int number, const void *value)
{
    CALL(acu_node_attribute_set(n, number, value));
}

ENTRY
API(GraphKernelNodeGetAttribute)(const struct acu_node *n, int number, void *value)
{
    CALL(acu_node_attribute_get(n, number, value));
}

/* The runtime's header of CUDA 11 and 12 calls the first one the source; its manual, CUDA
 * 13's header and the driver's call it the destination. */
ENTRY
API(GraphKernelNodeCopyAttributes)(struct acu_node *dst, const struct acu_node *src)
{
    CALL(acu_node_attributes_copy(dst, src));
}

ENTRY
API(GraphNodeSetEnabled)(struct acu_graph *exec, struct acu_node *n, unsigned enabled)
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

ENTRY
API(GraphNodeGetEnabled)(struct acu_graph *exec, struct acu_node *n, unsigned *enabled)
{
    CALL(get_enabled(acu_graph_copy_of(exec, n), enabled));
}

/* -- memory of graphs -- */

ENTRY
API(DeviceGetGraphMemAttribute)(int device, int attribute, void *value)
{
    CALL(device ? ACU_INVALID_DEVICE : acu_graph_memory_get(attribute, value));
}

ENTRY
API(DeviceSetGraphMemAttribute)(int device, int attribute, const void *value)
{
    CALL(device  ? ACU_INVALID_DEVICE
         : value ? acu_graph_memory_set(attribute, *(const uint64_t *)value)
                 : ACU_INVALID_VALUE);
}

ENTRY
API(DeviceGraphMemTrim)(int device)
{
    CALL(device ? ACU_INVALID_DEVICE : (acu_graph_memory_trim(), 0));
}

/* -- capture -- */

ENTRY
API(StreamBeginCaptureToGraph)(struct acu_stream *s, struct acu_graph *g,
                               struct acu_node *const *after, const void *edges, size_t n,
                               int mode)
{
    CALL(g ? acu_stream_capture_begin(s, mode, g, after, n) : ACU_INVALID_VALUE);
}
ENTRY
API(StreamEndCapture)(struct acu_stream *s, struct acu_graph **g)
{
    CALL(acu_stream_capture_end(s, g));
}

ENTRY
API(StreamIsCapturing)(struct acu_stream *s, int *status)
{
    CALL(!status                ? ACU_INVALID_VALUE
         : !acu_stream_valid(s) ? ACU_INVALID_HANDLE
                                : (*status = !!acu_capturing(s), 0));
}

static int
capture_info(struct acu_stream *s, int *status, unsigned long long *id,
             struct acu_graph **g, const struct acu_node *const **front,
             const void **edges, size_t *n)
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

enum { FRONT_ADD, FRONT_SET };

#ifdef PLAIN_EDGES
ENTRY
API(StreamUpdateCaptureDependencies)(struct acu_stream *s, struct acu_node *const *nodes,
                                     size_t n, unsigned flags)
{
    CALL(flags > FRONT_SET ? ACU_INVALID_VALUE
                           : acu_capture_move(s, nodes, n, flags == FRONT_ADD));
}
#endif

ENTRY
EDGES(API(StreamUpdateCaptureDependencies))(struct acu_stream *s,
                                            struct acu_node *const *nodes,
                                            const void *edges, size_t n, unsigned flags)
{
    CALL(flags > FRONT_SET ? ACU_INVALID_VALUE
                           : acu_capture_move(s, nodes, n, flags == FRONT_ADD));
}
