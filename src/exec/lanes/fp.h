/* fp.h: floating point as PTX defines it, the same on every machine.
 *
 * Only the correctly rounded operations of the host are used (+ - * / sqrt and, where the
 * processor has it, fma), in the default rounding mode; the mode is never changed and
 * libm is never called. The rest is built from them:
 * - f32 with directed rounding, and fma without the instruction: computed in double, made
 *   round-to-odd by the exact error of the sum (Boldo, Melquiond: "Emulation of FMA and
 *   correctly rounded sums: proved algorithms using rounding to odd", 2008), then rounded
 * once. Quotients and roots of singles are never within a double's rounding error of a
 * single unless they are one, so their double needs no correction.
 * - f64 with directed rounding: by the sign of the exact error of the rounded result
 *   (Knuth's two-sum; the remainder by fma), where that error can be represented.
 * - the rest of it, f16 and 64-bit integers: integer arithmetic (fp.c).
 * - approximate functions: range reduction and a Taylor polynomial in double; the error
 * in double is far below the single's half ulp.
 * - NaN, as a card answers (docs/ptx.md): a result of f32 is 0x7fffffff, of f16 and bf16
 *   0x7fff. One of f64 is the operand's, made quiet, or 0xfff8000000000000 if no operand
 *   is one. mov, selp, copysign and conversions without arithmetic keep the bits.
 * Meaning: PTX ISA 9.0, 9.7.3 (arithmetic), 9.7.9 (cvt). */
#ifndef ALLOT_EXEC_FP_H
#define ALLOT_EXEC_FP_H

#include <stdbool.h>
#include <stdint.h>

enum fp_rnd { FP_RN, FP_RZ, FP_RM, FP_RP };
enum fp_prec { FP_EXACT, FP_APPROX, FP_FULL };
enum fp_test {
    FP_FINITE,
    FP_INFINITE,
    FP_NUMBER,
    FP_NOTANUMBER,
    FP_NORMAL,
    FP_SUBNORMAL
};

/* Software arithmetic (fp.c). Any rounding mode; results may be any NaN. */
double fp_soft_add(double a, double b, unsigned rnd);
double fp_soft_mul(double a, double b, unsigned rnd);
double fp_soft_fma(double a, double b, double c, unsigned rnd);
double fp_soft_div(double a, double b, unsigned rnd);
double fp_soft_sqrt(double a, unsigned rnd);
/* Integers come as sign and magnitude. A half is its bits; NaN gives the canonical one.
 */
double fp_soft_int_to_f64(bool neg, uint64_t magnitude, unsigned rnd);
float fp_soft_int_to_f32(bool neg, uint64_t magnitude, unsigned rnd);
uint16_t fp_soft_int_to_half(bool neg, uint64_t magnitude, unsigned rnd);
uint16_t fp_soft_int_to_bhalf(bool neg, uint64_t magnitude, unsigned rnd);
uint16_t fp_soft_to_half(double a, unsigned rnd);

/* -- bits -- */

static inline uint32_t
fp_bits32(float a)
{
    uint32_t b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}

static inline float
fp_float32(uint32_t b)
{
    float a;
    __builtin_memcpy(&a, &b, sizeof a);
    return a;
}

static inline uint64_t
fp_bits64(double a)
{
    uint64_t b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}

static inline double
fp_float64(uint64_t b)
{
    double a;
    __builtin_memcpy(&a, &b, sizeof a);
    return a;
}

#define FP_SIGN32 0x80000000u
#define FP_SIGN64 0x8000000000000000u
#define FP_NAN32 0x7fffffffu
#define FP_NAN64 0xfff8000000000000u
#define FP_NAN16 0x7fffu

/* Zero of the same sign for a subnormal. */
static inline float
fp_flush(float a)
{
    uint32_t b = fp_bits32(a);
    return fp_float32((b & 0x7f800000u) ? b : b & FP_SIGN32);
}

static inline float
fp_in_f32(float a, bool ftz)
{
    return ftz ? fp_flush(a) : a;
}

static inline double
fp_in_f64(double a, bool ftz)
{
    return a;
}

/* The NaN that an operation of f64 gives for operands of which one may be one: theirs, made
 * quiet. Of several b's goes before c's before a's: a card was seen to take b's before a's
 * (add) and before c's (fma). The arithmetic of x86-64 passes the NaN of a single operand on
 * and makes FP_NAN64 without one, so that there only the choice is left. */
#if defined(__x86_64__)
#define FP_HOST_NAN 1
#else
#define FP_HOST_NAN 0
#endif

static inline double
fp_quiet(double a)
{
    return fp_float64(fp_bits64(a) | 0x0008000000000000u);
}

/* r is the result; not taken as passed on by the host. */
static inline double
fp_nan1(double r, double a)
{
    double n = a != a ? fp_quiet(a) : fp_float64(FP_NAN64);
    return r == r ? r : n;
}

static inline double
fp_nan2(double r, double a, double b)
{
    r = FP_HOST_NAN ? r : fp_nan1(r, a);
    return b != b ? fp_quiet(b) : r;
}

static inline double
fp_nan3(double r, double a, double b, double c)
{
    r = FP_HOST_NAN ? r : fp_nan1(r, a);
    r = c != c ? fp_quiet(c) : r;
    return b != b ? fp_quiet(b) : r;
}

/* What every arithmetic result goes through: .ftz, .sat (NaN gives +0), canonical NaN; f64
 * has the right one already. */
static inline float
fp_out_f32(float r, bool ftz, bool sat)
{
    r = ftz ? fp_flush(r) : r;
    if (sat)
        return r > 0.0f ? (r < 1.0f ? r : 1.0f) : 0.0f;
    return r == r ? r : fp_float32(FP_NAN32);
}

static inline double
fp_out_f64(double r, bool ftz, bool sat)
{
    if (sat)
        return r > 0.0 ? (r < 1.0 ? r : 1.0) : 0.0;
    return r;
}

/* -- rounding -- */

/* a rounded once to single. (In here integers are as wide as the doubles they come from,
 * and conditions give numbers, so that a vectoriser can follow.) */
static inline float
fp_round32(double a, unsigned rnd)
{
    float f = (float)a;
    double g = f;
    /* f misses a on the wrong side by less than one step: the step is one in the
     * encoding, up for larger magnitudes. */
    int64_t over = g > a ? 1 : 0, under = g < a ? 1 : 0;
    int64_t negative = (int64_t)(fp_bits64(a) >> 63);
    int64_t step = rnd == FP_RM   ? (negative ? over : -over)
                   : rnd == FP_RP ? (negative ? -under : under)
                   : rnd == FP_RZ ? (negative ? -under : -over)
                                  : 0;
    return fp_float32(fp_bits32(f) + (uint32_t)step);
}

/* The double nearest to a + b, or its neighbour with an odd last bit if that is inexact.
 * No overflow may occur: a and b come from singles. */
static inline double
fp_sum_to_odd(double a, double b)
{
    double s = a + b, bb = s - a, err = (a - (s - bb)) + (b - bb);
    uint64_t bits = fp_bits64(s);
    /* Infinities and NaN have a NaN for error: left as they are. */
    uint64_t inexact = err > 0.0 ? 1 : err < 0.0 ? 1 : 0;
    uint64_t step = inexact & ~bits;
    uint64_t inward = (fp_bits64(err) ^ bits) >> 63;
    return fp_float64(inward ? bits - step : bits + step);
}

/* a + b with one rounding to single, of exact doubles a and b made from singles. */
static inline float
fp_sum32(double a, double b, unsigned rnd)
{
    double s = fp_sum_to_odd(a, b);
    float r = fp_round32(s, rnd);
    /* x - x is -0 when rounding down, else +0. */
    if (rnd == FP_RM && s == 0.0 && (fp_bits64(a) ^ fp_bits64(b)) >> 63)
        r = -0.0f;
    return r;
}

/* To an integral value. Adding and subtracting 2^52 rounds to nearest even. */
static inline double
fp_integral_f64(double x, unsigned rnd)
{
    double a = fp_float64(fp_bits64(x) & ~FP_SIGN64);
    double n = (a + 0x1p52) - 0x1p52;
    bool negative = fp_bits64(x) >> 63;
    bool toward =
        rnd == FP_RZ || (rnd == FP_RM && !negative) || (rnd == FP_RP && negative);
    bool away = (rnd == FP_RM && negative) || (rnd == FP_RP && !negative);
    n -= toward && n > a ? 1.0 : 0.0;
    n += away && n < a ? 1.0 : 0.0;
    double r = fp_float64(fp_bits64(n) | (fp_bits64(x) & FP_SIGN64));
    return a < 0x1p52 ? r : x;
}

static inline float
fp_integral_f32(float x, unsigned rnd)
{
    float a = fp_float32(fp_bits32(x) & ~FP_SIGN32);
    float n = (a + 0x1p23f) - 0x1p23f;
    bool negative = fp_bits32(x) >> 31;
    bool toward =
        rnd == FP_RZ || (rnd == FP_RM && !negative) || (rnd == FP_RP && negative);
    bool away = (rnd == FP_RM && negative) || (rnd == FP_RP && !negative);
    n -= toward && n > a ? 1.0f : 0.0f;
    n += away && n < a ? 1.0f : 0.0f;
    float r = fp_float32(fp_bits32(n) | (fp_bits32(x) & FP_SIGN32));
    return a < 0x1p23f ? r : x;
}

/* -- arithmetic -- */

#define fp_add(a, b, rnd)                                                                \
    _Generic((a), float : fp_add_f32, double : fp_add_f64)(a, b, rnd)
#define fp_sub(a, b, rnd)                                                                \
    _Generic((a), float : fp_sub_f32, double : fp_sub_f64)(a, b, rnd)
#define fp_mul(a, b, rnd)                                                                \
    _Generic((a), float : fp_mul_f32, double : fp_mul_f64)(a, b, rnd)
#define fp_div(a, b, rnd)                                                                \
    _Generic((a), float : fp_div_f32, double : fp_div_f64)(a, b, rnd)
#define fp_sqrt(a, rnd) _Generic((a), float : fp_sqrt_f32, double : fp_sqrt_f64)(a, rnd)
#define fp_fma(a, b, c, rnd)                                                             \
    _Generic((a), float : fp_fma_f32, double : fp_fma_f64)(a, b, c, rnd)

#if defined(__FMA__) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
#define FP_HAVE_FMA 1
#else
#define FP_HAVE_FMA 0
#endif

/* Of r, rounded to nearest and neither 0 nor the largest number, and the sign of what is
 * missing in it (of e): the result rounded as rnd says, r or its neighbour. */
static inline double
fp_toward(double r, double e, unsigned rnd)
{
    bool up = r > 0, less = (e < 0) == up; /* the exact magnitude is less */
    bool toward_zero = rnd == FP_RZ || (rnd == FP_RM) == up;
    uint64_t differs =
        (e != 0) & (less == toward_zero); /* branchless: signs are random */
    return fp_float64(fp_bits64(r) + (toward_zero ? 0 - differs : differs));
}

/* Magnitudes for which errors neither overflow nor vanish. */
#define FP_MOST 0x1p1000
#define FP_LEAST 0x1p-900

static inline double
fp_directed_add(double a, double b, unsigned rnd)
{
    double s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
    if (__builtin_fabs(a) < FP_MOST && __builtin_fabs(b) < FP_MOST && s != 0)
        return fp_toward(s, e, rnd);
    return fp_soft_add(a, b, rnd);
}

#if FP_HAVE_FMA
static inline double
fp_directed_mul(double a, double b, unsigned rnd)
{
    double p = a * b;
    if (__builtin_fabs(p) > FP_LEAST && __builtin_fabs(p) < FP_MOST)
        return fp_toward(p, __builtin_fma(a, b, -p), rnd);
    return fp_soft_mul(a, b, rnd);
}

static inline double
fp_directed_div(double a, double b, unsigned rnd)
{
    double q = a / b, size = __builtin_fabs(q), from = __builtin_fabs(a);
    if (size > FP_LEAST && size < FP_MOST && from > FP_LEAST && from < FP_MOST) {
        double e = __builtin_fma(-q, b, a);
        return fp_toward(q, b < 0 ? -e : e, rnd);
    }
    return fp_soft_div(a, b, rnd);
}

static inline double
fp_directed_sqrt(double a, unsigned rnd)
{
    if (a > FP_LEAST && a < FP_MOST) {
        double r = __builtin_sqrt(a);
        return fp_toward(r, __builtin_fma(-r, r, a), rnd);
    }
    return fp_soft_sqrt(a, rnd);
}
#else
#define fp_directed_mul fp_soft_mul
#define fp_directed_div fp_soft_div
#define fp_directed_sqrt fp_soft_sqrt
#endif

static inline float
fp_add_f32(float a, float b, unsigned rnd)
{
    return rnd == FP_RN ? a + b : fp_sum32(a, b, rnd);
}

static inline float
fp_sub_f32(float a, float b, unsigned rnd)
{
    return fp_add_f32(a, -b, rnd);
}

static inline double
fp_add_f64(double a, double b, unsigned rnd)
{
    return fp_nan2(rnd == FP_RN ? a + b : fp_directed_add(a, b, rnd), a, b);
}

/* The sign of a NaN stays. */
static inline double
fp_sub_f64(double a, double b, unsigned rnd)
{
    return fp_nan2(rnd == FP_RN ? a - b : fp_directed_add(a, -b, rnd), a, b);
}

static inline float
fp_mul_f32(float a, float b, unsigned rnd)
{
    return rnd == FP_RN ? a * b
                        : fp_round32((double)a * b, rnd); /* the product is exact */
}

static inline double
fp_mul_f64(double a, double b, unsigned rnd)
{
    return fp_nan2(rnd == FP_RN ? a * b : fp_directed_mul(a, b, rnd), a, b);
}

static inline float
fp_div_f32(float a, float b, unsigned rnd)
{
    return rnd == FP_RN ? a / b : fp_round32((double)a / b, rnd);
}

/* ptxas' routine looks at the dividend first. */
static inline double
fp_div_f64(double a, double b, unsigned rnd)
{
    return fp_nan2(rnd == FP_RN ? a / b : fp_directed_div(a, b, rnd), b, a);
}

static inline float
fp_sqrt_f32(float a, unsigned rnd)
{
    return rnd == FP_RN ? __builtin_sqrtf(a) : fp_round32(__builtin_sqrt(a), rnd);
}

static inline double
fp_sqrt_f64(double a, unsigned rnd)
{
    return fp_nan1(rnd == FP_RN ? __builtin_sqrt(a) : fp_directed_sqrt(a, rnd), a);
}

static inline float
fp_fma_f32(float a, float b, float c, unsigned rnd)
{
    if (FP_HAVE_FMA && rnd == FP_RN)
        return __builtin_fmaf(a, b, c);
    return fp_sum32((double)a * b, c, rnd);
}

static inline double
fp_fma_f64(double a, double b, double c, unsigned rnd)
{
    if (FP_HAVE_FMA && rnd == FP_RN)
        return fp_nan3(__builtin_fma(a, b, c), a, b, c);
    return fp_nan3(fp_soft_fma(a, b, c, rnd), a, b, c);
}

/* -- sign, minimum, maximum, class -- */

#define fp_abs(a) _Generic((a), float : fp_abs_f32, double : fp_abs_f64)(a)
#define fp_neg(a) _Generic((a), float : fp_neg_f32, double : fp_neg_f64)(a)
#define fp_copysign(a, b)                                                                \
    _Generic((a), float : fp_copysign_f32, double : fp_copysign_f64)(a, b)
#define fp_test(a, t) _Generic((a), float : fp_test_f32, double : fp_test_f64)(a, t)
#define fp_min(a, b, nan, xorsign)                                                       \
    _Generic((a), float : fp_minmax_f32, double : fp_minmax_f64)(a, b, 0, nan, xorsign)
#define fp_max(a, b, nan, xorsign)                                                       \
    _Generic((a), float : fp_minmax_f32, double : fp_minmax_f64)(a, b, 1, nan, xorsign)

/* -0 is less than +0; one NaN gives the other operand, unless .NaN, two give b (of f64
 * the bits matter: ptxas selects so). .xorsign.abs compares
 * magnitudes and gives the sign a product would have. */
#define FP_BY_FORMAT(F, FLT, UINT, SIGN, EXP, BITS, FROM)                                \
    static inline FLT fp_abs_##F(FLT a)                                                  \
    {                                                                                    \
        return FROM(BITS(a) & ~SIGN);                                                    \
    }                                                                                    \
    static inline FLT fp_neg_##F(FLT a)                                                  \
    {                                                                                    \
        return FROM(BITS(a) ^ SIGN);                                                     \
    }                                                                                    \
    /* The magnitude of b with the sign of a. */                                         \
    static inline FLT fp_copysign_##F(FLT a, FLT b)                                      \
    {                                                                                    \
        return FROM((BITS(b) & ~SIGN) | (BITS(a) & SIGN));                               \
    }                                                                                    \
    static inline FLT fp_minmax_##F(FLT a, FLT b, bool max, bool nan, bool xorsign)      \
    {                                                                                    \
        UINT sign = (BITS(a) ^ BITS(b)) & SIGN;                                          \
        if (xorsign) {                                                                   \
            a = fp_abs_##F(a);                                                           \
            b = fp_abs_##F(b);                                                           \
        }                                                                                \
        FLT equal = FROM(max ? BITS(a) & BITS(b) : BITS(a) | BITS(b));                   \
        FLT r = (max ? a > b : a < b) ? a : b;                                           \
        r = a == b ? equal : r;                                                          \
        r = b != b ? a : r;                                                              \
        r = a != a ? b : r;                                                              \
        r = nan && a != a ? a : r;                                                       \
        r = nan && b != b ? b : r;                                                       \
        return xorsign ? FROM(BITS(r) | sign) : r;                                       \
    }                                                                                    \
    /* Zero counts as normal. */                                                         \
    static inline bool fp_test_##F(FLT a, unsigned test)                                 \
    {                                                                                    \
        UINT m = BITS(a) & ~SIGN;                                                        \
        switch (test) {                                                                  \
        case FP_FINITE:                                                                  \
            return m < EXP;                                                              \
        case FP_INFINITE:                                                                \
            return m == EXP;                                                             \
        case FP_NUMBER:                                                                  \
            return m <= EXP;                                                             \
        case FP_NOTANUMBER:                                                              \
            return m > EXP;                                                              \
        case FP_NORMAL:                                                                  \
            return m < EXP && (m == 0 || (m & EXP));                                     \
        default:                                                                         \
            return m != 0 && !(m & EXP);                                                 \
        }                                                                                \
    }
FP_BY_FORMAT(f32, float, uint32_t, FP_SIGN32, 0x7f800000u, fp_bits32, fp_float32)
FP_BY_FORMAT(f64, double, uint64_t, FP_SIGN64, 0x7ff0000000000000u, fp_bits64, fp_float64)
#undef FP_BY_FORMAT

static inline double
fp_min_f64(double a, double b)
{
    double r = fp_minmax_f64(a, b, 0, 0, 0);
    return fp_nan1(r, r);
}

static inline double
fp_max_f64(double a, double b)
{
    double r = fp_minmax_f64(a, b, 1, 0, 0);
    return fp_nan1(r, r);
}

/* -- approximate functions; error bounds of the ISA in brackets -- */

/* div.approx [2 ulp for 2^-126 <= |b| <= 2^126; beyond: 0, or NaN for infinite a] is
 * a * (1 / b); div.full [2 ulp] is exact. */
static inline float
fp_div_approx(float a, float b, unsigned prec, bool ftz)
{
    float r = 1.0f / b, mag = fp_abs_f32(b);
    r = mag > 0x1p126f ? fp_copysign_f32(b, 0.0f) : r;
    r = ftz ? fp_flush(r) : r;
    return prec == FP_FULL ? a / b : a * r;
}

/* Both f64 gross approximations look at the upper 32 bits of the operand only and give a
 * result whose lower 32 bits are zero, cut off as on a card; subnormals are flushed, NaN
 * is 0x7fffffff00000000. */
static inline double
fp_upper(double a)
{
    uint64_t b = fp_bits64(a) & 0xffffffff00000000u;
    b = (b & 0x7ff0000000000000u) ? b : b & FP_SIGN64;
    double up = fp_float64(b);
    return up == up ? up : fp_float64(0x7fffffff00000000u);
}

static inline double
fp_rcp_approx_f64(double a)
{
    return fp_upper(1.0 / fp_upper(a));
}

/* [2^-22.9 relative]: two roundings of half an ulp each */
static inline float
fp_rsqrt_f32(float a)
{
    return 1.0f / __builtin_sqrtf(a);
}

static inline double
fp_rsqrt_f64(double a, bool ftz)
{
    double x = ftz ? fp_upper(a) : a, r = 1.0 / __builtin_sqrt(x);
    return ftz ? fp_upper(r) : fp_nan1(r, a);
}

/* 2^x for |x| <= 1000, as a double (relative error below 2^-32). The integer part n is
 * read off the low bits of x + 1.5 * 2^52; then the Taylor polynomial of 2^f, |f| <= 1/2.
 */
static inline double
fp_exp2_double(double x)
{
    double t = x + 0x1.8p52, f = x - (t - 0x1.8p52);
    double p = 0x1.62c0223a5c824p-20; /* ln(2)^8 / 8! and so on */
    p = p * f + 0x1.ffcbfc588b0c7p-17;
    p = p * f + 0x1.430912f86c787p-13;
    p = p * f + 0x1.5d87fe78a6731p-10;
    p = p * f + 0x1.3b2ab6fba4e77p-7;
    p = p * f + 0x1.c6b08d704a0c0p-5;
    p = p * f + 0x1.ebfbdff82c58fp-3;
    p = p * f + 0x1.62e42fefa39efp-1;
    p = p * f + 1.0;
    return fp_float64(fp_bits64(p) + (fp_bits64(t) << 52));
}

/* [2 ulp] */
static inline float
fp_ex2(float a)
{
    double x = a;
    x = x < -200.0 ? -200.0 : x;
    x = x > 200.0 ? 200.0 : x;
    double r = fp_exp2_double(x);
    return a == a ? (float)r : a;
}

/* [2^-22 absolute in (0.5, 2), else 2^-22 relative]. x = 2^k * m, m in [sqrt(1/2),
 * sqrt(2)); log2(m) = 2 / ln(2) * atanh(s), s = (m - 1) / (m + 1). */
static inline float
fp_lg2(float a)
{
    uint64_t b = fp_bits64((double)a), d = b - 0x3fe6a09e00000000u;
    uint64_t k = d & 0xfff0000000000000u;
    double m = fp_float64(b - k), s = (m - 1.0) / (m + 1.0), s2 = s * s;
    /* k >> 52, signed, as a double: its low 12 bits into those of 1.5 * 2^52, biased. */
    double e = fp_float64(0x4338000000000000u + (((k >> 52) + 2048) & 4095)) -
               (0x1.8p52 + 2048.0);
    double p = 0x1.0c9a84994022dp-2; /* 2 / (11 ln 2), / 9, ... */
    p = p * s2 + 0x1.484b13d7c02a9p-2;
    p = p * s2 + 0x1.a61762a7adedap-2;
    p = p * s2 + 0x1.2776c50ef9bfep-1;
    p = p * s2 + 0x1.ec709dc3a03fep-1;
    p = p * s2 + 0x1.71547652b82fep+1;
    float r = (float)(e + s * p);
    r = a == __builtin_inff() ? a : r;
    r = a == 0.0f ? -__builtin_inff() : r;
    return a >= 0.0f ? r : __builtin_nanf("");
}

/* sin and cos [2^-20.5 absolute within 2 pi, 2^-14.7 within 100 pi, beyond: best effort],
 * reduced as on cards: ptxas multiplies by 1 / (2 pi), a single, toward zero, and the
 * instruction takes turns. Those bounds are the error of that product. An H100 looks at 25
 * bits behind the point: 2^-24 gives 0, 0x387fc000 and 0x38800000 the same. From 2^24 turns
 * on a single is a whole number of them. */
static inline float
fp_sincos(float a, unsigned quarter)
{
    double turns = fp_abs_f32(fp_mul_f32(a, 0x1.45f306p-3f, FP_RZ));
    turns = turns < 0x1p24 ? turns : 0.0;
    double x = fp_integral_f64(turns * 0x1p25, FP_RZ) * 0x1p-23; /* quarters */
    double t = x + 0x1.8p52, r = (x - (t - 0x1.8p52)) * 0x1.921fb54442d18p+0;
    uint64_t q = fp_bits64(t) + quarter;
    double r2 = r * r;
    double s = -0x1.ae64567f544e4p-26; /* 1/11! and so on */
    s = s * r2 + 0x1.71de3a556c734p-19;
    s = s * r2 - 0x1.a01a01a01a01ap-13;
    s = s * r2 + 0x1.1111111111111p-7;
    s = s * r2 - 0x1.5555555555555p-3;
    s = r * (s * r2 + 1.0);
    double c = 0x1.1eed8eff8d898p-29; /* 1/12! and so on */
    c = c * r2 - 0x1.27e4fb7789f5cp-22;
    c = c * r2 + 0x1.a01a01a01a01ap-16;
    c = c * r2 - 0x1.6c16c16c16c17p-10;
    c = c * r2 + 0x1.5555555555555p-5;
    c = c * r2 - 0.5;
    c = c * r2 + 1.0;
    double v = (q & 1) ? c : s;
    uint64_t sign = quarter ? 0 : (uint64_t)(fp_bits32(a) >> 31) << 63;
    float f = (float)fp_float64(fp_bits64(v) ^ (q & 2) << 62 ^ sign);
    return fp_abs_f32(a) < __builtin_inff() ? f : __builtin_nanf("");
}

static inline float
fp_sin(float a)
{
    return fp_sincos(a, 0);
}

static inline float
fp_cos(float a)
{
    return fp_sincos(a, 1);
}

/* [2^-10.987 relative] */
static inline float
fp_tanh(float a)
{
    double x = fp_abs_f32(a), y = x > 20.0 ? 20.0 : x;
    double e = fp_exp2_double(y * 0x1.71547652b82fep+1); /* e^2x */
    double r = (e - 1.0) / (e + 1.0);
    r = x < 0x1p-6 ? x - x * x * x * 0x1.5555555555555p-2 : r;
    return a == a ? fp_copysign_f32(a, (float)r) : a;
}

/* -- conversions -- */

/* From single to double and back, to f16 and bf16, a NaN keeps its sign and its payload's
 * upper bits and is made quiet. */
static inline double
fp_widen(float a)
{
    uint64_t b = fp_bits32(a), sign = b >> 31 << 63;
    double n = fp_float64(sign | 0x7ff8000000000000u | (b & 0x7fffff) << 29);
    return FP_HOST_NAN || a == a ? (double)a : n;
}

static inline float
fp_single(double a, unsigned rnd)
{
    uint64_t b = fp_bits64(a);
    uint32_t sign = (uint32_t)(b >> 63) << 31;
    float r = rnd == FP_RN ? (float)a : fp_round32(a, rnd);
    float n = fp_float32(sign | 0x7fc00000u | (uint32_t)(b >> 29 & 0x7fffff));
    return FP_HOST_NAN || a == a ? r : n;
}

static inline uint16_t
fp_half_nan(double a, bool bhalf)
{
    uint64_t b = fp_bits64(a), sign = b >> 63 << 15;
    return (uint16_t)(sign |
                      (bhalf ? 0x7fc0 | (b >> 45 & 0x7f) : 0x7e00 | (b >> 42 & 0x3ff)));
}

/* Does x become less than 2^-126 when it is rounded to 24 digits? */
static inline bool
fp_tiny(double x, unsigned rnd)
{
    double big = x * 0x1p64; /* no longer subnormal as a single */
    float f = rnd == FP_RN ? (float)big : fp_round32(big, rnd);
    return fp_abs_f32(f) < 0x1p-62f;
}

/* Half to single: exact. */
static inline float
fp_from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, m = h & 0x7fff;
    /* As a single with the exponent 112 too small; the product repairs it, subnormals
     * too. */
    float f = fp_float32(m << 13) * 0x1p112f;
    uint32_t b = m >= 0x7c00 ? 0x7f800000u | (m & 0x3ff) << 13 : fp_bits32(f);
    return fp_float32(b | sign);
}

/* Integers from floating point: rounded, clamped; NaN gives `nan`. lo and hi are the
 * bounds of a type of at most 32 bits. */
static inline double
fp_clamp(double x, unsigned rnd, double lo, double hi, double nan)
{
    double r = rnd == FP_RZ ? x : fp_integral_f64(x, rnd); /* the cast truncates */
    r = r > lo ? r : lo;
    r = r < hi ? r : hi;
    return x == x ? r : nan;
}

static inline int64_t
fp_to_s64(double x, unsigned rnd)
{
    double r = fp_integral_f64(x, rnd);
    bool fits = r >= -0x1p63 && r < 0x1p63;
    int64_t v = (int64_t)(fits ? r : 0.0);
    return fits ? v : r >= 0x1p63 ? INT64_MAX : INT64_MIN; /* NaN: MININT */
}

static inline uint64_t
fp_to_u64(double x, unsigned rnd)
{
    double r = fp_integral_f64(x, rnd);
    bool fits = r >= 0.0 && r < 0x1p64;
    uint64_t v = (uint64_t)(fits ? r : 0.0);
    return fits ? v : r >= 0x1p64 ? UINT64_MAX : r < 0.0 ? 0 : FP_SIGN64;
}

#endif
