/* atomics.cu: libcu++'s atomics: every memory order, scope and operation, on global and
 * shared memory, with a use of the result and without, and a lock and a message made of
 * them. Run by tests/e2e/nvcc-run.sh. */
#include "../programs/check.h"

#include <cuda/atomic>

enum { THREADS = 64, BLOCKS = 3, N = THREADS * BLOCKS, WORDS = 16 };

template <class T, cuda::thread_scope S>
using ref = cuda::atomic_ref<T, S>;

/* Each thread once. Word i is operation i's alone. `seen` sums results that have one sum in
 * whatever order the threads come. */
template <class T, cuda::thread_scope S>
__device__ void
operations(T *p, unsigned t, cuda::memory_order o, bool use, unsigned long long *seen)
{
    T r[WORDS] = {};
    if (use) {
        r[0] = ref<T, S>(p[0]).fetch_add(T(1), o);
        r[1] = T(0) - ref<T, S>(p[1]).fetch_sub(T(1), o);
        r[2] = ref<T, S>(p[2]).fetch_and(T(~(T(1) << t % 31)), o) * T(0);
        r[3] = ref<T, S>(p[3]).fetch_or(T(T(1) << t % 31), o) * T(0);
        r[4] = ref<T, S>(p[4]).fetch_xor(T(t), o) * T(0);
        r[5] = ref<T, S>(p[5]).fetch_min(T(t), o) * T(0);
        r[6] = ref<T, S>(p[6]).fetch_max(T(t), o) * T(0);
        unsigned long long sum = 0;
        for (int i = 0; i < 7; i++)
            sum += (unsigned long long)r[i];
        atomicAdd(seen, sum);
    } else {
        ref<T, S>(p[0]).fetch_add(T(1), o);
        ref<T, S>(p[1]).fetch_sub(T(1), o);
        ref<T, S>(p[2]).fetch_and(T(~(T(1) << t % 31)), o);
        ref<T, S>(p[3]).fetch_or(T(T(1) << t % 31), o);
        ref<T, S>(p[4]).fetch_xor(T(t), o);
        ref<T, S>(p[5]).fetch_min(T(t), o);
        ref<T, S>(p[6]).fetch_max(T(t), o);
    }
    /* compare and swap: increments, strong and weak */
    T old = ref<T, S>(p[7]).load(cuda::memory_order_relaxed);
    while (!ref<T, S>(p[7]).compare_exchange_strong(old, T(old + 1), o))
        ;
    old = ref<T, S>(p[8]).load(cuda::memory_order_relaxed);
    while (!ref<T, S>(p[8]).compare_exchange_weak(old, T(old + 2), o))
        ;
    /* each value goes in once and comes out once: the sum of all but the last */
    T mine = ref<T, S>(p[9]).exchange(T(t), o);
    ref<T, S>(p[10]).fetch_add(mine, cuda::memory_order_relaxed);
    if (!use)
        ref<T, S>(p[11]).exchange(T(7), o);
}

template <class T, cuda::thread_scope S>
__device__ void
of_order(T *p, unsigned t, int order, bool use, unsigned long long *seen)
{
    switch (order) { /* the order is a constant in each, as programs write it */
    case 0:
        operations<T, S>(p, t, cuda::memory_order_relaxed, use, seen);
        break;
    case 1:
        operations<T, S>(p, t, cuda::memory_order_acquire, use, seen);
        break;
    case 2:
        operations<T, S>(p, t, cuda::memory_order_release, use, seen);
        break;
    case 3:
        operations<T, S>(p, t, cuda::memory_order_acq_rel, use, seen);
        break;
    default:
        operations<T, S>(p, t, cuda::memory_order_seq_cst, use, seen);
        break;
    }
}

template <class T, cuda::thread_scope S>
__global__ void
global_words(T *p, int order, bool use, unsigned long long *seen)
{
    of_order<T, S>(p, blockIdx.x * blockDim.x + threadIdx.x, order, use, seen);
}

template <class T>
__global__ void
shared_words(T *p, int order, bool use, unsigned long long *seen)
{
    __shared__ T s[WORDS];
    if (threadIdx.x < WORDS)
        s[threadIdx.x] = p[blockIdx.x * WORDS + threadIdx.x];
    __syncthreads();
    of_order<T, cuda::thread_scope_block>(s, threadIdx.x, order, use, seen);
    __syncthreads();
    if (threadIdx.x < WORDS)
        p[blockIdx.x * WORDS + threadIdx.x] = s[threadIdx.x];
}

/* Floating point: sums of small integers are exact. */
template <class T>
__global__ void
float_words(T *p)
{
    cuda::atomic_ref<T, cuda::thread_scope_device> a(p[0]), b(p[1]), c(p[2]);
    a.fetch_add(T(2), cuda::memory_order_acq_rel);
    p[8 + threadIdx.x] = b.fetch_sub(T(1), cuda::memory_order_seq_cst) * T(0) + T(1);
    c.exchange(T(5), cuda::memory_order_release);
}

/* A lock (acquire, release) around a plain increment: a warp's lanes one by one. */
__global__ void
locked(int *lock, int *plain)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
    for (bool done = false; !done;)
        if (!l.exchange(1, cuda::memory_order_acquire)) {
            *(volatile int *)plain = *(volatile int *)plain + 1;
            l.store(0, cuda::memory_order_release);
            done = true;
        }
}

/* Block 0 says something, the others wait for it. */
__global__ void
message(int *flag, int *data, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        *data = 42;
        f.store(1, cuda::memory_order_release);
    }
    if (threadIdx.x == 0) {
        while (!f.load(cuda::memory_order_acquire))
            ;
        out[blockIdx.x] = *data;
    }
}

template <class T>
static void
fill(T *h, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        h[i] = i % WORDS == 2 ? T(-1) : i % WORDS == 5 ? T(1000) : T(0);
}

template <class T>
static void
right(const T *h, unsigned n, bool use, const char *what, int order)
{
    T x = 0, ands = T(-1), ors = 0, sum = 0;
    for (unsigned t = 0; t < n; t++) {
        x ^= T(t);
        ands &= T(~(T(1) << t % 31));
        ors |= T(T(1) << t % 31);
        sum += T(t);
    }
    const T want[9] = {T(n), T(0) - T(n), ands, ors, x, 0, T(n - 1), T(n), T(2 * n)};
    for (int i = 0; i < 9; i++)
        if (h[i] != want[i]) {
            printf("%s, order %d, %s: word %d is %lld, not %lld\n", what, order,
                   use ? "used" : "unused", i, (long long)h[i], (long long)want[i]);
            exit(1);
        }
    EQ(h[10] + h[9], sum);
    EQ(h[11], T(use ? 0 : 7));
}

static unsigned long long *seen;

/* Results of fetch_add are 0 to n - 1, those of fetch_sub the same, negated. */
static void
results(unsigned n, unsigned groups, bool use)
{
    unsigned long long s;
    OK(cudaMemcpy(&s, seen, sizeof s, cudaMemcpyDeviceToHost));
    OK(cudaMemset(seen, 0, sizeof s));
    EQ(s, use ? groups * (unsigned long long)n * (n - 1) : 0ull);
}

template <class T, cuda::thread_scope S>
static void
global_test(const char *what, T *d)
{
    T h[WORDS];
    for (int order = 0; order < 5; order++)
        for (int use = 0; use < 2; use++) {
            fill(h, WORDS);
            OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
            global_words<T, S><<<BLOCKS, THREADS>>>(d, order, use, seen);
            OK(cudaDeviceSynchronize());
            OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
            right(h, N, use, what, order);
            results(N, 1, use);
        }
}

template <class T>
static void
all_of(const char *what)
{
    T *d, h[BLOCKS * WORDS];
    OK(cudaMalloc(&d, sizeof h));
    global_test<T, cuda::thread_scope_device>(what, d);
    global_test<T, cuda::thread_scope_system>(what, d);
    for (int order = 0; order < 5; order++)
        for (int use = 0; use < 2; use++) {
            fill(h, BLOCKS * WORDS);
            OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
            shared_words<T><<<BLOCKS, THREADS>>>(d, order, use, seen);
            OK(cudaDeviceSynchronize());
            OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
            for (int b = 0; b < BLOCKS; b++)
                right(h + b * WORDS, THREADS, use, what, order);
            results(THREADS, BLOCKS, use);
        }
    OK(cudaFree(d));
}

template <class T>
static void
floats()
{
    T *d, h[8 + THREADS] = {};
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaMemset(d, 0, sizeof h));
    float_words<<<BLOCKS, THREADS>>>(d);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[0], T(2 * N));
    EQ(h[1], T(-N));
    EQ(h[2], T(5));
    EQ(h[8], T(1));
}

int
main()
{
    int *d, h[2 + BLOCKS];
    OK(cudaMalloc(&seen, sizeof *seen));
    OK(cudaMemset(seen, 0, sizeof *seen));
    all_of<int>("int");
    all_of<unsigned>("unsigned");
    all_of<long long>("long long");
    all_of<unsigned long long>("unsigned long long");
    floats<float>();
    floats<double>();
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaMemset(d, 0, sizeof h));
    locked<<<BLOCKS, 1>>>(d, d + 1);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[1], BLOCKS);
    OK(cudaMemset(d, 0, sizeof h));
    message<<<BLOCKS, THREADS>>>(d, d + 1, d + 2);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++)
        EQ(h[2 + b], 42);
    printf("atomics: equal\n");
    return 0;
}
