/* lanes_cvt.c: every cvt - integers and floating point, all roundings, .sat and .ftz -
 * against 128-bit integers and MPFR, after the text of PTX ISA 9.7.9 (cvt). */
#include "unit/kit/lanes_util.h"

#if __has_include(<mpfr.h>)
#include "unit/kit/lanes_mpfr.h"

#include <math.h>

typedef __int128 wide;

static const unsigned ints[] = {PTX_U8,  PTX_S8,  PTX_U16, PTX_S16,
                                PTX_U32, PTX_S32, PTX_U64, PTX_S64};
static const unsigned floats[] = {PTX_BF16, PTX_F16, PTX_F32, PTX_F64};

static unsigned
bits_of(unsigned t)
{
    return 8u * ptx_types[t].bytes;
}

static bool
is_signed(unsigned t)
{
    return ptx_types[t].kind == PTX_K_SINT;
}

static bool
is_float(unsigned t)
{
    return ptx_types[t].kind == PTX_K_FLT;
}

static wide
least(unsigned t)
{
    return is_signed(t) ? -((wide)1 << (bits_of(t) - 1)) : 0;
}

static wide
most(unsigned t)
{
    return ((wide)1 << (bits_of(t) - is_signed(t))) - 1;
}

/* Low bits of a register as a number of type t. */
static wide
number(uint64_t v, unsigned t)
{
    wide w =
        (wide)(v & (bits_of(t) == 64 ? UINT64_MAX : ((uint64_t)1 << bits_of(t)) - 1));
    return is_signed(t) && w > most(t) ? w - ((wide)1 << bits_of(t)) : w;
}

/* A result of type t as its row shows it: s8 extended to 32 bits, others to the row by
 * zeros. */
static uint64_t
shown(wide v, unsigned t)
{
    if (t == PTX_S8)
        return (uint32_t)number((uint64_t)v, t);
    return (uint64_t)v &
           (bits_of(t) == 64 ? UINT64_MAX : ((uint64_t)1 << bits_of(t)) - 1);
}

static uint64_t
flush(uint64_t v, unsigned t, bool ftz)
{
    return ftz && t == PTX_F32 && !(v & 0x7f800000) ? v & 0x80000000 : v;
}

/* A NaN as a card converts it. With f64 sign and upper bits stay, made quiet; what only
 * moves bits keeps all; the rest gives the canonical one. */
static uint64_t
nan_bits(unsigned d, unsigned s, uint64_t v, bool integral, bool ftz)
{
    unsigned from = format_of(s).digits - 1, to = format_of(d).digits - 1;
    if (d == s && !integral && !ftz && (d == PTX_F32 || d == PTX_F64))
        return v;
    if (d == PTX_F32 && s == PTX_BF16 && !ftz)
        return v << 16 & UINT32_MAX;
    if (d != PTX_F64 && s != PTX_F64)
        return format_of(d).nan;
    if (ftz && s == PTX_F32)
        v = format_of(s).nan;
    uint64_t sign = v >> (format_of(s).bits - 1) & 1;
    uint64_t frac = (v << (52 - from) & 0xfffffffffffffu) | (uint64_t)1 << 51;
    uint64_t top = ((uint64_t)1 << (format_of(d).bits - 1 - to)) - 1;
    return sign << (format_of(d).bits - 1) | top << to | frac >> (52 - to);
}

/* Is it below the normal singles once rounded to 24 digits? */
static bool
tiny(const mpfr_t x, mpfr_rnd_t rnd)
{
    mpfr_t r, least;
    mpfr_init2(r, 24), mpfr_init2(least, 24);
    mpfr_set(r, x, rnd);
    mpfr_set_ui_2exp(least, 1, -126, MPFR_RNDN);
    bool is = mpfr_cmpabs(r, least) < 0;
    mpfr_clear(r), mpfr_clear(least);
    return is;
}

/* The whole conversion. `integral`: .rni and so on. */
static uint64_t
convert(unsigned d, unsigned s, uint64_t v, mpfr_rnd_t rnd, bool integral, bool ftz,
        bool sat)
{
    static mpfr_t x;
    static bool ready;
    if (!ready) {
        mpfr_init2(x, 128);
        ready = true;
    }
    if (!is_float(s) && !is_float(d)) {
        wide n = number(v, s);
        if (sat)
            n = n < least(d) ? least(d) : n > most(d) ? most(d) : n;
        return shown(n, d);
    }
    if (is_float(s)) {
        decode(x, flush(v, s, ftz && d != PTX_F16), s); /* ptxas leaves .ftz out there */
    } else {
        wide n = number(v, s);
        mpfr_set_uj(x, (uintmax_t)(n < 0 ? -n : n), MPFR_RNDN);
        if (n < 0)
            mpfr_neg(x, x, MPFR_RNDN);
    }
    if (integral && mpfr_number_p(x))
        mpfr_rint(x, x, rnd);
    if (!is_float(d)) {
        if (mpfr_nan_p(x)) /* 0, but 1 << (width - 1) from f64 or to 64 bits */
            return s != PTX_F64 && bits_of(d) < 64
                       ? 0
                       : shown((wide)1 << (bits_of(d) - 1), d);
        mpfr_t bound;
        mpfr_init2(bound, 128);
        mpfr_set_uj(bound, (uintmax_t)most(d), MPFR_RNDN);
        wide n;
        if (mpfr_cmp(x, bound) >= 0)
            n = most(d);
        else if (mpfr_sgn(x) >= 0)
            n = (wide)mpfr_get_uj(x, MPFR_RNDN);
        else if (mpfr_cmp_d(x, (double)least(d)) <= 0)
            n = least(d);
        else
            n = -(wide)mpfr_get_uj((mpfr_neg(x, x, MPFR_RNDN), x), MPFR_RNDN);
        mpfr_clear(bound);
        return shown(n, d);
    }
    if (sat) { /* to [0, 1], NaN to +0 */
        if (mpfr_nan_p(x) || mpfr_sgn(x) <= 0)
            mpfr_set_zero(x, 1);
        else if (mpfr_cmp_ui(x, 1) > 0)
            mpfr_set_ui(x, 1, MPFR_RNDN);
    }
    if (mpfr_nan_p(x))
        return nan_bits(d, s, v, integral, ftz);
    if (ftz && d == PTX_F32 && s == PTX_F64 && tiny(x, rnd))
        return (uint64_t)(mpfr_signbit(x) != 0) << 31;
    return flush(round_once(x, d, rnd), d, ftz);
}

static const char *const roundings[] = {"",     ".rn",  ".rz",  ".rm", ".rp",
                                        ".rni", ".rzi", ".rmi", ".rpi"};
static const mpfr_rnd_t mpfr_modes[] = {MPFR_RNDN, MPFR_RNDN, MPFR_RNDZ,
                                        MPFR_RNDD, MPFR_RNDU, MPFR_RNDN,
                                        MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};

/* Register contents to convert from: corners of the source and of the destination. */
static uint64_t
source_value(unsigned d, unsigned s, uint64_t k, uint64_t *rng)
{
    uint64_t r = splitmix_next(rng);
    if (!is_float(s)) {
        if (k % 3 == 0)
            return util_edges64[r % UTIL_COUNT(util_edges64)] + (r >> 20) % 3 - 1;
        return splitmix_next(rng) >> (r & 63);
    }
    if (s == PTX_F16 || s == PTX_BF16)
        return (k * 2654435761u >> 3 & 0xffff) | (r << 32); /* half of all half numbers */
    uint64_t e = s == PTX_F32 ? util_float32[r % UTIL_COUNT(util_float32)]
                              : util_float64[r % UTIL_COUNT(util_float64)];
    if (k % 3 == 0)
        return e;
    if (k % 3 == 1 || is_float(d)) { /* magnitudes around the destination's range */
        int top = is_float(d) ? (d == PTX_F16 ? 16 : 40) : (int)bits_of(d) + 1;
        int low = d == PTX_F16 ? -26 : -3;
        int64_t x = low + (int64_t)((r >> 8) % (uint64_t)(top - low + 1));
        if (is_float(d) && r & 16)
            x = (int64_t)((r >> 8) % 300) - 150;
        return s == PTX_F32 ? ((uint64_t)((x < -126  ? -126
                                           : x > 127 ? 127
                                                     : x) +
                                          127)
                                   << 23 |
                               (splitmix_next(rng) & 0x807fffff))
                            : ((uint64_t)(x + 1023) << 52 |
                               (splitmix_next(rng) & 0x800fffffffffffff));
    }
    return util_value(rng, ptx_types[s].bytes, true);
}

static unsigned long nforms, nchecks;

static void
run(const struct lane_variant *v, unsigned d, unsigned s, int mode, bool ftz, bool sat,
    unsigned nbatch)
{
    char form[64];
    struct ptx_inst in;
    uint32_t aux;
    snprintf(form, sizeof form, "cvt%s%s%s.%s.%s", roundings[mode], ftz ? ".ftz" : "",
             sat ? ".sat" : "", ptx_types[d].text, ptx_types[s].text);
    if (!util_inst(&in, form))
        fail_msg("no row for %s", form);
    lane_fn *fn = lane_select_in(v, &in, &aux);
    if (!fn)
        fail_msg("no lane function for %s", form);
    nforms++;
    uint64_t rng = d * 1000 + s;
    unsigned sbytes = ptx_types[s].bytes, dbytes = ptx_types[d].bytes;
    for (unsigned b = 0; b < nbatch; b++) {
        union util_row src, got;
        for (unsigned i = 0; i < LANES; i++) { /* narrow types: junk above their bits */
            uint64_t x = source_value(d, s, b * LANES + i, &rng);
            util_set(&src, sbytes == 8 ? 8 : 4, i, x);
        }
        fn((void *const[]){&got, NULL}, (const void *const[]){&src, &src, &src, &src},
           UINT32_MAX, aux);
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t x = util_get(&src, sbytes == 8 ? 8 : 4, i);
            uint64_t have = util_get(&got, dbytes == 8 ? 8 : 4, i);
            uint64_t want = convert(d, s, x, mpfr_modes[mode], mode >= 5, ftz, sat);
            nchecks++;
            if (have != want)
                fail_msg("%s (%s) of %llx gives %llx, not %llx", form, v->name,
                         (unsigned long long)x, (unsigned long long)have,
                         (unsigned long long)want);
        }
    }
}

/* Least and largest value of an integer type. */
static double
bound(unsigned t, bool high)
{
    bool sign = ptx_types[t].kind == PTX_K_SINT;
    int bits = ptx_types[t].bytes * 8 - sign;
    return high ? ldexp(1, bits) - 1 : sign ? -ldexp(1, bits) : 0;
}

/* Does the ISA have it? .sat where there is something to clamp, .ftz where f32 is read or
 * written; bf16 has neither, nor conversions from and to 8 bits. */
static bool
legal(unsigned d, unsigned s, bool ftz, bool sat)
{
    bool bf = d == PTX_BF16 || s == PTX_BF16;
    if (!is_float(d) && !is_float(s))
        return !sat || bound(s, false) < bound(d, false) ||
               bound(s, true) > bound(d, true);
    if (ftz && d != PTX_F32 && s != PTX_F32)
        return false;
    if (bf && (ptx_types[d].bytes == 1 || ptx_types[s].bytes == 1))
        return false;
    return !(sat && bf);
}

static void
run_all(unsigned d, unsigned s, int mode, bool ftz, bool sat)
{
    const struct lane_variant *v[4];
    size_t nv = lane_variants(v);
    if (!legal(d, s, ftz, sat)) {
        char form[64];
        struct ptx_inst in;
        uint32_t aux;
        snprintf(form, sizeof form, "cvt%s%s%s.%s.%s", roundings[mode], ftz ? ".ftz" : "",
                 sat ? ".sat" : "", ptx_types[d].text, ptx_types[s].text);
        if (util_inst(&in, form) && lane_select(&in, &aux))
            fail_msg("%s is not refused", form);
        return;
    }
    run(v[nv - 1], d, s, mode, ftz, sat, 100);
    run(v[0], d, s, mode, ftz, sat, 20);
}

static void
test_int_to_int(void **state)
{
    (void)state;
    for (size_t d = 0; d < UTIL_COUNT(ints); d++)
        for (size_t s = 0; s < UTIL_COUNT(ints); s++)
            for (int sat = 0; sat < 2; sat++)
                run_all(ints[d], ints[s], 0, false, sat);
}

static void
test_float_to_int(void **state)
{
    (void)state;
    for (size_t d = 0; d < UTIL_COUNT(ints); d++)
        for (size_t s = 0; s < UTIL_COUNT(floats); s++)
            for (int mode = 5; mode < 9; mode++)
                for (int m = 0; m < 4; m++)
                    run_all(ints[d], floats[s], mode, m & 1, m & 2);
}

static void
test_int_to_float(void **state)
{
    (void)state;
    for (size_t d = 0; d < UTIL_COUNT(floats); d++)
        for (size_t s = 0; s < UTIL_COUNT(ints); s++)
            for (int mode = 1; mode < 5; mode++)
                for (int sat = 0; sat < 2; sat++)
                    run_all(floats[d], ints[s], mode, false, sat);
}

static void
test_float_to_float(void **state)
{
    (void)state;
    for (size_t d = 0; d < UTIL_COUNT(floats); d++)
        for (size_t s = 0; s < UTIL_COUNT(floats); s++)
            for (int mode = 0; mode < 9; mode++)
                for (int m = 0; m < 4; m++) {
                    /* f16 and bf16 hold numbers that the other does not */
                    bool narrower = d < s || (d == 1 && s == 0), same = d == s;
                    /* narrowing rounds, the same size may round to integral values */
                    if (narrower ? mode < 1 || mode > 4 : same ? mode && mode < 5 : mode)
                        continue;
                    run_all(floats[d], floats[s], mode, m & 1, m & 2);
                }
    print_message("%lu forms, %lu conversions checked\n", nforms, nchecks);
}

/* Worked out by hand. */
static void
test_by_hand(void **state)
{
    static const struct {
        const char *form;
        uint64_t a, want;
    } t[] = {
        {"cvt.s32.s8", 0xffffff80, 0xffffff80},
        {"cvt.u32.u8", 0xffffff80, 0x80},
        {"cvt.u32.s8", 0x80, 0xffffff80},
        {"cvt.s64.s32", 0x80000000, 0xffffffff80000000},
        {"cvt.u64.u32", 0x80000000, 0x80000000},
        {"cvt.sat.u8.s32", 0xffffffff, 0},
        {"cvt.sat.u8.s32", 300, 255},
        {"cvt.sat.s8.s32", 0xffffff00, 0xffffff80},
        {"cvt.s16.s32", 0x18000, 0x8000},
        {"cvt.sat.s32.u32", 0xffffffff, 0x7fffffff},
        {"cvt.rzi.s32.f32", 0xbfc00000, 0xffffffff},
        {"cvt.rni.s32.f32", 0x40200000, 2},
        {"cvt.rni.s32.f32", 0x40600000, 4},
        {"cvt.rpi.s32.f32", 0x3f800001, 2},
        {"cvt.rmi.s32.f32", 0xbf800001, 0xfffffffe},
        {"cvt.rzi.u32.f32", 0xbf800000, 0},
        {"cvt.rzi.u32.f32", 0x7f800000, 0xffffffff},
        {"cvt.rzi.s32.f32", 0x7fc00000, 0},
        {"cvt.rzi.s32.f64", 0x7ff8000000000000, 0x80000000},
        {"cvt.rzi.s64.f32", 0x7fc00000, 0x8000000000000000},
        {"cvt.rzi.u8.f32", 0x43960000, 255},
        {"cvt.rn.f32.s32", 0x01000001, 0x4b800000},
        {"cvt.rz.f32.u32", 0xffffffff, 0x4f7fffff},
        {"cvt.rn.f32.u32", 0xffffffff, 0x4f800000},
        {"cvt.rn.f16.f32", 0x477ff000, 0x7c00},
        {"cvt.rz.f16.f32", 0x477ff000, 0x7bff},
        {"cvt.f32.f16", 0x0001, 0x33800000},
        {"cvt.f32.f16", 0x3c00, 0x3f800000},
        {"cvt.sat.f32.f32", 0xbf800000, 0},
        {"cvt.sat.f32.f32", 0x7fc00000, 0},
        {"cvt.rni.f32.f32", 0xbe800000, 0x80000000},
        {"cvt.rpi.f32.f32", 0xbf000000, 0x80000000},
        {"cvt.f64.f32", 0x00000001, 0x36a0000000000000},
        {"cvt.ftz.f64.f32", 0x80000001, 0x8000000000000000},
        {"cvt.rn.ftz.f32.f64", 0x36a0000000000000, 0},
        {"cvt.rn.f32.f64", 0x36a0000000000000, 1},
        /* Answers of an H100. */
        {"cvt.rn.ftz.f32.f64", 0x380fffffe0000000, 0},
        {"cvt.rm.ftz.f16.f32", 0x807fffff, 0x8001},
        {"cvt.rn.f32.f64", 0x7ff0000000000001, 0x7fc00000},
        {"cvt.f64.f32", 0xfff180c2, 0xfffe301840000000},
        {"cvt.ftz.f64.f32", 0xffc00001, 0x7fffffffe0000000},
        {"cvt.f32.bf16", 0xfffe, 0xfffe0000},
        {"cvt.f32.f32", 0x7f800001, 0x7f800001},
        {"cvt.rz.f16.f64", 0xfff8000000000001, 0xfe00},
        {"cvt.rpi.f64.f64", 0x7ff0000000000001, 0x7ff8000000000001},
    };
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(t); k++) {
        struct ptx_inst in;
        uint32_t aux;
        union util_row a, d = {0};
        if (!util_inst(&in, t[k].form))
            fail_msg("no row for %s", t[k].form);
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        for (unsigned i = 0; i < LANES; i++)
            util_set(&a, ptx_types[in.type[1]].bytes == 8 ? 8 : 4, i, t[k].a);
        fn((void *const[]){&d, NULL}, (const void *const[]){&a, &a, &a, &a}, UINT32_MAX,
           aux);
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t have = util_get(&d, ptx_types[in.type[0]].bytes == 8 ? 8 : 4, i);
            if (have != t[k].want)
                fail_msg("%s of %llx gives %llx, not %llx", t[k].form,
                         (unsigned long long)t[k].a, (unsigned long long)have,
                         (unsigned long long)t[k].want);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int_to_int),   cmocka_unit_test(test_float_to_int),
        cmocka_unit_test(test_int_to_float), cmocka_unit_test(test_float_to_float),
        cmocka_unit_test(test_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void
test_needs_mpfr(void **state)
{
    (void)state;
    skip();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_needs_mpfr)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
