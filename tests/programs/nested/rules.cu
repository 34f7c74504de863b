/* rules.cu: what the programming guide promises of launches by kernels: order in a stream,
 * tail launches last, errors of threads, how many may wait, copies and fills in order. */
#include "../check.h"

enum { N = 64 };

#ifdef __NVCC__
__device__ int place;

__global__ void mark(int *log, int v) {
    log[place++] = v;
}

__global__ void child(int *log, int v) {
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(log, v + 2);
    mark<<<1, 1>>>(log, v + 1);
    log[place++] = v;
}

__global__ void ordered(int *log) {
    child<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 300);
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 400);
    child<<<1, 1>>>(log, 100);
    child<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 200);
    log[place++] = 1;
}

__global__ void again(int *log, int left) { /* a tail launch of itself: a loop */
    log[0]++;
    if (left > 1)
        again<<<1, 1, 0, cudaStreamTailLaunch>>>(log, left - 1);
}

__global__ void wrong(int *log, int threads) {
    if (threadIdx.x == 3)
        mark<<<1, threads>>>(log, 0);
    else
        mark<<<0, 1>>>(log, 0);
    int peeked = cudaPeekAtLastError(), e = cudaGetLastError();
    log[3 * threadIdx.x] = peeked;
    log[3 * threadIdx.x + 1] = e;
    log[3 * threadIdx.x + 2] = cudaGetLastError();
}

__global__ void touch(int *log) {
    atomicAdd(log, 1);
}

__global__ void many(int *log) {
    touch<<<1, 1>>>(log);
    if (cudaGetLastError() == cudaErrorLaunchOutOfResources)
        atomicAdd(log + 1, 1);
}

__global__ void add(int *p) {
    p[threadIdx.x]++;
}

__global__ void copies(int *p) {
    add<<<1, N>>>(p);
    cudaMemcpyAsync(p + N, p, N * sizeof *p, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(p, 0, N * sizeof *p, 0);
    add<<<1, N>>>(p);
    int kind = cudaMemcpyAsync(p, p, 4, cudaMemcpyHostToDevice, 0);
    p[2 * N] = kind;
}

__global__ void bad(int *p) {
    *p = 1;
}

__global__ void faulty() {
    bad<<<1, 1>>>((int *)64);
}
#else
__global__ void ordered(int *log) {}
__global__ void again(int *log, int left) {}
__global__ void wrong(int *log, int threads) {}
__global__ void many(int *log) {}
__global__ void copies(int *p) {}
__global__ void faulty() {}
#endif

int main() {
    static const int order[] = {1, 100, 101, 102, 200, 201, 202, 300, 301, 302, 400};
    enum { ORDERED = sizeof order / sizeof *order, LIMIT = 4 /* cudaLimit... */ };
    int *p, host[200];
    OK(cudaMalloc((void **)&p, sizeof host));
    OK(cudaMemset(p, 0, sizeof host));
    ordered<<<1, 1>>>(p);
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ORDERED; i++)
        EQ(host[i], order[i]);
    EQ(host[ORDERED], 0);

    OK(cudaMemset(p, 0, sizeof host));
    again<<<1, 1>>>(p, 3000); /* never more than one waits */
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    EQ(host[0], 3000);

    wrong<<<1, 16>>>(p, 1025);
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 48; i++)
        EQ(host[i], i % 3 == 2 ? 0 : 9);

    OK(cudaMemset(p, 0, sizeof host));
    many<<<20, 110>>>(p);
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    EQ(host[0], 2048);
    EQ(host[1], 152);
#ifdef __NVCC__
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 3000));
    many<<<20, 110>>>(p);
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    EQ(host[0], 2048 + 2200);
#endif

    for (int i = 0; i < N; i++)
        host[i] = i;
    OK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
    copies<<<1, 1>>>(p);
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        EQ(host[i], 1);
        EQ(host[N + i], i + 1);
    }
    EQ(host[2 * N], 21); /* cudaErrorInvalidMemcpyDirection */

    faulty<<<1, 1>>>();
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);

    /* A new start, so that the fault does not count as overlooked. */
    OK(cudaDeviceReset());
    OK(cudaMalloc(&p, sizeof host));
    ordered<<<1, 1>>>(p);
    OK(cudaDeviceSynchronize());
    return 0;
}
