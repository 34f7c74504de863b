/* blocksort.cu: quicksort by whole blocks: warps count and scatter what is below the
 * pivot, the last block of a range launches the two halves on streams of their own, and
 * short ranges are sorted by a bitonic network in the scratchpad. */
#include "../check.h"

enum { N = 5000, BLOCK = 128, SHORT = 256 };

#ifdef __NVCC__
struct range {
    int below, above, blocks; /* elements placed on either side; blocks that are done */
};

__global__ void bitonic(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned v[SHORT];
    for (int i = threadIdx.x; i < SHORT; i += blockDim.x)
        v[i] = i < n ? in[i] : 0xffffffffu;
    __syncthreads();
#pragma unroll 1
    for (int k = 2; k <= SHORT; k *= 2)
#pragma unroll 1
        for (int j = k / 2; j; j /= 2) {
            for (int i = threadIdx.x; i < SHORT; i += blockDim.x) {
                int other = i ^ j;
                if (other > i && (v[i] > v[other]) == !(i & k)) {
                    unsigned t = v[i];
                    v[i] = v[other];
                    v[other] = t;
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = v[i];
}

__global__ void copy(const unsigned *in, unsigned *out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = in[i];
}

__global__ void partition(unsigned *in, unsigned *out, unsigned *result, int n,
                          unsigned pivot, range *r, int depth);

/* in[0..n) ends in result[0..n); out is room of the same size. */
__device__ void sort(unsigned *in, unsigned *out, unsigned *result, int n, int depth,
                     cudaStream_t s) {
    if (n <= 0)
        return;
    if (n <= SHORT) {
        bitonic<<<1, BLOCK, 0, s>>>(in, result, n);
        return;
    }
    unsigned least = 0xffffffffu, most = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        unsigned v = in[(size_t)i * (n - 1) / 31];
        least = min(least, v);
        most = max(most, v);
    }
    if (least == most && depth > 30) { /* all alike, as far as was looked */
        copy<<<1, BLOCK, 0, s>>>(in, result, n);
        return;
    }
    range *r;
    if (cudaMalloc(&r, sizeof *r) != cudaSuccess)
        return;
    r->below = r->above = r->blocks = 0;
    unsigned pivot = least / 2 + most / 2 + (least & most & 1);
    partition<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, s>>>(in, out, result, n, pivot, r,
                                                         depth);
}

__global__ void partition(unsigned *in, unsigned *out, unsigned *result, int n,
                          unsigned pivot, range *r, int depth) {
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool there = i < n, low = there && in[i] <= pivot;
    unsigned below = __ballot_sync(~0u, low), above = __ballot_sync(~0u, there && !low);
    int from = 0, to = 0;
    if (lane == 0) {
        from = atomicAdd(&r->below, __popc(below));
        to = atomicAdd(&r->above, __popc(above));
    }
    from = __shfl_sync(~0u, from, 0) + __popc(below & ((1u << lane) - 1));
    to = n - 1 - __shfl_sync(~0u, to, 0) - __popc(above & ((1u << lane) - 1));
    if (there)
        out[low ? from : to] = in[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&r->blocks, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (!last || threadIdx.x)
        return;
    __threadfence();
    int half = *(volatile int *)&r->below;
    cudaFree(r);
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    sort(out, in, result, half, depth + 1, a);
    sort(out + half, in + half, result + half, n - half, depth + 1, b);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

__global__ void start(unsigned *in, unsigned *out, unsigned *result, int n) {
    sort(in, out, result, n, 0, 0);
}
#else
__global__ void start(unsigned *in, unsigned *out, unsigned *result, int n) {}
#endif

int main() {
    static unsigned host[N], want[N];
    unsigned *in, *out, *result, state = 99, sum = 0;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        sum += host[i] = i % 3 ? state >> 4 : 77;
    }
    OK(cudaMalloc((void **)&in, sizeof host));
    OK(cudaMalloc((void **)&out, sizeof host));
    OK(cudaMalloc((void **)&result, sizeof host));
    OK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    start<<<1, 1>>>(in, out, result, N);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(want, result, sizeof want, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        TRUE(!i || want[i - 1] <= want[i]);
        sum -= want[i];
    }
    EQ(sum, 0u);
    return 0;
}
