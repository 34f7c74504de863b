/* graph_nodes.cu: graphs with memory of their own, edges in any order, nodes of any kind
 * by one call. nvcc only: our header does not declare graphs. */
#include "check.h"

#ifdef __NVCC__
enum { N = 256 };

__global__ void fill(int *p, int v) {
    p[threadIdx.x] = v;
}

__global__ void add(const int *a, int *out) {
    out[threadIdx.x] += a[threadIdx.x];
}

__global__ void doubled(int *p) {
    p[threadIdx.x] *= 2;
}

static int first(int *p) {
    int v;
    OK(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

/* cudaMallocAsync and cudaFreeAsync of a capturing stream become nodes. */
static void captured(int *out) {
    cudaStream_t s;
    cudaGraph_t graph, other;
    cudaGraphExec_t exec, second;
    cudaPointerAttributes at;
    cudaGraphNode_t node[8];
    cudaGraphNodeType type;
    size_t n = 8, used = 1, reserved;
    int *p, *q;
    OK(cudaStreamCreate(&s));
    OK(cudaMemset(out, 0, N * sizeof *out));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&p, N * sizeof *p, s));
    OK(cudaMallocAsync(&q, N * sizeof *q, s));
    fill<<<1, N, 0, s>>>(p, 3);
    OK(cudaMemcpyAsync(q, p, N * sizeof *q, cudaMemcpyDeviceToDevice, s));
    add<<<1, N, 0, s>>>(q, out);
    OK(cudaFreeAsync(q, s));
    IS(cudaFreeAsync(q, s), cudaErrorInvalidValue);
    IS(cudaFreeAsync(out, s), cudaErrorInvalidValue); /* no graph's */
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamEndCapture(s, &graph));
    TRUE(p && q && p != q);

    /* No memory yet. */
    OK(cudaPointerGetAttributes(&at, p));
    EQ((int)at.type, (int)cudaMemoryTypeUnregistered);
    OK(cudaGraphGetNodes(graph, node, &n));
    EQ(n, (size_t)7);
    OK(cudaGraphNodeGetType(node[0], &type));
    EQ((int)type, (int)cudaGraphNodeTypeMemAlloc);
    OK(cudaGraphNodeGetType(node[6], &type));
    EQ((int)type, (int)cudaGraphNodeTypeMemFree);
    IS(cudaGraphClone(&other, graph), cudaErrorNotSupported);
    IS(cudaGraphDestroyNode(node[0]), cudaErrorNotSupported);

    OK(cudaGraphInstantiate(&exec, graph, 0));
    IS(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    for (int i = 1; i <= 3; i++) {
        OK(cudaGraphLaunch(exec, s));
        EQ(first(out), 3 * i);
    }
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    EQ(used, (size_t)0);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    EQ(used, 2 * N * sizeof *p);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
    TRUE(reserved >= used);
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
    EQ(reserved, (size_t)0);
    OK(cudaGraphExecUpdate(exec, graph, NULL));
    OK(cudaGraphLaunch(exec, s));
    EQ(first(out), 12);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, s));
    EQ(first(out), 15);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(s));
}

/* Memory that outlives its graph's launch, until the program frees it. */
static void outlives() {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t alloc, work, wrong;
    cudaMemAllocNodeParams params = {};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = N * sizeof(int);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    int *p = (int *)params.dptr, v = 11;
    void *args[] = {&p, &v};
    cudaKernelNodeParams k = {};
    k.func = (void *)fill;
    k.gridDim = 1;
    k.blockDim = N;
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&work, graph, &alloc, 1, &k));
    IS(cudaGraphAddMemFreeNode(&wrong, graph, &work, 1, p + 1), cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(first(p), 11);
    IS(cudaGraphLaunch(exec, 0), cudaErrorInvalidValue); /* it is there still */
    OK(cudaFree(p));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaFreeAsync(p, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    EQ(first(p), 11);
    OK(cudaFree(p));
}

static cudaGraphNode_t kernel_node(cudaGraph_t graph, void *func, void **args) {
    cudaGraphNodeParams p = {};
    cudaGraphNode_t n;
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = func;
    p.kernel.gridDim = 1;
    p.kernel.blockDim = N;
    p.kernel.kernelParams = args;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(&n, graph, NULL, NULL, 0, &p));
#else
    OK(cudaGraphAddNode(&n, graph, NULL, 0, &p));
#endif
    return n;
}

/* Nodes in another order than they are done in. */
static void edges(int *out) {
    cudaGraph_t graph, copy;
    cudaGraphExec_t exec;
    int v = 5;
    void *one[] = {&out}, *two[] = {&out, &v};
    size_t n = 0;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last = kernel_node(graph, (void *)doubled, one);
    cudaGraphNode_t begin = kernel_node(graph, (void *)fill, two);
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(graph, &begin, &last, NULL, 1));
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &n));
#else
    OK(cudaGraphAddDependencies(graph, &begin, &last, 1));
    OK(cudaGraphGetEdges(graph, NULL, NULL, &n));
#endif
    EQ(n, (size_t)1);
    cudaGraphNode_t root;
    OK(cudaGraphGetRootNodes(graph, &root, &n));
    EQ(n, (size_t)1);
    TRUE(root == begin);
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphInstantiate(&exec, copy, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(first(out), 10);
    OK(cudaGraphExecDestroy(exec));
#if CUDART_VERSION >= 13000 /* a cycle */
    OK(cudaGraphAddDependencies(graph, &last, &begin, NULL, 1));
    IS(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
    OK(cudaGraphRemoveDependencies(graph, &last, &begin, NULL, 1));
#endif
    OK(cudaGraphDestroyNode(begin));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    EQ(first(out), 20);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphDestroy(graph));
}

/* Events in graphs, and a graph captured in a graph. */
static void nested(int *out) {
    cudaStream_t s;
    cudaGraph_t inner, outer;
    cudaGraphExec_t exec, outer_exec;
    cudaGraphNode_t node;
    cudaEvent_t a, b;
    float ms;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphAddEventRecordNode(&node, inner, NULL, 0, a));
    int v = 4;
    void *args[] = {&out, &v};
    kernel_node(inner, (void *)fill, args);
    OK(cudaGraphAddEventRecordNode(&node, inner, NULL, 0, b));
    OK(cudaGraphInstantiate(&exec, inner, 0));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaGraphLaunch(exec, s));
    doubled<<<1, N, 0, s>>>(out);
    OK(cudaStreamEndCapture(s, &outer));
    OK(cudaGraphInstantiate(&outer_exec, outer, 0));
    IS(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
    OK(cudaGraphLaunch(outer_exec, s));
    EQ(first(out), 8);
    OK(cudaEventElapsedTime(&ms, a, b));
    TRUE(ms > 0);
    OK(cudaGraphDestroy(inner));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(outer_exec));
}

/* A kernel that touches memory of a graph behind its free node. */
static void after_free() {
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *p;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&p, N * sizeof *p, s));
    fill<<<1, N, 0, s>>>(p, 3);
    OK(cudaFreeAsync(p, s));
    doubled<<<1, N, 0, s>>>(p);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    /* A new start, so that the fault does not count as overlooked. */
    OK(cudaMalloc(&p, N * sizeof *p));
    fill<<<1, N>>>(p, 3);
    EQ(first(p), 3);
}

int main() {
    int *out;
    OK(cudaMalloc(&out, N * sizeof *out));
    captured(out);
    outlives();
    edges(out);
    nested(out);
    OK(cudaFree(out));
    after_free();
    puts("graph_nodes: memory, edges, nested graphs, use after free");
    return 0;
}
#else
__global__ void nothing() {}

int main() {
    nothing<<<1, 32>>>();
    OK(cudaDeviceSynchronize());
    return 0;
}
#endif
