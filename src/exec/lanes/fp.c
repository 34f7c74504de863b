/* fp.c: floating point by integer arithmetic, for what the host cannot do in its default
 * rounding mode: f64 with directed rounding, fma without the instruction, f16, 64-bit
 * integers.
 *
 * A finite value is sign, 128-bit magnitude and exponent: m * 2^e, plus `sticky`:
 * something above zero and below one unit of m is missing. Every operation makes such a
 * number exactly and rounds it once (round_to). Cost: tens of nanoseconds; the common
 * cases are in fp.h. */
#include "exec/lanes/fp.h"

typedef unsigned __int128 u128;

struct number {
    u128 m;
    int e;
    bool neg, sticky;
};

struct format {
    int digits;     /* of the significand, the hidden one included */
    int emin, emax; /* exponents of the smallest normal and the largest number */
};

static const struct format half = {11, -14, 15}, bhalf = {8, -126, 127},
                           single = {24, -126, 127}, dbl = {53, -1022, 1023};

static int
width(u128 m)
{
    uint64_t hi = (uint64_t)(m >> 64), lo = (uint64_t)m;
    return hi ? 128 - __builtin_clzll(hi) : lo ? 64 - __builtin_clzll(lo) : 0;
}

/* The encoding of x (m not 0, or sticky) rounded to the format. */
static uint64_t
round_to(const struct format *f, struct number x, unsigned rnd)
{
    int n = width(x.m);
    /* Exponent of the last place: digits below the leading one, no lower than subnormal.
     */
    int q = x.e + n - f->digits, qmin = f->emin - f->digits + 1;
    if (q < qmin)
        q = qmin;
    int drop = q - x.e;
    u128 kept;
    bool half_bit = false, rest = x.sticky;
    if (drop <= 0) {
        kept = x.m << -drop;
    } else if (drop > 127) {
        kept = 0;
        rest = true;
    } else {
        kept = x.m >> drop;
        half_bit = x.m >> (drop - 1) & 1;
        rest |= (x.m & (((u128)1 << (drop - 1)) - 1)) != 0;
    }
    bool up = false;
    switch (rnd) {
    case FP_RN:
        up = half_bit && (rest || (kept & 1));
        break;
    case FP_RM:
        up = x.neg && (half_bit || rest);
        break;
    case FP_RP:
        up = !x.neg && (half_bit || rest);
        break;
    default:
        break;
    }
    uint64_t m = (uint64_t)kept + up, hidden = (uint64_t)1 << (f->digits - 1);
    if (m >> f->digits) {
        m >>= 1;
        q++;
    }
    int bias = f->emax, exponent = m & hidden ? q + f->digits - 1 + bias : 0;
    uint64_t bits;
    if (exponent > 2 * bias) { /* overflow: infinity, or the largest number */
        uint64_t inf = (uint64_t)(2 * bias + 1) << (f->digits - 1);
        bool toward = rnd == FP_RZ || (rnd == FP_RM && !x.neg) || (rnd == FP_RP && x.neg);
        bits = inf - toward;
    } else {
        bits = (uint64_t)exponent << (f->digits - 1) | (m & (hidden - 1));
    }
    /* The sign stands above exponent and fraction. */
    uint64_t sign = (uint64_t)(bias + 1) << f->digits;
    return x.neg ? bits | sign : bits;
}

static double
to_double(struct number x, unsigned rnd)
{
    return fp_float64(round_to(&dbl, x, rnd));
}

static bool
is_finite(double a)
{
    return (fp_bits64(a) & ~FP_SIGN64) < 0x7ff0000000000000u;
}

static struct number
from_double(double a)
{
    uint64_t b = fp_bits64(a), m = b & 0xfffffffffffffu;
    int exponent = (int)(b >> 52 & 0x7ff);
    if (exponent)
        m |= (uint64_t)1 << 52;
    else
        exponent = 1;
    return (struct number){m, exponent - 1075, b >> 63, false};
}

/* Leading one at bit 125: room for a carry above and for what shifts out below. */
static struct number
justify(struct number x)
{
    int up = 126 - width(x.m);
    x.m <<= up;
    x.e -= up;
    return x;
}

static double
signed_zero(bool neg)
{
    return neg ? -0.0 : 0.0;
}

/* x + y, rounded. Both are exact; width of each at most 106 bits. */
static double
sum(struct number x, struct number y, unsigned rnd)
{
    if (x.m == 0 && y.m == 0)
        return signed_zero(x.neg == y.neg ? x.neg : rnd == FP_RM);
    if (x.m == 0)
        return to_double(y, rnd);
    if (y.m == 0)
        return to_double(x, rnd);
    x = justify(x);
    y = justify(y);
    if (x.e < y.e || (x.e == y.e && x.m < y.m)) {
        struct number t = x;
        x = y;
        y = t;
    }
    int shift = x.e - y.e;
    u128 small = shift > 127 ? 0 : y.m >> shift;
    bool lost = shift > 127 || (y.m & (((u128)1 << shift) - 1)) != 0;
    struct number r = {0, x.e, x.neg, lost};
    r.m = x.neg == y.neg ? x.m + small : x.m - small - lost;
    if (r.m == 0 && !lost)
        return signed_zero(rnd == FP_RM);
    return to_double(r, rnd);
}

double
fp_soft_add(double a, double b, unsigned rnd)
{
    if (!is_finite(a) || !is_finite(b))
        return a + b;
    return sum(from_double(a), from_double(b), rnd);
}

static struct number
product(double a, double b)
{
    struct number x = from_double(a), y = from_double(b);
    return (struct number){x.m * y.m, x.e + y.e, x.neg != y.neg, false};
}

double
fp_soft_mul(double a, double b, unsigned rnd)
{
    if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0)
        return a * b;
    return to_double(product(a, b), rnd);
}

double
fp_soft_fma(double a, double b, double c, unsigned rnd)
{
    if (!is_finite(a) || !is_finite(b))
        return a * b + c; /* the product is infinite or NaN: nothing is rounded */
    if (!is_finite(c))
        return c;
    return sum(product(a, b), from_double(c), rnd);
}

double
fp_soft_div(double a, double b, unsigned rnd)
{
    if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0)
        return a / b;
    struct number x = justify(from_double(a)), y = from_double(b);
    u128 q = x.m / y.m;
    struct number r = {q, x.e - y.e, x.neg != y.neg, q * y.m != x.m};
    return to_double(r, rnd);
}

double
fp_soft_sqrt(double a, unsigned rnd)
{
    if (!is_finite(a) || a <= 0.0)
        return __builtin_sqrt(a);
    struct number x = justify(from_double(a));
    if (x.e & 1) {
        x.m >>= 1; /* exact: the lower bits are zero */
        x.e++;
    }
    u128 root = 0, rest = x.m;
    for (int bit = 62; bit >= 0; bit--) { /* digit by digit; root < 2^63 */
        u128 trial = (root << 1 | (u128)1 << bit) << bit;
        if (rest >= trial) {
            rest -= trial;
            root |= (u128)1 << bit;
        }
    }
    return to_double((struct number){root, x.e / 2, false, rest != 0}, rnd);
}

double
fp_soft_int_to_f64(bool neg, uint64_t magnitude, unsigned rnd)
{
    return magnitude ? to_double((struct number){magnitude, 0, neg, false}, rnd) : 0.0;
}

float
fp_soft_int_to_f32(bool neg, uint64_t magnitude, unsigned rnd)
{
    struct number x = {magnitude, 0, neg, false};
    return magnitude ? fp_float32((uint32_t)round_to(&single, x, rnd)) : 0.0f;
}

uint16_t
fp_soft_int_to_half(bool neg, uint64_t magnitude, unsigned rnd)
{
    struct number x = {magnitude, 0, neg, false};
    return magnitude ? (uint16_t)round_to(&half, x, rnd) : 0;
}

uint16_t
fp_soft_int_to_bhalf(bool neg, uint64_t magnitude, unsigned rnd)
{
    struct number x = {magnitude, 0, neg, false};
    return magnitude ? (uint16_t)round_to(&bhalf, x, rnd) : 0;
}

uint16_t
fp_soft_to_half(double a, unsigned rnd)
{
    uint16_t sign = (uint16_t)(fp_bits64(a) >> 48 & 0x8000);
    if (a != a)
        return FP_NAN16;
    if (!is_finite(a))
        return sign | 0x7c00;
    if (a == 0.0)
        return sign;
    return (uint16_t)round_to(&half, from_double(a), rnd);
}
