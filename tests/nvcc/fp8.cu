/* fp8.cu: Formats of 8, 6 and 4 bits. Compiled, not run: see tools/nvcc-forms. */
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
__global__ void
k(__nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, float *f, __half *h, __nv_bfloat16 *bf, double *d,
  __nv_fp8x2_e4m3 *a2, __nv_fp8x4_e5m2 *b4, int *i)
{
    a[0] = __nv_fp8_e4m3(f[0]);
    a[1] = __nv_fp8_e4m3(h[0]);
    a[2] = __nv_fp8_e4m3(bf[0]);
    a[3] = __nv_fp8_e4m3(d[0]);
    b[0] = __nv_fp8_e5m2(f[0]);
    b[1] = __nv_fp8_e5m2(h[0]);
    b[2] = __nv_fp8_e5m2(i[3]);
    f[1] = float(a[5]);
    h[1] = __half(b[5]);
    bf[1] = __nv_bfloat16(a[6]);
    a2[0] = __nv_fp8x2_e4m3(*(float2 *)(f + 8));
    b4[0] = __nv_fp8x4_e5m2(*(float4 *)(f + 8));
    *(float4 *)(f + 12) = float4(b4[1]);
    *(__half2_raw *)(h + 10) =
        __nv_cvt_fp8x2_to_halfraw2(((unsigned short *)a)[10], __NV_E4M3);
    ((unsigned short *)a)[11] =
        __nv_cvt_halfraw2_to_fp8x2(*(__half2_raw *)(h + 12), __NV_SATFINITE, __NV_E5M2);
    ((unsigned short *)a)[12] =
        __nv_cvt_float2_to_fp8x2(*(float2 *)(f + 12), __NV_NOSAT, __NV_E5M2);
}
__global__ void
k6(__nv_fp6_e2m3 *a, __nv_fp6_e3m2 *b, __nv_fp4_e2m1 *c, float *f, __half *h)
{
    a[0] = __nv_fp6_e2m3(f[0]);
    b[0] = __nv_fp6_e3m2(f[1]);
    c[0] = __nv_fp4_e2m1(f[2]);
    f[3] = float(a[1]);
    f[4] = float(b[1]);
    f[5] = float(c[1]);
}
