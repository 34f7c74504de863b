/* cudart_graph.c: graphs: work noted down, by capturing streams or node by node, and done
 * later as often as asked for.
 *
 * A graph is a list of nodes in the order in which they were made; a node can only depend
 * on nodes made before it, so doing them in that order is right. Edges are not kept: what
 * asks for them, or adds them afterwards, is not supported. A stream that waits for an
 * event of a capturing stream captures into the same graph.
 *
 * An executable graph is a copy. A copied node knows the node it was copied from, by
 * which programs name it when they change it; that one may be gone by then. */
#include "cuda/cudart.h"

#include <stdlib.h>

enum node_kind { NODE_EMPTY, NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_GRAPH };

struct rt_node {
    enum node_kind kind;
    const struct rt_node *origin; /* compared only */
    bool disabled;
    struct rt_graph *graph; /* of a child graph, the node's own */
    struct acu_function *f;
    struct acu_launch launch; /* args: the node's own copies, one block */
    struct acu_place dst, src;
    uint64_t width, height,
        depth; /* of a copy: bytes, rows, slices; of a fill: elements */
    uint32_t value;
    unsigned element;
    void (*host)(void *);
    void *user;
};

struct rt_graph {
    struct rt_node **node;
    size_t n;
};

struct capture {
    rt_stream stream;
    struct rt_graph *graph;
    bool origin; /* the stream on which the capture began */
};

/* Captures under way, and events recorded in them; guarded by the lock. */
static struct {
    struct capture at[64];
    size_t n;
    struct {
        rt_event event;
        struct rt_graph *graph;
    } event[256];
    size_t nevents;
} captures;

/* -- nodes -- */

static int graph_free(struct rt_graph *g);
static struct rt_graph *graph_copied(const struct rt_graph *from);

/* What hangs on it. */
static void
node_clear(struct rt_node *n)
{
    free((void *)n->launch.args);
    if (n->graph)
        graph_free(n->graph);
}

static void
node_free(struct rt_node *n)
{
    node_clear(n);
    free(n);
}

static struct rt_node *
node_new(struct rt_graph *g, enum node_kind kind)
{
    struct rt_node **list = realloc(g->node, (g->n + 1) * sizeof *list);
    struct rt_node *n = calloc(1, sizeof *n);
    if (!list || !n)
        abort(); /* as everywhere: no memory, no work */
    g->node = list;
    n->kind = kind;
    return g->node[g->n++] = n;
}

/* Pointers and values of a kernel's arguments in one block; NULL: it has none. */
static void **
copy_args(const struct acu_function *f, void *const *args)
{
    uint64_t at = 0, bytes = 0;
    size_t n = 0;
    while (acu_function_param(f, n, &at, &bytes))
        n++;
    uint64_t total = n ? at + bytes : 0; /* the last one's end */
    char *block = n ? malloc(n * sizeof(void *) + total) : NULL;
    if (n && !block)
        abort();
    for (size_t i = 0; i < n; i++) {
        acu_function_param(f, i, &at, &bytes);
        char *value = block + n * sizeof(void *) + at;
        memcpy(value, args[i], bytes);
        ((void **)block)[i] = value;
    }
    return (void **)block;
}

int
rt_graph_launch(struct rt_graph *g, struct acu_function *f, const struct acu_launch *l)
{
    int e = acu_function_load(f);
    if (e)
        return e;
    struct rt_node *n = node_new(g, NODE_KERNEL);
    n->f = f;
    n->launch = *l;
    n->launch.args = copy_args(f, l->args);
    return 0;
}

int
rt_graph_copy(struct rt_graph *g, const struct acu_place *dst,
              const struct acu_place *src, uint64_t width, uint64_t height,
              uint64_t depth)
{
    struct rt_node *n = node_new(g, NODE_COPY);
    n->dst = *dst;
    n->src = *src;
    n->width = width;
    n->height = height;
    n->depth = depth;
    return 0;
}

int
rt_graph_set(struct rt_graph *g, uint64_t dst, uint64_t pitch, uint64_t slice,
             uint32_t value, unsigned element, uint64_t width, uint64_t height,
             uint64_t depth)
{
    struct rt_node *n = node_new(g, NODE_SET);
    n->dst = (struct acu_place){.addr = dst, .pitch = pitch, .slice = slice};
    n->value = value;
    n->element = element;
    n->width = width;
    n->height = height;
    n->depth = depth;
    return 0;
}

int
rt_graph_host(struct rt_graph *g, void (*fn)(void *), void *user)
{
    struct rt_node *n = node_new(g, NODE_HOST);
    n->host = fn;
    n->user = user;
    return 0;
}

static int
node_run(const struct rt_node *n, rt_stream s)
{
    int e = 0;
    if (n->disabled)
        return 0;
    switch (n->kind) {
    case NODE_KERNEL:
        return acu_launch(n->f, &n->launch, s);
    case NODE_COPY:
        return acu_copy3d(&n->dst, &n->src, n->width, n->height, n->depth);
    case NODE_SET:
        return acu_set3d(n->dst.addr, n->dst.pitch, n->dst.slice, &n->value, n->element,
                         n->width, n->height, n->depth);
    case NODE_HOST:
        acu_call_back(n->host, n->user);
        return 0;
    case NODE_GRAPH:
        for (size_t i = 0; !e && i < n->graph->n; i++)
            e = node_run(n->graph->node[i], s);
        return e;
    case NODE_EMPTY:
        break;
    }
    return 0;
}

/* -- graphs -- */

static struct rt_graph *
graph_new(void)
{
    struct rt_graph *g = calloc(1, sizeof *g);
    if (!g)
        abort();
    return g;
}

static void
graph_clear(struct rt_graph *g)
{
    for (size_t i = 0; i < g->n; i++)
        node_free(g->node[i]);
    free(g->node);
    *g = (struct rt_graph){0};
}

static void
graph_copy(struct rt_graph *to, const struct rt_graph *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct rt_node *n = node_new(to, NODE_EMPTY);
        *n = *from->node[i];
        n->origin = from->node[i];
        if (n->kind == NODE_KERNEL)
            n->launch.args = copy_args(n->f, n->launch.args);
        if (n->graph)
            n->graph = graph_copied(n->graph);
    }
}

static struct rt_graph *
graph_copied(const struct rt_graph *from)
{
    struct rt_graph *g = graph_new();
    graph_copy(g, from);
    return g;
}

static int
graph_free(struct rt_graph *g)
{
    if (!g)
        return ACU_INVALID_VALUE;
    graph_clear(g);
    free(g);
    return 0;
}

EXPORT int
cudaGraphCreate(struct rt_graph **g, unsigned flags)
{
    CALL(!g || flags ? ACU_INVALID_VALUE : (*g = graph_new(), 0));
}

EXPORT int
cudaGraphDestroy(struct rt_graph *g)
{
    CALL(graph_free(g));
}

EXPORT int
cudaGraphExecDestroy(struct rt_graph *g)
{
    CALL(graph_free(g));
}

static int
instantiate(struct rt_graph **out, const struct rt_graph *g)
{
    if (!out || !g)
        return ACU_INVALID_VALUE;
    *out = graph_new();
    graph_copy(*out, g);
    return 0;
}

EXPORT int
cudaGraphClone(struct rt_graph **out, const struct rt_graph *g)
{
    CALL(instantiate(out, g));
}

/* What follows differs between versions of CUDA (flags, or a log): not read. */
EXPORT int
cudaGraphInstantiate(struct rt_graph **out, const struct rt_graph *g)
{
    CALL(instantiate(out, g));
}

EXPORT int
cudaGraphInstantiateWithFlags(struct rt_graph **out, const struct rt_graph *g,
                              unsigned long long flags)
{
    CALL(instantiate(out, g));
}

EXPORT int
cudaGraphUpload(struct rt_graph *g, rt_stream s)
{
    CALL(!g ? ACU_INVALID_VALUE : acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE);
}

static int
graph_launch(const struct rt_graph *g, rt_stream s)
{
    int e = !g ? ACU_INVALID_VALUE : acu_stream_valid(s) ? 0 : ACU_INVALID_HANDLE;
    struct rt_graph *outer = e ? NULL : rt_capturing(s);
    if (outer) { /* a graph inside a graph */
        graph_copy(outer, g);
        return 0;
    }
    for (size_t i = 0; !e && i < g->n; i++)
        e = node_run(g->node[i], s);
    return e;
}

EXPORT int
cudaGraphLaunch(const struct rt_graph *g, rt_stream s)
{
    CALL(graph_launch(g, s));
}

/* The executable graph becomes the other one; both must be of the same shape. */
static int
update(struct rt_graph *exec, const struct rt_graph *g)
{
    if (!exec || !g)
        return ACU_INVALID_VALUE;
    bool same = exec->n == g->n;
    for (size_t i = 0; same && i < g->n; i++)
        same = exec->node[i]->kind == g->node[i]->kind;
    if (!same)
        return ACU_GRAPH_EXEC_UPDATE_FAILURE;
    struct rt_graph *old = graph_new();
    *old = *exec;
    *exec = (struct rt_graph){0};
    graph_copy(exec, g);
    for (size_t i = 0; i < exec->n; i++) { /* its nodes are named as before */
        exec->node[i]->origin = old->node[i]->origin;
        exec->node[i]->disabled = old->node[i]->disabled;
    }
    return graph_free(old);
}

struct update_result { /* CUDA 12 and later; before: node, number */
    int result;
    void *node, *from;
};

EXPORT int
cudaGraphExecUpdate(struct rt_graph *exec, const struct rt_graph *g, void *first,
                    int *second)
{
    enum { SUCCESS = 0, TOPOLOGY_CHANGED = 2 };
    int e = acu_begin();
    if (!e)
        e = update(exec, g);
    int result = e ? TOPOLOGY_CHANGED : SUCCESS;
#if CUDART >= 12
    if (first)
        *(struct update_result *)first = (struct update_result){.result = result};
#else
    if (first)
        *(void **)first = NULL;
    if (second)
        *second = result;
#endif
    return acu_end(e);
}

EXPORT int
cudaGraphGetNodes(const struct rt_graph *g, struct rt_node **nodes, size_t *n)
{
    int e = acu_begin();
    if (!e)
        e = g && n ? 0 : ACU_INVALID_VALUE;
    if (!e && nodes) {
        for (size_t i = 0; i < *n; i++)
            nodes[i] = i < g->n ? g->node[i] : NULL;
        *n = *n < g->n ? *n : g->n;
    } else if (!e) {
        *n = g->n;
    }
    return acu_end(e);
}

EXPORT int
cudaGraphNodeGetType(const struct rt_node *n, int *type)
{
    static const int types[] = {[NODE_KERNEL] = 0, [NODE_COPY] = 1,  [NODE_SET] = 2,
                                [NODE_HOST] = 3,   [NODE_GRAPH] = 4, [NODE_EMPTY] = 5};
    CALL(n && type ? (*type = types[n->kind], 0) : ACU_INVALID_VALUE);
}

/* -- node by node -- */

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

/* The node that was made last is the one asked for. */
static int
added(struct rt_graph *g, struct rt_node **node, int e)
{
    if (!e)
        *node = g->node[g->n - 1];
    return e;
}

static int
add_kernel(struct rt_graph *g, const struct kernel_params *p)
{
    struct acu_function *f = p ? rt_function(p->func) : NULL;
    if (!g || !p)
        return ACU_INVALID_VALUE;
    if (!f)
        return ACU_INVALID_DEVICE_FUNCTION;
    if (!p->args && p->extra)
        return acu_not_supported("a kernel node with packed arguments");
    struct acu_launch l = {.grid = {p->grid.x, p->grid.y, p->grid.z},
                           .block = {p->block.x, p->block.y, p->block.z},
                           .dynamic_scratchpad = p->smem,
                           .args = p->args};
    return rt_graph_launch(g, f, &l);
}

EXPORT int
cudaGraphAddKernelNode(struct rt_node **node, struct rt_graph *g,
                       struct rt_node *const *after, size_t n,
                       const struct kernel_params *p)
{
    CALL(node ? added(g, node, add_kernel(g, p)) : ACU_INVALID_VALUE);
}

EXPORT int
cudaGraphAddEmptyNode(struct rt_node **node, struct rt_graph *g,
                      struct rt_node *const *after, size_t n)
{
    CALL(node && g ? (*node = node_new(g, NODE_EMPTY), 0) : ACU_INVALID_VALUE);
}

EXPORT int
cudaGraphAddHostNode(struct rt_node **node, struct rt_graph *g,
                     struct rt_node *const *after, size_t n, const struct host_params *p)
{
    CALL(node && g && p && p->fn ? added(g, node, rt_graph_host(g, p->fn, p->user))
                                 : ACU_INVALID_VALUE);
}

EXPORT int
cudaGraphAddMemsetNode(struct rt_node **node, struct rt_graph *g,
                       struct rt_node *const *after, size_t n, const struct set_params *p)
{
    CALL(node && g && p && (p->element == 1 || p->element == 2 || p->element == 4)
             ? added(g, node,
                     rt_graph_set(g, ADDR(p->dst), p->pitch, 0, p->value, p->element,
                                  p->width, p->height, 1))
             : ACU_INVALID_VALUE);
}

static int
add_copy(struct rt_graph *g, const struct rt_memcpy3d *p)
{
    struct acu_place dst, src;
    struct rt_extent bytes;
    if (!g || !p)
        return ACU_INVALID_VALUE;
    int e = rt_memcpy3d_places(p, &dst, &src, &bytes);
    return e ? e : rt_graph_copy(g, &dst, &src, bytes.width, bytes.height, bytes.depth);
}

EXPORT int
cudaGraphAddMemcpyNode(struct rt_node **node, struct rt_graph *g,
                       struct rt_node *const *after, size_t n,
                       const struct rt_memcpy3d *p)
{
    CALL(node ? added(g, node, add_copy(g, p)) : ACU_INVALID_VALUE);
}

static int
add_copy_1d(struct rt_graph *g, void *dst, const void *src, size_t n, int kind)
{
    struct rt_sides s;
    int e = g ? rt_sides(kind, &s) : ACU_INVALID_VALUE;
    if (e)
        return e;
    struct acu_place to = {.side = s.dst, .addr = ADDR(dst)};
    struct acu_place from = {.side = s.src, .addr = ADDR(src)};
    return rt_graph_copy(g, &to, &from, n, 1, 1);
}

EXPORT int
cudaGraphAddMemcpyNode1D(struct rt_node **node, struct rt_graph *g,
                         struct rt_node *const *after, size_t nafter, void *dst,
                         const void *src, size_t n, int kind)
{
    CALL(node ? added(g, node, add_copy_1d(g, dst, src, n, kind)) : ACU_INVALID_VALUE);
}

static int
add_child(struct rt_graph *g, const struct rt_graph *child)
{
    if (!g || !child)
        return ACU_INVALID_VALUE;
    struct rt_graph *copy = graph_copied(child);
    node_new(g, NODE_GRAPH)->graph = copy;
    return 0;
}

EXPORT int
cudaGraphAddChildGraphNode(struct rt_node **node, struct rt_graph *g,
                           struct rt_node *const *after, size_t n,
                           const struct rt_graph *child)
{
    CALL(node ? added(g, node, add_child(g, child)) : ACU_INVALID_VALUE);
}

static int
child_graph(const struct rt_node *n, struct rt_graph **g)
{
    if (!n || !g || n->kind != NODE_GRAPH)
        return ACU_INVALID_VALUE;
    *g = n->graph;
    return 0;
}

EXPORT int
cudaGraphChildGraphNodeGetGraph(const struct rt_node *n, struct rt_graph **g)
{
    CALL(child_graph(n, g));
}

/* -- changing nodes, in a graph and in an executable one -- */

static struct rt_node *
copy_of(const struct rt_graph *exec, const struct rt_node *node)
{
    for (size_t i = 0; exec && node && i < exec->n; i++)
        if (exec->node[i]->origin == node)
            return exec->node[i];
    return NULL;
}

/* n becomes what the one node of `made` is, which is used up. e: of making it. */
static int
become(struct rt_node *n, struct rt_graph *made, int e)
{
    if (!e && (!n || n->kind != made->node[0]->kind))
        e = ACU_INVALID_VALUE;
    if (!e) {
        struct rt_node old = *n;
        *n = *made->node[0];
        n->origin = old.origin;
        n->disabled = old.disabled;
        *made->node[0] = old;
    }
    graph_clear(made);
    return e;
}

static int
set_kernel(struct rt_node *n, const struct kernel_params *p)
{
    struct rt_graph made = {0};
    return become(n, &made, add_kernel(&made, p));
}

static int
set_copy(struct rt_node *n, const struct rt_memcpy3d *p)
{
    struct rt_graph made = {0};
    return become(n, &made, add_copy(&made, p));
}

static int
set_copy_1d(struct rt_node *n, void *dst, const void *src, size_t bytes, int kind)
{
    struct rt_graph made = {0};
    return become(n, &made, add_copy_1d(&made, dst, src, bytes, kind));
}

static int
set_set(struct rt_node *n, const struct set_params *p)
{
    struct rt_graph made = {0};
    if (!p || (p->element != 1 && p->element != 2 && p->element != 4))
        return ACU_INVALID_VALUE;
    return become(n, &made,
                  rt_graph_set(&made, ADDR(p->dst), p->pitch, 0, p->value, p->element,
                               p->width, p->height, 1));
}

static int
set_host(struct rt_node *n, const struct host_params *p)
{
    struct rt_graph made = {0};
    if (!p || !p->fn)
        return ACU_INVALID_VALUE;
    return become(n, &made, rt_graph_host(&made, p->fn, p->user));
}

EXPORT int
cudaGraphKernelNodeSetParams(struct rt_node *n, const struct kernel_params *p)
{
    CALL(set_kernel(n, p));
}

EXPORT int
cudaGraphExecKernelNodeSetParams(struct rt_graph *exec, struct rt_node *n,
                                 const struct kernel_params *p)
{
    CALL(set_kernel(copy_of(exec, n), p));
}

EXPORT int
cudaGraphMemcpyNodeSetParams(struct rt_node *n, const struct rt_memcpy3d *p)
{
    CALL(set_copy(n, p));
}

EXPORT int
cudaGraphExecMemcpyNodeSetParams(struct rt_graph *exec, struct rt_node *n,
                                 const struct rt_memcpy3d *p)
{
    CALL(set_copy(copy_of(exec, n), p));
}

EXPORT int
cudaGraphMemcpyNodeSetParams1D(struct rt_node *n, void *dst, const void *src,
                               size_t bytes, int kind)
{
    CALL(set_copy_1d(n, dst, src, bytes, kind));
}

EXPORT int
cudaGraphExecMemcpyNodeSetParams1D(struct rt_graph *exec, struct rt_node *n, void *dst,
                                   const void *src, size_t bytes, int kind)
{
    CALL(set_copy_1d(copy_of(exec, n), dst, src, bytes, kind));
}

EXPORT int
cudaGraphMemsetNodeSetParams(struct rt_node *n, const struct set_params *p)
{
    CALL(set_set(n, p));
}

EXPORT int
cudaGraphExecMemsetNodeSetParams(struct rt_graph *exec, struct rt_node *n,
                                 const struct set_params *p)
{
    CALL(set_set(copy_of(exec, n), p));
}

EXPORT int
cudaGraphHostNodeSetParams(struct rt_node *n, const struct host_params *p)
{
    CALL(set_host(n, p));
}

EXPORT int
cudaGraphExecHostNodeSetParams(struct rt_graph *exec, struct rt_node *n,
                               const struct host_params *p)
{
    CALL(set_host(copy_of(exec, n), p));
}

static int
get_kernel_params(const struct rt_node *n, struct kernel_params *p)
{
    if (!n || !p || n->kind != NODE_KERNEL)
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
cudaGraphKernelNodeGetParams(const struct rt_node *n, struct kernel_params *p)
{
    CALL(get_kernel_params(n, p));
}

static int
get_set_params(const struct rt_node *n, struct set_params *p)
{
    if (!n || !p || n->kind != NODE_SET)
        return ACU_INVALID_VALUE;
    *p = (struct set_params){PTR(n->dst.addr), n->dst.pitch, n->value,
                             n->element,       n->width,     n->height};
    return 0;
}

EXPORT int
cudaGraphMemsetNodeGetParams(const struct rt_node *n, struct set_params *p)
{
    CALL(get_set_params(n, p));
}

static int
get_host_params(const struct rt_node *n, struct host_params *p)
{
    if (!n || !p || n->kind != NODE_HOST)
        return ACU_INVALID_VALUE;
    *p = (struct host_params){n->host, n->user};
    return 0;
}

EXPORT int
cudaGraphHostNodeGetParams(const struct rt_node *n, struct host_params *p)
{
    CALL(get_host_params(n, p));
}

/* A node that is not enabled does nothing; kernels, copies and fills can be. */
static int
set_enabled(struct rt_node *n, unsigned enabled)
{
    if (!n || (n->kind != NODE_KERNEL && n->kind != NODE_COPY && n->kind != NODE_SET))
        return ACU_INVALID_VALUE;
    n->disabled = !enabled;
    return 0;
}

EXPORT int
cudaGraphNodeSetEnabled(struct rt_graph *exec, struct rt_node *n, unsigned enabled)
{
    CALL(set_enabled(copy_of(exec, n), enabled));
}

static int
get_enabled(const struct rt_node *n, unsigned *enabled)
{
    if (!n || !enabled)
        return ACU_INVALID_VALUE;
    *enabled = !n->disabled;
    return 0;
}

EXPORT int
cudaGraphNodeGetEnabled(struct rt_graph *exec, struct rt_node *n, unsigned *enabled)
{
    CALL(get_enabled(copy_of(exec, n), enabled));
}

static int
find_in_clone(struct rt_node **out, const struct rt_node *node,
              const struct rt_graph *clone)
{
    struct rt_node *n = copy_of(clone, node);
    if (!out || !n)
        return ACU_INVALID_VALUE;
    *out = n;
    return 0;
}

EXPORT int
cudaGraphNodeFindInClone(struct rt_node **out, const struct rt_node *node,
                         const struct rt_graph *clone)
{
    CALL(find_in_clone(out, node, clone));
}

/* -- capture -- */

static struct capture *
capture_of(rt_stream s)
{
    for (size_t i = 0; i < captures.n; i++)
        if (captures.at[i].stream == s)
            return &captures.at[i];
    return NULL;
}

struct rt_graph *
rt_capturing(rt_stream s)
{
    struct capture *c = captures.n ? capture_of(s) : NULL;
    return c ? c->graph : NULL;
}

/* The stream joins the capture into `g`; NULL: into a new graph. */
static int
begin(rt_stream s, struct rt_graph *g, bool origin)
{
    if (captures.n == sizeof captures.at / sizeof *captures.at)
        return ACU_OUT_OF_MEMORY;
    captures.at[captures.n++] = (struct capture){s, g ? g : graph_new(), origin};
    return 0;
}

static int
capture_begin(rt_stream s, int mode)
{
    if (mode < 0 || mode > 2)
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!s || s == ACU_STREAM_LEGACY)
        return ACU_STREAM_CAPTURE_UNSUPPORTED;
    return capture_of(s) ? ACU_ILLEGAL_STATE : begin(s, NULL, true);
}

EXPORT int
cudaStreamBeginCapture(rt_stream s, int mode)
{
    CALL(capture_begin(s, mode));
}

static int
capture_end(rt_stream s, struct rt_graph **g)
{
    struct capture *c = capture_of(s);
    if (!g)
        return ACU_INVALID_VALUE;
    if (!c)
        return ACU_ILLEGAL_STATE;
    if (!c->origin)
        return ACU_STREAM_CAPTURE_UNMATCHED;
    *g = c->graph;
    for (size_t i = 0; i < captures.n;) /* with the streams that had joined */
        if (captures.at[i].graph == *g)
            captures.at[i] = captures.at[--captures.n];
        else
            i++;
    for (size_t i = 0; i < captures.nevents;)
        if (captures.event[i].graph == *g)
            captures.event[i] = captures.event[--captures.nevents];
        else
            i++;
    return 0;
}

EXPORT int
cudaStreamEndCapture(rt_stream s, struct rt_graph **g)
{
    CALL(capture_end(s, g));
}

/* Recorded in a capturing stream: whoever waits for it joins. */
bool
rt_capture_record(rt_event e, rt_stream s)
{
    struct rt_graph *g = rt_capturing(s);
    if (!g)
        return false;
    if (captures.nevents < sizeof captures.event / sizeof *captures.event) {
        captures.event[captures.nevents].event = e;
        captures.event[captures.nevents++].graph = g;
    }
    return true;
}

int
rt_capture_wait(rt_stream s, rt_event e)
{
    for (size_t i = 0; i < captures.nevents; i++)
        if (captures.event[i].event == e && !rt_capturing(s))
            return begin(s, captures.event[i].graph, false);
    return 0;
}
