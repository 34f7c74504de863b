/* graphs.cu: work captured from two streams into a graph, which runs several times; and a
 * graph made node by node. nvcc only: our header does not declare graphs. */
#include "check.h"

#ifdef __NVCC__
enum { N = 1024 };

__global__ void add(int *p, int v) {
    p[blockIdx.x * blockDim.x + threadIdx.x] += v;
}

__global__ void sum(const int *a, const int *b, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}

static int called;

static void CUDART_CB count(void *user) {
    called += *(int *)user;
}

static void captured(int *a, int *b, int *out) {
    cudaStream_t s, side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    size_t nodes = 0;
    int host[N], seven = 7;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    OK(cudaMemset(a, 0, N * sizeof *a));
    OK(cudaMemset(b, 0, N * sizeof *b));

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<N / 256, 256, 0, s>>>(a, 1);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(side, fork, 0));
    add<<<N / 256, 256, 0, side>>>(b, 10);
    OK(cudaStreamIsCapturing(side, &status));
    EQ((int)status, (int)cudaStreamCaptureStatusActive);
    OK(cudaEventRecord(join, side));
    OK(cudaStreamWaitEvent(s, join, 0));
    sum<<<N / 256, 256, 0, s>>>(a, b, out);
    OK(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, s));
    OK(cudaLaunchHostFunc(s, count, &seven));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaStreamIsCapturing(side, &status));
    EQ((int)status, (int)cudaStreamCaptureStatusNone);

    /* Nothing has run yet. */
    OK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    EQ(host[5], 0);
    EQ(called, 0);
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    EQ(nodes, (size_t)5);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 4; i++)
        OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < N; i++)
        EQ(host[i], 44);
    EQ(called, 28);
    OK(cudaGraphExecDestroy(exec));
    IS(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal),
       cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
}

static void node_by_node(int *a) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, kernel, copy;
    int v = 5, host[N];
    void *args[] = {&a, &v};
    cudaMemsetParams set = {};
    cudaKernelNodeParams launch = {};
    set.dst = a;
    set.value = 3;
    set.elementSize = 4;
    set.width = N;
    set.height = 1;
    launch.func = (void *)add;
    launch.gridDim = dim3(N / 256);
    launch.blockDim = dim3(256);
    launch.kernelParams = args;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &set));
    OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, a, sizeof host,
                                cudaMemcpyDeviceToHost));
    v = 100; /* the node has its own copy */
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EQ(host[i], 8);

    /* The executable graph is changed node by node, by the names of the graph's nodes, also
     * when that is gone; the graph stays as it was. */
    cudaGraph_t clone;
    cudaGraphExec_t plain;
    cudaGraphNode_t same;
    cudaKernelNodeParams asked;
    cudaMemsetParams fill_asked;
    unsigned enabled;
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&same, kernel, clone));
    OK(cudaGraphKernelNodeGetParams(same, &asked));
    TRUE(asked.func == (void *)add && asked.gridDim.x == N / 256 && asked.blockDim.x == 256);
    EQ(*(int *)asked.kernelParams[1], 5);
    OK(cudaGraphMemsetNodeGetParams(fill, &fill_asked));
    EQ(fill_asked.value, 3u);
    OK(cudaGraphInstantiate(&plain, graph, 0));
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch)); /* adds 100 */
    set.value = 5;
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
    IS(cudaGraphExecMemsetNodeSetParams(exec, kernel, &set), cudaErrorInvalidValue);
    IS(cudaGraphExecKernelNodeSetParams(exec, same, &launch), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EQ(host[i], 105);
    int other[N];
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, other, a, sizeof other,
                                          cudaMemcpyDeviceToHost));
    OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    OK(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    EQ(enabled, 0u);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphLaunch(plain, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) {
        EQ(other[i], 5);
        EQ(host[i], 8);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(plain));

    /* A graph inside a graph, twice: a copy, changed by itself. */
    cudaGraph_t outer, inner;
    cudaGraphNode_t once, again;
    cudaGraphNodeType type;
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&once, outer, NULL, 0, clone));
    OK(cudaGraphAddChildGraphNode(&again, outer, &once, 1, clone));
    OK(cudaGraphNodeGetType(again, &type));
    EQ((int)type, (int)cudaGraphNodeTypeGraph);
    OK(cudaGraphChildGraphNodeGetGraph(again, &inner));
    OK(cudaGraphNodeFindInClone(&kernel, same, inner));
    OK(cudaGraphKernelNodeSetParams(kernel, &launch));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphInstantiate(&exec, outer, 0));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EQ(host[i], 103);
    OK(cudaGraphExecDestroy(exec));
}

int main() {
    int *mem;
    OK(cudaMalloc(&mem, 3 * N * sizeof *mem));
    captured(mem, mem + N, mem + 2 * N);
    node_by_node(mem);
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
