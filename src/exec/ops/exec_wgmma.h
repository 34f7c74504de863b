/* exec_wgmma.h: sums of a warpgroup's products, compiled once per instruction set
 * (exec_wgmma_sums.c) and chosen by exec_wgmma.c. */
#ifndef ALLOT_EXEC_EXEC_WGMMA_H
#define ALLOT_EXEC_EXEC_WGMMA_H

#include <stdbool.h>
#include <stdint.h>

enum { WGMMA_K = 32, WGMMA_ZERO = -2000 /* exponent of zero */ };

/* A format of factors: value = m 2^(e - mantissa). */
struct wgmma_format {
    uint8_t bytes, mantissa, exponent; /* bits; the mantissa's without the first */
    uint8_t drop;                      /* bits of the element below the format's */
    int32_t bias;
    bool only_nan; /* e4m3: no infinity, NaN of all ones */
};

/* Eight columns of B, by element of k. */
struct wgmma_columns {
    int32_t m[WGMMA_K][8], e[WGMMA_K][8];
    int32_t finite[8]; /* 0: it has an infinity or NaN */
};

struct wgmma_sum {
    uint8_t elements; /* along k */
    uint8_t fraction; /* bits kept behind the point */
    uint8_t up;       /* that a product of mantissas lacks to them */
    bool half;        /* the result is f16, else f32 */
};

/* Factors of elements as they are, raw[k][column]; their sign turned where negative. */
#define WGMMA_DECODE(variant)                                                            \
    void exec_wgmma_decode_##variant(const struct wgmma_format *f, unsigned k,           \
                                     const uint32_t raw[][8], bool negative,             \
                                     struct wgmma_columns *c)
/* acc[0..8) += a row of A times eight columns, all finite. */
#define WGMMA_ADD(variant)                                                               \
    void exec_wgmma_add_##variant(const struct wgmma_sum *s, const int32_t *m,           \
                                  const int32_t *e, const struct wgmma_columns *b,       \
                                  float *acc)
WGMMA_DECODE(plain);
WGMMA_ADD(plain);
WGMMA_DECODE(avx2);
WGMMA_ADD(avx2);

/* A sum, exact in v, as the result's type holds it. */
float exec_wgmma_round(const struct wgmma_sum *s, double v);

#endif
