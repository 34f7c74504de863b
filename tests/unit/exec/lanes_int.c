/* lanes_int.c: integer, bit, selection and comparison lane functions against a reference
 * made of 128-bit arithmetic and bit-by-bit loops after the text of PTX ISA 9.7.1, 9.7.6
 * and 9.7.7. Every form runs over edge values and random numbers, full and partial masks.
 */
#include "unit/kit/lanes_util.h"

typedef __int128 wide;

struct args {
    unsigned w;      /* bits of the instruction's type */
    bool s;          /* signed */
    wide a, b, c, d; /* sources as their type says */
    bool p, cin;     /* predicate source, carry in */
};

struct outcome {
    wide v;
    bool cout, p, q;
};

static uint64_t
low(wide v, unsigned w)
{
    return (uint64_t)v & (w >= 64 ? UINT64_MAX : ((uint64_t)1 << w) - 1);
}

static wide
sign_extend(uint64_t v, unsigned w)
{
    v = low((wide)v, w);
    return v >> (w - 1) & 1 ? (wide)v - ((wide)1 << w) : (wide)v;
}

static int
bit(wide v, int i)
{
    return (int)(v >> i & 1);
}

static wide
clamp32(wide v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

/* Product of w-bit numbers, bits w..2w-1; signed 64-bit products do not fit a __int128
 * shift problem: |a * b| < 2^127. Unsigned 64-bit ones are made from halves. */
static wide
mul_hi(struct args *x)
{
    if (x->w == 64 && !x->s) {
        unsigned __int128 a = (unsigned __int128)x->a, lo = (uint32_t)x->b,
                          hi = (unsigned __int128)x->b >> 32;
        unsigned __int128 low_part = a * lo, high_part = a * hi;
        return (wide)((high_part + (low_part >> 32)) >> 32);
    }
    return x->a * x->b >> x->w;
}

#define REF(name) static struct outcome name(struct args *x)
#define GIVE(...)                                                                        \
    return (struct outcome)                                                              \
    {                                                                                    \
        .v = (__VA_ARGS__)                                                               \
    }

REF(r_add)
{
    GIVE(x->a + x->b);
}
REF(r_sub)
{
    GIVE(x->a - x->b);
}
REF(r_addsat)
{
    GIVE(clamp32(x->a + x->b));
}
REF(r_subsat)
{
    GIVE(clamp32(x->a - x->b));
}
REF(r_mullo)
{
    GIVE((wide)((uint64_t)x->a * (uint64_t)x->b));
}
REF(r_mulhi)
{
    GIVE(mul_hi(x));
}
REF(r_mulwide)
{
    GIVE(x->a * x->b);
}
REF(r_madlo)
{
    GIVE((wide)((uint64_t)x->a * (uint64_t)x->b) + x->c);
}
REF(r_madhi)
{
    GIVE(mul_hi(x) + x->c);
}
REF(r_madhisat)
{
    GIVE(clamp32(mul_hi(x) + x->c));
}
REF(r_madwide)
{
    GIVE(x->a * x->b + x->c);
}
static wide
part24(struct args *x, wide v)
{
    return x->s ? sign_extend((uint64_t)v, 24) : (wide)low(v, 24);
}
REF(r_mul24lo)
{
    GIVE(part24(x, x->a) * part24(x, x->b));
}
REF(r_mul24hi)
{
    GIVE(part24(x, x->a) * part24(x, x->b) >> 16);
}
REF(r_mad24lo)
{
    GIVE(part24(x, x->a) * part24(x, x->b) + x->c);
}
REF(r_mad24hi)
{
    GIVE((wide)sign_extend((uint64_t)(part24(x, x->a) * part24(x, x->b) >> 16), 32) +
         x->c);
}
REF(r_mad24hisat)
{
    GIVE(clamp32(sign_extend((uint64_t)(part24(x, x->a) * part24(x, x->b) >> 16), 32) +
                 x->c));
}
/* Long multiplication with exclusive or for addition, one coefficient of the result at a
 * time. */
static uint64_t
clmul_half(struct args *x, int from)
{
    uint64_t v = 0;
    for (int i = from; i < from + 64; i++)
        for (int j = 0; j < 64; j++)
            if (i - j >= 0 && i - j < 64)
                v ^= (uint64_t)(bit(x->a, j) & bit(x->b, i - j)) << (i - from);
    return v;
}
REF(r_clmadlo)
{
    GIVE((wide)(clmul_half(x, 0) ^ (uint64_t)x->c));
}
REF(r_clmadhi)
{
    GIVE((wide)(clmul_half(x, 64) ^ (uint64_t)x->c));
}
REF(r_sad)
{
    GIVE(x->c + (x->a < x->b ? x->b - x->a : x->a - x->b));
}
REF(r_div)
{
    GIVE(x->b == 0 ? -1 : x->a / x->b);
}
REF(r_rem)
{
    GIVE(x->b == 0 ? -1 : x->a % x->b); /* as a card answers */
}
REF(r_abs)
{
    GIVE(x->a < 0 ? -x->a : x->a);
}
REF(r_neg)
{
    GIVE(-x->a);
}
REF(r_min)
{
    GIVE(x->a < x->b ? x->a : x->b);
}
REF(r_max)
{
    GIVE(x->a > x->b ? x->a : x->b);
}
REF(r_and)
{
    GIVE(x->a & x->b);
}
REF(r_or)
{
    GIVE(x->a | x->b);
}
REF(r_xor)
{
    GIVE(x->a ^ x->b);
}
REF(r_not)
{
    GIVE(~x->a);
}
REF(r_cnot)
{
    GIVE(x->a == 0 ? 1 : 0);
}
REF(r_mov)
{
    GIVE(x->a);
}
REF(r_shl)
{
    GIVE(x->b >= x->w ? 0 : x->a << (int)x->b);
}
REF(r_shr)
{
    wide v = x->a;
    for (wide n = 0; n < x->b && n < 200; n++) /* one place at a time */
        v = v < 0 ? (v - 1) / 2 : v / 2;
    GIVE(v);
}
REF(r_popc)
{
    wide n = 0;
    for (unsigned i = 0; i < x->w; i++)
        n += bit(x->a, (int)i);
    GIVE(n);
}
REF(r_clz)
{
    wide n = 0;
    for (int i = (int)x->w - 1; i >= 0 && !bit(x->a, i); i--)
        n++;
    GIVE(n);
}
REF(r_bfind)
{
    wide a = x->s && x->a < 0 ? ~x->a : x->a;
    for (int i = (int)x->w - 1; i >= 0; i--)
        if (bit(a, i))
            GIVE(i);
    GIVE(-1);
}
REF(r_bfindshift)
{
    wide v = r_bfind(x).v;
    GIVE(v == -1 ? -1 : (wide)x->w - 1 - v);
}
REF(r_brev)
{
    wide v = 0;
    for (unsigned i = 0; i < x->w; i++)
        v |= (wide)bit(x->a, (int)i) << (x->w - 1 - i);
    GIVE(v);
}
/* Of 64-bit words ptxas shifts by all of place and length, not by their lowest byte. */
static int
place(wide v, unsigned w)
{
    return w == 32 ? (int)(v & 255) : v < 256 ? (int)v : 256;
}
REF(r_bfe)
{
    int msb = (int)x->w - 1, pos = place(x->b, x->w), len = place(x->c, x->w), sbit = 0;
    wide v = 0;
    if (x->s && len)
        sbit = bit(x->a, pos + len - 1 < msb ? pos + len - 1 : msb);
    for (int i = 0; i <= msb; i++)
        v |= (wide)(i < len && pos + i <= msb ? bit(x->a, pos + i) : sbit) << i;
    GIVE(v);
}
REF(r_bfi)
{
    int msb = (int)x->w - 1, pos = place(x->c, x->w), len = place(x->d, x->w);
    wide v = x->b;
    for (int i = 0; i < len && pos + i <= msb; i++)
        v = (v & ~((wide)1 << (pos + i))) | (wide)bit(x->a, i) << (pos + i);
    GIVE(v);
}
REF(r_fns)
{
    int pos = (int)x->b, inc = (int32_t)x->c > 0 ? 1 : -1;
    int64_t count = (int32_t)x->c;
    count = count < 0 ? -count : count;
    if (x->c == 0x80000000) /* a card's answer */
        GIVE(0);
    if (x->b > 31)
        GIVE(-1);
    if (count == 0)
        GIVE(bit(x->a, pos) ? pos : -1);
    for (count--; pos >= 0 && pos < 32; pos += inc) {
        if (!bit(x->a, pos))
            continue;
        if (count == 0)
            GIVE(pos);
        count--;
    }
    GIVE(-1);
}
static wide
bmsk(uint64_t a, uint64_t b, bool clamp)
{
    wide v = 0;
    uint64_t pos = clamp ? a : a & 31, n = clamp ? b : b & 31;
    for (uint64_t i = 0; i < 32;
         i++) /* ones from pos, n of them, as far as the word goes */
        if (i >= pos && i - pos < n)
            v |= (wide)1 << i;
    return v;
}
REF(r_bmskclamp)
{
    GIVE(bmsk((uint64_t)x->a, (uint64_t)x->b, true));
}
REF(r_bmskwrap)
{
    GIVE(bmsk((uint64_t)x->a, (uint64_t)x->b, false));
}
static wide
szext(struct args *x, unsigned n)
{
    if (n == 0)
        return 0;
    return x->s ? sign_extend((uint64_t)x->a, n) : (wide)low(x->a, n);
}
REF(r_szextclamp)
{
    GIVE(szext(x, x->b > 32 ? 32 : (unsigned)x->b));
}
REF(r_szextwrap)
{
    GIVE(szext(x, (unsigned)x->b & 31));
}
REF(r_lop3)
{
    wide v = 0;
    for (int i = 0; i < 32; i++)
        v |= (wide)bit(x->d, bit(x->a, i) << 2 | bit(x->b, i) << 1 | bit(x->c, i)) << i;
    GIVE(v);
}
static wide
funnel(struct args *x, unsigned n, bool right)
{
    wide v = 0;
    for (int i = 0; i < 32; i++) { /* bit i of the result comes from the pair b:a */
        int from = right ? i + (int)n : 32 + i - (int)n;
        v |= (wide)(from > 63    ? 0
                    : from >= 32 ? bit(x->b, from - 32)
                                 : bit(x->a, from))
             << i;
    }
    return v;
}
REF(r_shflclamp)
{
    GIVE(funnel(x, x->c > 32 ? 32 : (unsigned)x->c, false));
}
REF(r_shflwrap)
{
    GIVE(funnel(x, (unsigned)x->c & 31, false));
}
REF(r_shfrclamp)
{
    GIVE(funnel(x, x->c > 32 ? 32 : (unsigned)x->c, true));
}
REF(r_shfrwrap)
{
    GIVE(funnel(x, (unsigned)x->c & 31, true));
}
static unsigned
byte_of(struct args *x, int n)
{
    return (unsigned)((n < 4 ? x->a : x->b) >> 8 * (n & 3)) & 255;
}
REF(r_prmt)
{
    wide v = 0;
    for (int i = 0; i < 4; i++) {
        unsigned sel = (unsigned)(x->c >> 4 * i) & 15, b = byte_of(x, (int)(sel & 7));
        v |= (wide)(sel & 8 ? (b & 128 ? 255 : 0) : b) << 8 * i;
    }
    GIVE(v);
}
/* Tables of the ISA: bytes 3..0 for selector 0..3. */
static wide
prmt_mode(struct args *x, const char *table)
{
    const char *t = table + 4 * (x->c & 3);
    wide v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 8 | byte_of(x, t[i] - '0');
    return v;
}
REF(r_f4e)
{
    GIVE(prmt_mode(x, "3210432154326543"));
}
REF(r_b4e)
{
    GIVE(prmt_mode(x, "5670670170120123"));
}
REF(r_rc8)
{
    GIVE(prmt_mode(x, "0000111122223333"));
}
REF(r_ecl)
{
    GIVE(prmt_mode(x, "3210321132223333"));
}
REF(r_ecr)
{
    GIVE(prmt_mode(x, "0000111022103210"));
}
REF(r_rc16)
{
    GIVE(prmt_mode(x, "1010323210103232"));
}
static wide
dp4a(struct args *x, bool sa, bool sb)
{
    wide v = x->c;
    for (int i = 0; i < 32; i += 8) {
        uint64_t a = (uint64_t)(x->a >> i) & 255, b = (uint64_t)(x->b >> i) & 255;
        v += (sa ? sign_extend(a, 8) : (wide)a) * (sb ? sign_extend(b, 8) : (wide)b);
    }
    return v;
}
REF(r_dp4auu)
{
    GIVE(dp4a(x, false, false));
}
REF(r_dp4aus)
{
    GIVE(dp4a(x, false, true));
}
REF(r_dp4asu)
{
    GIVE(dp4a(x, true, false));
}
REF(r_dp4ass)
{
    GIVE(dp4a(x, true, true));
}
static wide
dp2a(struct args *x, bool sa, bool sb, int from)
{
    wide v = x->c;
    for (int i = 0; i < 2; i++) {
        uint64_t a = (uint64_t)(x->a >> 16 * i) & 0xffff,
                 b = (uint64_t)(x->b >> (8 * i + from)) & 255;
        v += (sa ? sign_extend(a, 16) : (wide)a) * (sb ? sign_extend(b, 8) : (wide)b);
    }
    return v;
}
REF(r_dp2alo)
{
    GIVE(dp2a(x, true, true, 0));
}
REF(r_dp2ahi)
{
    GIVE(dp2a(x, false, true, 16));
}

/* With carry: w-bit sum of unsigned operands, the carry is what is above. */
static struct outcome
carry_sum(struct args *x, unsigned __int128 a, unsigned __int128 b, unsigned c)
{
    unsigned __int128 s = a + b + c;
    return (struct outcome){.v = (wide)s, .cout = s >> x->w & 1};
}
/* The flag of a card means `no borrow`, before and after. */
static struct outcome
difference(struct args *x, unsigned c)
{
    wide s = (wide)low(x->a, x->w) - (wide)low(x->b, x->w) - !c;
    return (struct outcome){.v = s, .cout = s >= 0};
}
REF(r_addcc)
{
    return carry_sum(x, low(x->a, x->w), low(x->b, x->w), 0);
}
REF(r_addc)
{
    return carry_sum(x, low(x->a, x->w), low(x->b, x->w), x->cin);
}
REF(r_subcc)
{
    return difference(x, 1);
}
REF(r_subc)
{
    return difference(x, x->cin);
}
REF(r_madlocc)
{
    return carry_sum(x, low(r_mullo(x).v, x->w), low(x->c, x->w), 0);
}
REF(r_madhicc)
{
    return carry_sum(x, low(mul_hi(x), x->w), low(x->c, x->w), 0);
}
REF(r_madclo)
{
    return carry_sum(x, low(r_mullo(x).v, x->w), low(x->c, x->w), x->cin);
}
REF(r_madchi)
{
    return carry_sum(x, low(mul_hi(x), x->w), low(x->c, x->w), x->cin);
}

#define COMPARISONS(X)                                                                   \
    X(eq, ==)                                                                            \
    X(ne, !=) X(lt, <) X(le, <=) X(gt, >) X(ge, >=) X(lo, <) X(ls, <=) X(hi, >) X(hs, >=)
#define REF_SETP(name, op)                                                               \
    REF(r_setp##name)                                                                    \
    {                                                                                    \
        bool t = x->a op x->b;                                                           \
        return (struct outcome){.p = t, .q = !t};                                        \
    }                                                                                    \
    REF(r_setp##name##and)                                                               \
    {                                                                                    \
        bool t = x->a op x->b;                                                           \
        return (struct outcome){.p = t && x->p, .q = !t && x->p};                        \
    }                                                                                    \
    REF(r_setp##name## or)                                                               \
    {                                                                                    \
        bool t = x->a op x->b;                                                           \
        return (struct outcome){.p = t || x->p, .q = !t || x->p};                        \
    }                                                                                    \
    REF(r_setp##name## xor)                                                              \
    {                                                                                    \
        bool t = x->a op x->b;                                                           \
        return (struct outcome){.p = t != x->p, .q = !t != x->p};                        \
    }                                                                                    \
    REF(r_set##name)                                                                     \
    {                                                                                    \
        GIVE((x->a op x->b) ? -1 : 0);                                                   \
    }
COMPARISONS(REF_SETP)
#undef REF_SETP
REF(r_setf)
{
    GIVE(x->a < x->b ? 0x3f800000 : 0);
}
REF(r_setand)
{
    GIVE(x->a >= x->b && x->p ? -1 : 0);
}
REF(r_selp)
{
    GIVE(x->p ? x->a : x->b);
}
REF(r_slcts)
{
    GIVE(sign_extend((uint64_t)x->c, 32) >= 0 ? x->a : x->b);
}
static bool
float_not_negative(wide c) /* >= 0: -0 is, NaN is not */
{
    uint32_t m = (uint32_t)c & 0x7fffffff;
    return m <= 0x7f800000 && (!((uint32_t)c >> 31) || m == 0);
}
REF(r_slctf)
{
    GIVE(float_not_negative(x->c) ? x->a : x->b);
}
REF(r_slctftz)
{
    bool subnormal = ((uint32_t)x->c & 0x7f800000) == 0;
    GIVE(subnormal || float_not_negative(x->c) ? x->a : x->b);
}

/* One row: form with % for each type of the list, operand widths where not the type's own
 * (letters in `ops`: t type, w twice, u 32 bits; p predicate), reference. */
struct test_case {
    const char *form, *types, *ops,
        *result; /* result: t w u, c with carry, p predicates */
    struct outcome (*ref)(struct args *);
};

#define INTS "u16 s16 u32 s32 u64 s64"
#define I3264 "u32 s32 u64 s64"
static const struct test_case cases[] = {
    {"add.%", INTS, "tt", "t", r_add},
    {"sub.%", INTS, "tt", "t", r_sub},
    {"add.sat.%", "s32", "tt", "t", r_addsat},
    {"sub.sat.%", "s32", "tt", "t", r_subsat},
    {"mul.lo.%", INTS, "tt", "t", r_mullo},
    {"mul.hi.%", INTS, "tt", "t", r_mulhi},
    {"mul.wide.%", "u16 s16 u32 s32", "tt", "w", r_mulwide},
    {"mad.lo.%", INTS, "ttt", "t", r_madlo},
    {"mad.hi.%", INTS, "ttt", "t", r_madhi},
    {"mad.hi.sat.%", "s32", "ttt", "t", r_madhisat},
    {"mad.wide.%", "u16 s16 u32 s32", "ttw", "w", r_madwide},
    {"mul24.lo.%", "u32 s32", "tt", "t", r_mul24lo},
    {"mul24.hi.%", "u32 s32", "tt", "t", r_mul24hi},
    {"mad24.lo.%", "u32 s32", "ttt", "t", r_mad24lo},
    {"mad24.hi.%", "u32 s32", "ttt", "t", r_mad24hi},
    {"mad24.hi.sat.%", "s32", "ttt", "t", r_mad24hisat},
    {"sad.%", INTS, "ttt", "t", r_sad},
    {"clmad.lo.%", "u64 s64", "ttt", "t", r_clmadlo},
    {"clmad.hi.%", "u64 s64", "ttt", "t", r_clmadhi},
    {"div.%", INTS, "tt", "t", r_div},
    {"rem.%", INTS, "tt", "t", r_rem},
    {"abs.%", "s16 s32 s64", "t", "t", r_abs},
    {"neg.%", "s16 s32 s64", "t", "t", r_neg},
    {"min.%", INTS, "tt", "t", r_min},
    {"max.%", INTS, "tt", "t", r_max},
    {"and.%", "b16 b32 b64", "tt", "t", r_and},
    {"or.%", "b16 b32 b64", "tt", "t", r_or},
    {"xor.%", "b16 b32 b64", "tt", "t", r_xor},
    {"not.%", "b16 b32 b64", "t", "t", r_not},
    {"cnot.%", "b16 b32 b64", "t", "t", r_cnot},
    {"mov.%", "b16 b32 b64 f32 f64 " INTS, "t", "t", r_mov},
    {"shl.%", "b16 b32 b64", "tu", "t", r_shl},
    {"shr.%", "b16 b32 b64 " INTS, "tu", "t", r_shr},
    {"popc.%", "b32 b64", "t", "u", r_popc},
    {"clz.%", "b32 b64", "t", "u", r_clz},
    {"bfind.%", I3264, "t", "u", r_bfind},
    {"bfind.shiftamt.%", I3264, "t", "u", r_bfindshift},
    {"brev.%", "b32 b64", "t", "t", r_brev},
    {"bfe.%", I3264, "tuu", "t", r_bfe},
    {"bfi.%", "b32 b64", "ttuu", "t", r_bfi},
    {"fns.%", "b32", "uuu", "u", r_fns},
    {"bmsk.clamp.%", "b32", "uu", "t", r_bmskclamp},
    {"bmsk.wrap.%", "b32", "uu", "t", r_bmskwrap},
    {"szext.clamp.%", "u32 s32", "tu", "t", r_szextclamp},
    {"szext.wrap.%", "u32 s32", "tu", "t", r_szextwrap},
    {"lop3.%", "b32", "tttu", "t", r_lop3},
    {"shf.l.clamp.%", "b32", "ttu", "t", r_shflclamp},
    {"shf.l.wrap.%", "b32", "ttu", "t", r_shflwrap},
    {"shf.r.clamp.%", "b32", "ttu", "t", r_shfrclamp},
    {"shf.r.wrap.%", "b32", "ttu", "t", r_shfrwrap},
    {"prmt.%", "b32", "ttu", "t", r_prmt},
    {"prmt.%.f4e", "b32", "ttu", "t", r_f4e},
    {"prmt.%.b4e", "b32", "ttu", "t", r_b4e},
    {"prmt.%.rc8", "b32", "ttu", "t", r_rc8},
    {"prmt.%.ecl", "b32", "ttu", "t", r_ecl},
    {"prmt.%.ecr", "b32", "ttu", "t", r_ecr},
    {"prmt.%.rc16", "b32", "ttu", "t", r_rc16},
    {"dp4a.%.u32", "u32", "uuu", "u", r_dp4auu},
    {"dp4a.%.s32", "u32", "uuu", "u", r_dp4aus},
    {"dp4a.%.u32", "s32", "uuu", "u", r_dp4asu},
    {"dp4a.%.s32", "s32", "uuu", "u", r_dp4ass},
    {"dp2a.lo.%.s32", "s32", "uuu", "u", r_dp2alo},
    {"dp2a.hi.%.s32", "u32", "uuu", "u", r_dp2ahi},
    {"add.cc.%", I3264, "tt", "c", r_addcc},
    {"addc.cc.%", I3264, "tt", "c", r_addc},
    {"addc.%", I3264, "tt", "k", r_addc},
    {"sub.cc.%", I3264, "tt", "c", r_subcc},
    {"subc.cc.%", I3264, "tt", "c", r_subc},
    {"subc.%", I3264, "tt", "k", r_subc},
    {"mad.lo.cc.%", I3264, "ttt", "c", r_madlocc},
    {"mad.hi.cc.%", I3264, "ttt", "c", r_madhicc},
    {"madc.lo.cc.%", I3264, "ttt", "c", r_madclo},
    {"madc.hi.cc.%", I3264, "ttt", "c", r_madchi},
    {"madc.lo.%", I3264, "ttt", "k", r_madclo},
    {"madc.hi.%", I3264, "ttt", "k", r_madchi},
#define CASE_SETP(name, types)                                                           \
    {"setp." #name ".%", types, "tt", "p", r_setp##name},                                \
        {"setp." #name ".and.%", types, "ttp", "p", r_setp##name## and },                \
        {"setp." #name ".or.%", types, "ttp", "p", r_setp##name## or },                  \
        {"setp." #name ".xor.%", types, "ttp", "p", r_setp##name## xor },                \
        {"set." #name ".u32.%", types, "tt", "u", r_set##name},                          \
        {"set." #name ".s32.%", types, "tt", "u", r_set##name},
    CASE_SETP(eq, "b16 b32 b64 " INTS) CASE_SETP(ne, "b16 b32 b64 " INTS)
        CASE_SETP(lt, INTS) CASE_SETP(le, INTS) CASE_SETP(gt, INTS) CASE_SETP(ge, INTS)
            CASE_SETP(lo, "u16 u32 u64") CASE_SETP(ls, "u16 u32 u64")
                CASE_SETP(hi, "u16 u32 u64")
                    CASE_SETP(hs, "u16 u32 u64"){"set.lt.f32.%", INTS, "tt", "u", r_setf},
    {"set.ge.and.u32.%", INTS, "ttp", "u", r_setand},
    {"selp.%", "b16 b32 b64 f32 f64 " INTS, "ttp", "t", r_selp},
    {"slct.%.s32", "b16 b32 b64 f32 f64 " INTS, "ttu", "t", r_slcts},
    {"slct.%.f32", "b16 b32 b64 f32 f64 " INTS, "ttu", "t", r_slctf},
    {"slct.ftz.%.f32", "b16 b32 b64 f32 f64 " INTS, "ttu", "t", r_slctftz},
};

static unsigned
width_of(char what, unsigned w)
{
    return what == 'w' ? 2 * w : what == 'u' ? 32 : w;
}

static uint64_t
integer_value(uint64_t *rng, unsigned w, unsigned n)
{
    /* The first runs step through the edges together with small numbers. */
    if (n % 3 == 0)
        return splitmix_next(rng) % 70;
    return util_value(rng, w > 32 ? 8 : 4, false);
}

/* One batch of 32 lanes through one function. */
static void
batch(const struct test_case *tc, const char *form, unsigned type, lane_fn *fn,
      uint32_t aux, uint32_t mask, uint64_t *rng)
{
    unsigned w = 8u * ptx_types[type].bytes;
    bool is_signed = ptx_types[type].kind == PTX_K_SINT;
    union util_row src[4] = {0}, old, got, cc, ccold;
    const void *s[4];
    for (unsigned k = 0; k < 4; k++)
        s[k] = &src[k];
    for (unsigned i = 0; i < LANES; i++)
        old.q[i] = splitmix_next(rng), ccold.q[i] = splitmix_next(rng);
    got = old;
    cc = ccold;
    for (unsigned k = 0; tc->ops[k]; k++)
        for (unsigned i = 0; i < LANES; i++) {
            unsigned n = width_of(tc->ops[k], w);
            if (tc->ops[k] == 'p')
                src[k].w[0] = (uint32_t)splitmix_next(rng);
            else
                util_set(&src[k], n / 8, i,
                         integer_value(rng, n, (unsigned)splitmix_next(rng)));
        }
    bool predicates = *tc->result == 'p',
         carry = *tc->result == 'c' || *tc->result == 'k';
    fn((void *const[]){&got, &cc}, s, mask, aux);
    unsigned rw = width_of(*tc->result, w);
    for (unsigned i = 0; i < LANES; i++) {
        struct args x = {.w = w, .s = is_signed, .cin = ccold.w[0] >> i & 1};
        wide *v[4] = {&x.a, &x.b, &x.c, &x.d};
        for (unsigned k = 0; tc->ops[k]; k++) {
            unsigned n = width_of(tc->ops[k], w);
            if (tc->ops[k] == 'p') {
                x.p = src[k].w[0] >> i & 1;
                continue;
            }
            uint64_t bits = util_get(&src[k], n / 8, i);
            *v[k] = is_signed && tc->ops[k] != 'u' ? sign_extend(bits, n) : (wide)bits;
        }
        struct outcome o = tc->ref(&x);
        bool on = mask >> i & 1;
        if (predicates) {
            bool p = got.w[0] >> i & 1, q = cc.w[0] >> i & 1;
            if (p != (on ? o.p : (old.w[0] >> i & 1)) ||
                q != (on ? o.q : (ccold.w[0] >> i & 1)))
                fail_msg("%s lane %u mask %08x: a %llx b %llx p %d gives %d|%d", form, i,
                         mask, (unsigned long long)x.a, (unsigned long long)x.b, x.p, p,
                         q);
            continue;
        }
        uint64_t want = on ? low(o.v, rw) : util_get(&old, rw / 8, i);
        uint64_t have = util_get(&got, rw / 8, i);
        if (want != have)
            fail_msg(
                "%s lane %u mask %08x: a %llx b %llx c %llx d %llx gives %llx, not %llx",
                form, i, mask, (unsigned long long)x.a, (unsigned long long)x.b,
                (unsigned long long)x.c, (unsigned long long)x.d,
                (unsigned long long)have, (unsigned long long)want);
        if (carry) {
            bool writes = on && *tc->result == 'c';
            bool flag = writes ? o.cout : (ccold.w[0] >> i & 1);
            if ((cc.w[0] >> i & 1) != flag)
                fail_msg("%s lane %u: a %llx b %llx carry is not %d", form, i,
                         (unsigned long long)x.a, (unsigned long long)x.b, flag);
        }
    }
}

static void
test_against_reference(void **state)
{
    (void)state;
    const struct lane_variant *variants[4];
    size_t nv = lane_variants(variants), nforms = 0;
    uint64_t rng = 2024;
    for (size_t c = 0; c < UTIL_COUNT(cases); c++) {
        const char *t = cases[c].types;
        while (*t) {
            char form[64], name[8] = {0};
            size_t n = strcspn(t, " ");
            const char *hole = strchr(cases[c].form, '%');
            memcpy(name, t, n);
            snprintf(form, sizeof form, "%.*s%s%s", (int)(hole - cases[c].form),
                     cases[c].form, name, hole + 1);
            t += n;
            t += *t == ' ';
            unsigned type = 0;
            for (unsigned k = 1; k < PTX_NTYPES; k++)
                if (!strcmp(ptx_types[k].text, name))
                    type = k;
            struct ptx_inst in;
            if (!util_inst(&in, form))
                fail_msg("no row admits %s", form);
            nforms++;
            for (size_t v = 0; v < nv; v++) {
                uint32_t aux;
                lane_fn *fn = lane_select_in(variants[v], &in, &aux);
                if (!fn)
                    fail_msg("%s has no lane function", form);
                for (int round = 0; round < 120; round++)
                    batch(&cases[c], form, type, fn, aux,
                          round & 1 ? UINT32_MAX
                                    : util_masks[round / 2 % UTIL_COUNT(util_masks)],
                          &rng);
            }
        }
    }
    print_message("%zu forms, %zu variants\n", nforms, nv);
}

/* Results worked out by hand from the ISA's text. */
static void
test_by_hand(void **state)
{
    static const struct {
        const char *form;
        uint64_t a, b, c, d, want;
        unsigned bytes[5]; /* a b c d result */
    } t[] = {
        {"div.u32", 7, 0, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}},
        {"rem.s32", 0xfffffff9, 0, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}}, /* a card's */
        {"rem.u16", 0x151a, 0, 0, 0, 0xffff, {2, 2, 2, 2, 2}},         /* the same */
        {"bfe.u64", 0x41, 0x80000000, 64, 0, 0, {8, 4, 4, 4, 8}},      /* the same */
        {"bfi.b64", 2, 0, 0x80000001, 3, 0, {8, 8, 4, 4, 8}},          /* the same */
        {"fns.b32", 0x55555555, 0x21, 0x80000000, 0, 0, {4, 4, 4, 4, 4}},
        {"div.s32", 0x80000000, 0xffffffff, 0, 0, 0x80000000, {4, 4, 4, 4, 4}},
        {"rem.s32", 0x80000000, 0xffffffff, 0, 0, 0, {4, 4, 4, 4, 4}},
        {"div.s64",
         0x8000000000000000,
         UINT64_MAX,
         0,
         0,
         0x8000000000000000,
         {8, 8, 8, 8, 8}},
        {"div.s16", 0x8000, 0xffff, 0, 0, 0x8000, {2, 2, 2, 2, 2}},
        {"rem.s32", 0xfffffff9, 3, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}}, /* -7 % 3 = -1 */
        {"shl.b32", 1, 32, 0, 0, 0, {4, 4, 4, 4, 4}},
        {"shl.b32", 1, 0xffffffff, 0, 0, 0, {4, 4, 4, 4, 4}},
        {"shr.s32", 0x80000000, 40, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}},
        {"shr.u32", 0x80000000, 32, 0, 0, 0, {4, 4, 4, 4, 4}},
        {"shr.s16", 0x8000, 15, 0, 0, 0xffff, {2, 4, 4, 4, 2}},
        {"abs.s32", 0x80000000, 0, 0, 0, 0x80000000, {4, 4, 4, 4, 4}},
        {"bfind.u32", 0, 0, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}},
        {"bfind.s32", 0xffffffff, 0, 0, 0, 0xffffffff, {4, 4, 4, 4, 4}},
        {"bfind.shiftamt.u32", 1, 0, 0, 0, 31, {4, 4, 4, 4, 4}},
        {"bfe.s32", 0x000000f0, 4, 4, 0, 0xffffffff, {4, 4, 4, 4, 4}},
        {"bfe.u32", 0x000000f0, 4, 4, 0, 0xf, {4, 4, 4, 4, 4}},
        {"bfi.b32", 0xff, 0, 8, 4, 0xf00, {4, 4, 4, 4, 4}},
        {"prmt.b32", 0x44332211, 0x88776655, 0x7531, 0, 0x88664422, {4, 4, 4, 4, 4}},
        {"shf.l.wrap.b32", 0x80000000, 1, 1, 0, 3, {4, 4, 4, 4, 4}},
        {"bmsk.clamp.b32", 4, 8, 0, 0, 0xff0, {4, 4, 4, 4, 4}},
        {"mul.hi.u32", 0xffffffff, 0xffffffff, 0, 0, 0xfffffffe, {4, 4, 4, 4, 4}},
        {"mul.wide.s32", 0xffffffff, 2, 0, 0, 0xfffffffffffffffe, {4, 4, 4, 4, 8}},
        {"mul.wide.u16", 0xffff, 0xffff, 0, 0, 0xfffe0001, {2, 2, 2, 2, 4}},
        {"fns.b32", 0xf0, 5, 0xfffffffe, 0, 4, {4, 4, 4, 4, 4}},
        {"szext.wrap.s32", 0x80, 8, 0, 0, 0xffffff80, {4, 4, 4, 4, 4}},
        {"lop3.b32",
         0xf0f0f0f0,
         0xcccccccc,
         0xaaaaaaaa,
         0x96,
         0x96969696,
         {4, 4, 4, 4, 4}},
        {"dp4a.u32.u32", 0x01020304, 0x01010101, 5, 0, 15, {4, 4, 4, 4, 4}},
        {"sad.u32", 3, 10, 100, 0, 107, {4, 4, 4, 4, 4}},
        /* (x+1)(x+1) = x^2+1; x^63 x^63 = x^126 */
        {"clmad.lo.u64", 3, 3, 0, 0, 5, {8, 8, 8, 8, 8}},
        {"clmad.hi.u64",
         (uint64_t)1 << 63,
         (uint64_t)1 << 63,
         1,
         0,
         ((uint64_t)1 << 62) + 1,
         {8, 8, 8, 8, 8}},
    };
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(t); k++) {
        struct ptx_inst in;
        uint32_t aux;
        union util_row s[4], d = {0};
        assert_true(util_inst(&in, t[k].form));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        for (unsigned i = 0; i < LANES; i++) {
            util_set(&s[0], t[k].bytes[0], i, t[k].a);
            util_set(&s[1], t[k].bytes[1], i, t[k].b);
            util_set(&s[2], t[k].bytes[2], i, t[k].c);
            util_set(&s[3], t[k].bytes[3], i, t[k].d);
        }
        fn((void *const[]){&d, NULL}, (const void *const[]){&s[0], &s[1], &s[2], &s[3]},
           UINT32_MAX, aux);
        for (unsigned i = 0; i < LANES; i++)
            if (util_get(&d, t[k].bytes[4], i) != t[k].want)
                fail_msg("%s: %llx", t[k].form,
                         (unsigned long long)util_get(&d, t[k].bytes[4], i));
    }
}

/* Predicate logic works on whole masks; p is written even where q shares its place. */
static void
test_predicates(void **state)
{
    static const struct {
        const char *form;
        uint32_t want;
    } t[] = {{"and.pred", 0x0c0c0c0c & 0x0a0a0a0a},
             {"or.pred", 0x0c0c0c0c | 0x0a0a0a0a},
             {"xor.pred", 0x0c0c0c0c ^ 0x0a0a0a0a},
             {"not.pred", 0xf3f3f3f3},
             {"mov.pred", 0x0c0c0c0c}};
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(t); k++)
        for (size_t m = 0; m < UTIL_COUNT(util_masks); m++) {
            struct ptx_inst in;
            uint32_t aux, d = 0x13579bdf, a = 0x0c0c0c0c, b = 0x0a0a0a0a,
                          mask = util_masks[m];
            assert_true(util_inst(&in, t[k].form));
            lane_fn *fn = lane_select(&in, &aux);
            assert_non_null(fn);
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, NULL, NULL}, mask,
               aux);
            assert_int_equal(d, (0x13579bdf & ~mask) | (t[k].want & mask));
        }
    struct ptx_inst in;
    uint32_t aux, p = 0;
    union util_row a = {.w = {1, 5}}, b = {.w = {2, 2}};
    assert_true(util_inst(&in, "setp.lt.u32"));
    lane_fn *fn = lane_select(&in, &aux);
    assert_non_null(fn);
    fn((void *const[]){&p, &p}, (const void *const[]){&a, &b, NULL, NULL}, 3, aux);
    assert_int_equal(p, 1);
    p = 0;
    fn((void *const[]){&p, NULL}, (const void *const[]){&a, &b, NULL, NULL}, 3, aux);
    assert_int_equal(p, 1);
}

/* add, min, max of pairs of 16 bits, and with .relu: element by element. */
static void
test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        int op; /* 0: sum, 1: least, 2: largest */
        bool is_signed, relu, one;
    } t[] = {{"add.u16x2", 0, false, false, false},
             {"add.s16x2", 0, true, false, false},
             {"min.u16x2", 1, false, false, false},
             {"min.s16x2", 1, true, false, false},
             {"max.u16x2", 2, false, false, false},
             {"max.s16x2", 2, true, false, false},
             {"min.relu.s16x2", 1, true, true, false},
             {"max.relu.s16x2", 2, true, true, false},
             {"min.relu.s32", 1, true, true, true},
             {"max.relu.s32", 2, true, true, true}};
    uint64_t rng = 11;
    const struct lane_variant *v[4];
    size_t nv = lane_variants(v);
    for (size_t k = 0; k < UTIL_COUNT(t) * nv; k++) {
        size_t f = k / nv;
        struct ptx_inst in;
        uint32_t aux;
        if (!util_inst(&in, t[f].form))
            fail_msg("no row for %s", t[f].form);
        lane_fn *fn = lane_select_in(v[k % nv], &in, &aux);
        assert_non_null(fn);
        for (unsigned round = 0; round < 200; round++) {
            union util_row a, b, d = {0};
            for (unsigned i = 0; i < LANES; i++) {
                util_set(&a, 4, i, util_value(&rng, 4, false));
                util_set(&b, 4, i, util_value(&rng, 4, false));
            }
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &a, &a},
               0xffff00ff, aux);
            for (unsigned i = 0; i < LANES; i++) {
                uint64_t x = util_get(&a, 4, i), y = util_get(&b, 4, i), want = 0;
                unsigned w = t[f].one ? 32 : 16;
                for (unsigned e = 0; e < 32; e += w) {
                    wide p = t[f].is_signed ? sign_extend(x >> e, w)
                                            : (wide)low(x >> e, w),
                         q = t[f].is_signed ? sign_extend(y >> e, w)
                                            : (wide)low(y >> e, w);
                    wide r = t[f].op == 0 ? p + q : (t[f].op == 1) == (p < q) ? p : q;
                    want |= low(t[f].relu && r < 0 ? 0 : r, w) << e;
                }
                if (!(0xffff00ff >> i & 1))
                    want = 0;
                if (util_get(&d, 4, i) != want)
                    fail_msg(
                        "%s (%s) of %llx, %llx gives %llx, not %llx", t[f].form,
                        v[k % nv]->name, (unsigned long long)x, (unsigned long long)y,
                        (unsigned long long)util_get(&d, 4, i), (unsigned long long)want);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_reference),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
