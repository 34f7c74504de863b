/* Every memory space, vectors, atomics, volatile, shared memory of both kinds, local arrays. */
#include "device.cuh"
struct alignas(16) four { float x, y, z, w; };
struct alignas(4) bytes4 { unsigned char a, b, c, d; };
struct alignas(8) two { int a, b; };
__constant__ float weights[64];
__device__ unsigned long long total;
__device__ volatile int flag;
__device__ four origin = {1, 2, 3, 4};
#ifdef __clang__
extern __shared__ float dynamic[];
#else
extern __shared__ float dynamic[];
#endif
extern "C" __global__ void __launch_bounds__(256, 2) spaces(four *out, const four *__restrict__ in, bytes4 *px, two *t, int n)
{
    __shared__ float tile[16][17];
    __shared__ double sums[32];
    int i = BIDX * BDIM + TIDX, stack[40];
    for (int k = 0; k < 40; k++)
        stack[(k * 7 + n) % 40] = k * i;
    tile[TIDX & 15][TIDX >> 4] = in[i].x * weights[TIDX & 63];
    dynamic[TIDX] = in[i].y;
    sums[TIDX & 31] = in[i].z;
    SYNC();
    four v = in[i];
    v.x += tile[TIDX >> 4][TIDX & 15] + dynamic[(TIDX + 1) % BDIM];
    v.y += (float)sums[(TIDX + 3) & 31] + stack[n % 40];
    out[i] = v;
    bytes4 p = px[i];
    p.a += p.b;
    p.c = p.d - p.a;
    px[i] = p;
    two u = t[i];
    u.a ^= u.b;
    t[i] = u;
    if (flag)
        flag = 0;
#ifdef __clang__
    __nvvm_atom_add_gen_i((int *)&total, n);
    __nvvm_membar_gl();
    __nvvm_atom_cas_gen_ll((long long *)&total, 3, 4);
#else
    atomicAdd(&total, (unsigned long long)n);
    __threadfence();
    atomicCAS(&total, 3ull, 4ull);
    atomicMax((int *)out, n);
    atomicExch((unsigned *)t, 5u);
    atomicAdd((float *)out, 1.0f);
    atomicInc((unsigned *)px, 17u);
#endif
    if (!TIDX)
        out[0] = origin;
}
