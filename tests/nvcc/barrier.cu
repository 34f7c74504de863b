/* barrier.cu: libcu++ barriers, pipelines, semaphores, atomics of every scope and order;
 * cooperative groups. Compiled, not run: see tools/nvcc-forms. */
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/latch>
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void
kb(int *g, int *o, int n)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[1024];
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(s + threadIdx.x, g + threadIdx.x, 4, bar);
    auto t = bar.arrive();
    bar.wait(std::move(t));
    bar.arrive_and_wait();
    cg::thread_block b = cg::this_thread_block();
    cuda::memcpy_async(b, s, g, cuda::aligned_size_t<16>(1024), bar);
    bar.arrive_and_drop();
    o[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void
kb2(int *g, int *o)
{
    __shared__ cuda::barrier<cuda::thread_scope_device> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    bar.arrive_and_wait();
    auto tok = bar.arrive(3);
    bar.wait(std::move(tok));
    bar.wait_parity(true);
}
__global__ void
kp(int *g, int *o)
{
    __shared__ int s[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    auto b = cg::this_thread_block();
    auto p = cuda::make_pipeline(b, &st);
    p.producer_acquire();
    cuda::memcpy_async(b, s[0], g, sizeof(int) * 256, p);
    p.producer_commit();
    p.consumer_wait();
    o[threadIdx.x] = s[0][threadIdx.x];
    p.consumer_release();
    auto q = cuda::make_pipeline();
    q.producer_acquire();
    cuda::memcpy_async(&s[1][threadIdx.x], g + threadIdx.x, sizeof(int), q);
    q.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(q);
    o[threadIdx.x] += s[1][threadIdx.x];
    q.consumer_release();
}
__global__ void
kc(int *o, float *f, double *d, long long *l)
{
    auto b = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(b);
    auto t8 = cg::tiled_partition<8>(w);
    auto c = cg::coalesced_threads();
    auto g = cg::this_grid();
    o[0] = cg::reduce(w, o[1], cg::plus<int>());
    o[2] = cg::reduce(t8, o[1], cg::less<int>());
    o[3] = cg::reduce(c, o[4], cg::bit_xor<int>());
    f[0] = cg::reduce(w, f[1], cg::greater<float>());
    d[0] = cg::reduce(t8, d[1], cg::plus<double>());
    l[0] = cg::reduce(w, l[1], cg::plus<long long>());
    o[5] = cg::inclusive_scan(w, o[6]);
    f[5] = cg::exclusive_scan(t8, f[6]);
    o[7] = w.shfl(o[8], 3);
    o[9] = t8.shfl_xor(o[9], 1);
    o[10] = c.shfl_down(o[11], 1);
    o[12] = w.any(o[13]);
    o[14] = w.all(o[14]);
    o[15] = w.ballot(o[15]);
    o[16] = w.match_any(o[16]);
    int pr;
    o[17] = w.match_all(o[18], pr);
    o[18] = pr;
    o[19] = c.size();
    o[20] = c.thread_rank();
    if (threadIdx.x % 3 == 0) {
        auto cc = cg::coalesced_threads();
        cc.sync();
        o[21] = cc.ballot(1);
        auto lab = cg::labeled_partition(cc, (int)threadIdx.x % 5);
        o[22] = cg::reduce(lab, o[1], cg::plus<int>());
        auto bp = cg::binary_partition(cc, threadIdx.x & 1);
        o[23] = bp.size();
    }
    b.sync();
    w.sync();
    g.sync();
    auto tok = b.barrier_arrive();
    b.barrier_wait(std::move(tok));
    auto gt = g.barrier_arrive();
    g.barrier_wait(std::move(gt));
    __shared__ int s[256];
    cg::memcpy_async(b, s, o, 1024);
    cg::wait(b);
    cg::wait_prior<0>(b);
    o[30] = s[3];
    cg::reduce_update_async(w, *(cuda::atomic<int, cuda::thread_scope_block> *)s, o[1],
                            cg::plus<int>());
    cg::invoke_one(w, [&] { o[31] = 1; });
}
template <cuda::thread_scope S>
__device__ void
at(int *i, unsigned *u, long long *l, float *f, double *d, short *s, char *c, bool *bb)
{
    using namespace cuda::std;
    cuda::atomic_ref<int, S> a(*i);
    a.fetch_add(1);
    a.fetch_sub(1, memory_order_relaxed);
    a.fetch_and(3, memory_order_acquire);
    a.fetch_or(1, memory_order_release);
    a.fetch_xor(2, memory_order_acq_rel);
    a.fetch_min(3);
    a.fetch_max(4, memory_order_relaxed);
    int e = 1;
    a.compare_exchange_strong(e, 2);
    a.compare_exchange_weak(e, 3, memory_order_acquire, memory_order_relaxed);
    a.exchange(5, memory_order_acq_rel);
    a.store(1, memory_order_release);
    a.store(2);
    i[1] = a.load(memory_order_acquire);
    i[2] = a.load();
    i[3] = a.load(memory_order_relaxed);
    a.wait(3);
    a.notify_all();
    cuda::atomic_ref<unsigned, S> b(*u);
    b.fetch_max(3);
    b.fetch_min(4);
    b++;
    b--;
    cuda::atomic_ref<long long, S> cl(*l);
    cl.fetch_add(3);
    cl.fetch_max(1);
    long long el = 0;
    cl.compare_exchange_strong(el, 1);
    l[1] = cl.load();
    cl.store(3);
    cuda::atomic_ref<float, S> cf(*f);
    cf.fetch_add(1.f);
    cf.fetch_sub(1.f);
    cf.fetch_max(3.f);
    cf.exchange(2.f);
    f[1] = cf.load();
    cuda::atomic_ref<double, S> cd(*d);
    cd.fetch_add(1.);
    cd.fetch_min(2.);
    cuda::atomic_ref<short, S> cs(*s);
    cs.fetch_add(1);
    cs.exchange(3);
    s[1] = cs.load();
    cs.store(3);
    cuda::atomic_ref<char, S> cc(*c);
    cc.fetch_or(1);
    c[1] = cc.load();
    cc.store(1);
    cuda::atomic_ref<bool, S> cb(*bb);
    bb[1] = cb.load();
    cb.store(true);
    cb.exchange(false);
    cuda::atomic_thread_fence(memory_order_seq_cst, S);
    cuda::atomic_thread_fence(memory_order_acquire, S);
    cuda::atomic_thread_fence(memory_order_acq_rel, S);
}
__global__ void
ka(int *i, unsigned *u, long long *l, float *f, double *d, short *s, char *c, bool *b)
{
    at<cuda::thread_scope_system>(i, u, l, f, d, s, c, b);
    at<cuda::thread_scope_device>(i, u, l, f, d, s, c, b);
    at<cuda::thread_scope_block>(i, u, l, f, d, s, c, b);
    at<cuda::thread_scope_thread>(i, u, l, f, d, s, c, b);
}
__global__ void
ks(int *o)
{
    __shared__ alignas(8) char sm[16];
    __shared__ alignas(8) char lm[16];
    auto &s = *(cuda::binary_semaphore<cuda::thread_scope_block> *)sm;
    auto &l = *(cuda::latch<cuda::thread_scope_block> *)lm;
    if (!threadIdx.x) {
        new (&s) cuda::binary_semaphore<cuda::thread_scope_block>(1);
        new (&l) cuda::latch<cuda::thread_scope_block>(blockDim.x);
    }
    __syncthreads();
    s.acquire();
    o[0]++;
    s.release();
    l.arrive_and_wait();
}
