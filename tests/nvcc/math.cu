/* math.cu: The mathematical functions of float and double, and their intrinsics.
 * Compiled, not run: see tools/nvcc-forms. */
#include <math.h>
#include <math_constants.h>
template <class T>
__device__ void
all(T *o, const T *i)
{
    T x = i[0], y = i[1], z = i[2];
    int k = 0, e;
    T p, q;
#define F(v) o[k++] = v;
    F(sin(x));
    F(cos(x));
    F(tan(x));
    F(asin(x));
    F(acos(x));
    F(atan(x));
    F(atan2(x, y));
    F(sinh(x));
    F(cosh(x));
    F(tanh(x));
    F(asinh(x));
    F(acosh(x));
    F(atanh(x));
    F(exp(x));
    F(exp2(x));
    F(exp10(x));
    F(expm1(x));
    F(log(x));
    F(log2(x));
    F(log10(x));
    F(log1p(x));
    F(logb(x));
    F(pow(x, y));
    F(sqrt(x));
    F(rsqrt(x));
    F(cbrt(x));
    F(rcbrt(x));
    F(hypot(x, y));
    F(rhypot(x, y));
    F(norm3d(x, y, z));
    F(norm4d(x, y, z, x));
    F(rnorm3d(x, y, z));
    F(erf(x));
    F(erfc(x));
    F(erfinv(x));
    F(erfcinv(x));
    F(erfcx(x));
    F(normcdf(x));
    F(normcdfinv(x));
    F(lgamma(x));
    F(tgamma(x));
    F(fma(x, y, z));
    F(fmod(x, y));
    F(remainder(x, y));
    F(fdim(x, y));
    F(fmin(x, y));
    F(fmax(x, y));
    F(floor(x));
    F(ceil(x));
    F(trunc(x));
    F(round(x));
    F(rint(x));
    F(nearbyint(x));
    F(ldexp(x, 3));
    F(scalbn(x, 4));
    F(frexp(x, &e));
    F(modf(x, &p));
    F(nextafter(x, y));
    F(copysign(x, y));
    F(fabs(x));
    F(j0(x));
    F(j1(x));
    F(jn(3, x));
    F(y0(x));
    F(y1(x));
    F(yn(2, x));
    F(cyl_bessel_i0(x));
    F(sinpi(x));
    F(cospi(x)) sincos(x, &p, &q);
    F(p);
    F(q) sincospi(x, &p, &q);
    F(p);
    F(q)
    F((T)ilogb(x));
    F((T)lround(x));
    F((T)llrint(x));
    F((T)isnan(x));
    F((T)isinf(x));
    F((T)isfinite(x));
    F((T)signbit(x))
}
__global__ void
kf(float *o, const float *i)
{
    all<float>(o, i);
    float x = i[0], y = i[1], z = i[2];
    int k = 100;
    F(__sinf(x));
    F(__cosf(x));
    F(__tanf(x));
    F(__expf(x));
    F(__exp10f(x));
    F(__logf(x));
    F(__log2f(x));
    F(__log10f(x));
    F(__powf(x, y));
    F(__fdividef(x, y));
    F(__saturatef(x));
    F(__fadd_rd(x, y));
    F(__fadd_ru(x, y));
    F(__fmul_rz(x, y));
    F(__fmaf_rd(x, y, z));
    F(__fmaf_ieee_rn(x, y, z));
    F(__frcp_rd(x));
    F(__frcp_rn(x));
    F(__fsqrt_ru(x));
    F(__frsqrt_rn(x));
    F(__fdiv_rz(x, y));
    F(__fsub_rn(x, y));
    F(__tanhf(x))
}
__global__ void
kd(double *o, const double *i)
{
    all<double>(o, i);
    double x = i[0], y = i[1], z = i[2];
    int k = 100;
    F(__dadd_rd(x, y));
    F(__dmul_ru(x, y));
    F(__fma_rz(x, y, z));
    F(__ddiv_rn(x, y));
    F(__drcp_ru(x));
    F(__dsqrt_rd(x));
    F(__dsub_rz(x, y))
}
__global__ void
kcv(float *f, double *d, int *i, unsigned *u, long long *l, unsigned long long *ul)
{
    i[0] = __float2int_rn(f[0]);
    i[1] = __float2int_rz(f[0]);
    u[0] = __float2uint_rd(f[0]);
    l[0] = __float2ll_ru(f[0]);
    ul[0] = __float2ull_rn(f[0]);
    i[2] = __double2int_rd(d[0]);
    u[1] = __double2uint_rz(d[0]);
    l[1] = __double2ll_rn(d[0]);
    ul[1] = __double2ull_ru(d[0]);
    f[1] = __double2float_rn(d[0]);
    f[2] = __double2float_rz(d[0]);
    f[3] = __int2float_rd(i[5]);
    f[4] = __uint2float_ru(u[5]);
    f[5] = __ll2float_rz(l[5]);
    f[6] = __ull2float_rn(ul[5]);
    d[1] = __int2double_rn(i[5]);
    d[2] = __ll2double_rd(l[5]);
    d[3] = __ull2double_rz(ul[5]);
    i[6] = __double2hiint(d[4]);
    i[7] = __double2loint(d[4]);
    d[5] = __hiloint2double(i[1], i[2]);
    i[8] = __float_as_int(f[9]);
    f[10] = __int_as_float(i[9]);
    l[9] = __double_as_longlong(d[9]);
    short *s = (short *)i;
    signed char *c = (signed char *)u;
    s[40] = (short)f[12];
    c[41] = (signed char)d[12];
    f[13] = s[44];
    d[13] = c[45];
    f[14] = (unsigned char)c[46];
}
