/* cooperative.cu: a launch whose blocks wait for each other. nvcc takes the barrier from
 * cooperative_groups.h; clang has one of our own, which holds as long as all blocks are
 * resident: that is what the cooperative launch promises. */
#include "check.h"

#ifdef __NVCC__
#include <cooperative_groups.h>
__device__ void grid_barrier(unsigned *) { cooperative_groups::this_grid().sync(); }
#else
__device__ void grid_barrier(unsigned *count) {
    __syncthreads();
    if (!threadIdx.x) {
        __threadfence();
        unsigned goal = (atomicAdd(count, 1) / gridDim.x + 1) * gridDim.x;
        while (*(volatile unsigned *)count < goal)
            ;
        __threadfence();
    }
    __syncthreads();
}
#endif

enum { THREADS = 128 };

/* Prefix sums by doubling: each step needs all of the one before. */
__global__ void prefix(int *a, int *b, int n, unsigned *count) {
    int stride = gridDim.x * blockDim.x;
    for (int d = 1; d < n; d *= 2) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
            b[i] = a[i] + (i < d ? 0 : a[i - d]);
        grid_barrier(count);
        int *t = a;
        a = b;
        b = t;
    }
}

int main() {
    int can, per_sm, sms, n = 3000, *a, *b;
    unsigned *count;
    std::vector<int> host(n), out(n);
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    EQ(can, 1);
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, prefix, THREADS, 0));
    TRUE(per_sm > 0);
    for (int i = 0; i < n; i++)
        host[i] = i % 13;
    OK(cudaMalloc(&a, n * sizeof *a));
    OK(cudaMalloc(&b, n * sizeof *b));
    OK(cudaMalloc(&count, sizeof *count));
    OK(cudaMemset(count, 0, sizeof *count));
    OK(cudaMemcpy(a, host.data(), n * sizeof *a, cudaMemcpyHostToDevice));
    void *args[] = {&a, &b, &n, &count};
    OK(cudaLaunchCooperativeKernel(prefix, sms, THREADS, args, 0, 0));
    OK(cudaMemcpy(out.data(), a, n * sizeof *a, cudaMemcpyDeviceToHost)); /* 12 steps */
    for (int i = 1; i < n; i++)
        host[i] += host[i - 1];
    for (int i = 0; i < n; i++)
        EQ(out[i], host[i]);
    IS(cudaLaunchCooperativeKernel(prefix, per_sm * sms + 1, THREADS, args, 0, 0),
       cudaErrorCooperativeLaunchTooLarge);
    return 0;
}
