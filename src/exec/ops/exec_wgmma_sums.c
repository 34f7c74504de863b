/* exec_wgmma_sums.c: see exec_wgmma.h. With integers of 32 bits: a product of mantissas is shifted
 * left by what it lacks to the bits kept, right by the distance to the largest exponent, and
 * added; eight columns together. Some 12 operations a product of eight, so that a core with
 * AVX2 does about one product a cycle. */
#include "exec/ops/exec_wgmma.h"
#include "base/inline.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <string.h>

#ifndef EXEC_VARIANT
#define EXEC_VARIANT plain
#endif
#define NAMED2(what, variant) what(variant)
#define NAMED(what, variant) NAMED2(what, variant)

#pragma GCC diagnostic ignored "-Wpsabi" /* all that take or return vectors are inlined */
typedef int32_t vec8 __attribute__((vector_size(32)));
typedef uint32_t uvec8 __attribute__((vector_size(32)));
typedef int32_t vec4 __attribute__((vector_size(16)));
typedef float float4 __attribute__((vector_size(16)));
typedef int64_t quad4 __attribute__((vector_size(32)));
typedef double double4 __attribute__((vector_size(32)));

ALWAYS_INLINE vec8
vec_load(const void *p)
{
    vec8 v;
    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS_INLINE vec8
vec_all(int32_t v)
{
    return (vec8){v, v, v, v, v, v, v, v};
}

/* Where the condition, all ones or 0, holds. */
ALWAYS_INLINE vec8
vec_select(vec8 holds, vec8 yes, vec8 no)
{
    return (holds & yes) | (~holds & no);
}

ALWAYS_INLINE vec8
vec_most(vec8 x, vec8 y)
{
#ifdef __AVX2__
    return (vec8)_mm256_max_epi32((__m256i)x, (__m256i)y);
#endif
    return vec_select(x > y, x, y);
}

/* |v|, shifted; and the sign of v given back. right is not negative. */
ALWAYS_INLINE vec8
vec_shifted(vec8 v, int32_t left, vec8 right)
{
#ifdef __AVX2__ /* shifts by 32 and more give 0 */
    __m256i x = _mm256_sll_epi32(_mm256_abs_epi32((__m256i)v), _mm_cvtsi32_si128(left));
    return (vec8)_mm256_sign_epi32(_mm256_srlv_epi32(x, (__m256i)right), (__m256i)v);
#endif
    vec8 minus = v < 0, mag = ((v ^ minus) - minus) << left;
    right = vec_select(right > 31, vec_all(31), right);
    mag = (vec8)((uvec8)mag >> (uvec8)right);
    return (mag ^ minus) - minus;
}

NAMED(WGMMA_DECODE, EXEC_VARIANT)
{
    const int32_t most = (1 << f->exponent) - 1, first = 1 << f->mantissa;
    vec8 finite = vec_all(-1), turned = vec_all(negative ? -1 : 0);
    for (unsigned x = 0; x < k; x++) {
        vec8 v = vec_load(raw[x]), m, e;
        v = (vec8)((uvec8)v >> f->drop);
        m = v & (first - 1);
        e = v >> f->mantissa & most;
        vec8 special = e == most;
        if (f->only_nan)
            special &= m == first - 1;
        finite &= ~special;
        m |= (e != 0) & first;
        e = e - f->bias - (e == 0);
        vec8 minus = ((v >> (f->mantissa + f->exponent) & 1) != 0) ^ turned;
        e = vec_select(m != 0, e, vec_all(WGMMA_ZERO));
        m = (m ^ minus) - minus;
        memcpy(c->m[x], &m, sizeof m);
        memcpy(c->e[x], &e, sizeof e);
    }
    memcpy(c->finite, &finite, sizeof finite);
}

/* Sums to f32, toward zero; lanes whose result is no normal number are left to exec_wgmma_round. */
ALWAYS_INLINE void
round_eight(const struct wgmma_sum *s, const vec8 sum[2], vec8 top, float *acc)
{
    const int64_t cut =
        s->fraction == 13 ? ((int64_t)1 << 39) - 1 : ((int64_t)1 << 29) - 1;
    for (unsigned h = 0; h < 2; h++) {
        vec4 low, high, t;
        memcpy(&low, (const char *)&sum[0] + 16 * h, sizeof low);
        memcpy(&high, (const char *)&sum[1] + 16 * h, sizeof high);
        memcpy(&t, (const char *)&top + 16 * h, sizeof t);
        double4 v = __builtin_convertvector(low, double4) +
                    __builtin_convertvector(high, double4),
                exact;
        quad4 scale = (__builtin_convertvector(t, quad4) + (1023 - s->fraction)) << 52;
        double4 by = (double4)scale;
        exact = v * by;
        v = (double4)((quad4)v & ~cut) * by;
        quad4 e = (quad4)v >> 52 & 0x7ff;
        quad4 normal = ((quad4)v << 1 == 0) | ((e >= 1023 - 126) & (e <= 1023 + 127));
        float4 r = __builtin_convertvector(v, float4);
        memcpy(acc + 4 * h, &r, sizeof r);
        quad4 all = normal;
        for (unsigned j = 0; j < 4; j++)
            if (!all[j])
                acc[4 * h + j] = exec_wgmma_round(s, exact[j]);
    }
}

NAMED(WGMMA_ADD, EXEC_VARIANT)
{
    /* Two sums: 16 products of 27 bits and what they are added to may take 33. */
    vec8 sum[2], bits = vec_load(acc);
    vec8 ce = bits >> 23 & 255, cm = bits & 0x7fffff;
    cm |= (ce != 0) & 0x800000;
    ce = ce - 127 - (ce == 0);
    vec8 top = vec_select(cm != 0, vec_most(ce, vec_all(s->half ? -14 : -126)),
                          vec_all(WGMMA_ZERO));
    for (unsigned x = 0; x < s->elements; x++)
        top = vec_most(top, vec_load(b->e[x]) + e[x]);
    top = vec_most(top, vec_all(-400)); /* all are zero */
    vec8 even = {0}, odd = {0};
    for (unsigned x = 0; x < s->elements; x += 2) {
        even +=
            vec_shifted(vec_load(b->m[x]) * m[x], s->up, top - vec_load(b->e[x]) - e[x]);
        odd += vec_shifted(vec_load(b->m[x + 1]) * m[x + 1], s->up,
                           top - vec_load(b->e[x + 1]) - e[x + 1]);
    }
    /* What is added to has 23 bits behind its point. */
    const int32_t left = s->fraction > 23 ? s->fraction - 23 : 0;
    cm = vec_select(bits < 0, -cm, cm);
    sum[0] = even;
    sum[1] = odd + vec_shifted(cm, left, top - ce + (23 - s->fraction + left));
    if (!s->half) {
        round_eight(s, sum, top, acc);
        return;
    }
    for (unsigned j = 0; j < 8; j++) {
        double v = (double)sum[0][j] + (double)sum[1][j], by;
        uint64_t scale = (uint64_t)(1023 + top[j] - s->fraction) << 52;
        memcpy(&by, &scale, sizeof by);
        acc[j] = exec_wgmma_round(s, v * by);
    }
}
