/* lanes_variant.c: the lane functions, expanded from the `value` column of opcodes.def:
 * one function per row, type and worthwhile combination of modifiers, and for the other
 * combinations one that reads them from aux. Vocabulary: lanes_ops.h.
 *
 * This file is compiled once per instruction-set variant with LANES_VARIANT set to the
 * variant's name, and with LANES_RARE for the plain one, whose rare functions serve all
 * (folder.cmake). Every function is a loop over 32 lanes for the compiler to vectorise;
 * lanes are independent, and a destination row is either exactly a source row or disjoint
 * from it, so iterations never depend on each other (where widths differ, a copy is made).
 * With a partial mask all lanes are computed - none can trap - and the result blended. */
#include "exec/lanes/lanes_int.h"
#include "exec/lanes/lanes_ops.h"
#include "exec/threaded/threaded.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wtype-limits"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wpass-failed"     /* a loop it cannot vectorise */
#pragma GCC diagnostic ignored "-Wunused-function" /* quick forms leave some out */
#define LANE_LOOP                                                                        \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < LANES; i++)
#elif __GNUC__ <                                                                         \
    12 /* takes no _Pragma in a macro's argument; it checks for overlap at run time */
#define LANE_LOOP for (unsigned i = 0; i < LANES; i++)
#else
#define LANE_LOOP _Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++)
#endif

/* -- types: C_ in C, R_ element of a row, U_ what a result is cut to (8-bit results stay
 * extended to 32 bits by their sign), TW_ twice as wide, ACC_ as wide as the row -- */
typedef uint32_t row_u32 __attribute__((may_alias));
typedef int32_t row_s32 __attribute__((may_alias));
typedef uint64_t row_u64 __attribute__((may_alias));
typedef int64_t row_s64 __attribute__((may_alias));
typedef float row_f32 __attribute__((may_alias));
typedef double row_f64 __attribute__((may_alias));

#define LANE_TYPE(t, C, R, U, WIDER)                                                     \
    typedef C C_##t;                                                                     \
    typedef R R_##t;                                                                     \
    typedef U U_##t;                                                                     \
    typedef WIDER TW_##t;
LANE_TYPE(u8, uint8_t, row_u32, uint8_t, uint16_t)
LANE_TYPE(s8, int8_t, row_u32, int8_t, int16_t)
LANE_TYPE(u16, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(s16, int16_t, row_u32, uint16_t, int32_t)
LANE_TYPE(b16, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(u32, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(s32, int32_t, row_s32, int32_t, int64_t)
LANE_TYPE(b32, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(u64, uint64_t, row_u64, uint64_t, uint64_t)
LANE_TYPE(s64, int64_t, row_s64, int64_t, int64_t)
LANE_TYPE(b64, uint64_t, row_u64, uint64_t, uint64_t)
LANE_TYPE(f16, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(bf16, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(f16x2, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(bf16x2, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(u16x2, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(s16x2, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(tf32, uint32_t, row_u32, uint32_t, uint64_t)
LANE_TYPE(e4m3x2, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(e5m2x2, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(e2m3x2, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(e3m2x2, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(ue8m0x2, uint16_t, row_u32, uint16_t, uint32_t)
LANE_TYPE(e2m1x2, uint8_t, row_u32, uint8_t, uint16_t)
LANE_TYPE(f32x2, uint64_t, row_u64, uint64_t, uint64_t)
LANE_TYPE(u4, uint8_t, row_u32, uint8_t, uint16_t)
LANE_TYPE(s4, int8_t, row_u32, int8_t, int16_t)
LANE_TYPE(f32, float, row_f32, float, double)
LANE_TYPE(f64, double, row_f64, double, double)
LANE_TYPE(pred, uint32_t, row_u32, uint32_t, uint32_t)

enum {
    ty_u8 = PTX_U8,
    ty_s8 = PTX_S8,
    ty_u16 = PTX_U16,
    ty_s16 = PTX_S16,
    ty_b16 = PTX_B16,
    ty_u32 = PTX_U32,
    ty_s32 = PTX_S32,
    ty_b32 = PTX_B32,
    ty_u64 = PTX_U64,
    ty_s64 = PTX_S64,
    ty_b64 = PTX_B64,
    ty_f16 = PTX_F16,
    ty_bf16 = PTX_BF16,
    ty_f16x2 = PTX_F16X2,
    ty_bf16x2 = PTX_BF16X2,
    ty_u16x2 = PTX_U16X2,
    ty_s16x2 = PTX_S16X2,
    ty_tf32 = PTX_TF32,
    ty_e4m3x2 = PTX_E4M3X2,
    ty_e5m2x2 = PTX_E5M2X2,
    ty_e2m3x2 = PTX_E2M3X2,
    ty_e3m2x2 = PTX_E3M2X2,
    ty_ue8m0x2 = PTX_UE8M0X2,
    ty_e2m1x2 = PTX_E2M1X2,
    ty_f32x2 = PTX_F32X2,
    ty_u4 = PTX_U4,
    ty_s4 = PTX_S4,
    ty_f32 = PTX_F32,
    ty_f64 = PTX_F64,
    ty_pred = PTX_PRED,
    ty_0 = 0
};

/* -- names for expressions -- */
#define W (8u * (unsigned)sizeof(T))
#define RND (M & LM_RND)
#define FTZ ((M & LM_FTZ) != 0)
#define SAT ((M & LM_SAT) != 0)
#define HI ((M & LM_HI) != 0)
#define PREC ((M & LM_PREC) >> 5)
#define NANS ((M & LM_NAN) != 0)
#define XORSIGN ((M & LM_XORSIGN) != 0)
#define MAGNITUDE(x) ((M & LM_ABS) ? fp_abs(x) : (x))
#define WRAP ((M & LM_WRAP) != 0)
#define RIGHT ((M & LM_RIGHT) != 0)
#define SHIFTAMT ((M & LM_SHIFTAMT) != 0)
#define RELU ((M & LM_RELU) != 0)
#define SATF ((M & LM_SATF) != 0)
#define RNA ((M & LM_RNA) != 0)
#define INTEGRAL ((M & LM_INTEGRAL) != 0)
#define PMODE ((M & LM_PRMT) >> 24)
#define TESTP ((M & LM_TESTP) >> 28)
#define CMP ((M & LM_CMP) >> 16)

#define SOURCE(T, R, s, i)                                                               \
    _Generic((T)0, float                                                                 \
             : fp_in_f32((float)((const R *)s)[i], FTZ), double                          \
             : (double)((const R *)s)[i], default                                        \
             : (T)((const R *)s)[i])
#define A SOURCE(T, RT, s0, i)
#define B SOURCE(T, RT, s1, BI)
#define C SOURCE(T, RT, s2, i)
#define A2 SOURCE(T2, RT2, s0, i)
#define B2 SOURCE(T2, RT2, s1, BI)
#define C2 SOURCE(T2, RT2, s2, i)
#define RAWA ((const RT *)s0)[i]
#define RAWB ((const RT *)s1)[BI]
/* The lane of the second source: of a quick form with a constant there is one. */
#ifdef LANES_QUICK
#define BI (one_b ? 0 : i)
#else
#define BI i
#endif
#define RAW32(s) (((const row_s32 *)(s))[i])
/* Elements of f16, bf16 and pairs: hs is the shift to the one meant. */
#define IS_BHALF(ty) ((ty) == PTX_BF16 || (ty) == PTX_BF16X2)
#define IS_PAIR(ty) ((ty) == PTX_F16X2 || (ty) == PTX_BF16X2)
#define HX half_flush(((const row_u32 *)s0)[i] >> hs & 0xffff, FTZ, IS_BHALF(TY1))
#define HALF_VALUE(s)                                                                    \
    fp_half_value(                                                                       \
        half_flush(((const row_u32 *)(s))[i] >> hs & 0xffff, FTZ, IS_BHALF(TY1)),        \
        IS_BHALF(TY1))
#define HA HALF_VALUE(s0)
#define HB HALF_VALUE(s1)
#define HC HALF_VALUE(s2)
#define HALF_AT(shift, ...)                                                              \
    ({                                                                                   \
        enum { hs = (shift) };                                                           \
        __VA_ARGS__;                                                                     \
    })
#define HALF_PAIR(ty, ...)                                                               \
    ((uint32_t)HALF_AT(0, __VA_ARGS__) |                                                 \
     (IS_PAIR(ty) ? (uint32_t)HALF_AT(16, __VA_ARGS__) << 16 : 0))
/* f16 or bf16 of a row with f32 too: the whole register. */
#define NARROW(s)                                                                        \
    ((float)fp_half_value(((const row_u32 *)(s))[i] & 0xffff, IS_BHALF(TY1)))
#define NA NARROW(s0)
#define NB NARROW(s1)
/* The element meant of a pair of f32. */
#define ELEMENT32(s)                                                                     \
    fp_in_f32(fp_float32((uint32_t)(((const row_u64 *)(s))[i] >> hs)), FTZ)
#define EA ELEMENT32(s0)
#define EB ELEMENT32(s1)
#define EC ELEMENT32(s2)
/* The element meant of a pair of integers; s32 (.relu) is one element. */
#define PAIR_ELEMENT(s)                                                                  \
    (TY0 == PTX_S32     ? RAW32(s)                                                       \
     : TY0 == PTX_S16X2 ? (int16_t)((uint32_t)RAW32(s) >> hs)                            \
                        : (int32_t)((uint32_t)RAW32(s) >> hs & 0xffff))
#define XA PAIR_ELEMENT(s0)
#define XB PAIR_ELEMENT(s1)
#define CVT_BITS (TY0 == PTX_U4 || TY0 == PTX_S4 ? 4 : W)
#define CW ((const RW *)s2)[i]
#define BU ((const row_u32 *)s1)[BI]
#define CU ((const row_u32 *)s2)[i]
#define DU ((const row_u32 *)s3)[i]
#define RESULT(v)                                                                        \
    _Generic((T)0, float                                                                 \
             : fp_out_f32((float)(v), FTZ, SAT), double                                  \
             : fp_out_f64((double)(v), FTZ, SAT), default                                \
             : (v))

/* -- the function around an expression -- */
#define P_none 0
#define P_ftz LM_FTZ
#define P_hi LM_HI
#define P_approx ((uint32_t)FP_APPROX << 5)
#define P_approxftz (P_approx | LM_FTZ)
#define P_rz ((uint32_t)FP_RZ)
#define P_rzi ((uint32_t)FP_RZ | LM_INTEGRAL)
#define P_eq (LC_EQ << 16)
#define P_ne ((LC_LT | LC_GT | LC_UN) << 16)
#define P_lt (LC_LT << 16)
#define P_le ((LC_LT | LC_EQ) << 16)
#define P_gt (LC_GT << 16)
#define P_ge ((LC_GT | LC_EQ) << 16)
#define P_ltu ((LC_LT | LC_UN) << 16)
#define P_leu ((LC_LT | LC_EQ | LC_UN) << 16)
#define P_gtu ((LC_GT | LC_UN) << 16)
#define P_geu ((LC_GT | LC_EQ | LC_UN) << 16)
#define P_eqftz (P_eq | LM_FTZ)
#define P_neftz (P_ne | LM_FTZ)
#define P_ltftz (P_lt | LM_FTZ)
#define P_leftz (P_le | LM_FTZ)
#define P_gtftz (P_gt | LM_FTZ)
#define P_geftz (P_ge | LM_FTZ)
#define P_ltuftz (P_ltu | LM_FTZ)
#define P_leuftz (P_leu | LM_FTZ)
#define P_gtuftz (P_gtu | LM_FTZ)
#define P_geuftz (P_geu | LM_FTZ)
#define P_any aux

#define FN_NAME(id, t0, t1, p) L_##id##_##t0##_##t1##_##p
#define FN_HEAD(id, t0, t1, p)                                                           \
    static void FN_NAME(id, t0, t1, p)(void *const d[2], const void *const s[4],         \
                                       uint32_t mask, uint32_t aux)
#define FN_TYPES(t0, t1, p)                                                              \
    typedef C_##t0 T;                                                                    \
    typedef R_##t0 RT;                                                                   \
    typedef U_##t0 UT;                                                                   \
    typedef TW_##t0 TW;                                                                  \
    typedef TW_##t0 RW __attribute__((may_alias));                                       \
    typedef C_##t1 T2;                                                                   \
    typedef R_##t1 RT2;                                                                  \
    const int TY0 = ty_##t0, TY1 = ty_##t1;                                              \
    const uint32_t M = P_##p;                                                            \
    const void *const s0 = s[0], *const s1 = s[1], *const s2 = s[2], *const s3 = s[3];   \
    (void)M, (void)aux, (void)s0, (void)s1, (void)s2, (void)s3;

static const uint32_t bit32[LANES] = {
#define BITS4(n) 1u << (n), 1u << ((n) + 1), 1u << ((n) + 2), 1u << ((n) + 3)
    BITS4(0), BITS4(4), BITS4(8), BITS4(12), BITS4(16), BITS4(20), BITS4(24), BITS4(28)};
static const uint64_t bit64[LANES] = {BITS4(0),  BITS4(4),  BITS4(8),  BITS4(12),
                                      BITS4(16), BITS4(20), BITS4(24), BITS4(28)};
#define LANE_BIT(R) (sizeof(R) == 8 ? bit64[i] : bit32[i])
#define ALL_LANES UINT32_MAX

/* The row of R from expressions of its lanes: straight into the destination... */
#define FILL(R, CUT, ...)                                                                \
    R *o = d[0];                                                                         \
    if (mask == ALL_LANES) {                                                             \
        LANE_LOOP o[i] = (R)(CUT)(__VA_ARGS__);                                          \
    } else {                                                                             \
        LANE_LOOP                                                                        \
        {                                                                                \
            R v = (R)(CUT)(__VA_ARGS__), old = o[i];                                     \
            o[i] = (mask & LANE_BIT(R)) != 0 ? v : old;                                  \
        }                                                                                \
    }
/* ...or through a copy: for other widths than the sources', and for large expressions. */
#define FILL_COPY(R, CUT, ...)                                                           \
    R row[LANES];                                                                        \
    LANE_LOOP row[i] = (R)(CUT)(__VA_ARGS__);                                            \
    R *o = d[0];                                                                         \
    if (mask == ALL_LANES) {                                                             \
        memcpy(o, row, sizeof row);                                                      \
    } else {                                                                             \
        LANE_LOOP                                                                        \
        {                                                                                \
            R old = o[i];                                                                \
            o[i] = (mask & LANE_BIT(R)) != 0 ? row[i] : old;                             \
        }                                                                                \
    }
/* Bit i of r: whether the expression holds in lane i. R: row of the sources. */
#define GATHER(r, R, ...)                                                                \
    uint32_t r = 0;                                                                      \
    if (sizeof(R) == 8) {                                                                \
        uint64_t acc = 0;                                                                \
        LANE_LOOP acc |= (__VA_ARGS__) ? bit64[i] : 0;                                   \
        r = (uint32_t)acc;                                                               \
    } else {                                                                             \
        LANE_LOOP r |= (__VA_ARGS__) ? bit32[i] : 0;                                     \
    }

static inline void
put_mask(void *p, uint32_t v, uint32_t mask)
{
    row_u32 *o = p;
    *o = (*o & ~mask) | (v & mask);
}

static inline uint32_t
combine(uint32_t r, uint32_t c, uint32_t aux)
{
    switch ((aux & LM_BOOL) >> 20) {
    case 1:
        return r & c;
    case 2:
        return r | c;
    case 3:
        return r ^ c;
    default:
        return r;
    }
}

/* q first: who has no use for it may pass p's place for it. */
static inline void
put_setp(void *const d[2], const void *s2, uint32_t r, uint32_t mask, uint32_t aux)
{
    uint32_t c = aux & LM_BOOL ? *(const row_u32 *)s2 : 0;
    uint32_t p = combine(r, c, aux), q = combine(~r, c, aux);
    if (d[1])
        put_mask(d[1], q, mask);
    put_mask(d[0], p, mask);
}

/* The same where q is not the contrary of p. */
static inline void
put_setph(void *const d[2], const void *s2, uint32_t p, uint32_t q, uint32_t mask,
          uint32_t aux)
{
    uint32_t c = aux & LM_BOOL ? *(const row_u32 *)s2 : 0;
    p = combine(p, c, aux);
    q = combine(q, c, aux);
    if (d[1])
        put_mask(d[1], q, mask);
    put_mask(d[0], p, mask);
}

/* -- cvt -- */

#define CVT_IF(t, x)                                                                     \
    _Generic(                                                                            \
        (C_##t)0, uint64_t                                                               \
        : fp_to_u64(x, RND), int64_t                                                     \
        : fp_to_s64(x, RND), default                                                     \
        : (C_##t)(sizeof(C_##t) == 4 && !IS_SIGNED((C_##t)0)                             \
                      ? (int64_t)(uint32_t)fp_clamp(x, RND, INT_LEAST(C_##t),            \
                                                    INT_MOST(C_##t), CVT_NAN(C_##t))     \
                      : (int32_t)fp_clamp(x, RND, INT_LEAST(C_##t), INT_MOST(C_##t),     \
                                          CVT_NAN(C_##t))))
/* NaN: 0, but 1 << (width - 1) from f64 (and for 64-bit results, in fp_to_...). */
#define CVT_NAN(D)                                                                       \
    (!from_f64         ? 0.0                                                             \
     : IS_SIGNED((D)0) ? (double)INT_LEAST(D)                                            \
                       : (double)(INT_MOST(D) / 2 + 1))

static inline double
cvt_double_f16(uint16_t x, uint32_t M)
{
    return fp_from_half(x);
}

static inline double
cvt_double_f32(float x, uint32_t M)
{
    return x;
}

static inline double
cvt_double_f64(double x, uint32_t M)
{
    return x;
}

static inline double
cvt_double_bf16(uint16_t x, uint32_t M)
{
    return fp_half_value(x, true);
}

static inline uint16_t
cvt_narrow(double x, bool bhalf, uint32_t M)
{
    x = SAT ? fp_out_f64(x, false, true) : fp_relu(x, RELU);
    return fp_to_half(x, RND, bhalf, SATF);
}

/* From f64: a NaN stays one. */
static inline uint16_t
cvt_narrow_f64(double x, bool bhalf, uint32_t M)
{
    return x == x || SAT ? cvt_narrow(x, bhalf, M) : fp_half_nan(x, bhalf);
}

static inline uint16_t
cvt_half(double x, uint32_t M)
{
    return cvt_narrow(x, false, M);
}

static inline uint16_t
cvt_bhalf(double x, uint32_t M)
{
    return cvt_narrow(x, true, M);
}

/* -- half precision -- */

static inline uint32_t
half_flush(uint32_t h, bool ftz, bool bhalf)
{
    return ftz && !(h & (bhalf ? 0x7f80 : 0x7c00)) ? h & 0x8000 : h;
}

/* neg and abs are additions on cards: a NaN gives the canonical one. */
static inline uint32_t
half_number(uint32_t h, bool bhalf)
{
    return (h & 0x7fff) > (bhalf ? 0x7f80 : 0x7c00) ? FP_NAN16 : h;
}

/* What every half-precision result goes through. */
static inline uint16_t
half_out(double x, bool bhalf, uint32_t M)
{
    if (SAT)
        x = x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
    return (uint16_t)half_flush(fp_to_half(fp_relu(x, RELU), FP_RN, bhalf, false), FTZ,
                                bhalf);
}

#define CVT_MAGNITUDE(v) IS_SIGNED(v) && (v) < 1 ? 0 - (uint64_t)(v) : (uint64_t)(v)
#define CVT_NEGATIVE(v) (IS_SIGNED(v) && (v) < 1 && (v) != 0)
#define CVT_FI_f64(v)                                                                    \
    fp_out_f64(RND == FP_RN || sizeof(v) < 8                                             \
                   ? (double)(v)                                                         \
                   : fp_soft_int_to_f64(CVT_NEGATIVE(v), CVT_MAGNITUDE(v), RND),         \
               false, SAT)
#define CVT_FI_f32(v)                                                                    \
    fp_out_f32(RND == FP_RN ? (float)(v)                                                 \
               : sizeof(v) < 8                                                           \
                   ? fp_round32((double)(v), RND)                                        \
                   : fp_soft_int_to_f32(CVT_NEGATIVE(v), CVT_MAGNITUDE(v), RND),         \
               false, SAT)
#define CVT_FI_f16(v)                                                                    \
    (SAT ? ((v) < 1 ? 0 : 0x3c00)                                                        \
         : fp_soft_int_to_half(CVT_NEGATIVE(v), CVT_MAGNITUDE(v), RND))

#define CVT_FI_bf16(v)                                                                   \
    (SAT ? ((v) < 1 ? 0 : 0x3f80)                                                        \
         : fp_soft_int_to_bhalf(CVT_NEGATIVE(v), CVT_MAGNITUDE(v), RND))

static inline float
cvt_f32_f32(float x, uint32_t M)
{
    float r = fp_out_f32(INTEGRAL ? fp_integral_f32(x, RND) : x, FTZ, SAT);
    return INTEGRAL || FTZ || SAT ? r : x;
}

static inline float
cvt_f32_f64(double x, uint32_t M)
{
    float r = fp_single(x, RND);
    r = SAT ? fp_out_f32(r, false, SAT) : r;
    return FTZ && fp_tiny(x, RND) ? fp_copysign_f32(r, 0.0f) : r;
}

static inline float
cvt_f32_f16(uint16_t x, uint32_t M)
{
    return fp_out_f32(fp_from_half(x), FTZ, SAT);
}

static inline double
cvt_f64_f64(double x, uint32_t M)
{
    double r = INTEGRAL ? fp_integral_f64(x, RND) : x;
    return fp_out_f64(INTEGRAL ? fp_nan1(r, x) : r, FTZ, SAT);
}

static inline double
cvt_widen(float x, uint32_t M)
{
    return fp_out_f64(fp_widen(x), FTZ, SAT);
}

static inline double
cvt_f64_f32(float x, uint32_t M)
{
    return cvt_widen(FTZ ? fp_out_f32(x, FTZ, false) : x, M);
}

static inline double
cvt_f64_f16(uint16_t x, uint32_t M)
{
    return cvt_widen(fp_from_half(x), M);
}

static inline float
cvt_f32_bf16(uint16_t x, uint32_t M)
{
    float r =
        fp_float32((uint32_t)x << 16); /* the bits, unless something is to be done */
    return FTZ || SAT ? fp_out_f32(r, FTZ, SAT) : r;
}

static inline double
cvt_f64_bf16(uint16_t x, uint32_t M)
{
    return cvt_widen(fp_float32((uint32_t)x << 16), M);
}

static inline uint16_t
cvt_bf16_bf16(uint16_t x, uint32_t M)
{
    float v = (float)fp_half_value(x, true);
    return cvt_bhalf(INTEGRAL ? fp_integral_f32(v, RND) : v, M);
}

static inline uint16_t
cvt_bf16_f16(uint16_t x, uint32_t M)
{
    return cvt_bhalf(fp_from_half(x), M);
}

static inline uint16_t
cvt_bf16_f32(float x, uint32_t M)
{
    return cvt_bhalf(x, M);
}

static inline uint16_t
cvt_bf16_f64(double x, uint32_t M)
{
    return cvt_narrow_f64(x, true, M);
}

static inline uint16_t
cvt_f16_bf16(uint16_t x, uint32_t M)
{
    return cvt_half(fp_half_value(x, true), M);
}

static inline uint16_t
cvt_f16_f16(uint16_t x, uint32_t M)
{
    float v = fp_from_half(x);
    return cvt_half(INTEGRAL ? fp_integral_f32(v, RND) : v, M);
}

static inline uint16_t
cvt_f16_f32(float x, uint32_t M)
{
    return cvt_half(x, M);
}

static inline uint16_t
cvt_f16_f64(double x, uint32_t M)
{
    return cvt_narrow_f64(x, false, M);
}

/* -- shapes: LANE_SHAPE(expression) becomes generator, expression; the generator is
 * applied to the row's types and calls FUNC(row, types, modifiers, body) for each
 * function -- */
#define LANE_NOVALUE GEN_NONE, 0
#define LANE_EACH(...) GEN_EACH, __VA_ARGS__
#define LANE_MIXED(...) GEN_MIXED, __VA_ARGS__
#define LANE_MODS(...) GEN_MODS, __VA_ARGS__
#define LANE_SATF(...) GEN_SATF, __VA_ARGS__
#define LANE_PARTS(...) GEN_PARTS, __VA_ARGS__
#define LANE_WIDE(...) GEN_WIDE, __VA_ARGS__
#define LANE_GIVES32(...) GEN_GIVES32, __VA_ARGS__
#define LANE_TWO(...) GEN_TWO, __VA_ARGS__
#define LANE_TWOPARTS(...) GEN_TWO, __VA_ARGS__
#define LANE_TWOFTZ(...) GEN_TWOFTZ, __VA_ARGS__
#define LANE_CARRY(...) GEN_CARRY, __VA_ARGS__
#define LANE_FLOAT(...) GEN_FLOAT, __VA_ARGS__
#define LANE_FLOAT2(...) GEN_FLOAT2, __VA_ARGS__
#define LANE_MIXEDF(...) GEN_MIXEDF, __VA_ARGS__
#define LANE_TO_E6(...) GEN_TO_E6, __VA_ARGS__
#define LANE_TO_E4(...) GEN_TO_E4, __VA_ARGS__
#define LANE_FROM_NARROW(...) GEN_FROM_NARROW, __VA_ARGS__
#define LANE_FLOATP(...) GEN_FLOATP, __VA_ARGS__
#define LANE_RAWFLOAT(...) GEN_RAWFLOAT, __VA_ARGS__
#define LANE_PREDICATE(...) GEN_PREDICATE, __VA_ARGS__
#define LANE_COMPARE(...) GEN_COMPARE, __VA_ARGS__
#define LANE_COMPAREF(...) GEN_COMPAREF, __VA_ARGS__
#define LANE_COMPARE2(...) GEN_COMPARE2, __VA_ARGS__
#define LANE_HALF(...) GEN_HALF, __VA_ARGS__
#define LANE_HALFBITS(...) GEN_HALFBITS, __VA_ARGS__
#define LANE_PAIR16(...) GEN_PAIR16, __VA_ARGS__
#define LANE_COMPAREH(...) GEN_COMPAREH, __VA_ARGS__
#define LANE_COMPAREH2(...) GEN_COMPAREH2, __VA_ARGS__
#define LANE_TO_HALF2(...) GEN_TO_HALF2, __VA_ARGS__
#define LANE_TO_E8(...) GEN_TO_E8, __VA_ARGS__
#define LANE_FROM_E8(...) GEN_FROM_E8, __VA_ARGS__
#define LANE_PACK3(...) GEN_TWO, __VA_ARGS__
#define LANE_SELECT(...) GEN_SELECT, __VA_ARGS__
#define LANE_MASKS(...) GEN_MASKS, __VA_ARGS__
#define LANE_CONVERT_II(...) GEN_CONVERT_II, __VA_ARGS__
#define LANE_CONVERT_IF(...) GEN_CONVERT_IF, __VA_ARGS__
#define LANE_CONVERT_FI(...) GEN_CONVERT_FI, __VA_ARGS__
#define LANE_CONVERT_FF(...) GEN_CONVERT_FF, __VA_ARGS__

#undef TS
#undef TS2
#undef TS3
#define TS(set) SET_##set
#define TS2(set0, set1) (SET_##set0, SET_##set1)
#define TS3(set0, set1, set2) (SET_##set0, SET_##set1) /* the third has one type */
#define OP(id, mnemonic, operands, types, groups, unit, lat, flags, value)               \
    OP_APPLY(id, types, LANE_##value)
#define OP_APPLY(id, types, ...) OP_APPLY2(id, types, __VA_ARGS__)
#define OP_APPLY2(id, types, gen, ...) gen(id, types, __VA_ARGS__)

#define GEN_NONE(id, types, ...)
#define GEN_EACH(id, set, ...) set(EACH_T, EACH_T, id, __VA_ARGS__)
#define GEN_MIXED(id, set, ...) set(MIXED_T, MIXED_T, id, __VA_ARGS__)
#define GEN_MODS(id, set, ...) set(MODS_T, MODS_T, id, __VA_ARGS__)
#define GEN_SATF(id, set, ...) set(SATF_T, SATF_T, id, __VA_ARGS__)
#define GEN_PARTS(id, set, ...) set(PARTS_T, PARTS_T, id, __VA_ARGS__)
#define GEN_WIDE(id, set, ...) set(WIDE_T, WIDE_T, id, __VA_ARGS__)
#define GEN_GIVES32(id, set, ...) set(GIVES32_T, GIVES32_T, id, __VA_ARGS__)
#define GEN_CARRY(id, set, ...) set(CARRY_T, CARRY_T, id, __VA_ARGS__)
#define GEN_FLOAT(id, set, ...) set(FLOAT_T, FLOAT_T, id, __VA_ARGS__)
#define GEN_FLOAT2(id, set, ...) set(FLOAT2_T, FLOAT2_T, id, __VA_ARGS__)
#define GEN_FLOATP(id, set, ...) set(FLOATP_T, FLOATP_T, id, __VA_ARGS__)
#define GEN_RAWFLOAT(id, set, ...) set(RAWFLOAT_T, RAWFLOAT_T, id, __VA_ARGS__)
#define GEN_PREDICATE(id, set, ...) set(PREDICATE_T, PREDICATE_T, id, __VA_ARGS__)
#define GEN_COMPARE(id, set, a, b) set(COMPARE_T, COMPARE_T, id, a, b)
#define GEN_COMPAREF(id, set, a, b) set(COMPAREF_T, COMPAREF_T, id, a, b)
#define GEN_HALF(id, set, ...) set(HALF_T, HALF_T, id, __VA_ARGS__)
#define GEN_HALFBITS(id, set, ...) set(HALFBITS_T, HALFBITS_T, id, __VA_ARGS__)
#define GEN_PAIR16(id, set, ...) set(PAIR16_T, PAIR16_T, id, __VA_ARGS__)
#define GEN_COMPAREH(id, set, a, b) set(COMPAREH_T, COMPAREH_T, id, a, b)
#define GEN_SELECT(id, set, a, b, n) set(SELECT_T, SELECT_T, id, a, b, n)
#define GEN_MASKS(id, set, ...) set(MASKS_T, MASKS_T, id, __VA_ARGS__)
#define FIRST_OF(a, b) a
#define SECOND_OF(a, b) b
#define PAIRS(T, types, ...) PAIRS2(T, FIRST_OF types, SECOND_OF types, __VA_ARGS__)
#define PAIRS2(T, set0, set1, ...) set0(PAIR_OUTER, PAIR_OUTER, T, set1, __VA_ARGS__)
#define PAIR_OUTER(t0, T, set1, ...) set1(T, T, t0, __VA_ARGS__)
#define GEN_TWO(id, types, ...) PAIRS(TWO_T, types, id, __VA_ARGS__)
#define GEN_TWOFTZ(id, types, ...) PAIRS(TWOFTZ_T, types, id, __VA_ARGS__)
#define GEN_COMPARE2(id, types, ...) PAIRS(COMPARE2_T, types, id, __VA_ARGS__)
#define GEN_COMPAREH2(id, types, ...) PAIRS(COMPAREH2_T, types, id, __VA_ARGS__)
#define GEN_TO_HALF2(id, types, ...) PAIRS(TO_HALF2_T, types, id, __VA_ARGS__)
#define GEN_TO_E8(id, types, ...) PAIRS(TO_E8_T, types, id, __VA_ARGS__)
#define GEN_FROM_E8(id, types, ...) PAIRS(FROM_E8_T, types, id, __VA_ARGS__)
#define GEN_MIXEDF(id, types, ...) PAIRS(MIXEDF_T, types, id, __VA_ARGS__)
#define GEN_TO_E6(id, types, ...) PAIRS(TO_E6_T, types, id, __VA_ARGS__)
#define GEN_TO_E4(id, types, ...) PAIRS(TO_E4_T, types, id, __VA_ARGS__)
#define GEN_FROM_NARROW(id, types, ...) PAIRS(FROM_NARROW_T, types, id, __VA_ARGS__)
#define GEN_CONVERT_II(id, types, ...) PAIRS(CONVERT_II_T, types, id, __VA_ARGS__)
#define GEN_CONVERT_IF(id, types, ...) PAIRS(CONVERT_IF_T, types, id, __VA_ARGS__)
#define GEN_CONVERT_FI(id, types, ...) PAIRS(CONVERT_FI_T, types, id, __VA_ARGS__)
#define GEN_CONVERT_FF(id, types, ...) PAIRS(CONVERT_FF_T, types, id, __VA_ARGS__)

#define EACH_T(t, id, ...) FUNC1(id, t, none, FILL(RT, UT, __VA_ARGS__))
#define MIXED_T(t, id, ...)                                                              \
    FUNC1(                                                                               \
        id, t, none, if (sizeof(RT) == 8) {                                              \
            FILL_COPY(RT, UT, __VA_ARGS__)                                               \
        } else {FILL(RT, UT, __VA_ARGS__)})
#define MODS_T(t, id, ...) FUNC1(id, t, any, FILL_COPY(RT, UT, __VA_ARGS__))
#define SATF_T(t, id, ...)                                                               \
    FUNC1(id, t, none, FILL(RT, UT, __VA_ARGS__))                                        \
    RARE1(id, t, any, FILL_COPY(RT, UT, __VA_ARGS__))
#define PARTS_T(t, id, ...)                                                              \
    FUNC1(id, t, none, FILL(RT, UT, __VA_ARGS__))                                        \
    FUNC1(id, t, hi, FILL(RT, UT, __VA_ARGS__))                                          \
    RARE1(id, t, any, FILL_COPY(RT, UT, __VA_ARGS__))
#define WIDE_T(t, id, ...) FUNC1(id, t, none, FILL_COPY(RW, RW, __VA_ARGS__))
#define GIVES32_T(t, id, ...) FUNC1(id, t, any, FILL_COPY(row_u32, uint32_t, __VA_ARGS__))
#define FLOAT_T(t, id, ...)                                                              \
    FUNC1(id, t, none, FILL(RT, UT, RESULT(__VA_ARGS__)))                                \
    FUNC1(id, t, ftz, FILL(RT, UT, RESULT(__VA_ARGS__)))                                 \
    FUNC1(id, t, rz, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))                             \
    RARE1(id, t, any, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))
#define FLOATP_T(t, id, ...)                                                             \
    FUNC1(id, t, none, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))                           \
    FUNC1(id, t, ftz, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))                            \
    FUNC1(id, t, approx, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))                         \
    FUNC1(id, t, approxftz, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))                      \
    RARE1(id, t, any, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))
#define FLOAT2_T(t, id, ...)                                                             \
    FUNC1(id, t, none, FILL_COPY(RT, UT, PAIR32(__VA_ARGS__)))                           \
    RARE1(id, t, any, FILL_COPY(RT, UT, PAIR32(__VA_ARGS__)))
#define OUT32(v) fp_bits32(fp_out_f32((float)(v), FTZ, false))
#define PAIR32(...)                                                                      \
    ((uint64_t)HALF_AT(0, OUT32(__VA_ARGS__)) |                                          \
     (uint64_t)HALF_AT(32, OUT32(__VA_ARGS__)) << 32)
#define MIXEDF_T(t1, t0, id, ...)                                                        \
    FUNC2(id, t0, t1, any, FILL_COPY(RT, UT, RESULT(__VA_ARGS__)))
#define RAWFLOAT_T(t, id, ...)                                                           \
    FUNC1(id, t, none, FILL(RT, UT, __VA_ARGS__))                                        \
    FUNC1(id, t, ftz, FILL(RT, UT, __VA_ARGS__))
#define TWO_T(t1, t0, id, ...)                                                           \
    FUNC2(id, t0, t1, any, FILL_COPY(row_u32, uint32_t, __VA_ARGS__))
#define TWOFTZ_T(t1, t0, id, ...) FUNC2(id, t0, t1, any, FILL_COPY(RT, UT, __VA_ARGS__))
#define PREDICATE_T(t, id, ...)                                                          \
    FUNC1(id, t, any, GATHER(r, RT, __VA_ARGS__) put_mask(d[0], r, mask);)
#define COMPARE_T(t, id, a, b)                                                           \
    COMPARE_P(t, id, eq, a, b)                                                           \
    COMPARE_P(t, id, ne, a, b)                                                           \
    COMPARE_P(t, id, lt, a, b)                                                           \
    COMPARE_P(t, id, le, a, b)                                                           \
    COMPARE_P(t, id, gt, a, b)                                                           \
    COMPARE_P(t, id, ge, a, b)                                                           \
    COMPARE_RARE(t, id, any, a, b)
#define COMPAREF_T(t, id, a, b)                                                          \
    COMPARE_T(t, id, a, b)                                                               \
    COMPARE_P(t, id, ltu, a, b)                                                          \
    COMPARE_P(t, id, leu, a, b)                                                          \
    COMPARE_P(t, id, gtu, a, b)                                                          \
    COMPARE_P(t, id, geu, a, b)                                                          \
    COMPARE_P(t, id, eqftz, a, b)                                                        \
    COMPARE_P(t, id, neftz, a, b)                                                        \
    COMPARE_P(t, id, ltftz, a, b)                                                        \
    COMPARE_P(t, id, leftz, a, b)                                                        \
    COMPARE_P(t, id, gtftz, a, b)                                                        \
    COMPARE_P(t, id, geftz, a, b)                                                        \
    COMPARE_P(t, id, ltuftz, a, b)                                                       \
    COMPARE_P(t, id, leuftz, a, b)                                                       \
    COMPARE_P(t, id, gtuftz, a, b)                                                       \
    COMPARE_P(t, id, geuftz, a, b)
#define COMPARE_P(t, id, p, a, b)                                                        \
    FUNC1(id, t, p, GATHER(r, RT, compare(CMP, a, b)) put_setp(d, s2, r, mask, aux);)
#define COMPARE_RARE(t, id, p, a, b)                                                     \
    RARE1(id, t, p, GATHER(r, RT, compare(CMP, a, b)) put_setp(d, s2, r, mask, aux);)
/* set: all ones or 1.0 where true. */
#define TRUE_VALUE                                                                       \
    (TY0 == PTX_F16 || TY0 == PTX_F16X2     ? 0x3c00                                     \
     : TY0 == PTX_BF16 || TY0 == PTX_BF16X2 ? 0x3f80                                     \
     : TY0 == PTX_F32                       ? 1                                          \
                                            : -1)
#define HALF_T(t, id, ...)                                                               \
    FUNC1(id, t, none,                                                                   \
          FILL_COPY(RT, UT, HALF_PAIR(TY0, half_out(__VA_ARGS__, IS_BHALF(TY0), M))))    \
    RARE1(id, t, any,                                                                    \
          FILL_COPY(RT, UT, HALF_PAIR(TY0, half_out(__VA_ARGS__, IS_BHALF(TY0), M))))
#define HALFBITS_T(t, id, ...)                                                           \
    FUNC1(id, t, any, FILL_COPY(RT, UT, HALF_PAIR(TY0, __VA_ARGS__)))
#define PAIR16_T(t, id, ...)                                                             \
    FUNC1(id, t, any,                                                                    \
          FILL_COPY(RT, UT,                                                              \
                    TY0 == PTX_S32                                                       \
                        ? (UT)HALF_AT(0, __VA_ARGS__)                                    \
                        : (UT)((uint32_t)(uint16_t)HALF_AT(0, __VA_ARGS__) |             \
                               (uint32_t)(uint16_t)HALF_AT(16, __VA_ARGS__) << 16)))
/* Of a pair p is about the lower half, q about the upper. */
#define COMPAREH_T(t, id, a, b)                                                          \
    FUNC1(id, t, any,                                                                    \
          GATHER(lo, RT, HALF_AT(0, compare(CMP, a, b)))                                 \
              GATHER(hi, RT, HALF_AT(16, compare(CMP, a, b)))                            \
                  put_setph(d, s2, lo, IS_PAIR(TY0) ? hi : ~lo, mask, aux);)
#define COMPAREH2_T(t1, t0, id, a, b)                                                    \
    FUNC2(id, t0, t1, any,                                                               \
          GATHER(lo, RT2, HALF_AT(0, compare(CMP, a, b)))                                \
              GATHER(hi, RT2, HALF_AT(16, compare(CMP, a, b))) uint32_t c =              \
                  aux & LM_BOOL ? *(const row_u32 *)s2 : 0;                              \
          lo = combine(lo, c, aux); hi = combine(hi, c, aux);                            \
          FILL(RT, UT,                                                                   \
               IS_PAIR(TY1) ? (lo & bit32[i] ? (uint32_t)TRUE_VALUE & 0xffff : 0) |      \
                                  (hi & bit32[i] ? (uint32_t)TRUE_VALUE << 16 : 0)       \
                            : (lo & bit32[i] ? (uint32_t)TRUE_VALUE : 0)))
#define TO_HALF2_T(t1, t0, id, a, b)                                                     \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT,                                                              \
                    (uint32_t)cvt_narrow(a, IS_BHALF(TY0), M) << 16 |                    \
                        cvt_narrow(b, IS_BHALF(TY0), M)))
#define TO_E8_T(t1, t0, id, a, b)                                                        \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT,                                                              \
                    fp_to_e8(a, TY0 == PTX_E5M2X2, RELU) << 8 |                          \
                        fp_to_e8(b, TY0 == PTX_E5M2X2, RELU)))
#define TO_E6_T(t1, t0, id, a, b)                                                        \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT,                                                              \
                    fp_to_e6(a, TY0 == PTX_E3M2X2, RELU) << 8 |                          \
                        fp_to_e6(b, TY0 == PTX_E3M2X2, RELU)))
#define TO_E4_T(t1, t0, id, a, b)                                                        \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT, fp_to_e4(a, RELU) << 4 | fp_to_e4(b, RELU)))
#define FROM_NARROW_T(t1, t0, id, a, b)                                                  \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT, (uint32_t)cvt_half(a, M) << 16 | cvt_half(b, M)))
#define FROM_E8_T(t1, t0, id, a)                                                         \
    FUNC2(id, t0, t1, any,                                                               \
          FILL_COPY(RT, UT,                                                              \
                    (uint32_t)cvt_half(fp_from_e8(a >> 8, TY1 == PTX_E5M2X2), M) << 16 | \
                        cvt_half(fp_from_e8(a & 0xff, TY1 == PTX_E5M2X2), M)))
#define COMPARE2_T(t1, t0, id, a, b)                                                     \
    FUNC2(id, t0, t1, any,                                                               \
          GATHER(r, RT2, compare(CMP, a, b)) uint32_t c =                                \
              aux & LM_BOOL ? *(const row_u32 *)s2 : 0;                                  \
          r = combine(r, c, aux); FILL(RT, UT, r & bit32[i] ? TRUE_VALUE : 0))
#define SELECT_T(t, id, a, b, n)                                                         \
    FUNC1(id, t, none, const uint32_t p = *(const row_u32 *)s##n;                        \
          FILL(RT, UT, (p & LANE_BIT(RT)) != 0 ? a : b))
#define MASKS_T(t, id, ...)                                                              \
    FUNC1(id, t, none, const unsigned i = 0; put_mask(d[0], __VA_ARGS__, mask);)
#define CARRY_T(t, id, ...)                                                              \
    FUNC1(                                                                               \
        id, t, any, uint32_t cin = 0, cout = 0; RT row[LANES];                           \
        if (ptx_op_reads_cc(PTX_OP_##id)) cin = *(row_u32 *)d[1];                        \
        for (unsigned i = 0; i < LANES; i++) {                                           \
            uint32_t CF = cin >> i & 1;                                                  \
            row[i] = __VA_ARGS__;                                                        \
            cout |= CF << i;                                                             \
        } FILL(RT, UT, row[i]) if (M & LM_CC) put_mask(d[1], cout, mask);)
#define CONVERT_II_T(t1, t0, id, ...)                                                    \
    FUNC2(id, t0, t1, none, FILL_COPY(RT, UT, __VA_ARGS__))                              \
    RARE2(id, t0, t1, any, FILL_COPY(RT, UT, __VA_ARGS__))
#define CONVERT_IF_T(t1, t0, id, ...)                                                    \
    CONVERT_IF_P(t1, t0, id, rzi, __VA_ARGS__) CONVERT_IF_P(t1, t0, id, any, __VA_ARGS__)
#define CONVERT_IF_P(t1, t0, id, p, x)                                                   \
    FUNC2(id, t0, t1, p, const bool from_f64 = ty_##t1 == ty_f64; (void)from_f64;        \
          FILL_COPY(RT, UT, CVT_IF(t0, cvt_double_##t1(x, M))))
#define CONVERT_FI_T(t1, t0, id, x)                                                      \
    FUNC2(id, t0, t1, none, FILL_COPY(RT, UT, CVT_FI_##t0(x)))                           \
    RARE2(id, t0, t1, any, FILL_COPY(RT, UT, CVT_FI_##t0(x)))
#define CONVERT_FF_T(t1, t0, id, x)                                                      \
    FUNC2(id, t0, t1, none, FILL_COPY(RT, UT, cvt_##t0##_##t1(x, M)))                    \
    FUNC2(id, t0, t1, ftz, FILL_COPY(RT, UT, cvt_##t0##_##t1(x, M)))                     \
    FUNC2(id, t0, t1, any, FILL_COPY(RT, UT, cvt_##t0##_##t1(x, M)))

#define ptx_op_reads_cc(op)                                                              \
    ((op) == PTX_OP_ADDC || (op) == PTX_OP_SUBC || (op) == PTX_OP_MADC)

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

/* RARE1, RARE2: the function for modifiers that have none of their own, beside those that
 * have. The plain variant's serves all variants: a third of the compile time of one. */
#define LEFT_OUT(...)
#ifndef LANES_QUICK
/* First the functions, then their list. */
#define FUNC1(id, t, p, ...)                                                             \
    FN_HEAD(id, t, 0, p)                                                                 \
    {                                                                                    \
        FN_TYPES(t, t, p) __VA_ARGS__                                                    \
    }
#define FUNC2(id, t0, t1, p, ...)                                                        \
    FN_HEAD(id, t0, t1, p)                                                               \
    {                                                                                    \
        FN_TYPES(t0, t1, p) __VA_ARGS__                                                  \
    }
#ifdef LANES_RARE
#define RARE1 FUNC1
#define RARE2 FUNC2
#else
#define RARE1 LEFT_OUT
#define RARE2 LEFT_OUT
#endif
#include "ptx/opcodes.def"
#undef FUNC1
#undef FUNC2
#undef P_any
#define P_any LM_ANY
#define FUNC1(id, t, p, ...)                                                             \
    {PTX_OP_##id, {ty_##t, 0}, (uint32_t)(P_##p), FN_NAME(id, t, 0, p)},
#define FUNC2(id, t0, t1, p, ...)                                                        \
    {PTX_OP_##id, {ty_##t0, ty_##t1}, (uint32_t)(P_##p), FN_NAME(id, t0, t1, p)},
#ifndef LANES_RARE
#undef RARE1
#undef RARE2
#define RARE1(id, t, p, ...) {PTX_OP_##id, {ty_##t, 0}, (uint32_t)(P_##p), NULL},
#define RARE2(id, t0, t1, p, ...)                                                        \
    {PTX_OP_##id, {ty_##t0, ty_##t1}, (uint32_t)(P_##p), NULL},
#endif

static const struct lane_entry entries[] = {
#include "ptx/opcodes.def"
};

#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
#define VARIANT(name)                                                                    \
    extern const struct lane_variant JOIN(lanes_variant_, name);                         \
    const struct lane_variant JOIN(lanes_variant_, name) = {                             \
        TEXT(name), entries, sizeof entries / sizeof *entries};
VARIANT(LANES_VARIANT)
#ifdef LANES_ALSO /* a variant with quick forms of its own and these functions */
VARIANT(LANES_ALSO)
#endif

#else
/* The quick forms (threaded.h) of the same list: one destination, no LM_BOOL, types of whole
 * registers, modifiers that are not read from aux. Each three times: sources
 * anywhere, any lanes; all in registers and all lanes; the second one a constant in the
 * record and all lanes. */
#define QUICK_NAME(id, t0, t1, p, w) JOIN(FN_NAME(id, t0, t1, p), w)
#define QUICK_ONE(id, t0, t1, n, p, w, a, b, c, is_one, lanes, ...)                      \
    static const struct quick *QUICK_NAME(id, t0, n, p, w)(QUICK_ARGS)                   \
    {                                                                                    \
        if ((uint32_t)active != (lanes))                                                 \
            return QUICK_NAME(id, t0, n, p, _xx)(QUICK_PASS);                            \
        void *const d[2] = {regs + ip->d, NULL};                                         \
        const void *const s[4] = {a, b, c, NULL};                                        \
        const uint32_t mask = (lanes), aux = 0;                                          \
        enum { one_b = is_one };                                                         \
        {FN_TYPES(t0, t1, p) __VA_ARGS__} QUICK_NEXT;                                    \
    }
#define ANYWHERE(x) quick_source(regs, consts, ip->x)
#define QUICK_ALL(id, t0, t1, n, p, ...)                                                 \
    QUICK_ONE(id, t0, t1, n, p, _xx, ANYWHERE(a), ANYWHERE(b), ANYWHERE(c), 0,           \
              (uint32_t)active, __VA_ARGS__)                                             \
    QUICK_ONE(id, t0, t1, n, p, _rr, regs + ip->a, regs + ip->b, regs + ip->c, 0,        \
              ALL_LANES, __VA_ARGS__)                                                    \
    QUICK_ONE(id, t0, t1, n, p, _ri, regs + ip->a, &ip->value, regs + ip->c, 1,          \
              ALL_LANES, __VA_ARGS__)
#define QUICK_LIST(id, t0, n, p)                                                         \
    {{QUICK_NAME(id, t0, n, p, _rr), QUICK_NAME(id, t0, n, p, _ri),                      \
      QUICK_NAME(id, t0, n, p, _xx)}},

/* Which modifiers and types have them. */
#define QT_u32 1
#define QT_s32 1
#define QT_b32 1
#define QT_u64 1
#define QT_s64 1
#define QT_b64 1
#define QT_f32 1
#define QT_f64 1
#define QT_pred 1
#define QT_u8 0
#define QT_s8 0
#define QT_u16 0
#define QT_s16 0
#define QT_b16 0
#define QT_f16 0
#define QT_bf16 0
#define QT_f16x2 0
#define QT_bf16x2 0
#define QT_u16x2 0
#define QT_s16x2 0
#define QT_tf32 0
#define QT_e4m3x2 0
#define QT_e5m2x2 0
#define QT_e2m3x2 0
#define QT_e3m2x2 0
#define QT_ue8m0x2 0
#define QT_e2m1x2 0
#define QT_f32x2 0
#define QT_u4 0
#define QT_s4 0
#define QP_none 1
#define QP_ftz 1
#define QP_hi 1
#define QP_approx 1
#define QP_approxftz 1
#define QP_rz 0
#define QP_rzi 1
#define QP_eq 1
#define QP_ne 1
#define QP_lt 1
#define QP_le 1
#define QP_gt 1
#define QP_ge 1
#define QP_ltu 1
#define QP_leu 1
#define QP_gtu 1
#define QP_geu 1
#define QP_eqftz 0
#define QP_neftz 0
#define QP_ltftz 0
#define QP_leftz 0
#define QP_gtftz 0
#define QP_geftz 0
#define QP_ltuftz 0
#define QP_leuftz 0
#define QP_gtuftz 0
#define QP_geuftz 0
#define QP_any 0
#define NO_ENTRY(...) {{NULL, NULL, NULL}},
#define IF_111(yes, no) yes
#define IF_110(yes, no) no
#define IF_101(yes, no) no
#define IF_100(yes, no) no
#define IF_011(yes, no) no
#define IF_010(yes, no) no
#define IF_001(yes, no) no
#define IF_000(yes, no) no
#define JOIN4(a, b, c, d) a##b##c##d
#define IF_QUICK(a, b, c) JOIN4(IF_, a, b, c)
#define FUNC1(id, t, p, ...) FUNC3(id, t, t, 0, p, __VA_ARGS__)
#define FUNC2(id, t0, t1, p, ...) FUNC3(id, t0, t1, t1, p, __VA_ARGS__)
#define RARE1 FUNC1
#define RARE2 FUNC2
#define FUNC3(id, t0, t1, n, p, ...)                                                     \
    IF_QUICK(QP_##p, QT_##t0, QT_##t1)(QUICK_ALL, LEFT_OUT)(id, t0, t1, n, p, __VA_ARGS__)
#include "ptx/opcodes.def"
#undef FUNC3
#define FUNC3(id, t0, t1, n, p, ...)                                                     \
    IF_QUICK(QP_##p, QT_##t0, QT_##t1)(QUICK_LIST, NO_ENTRY)(id, t0, n, p)

extern const struct quick_lane JOIN(quick_lanes_, LANES_VARIANT)[];
const struct quick_lane JOIN(quick_lanes_, LANES_VARIANT)[] = {
#include "ptx/opcodes.def"
};
#endif
