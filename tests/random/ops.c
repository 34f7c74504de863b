/* ops.c: tables of instructions, types and atomics, and what they compute, in plain C. */
#include "tree.h"

#include <math.h>
#include <string.h>

#define I(x) ((int64_t)(int32_t)(x))
#define L(x) ((int64_t)(x))
#define S(x) ((int64_t)(int16_t)(x))
#define F(x) as_float((uint32_t)(x))
#define G(x) as_double(x)

static float
as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double
as_double(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Bits of a result; a NaN's are those of docs/ptx.md (of f64 see nan64). */
static uint64_t
f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return isnan(f) ? 0x7fffffff : bits;
}

static uint64_t
f64(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return isnan(f) ? 0xfff8000000000000u : bits;
}

/* Of f64: a NaN gives the first operand that is one, made quiet. */
static uint64_t
nan64(double f, uint64_t first, uint64_t second, uint64_t third)
{
    const uint64_t from[] = {first, second, third};
    for (int i = 0; i < 3 && isnan(f); i++)
        if (isnan(as_double(from[i])))
            return from[i] | 1ull << 51;
    return f64(f);
}

/* A single as a double, and back: a NaN keeps sign and upper bits, made quiet. */
static uint64_t
widen(uint64_t a)
{
    return isnan(F(a)) ? a >> 31 << 63 | 0xfffull << 51 | (a & 0x7fffff) << 29
                       : f64(F(a));
}

static uint64_t
narrow(uint64_t a)
{
    return isnan(G(a)) ? a >> 63 << 31 | 0x1ffu << 22 | (a >> 29 & 0x7fffff)
                       : f32((float)G(a));
}

static float
saturate(float f)
{
    return f > 1 ? 1 : f > 0 ? f : 0; /* NaN and -0 too */
}

static float
flush(float f)
{
    return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

/* The smaller one: of a NaN and a number the number, of zeros the negative one. */
static uint64_t
min32(uint64_t a, uint64_t b)
{
    if (isnan(F(a)) || isnan(F(b)))
        return !isnan(F(a)) ? a : !isnan(F(b)) ? b : 0x7fffffff;
    return F(a) < F(b) || (F(a) == F(b) && a >> 31) ? a : b;
}

static uint64_t
max32(uint64_t a, uint64_t b)
{
    if (isnan(F(a)) || isnan(F(b)))
        return !isnan(F(a)) ? a : !isnan(F(b)) ? b : 0x7fffffff;
    return F(a) > F(b) || (F(a) == F(b) && b >> 31) ? a : b;
}

static uint64_t
min64(uint64_t a, uint64_t b)
{
    if (isnan(G(a)) || isnan(G(b)))
        return !isnan(G(a)) ? a : !isnan(G(b)) ? b : b | 1ull << 51;
    return G(a) < G(b) || (G(a) == G(b) && a >> 63) ? a : b;
}

static uint64_t
max64(uint64_t a, uint64_t b)
{
    if (isnan(G(a)) || isnan(G(b)))
        return !isnan(G(a)) ? a : !isnan(G(b)) ? b : b | 1ull << 51;
    return G(a) > G(b) || (G(a) == G(b) && b >> 63) ? a : b;
}

/* `x` is whole or no number. `low`, `high`: the destination's range. */
static uint64_t
to_int(double x, int64_t low, int64_t high, int64_t nan)
{
    if (isnan(x))
        return (uint64_t)nan;
    if (x >= (double)high) /* (double)INT64_MAX is 2^63 */
        return (uint64_t)high;
    return x <= (double)low ? (uint64_t)low : (uint64_t)(int64_t)x;
}

static uint64_t
limit(int64_t x, int64_t low, int64_t high)
{
    return (uint64_t)(x < low ? low : x > high ? high : x);
}

/* The lowest n bits, as a signed number. */
static uint64_t
bits(uint64_t x, unsigned n)
{
    return (uint64_t)((int64_t)(x << (64 - n)) >> (64 - n));
}

/* Of 64-bit words all of a field's place and length counts (docs/ptx.md). */
static unsigned
place(uint64_t v)
{
    return v < 256 ? (unsigned)v : 256;
}

static uint64_t
bfe(uint64_t a, unsigned width, unsigned pos, unsigned len, bool sign)
{
    uint64_t r = 0;
    unsigned top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    bool fill = sign && len && a >> top & 1;
    for (unsigned i = 0; i < width; i++)
        r |= (uint64_t)(i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
    return r;
}

static uint64_t
bfi(uint64_t a, uint64_t b, unsigned width, unsigned pos, unsigned len)
{
    for (unsigned i = 0; i < len && pos + i < width; i++)
        b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}

static uint64_t
reverse(uint64_t a, unsigned width)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < width; i++)
        r |= (a >> i & 1) << (width - 1 - i);
    return r;
}

static uint64_t
top_bit(uint64_t a)
{
    uint64_t n = UINT32_MAX;
    for (unsigned i = 0; i < 64; i++)
        if (a >> i & 1)
            n = i;
    return n;
}

static uint64_t
lut(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)(table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) &
                        1)
             << i;
    return r;
}

static uint64_t
prmt(uint64_t ab, unsigned select)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned s = select >> 4 * i & 15;
        uint64_t byte = ab >> 8 * (s & 7) & 255;
        r |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return r;
}

static uint64_t
dot4(uint64_t a, uint64_t b, bool sign)
{
    int64_t r = 0;
    for (unsigned i = 0; i < 32; i += 8)
        r += sign ? (int8_t)(a >> i) * (int8_t)(b >> i)
                  : (int64_t)((a >> i & 255) * (b >> i & 255));
    return (uint64_t)r;
}

/* Field by field of n bits: sums, differences, the larger of signed ones. */
static uint64_t
fields(uint64_t a, uint64_t b, unsigned n, unsigned what)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i += n) {
        int64_t x = L(bits(a >> i, n)), y = L(bits(b >> i, n));
        int64_t v = what == 0 ? x + y : what == 1 ? x - y : x > y ? x : y;
        r |= rk_cut((uint64_t)v, n) << i;
    }
    return r;
}

static double
half(uint64_t h)
{
    double m = (double)(h & 1023), v;
    if ((h >> 10 & 31) == 31)
        v = m != 0 ? NAN : INFINITY;
    else if (h >> 10 & 31)
        v = ldexp(1024 + m, (int)(h >> 10 & 31) - 25);
    else
        v = ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static uint64_t
single_of_half(uint64_t h)
{
    return isnan(half(h)) ? (h & 0x8000) << 16 | 0x7f800000 | (h & 1023) << 13
                          : f32((float)half(h));
}

/* To nearest even, from a value that no earlier rounding touched. */
static uint64_t
to_half(double v)
{
    uint64_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    if (isnan(v))
        return 0x7fff;
    if (a >= 65520)
        return sign | 0x7c00;
    if (a < 0x1p-14)
        return sign | (uint64_t)rint(ldexp(a, 24));
    int e;
    double m = rint(ldexp(frexp(a, &e), 11)); /* [1024, 2048] */
    return sign | (((uint64_t)(e + 13) << 10) + (uint64_t)m);
}

/* A row is known by its line in ops.def. */
#define ROW_(line) ROW_##line
#define ROW(line) ROW_(line)
#define OP(text, classes, value) ROW(__LINE__),
enum { /* in the order of ops.def */
#include "ops.def"
       ROWS
};
#undef OP

#define OP(text, classes, value) {text, classes},
const struct rk_op rk_ops[] = {
#include "ops.def"
};
#undef OP
const unsigned rk_nops = ROWS;

uint64_t
rk_op_value(unsigned row, uint64_t a, uint64_t b, uint64_t c, uint64_t *e,
            const struct rk_thread *t)
{
#define E e
    switch (row) {
#define OP(text, classes, value)                                                         \
    case ROW(__LINE__):                                                                  \
        return (uint64_t)(value);
#include "ops.def"
#undef OP
    }
    return 0;
}

unsigned
rk_op_find(const char *text, const char *classes)
{
    unsigned i = 0;
    while (i < rk_nops &&
           (strcmp(rk_ops[i].text, text) || strcmp(rk_ops[i].classes, classes)))
        i++;
    return i;
}

const struct rk_type rk_types[] = {
    {"u32", 4, RK_W, false}, {"b32", 4, RK_W, false}, {"s32", 4, RK_W, false},
    {"u64", 8, RK_D, false}, {"b64", 8, RK_D, false}, {"f32", 4, RK_F, false},
    {"f64", 8, RK_G, false}, {"u8", 1, RK_W, false},  {"s8", 1, RK_W, true},
    {"u16", 2, RK_W, false}, {"s16", 2, RK_W, true},  {"b16", 2, RK_H, false},
    {"u16", 2, RK_H, false}, {"s8", 1, RK_H, true},   {"u8", 1, RK_H, false},
    {"s32", 4, RK_D, true},  {"u32", 4, RK_D, false}, {"s8", 1, RK_D, true},
    {"b32", 4, RK_F, false}, {"b64", 8, RK_G, false},
};
const unsigned rk_ntypes = sizeof rk_types / sizeof *rk_types;

const struct rk_atom rk_atoms[] = {
    {"add.u32", 4, RK_W, 1, true},   {"add.u64", 8, RK_D, 1, true},
    {"min.s32", 4, RK_W, 1, true},   {"max.u32", 4, RK_W, 1, true},
    {"and.b32", 4, RK_W, 1, true},   {"or.b32", 4, RK_W, 1, true},
    {"xor.b32", 4, RK_W, 1, true},   {"inc.u32", 4, RK_W, 1, true},
    {"max.s64", 8, RK_D, 1, true},   {"xor.b64", 8, RK_D, 1, true},
    {"exch.b32", 4, RK_W, 1, false}, {"cas.b32", 4, RK_W, 2, false},
    {"dec.u32", 4, RK_W, 1, false},  {"exch.b64", 8, RK_D, 1, false},
    {"cas.b64", 8, RK_D, 2, false},  {"add.f64", 8, RK_G, 1, false},
};
const unsigned rk_natoms = sizeof rk_atoms / sizeof *rk_atoms, rk_ncommuting = 10;

uint64_t
rk_atom_value(unsigned row, uint64_t old, uint64_t b, uint64_t c)
{
    switch (row) {
    case 0:
    case 1:
        return old + b;
    case 2:
        return I(old) < I(b) ? old : b;
    case 3:
        return old > b ? old : b;
    case 4:
        return old & b;
    case 5:
        return old | b;
    case 6:
    case 9:
        return old ^ b;
    case 7:
        return old >= b ? 0 : old + 1;
    case 8:
        return L(old) > L(b) ? old : b;
    case 11:
    case 14:
        return old == b ? c : old;
    case 12:
        return old == 0 || old > b ? b : old - 1;
    case 15:
        return f64(G(old) + G(b));
    default: /* exch */
        return b;
    }
}
