/* test_device.cu: what allot_device.h provides, for test_workloads.c to compare with the host's. */

/* y[6 i ...] = the functions that the header computes itself, of x[i]. */
extern "C" __global__ void
device_math(const double *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = (float)x[i];
    y[6 * i] = expf(v);
    y[6 * i + 1] = exp2f(v);
    y[6 * i + 2] = logf(v);
    y[6 * i + 3] = log2f(v);
    y[6 * i + 4] = exp(x[i]);
    y[6 * i + 5] = sqrtf(v);
}

extern "C" __global__ void
device_bits(const unsigned *x, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned v = x[i], *r = y + 8 * i;
    r[0] = __popc(v);
    r[1] = __clz((int)v);
    r[2] = __ffs((int)v);
    r[3] = __brev(v);
    r[4] = __umulhi(v, 0x9e3779b9u);
    r[5] = (unsigned)__mulhi((int)v, -12345);
    r[6] = (unsigned)min((int)v, 7) + max(v, 9u);
    r[7] = (unsigned)__float2int_rn(fminf(fmaxf((float)(int)v * 0.25f, -100.0f), 100.0f));
}

/* Every thread of the grid updates each counter. */
extern "C" __global__ void
device_atomics(unsigned *counter, float *sum, unsigned long long *wide)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ unsigned votes;
    if (threadIdx.x == 0)
        votes = 0;
    __syncthreads();
    atomicAdd(&votes, t & 1);
    int odd = __syncthreads_count(t & 1);
    int all = __syncthreads_and(t < 1000000), any = __syncthreads_or(t == 5);
    if (threadIdx.x == 0)
        atomicAdd(&counter[0], votes == (unsigned)odd && all ? 1 : 0);
    if (any)
        atomicAdd(&counter[1], 1u);
    atomicMin(&counter[2], t + 3);
    atomicMax(&counter[3], t + 3);
    atomicInc(&counter[4], 9);
    atomicOr(&counter[5], 1u << (t & 31));
    unsigned old = counter[6], seen; /* add 2 by compare and swap */
    do {
        seen = old;
        old = atomicCAS(&counter[6], seen, seen + 2);
    } while (old != seen);
    atomicSub(&counter[7], 1u);
    atomicAdd(sum, 0.5f);
    atomicAdd(wide, 0x100000001ull);
}

/* One warp. r[32 k + lane]. */
extern "C" __global__ void
device_warp(int *r)
{
    int lane = threadIdx.x;
    r[lane] = (int)__ballot_sync(0xffffffff, lane % 3 == 0);
    r[32 + lane] = __any_sync(0xffffffff, lane == 40) * 2 + __all_sync(0xffffffff, lane < 32);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 300
    r[64 + lane] = __shfl_sync(0xffffffff, lane * lane, 5);
    r[96 + lane] = __shfl_up_sync(0xffffffff, lane * lane, 2, 8);
    r[128 + lane] = __shfl_down_sync(0xffffffff, lane * lane, 2, 8);
    r[160 + lane] = __shfl_xor_sync(0xffffffff, lane * lane, 3);
#endif
}
