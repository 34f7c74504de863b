/* lanes_mpfr.h: floating-point formats as MPFR numbers, for the tests of lane functions:
 * encodings are taken apart and made digit by digit, without host floating point. */
#ifndef TESTS_LANES_MPFR_H
#define TESTS_LANES_MPFR_H

#include <mpfr.h>

#include "ptx/opcode.h"

struct format {
    unsigned digits, bits;
    int emin, emax; /* as MPFR counts: significand in [1/2, 1) */
    uint64_t nan;
};

static inline struct format
format_of(unsigned t)
{
    if (t == PTX_F16)
        return (struct format){11, 16, -23, 16, 0x7fff};
    if (t == PTX_BF16)
        return (struct format){8, 16, -132, 128, 0x7fff};
    if (t == PTX_F32)
        return (struct format){24, 32, -148, 128, 0x7fffffff};
    return (struct format){53, 64, -1073, 1024, 0xfff8000000000000u};
}

/* A number from its encoding, digit by digit: no host floating point. */
static inline void
decode(mpfr_t m, uint64_t v, unsigned t)
{
    struct format f = format_of(t);
    unsigned fbits = f.digits - 1, ebits = f.bits - f.digits;
    uint64_t frac = v & (((uint64_t)1 << fbits) - 1), top = ((uint64_t)1 << ebits) - 1;
    uint64_t e = v >> fbits & top;
    bool neg = v >> (f.bits - 1) & 1;
    if (e == top) {
        if (frac)
            mpfr_set_nan(m);
        else
            mpfr_set_inf(m, neg ? -1 : 1);
        return;
    }
    mpfr_set_uj_2exp(m, e ? frac | (uint64_t)1 << fbits : frac,
                     (e ? (intmax_t)e : 1) - (intmax_t)(top / 2) - (intmax_t)fbits,
                     MPFR_RNDN);
    if (neg)
        mpfr_neg(m, m, MPFR_RNDN);
}

/* The encoding of a number that the format holds exactly. */
static inline uint64_t
encode(const mpfr_t m, unsigned t)
{
    struct format f = format_of(t);
    unsigned fbits = f.digits - 1, ebits = f.bits - f.digits;
    uint64_t top = ((uint64_t)1 << ebits) - 1, sign = (uint64_t)(mpfr_signbit(m) != 0)
                                                      << (f.bits - 1);
    if (mpfr_nan_p(m))
        return f.nan;
    if (mpfr_inf_p(m))
        return sign | top << fbits;
    if (mpfr_zero_p(m))
        return sign;
    mpfr_t s;
    mpfr_init2(s, 64);
    mpfr_abs(s, m, MPFR_RNDN);
    int64_t e = mpfr_get_exp(m) - 1 + (int64_t)(top / 2);
    int64_t scale = (e < 1 ? 1 : e) - (int64_t)(top / 2) - (int64_t)fbits;
    mpfr_mul_2si(s, s, (long)-scale, MPFR_RNDN);
    uint64_t frac = mpfr_get_uj(s, MPFR_RNDN);
    mpfr_clear(s);
    return sign |
           (e < 1 ? frac : (uint64_t)e << fbits | (frac & (((uint64_t)1 << fbits) - 1)));
}

/* x rounded once to the format. */
static inline uint64_t
round_once(mpfr_t x, unsigned t, mpfr_rnd_t rnd)
{
    struct format f = format_of(t);
    mpfr_t r;
    mpfr_init2(r, f.digits);
    mpfr_set_emin(f.emin);
    mpfr_set_emax(f.emax);
    int ternary = mpfr_set(r, x, rnd);
    ternary = mpfr_check_range(r, ternary, rnd);
    mpfr_subnormalize(r, ternary, rnd);
    uint64_t v = encode(r, t);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_clear(r);
    return v;
}

#endif
