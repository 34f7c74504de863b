/* Arithmetic of every width, conversions, library functions (with nvcc). */
#include "device.cuh"
#ifdef __clang__
#define sqrtf(x) __nvvm_sqrt_rn_f(x)
#define fmaf(a, b, c) __builtin_fmaf(a, b, c)
#endif
extern "C" __global__ void integers(long long *q, unsigned *u, short *s, unsigned char *b, int n)
{
    int i = TIDX;
    q[i] = q[i] / (n + 1) + q[i + 1] % (n + 3) - ((long long)u[i] * u[i + 1] >> 7);
    u[i] = (u[i] << (n & 31)) | (u[i] >> (32 - (n & 31)));
    u[i] += (unsigned)__builtin_popcount(u[i + 1]) + (unsigned)__builtin_clz(u[i + 2] | 1);
    s[i] = (short)(s[i] * s[i + 1] - (s[i + 2] >> 3));
    b[i] = (unsigned char)(b[i] + b[i + 1] > 255 ? 255 : b[i] * 3);
    q[i + 1] = (signed char)b[i + 3] + (long long)(unsigned short)s[i + 4];
    u[i + 1] = (unsigned)(((unsigned long long)u[i] * 0x9e3779b97f4a7c15ull) >> 32);
}
extern "C" __global__ void floats(float *f, double *d, int *k, unsigned long long *w)
{
    int i = TIDX;
    f[i] = sqrtf(f[i]) / (f[i + 1] + 1.5f) + fmaf(f[i], f[i + 2], -0.1f);
    d[i] = d[i] / (d[i + 1] - 3.25) + (double)f[i];
    k[i] = (int)f[i + 3] + (int)d[i + 2];
    w[i] = (unsigned long long)d[i + 3];
    d[i + 1] = (double)w[i + 1] + (float)k[i + 1];
    f[i + 1] = f[i] < f[i + 1] ? f[i] : (f[i + 2] != f[i + 2] ? 0.0f : f[i + 3]);
#ifndef __clang__
    f[i + 4] = sinf(f[i]) + expf(f[i + 1]) * logf(f[i + 2]) + powf(f[i], 1.7f) + __sinf(f[i + 3]) + tanhf(f[i]);
    d[i + 4] = sin(d[i]) + exp(d[i + 1]) * log(d[i + 2]) + pow(d[i], 1.7) + rsqrt(d[i + 3]);
    f[i + 5] = __fadd_rz(f[i], f[i + 1]) + __fdividef(f[i], f[i + 2]) + rintf(f[i + 3]) + floorf(f[i + 4]) + fminf(f[i], f[i + 1]);
#endif
}
