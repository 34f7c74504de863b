/* partial_warps.cu: sums over blocks of any size by shuffles whose source lanes take no
 * part: never launched, ended, or elsewhere while a mask of a ballot names those that are
 * here. Undefined by the book, but known to be right on cards, which read 0. */
#include "check.h"

#ifdef __NVCC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#endif

template <typename T> __device__ T warp_sum(unsigned mask, T v) {
#ifdef __CUDA_ARCH__ /* clang's host half has no shuffles */
    for (int down = 16; down; down /= 2)
        v += __shfl_down_sync(mask, v, down);
#endif
    return v;
}

/* Warp by warp, then the first lanes over what the warps left. */
template <typename T> __global__ void block_sum(const T *in, T *out, int n) {
    __shared__ T part[32];
    unsigned t = threadIdx.x, threads = blockDim.x, warps = (threads + 31) / 32;
    unsigned here = threads - t / 32 * 32, mask = here < 32 ? (1u << here) - 1 : ~0u;
    T sum = 0;
    for (int i = blockIdx.x * threads + t; i < n; i += gridDim.x * threads)
        sum += in[i];
    sum = warp_sum(mask, sum);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t >= 32)
        return;
    unsigned first = __ballot_sync(mask, t < warps);
    if (t < warps) {
        sum = warp_sum(first, part[t]);
        if (!t)
            out[blockIdx.x] = sum;
    }
}

/* Lanes behind the end return before the others add up. */
__global__ void ended_lanes(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned here = __ballot_sync(~0u, i < n);
    if (i >= n)
        return;
    int sum = warp_sum(here, in[i]);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

#ifdef __NVCC__
/* Tiles and coalesced groups that are not whole warps. */
__global__ void groups(const float *in, float *out, int n) {
    cg::thread_block block = cg::this_thread_block();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto tile = cg::tiled_partition<8>(block);
    float v = cg::reduce(tile, i < n ? in[i] : 0, cg::plus<float>());
    if (!tile.thread_rank())
        atomicAdd(&out[0], v);
    auto warp = cg::tiled_partition<32>(block);
    v = i < n ? in[i] : 0;
    for (int down = 16; down; down /= 2)
        v += warp.shfl_down(v, down);
    if (!warp.thread_rank())
        atomicAdd(&out[1], v);
    if (i >= n)
        return;
    cg::coalesced_group some = cg::coalesced_threads();
    v = cg::reduce(some, in[i], cg::plus<float>());
    if (!some.thread_rank())
        atomicAdd(&out[2], v);
}
#endif

template <typename T> void check_sums(const std::vector<T> &in, T *device, T *out) {
    std::vector<T> part(3);
    for (int threads : {1, 2, 5, 16, 31, 32, 33, 48, 64, 100, 128, 255, 256, 512, 1000, 1024}) {
        double want = 0, got = 0;
        int n = (int)in.size();
        for (int i = 0; i < n; i++)
            want += in[i];
        OK(cudaMemset(out, 0, 3 * sizeof(T)));
        block_sum<T><<<3, threads>>>(device, out, n);
        OK(cudaMemcpy(part.data(), out, 3 * sizeof(T), cudaMemcpyDeviceToHost));
        for (T p : part)
            got += p;
        EQ(got, want);
    }
}

int main() {
    const int n = 1003;
    std::vector<int> ints(n);
    std::vector<float> floats(n);
    int *i, *iout;
    float *f, *fout;
    for (int k = 0; k < n; k++) {
        ints[k] = k * 7 % 31 - 9;
        floats[k] = (float)(k % 13) * .25f - 1; /* sums are exact */
    }
    OK(cudaMalloc(&i, n * sizeof *i));
    OK(cudaMalloc(&f, n * sizeof *f));
    OK(cudaMalloc(&iout, 12));
    OK(cudaMalloc(&fout, 12));
    OK(cudaMemcpy(i, ints.data(), n * sizeof *i, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(f, floats.data(), n * sizeof *f, cudaMemcpyHostToDevice));
    check_sums(ints, i, iout);
    check_sums(floats, f, fout);
    int want = 0, got;
    for (int k = 0; k < 77; k++)
        want += ints[k];
    OK(cudaMemset(iout, 0, 4));
    ended_lanes<<<2, 48>>>(i, iout, 77);
    OK(cudaMemcpy(&got, iout, 4, cudaMemcpyDeviceToHost));
    EQ(got, want);
#ifdef __NVCC__
    for (int threads : {8, 16, 40, 64, 104}) {
        float all[3], sum = 0;
        OK(cudaMemset(fout, 0, sizeof all));
        groups<<<2, threads>>>(f, fout, 2 * threads - 5);
        OK(cudaMemcpy(all, fout, sizeof all, cudaMemcpyDeviceToHost));
        for (int k = 0; k < 2 * threads - 5; k++)
            sum += floats[k];
        EQ(all[0], sum);
        EQ(all[1], sum);
        EQ(all[2], sum);
    }
#endif
    puts("partial_warps: ok");
    return 0;
}
