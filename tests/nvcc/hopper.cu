/* hopper.cu: clusters, bulk and tensor copies as programs have them: a histogram over the
 * scratchpads of a cluster (CUDA C++ Programming Guide, 2.2.1.1), a sum by cluster_group, tiles
 * moved by cuda::memcpy_async and a barrier, tiles moved by tensor maps and cuda::ptx, with
 * multicast. Checks itself against sums made on the host. For sm_90. */
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

#define OK(call)                                                                                 \
    do {                                                                                         \
        int e_ = (int)(call);                                                                    \
        if (e_) {                                                                                \
            printf("hopper: line %d: error %d\n", __LINE__, e_);                                 \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

/* -- a histogram over the scratchpads of a cluster -- */

__global__ void
histogram(int *bins, int nbins, int bins_per_block, const int *in, size_t n)
{
    extern __shared__ int smem[];
    cg::cluster_group cluster = cg::this_cluster();
    int size = cluster.dim_blocks().x, rank = cluster.block_rank();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        smem[i] = 0;
    cluster.sync();
    for (size_t i = cg::this_grid().thread_rank(); i < n; i += blockDim.x * gridDim.x) {
        int bin = in[i] < 0 ? 0 : in[i] >= nbins ? nbins - 1 : in[i];
        int *dst = cluster.map_shared_rank(smem, bin / bins_per_block);
        atomicAdd(dst + bin % bins_per_block, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < bins_per_block && rank * bins_per_block + i < nbins; i += blockDim.x)
        atomicAdd(&bins[rank * bins_per_block + i], smem[i]);
    (void)size;
}

static int
run_histogram(int cluster)
{
    const int nbins = 300;
    const size_t n = 20000;
    std::vector<int> in(n), want(nbins), got(nbins);
    for (size_t i = 0; i < n; i++) {
        in[i] = (int)((i * 2654435761u >> 7) % 320) - 5;
        want[in[i] < 0 ? 0 : in[i] >= nbins ? nbins - 1 : in[i]]++;
    }
    int *din, *dbins, per = (nbins + cluster - 1) / cluster;
    OK(cudaMalloc(&din, n * 4));
    OK(cudaMalloc(&dbins, nbins * 4));
    OK(cudaMemcpy(din, in.data(), n * 4, cudaMemcpyDefault));
    OK(cudaMemset(dbins, 0, nbins * 4));
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a[1];
    c.gridDim = 16;
    c.blockDim = 128;
    c.dynamicSmemBytes = per * 4;
    a[0].id = cudaLaunchAttributeClusterDimension;
    a[0].val.clusterDim = {(unsigned)cluster, 1, 1};
    c.attrs = a;
    c.numAttrs = 1;
    if (cluster > 8)
        OK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    int active = 0, most = 0;
    OK(cudaOccupancyMaxActiveClusters(&active, histogram, &c));
    OK(cudaOccupancyMaxPotentialClusterSize(&most, histogram, &c));
    OK(cudaLaunchKernelEx(&c, histogram, dbins, nbins, per, (const int *)din, n));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.data(), dbins, nbins * 4, cudaMemcpyDefault));
    cudaFree(din);
    cudaFree(dbins);
    return got == want && active > 0 && most >= 8;
}

/* -- a sum: compiled for clusters of four -- */

__global__ void __cluster_dims__(4, 1, 1)
sum(const float *in, float *out)
{
    __shared__ float part[64];
    __shared__ float whole;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned r = cluster.block_rank(), t = threadIdx.x;
    part[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int s = 32; s; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    cluster.sync();
    if (!t) {
        whole = 0;
        for (unsigned k = 0; k < cluster.num_blocks(); k++)
            whole += *cluster.map_shared_rank(&part[0], k);
    }
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    if (!t) {
        unsigned next = (r + 1) % cluster.num_blocks();
        out[blockIdx.x] = *cluster.map_shared_rank(&whole, next) +
                          1000 * cluster.query_shared_rank(cluster.map_shared_rank(&whole, next));
    }
    cluster.sync();
}

static int
run_sum()
{
    std::vector<float> in(16 * 64), got(16);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i % 37);
    float *din, *dout;
    OK(cudaMalloc(&din, in.size() * 4));
    OK(cudaMalloc(&dout, 16 * 4));
    OK(cudaMemcpy(din, in.data(), in.size() * 4, cudaMemcpyDefault));
    sum<<<16, 64>>>(din, dout);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.data(), dout, 16 * 4, cudaMemcpyDefault));
    int ok = 1;
    for (int b = 0; b < 16; b++) {
        float want = 1000.f * ((b % 4 + 1) % 4);
        for (int i = b / 4 * 256; i < b / 4 * 256 + 256; i++)
            want += in[i];
        ok &= got[b] == want;
    }
    sum<<<6, 64>>>(din, dout); /* no multiple of four */
    ok &= cudaGetLastError() == cudaErrorInvalidClusterSize;
    return ok;
}

/* -- bulk copies by cuda::memcpy_async -- */

__global__ void
scale(const int *in, int *out, int n)
{
    __shared__ alignas(128) int tile[512];
    __shared__ barrier bar;
    if (!threadIdx.x) {
        init(&bar, blockDim.x);
        cuda::ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (!threadIdx.x) {
        cuda::memcpy_async(tile, in + blockIdx.x * 512, cuda::aligned_size_t<16>(sizeof tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, 0);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
        tile[i] = 3 * tile[i] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (!threadIdx.x) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 512, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    (void)n;
}

static int
run_scale()
{
    std::vector<int> in(8 * 512), got(8 * 512);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)i;
    int *din, *dout, ok = 1;
    OK(cudaMalloc(&din, in.size() * 4));
    OK(cudaMalloc(&dout, in.size() * 4));
    OK(cudaMemcpy(din, in.data(), in.size() * 4, cudaMemcpyDefault));
    scale<<<8, 128>>>(din, dout, (int)in.size());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.data(), dout, in.size() * 4, cudaMemcpyDefault));
    for (size_t i = 0; i < in.size(); i++)
        ok &= got[i] == 3 * (int)i + 1;
    return ok;
}

/* -- tensor copies: a transposition of tiles; each block of a cluster of two gets both tiles,
 * one loaded by itself, and adds its own to the result -- */

enum { SIDE = 32, N = 96 };

__global__ void __cluster_dims__(2, 1, 1)
tiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to)
{
    __shared__ alignas(1024) int tile[2][SIDE][SIDE];
    __shared__ alignas(128) int out[SIDE][SIDE];
    __shared__ alignas(8) uint64_t bar;
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), x = blockIdx.x / 2 * SIDE, y = blockIdx.y * SIDE;
    if (!threadIdx.x) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    if (!threadIdx.x) {
        const int32_t at[2] = {x, y + rank * 7};
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       sizeof tile);
        /* cuda::ptx has the form with multicast for sm_90a alone */
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                     "bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
                         "r"((uint32_t)__cvta_generic_to_shared(&tile[rank])),
                     "l"(&from), "r"(at[0]), "r"(at[1]),
                     "r"((uint32_t)__cvta_generic_to_shared(&bar)), "h"((uint16_t)3)
                     : "memory");
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))
        ;
    for (int i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x) {
        const int r = i / SIDE, c = i % SIDE;
        /* the map swizzles 128 bytes: units of 16 bytes of row r are exchanged by r % 8 */
        const int sc = (c / 4 ^ r % 8) * 4 + c % 4;
        out[c][r] = tile[0][r][sc] + 2 * tile[1][r][sc];
    }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (!threadIdx.x && !rank) {
        const int32_t at[2] = {y, x};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, &out);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    cluster.sync();
}

static CUtensorMap
map_of(void *at, int rows, int swizzle)
{
    static PFN_cuTensorMapEncodeTiled_v12000 encode;
    cudaDriverEntryPointQueryResult found;
    if (!encode)
        OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
                                            cudaEnableDefault, &found));
    CUtensorMap m;
    cuuint64_t dim[2] = {N, (cuuint64_t)rows}, stride[1] = {N * 4};
    cuuint32_t box[2] = {SIDE, SIDE}, step[2] = {1, 1};
    OK(encode(&m, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, at, dim, stride, box, step,
              CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return m;
}

static int
run_tiles()
{
    std::vector<int> in(N * N), got(N * N);
    for (int i = 0; i < N * N; i++)
        in[i] = i * 17 + 3;
    int *din, *dout, ok = 1;
    OK(cudaMalloc(&din, N * N * 4));
    OK(cudaMalloc(&dout, N * N * 4));
    OK(cudaMemcpy(din, in.data(), N * N * 4, cudaMemcpyDefault));
    tiles<<<dim3(2 * N / SIDE, N / SIDE), 128>>>(map_of(din, N, CU_TENSOR_MAP_SWIZZLE_128B),
                                                 map_of(dout, N, CU_TENSOR_MAP_SWIZZLE_NONE));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.data(), dout, N * N * 4, cudaMemcpyDefault));
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) /* the second tile lies 7 rows further, 0 beyond the last */
            ok &= got[x * N + y] == in[y * N + x] + 2 * (y + 7 < N ? in[(y + 7) * N + x] : 0);
    return ok;
}

int
main()
{
    const struct {
        const char *name;
        int ok;
    } t[] = {{"histogram of 1", run_histogram(1)},
             {"histogram of 2", run_histogram(2)},
             {"histogram of 8", run_histogram(8)},
             {"histogram of 16", run_histogram(16)},
             {"sum", run_sum()},
             {"bulk copies", run_scale()},
             {"tensor copies", run_tiles()}};
    int ok = 1;
    for (const auto &one : t) {
        if (!one.ok)
            printf("hopper: %s differs\n", one.name);
        ok &= one.ok;
    }
    printf(ok ? "hopper: equal\n" : "hopper: not equal\n");
    return !ok;
}
