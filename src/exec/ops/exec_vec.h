/* exec_vec.h: rows of 32 lanes as vectors of the instruction set that a file is compiled
 * for: exec_fast.c and threaded_fast.c. */
#ifndef ALLOT_EXEC_EXEC_VEC_H
#define ALLOT_EXEC_EXEC_VEC_H

#include "exec/ops/exec_mem.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
enum { VBYTES = 64 };
#elif defined(__AVX2__)
enum { VBYTES = 32 };
#else
enum { VBYTES = 16 };
#endif
enum { VQ = VBYTES / 8, VD = VBYTES / 4 };
typedef uint64_t vq __attribute__((vector_size(VBYTES), aligned(8), may_alias));
typedef uint32_t vd __attribute__((vector_size(VBYTES), aligned(4), may_alias));
typedef uint32_t vdh __attribute__((vector_size(VBYTES / 2), aligned(4), may_alias));
typedef uint32_t word __attribute__((may_alias, aligned(1)));
typedef uint64_t dword __attribute__((may_alias, aligned(1)));

ALWAYS_INLINE vq
all_q(uint64_t x)
{
    return x - (vq){0};
}

ALWAYS_INLINE vd
all_d(uint32_t x)
{
    return x - (vd){0};
}

/* first, first + step, ... Not element by element: gcc would do that in memory, in
 * halves, and wait for both when it reads the whole. */
ALWAYS_INLINE vq
row_q(uint64_t first, uint64_t step)
{
    vq n = {0};
    for (int k = 0; k < VQ; k++)
        n[k] = (uint64_t)k;
    return n * step + first;
}

ALWAYS_INLINE vd
row_d(uint32_t first, uint32_t step)
{
    vd n = {0};
    for (int k = 0; k < VD; k++)
        n[k] = (uint32_t)k;
    return n * step + first;
}

/* VQ words as 64-bit numbers. */
ALWAYS_INLINE vq
widen(const uint32_t *p)
{
#if defined(__AVX512F__)
    return (vq)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)p));
#elif defined(__AVX2__)
    return (vq)_mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)p));
#else
    return __builtin_convertvector(*(const vdh *)p, vq);
#endif
}

/* All ones in the lanes i, i + 1, ... that are in mask. */
ALWAYS_INLINE vq
lanes_q(uint32_t mask, int i)
{
    vq bit = {0};
    for (int k = 0; k < VQ; k++)
        bit[k] = (uint64_t)1 << k;
    return (vq)((all_q(mask >> i) & bit) != 0);
}

ALWAYS_INLINE vd
lanes_d(uint32_t mask, int i)
{
    vd bit = {0};
    for (int k = 0; k < VD; k++)
        bit[k] = (uint32_t)1 << k;
    return (vd)((all_d(mask >> i) & bit) != 0);
}

/* Whether any element has a bit of `bits`, respectively its highest bit. */
ALWAYS_INLINE bool
any_q(vq v, uint64_t bits)
{
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)v, _mm512_set1_epi64((long long)bits)) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)v, _mm256_set1_epi64x((long long)bits));
#else
    uint64_t r = 0;
    for (int k = 0; k < VQ; k++)
        r |= v[k];
    return r & bits;
#endif
}

ALWAYS_INLINE bool
any_d(vd v)
{
    return any_q((vq)v, ~(uint64_t)0);
}

ALWAYS_INLINE void
put_d(uint32_t *d, int i, uint32_t mask, vd v)
{
    if (mask != FULL_MASK) {
        vd m = lanes_d(mask, i);
        v = (v & m) | (*(vd *)(d + i) & ~m);
    }
    *(vd *)(d + i) = v;
}

ALWAYS_INLINE void
put_q(uint64_t *d, int i, uint32_t mask, vq v)
{
    if (mask != FULL_MASK) {
        vq m = lanes_q(mask, i);
        v = (v & m) | (*(vq *)(d + i) & ~m);
    }
    *(vq *)(d + i) = v;
}

/* VD words from VD addresses. Often a part of a warp reads neighbours or one word (tiles
 * 16 wide, say), though the whole does not. */
ALWAYS_INLINE vd
gather_d(const uint8_t *host, const uint64_t *a)
{
    vq gap = {0}, dif = {0}, next = row_q(a[0], 4);
    for (int i = 0; i < VD; i += VQ) {
        vq x = *(const vq *)(a + i);
        dif |= x ^ a[0];
        gap |= x ^ next;
        next += 4 * VQ;
    }
    if (!any_q(gap, ~(uint64_t)0))
        return *(const vd *)(host + a[0]);
    if (!any_q(dif, ~(uint64_t)0))
        return all_d(*(const word *)(host + a[0]));
#if defined(__AVX512F__)
    __m256i x = _mm512_i64gather_epi32(_mm512_loadu_si512(a), host, 1);
    __m256i y = _mm512_i64gather_epi32(_mm512_loadu_si512(a + 8), host, 1);
    return (vd)_mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);
#elif defined(__AVX2__)
    __m128i x = _mm256_i64gather_epi32((const int *)(const void *)host,
                                       _mm256_loadu_si256((const void *)a), 1);
    __m128i y = _mm256_i64gather_epi32((const int *)(const void *)host,
                                       _mm256_loadu_si256((const void *)(a + 4)), 1);
    return (vd)_mm256_inserti128_si256(_mm256_castsi128_si256(x), y, 1);
#else
    vd v;
    for (int k = 0; k < VD; k++)
        v[k] = *(const word *)(host + a[k]);
    return v;
#endif
}

ALWAYS_INLINE vq
gather_q(const uint8_t *host, const uint64_t *a)
{
#if defined(__AVX512F__)
    return (vq)_mm512_i64gather_epi64(_mm512_loadu_si512(a), host, 1);
#elif defined(__AVX2__)
    return (vq)_mm256_i64gather_epi64((const long long *)(const void *)host,
                                      _mm256_loadu_si256((const void *)a), 1);
#else
    vq v;
    for (int k = 0; k < VQ; k++)
        v[k] = *(const dword *)(host + a[k]);
    return v;
#endif
}

#endif
