/* warp.cu: Warp functions, atomics, fences, asynchronous copies, printf, malloc, virtual
 * and indirect calls. Compiled, not run: see tools/nvcc-forms. */
#include <stdio.h>
#include <assert.h>
#include <cuda_pipeline.h>
#include <cuda_awbarrier_primitives.h>
__global__ void
k(int *i, unsigned *u, long long *l, unsigned long long *ul, float *f, double *d,
  unsigned m, int2 *i2, short *s)
{
    i[0] = __shfl_sync(m, i[1], 3);
    i[2] = __shfl_up_sync(m, i[1], 3, 16);
    f[0] = __shfl_down_sync(m, f[1], 3, 8);
    d[0] = __shfl_xor_sync(m, d[1], 3);
    l[0] = __shfl_sync(m, l[1], 2);
    u[0] = __ballot_sync(m, i[3]);
    i[4] = __any_sync(m, i[3]);
    i[5] = __all_sync(m, i[3]);
    i[6] = __activemask();
    u[1] = __match_any_sync(m, i[3]);
    u[2] = __match_any_sync(m, l[3]);
    int p;
    u[3] = __match_all_sync(m, d[3], &p);
    i[7] = p;
#if __CUDA_ARCH__ >= 800
    u[4] = __reduce_add_sync(m, u[5]);
    i[8] = __reduce_min_sync(m, i[9]);
    u[6] = __reduce_max_sync(m, u[7]);
    u[8] = __reduce_and_sync(m, u[7]);
    u[9] = __reduce_or_sync(m, u[7]);
    u[10] = __reduce_xor_sync(m, u[7]);
    i[10] = __reduce_add_sync(m, i[9]);
#endif
    __syncwarp(m);
    i[11] = __syncthreads_count(i[12]);
    i[13] = __syncthreads_and(i[12]);
    i[14] = __syncthreads_or(i[12]);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    __nanosleep(100);
    i[15] = __isGlobal(i);
    i[16] = __isShared(i);
    i[17] = __isLocal(i);
    i[18] = __isConstant(i);
    l[5] = __cvta_generic_to_global(i);
    l[6] = (long long)__cvta_global_to_generic(l[5]);
    atomicAdd(i, 1);
    atomicAdd(u, 1u);
    atomicAdd(ul, 1ull);
    atomicAdd(f, 1.f);
    atomicAdd(d, 1.);
    atomicSub(i, 1);
    atomicExch(i, 1);
    atomicExch(ul, 1ull);
    atomicExch(f, 1.f);
    atomicMin(i, 1);
    atomicMin(u, 2u);
    atomicMin(l, 3ll);
    atomicMin(ul, 3ull);
    atomicMax(l, 3ll);
    atomicInc(u, 3);
    atomicDec(u, 3);
    atomicCAS(i, 1, 2);
    atomicCAS(ul, 1ull, 2ull);
    atomicCAS((unsigned short *)s, (unsigned short)1, (unsigned short)2);
    atomicAnd(u, 1u);
    atomicOr(ul, 1ull);
    atomicXor(i, 3);
    atomicAdd_block(i, 1);
    atomicAdd_system(f, 1.f);
    atomicCAS_block(u, 1u, 2u);
    atomicMax_system(i, 3);
    i2[0] = __ldg(i2 + 1);
    i2[2] = __ldcs(i2 + 3);
    __stcg(i2 + 4, i2[3]);
    i2[5] = __ldcv(i2 + 7);
    printf("%d %f %s\n", i[0], f[0], "x");
    assert(i[0] > 0);
    if (i[20] == 5)
        __trap();
    if (i[21] == 5)
        __brkpt();
    __prof_trigger(3);
    int *q = (int *)malloc(100);
    q[0] = 1;
    i[30] = q[0];
    free(q);
    int *a = (int *)alloca(i[31]);
    a[i[32]] = 3;
    i[33] = a[2];
    __builtin_assume(i[0] > 0);
    if (__builtin_expect(i[34], 1))
        i[35] = 1;
    if (threadIdx.x < 3)
        return;
}
__global__ void __launch_bounds__(128, 4) kp(int *g, int *o)
{
    __shared__ int s[256];
    __pipeline_memcpy_async(s + threadIdx.x * 4, g + threadIdx.x * 4, 16);
    __pipeline_memcpy_async(s + threadIdx.x, g, 4, 2);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    o[0] = s[3];
}
#if __CUDA_ARCH__ >= 700
__global__ void
kbar(int *o)
{
    __shared__ __mbarrier_t b;
    if (!threadIdx.x)
        __mbarrier_init(&b, blockDim.x);
    __syncthreads();
    __mbarrier_token_t t = __mbarrier_arrive(&b);
    while (!__mbarrier_test_wait(&b, t))
        ;
    __mbarrier_token_t t2 = __mbarrier_arrive_and_drop(&b);
    o[0] = __mbarrier_token_pending_count(t2);
    __pipeline_arrive_on(&b);
    __mbarrier_inval(&b);
}
#endif
struct V {
    __device__ virtual int f(int) = 0;
};
struct A : V {
    __device__ int f(int x)
    {
        return x + 1;
    }
};
struct B : V {
    __device__ int f(int x)
    {
        return x * 2;
    }
};
__global__ void
kv(int *o, int n)
{
    A a;
    B b;
    V *v = n ? (V *)&a : (V *)&b;
    o[0] = v->f(o[1]);
}
typedef int (*fp)(int);
__device__ int
f1(int x)
{
    return x + 1;
}
__device__ __noinline__ int
f2(int x)
{
    return x ? f2(x - 1) * 3 : 1;
}
__device__ fp tab[2] = {f1, f2};
__global__ void
kfp(int *o, int n)
{
    o[0] = tab[n](o[1]);
    switch (n) {
    case 0:
        o[2] = 1;
        break;
    case 1:
        o[2] = f2(3);
        break;
    case 2:
        o[3] = 7;
        break;
    case 3:
        o[4] = 8;
        break;
    case 4:
        o[5] = 9;
        break;
    case 5:
        o[6] = 10;
        break;
    case 6:
        o[9] = 3;
        break;
    case 9:
        o[11] = 1;
    }
}
__constant__ int ct[64];
__device__ int dv[3] = {1, 2, 3};
__managed__ int mg;
extern __shared__ char dyn[];
__global__ void
kc(int *o, const __grid_constant__ int2 p)
{
    o[0] = ct[threadIdx.x] + dv[1] + mg + dyn[threadIdx.x] + p.x;
    const int *q = &p.y;
    o[2] = *q;
}
