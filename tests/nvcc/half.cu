/* half.cu: Halves and bfloats: every function of cuda_fp16.h and cuda_bf16.h,
 * conversions. Compiled, not run: see tools/nvcc-forms. */
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class T, class T2>
__device__ void
all(T *o, T2 *o2, bool *b, const T *i, const T2 *i2)
{
    int t = threadIdx.x;
    T x = i[t], y = i[t + 32], z = i[t + 64];
    T2 u = i2[t], v = i2[t + 32], w = i2[t + 64];
    int k = 0;
    o[k++] = __hadd(x, y);
    o[k++] = __hsub(x, y);
    o[k++] = __hmul(x, y);
    o[k++] = __hdiv(x, y);
    o[k++] = __hfma(x, y, z);
    o[k++] = __hadd_sat(x, y);
    o[k++] = __hsub_sat(x, y);
    o[k++] = __hmul_sat(x, y);
    o[k++] = __hfma_sat(x, y, z);
    o[k++] = __hfma_relu(x, y, z);
    o[k++] = __hneg(x);
    o[k++] = __habs(x);
    o[k++] = __hmin(x, y);
    o[k++] = __hmax(x, y);
    o[k++] = __hmin_nan(x, y);
    o[k++] = __hmax_nan(x, y);
    o[k++] = hsqrt(x);
    o[k++] = hrsqrt(x);
    o[k++] = hrcp(x);
    o[k++] = hlog(x);
    o[k++] = hlog2(x);
    o[k++] = hlog10(x);
    o[k++] = hexp(x);
    o[k++] = hexp2(x);
    o[k++] = hexp10(x);
    o[k++] = hsin(x);
    o[k++] = hcos(x);
    o[k++] = hfloor(x);
    o[k++] = hceil(x);
    o[k++] = htrunc(x);
    o[k++] = hrint(x);
    o[k++] = htanh(x);
    o[k++] = htanh_approx(x);
    o[k++] = __hadd_rn(x, y);
    o[k++] = __hsub_rn(x, y);
    o[k++] = __hmul_rn(x, y);
    int m = 0;
    b[m++] = __heq(x, y);
    b[m++] = __hne(x, y);
    b[m++] = __hle(x, y);
    b[m++] = __hge(x, y);
    b[m++] = __hlt(x, y);
    b[m++] = __hgt(x, y);
    b[m++] = __hequ(x, y);
    b[m++] = __hneu(x, y);
    b[m++] = __hleu(x, y);
    b[m++] = __hgeu(x, y);
    b[m++] = __hltu(x, y);
    b[m++] = __hgtu(x, y);
    b[m++] = __hisnan(x);
    b[m++] = __hisinf(x);
    b[m++] = __hbeq2(u, v);
    b[m++] = __hbne2(u, v);
    b[m++] = __hble2(u, v);
    b[m++] = __hbge2(u, v);
    b[m++] = __hblt2(u, v);
    b[m++] = __hbgt2(u, v);
    b[m++] = __hbequ2(u, v);
    b[m++] = __hbneu2(u, v);
    b[m++] = __hbleu2(u, v);
    b[m++] = __hbgeu2(u, v);
    b[m++] = __hbltu2(u, v);
    b[m++] = __hbgtu2(u, v);
    k = 0;
    o2[k++] = __hadd2(u, v);
    o2[k++] = __hsub2(u, v);
    o2[k++] = __hmul2(u, v);
    o2[k++] = __h2div(u, v);
    o2[k++] = __hfma2(u, v, w);
    o2[k++] = __hadd2_sat(u, v);
    o2[k++] = __hmul2_sat(u, v);
    o2[k++] = __hsub2_sat(u, v);
    o2[k++] = __hfma2_sat(u, v, w);
    o2[k++] = __hfma2_relu(u, v, w);
    o2[k++] = __hneg2(u);
    o2[k++] = __habs2(u);
    o2[k++] = __hmin2(u, v);
    o2[k++] = __hmax2(u, v);
    o2[k++] = __hmin2_nan(u, v);
    o2[k++] = __hmax2_nan(u, v);
    o2[k++] = __heq2(u, v);
    o2[k++] = __hne2(u, v);
    o2[k++] = __hle2(u, v);
    o2[k++] = __hge2(u, v);
    o2[k++] = __hlt2(u, v);
    o2[k++] = __hgt2(u, v);
    o2[k++] = __hequ2(u, v);
    o2[k++] = __hneu2(u, v);
    o2[k++] = __hleu2(u, v);
    o2[k++] = __hgeu2(u, v);
    o2[k++] = __hltu2(u, v);
    o2[k++] = __hgtu2(u, v);
    o2[k++] = __hisnan2(u);
    unsigned *q = (unsigned *)(o2 + k);
    k = 0;
    q[k++] = __heq2_mask(u, v);
    q[k++] = __hne2_mask(u, v);
    q[k++] = __hle2_mask(u, v);
    q[k++] = __hge2_mask(u, v);
    q[k++] = __hlt2_mask(u, v);
    q[k++] = __hgt2_mask(u, v);
    q[k++] = __hequ2_mask(u, v);
    q[k++] = __hneu2_mask(u, v);
    q[k++] = __hleu2_mask(u, v);
    q[k++] = __hgeu2_mask(u, v);
    q[k++] = __hltu2_mask(u, v);
    q[k++] = __hgtu2_mask(u, v);
    o2[40] = h2sqrt(u);
    o2[41] = h2rsqrt(u);
    o2[42] = h2rcp(u);
    o2[43] = h2log(u);
    o2[44] = h2exp(u);
    o2[45] = h2exp2(u);
    o2[46] = h2sin(u);
    o2[47] = h2cos(u);
    o2[48] = h2floor(u);
    o2[49] = h2ceil(u);
    o2[50] = h2trunc(u);
    o2[51] = h2rint(u);
    o2[52] = h2tanh(u);
    o2[53] = h2tanh_approx(u);
    o2[54] = __hcmadd(u, v, w);
    o[60] = __shfl_sync(~0u, x, 3);
    o[61] = __shfl_up_sync(~0u, x, 3);
    o[62] = __shfl_xor_sync(~0u, x, 3);
    o2[60] = __shfl_down_sync(~0u, u, 1);
    o[63] = __ldg(i);
    o[64] = __ldcg(i);
    o[65] = __ldca(i);
    o[66] = __ldcs(i);
    o[67] = __ldlu(i);
    o[68] = __ldcv(i);
    __stcg(o + 69, x);
    __stwb(o + 70, x);
    __stcs(o + 71, x);
    __stwt(o + 72, x);
    o2[61] = __ldg(i2);
    o2[62] = __ldcg(i2);
    atomicAdd(o + 80, x);
    atomicAdd(o2 + 80, u);
}
__global__ void
kh(__half *o, __half2 *o2, bool *b, const __half *i, const __half2 *i2)
{
    all(o, o2, b, i, i2);
}
#if __CUDA_ARCH__ >= 800
__global__ void
kb(__nv_bfloat16 *o, __nv_bfloat162 *o2, bool *b, const __nv_bfloat16 *i,
   const __nv_bfloat162 *i2)
{
    all(o, o2, b, i, i2);
}
#endif
__global__ void
kc(__half *h, __nv_bfloat16 *b, float *f, double *d, int *i, unsigned *u, long long *l,
   unsigned long long *ul, short *s, unsigned short *us, signed char *c,
   unsigned char *uc)
{
    f[0] = __half2float(h[0]);
    f[1] = __bfloat162float(b[0]);
    d[0] = (double)(float)h[1];
    i[0] = __half2int_rn(h[0]);
    i[1] = __half2int_rz(h[0]);
    i[2] = __half2int_rd(h[0]);
    i[3] = __half2int_ru(h[0]);
    u[0] = __half2uint_rn(h[0]);
    l[0] = __half2ll_rn(h[0]);
    l[1] = __half2ll_rz(h[0]);
    ul[0] = __half2ull_rn(h[0]);
    s[0] = __half2short_rn(h[0]);
    us[0] = __half2ushort_rn(h[0]);
    c[0] = __half2char_rz(h[0]);
    uc[0] = __half2uchar_rz(h[0]);
    s[1] = __half_as_short(h[3]);
    i[4] = __bfloat162int_rn(b[0]);
    i[5] = __bfloat162int_rz(b[0]);
    u[4] = __bfloat162uint_rn(b[0]);
    l[4] = __bfloat162ll_rn(b[0]);
    ul[4] = __bfloat162ull_rn(b[0]);
    s[4] = __bfloat162short_rn(b[0]);
    us[4] = __bfloat162ushort_rn(b[0]);
    c[4] = __bfloat162char_rz(b[0]);
    uc[4] = __bfloat162uchar_rz(b[0]);
    h[10] = __int2half_rn(i[9]);
    h[11] = __int2half_rz(i[9]);
    h[12] = __uint2half_rd(u[9]);
    h[13] = __ll2half_ru(l[9]);
    h[14] = __ull2half_rn(ul[9]);
    h[15] = __short2half_rn(s[9]);
    h[16] = __ushort2half_rn(us[9]);
    h[17] = __float2half_rn(f[9]);
    h[18] = __float2half_rz(f[9]);
    h[19] = __float2half_rd(f[9]);
    h[20] = __float2half_ru(f[9]);
    h[21] = __double2half(d[9]);
    b[10] = __int2bfloat16_rn(i[9]);
    b[11] = __int2bfloat16_rz(i[9]);
    b[12] = __uint2bfloat16_rd(u[9]);
    b[13] = __ll2bfloat16_ru(l[9]);
    b[14] = __ull2bfloat16_rn(ul[9]);
    b[15] = __short2bfloat16_rn(s[9]);
    b[16] = __ushort2bfloat16_rn(us[9]);
    b[17] = __float2bfloat16_rn(f[9]);
    b[18] = __float2bfloat16_rz(f[9]);
    b[19] = __float2bfloat16_rd(f[9]);
    b[20] = __float2bfloat16_ru(f[9]);
    b[21] = __double2bfloat16(d[9]);
    ((__half2 *)h)[40] = __floats2half2_rn(f[1], f[2]);
    ((__nv_bfloat162 *)b)[40] = __floats2bfloat162_rn(f[1], f[2]);
    ((__half2 *)h)[41] = __float22half2_rn(((float2 *)f)[3]);
    ((float2 *)f)[20] = __half22float2(((__half2 *)h)[5]);
    ((float2 *)f)[21] = __bfloat1622float2(((__nv_bfloat162 *)b)[5]);
    us[100] = atomicCAS((unsigned short *)us, 1, 2);
}
