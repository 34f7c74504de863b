/* lanes_ops.h: the vocabulary of the `value` column of opcodes.def.
 *
 * A value is SHAPE(expression). The expression gives one lane's result; it may use
 *   T             the C type of the first written type; T2: of the second; TW: twice
 *                 as wide
 *   A B C         sources as T; A2 B2 C2: as T2; CW: the third as TW
 *   RAWA RAWB     the first two without the flush
 *   BU CU DU      second, third, fourth source as uint32_t
 *   W             bits of T
 *   modifiers     RND FTZ SAT HI PREC NANS XORSIGN WRAP RIGHT SHIFTAMT PMODE TESTP CMP
 *   MAGNITUDE(x)  |x| if .abs is given
 * and the helpers below and in fp.h. Floating-point sources are flushed if .ftz is given.
 *
 *   shape         result
 *   EACH          T; no modifiers
 *   MIXED         the same with sources of other widths
 *   MODS, SATF    T; modifiers tested in each lane (SATF: .sat rare, the rest fast)
 *   PARTS         T; .lo and .hi
 *   WIDE          TW
 *   GIVES32       .b32
 *   TWO, TWOPARTS .b32, of two written types (TWOPARTS: .lo and .hi)
 *   TWOFTZ        T, of two written types, .ftz concerns the second
 *   CARRY         T; CF is the lane's carry flag, written back with .cc
 *   FLOAT         T; .ftz .sat and, of f32, the canonical NaN are applied to the result
 *   FLOATP        the same for rows with .approx
 *   RAWFLOAT      T; no canonical NaN
 *   FLOAT2        f32x2: one element, of EA, EB, EC, the elements of the sources; .ftz applied
 *   MIXEDF        f32 of sources of two types: NA NB are f16 or bf16 as f32, B and C f32
 *   PREDICATE     predicate
 *   COMPARE(a, b) p and q of setp; COMPAREF(a, b): of floating point; COMPARE2(a, b): set
 *   PAIR16        u16x2, s16x2 or s32: one element of XA, XB, the elements of the sources
 *   HALF          f16, bf16 or a pair: the value of one element as a double, of HA, HB,
 *                 HC, the elements of the sources; rounded once, .ftz .sat .relu applied
 *   HALFBITS      the same of bits: HX, the element of source a
 *   COMPAREH, COMPAREH2  setp and set of such elements
 *   TO_HALF2, TO_E8, TO_E6, TO_E4, FROM_E8, FROM_NARROW, PACK3  cvt to and from pairs
 *   SELECT(a, b, n) a where the predicate source n holds, else b
 *   MASKS         predicate; A and B are whole masks
 *   CONVERT_II, _IF, _FI, _FF  cvt to and from integers (I) and floating point (F)
 * Sources of semantics: PTX ISA 9.0, 9.7.1 to 9.7.9. */
#ifndef ALLOT_EXEC_LANES_OPS_H
#define ALLOT_EXEC_LANES_OPS_H

#include "exec/lanes/fp_half.h"

#define IS_SIGNED(x) ((__typeof__(x))-1 < (__typeof__(x))1)

/* Wrapping arithmetic in the type of a. */
#define INT_WRAP(a, op, b)                                                               \
    ((__typeof__(a))_Generic((a), uint64_t                                               \
                             : (uint64_t)(a)op(uint64_t)(b), int64_t                     \
                             : (uint64_t)(a)op(uint64_t)(b), default                     \
                             : (uint32_t)(a)op(uint32_t)(b)))
/* .sat exists for s32 only. */
#define INT_SAT(a, op, b)                                                                \
    ((__typeof__(a))int_clamp_s32((int64_t)(int32_t)(a)op(int64_t)(int32_t)(b)))
#define int_add(a, b, sat) ((sat) ? INT_SAT(a, +, b) : INT_WRAP(a, +, b))
#define int_sub(a, b, sat) ((sat) ? INT_SAT(a, -, b) : INT_WRAP(a, -, b))
#define int_mul_lo(a, b) INT_WRAP(a, *, b)

static inline int32_t
int_relu(int32_t a)
{
    return a < 0 ? 0 : a;
}

static inline int32_t
int_clamp_s32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

/* cvt between integers, to the type T in scope; .sat clamps. */
#define int_convert(a, sat)                                                              \
    ((T)((sat) && IS_SIGNED(a) && (a) < 1 && (a) != 0                                    \
             ? ((int64_t)(a) < INT_LEAST(T) ? INT_LEAST(T) : (int64_t)(a))               \
         : (sat) && (uint64_t)(a) > INT_MOST(T) ? (int64_t)INT_MOST(T)                   \
                                                : (int64_t)(a)))
#define INT_MOST(T) (UINT64_MAX >> (64 - 8 * sizeof(T) + ((T)-1 < (T)1)))
#define INT_LEAST(T) ((T)-1 < (T)1 ? -(int64_t)INT_MOST(T) - 1 : 0)

#define int_mul_hi(a, b)                                                                 \
    ((__typeof__(a))_Generic(                                                            \
        (a), uint16_t                                                                    \
        : (uint32_t)(a) * (uint32_t)(b) >> 16, int16_t                                   \
        : (int32_t)(a) * (int32_t)(b) >> 16, uint32_t                                    \
        : (uint64_t)(a) * (uint64_t)(b) >> 32, int32_t                                   \
        : (int64_t)(a) * (int64_t)(b) >> 32, uint64_t                                    \
        : (uint64_t)((unsigned __int128)(a) * (unsigned __int128)(b) >> 64), int64_t     \
        : (int64_t)((__int128)(a) * (__int128)(b) >> 64)))

/* 48-bit product of the lower 24 bits: bits 31..0, or 47..16. */
#define int_mul24(a, b, hi)                                                              \
    ((__typeof__(a))(IS_SIGNED(a)                                                        \
                         ? (uint64_t)((int64_t)((int32_t)((uint32_t)(a) << 8) >> 8) *    \
                                      ((int32_t)((uint32_t)(b) << 8) >> 8)) >>           \
                               ((hi) ? 16 : 0)                                           \
                         : (uint64_t)((a)&0xffffff) * (uint64_t)((b)&0xffffff) >>        \
                               ((hi) ? 16 : 0)))

/* Division by zero gives all ones for quotient and remainder, as ptxas' routines do and a
 * card answers (docs/ptx.md). Up to 32 bits a quotient in double is exact after truncation
 * and can be vectorised. */
#define int_div(a, b)                                                                    \
    ((__typeof__(a))_Generic((a), uint64_t                                               \
                             : int_div_u64, int64_t                                      \
                             : int_div_s64, uint32_t                                     \
                             : int_div_u32, uint16_t                                     \
                             : int_div_u32, default                                      \
                             : int_div_s32)(a, b))
#define int_rem(a, b)                                                                    \
    ((__typeof__(a))_Generic((a), uint64_t                                               \
                             : int_rem_u64, int64_t                                      \
                             : int_rem_s64, uint32_t                                     \
                             : int_rem_u32, uint16_t                                     \
                             : int_rem_u32, default                                      \
                             : int_rem_s32)(a, b))

static inline uint32_t
int_div_u32(uint32_t a, uint32_t b)
{
    uint32_t q = (uint32_t)((double)a / (double)(b ? b : 1));
    return b ? q : UINT32_MAX;
}

static inline uint32_t
int_rem_u32(uint32_t a, uint32_t b)
{
    uint32_t q = (uint32_t)((double)a / (double)(b ? b : 1));
    return b ? a - q * b : UINT32_MAX;
}

static inline uint32_t
int_magnitude(int32_t a)
{
    return a < 0 ? 0 - (uint32_t)a : (uint32_t)a;
}

static inline uint32_t
int_div_s32(int32_t a, int32_t b)
{
    uint32_t q = int_div_u32(int_magnitude(a), int_magnitude(b));
    return b ? ((a ^ b) < 0 ? 0 - q : q) : UINT32_MAX;
}

static inline uint32_t
int_rem_s32(int32_t a, int32_t b)
{
    uint32_t r = int_rem_u32(int_magnitude(a), int_magnitude(b));
    return b ? (a < 0 ? 0 - r : r) : UINT32_MAX;
}

static inline uint64_t
int_div_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static inline uint64_t
int_rem_u64(uint64_t a, uint64_t b)
{
    return b ? a % b : UINT64_MAX;
}

static inline int64_t
int_div_s64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline int64_t
int_rem_s64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? 0 : a % b;
}

/* Sum with carry, in the type of a. A difference is a + ~b + carry, on cards: after it the
 * flag says `no borrow`, which shows where additions and subtractions share it. */
#define carry_add(a, b, cin, cout)                                                       \
    ((__typeof__(a))_Generic((a), uint64_t                                               \
                             : carry_add64, int64_t                                      \
                             : carry_add64, default                                      \
                             : carry_add32)(a, b, cin, cout))

static inline uint32_t
carry_add32(uint32_t a, uint32_t b, uint32_t cin, uint32_t *cout)
{
    uint64_t s = (uint64_t)a + b + cin;
    *cout = (uint32_t)(s >> 32);
    return (uint32_t)s;
}

static inline uint64_t
carry_add64(uint64_t a, uint64_t b, uint32_t cin, uint32_t *cout)
{
    uint64_t s = a + b, t = s + cin;
    *cout = (s < a) | (t < s);
    return t;
}

/* -- bits -- */

#define bits_popc(a) _Generic((a), uint64_t : bits_popc64, default : bits_popc32)(a)
#define bits_clz(a) _Generic((a), uint64_t : bits_clz64, default : bits_clz32)(a)
#define bits_brev(a) _Generic((a), uint64_t : bits_brev64, default : bits_brev32)(a)

static inline uint32_t
bits_popc32(uint32_t v)
{
    v = v - (v >> 1 & 0x55555555u);
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0fu;
    return v * 0x01010101u >> 24;
}

static inline uint32_t
bits_popc64(uint64_t v)
{
    return bits_popc32((uint32_t)v) + bits_popc32((uint32_t)(v >> 32));
}

static inline uint32_t
bits_clz32(uint32_t v)
{
    return v ? (uint32_t)__builtin_clz(v) : 32;
}

static inline uint32_t
bits_clz64(uint64_t v)
{
    return v ? (uint32_t)__builtin_clzll(v) : 64;
}

/* Half of the product of polynomials over GF(2), bit i the coefficient of x^i. */
static inline uint64_t
bits_clmul(uint64_t a, uint64_t b, bool hi)
{
    unsigned __int128 sum = 0;
    for (unsigned i = 0; i < 64; i++)
        sum ^= b >> i & 1 ? (unsigned __int128)a << i : 0;
    return (uint64_t)(hi ? sum >> 64 : sum);
}

static inline uint32_t
bits_brev32(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

static inline uint64_t
bits_brev64(uint64_t v)
{
    return (uint64_t)bits_brev32((uint32_t)v) << 32 | bits_brev32((uint32_t)(v >> 32));
}

/* Place of the highest bit that differs from the sign (of unsigned: that is set). */
#define bits_find(a, shiftamt)                                                           \
    _Generic((a), uint64_t                                                               \
             : bits_find64, int64_t                                                      \
             : bits_find64, default                                                      \
             : bits_find32)(IS_SIGNED(a) && (a) < 1 && (a) != 0 ? ~(a) : (a), shiftamt)

static inline uint32_t
bits_find32(uint32_t v, bool shiftamt)
{
    uint32_t n = bits_clz32(v);
    return v == 0 ? UINT32_MAX : shiftamt ? n : 31 - n;
}

static inline uint32_t
bits_find64(uint64_t v, bool shiftamt)
{
    uint32_t n = bits_clz64(v);
    return v == 0 ? UINT32_MAX : shiftamt ? n : 63 - n;
}

/* The offset-th set bit of mask from base, upward or downward. */
static inline uint32_t
bits_fns(uint32_t mask, uint32_t base, int32_t offset)
{
    if (offset == INT32_MIN) /* ptxas' code compares a count with -offset, signed */
        return 0;
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int32_t p = (int32_t)base; p >= 0 && p<32; p += offset> 0 ? 1 : -1)
        if ((mask >> p & 1) && --left == 0)
            return (uint32_t)p;
    return UINT32_MAX;
}

/* Place and length of a bit field: of 32-bit words their lowest byte counts. Of 64-bit
 * words the ISA says so too, but ptxas shifts by all of them. */
static inline uint32_t
bits_place(uint32_t v, uint32_t w)
{
    v = w == 32 ? v & 255 : v;
    return v < w ? v : w;
}

/* bfe: len bits from pos, sign-extended for signed types with the last bit of the field
 * that lies within the word. */
#define bits_extract(a, pos, len)                                                        \
    ((__typeof__(a))bits_extract64((uint64_t)(a), IS_SIGNED(a), 8 * sizeof(a), pos, len))

static inline uint64_t
bits_extract64(uint64_t a, bool is_signed, uint32_t w, uint32_t pos, uint32_t len)
{
    pos = bits_place(pos, w);
    len = bits_place(len, w);
    uint32_t last = pos + len - 1 < w - 1 ? pos + len - 1 : w - 1;
    uint64_t fill = is_signed && len && (a >> last & 1) ? UINT64_MAX : 0;
    uint64_t word = w == 32 ? a & UINT32_MAX : a;
    /* The word above its top bit is filled, then the field is cut out. */
    uint64_t shifted = pos < w ? word >> pos : 0;
    uint32_t have = pos < w ? w - pos : 0, n = len < have ? len : have;
    uint64_t keep = n >= 64 ? UINT64_MAX : ((uint64_t)1 << (n & 63)) - 1;
    return (shifted & keep) | (fill & ~keep);
}

#define bits_insert(a, b, pos, len)                                                      \
    ((__typeof__(a))bits_insert64((uint64_t)(a), (uint64_t)(b), 8 * sizeof(a), pos, len))

static inline uint64_t
bits_insert64(uint64_t a, uint64_t b, uint32_t w, uint32_t pos, uint32_t len)
{
    pos = bits_place(pos, w);
    len = bits_place(len, w);
    uint64_t ones = len >= 64 ? UINT64_MAX : ((uint64_t)1 << (len & 63)) - 1;
    uint64_t field = pos < w ? ones << (pos & 63) : 0;
    return (b & ~field) | ((pos < w ? a << (pos & 63) : 0) & field);
}

#define bits_szext(a, b, wrap)                                                           \
    ((__typeof__(a))bits_szext32((uint32_t)(a), IS_SIGNED(a), b, wrap))

static inline uint32_t
bits_szext32(uint32_t a, bool is_signed, uint32_t b, bool wrap)
{
    uint32_t n = b & 31;
    bool all = b > 31 && !wrap; /* clamp: the whole word */
    uint32_t above = all ? 0 : UINT32_MAX << n;
    bool negative = is_signed && n && !all && (a >> ((n - 1) & 31) & 1);
    return (a & ~above) | (negative ? above : 0);
}

/* bmsk: b ones from bit a. */
static inline uint32_t
bits_mask(uint32_t a, uint32_t b, bool wrap)
{
    uint32_t pos = a & 31, n = b & 31;
    uint32_t from = !wrap && a > 31 ? 0 : UINT32_MAX << pos;
    bool over = pos + n > 31 || (!wrap && (a > 31 || b > 31));
    uint32_t beyond = over ? 0 : UINT32_MAX << ((pos + n) & 31);
    return from & ~beyond;
}

static inline uint32_t
bits_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t lut)
{
    uint32_t r = 0;
    for (int k = 0; k < 8; k++) {
        uint32_t term = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        r |= term & (0 - (lut >> k & 1));
    }
    return r;
}

/* shf: the pair b:a shifted; its upper word (left) or lower word (right). */
static inline uint32_t
bits_funnel(uint32_t a, uint32_t b, uint32_t n, bool right, bool wrap)
{
    uint64_t v = (uint64_t)b << 32 | a;
    n = wrap ? n & 31 : n < 32 ? n : 32;
    return (uint32_t)(right ? v >> n : v << n >> 32);
}

/* prmt. mode: 0 generic, then f4e b4e rc8 ecl ecr rc16. */
static inline uint32_t
bits_permute(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t n = c & 3, r = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t sel = 0, byte;
        switch (mode) {
        case 0:
            sel = c >> 4 * i & 15;
            break;
        case 1:
            sel = n + i;
            break;
        case 2:
            sel = (n - i) & 7;
            break;
        case 3:
            sel = n;
            break;
        case 4:
            sel = i > n ? i : n;
            break;
        case 5:
            sel = i < n ? i : n;
            break;
        default:
            sel = (n & 1) * 2 + (i & 1);
            break;
        }
        byte = (uint32_t)(v >> 8 * (sel & 7)) & 255;
        if (sel & 8) /* the byte's sign, eight times */
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}

#define dp4a(a, b, c)                                                                    \
    dp4a_bits((uint32_t)(a), IS_SIGNED(a), (uint32_t)(b), IS_SIGNED(b), c)
#define dp2a(a, b, c, hi)                                                                \
    dp2a_bits((uint32_t)(a), IS_SIGNED(a), (uint32_t)(b), IS_SIGNED(b), c, hi)

static inline uint32_t
dp4a_bits(uint32_t a, bool sa, uint32_t b, bool sb, uint32_t c)
{
    for (int k = 0; k < 32; k += 8) {
        uint32_t x = a >> k & 255, y = b >> k & 255;
        x = sa ? (uint32_t)(int8_t)x : x;
        y = sb ? (uint32_t)(int8_t)y : y;
        c += x * y;
    }
    return c;
}

static inline uint32_t
dp2a_bits(uint32_t a, bool sa, uint32_t b, bool sb, uint32_t c, bool hi)
{
    for (int k = 0; k < 2; k++) {
        uint32_t x = a >> 16 * k & 0xffff, y = b >> (8 * k + (hi ? 16 : 0)) & 255;
        x = sa ? (uint32_t)(int16_t)x : x;
        y = sb ? (uint32_t)(int8_t)y : y;
        c += x * y;
    }
    return c;
}

/* cvt.pack: a and b clamped to `bits` bits, b lowest, c above them. */
static inline uint32_t
cvt_pack(int32_t a, int32_t b, uint32_t c, unsigned bits, bool is_signed)
{
    int32_t most = (int32_t)((1u << (bits - is_signed)) - 1),
            least = is_signed ? -most - 1 : 0;
    a = a > most ? most : a < least ? least : a;
    b = b > most ? most : b < least ? least : b;
    uint32_t keep = (1u << bits) - 1,
             pair = ((uint32_t)a & keep) << bits | ((uint32_t)b & keep);
    return bits == 16 ? pair : c << 2 * bits | pair;
}

/* Whether one of the relations in `cmp` (LC_...) holds between a and b. */
#define compare(cmp, a, b)                                                               \
    ((cmp) == LC_EQ                     ? (a) == (b)                                     \
     : (cmp) == (LC_LT | LC_GT | LC_UN) ? (a) != (b)                                     \
     : (cmp) == LC_LT                   ? (a) < (b)                                      \
     : (cmp) == (LC_LT | LC_EQ)         ? (a) <= (b)                                     \
     : (cmp) == LC_GT                   ? (a) > (b)                                      \
     : (cmp) == (LC_GT | LC_EQ)                                                          \
         ? (a) >= (b)                                                                    \
         : (((cmp)&LC_LT) && (a) < (b)) || (((cmp)&LC_EQ) && (a) == (b)) ||              \
               (((cmp)&LC_GT) && (a) > (b)) ||                                           \
               (((cmp)&LC_UN) && ((a) != (a) || (b) != (b))))

#endif
