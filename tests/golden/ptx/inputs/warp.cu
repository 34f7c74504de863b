/* Inline assembly with scoped registers, warp functions, barriers with predicates. */
#include "device.cuh"
__device__ __forceinline__ unsigned add_carry(unsigned a, unsigned b, unsigned *hi)
{
    unsigned lo;
    asm("{\n\t.reg .pred p;\n\t.reg .u32 t<3>;\n\tadd.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;\n\t"
        "setp.ne.u32 p, %1, 0;\n\t@p add.u32 %1, %1, 0;\n\t}" : "=r"(lo), "=r"(*hi) : "r"(a), "r"(b));
    return lo;
}
__device__ __forceinline__ float shuffle(float v, int lane)
{
    float r;
    asm volatile("{ .reg .pred p;\n shfl.sync.idx.b32 %0|p, %1, %2, 31, 0xffffffff;\n @!p mov.b32 %0, 0f00000000; }"
                 : "=f"(r) : "f"(v), "r"(lane));
    return r;
}
__device__ __forceinline__ unsigned votes(int x)
{
    unsigned r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(r) : "r"(x));
    return r;
}
__device__ __forceinline__ void fence_and_wait(int id)
{
    asm volatile("fence.acq_rel.gpu; membar.cta; bar.sync %0, 128; barrier.sync 0;" ::"r"(id) : "memory");
}
__device__ __forceinline__ unsigned clock_low() { unsigned c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c)); return c; }
extern "C" __global__ void warp(unsigned *out, float *f)
{
    unsigned hi, x = add_carry(out[TIDX], 0xfffffff0u, &hi), y;
    f[TIDX] = shuffle(f[TIDX], (TIDX + 1) & 31);
    out[TIDX] = votes(x & 1) + hi;
    x += add_carry(x, hi, &y);
    fence_and_wait(1);
    for (int i = 0; i < 5; i++)
        x += add_carry(x, y, &y) ^ clock_low();
    out[TIDX + 32] = x;
}
