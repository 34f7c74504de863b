/* groups.cu: cooperative groups within a warp: tiles of every size, binary_partition,
 * labeled_partition and coalesced_threads, each with every collective, in straight code, in
 * branches and in loops with a trip count of each tile, beside a loop on the host over the
 * group's members. Run by tests/e2e/nvcc-run.sh. */
#include "../programs/check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <functional>

namespace cg = cooperative_groups;

enum { THREADS = 96, BLOCKS = 2, N = THREADS * BLOCKS, RESULTS = 32 };
enum { STRAIGHT, BRANCH, LOOP, PLACES };

__host__ __device__ static int
value(int t)
{
    return (t * 37 + 11) % 61 + (t / 7) % 5;
}

/* out[k * N]: result k of this thread. */
template <class G>
__device__ void
collectives(const G &g, int v, unsigned *out)
{
    int k = 0, all_equal = 0, r = (int)g.thread_rank(), n = (int)g.size();
    auto put = [&](unsigned x) { out[N * k++] = x; };
    put(n);
    put(r);
    put(g.ballot(v & 1));
    put(g.any(v == 11));
    put(g.all(v != 17));
    put(g.shfl(v, (r + 3) % n));
    put(g.shfl(v, 0));
    put(g.shfl_up(v, 1));
    put(g.shfl_down(v, 1));
    put(g.match_any(v & 3));
    put(g.match_all(v & 32, all_equal));
    put(all_equal);
    put(g.match_any((long long)(v & 1) << 40));
    put(cg::reduce(g, v, cg::plus<int>()));
    put(cg::reduce(g, v, cg::less<int>()));
    put(cg::reduce(g, v, cg::greater<int>()));
    put(cg::reduce(g, v, cg::bit_and<int>()));
    put(cg::reduce(g, v, cg::bit_or<int>()));
    put(cg::reduce(g, v, cg::bit_xor<int>()));
    put((unsigned)cg::reduce(g, (float)v, cg::plus<float>()));
    put((unsigned)cg::reduce(g, (long long)v << 20, cg::plus<long long>()) >> 20);
    put(cg::inclusive_scan(g, v));
    put(cg::exclusive_scan(g, v));
    put(cg::inclusive_scan(g, v, cg::greater<int>()));
    g.sync();
}

/* The same of the group's members, by rank. */
static void
reference(const std::vector<int> &members, int r, unsigned *out)
{
    int n = (int)members.size(), k = 0;
    auto v = [&](int i) { return value(members[i]); };
    auto put = [&](unsigned x) { out[k++] = x; };
    auto over = [&](int to, std::function<long(long, long)> f) {
        long x = v(0);
        for (int i = 1; i < to; i++)
            x = f(x, v(i));
        return (unsigned)x;
    };
    auto bits = [&](std::function<bool(int)> f) {
        unsigned x = 0;
        for (int i = 0; i < n; i++)
            x |= (unsigned)f(v(i)) << i;
        return x;
    };
    auto plus = [](long a, long b) { return a + b; };
    auto greater = [](long a, long b) { return a > b ? a : b; };
    unsigned all = n == 32 ? ~0u : (1u << n) - 1;
    unsigned same32 = bits([&](int x) { return (x & 32) == (v(r) & 32); });
    put(n);
    put(r);
    put(bits([](int x) { return x & 1; }));
    put(bits([](int x) { return x == 11; }) != 0);
    put(bits([](int x) { return x != 17; }) == all);
    put(v((r + 3) % n));
    put(v(0));
    put(v(r ? r - 1 : 0));
    put(v(r + 1 < n ? r + 1 : r));
    put(bits([&](int x) { return (x & 3) == (v(r) & 3); }));
    put(same32 == all ? all : 0);
    put(same32 == all);
    put(bits([&](int x) { return (x & 1) == (v(r) & 1); }));
    put(over(n, plus));
    put(over(n, [](long a, long b) { return a < b ? a : b; }));
    put(over(n, greater));
    put(over(n, [](long a, long b) { return a & b; }));
    put(over(n, [](long a, long b) { return a | b; }));
    put(over(n, [](long a, long b) { return a ^ b; }));
    put(over(n, plus));
    put(over(n, plus) & 0xfff);
    put(over(r + 1, plus));
    put(r ? over(r, plus) : 0);
    put(over(r + 1, greater));
}

/* -- kernels: which group a thread is in -- */

__device__ static int
thread()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

template <int SIZE>
__global__ void
tiles(int place, unsigned *out)
{
    auto g = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int t = thread(), id = t / SIZE;
    if (place == BRANCH) {
        if (id % 2)
            collectives(g, value(t), out + t);
        else
            collectives(g, value(t), out + t);
    } else {
        int times = place == LOOP ? 1 + id % 3 : 1;
        for (int i = 0; i < times; i++)
            collectives(g, value(t), out + t);
    }
    int x = g.shfl_xor(value(t), SIZE / 2);
    out[t + N * (RESULTS - 1)] = x;
}

template <int SIZE>
__global__ void
binary(int place, unsigned *out)
{
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int t = thread(), id = t / SIZE, times = place == LOOP ? 1 + id % 3 : 1;
    auto g = cg::binary_partition(tile, value(t) % 3 == 0);
    if (place == BRANCH && value(t) % 3 == 0) {
        collectives(g, value(t), out + t);
        return;
    }
    for (int i = 0; i < times; i++)
        collectives(g, value(t), out + t);
}

template <int SIZE>
__global__ void
labeled(int place, unsigned *out)
{
    auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
    int t = thread(), label = value(t) % 4, times = place == LOOP ? 1 + t / SIZE % 3 : 1;
    auto g = cg::labeled_partition(tile, label);
    if (place == BRANCH && label < 2) {
        collectives(g, value(t), out + t);
        return;
    }
    for (int i = 0; i < times; i++)
        collectives(g, value(t), out + t);
}

__global__ void
coalesced(int place, unsigned *out)
{
    int t = thread();
    if (value(t) % 3 == 0) {
        auto g = cg::coalesced_threads();
        for (int i = 0; i <= place; i++)
            collectives(g, value(t), out + t);
    } else {
        auto g = cg::coalesced_threads();
        if (place == BRANCH) {
            auto h = cg::labeled_partition(g, value(t) % 3);
            collectives(h, value(t), out + t);
        } else {
            collectives(g, value(t), out + t);
        }
    }
}

/* -- comparison -- */

static std::vector<unsigned> got(RESULTS *N);
static unsigned *device;

/* key: threads of a warp with equal keys are a group. */
static void
compare(const char *name, int size, int place, std::function<int(int)> key, bool tile)
{
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got.data(), device, got.size() * 4, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        std::vector<int> members;
        unsigned want[RESULTS] = {0};
        int rank = 0;
        for (int i = t / 32 * 32; i < t / 32 * 32 + 32; i++)
            if (key(i) == key(t)) {
                rank = i == t ? (int)members.size() : rank;
                members.push_back(i);
            }
        reference(members, rank, want);
        if (tile)
            want[RESULTS - 1] = value(t ^ (size / 2));
        for (int k = 0; k < RESULTS; k++)
            if (got[k * N + t] != want[k]) {
                printf("%s of %d, place %d: result %d of thread %d is %u, not %u\n", name,
                       size, place, k, t, got[k * N + t], want[k]);
                exit(1);
            }
    }
    OK(cudaMemset(device, 0, got.size() * 4));
}

template <int SIZE>
static void
all_of()
{
    for (int p = 0; p < PLACES; p++) {
        tiles<SIZE><<<BLOCKS, THREADS>>>(p, device);
        compare("tiles", SIZE, p, [](int t) { return t / SIZE; }, true);
        binary<SIZE><<<BLOCKS, THREADS>>>(p, device);
        compare(
            "binary partition", SIZE, p,
            [](int t) { return t / SIZE * 2 + (value(t) % 3 == 0); }, false);
        labeled<SIZE><<<BLOCKS, THREADS>>>(p, device);
        compare(
            "labeled partition", SIZE, p,
            [](int t) { return t / SIZE * 4 + value(t) % 4; }, false);
    }
}

int
main()
{
    OK(cudaMalloc(&device, got.size() * 4));
    OK(cudaMemset(device, 0, got.size() * 4));
    all_of<1>();
    all_of<2>();
    all_of<4>();
    all_of<8>();
    all_of<16>();
    all_of<32>();
    for (int p = 0; p < PLACES; p++) {
        coalesced<<<BLOCKS, THREADS>>>(p, device);
        compare(
            "coalesced threads", 32, p,
            [p](int t) {
                return p == BRANCH ? value(t) % 3 : (int)(value(t) % 3 == 0);
            },
            false);
    }
    printf("groups: equal\n");
    return 0;
}
