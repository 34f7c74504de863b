/* allot_device.h: the CUDA C++ that a kernel sees when clang compiles it without a CUDA
 * toolkit.
 *
 *     clang++ -x cuda --cuda-device-only --cuda-gpu-arch=sm_20 -nocudainc -nocudalib -O3
 * -S \ -include allot_device.h kernel.cu -o kernel.ptx
 *
 * It gives the keywords, the built-in variables, the vector types, barriers, fences,
 * atomics, bit functions, warp functions and the mathematics of the CUDA C++ Programming
 * Guide (sections "C++ language extensions" and "Mathematical functions") as far as
 * clang's own builtins and PTX reach on the architecture compiled for. Under nvcc, and
 * under clang with a toolkit's headers, it is empty, so the same .cu compiles there
 * unchanged.
 *
 * Accuracy of functions that PTX does not have is written at each, in ulp of the result,
 * with ex2.approx and lg2.approx as the PTX ISA bounds them. */
#ifndef ALLOT_DEVICE_H
#define ALLOT_DEVICE_H
/* Short functions stay on one line here. */
/* clang-format off */

#if defined(__clang__) && defined(__CUDA__) && !defined(__NVCC__) && !defined(__CUDACC__)

/* -- keywords -- */
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))

#define ALLOT_FN static __device__ __forceinline__
#define ALLOT_HD static __host__ __device__ __forceinline__

typedef __SIZE_TYPE__ size_t;

/* -- vector types: aligned as the Programming Guide's table says -- */
#define ALLOT_VECTOR(type, name, align2, align4)                                         \
    struct name##1 {                                                                     \
        type x;                                                                          \
    };                                                                                   \
    struct __align__(align2) name##2 {                                                   \
        type x, y;                                                                       \
    };                                                                                   \
    struct name##3 {                                                                     \
        type x, y, z;                                                                    \
    };                                                                                   \
    struct __align__(align4) name##4 {                                                   \
        type x, y, z, w;                                                                 \
    };                                                                                   \
    ALLOT_HD name##1 make_##name##1(type x) {                                            \
        name##1 v = {x};                                                                 \
        return v;                                                                        \
    }                                                                                    \
    ALLOT_HD name##2 make_##name##2(type x, type y) {                                    \
        name##2 v = {x, y};                                                              \
        return v;                                                                        \
    }                                                                                    \
    ALLOT_HD name##3 make_##name##3(type x, type y, type z) {                            \
        name##3 v = {x, y, z};                                                           \
        return v;                                                                        \
    }                                                                                    \
    ALLOT_HD name##4 make_##name##4(type x, type y, type z, type w) {                    \
        name##4 v = {x, y, z, w};                                                        \
        return v;                                                                        \
    }
ALLOT_VECTOR(signed char, char, 2, 4)
ALLOT_VECTOR(unsigned char, uchar, 2, 4)
ALLOT_VECTOR(short, short, 4, 8)
ALLOT_VECTOR(unsigned short, ushort, 4, 8)
ALLOT_VECTOR(int, int, 8, 16)
ALLOT_VECTOR(unsigned int, uint, 8, 16)
ALLOT_VECTOR(long long, longlong, 16, 16)
ALLOT_VECTOR(unsigned long long, ulonglong, 16, 16)
ALLOT_VECTOR(float, float, 8, 16)
ALLOT_VECTOR(double, double, 16, 16)
#undef ALLOT_VECTOR

struct dim3 {
    unsigned int x, y, z;
    __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1,
                                       unsigned int vz = 1)
        : x(vx), y(vy), z(vz) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ operator uint3() const { return make_uint3(x, y, z); }
};

/* -- built-in variables: members that read special registers; no storage behind them -- */
#define ALLOT_SREG3(type, reg, other)                                                    \
    struct type {                                                                        \
        __declspec(property(get = read_x)) unsigned int x;                               \
        __declspec(property(get = read_y)) unsigned int y;                               \
        __declspec(property(get = read_z)) unsigned int z;                               \
        static __device__ __forceinline__ unsigned int read_x() {                        \
            return __nvvm_read_ptx_sreg_##reg##_x();                                     \
        }                                                                                \
        static __device__ __forceinline__ unsigned int read_y() {                        \
            return __nvvm_read_ptx_sreg_##reg##_y();                                     \
        }                                                                                \
        static __device__ __forceinline__ unsigned int read_z() {                        \
            return __nvvm_read_ptx_sreg_##reg##_z();                                     \
        }                                                                                \
        __device__ operator other() const {                                              \
            return other{read_x(), read_y(), read_z()};                                  \
        }                                                                                \
    }
ALLOT_SREG3(allot_tid, tid, uint3);
ALLOT_SREG3(allot_ctaid, ctaid, uint3);
ALLOT_SREG3(allot_ntid, ntid, dim3);
ALLOT_SREG3(allot_nctaid, nctaid, dim3);
#undef ALLOT_SREG3
extern const __device__ allot_tid threadIdx;
extern const __device__ allot_ctaid blockIdx;
extern const __device__ allot_ntid blockDim;
extern const __device__ allot_nctaid gridDim;
static constexpr int warpSize = 32;

ALLOT_FN int clock() { return __nvvm_read_ptx_sreg_clock(); }
ALLOT_FN long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }

/* -- barriers and fences --
 * Each is also a barrier to the compiler: LLVM may take an intrinsic for one that leaves
 * scratchpad variables alone, and would keep values of theirs in registers across it. */
#define ALLOT_COMPILER_FENCE asm volatile("" ::: "memory")
ALLOT_FN void allot_barrier() { asm volatile("bar.sync 0;" ::: "memory"); }
#define __syncthreads allot_barrier
#define ALLOT_FENCED(type, name, params, expr)                                           \
    ALLOT_FN type name params {                                                          \
        ALLOT_COMPILER_FENCE;                                                            \
        type r = expr;                                                                   \
        ALLOT_COMPILER_FENCE;                                                            \
        return r;                                                                        \
    }
ALLOT_FENCED(int, __syncthreads_count, (int p), __nvvm_bar0_popc(p))
ALLOT_FENCED(int, __syncthreads_and, (int p), __nvvm_bar0_and(p))
ALLOT_FENCED(int, __syncthreads_or, (int p), __nvvm_bar0_or(p))
#undef ALLOT_FENCED
ALLOT_FN void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
ALLOT_FN void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
ALLOT_FN void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
ALLOT_FN void __trap() { __builtin_trap(); }

/* -- bits of a value as another type -- */
ALLOT_FN float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
ALLOT_FN int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
ALLOT_FN float __uint_as_float(unsigned int v) { return __builtin_bit_cast(float, v); }
ALLOT_FN unsigned int __float_as_uint(float v) {
    return __builtin_bit_cast(unsigned int, v);
}
ALLOT_FN double __longlong_as_double(long long v) {
    return __builtin_bit_cast(double, v);
}
ALLOT_FN long long __double_as_longlong(double v) {
    return __builtin_bit_cast(long long, v);
}

/* -- integers -- */
ALLOT_FN int __popc(unsigned int v) { return __builtin_popcount(v); }
ALLOT_FN int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
ALLOT_FN int __clz(int v) { return v ? __builtin_clz((unsigned int)v) : 32; }
ALLOT_FN int __clzll(long long v) {
    return v ? __builtin_clzll((unsigned long long)v) : 64;
}
ALLOT_FN int __ffs(int v) { return __builtin_ffs(v); }
ALLOT_FN int __ffsll(long long v) { return __builtin_ffsll(v); }
ALLOT_FN unsigned int __brev(unsigned int v) { return __builtin_bitreverse32(v); }
ALLOT_FN unsigned long long __brevll(unsigned long long v) {
    return __builtin_bitreverse64(v);
}
ALLOT_FN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
ALLOT_FN unsigned int __umulhi(unsigned int a, unsigned int b) {
    return (unsigned int)((unsigned long long)a * b >> 32);
}
ALLOT_FN int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
ALLOT_FN unsigned int __umul24(unsigned int a, unsigned int b) {
    return (a & 0xffffff) * (b & 0xffffff);
}
ALLOT_FN int abs(int v) { return __builtin_abs(v); }
ALLOT_FN long long llabs(long long v) { return __builtin_llabs(v); }

#define ALLOT_MINMAX(type)                                                               \
    ALLOT_HD type min(type a, type b) { return b < a ? b : a; }                          \
    ALLOT_HD type max(type a, type b) { return a < b ? b : a; }
ALLOT_MINMAX(int)
ALLOT_MINMAX(unsigned int)
ALLOT_MINMAX(long)
ALLOT_MINMAX(unsigned long)
ALLOT_MINMAX(long long)
ALLOT_MINMAX(unsigned long long)
#undef ALLOT_MINMAX
ALLOT_HD unsigned int min(int a, unsigned int b) { return min((unsigned int)a, b); }
ALLOT_HD unsigned int min(unsigned int a, int b) { return min(a, (unsigned int)b); }
ALLOT_HD unsigned int max(int a, unsigned int b) { return max((unsigned int)a, b); }
ALLOT_HD unsigned int max(unsigned int a, int b) { return max(a, (unsigned int)b); }

/* -- floating point that PTX has as instructions: exact as PTX says -- */
ALLOT_FN float fabsf(float v) { return __builtin_fabsf(v); }
ALLOT_FN double fabs(double v) { return __builtin_fabs(v); }
ALLOT_FN float fminf(float a, float b) { return __builtin_fminf(a, b); }
ALLOT_FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
ALLOT_FN double fmin(double a, double b) { return __builtin_fmin(a, b); }
ALLOT_FN double fmax(double a, double b) { return __builtin_fmax(a, b); }
ALLOT_FN float min(float a, float b) { return fminf(a, b); }
ALLOT_FN float max(float a, float b) { return fmaxf(a, b); }
ALLOT_FN double min(double a, double b) { return fmin(a, b); }
ALLOT_FN double max(double a, double b) { return fmax(a, b); }
ALLOT_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ALLOT_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ALLOT_FN float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ALLOT_FN float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
ALLOT_FN float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
ALLOT_FN float __fdiv_rn(float a, float b) { return __nvvm_div_rn_f(a, b); }
ALLOT_FN float __frcp_rn(float v) { return __nvvm_rcp_rn_f(v); }
ALLOT_FN float __fsqrt_rn(float v) { return __nvvm_sqrt_rn_f(v); }
ALLOT_FN float sqrtf(float v) { return __nvvm_sqrt_rn_f(v); }
ALLOT_FN double sqrt(double v) { return __nvvm_sqrt_rn_d(v); }
ALLOT_FN float rsqrtf(float v) { return __nvvm_rsqrt_approx_f(v); }
ALLOT_FN double rsqrt(double v) { return 1.0 / sqrt(v); }
ALLOT_FN float floorf(float v) { return __builtin_floorf(v); }
ALLOT_FN double floor(double v) { return __builtin_floor(v); }
ALLOT_FN float ceilf(float v) { return __builtin_ceilf(v); }
ALLOT_FN double ceil(double v) { return __builtin_ceil(v); }
ALLOT_FN float truncf(float v) { return __builtin_truncf(v); }
ALLOT_FN double trunc(double v) { return __builtin_trunc(v); }
ALLOT_FN float rintf(float v) { return __builtin_rintf(v); }
ALLOT_FN double rint(double v) { return __builtin_rint(v); }
ALLOT_FN float copysignf(float a, float b) {
    return __int_as_float((__float_as_int(a) & 0x7fffffff) |
                          (__float_as_int(b) & ~0x7fffffff));
}
ALLOT_FN int isnan(float v) { return v != v; }
ALLOT_FN int isnan(double v) { return v != v; }
ALLOT_FN int isinf(float v) { return fabsf(v) == __builtin_inff(); }
ALLOT_FN int isinf(double v) { return fabs(v) == __builtin_inf(); }
ALLOT_FN int __float2int_rn(float v) { return __nvvm_f2i_rn(v); }
ALLOT_FN int __float2int_rz(float v) { return __nvvm_f2i_rz(v); }
ALLOT_FN int __float2int_rd(float v) { return __nvvm_f2i_rm(v); }
ALLOT_FN int __double2int_rn(double v) { return __nvvm_d2i_rn(v); }
ALLOT_FN float __int2float_rn(int v) { return (float)v; }

/* Fast forms: as accurate as the .approx instructions. */
ALLOT_FN float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
ALLOT_FN float __expf(float v) { return __nvvm_ex2_approx_f(v * 1.44269504088896341f); }
ALLOT_FN float __log2f(float v) { return __nvvm_lg2_approx_f(v); }
ALLOT_FN float __logf(float v) { return __nvvm_lg2_approx_f(v) * 0.693147180559945309f; }
ALLOT_FN float __powf(float a, float b) { return __nvvm_ex2_approx_f(b * __nvvm_lg2_approx_f(a)); }
ALLOT_FN float __sinf(float v) { return __nvvm_sin_approx_f(v); }
ALLOT_FN float __cosf(float v) { return __nvvm_cos_approx_f(v); }
ALLOT_FN float __saturatef(float v) { return __nvvm_saturate_f(v); }

/* -- floating point made here -- */

/* v * 2^n for -252 <= n <= 254, rounded once or (subnormal results) twice. */
ALLOT_FN float allot_scale(float v, int n) {
    int half = n >> 1;
    return v * __int_as_float((half + 127) << 23) *
           __int_as_float((n - half + 127) << 23);
}

/* e^v, 3 ulp: v * log2 e = n + f with f in [-0.5, 0.5] from a product in two parts, 2^f
 * by ex2.approx. The clamp keeps n in range; beyond it the result has long become 0 or
 * infinity. */
ALLOT_FN float expf(float v) {
    float c = fminf(fmaxf(v, -104.0f), 89.0f);
    float n = rintf(c * 1.44269502162933350f);
    float f = fmaf(c, 1.44269502162933350f, -n);
    f = fmaf(c, 1.92596303082e-8f, f);
    float r = allot_scale(__nvvm_ex2_approx_f(f), (int)n);
    return v != v ? v : r;
}

/* 2^v, 3 ulp. */
ALLOT_FN float exp2f(float v) {
    float c = fminf(fmaxf(v, -152.0f), 129.0f);
    float n = rintf(c);
    float r = allot_scale(__nvvm_ex2_approx_f(c - n), (int)n);
    return v != v ? v : r;
}

/* Mantissa of v > 0 in [sqrt(1/2), sqrt 2) less one, and its exponent. */
ALLOT_FN float allot_frexp1(float v, float *e) {
    float bias = 0.0f;
    if (v < 1.17549435e-38f) { /* subnormal: into the normal range first */
        v *= 8388608.0f;
        bias = 23.0f;
    }
    int k = (__float_as_int(v) - 0x3f3504f3) >> 23;
    *e = (float)k - bias;
    return __int_as_float(__float_as_int(v) - (k << 23)) - 1.0f;
}

/* log(1 + f) for f from allot_frexp1: 2 atanh s, s = f / (2 + f), |s| < 0.1716. */
ALLOT_FN float allot_log1(float f) {
    float s = f / (2.0f + f), z = s * s;
    float p = fmaf(z, fmaf(z, fmaf(z, 0.222222222f, 0.285714286f), 0.4f), 0.666666667f);
    /* 2s = f - s f, so that f itself, exact, carries the leading bits. */
    return f - s * (f - z * p);
}

ALLOT_FN float allot_log_special(float v, float r) {
    if (v == 0.0f)
        return -__builtin_inff();
    if (!(v > 0.0f))
        return __builtin_nanf("");
    return v == __builtin_inff() ? v : r;
}

/* Natural logarithm, 3 ulp. */
ALLOT_FN float logf(float v) {
    float e, f = allot_frexp1(v, &e);
    return allot_log_special(
        v, fmaf(e, 0.693145752f, fmaf(e, 1.42860677e-6f, allot_log1(f))));
}

/* Base-2 logarithm, 3 ulp. */
ALLOT_FN float log2f(float v) {
    float e, f = allot_frexp1(v, &e);
    float l = allot_log1(f);
    return allot_log_special(v, fmaf(l, 1.44269502f, fmaf(l, 1.92596303e-8f, e)));
}

/* e^v in double, 1 ulp (2 where the result is subnormal): v = n ln 2 + f with |f| <=
 * 0.3466 and ln 2 in two parts, e^f by its Taylor series to f^13 (next term below 2^-57).
 */
ALLOT_FN double exp(double v) {
    double c = fmin(fmax(v, -746.0), 710.0);
    double n = rint(c * 1.4426950408889634074);
    double f = fma(n, -6.93147180369123816490e-01, c);
    f = fma(n, -1.90821492927058770002e-10, f);
    double p = 1.0 / 6227020800.0;
    p = fma(p, f, 1.0 / 479001600.0);
    p = fma(p, f, 1.0 / 39916800.0);
    p = fma(p, f, 1.0 / 3628800.0);
    p = fma(p, f, 1.0 / 362880.0);
    p = fma(p, f, 1.0 / 40320.0);
    p = fma(p, f, 1.0 / 5040.0);
    p = fma(p, f, 1.0 / 720.0);
    p = fma(p, f, 1.0 / 120.0);
    p = fma(p, f, 1.0 / 24.0);
    p = fma(p, f, 1.0 / 6.0);
    p = fma(p, f, 0.5);
    p = fma(p, f, 1.0);
    p = fma(p, f, 1.0);
    int k = (int)n, half = k >> 1;
    double r = p * __longlong_as_double((long long)(half + 1023) << 52) *
               __longlong_as_double((long long)(k - half + 1023) << 52);
    return v != v ? v : r;
}

/* -- loads through the read-only path -- */
#if __CUDA_ARCH__ >= 320
ALLOT_FN float __ldg(const float *p) { return __nvvm_ldg_f(p); }
ALLOT_FN double __ldg(const double *p) { return __nvvm_ldg_d(p); }
ALLOT_FN int __ldg(const int *p) { return __nvvm_ldg_i(p); }
ALLOT_FN unsigned int __ldg(const unsigned int *p) { return __nvvm_ldg_ui(p); }
#else /* no such path: an ordinary load */
template <typename T> static __device__ __forceinline__ T __ldg(const T *p) { return *p; }
#endif

/* -- atomics: each returns the old value -- */
ALLOT_FN int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
ALLOT_FN unsigned int atomicAdd(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_add_gen_i((int *)p, (int)v);
}
ALLOT_FN unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
    return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
ALLOT_FN float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
ALLOT_FN int atomicSub(int *p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
ALLOT_FN unsigned int atomicSub(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_add_gen_i((int *)p, (int)(0u - v));
}
ALLOT_FN int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
ALLOT_FN unsigned int atomicMin(unsigned int *p, unsigned int v) {
    return __nvvm_atom_min_gen_ui(p, v);
}
ALLOT_FN int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
ALLOT_FN unsigned int atomicMax(unsigned int *p, unsigned int v) {
    return __nvvm_atom_max_gen_ui(p, v);
}
ALLOT_FN int atomicAnd(int *p, int v) { return __nvvm_atom_and_gen_i(p, v); }
ALLOT_FN unsigned int atomicAnd(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_and_gen_i((int *)p, (int)v);
}
ALLOT_FN int atomicOr(int *p, int v) { return __nvvm_atom_or_gen_i(p, v); }
ALLOT_FN unsigned int atomicOr(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_or_gen_i((int *)p, (int)v);
}
ALLOT_FN int atomicXor(int *p, int v) { return __nvvm_atom_xor_gen_i(p, v); }
ALLOT_FN unsigned int atomicXor(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_xor_gen_i((int *)p, (int)v);
}
ALLOT_FN int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
ALLOT_FN unsigned int atomicExch(unsigned int *p, unsigned int v) {
    return (unsigned int)__nvvm_atom_xchg_gen_i((int *)p, (int)v);
}
ALLOT_FN float atomicExch(float *p, float v) {
    return __int_as_float(__nvvm_atom_xchg_gen_i((int *)p, __float_as_int(v)));
}
ALLOT_FN unsigned long long atomicExch(unsigned long long *p, unsigned long long v) {
    return (unsigned long long)__nvvm_atom_xchg_gen_ll((long long *)p, (long long)v);
}
ALLOT_FN int atomicCAS(int *p, int expected, int v) {
    return __nvvm_atom_cas_gen_i(p, expected, v);
}
ALLOT_FN unsigned int atomicCAS(unsigned int *p, unsigned int expected, unsigned int v) {
    return (unsigned int)__nvvm_atom_cas_gen_i((int *)p, (int)expected, (int)v);
}
ALLOT_FN unsigned long long atomicCAS(unsigned long long *p, unsigned long long expected,
                                      unsigned long long v) {
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)expected,
                                                      (long long)v);
}
ALLOT_FN unsigned int atomicInc(unsigned int *p, unsigned int limit) {
    return __nvvm_atom_inc_gen_ui(p, limit);
}
ALLOT_FN unsigned int atomicDec(unsigned int *p, unsigned int limit) {
    return __nvvm_atom_dec_gen_ui(p, limit);
}

/* -- warps; from sm_70 on these need -Xclang -target-feature -Xclang +ptx60 -- */
#if __CUDA_ARCH__ >= 700
ALLOT_FN void __syncwarp(unsigned int mask = 0xffffffff) {
    ALLOT_COMPILER_FENCE;
    __nvvm_bar_warp_sync(mask);
    ALLOT_COMPILER_FENCE;
}
ALLOT_FN unsigned int __ballot_sync(unsigned int mask, int p) {
    return __nvvm_vote_ballot_sync(mask, p);
}
ALLOT_FN int __all_sync(unsigned int mask, int p) {
    return __nvvm_vote_all_sync(mask, p);
}
ALLOT_FN int __any_sync(unsigned int mask, int p) {
    return __nvvm_vote_any_sync(mask, p);
}
#define ALLOT_SHFL(kind, v, lane, c) __nvvm_shfl_sync_##kind##_i32(mask, v, lane, c)
#else
/* Before sm_70 a warp runs in lock step and vote has no mask. */
ALLOT_FN unsigned int __ballot(int p) {
    unsigned int r;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.ballot.b32 %0, q; }"
                 : "=r"(r)
                 : "r"(p));
    return r;
}
ALLOT_FN int __all(int p) {
    int r;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; vote.all.pred q, q; "
                 "selp.s32 %0, 1, 0, q; }"
                 : "=r"(r)
                 : "r"(p));
    return r;
}
ALLOT_FN int __any(int p) { return !__all(!p); }
ALLOT_FN unsigned int __ballot_sync(unsigned int, int p) { return __ballot(p); }
ALLOT_FN int __all_sync(unsigned int, int p) { return __all(p); }
ALLOT_FN int __any_sync(unsigned int, int p) { return __any(p); }
/* Only the order of memory accesses is to be kept. */
ALLOT_FN void __syncwarp(unsigned int = 0xffffffff) { __threadfence_block(); }
#define ALLOT_SHFL(kind, v, lane, c) __nvvm_shfl_##kind##_i32(v, lane, c)
#endif
/* Shuffles. c: the segment's mask in bits 8-12, the last lane in bits 0-4. */
#if __CUDA_ARCH__ >= 300
#define ALLOT_SHUFFLE(name, kind, last)                                                  \
    ALLOT_FN int name(unsigned int mask, int v, int lane, int width = 32) {              \
        return ALLOT_SHFL(kind, v, lane, ((32 - width) << 8) | (last));                  \
    }                                                                                    \
    ALLOT_FN unsigned int name(unsigned int mask, unsigned int v, int lane,              \
                               int width = 32) {                                         \
        return (unsigned int)name(mask, (int)v, lane, width);                            \
    }                                                                                    \
    ALLOT_FN float name(unsigned int mask, float v, int lane, int width = 32) {          \
        return __int_as_float(name(mask, __float_as_int(v), lane, width));               \
    }
ALLOT_SHUFFLE(__shfl_sync, idx, 0x1f)
ALLOT_SHUFFLE(__shfl_up_sync, up, 0)
ALLOT_SHUFFLE(__shfl_down_sync, down, 0x1f)
ALLOT_SHUFFLE(__shfl_xor_sync, bfly, 0x1f)
#undef ALLOT_SHUFFLE
#endif

#endif
#endif
