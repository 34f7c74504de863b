/* driver_graph.c: graphs by the driver API, as a program that needs nothing of CUDA's to
 * be built: nodes of every kind that the API has a call for, memory nodes by capture, a
 * loop whose condition a kernel sets. Exit status 0: all right. */
#include "driver_kit.h"

typedef struct {
    void *f;
    unsigned grid[3], block[3], smem;
    void **args, **extra;
    void *kernel, *context;
} kernel_params;
typedef struct {
    dptr dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
    void *context;
} set_params;
typedef struct {
    size_t x, y, z, lod;
    int type;
    const void *host;
    dptr device;
    void *array, *reserved;
    size_t pitch, height;
} side3d;
typedef struct {
    side3d src, dst;
    size_t width, height, depth;
} copy3d;
typedef struct {
    void (*fn)(void *);
    void *user;
} host_params;
typedef struct {
    char pool[88];
    const void *access;
    size_t naccess, bytes;
    dptr p;
} alloc_params;
typedef struct {
    int type, reserved0[3];
    union {
        long long room[29];
        kernel_params kernel;
        struct {
            int flags, reserved;
            void *context;
            copy3d copy;
        } copy;
        set_params set;
        alloc_params alloc;
        dptr free;
        struct {
            uint64_t handle;
            int type;
            unsigned size;
            void **out;
            void *context;
        } conditional;
    } u;
    long long reserved1;
} node_params;
typedef struct {
    int result;
    void *node, *from;
} update_result;

#define FUNCTIONS                                                                        \
    F(cuInit, (unsigned))                                                                \
    F(cuCtxCreate_v2, (void **, unsigned, int))                                          \
    F(cuModuleLoadData, (void **, const void *))                                         \
    F(cuModuleGetFunction, (void **, void *, const char *))                              \
    F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, void *, void **, void **))                    \
    F(cuMemAlloc_v2, (dptr *, size_t))                                                   \
    F(cuMemAllocAsync, (dptr *, size_t, void *))                                         \
    F(cuMemFreeAsync, (dptr, void *))                                                    \
    F(cuMemcpyDtoH_v2, (void *, dptr, size_t))                                           \
    F(cuMemcpyDtoDAsync_v2, (dptr, dptr, size_t, void *))                                \
    F(cuMemsetD32_v2, (dptr, unsigned, size_t))                                          \
    F(cuMemsetD32Async, (dptr, unsigned, size_t, void *))                                \
    F(cuLaunchHostFunc, (void *, void (*)(void *), void *))                              \
    F(cuStreamCreate, (void **, unsigned))                                               \
    F(cuStreamWaitEvent, (void *, void *, unsigned))                                     \
    F(cuStreamBeginCapture_v2, (void *, int))                                            \
    F(cuStreamIsCapturing, (void *, int *))                                              \
    F(cuStreamEndCapture, (void *, void **))                                             \
    F(cuEventCreate, (void **, unsigned))                                                \
    F(cuEventRecord, (void *, void *))                                                   \
    F(cuGraphCreate, (void **, unsigned))                                                \
    F(cuGraphDestroy, (void *))                                                          \
    F(cuGraphAddKernelNode_v2,                                                           \
      (void **, void *, void **, size_t, const kernel_params *))                         \
    F(cuGraphAddMemsetNode,                                                              \
      (void **, void *, void **, size_t, const set_params *, void *))                    \
    F(cuGraphAddMemcpyNode, (void **, void *, void **, size_t, const copy3d *, void *))  \
    F(cuGraphAddHostNode, (void **, void *, void **, size_t, const host_params *))       \
    F(cuGraphAddChildGraphNode, (void **, void *, void **, size_t, void *))              \
    F(cuGraphAddNode_v2,                                                                 \
      (void **, void *, void **, const void *, size_t, node_params *))                   \
    F(cuGraphAddDependencies_v2, (void *, void **, void **, const void *, size_t))       \
    F(cuGraphGetNodes, (void *, void **, size_t *))                                      \
    F(cuGraphNodeGetType, (void *, int *))                                               \
    F(cuGraphNodeGetDependencies_v2, (void *, void **, void *, size_t *))                \
    F(cuGraphKernelNodeGetParams_v2, (void *, kernel_params *))                          \
    F(cuGraphMemsetNodeGetParams, (void *, set_params *))                                \
    F(cuGraphExecKernelNodeSetParams_v2, (void *, void *, const kernel_params *))        \
    F(cuGraphExecMemsetNodeSetParams, (void *, void *, const set_params *, void *))      \
    F(cuGraphConditionalHandleCreate, (uint64_t *, void *, void *, unsigned, unsigned))  \
    F(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                \
    F(cuGraphExecUpdate_v2, (void *, void *, update_result *))                           \
    F(cuGraphExecDestroy, (void *))                                                      \
    F(cuGraphLaunch, (void *, void *))                                                   \
    F(cuDeviceGetGraphMemAttribute, (int, int, void *))
#define F F_POINTER
FUNCTIONS
#undef F

enum { INVALID_VALUE = 1, UPDATE_FAILURE = 910 };
enum { KERNEL, ALLOC = 10, FREE = 11, CONDITIONAL = 13 };

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry add(.param .u64 p, .param .u32 v) {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];\n"
    "  ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2;\n"
    "  ret;\n}\n"
    ".visible .entry until(.param .u64 p, .param .u32 most, .param .u64 handle) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %q;\n"
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [most]; ld.param.u64 %rd2, [handle];\n"
    "  ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2;\n"
    "  setp.lt.u32 %q, %r2, %r1; selp.u32 %r3, 1, 0, %q;\n"
    "  { .param .b64 h; .param .b32 v; st.param.b64 [h], %rd2; st.param.b32 [v], %r3;\n"
    "    call cudaGraphSetConditional, (h, v); }\n"
    "  ret;\n}\n";

static void *add, *until, *stream;
static dptr word; /* two of them */

static int
value(int i)
{
    int v;
    OK(cuMemcpyDtoH_v2(&v, word + 4 * i, 4));
    return v;
}

static void
called(void *user)
{
    ++*(int *)user;
}

/* Memory, kernels and a host function of a capturing stream. */
static void
captured(void)
{
    void *graph, *exec, *node[9], *second, *event;
    size_t n = 9, used = 1;
    dptr p;
    int v = 5, calls = 0, type, on;
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreate(&second, 0));
    OK(cuMemsetD32_v2(word, 0, 2));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuMemAllocAsync(&p, 64, stream));
    OK(cuMemsetD32Async(p, 7, 16, stream));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuStreamIsCapturing(second, &on));
    IS(on, 1);
    void *args[] = {&p, &v};
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, second, args, NULL));
    v = 9; /* the node has its own copy */
    OK(cuEventRecord(event, second));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync_v2(word, p, 4, stream));
    OK(cuLaunchHostFunc(stream, called, &calls));
    OK(cuMemFreeAsync(p, stream));
    IS(cuMemFreeAsync(word, stream), INVALID_VALUE);
    OK(cuStreamEndCapture(stream, &graph));
    IS(value(0), 0);
    IS(calls, 0);
    OK(cuGraphGetNodes(graph, node, &n));
    IS((int)n, 6);
    OK(cuGraphNodeGetType(node[0], &type));
    IS(type, ALLOC);
    n = 9;
    OK(cuGraphNodeGetDependencies_v2(node[3], NULL, NULL, &n));
    IS((int)n, 2); /* of the copy: the fill, and the kernel of the other stream */
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    IS(value(0), 12);
    IS(calls, 2);
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    IS((int)used, 0);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* Node by node, in a graph inside another, changed in the executable graph. */
static void
node_by_node(void)
{
    void *inner, *graph, *exec, *set, *kernel, *copy, *host, *child;
    int v = 3, calls = 0;
    void *args[] = {&word, &v};
    kernel_params k = {.kernel = add,
                       .grid = {1, 1, 1},
                       .block = {1, 1, 1},
                       .args = args},
                  got;
    set_params s = {.dst = word, .value = 20, .element = 4, .width = 2, .height = 1},
               set_got;
    copy3d c = {.src = {.type = 2, .device = word},
                .dst = {.type = 2, .device = word + 4},
                .width = 4,
                .height = 1,
                .depth = 1};
    host_params h = {called, &calls};
    OK(cuGraphCreate(&inner, 0));
    OK(cuGraphAddMemcpyNode(&copy, inner, NULL, 0, &c, NULL));
    OK(cuGraphAddMemsetNode(&set, inner, NULL, 0, &s, NULL));
    OK(cuGraphAddKernelNode_v2(&kernel, inner, &set, 1, &k));
    OK(cuGraphAddDependencies_v2(inner, &kernel, &copy, NULL, 1));
    OK(cuGraphKernelNodeGetParams_v2(kernel, &got));
    IS(got.f == add && *(int *)got.args[1] == 3, 1);
    OK(cuGraphMemsetNodeGetParams(set, &set_got));
    IS(set_got.dst == word && set_got.value == 20, 1);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddChildGraphNode(&child, graph, NULL, 0, inner));
    OK(cuGraphAddHostNode(&host, graph, &child, 1, &h));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    IS(value(0), 23);
    IS(value(1), 23);
    IS(calls, 1);
    OK(cuGraphExecDestroy(exec));

    /* The inner graph alone. */
    update_result why;
    OK(cuGraphInstantiateWithFlags(&exec, inner, 0));
    v = 4;
    s.value = 30;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &k));
    OK(cuGraphExecMemsetNodeSetParams(exec, set, &s, NULL));
    OK(cuGraphLaunch(exec, stream));
    IS(value(1), 34);
    OK(cuGraphExecUpdate_v2(exec, inner, &why)); /* back to what inner says */
    OK(cuGraphLaunch(exec, stream));
    IS(value(1), 23);
    IS(cuGraphExecUpdate_v2(exec, graph, &why), UPDATE_FAILURE);
    IS(why.result != 0, 1);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(inner));
    OK(cuGraphDestroy(graph));
}

/* cuGraphAddNode: memory, a kernel, and a loop that a kernel ends. */
static void
any_node(void)
{
    void *graph, *exec, *alloc, *node, *body;
    uint64_t handle;
    unsigned most = 6;
    node_params p = {.type = ALLOC};
    OK(cuMemsetD32_v2(word, 0, 2));
    OK(cuGraphCreate(&graph, 0));
    p.u.alloc.bytes = 256;
    OK(cuGraphAddNode_v2(&alloc, graph, NULL, NULL, 0, &p));
    dptr m = p.u.alloc.p;
    IS(m != 0, 1);
    OK(cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, 1));
    p = (node_params){.type = CONDITIONAL};
    p.u.conditional.handle = handle;
    p.u.conditional.type = 1;
    p.u.conditional.size = 1;
    OK(cuGraphAddNode_v2(&node, graph, &alloc, NULL, 1, &p));
    body = p.u.conditional.out[0];
    void *args[] = {&word, &most, &handle};
    p = (node_params){.type = KERNEL};
    p.u.kernel =
        (kernel_params){.f = until, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args};
    void *kernel;
    OK(cuGraphAddNode_v2(&kernel, body, NULL, NULL, 0, &p));
    p = (node_params){.type = FREE};
    p.u.free = m + 8;
    IS(cuGraphAddNode_v2(&kernel, graph, &node, NULL, 1, &p), INVALID_VALUE);
    p.u.free = m;
    OK(cuGraphAddNode_v2(&kernel, graph, &node, NULL, 1, &p));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    IS(value(0), 6);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int
main(void)
{
    void *context, *module;
#define F F_FIND
    FUNCTIONS
#undef F
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuModuleGetFunction(&until, module, "until"));
    OK(cuMemAlloc_v2(&word, 8));
    OK(cuStreamCreate(&stream, 1));
    captured();
    node_by_node();
    any_node();
    puts("driver_graph: capture, nodes, a loop");
    return 0;
}
