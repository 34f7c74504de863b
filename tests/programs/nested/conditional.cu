/* conditional.cu: graphs whose bodies run if, while or where a kernel says so, one
 * conditional inside another, and one added to a stream's capture. */
#include "../check.h"

#ifdef __NVCC__
typedef cudaGraphConditionalHandle handle;

__global__ void count(handle h, int *p, int limit) {
    cudaGraphSetConditional(h, ++p[0] < limit);
}

__global__ void choose(handle h, unsigned value) {
    cudaGraphSetConditional(h, value);
}

__global__ void add(int *p, int v) {
    *p += v;
}

static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t after, void *f, void **args) {
    cudaGraphNodeParams p = {};
    cudaGraphNode_t n;
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = f;
    p.kernel.gridDim = p.kernel.blockDim = 1;
    p.kernel.kernelParams = args;
    OK(cudaGraphAddNode(&n, g, after ? &after : NULL, NULL, after ? 1 : 0, &p));
    return n;
}

/* bodies: as many graphs as the node has. */
static cudaGraphNode_t conditional(cudaGraph_t g, cudaGraphNode_t after, handle h,
                                   cudaGraphConditionalNodeType type, unsigned size,
                                   cudaGraph_t *bodies) {
    cudaGraphNodeParams p = {};
    cudaGraphNode_t n;
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
    OK(cudaGraphAddNode(&n, g, after ? &after : NULL, NULL, after ? 1 : 0, &p));
    for (unsigned i = 0; i < size; i++)
        bodies[i] = p.conditional.phGraph_out[i];
    return n;
}

static void run(cudaGraph_t g, const int *p, int *host, int times) {
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g)); /* its conditions live on in the executable graph */
    for (int i = 0; i < times; i++)
        OK(cudaGraphLaunch(exec, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaMemcpy(host, p, 4 * sizeof *host, cudaMemcpyDeviceToHost));
}

/* While, with an if inside whose condition a kernel of the body sets. */
static void loops(int *p, int *host) {
    cudaGraph_t g, body, both[2];
    handle again, inner;
    int limit = 5, one = 1, ten = 10, *second = p + 1, *third = p + 2;
    unsigned yes = 1;
    OK(cudaMemset(p, 0, 16));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&again, g, 1, cudaGraphCondAssignDefault));
    conditional(g, 0, again, cudaGraphCondTypeWhile, 1, &body);
    OK(cudaGraphConditionalHandleCreate(&inner, body, 0, 0));
    void *counts[] = {&again, &p, &limit}, *sets[] = {&inner, &yes};
    void *ones[] = {&second, &one}, *tens[] = {&third, &ten};
    cudaGraphNode_t n = kernel(body, 0, (void *)count, counts);
    n = kernel(body, n, (void *)choose, sets);
    conditional(body, n, inner, cudaGraphCondTypeIf, 2, both);
    kernel(both[0], 0, (void *)add, ones);
    kernel(both[1], 0, (void *)add, tens);
    run(g, p, host, 2);
    EQ(host[0], 6); /* 5 rounds, and one of the second launch */
    EQ(host[1], 6);
    EQ(host[2], 0);
}

/* Switch: the body of that number, none where there is none; the else of an if. */
static void branches(int *p, int *host) {
    for (unsigned value = 0; value < 4; value++) {
        cudaGraph_t g, bodies[3], either[2];
        handle h, never;
        int v[5] = {100, 200, 300, 7, 8}, *second = p + 1;
        OK(cudaMemset(p, 0, 16));
        OK(cudaGraphCreate(&g, 0));
        OK(cudaGraphConditionalHandleCreate(&h, g, 9, cudaGraphCondAssignDefault));
        OK(cudaGraphConditionalHandleCreate(&never, g, 0, cudaGraphCondAssignDefault));
        void *sets[] = {&h, &value};
        cudaGraphNode_t n = kernel(g, 0, (void *)choose, sets);
        conditional(g, n, h, cudaGraphCondTypeSwitch, 3, bodies);
        for (int i = 0; i < 3; i++) {
            void *args[] = {&p, &v[i]};
            kernel(bodies[i], 0, (void *)add, args);
        }
        conditional(g, n, never, cudaGraphCondTypeIf, 2, either);
        for (int i = 0; i < 2; i++) {
            void *args[] = {&second, &v[3 + i]};
            kernel(either[i], 0, (void *)add, args);
        }
        run(g, p, host, 1);
        EQ(host[0], value < 3 ? v[value] : 0);
        EQ(host[1], 8);
    }
}

/* Body and conditional made by capture. */
static void captured(int *p, int *host) {
    cudaStream_t s, inner;
    cudaStreamCaptureStatus status;
    cudaGraph_t g, done, body;
    const cudaGraphNode_t *front;
    size_t n;
    handle h;
    OK(cudaMemset(p, 0, 16));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&inner));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, s>>>(p + 1, 5);
    OK(cudaStreamGetCaptureInfo(s, &status, NULL, &g, &front, NULL, &n));
    EQ((int)status, (int)cudaStreamCaptureStatusActive);
    EQ(n, (size_t)1);
    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    cudaGraphNode_t node = conditional(g, front[0], h, cudaGraphCondTypeWhile, 1, &body);
    OK(cudaStreamUpdateCaptureDependencies(s, &node, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamBeginCaptureToGraph(inner, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    count<<<1, 1, 0, inner>>>(h, p, 4);
    OK(cudaStreamEndCapture(inner, &done));
    TRUE(done == body);
    add<<<1, 1, 0, s>>>(p + 2, 6);
    OK(cudaStreamEndCapture(s, &g));
    run(g, p, host, 1);
    EQ(host[0], 4);
    EQ(host[1], 5);
    EQ(host[2], 6);
}

/* What may not be. */
static void refused() {
    cudaGraph_t g, other, outer;
    cudaGraphNode_t n;
    cudaGraphNodeParams p = {};
    handle h;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 1, 0));
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 2;
    IS(cudaGraphAddNode(&n, g, NULL, NULL, 0, &p), cudaErrorInvalidValue);
    p.conditional.size = 1;
    IS(cudaGraphAddNode(&n, other, NULL, NULL, 0, &p), cudaErrorInvalidValue);
    OK(cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
    IS(cudaGraphDestroy(p.conditional.phGraph_out[0]), cudaErrorInvalidValue);
    IS(cudaGraphAddChildGraphNode(&n, outer, NULL, 0, g), cudaErrorNotSupported);
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(outer));
}

int main() {
    int *p, host[4];
    OK(cudaMalloc(&p, sizeof host));
    loops(p, host);
    branches(p, host);
    captured(p, host);
    refused();
    return 0;
}
#else
__global__ void add(int *p, int v) {}

int main() { /* our header does not declare graphs */
    int *p, v = 3;
    OK(cudaMalloc((void **)&p, sizeof v));
    OK(cudaMemcpy(p, &v, sizeof v, cudaMemcpyHostToDevice));
    add<<<1, 1>>>(p, 4);
    OK(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost));
    EQ(v, 7);
    return 0;
}
#endif
