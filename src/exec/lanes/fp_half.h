/* fp_half.h: the narrow formats: f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0.
 *
 * A narrow value is worked on as a double, which holds sums and products of two of them
 * exactly (or rounds them innocuously: 53 digits are more than twice 11 and two more),
 * and is rounded once at the end by fp_narrow. All of it can be vectorised. NaN results
 * are the canonical 0x7fff, 0x7f. Meaning: PTX ISA 9.0, 5.2.3 (formats), 9.7.4, 9.7.9.21
 * (cvt). */
#ifndef ALLOT_EXEC_FP_HALF_H
#define ALLOT_EXEC_FP_HALF_H

#include "exec/lanes/fp.h"

#define FP_MOST_HALF 65504.0
#define FP_MOST_BHALF 0x1.fep127
#define FP_MOST_TF32 0x1.ffcp127
#define FP_MOST_E4M3 448.0
#define FP_MOST_E5M2 57344.0

/* x rounded to a format of that many digits, whose smallest normal number is 2^emin and
 * largest `most`; beyond it infinity, or `most` where the rounding or satf says so. The
 * integral multiples of 2^q, q the exponent of the last place, are found by adding and
 * subtracting 2^(q + 52). */
static inline double
fp_narrow(double x, unsigned rnd, int digits, int emin, double most, bool satf)
{
    uint64_t b = fp_bits64(x), sign = b & FP_SIGN64, mag = b & ~FP_SIGN64;
    double a = fp_float64(mag);
    uint64_t e = mag >> 52, low = (uint64_t)(1023 + emin);
    e = e < low ? low : e;
    e = e > 1500 ? 1500 : e; /* overflows whatever the format */
    e -= (uint64_t)(digits - 1);
    double ulp = fp_float64(e << 52), big = fp_float64((e + 52) << 52);
    double r = (a + big) - big;
    bool toward = rnd == FP_RZ || rnd == (sign ? FP_RP : FP_RM);
    bool away = rnd == (sign ? FP_RM : FP_RP);
    bool up = away && r < a;
    r -= toward && r > a ? ulp : 0.0;
    r += up ? ulp : 0.0;
    bool stays = satf || (toward && a < __builtin_inf());
    r = r > most ? (stays ? most : __builtin_inf()) : r;
    return fp_float64(fp_bits64(r) | sign);
}

/* -- encodings of values that the format holds, infinities and NaN -- */

static inline uint16_t
fp_half_bits(double r)
{
    uint32_t sign = (uint32_t)(fp_bits64(r) >> 48) & 0x8000;
    /* As a single with the exponent 112 too large: the product takes that away and shifts
     * subnormals where they belong. */
    float f = (float)r * 0x1p-112f;
    uint32_t m = (fp_bits32(f) & 0x7fffffff) >> 13;
    m = m > 0x7c00 ? 0x7c00 : m;
    return (uint16_t)(r == r ? m | sign : FP_NAN16);
}

static inline uint16_t
fp_bhalf_bits(double r)
{
    return (uint16_t)(r == r ? fp_bits32((float)r) >> 16 : FP_NAN16);
}

static inline double
fp_half_value(uint32_t bits, bool bhalf)
{
    return bhalf ? fp_float32(bits << 16) : fp_from_half((uint16_t)bits);
}

/* Rounded and encoded. */
static inline uint16_t
fp_to_half(double x, unsigned rnd, bool bhalf, bool satf)
{
    return bhalf ? fp_bhalf_bits(fp_narrow(x, rnd, 8, -126, FP_MOST_BHALF, satf))
                 : fp_half_bits(fp_narrow(x, rnd, 11, -14, FP_MOST_HALF, satf));
}

/* .relu: negative values, -0 too, give +0; NaN stays. */
static inline double
fp_relu(double x, bool relu)
{
    return relu && fp_bits64(x) >> 63 && x == x ? 0.0 : x;
}

static inline uint32_t
fp_to_tf32(float a, unsigned rnd, bool satf, bool relu)
{
    double r = fp_narrow(fp_relu(a, relu), rnd, 11, -126, FP_MOST_TF32, satf);
    return r == r ? fp_bits32((float)r) : FP_NAN32 & ~0x1fffu;
}

/* To nearest, ties away from zero. There is no such instruction: ptxas adds half a place to
 * the bits of what is finite, cuts off, and takes one place off infinities and NaN for
 * .satfinite. */
static inline uint32_t
fp_away_tf32(float a, bool satf)
{
    uint32_t b = fp_bits32(a);
    b += (b & 0x7fffffffu) < 0x7f800000u ? 0x1000u : 0;
    b &= ~0x1fffu;
    return b - (satf && (b & 0x7fffffffu) >= 0x7f800000u ? 0x2000u : 0);
}

static inline uint32_t
fp_to_e8(float a, bool e5m2, bool relu)
{
    double x = fp_relu(a, relu);
    if (e5m2) {
        double r = fp_narrow(x, FP_RN, 3, -14, FP_MOST_E5M2, true);
        return r == r ? (uint32_t)fp_half_bits(r) >> 8 : 0x7f;
    }
    double r = fp_narrow(x, FP_RN, 4, -6, FP_MOST_E4M3, true);
    uint32_t b = fp_bits32((float)r * 0x1p-120f);
    return r == r ? (b & 0x7fffffff) >> 20 | b >> 31 << 7 : 0x7f;
}

static inline float
fp_from_e8(uint32_t v, bool e5m2)
{
    if (e5m2)
        return fp_from_half((uint16_t)(v << 8));
    float f = fp_float32((v & 0x7f) << 20) * 0x1p120f;
    uint32_t b = (v & 0x7f) == 0x7f ? FP_NAN32 : fp_bits32(f);
    return fp_float32(b | (v & 0x80) << 24);
}

/* Six and four bits have neither infinities nor NaN: those, and what is too large, become the
 * largest number; NaN the positive one. Their subnormal numbers are multiples of the last
 * place, so that a value is its magnitude as an integer of such places: of e2m1 the places
 * 0 1 2 3 4 6 8 12 are the encodings 0 to 7. */
static inline uint32_t
fp_tiny_bits(double r, int mantissa, int emin)
{
    uint64_t b = fp_bits64(r);
    uint32_t sign = (uint32_t)(b >> 63);
    int32_t e = (int32_t)(b >> 52 & 0x7ff) - 1023;
    uint32_t m = (uint32_t)(b >> (52 - mantissa)) & ((1u << mantissa) - 1);
    double places =
        fp_float64(b & ~FP_SIGN64) * fp_float64((uint64_t)(1023 - emin + mantissa) << 52);
    uint32_t normal = (uint32_t)(e - emin + 1) << mantissa | m;
    uint32_t v = e < emin ? (uint32_t)(int32_t)places : normal;
    return v | sign << (mantissa == 1 ? 3 : 5);
}

static inline uint32_t
fp_to_e6(float a, bool e3m2, bool relu)
{
    double x = fp_relu(a, relu);
    if (x != x)
        return 0x1f;
    return e3m2 ? fp_tiny_bits(fp_narrow(x, FP_RN, 3, -2, 28.0, true), 2, -2)
                : fp_tiny_bits(fp_narrow(x, FP_RN, 4, 0, 7.5, true), 3, 0);
}

static inline uint32_t
fp_to_e4(float a, bool relu)
{
    double x = fp_relu(a, relu);
    return x != x ? 7 : fp_tiny_bits(fp_narrow(x, FP_RN, 2, 0, 6.0, true), 1, 0);
}

/* Of `bits` magnitude bits, `mantissa` of them behind the point. */
static inline float
fp_from_tiny(uint32_t v, int bits, int mantissa, int emin)
{
    uint32_t mag = v & ((1u << bits) - 1), e = mag >> mantissa;
    uint32_t m = mag & ((1u << mantissa) - 1);
    float f = (float)(int32_t)(e ? m | 1u << mantissa : m);
    f *= fp_float32((uint32_t)(127 + emin - mantissa + (int)(e ? e - 1 : 0)) << 23);
    return fp_float32(fp_bits32(f) | (v >> bits & 1) << 31);
}

static inline float
fp_from_e6(uint32_t v, bool e3m2)
{
    return e3m2 ? fp_from_tiny(v, 5, 2, -2) : fp_from_tiny(v, 5, 3, 0);
}

static inline float
fp_from_e4(uint32_t v)
{
    return fp_from_tiny(v, 3, 1, 0);
}

/* ue8m0 is a power of two, its exponent biased by 127; 0xff is NaN. The sign is dropped; up:
 * to the next larger one, else to the next smaller. Below the least, 2^-127, that is the
 * result; beyond the largest NaN, with satf 2^127. */
static inline uint32_t
fp_to_ue8(float a, bool up, bool satf)
{
    uint32_t b = fp_bits32(a) & 0x7fffffff, e = b >> 23, m = b & 0x7fffff;
    if (b > 0x7f800000)
        return 0xff;
    if (e == 0) /* subnormal: multiples of 2^-149; 2^-127 is 1 << 22 of them */
        return up && m > 1u << 22;
    e += up && m;
    return e < 0xff ? e : satf ? 0xfe : 0xff;
}

/* As bf16: 2^-127 is a subnormal number there. */
static inline uint32_t
fp_from_ue8(uint32_t v)
{
    return v == 0xff ? FP_NAN16 : v == 0 ? 0x40 : v << 7;
}

#endif
