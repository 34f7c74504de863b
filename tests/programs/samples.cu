/* samples.cu [MODE]: kernels with the errors that NVIDIA's racecheck, initcheck and
 * synccheck are for, and the same kernels without them, for tests of `allot exec`
 * (tests/e2e/checks.sh, exec-look.sh). MODE names one of the errors; without it all is right. */
#include "check.h"

enum { THREADS = 128, WARPS = THREADS / 32, PARTS = 16 };

/* One thread adds up what all have left in the scratchpad. */
__global__ void sum_block(const int *in, int *out, bool meet) {
    __shared__ int part[THREADS];
    int t = threadIdx.x;
    part[t] = in[t] + t;
    if (meet)
        __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += part[i];
        *out = sum;
    }
}

/* The first lane of each warp adds up what its warp has left. */
__global__ void sum_warps(const int *in, int *out, bool meet) {
    __shared__ int part[THREADS], whole[WARPS];
    int t = threadIdx.x, w = t / 32;
    part[t] = in[t] + t;
    if (meet)
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    if (t % 32 == 0) {
        int sum = 0;
        for (int i = 0; i < 32; i++)
            sum += part[w * 32 + i];
        whole[w] = sum;
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < WARPS; i++)
            sum += whole[i];
        *out = sum;
    }
}

/* Adds its number to each element. */
__global__ void add_number(int *v) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    v[t] += t;
}

/* Sums of parts of 64 elements; the last part may be short. */
__global__ void sum_parts(const int *in, int *out, int n, bool apart) {
    __shared__ int sum[PARTS];
    int t = threadIdx.x;
    if (t < PARTS)
        sum[t] = 0;
    __syncthreads();
    for (int p = 0; p < PARTS; p++) {
        int i = 64 * p + t;
        if (i < n) {
            atomicAdd(&sum[p], in[i]);
            if (!apart)
                __syncthreads();
        }
        if (apart)
            __syncthreads();
    }
    __syncthreads();
    if (t < PARTS)
        out[t] = sum[t];
}

/* Half a warp works, with a mask that says so; `last` is the last lane that does. */
__global__ void half_warp(int *out, int last) {
    __shared__ int part[32];
    int t = threadIdx.x;
    if (t <= last) {
        part[t] = t;
        asm volatile("bar.warp.sync 0xffff;" ::: "memory");
        if (t == 0) {
            int sum = 0;
            for (int i = 0; i < 16; i++)
                sum += part[i];
            *out = sum;
        }
    }
}

/* Waits for a flag that nobody sets. */
__global__ void endless(volatile int *flag) {
    while (*flag == 0)
        ;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int *in, *out, got = 0, host[64 * PARTS];
    for (int i = 0; i < 64 * PARTS; i++)
        host[i] = 1;
    OK(cudaMalloc(&in, sizeof host));
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    sum_block<<<1, THREADS>>>(in, out, strcmp(mode, "block race") != 0);
    sum_warps<<<1, THREADS>>>(in, out, strcmp(mode, "warp race") != 0);
    /* Sizes are in bytes, not in elements. */
    OK(cudaMemset(out, 0, strcmp(mode, "short fill") ? 256 * sizeof(int) : 256));
    add_number<<<2, 128>>>(out);
    sum_parts<<<1, 64>>>(in, out, 64 * PARTS - (strcmp(mode, "divergent barrier") ? 0 : 16),
                         strcmp(mode, "divergent barrier") != 0);
    half_warp<<<1, 32>>>(out, strcmp(mode, "wrong mask") ? 15 : 16);
    if (!strcmp(mode, "endless")) {
        OK(cudaMemset(in, 0, 4));
        endless<<<4, 64>>>(in);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    EQ(got, 120);
    puts("samples: done");
    return 0;
}
