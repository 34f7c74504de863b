/* fp_half.h: the narrow formats: f16, bf16, tf32, e4m3, e5m2.
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

#endif
