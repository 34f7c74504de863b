/* lanes_fp.c: floating-point lane functions against MPFR: all rounding modes of the exact
 * operations over edge values and random bit patterns, .ftz and .sat, the error bounds
 * that PTX ISA 9.7.3 states for the approximate ones, minimum, maximum, comparison and
 * class against references on bit patterns, and the special cases of the ISA's tables by
 * hand. */
#include "unit/kit/lanes_util.h"

#if __has_include(<mpfr.h>)
#include <math.h>
#include <mpfr.h>

enum { NAN32 = 0x7fffffff };
static const uint64_t nan64 = 0xfff8000000000000u;

static uint32_t
f32_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static float
f32_of(uint32_t b)
{
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static uint64_t
f64_bits(double f)
{
    uint64_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static double
f64_of(uint64_t b)
{
    double f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static bool
is_nan(uint64_t v, bool wide)
{
    return wide ? (v & INT64_MAX) > 0x7ff0000000000000u : (v & INT32_MAX) > 0x7f800000u;
}

static uint64_t
flush32(uint64_t v)
{
    return (v & 0x7f800000) ? v : v & 0x80000000;
}

static void
load(mpfr_t m, uint64_t v, bool wide) /* exact */
{
    if (wide)
        mpfr_set_d(m, f64_of(v), MPFR_RNDN);
    else
        mpfr_set_flt(m, f32_of((uint32_t)v), MPFR_RNDN);
}

static uint64_t
store(mpfr_t m, bool wide)
{
    if (mpfr_nan_p(m))
        return wide ? nan64 : NAN32;
    return wide ? f64_bits(mpfr_get_d(m, MPFR_RNDN))
                : f32_bits(mpfr_get_flt(m, MPFR_RNDN));
}

enum op { ADD, SUB, MUL, FMA, DIV, SQRT, RCP };
static const struct {
    const char *name;
    int nsrc;
} ops[] = {{"add", 2}, {"sub", 2},  {"mul", 2}, {"fma", 3},
           {"div", 2}, {"sqrt", 1}, {"rcp", 1}};
static const mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
static const char *const mode_names[] = {"", ".rn", ".rz", ".rm", ".rp"};

/* Of f64 the NaN of an operand, quiet: as a card answers, and for two of them as docs/ptx.md
 * says. */
static uint64_t
nan_of(enum op op, const uint64_t v[3])
{
    static const int order[][3] = {
        [ADD] = {1, 0, -1}, [SUB] = {1, 0, -1},   [MUL] = {1, 0, -1}, [FMA] = {1, 2, 0},
        [DIV] = {0, 1, -1}, [SQRT] = {0, -1, -1}, [RCP] = {0, -1, -1}};
    for (int i = 0; i < 3 && order[op][i] >= 0; i++)
        if (is_nan(v[order[op][i]], true))
            return v[order[op][i]] | (uint64_t)1 << 51;
    return nan64;
}

/* The operation in the format, rounded once, subnormals included. */
static uint64_t
exact(enum op op, bool wide, mpfr_rnd_t rnd, const uint64_t v[3])
{
    static mpfr_t x, y, z, r[2];
    static bool ready;
    if (!ready) {
        mpfr_inits2(53, x, y, z, r[1], (mpfr_ptr)0);
        mpfr_init2(r[0], 24);
        ready = true;
    }
    mpfr_set_emin(wide ? -1073 : -148);
    mpfr_set_emax(wide ? 1024 : 128);
    load(x, v[0], wide);
    load(y, v[1], wide);
    load(z, v[2], wide);
    mpfr_ptr q = r[wide];
    int t = 0;
    switch (op) {
    case ADD:
        t = mpfr_add(q, x, y, rnd);
        break;
    case SUB:
        t = mpfr_sub(q, x, y, rnd);
        break;
    case MUL:
        t = mpfr_mul(q, x, y, rnd);
        break;
    case FMA:
        t = mpfr_fma(q, x, y, z, rnd);
        break;
    case DIV:
        t = mpfr_div(q, x, y, rnd);
        break;
    case SQRT:
        t = mpfr_sqrt(q, x, rnd);
        break;
    case RCP:
        t = mpfr_ui_div(q, 1, x, rnd);
        break;
    }
    mpfr_subnormalize(q, t, rnd);
    uint64_t b = store(q, wide);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    return wide && mpfr_nan_p(q) ? nan_of(op, v) : b;
}

static uint64_t
saturate(uint64_t v, bool wide)
{
    if (is_nan(v, wide) || v >> (wide ? 63 : 31))
        return 0;
    uint64_t one = wide ? f64_bits(1.0) : f32_bits(1.0f);
    return v > one ? one : v;
}

/* Sources of one batch: all pairs (or triples, sampled) of edges first, then random ones.
 */
static void
fill_sources(union util_row src[4], bool wide, uint64_t batch, uint64_t *rng)
{
    size_t n = wide ? UTIL_COUNT(util_float64) : UTIL_COUNT(util_float32);
    for (unsigned i = 0; i < LANES; i++) {
        uint64_t k = batch * LANES + i;
        for (unsigned s = 0; s < 3; s++) {
            uint64_t v = util_value(rng, wide ? 8 : 4, true);
            if (k < n * n && s < 2)
                v = wide ? util_float64[s ? k / n : k % n]
                         : util_float32[s ? k / n : k % n];
            util_set(&src[s], wide ? 8 : 4, i, v);
        }
        if (k % 5 == 4) { /* operands that nearly cancel */
            uint64_t a = util_get(&src[0], wide ? 8 : 4, i);
            uint64_t sign = wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
            util_set(&src[k & 16 ? 2 : 1], wide ? 8 : 4, i,
                     (a ^ sign) + splitmix_next(rng) % 5 - 2);
        }
    }
}

static void
run_exact(const struct lane_variant *v, enum op op, bool wide, int mode, bool ftz,
          bool sat, unsigned nbatch)
{
    char form[48];
    struct ptx_inst in;
    uint32_t aux;
    snprintf(form, sizeof form, "%s%s%s%s.f%d", ops[op].name, mode_names[mode],
             ftz ? ".ftz" : "", sat ? ".sat" : "", wide ? 64 : 32);
    if (!util_inst(&in, form))
        fail_msg("no row for %s", form);
    lane_fn *fn = lane_select_in(v, &in, &aux);
    if (!fn)
        fail_msg("no lane function for %s", form);
    uint64_t rng = 99;
    for (unsigned b = 0; b < nbatch; b++) {
        union util_row src[4], d;
        fill_sources(src, wide, b, &rng);
        fn((void *const[]){&d, NULL},
           (const void *const[]){&src[0], &src[1], &src[2], &src[3]}, UINT32_MAX, aux);
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t a[3], have = util_get(&d, wide ? 8 : 4, i);
            for (unsigned s = 0; s < 3; s++) {
                a[s] = util_get(&src[s], wide ? 8 : 4, i);
                a[s] = ftz ? flush32(a[s]) : a[s];
            }
            uint64_t want = exact(op, wide, modes[mode], a);
            want = ftz ? flush32(want) : want;
            want = sat ? saturate(want, wide) : want;
            if (have != want)
                fail_msg("%s (%s): a %llx b %llx c %llx gives %llx, not %llx", form,
                         v->name, (unsigned long long)a[0], (unsigned long long)a[1],
                         (unsigned long long)a[2], (unsigned long long)have,
                         (unsigned long long)want);
        }
    }
}

static void
test_exact_f32(void **state)
{
    (void)state;
    const struct lane_variant *v[4];
    size_t nv = lane_variants(v);
    for (int op = ADD; op <= RCP; op++)
        for (int mode = op >= DIV; mode < 5; mode++)
            for (int ftz = 0; ftz < 2; ftz++)
                for (int sat = 0; sat < (op <= FMA ? 2 : 1); sat++) {
                    run_exact(v[nv - 1], op, false, mode, ftz, sat,
                              sat || ftz ? 400 : 3200);
                    run_exact(v[0], op, false, mode, ftz, sat, 200);
                }
}

static void
test_exact_f64(void **state)
{
    (void)state;
    const struct lane_variant *v[4];
    size_t nv = lane_variants(v);
    for (int op = ADD; op <= RCP; op++)
        for (int mode = op >= FMA; mode < 5; mode++) {
            run_exact(v[nv - 1], op, true, mode, false, false, 3200);
            run_exact(v[0], op, true, mode, false, false, 400);
        }
}

/* -- approximations -- */

typedef int mpfr_fn(mpfr_t, const mpfr_t, mpfr_rnd_t);

static int
exp2_of(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd)
{
    return mpfr_exp2(r, x, rnd);
}

static int
rcp_of(mpfr_t r, const mpfr_t x, mpfr_rnd_t rnd)
{
    return mpfr_ui_div(r, 1, x, rnd);
}

enum measure { ULP, ABSOLUTE, RELATIVE };

static const struct bound {
    const char *form;
    mpfr_fn *fn;
    double lo, hi; /* range of the operand's magnitude */
    bool negative; /* and of its negation */
    enum measure measure;
    double limit; /* ULP: units; else log2 of the error */
} bounds[] = {
    {"ex2.approx.f32", exp2_of, 0, 150, true, ULP, 2},
    {"ex2.approx.ftz.f32", exp2_of, 0, 125.9, true, ULP, 2},
    {"lg2.approx.f32", mpfr_log2, 0.5, 2, false, ABSOLUTE, -22},
    {"lg2.approx.f32", mpfr_log2, 2, 0x1.fffffep127, false, RELATIVE, -22},
    {"lg2.approx.f32", mpfr_log2, 0x1p-149, 0.5, false, RELATIVE, -22},
    {"sin.approx.f32", mpfr_sin, 0, 6.2831853, true, ABSOLUTE, -20.5},
    {"sin.approx.f32", mpfr_sin, 0, 314.15926, true, ABSOLUTE, -14.7},
    {"cos.approx.f32", mpfr_cos, 0, 6.2831853, true, ABSOLUTE, -20.5},
    {"cos.approx.f32", mpfr_cos, 0, 314.15926, true, ABSOLUTE, -14.7},
    {"rsqrt.approx.f32", mpfr_rec_sqrt, 0x1p-149, 0x1.fffffep127, false, RELATIVE, -22.9},
    {"rsqrt.approx.ftz.f32", mpfr_rec_sqrt, 0x1p-126, 0x1.fffffep127, false, RELATIVE,
     -22.9},
    {"rcp.approx.f32", rcp_of, 0x1p-126, 0x1p126, true, ULP, 1},
    {"rcp.approx.ftz.f32", rcp_of, 0x1p-126, 0x1p126, true, ULP, 1},
    {"sqrt.approx.f32", mpfr_sqrt, 0x1p-149, 0x1.fffffep127, false, RELATIVE, -23},
    {"tanh.approx.f32", mpfr_tanh, 0x1p-149, 30, true, RELATIVE, -10.987},
    {"rcp.approx.ftz.f64", rcp_of, 0x1p-1022, 0x1p1022, true, RELATIVE, -19},
    {"rsqrt.approx.ftz.f64", mpfr_rec_sqrt, 0x1p-1022, 0x1.fffffp1023, false, RELATIVE,
     -19},
    {"rsqrt.approx.f64", mpfr_rec_sqrt, 0x1p-1022, 0x1.fffffp1023, false, RELATIVE,
     -51.5},
};

/* Error of `have` against fn(x). */
static double
error_of(const struct bound *b, double x, double have, bool wide)
{
    static mpfr_t m, r, h;
    static bool ready;
    if (!ready) {
        mpfr_inits2(200, m, r, h, (mpfr_ptr)0);
        ready = true;
    }
    mpfr_set_d(m, x, MPFR_RNDN);
    b->fn(r, m, MPFR_RNDN);
    if (!wide && mpfr_regular_p(r) && mpfr_get_exp(r) > 128)
        return have == INFINITY ? 0 : INFINITY; /* beyond the largest number */
    mpfr_set_d(h, have, MPFR_RNDN);
    mpfr_sub(h, h, r, MPFR_RNDN);
    if (b->measure == RELATIVE && !mpfr_zero_p(r))
        mpfr_div(h, h, r, MPFR_RNDN);
    if (b->measure == ULP && mpfr_regular_p(r)) {
        mpfr_exp_t e = mpfr_get_exp(r) - (wide ? 53 : 24), least = wide ? -1074 : -149;
        mpfr_div_2si(h, h, e < least ? least : e, MPFR_RNDN);
    }
    double d = mpfr_get_d(h, MPFR_RNDU);
    return d < 0 ? -d : d;
}

static void
test_error_bounds(void **state)
{
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(bounds); k++) {
        const struct bound *b = &bounds[k];
        struct ptx_inst in;
        uint32_t aux;
        assert_true(util_inst(&in, b->form));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        bool wide = in.type[0] == PTX_F64;
        double worst = 0, at = 0;
        uint64_t lo = wide ? f64_bits(b->lo) : f32_bits((float)b->lo);
        uint64_t hi = wide ? f64_bits(b->hi) : f32_bits((float)b->hi), n = 60000, rng = 5;
        for (uint64_t j = 0; j < n; j += LANES) {
            union util_row a, d;
            for (unsigned i = 0; i < LANES; i++) {
                /* Half of the points evenly over the encodings, half over the values. */
                uint64_t v =
                    lo + (uint64_t)((double)(hi - lo) * (double)(j + i) / (double)n);
                double even = b->lo + (b->hi - b->lo) *
                                          (double)(splitmix_next(&rng) >> 11) * 0x1p-53;
                if (i & 1)
                    v = wide ? f64_bits(even) : f32_bits((float)even);
                if (v > hi)
                    v = hi;
                if (b->negative && (i & 2))
                    v |= wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
                util_set(&a, wide ? 8 : 4, i, v);
            }
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &a, &a, &a},
               UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                double x = wide ? a.g[i] : a.f[i],
                       e = error_of(b, x, wide ? d.g[i] : d.f[i], wide);
                if (!(e <= worst)) {
                    worst = e;
                    at = x;
                }
            }
        }
        double limit = b->measure == ULP ? b->limit : exp2(b->limit);
        print_message(
            "%-22s |x| in [%g, %g]: largest error %.4g%s at %a (allowed %.4g)\n", b->form,
            b->lo, b->hi, worst, b->measure == ULP ? " ulp" : "", at, limit);
        if (!(worst <= limit))
            fail_msg("%s: error %g at %a", b->form, worst, at);
    }
}

/* div.approx within 2^-126 <= |b| <= 2^126 and div.full everywhere: 2 ulp. */
static void
test_quotient_bounds(void **state)
{
    static const char *const forms[] = {"div.approx.f32", "div.full.f32",
                                        "div.approx.ftz.f32", "div.full.ftz.f32"};
    (void)state;
    mpfr_t x, y, r;
    mpfr_inits2(200, x, y, r, (mpfr_ptr)0);
    for (size_t f = 0; f < UTIL_COUNT(forms); f++) {
        struct ptx_inst in;
        uint32_t aux;
        bool ftz = strstr(forms[f], "ftz");
        assert_true(util_inst(&in, forms[f]));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        uint64_t rng = 3;
        double worst = 0;
        for (int j = 0; j < 4000; j++) {
            union util_row a, b, d;
            for (unsigned i = 0; i < LANES; i++) {
                a.w[i] = (uint32_t)splitmix_next(&rng);
                b.w[i] = (uint32_t)splitmix_next(&rng);
            }
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &b, &b},
               UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                uint32_t m = b.w[i] & INT32_MAX, n = a.w[i] & INT32_MAX;
                if (m < 0x00800000 || m > 0x7e800000 || n >= 0x7f800000)
                    continue;
                if (ftz && n < 0x00800000)
                    continue;
                mpfr_set_flt(x, a.f[i], MPFR_RNDN);
                mpfr_set_flt(y, b.f[i], MPFR_RNDN);
                mpfr_div(r, x, y, MPFR_RNDN);
                if (mpfr_zero_p(r))
                    continue;
                mpfr_exp_t e = mpfr_get_exp(r) - 24;
                if (e > 128 - 24) /* beyond the largest number */
                    continue;
                if (ftz && e < -125 - 24)
                    continue;
                mpfr_set_flt(x, d.f[i], MPFR_RNDN);
                mpfr_sub(x, x, r, MPFR_RNDN);
                mpfr_div_2si(x, x, e < -149 ? -149 : e, MPFR_RNDN);
                double u = mpfr_get_d(x, MPFR_RNDA);
                u = u < 0 ? -u : u;
                worst = u > worst ? u : worst;
            }
        }
        print_message("%-20s largest error %.4g ulp (allowed 2)\n", forms[f], worst);
        assert_true(worst <= 2);
    }
    mpfr_clears(x, y, r, (mpfr_ptr)0);
}

/* -- special values, after the tables of 9.7.3 -- */

static void
test_special_values(void **state)
{
    enum { INF = 0x7f800000, NINF = 0xff800000, NZERO = 0x80000000, ONE = 0x3f800000 };
    static const struct {
        const char *form;
        uint32_t a, b, want;
    } t[] = {
        {"rcp.approx.f32", NINF, 0, NZERO},
        {"rcp.approx.f32", NZERO, 0, NINF},
        {"rcp.approx.f32", 0, 0, INF},
        {"rcp.approx.f32", INF, 0, 0},
        {"rcp.approx.ftz.f32", 0x807fffff, 0, NINF},
        {"rcp.approx.ftz.f32", 0x00000001, 0, INF},
        {"rcp.approx.ftz.f32", 0x7f000000, 0, 0},
        {"rcp.rn.f32", 0x7f000000, 0, 0x00400000},
        {"rcp.rn.f32", 0xffc00000, 0, NAN32},
        {"sqrt.approx.f32", NINF, 0, NAN32},
        {"sqrt.approx.f32", 0xbf800000, 0, NAN32},
        {"sqrt.approx.f32", NZERO, 0, NZERO},
        {"sqrt.approx.f32", INF, 0, INF},
        {"sqrt.approx.ftz.f32", 0x807fffff, 0, NZERO},
        {"sqrt.rn.f32", 0x80000001, 0, NAN32},
        {"rsqrt.approx.f32", NINF, 0, NAN32},
        {"rsqrt.approx.f32", 0xbf800000, 0, NAN32},
        {"rsqrt.approx.f32", NZERO, 0, NINF},
        {"rsqrt.approx.f32", 0, 0, INF},
        {"rsqrt.approx.f32", INF, 0, 0},
        {"rsqrt.approx.ftz.f32", 0x80000001, 0, NINF},
        {"sin.approx.f32", NINF, 0, NAN32},
        {"sin.approx.f32", NZERO, 0, NZERO},
        {"sin.approx.f32", 0, 0, 0},
        {"sin.approx.f32", INF, 0, NAN32},
        {"sin.approx.ftz.f32", 0x80000001, 0, NZERO},
        /* Answers of an H100: whole and half turns of large angles, tiny angles. */
        {"sin.approx.f32", 0x80000001, 0, NZERO},
        {"sin.approx.f32", 0x33800000, 0, 0},
        {"sin.approx.f32", 0x4f800000, 0, 0},
        {"sin.approx.f32", 0xcf000001, 0, NZERO},
        {"sin.approx.f32", 0x4b000001, 0, NZERO},
        {"sin.approx.f32", 0x4b800000, 0, 0xbf800000},
        {"sin.approx.f32", 0xff7fffff, 0, NZERO},
        {"cos.approx.f32", 0x4b7fffff, 0, 0xbf800000},
        {"cos.approx.f32", 0xcf000001, 0, ONE},
        {"cos.approx.f32", 0x7f7fffff, 0, ONE},
        {"cos.approx.f32", NINF, 0, NAN32},
        {"cos.approx.f32", NZERO, 0, ONE},
        {"cos.approx.f32", 0x00000001, 0, ONE},
        {"cos.approx.f32", 0x7fc00001, 0, NAN32},
        {"lg2.approx.f32", NINF, 0, NAN32},
        {"lg2.approx.f32", 0x80000001, 0, NAN32},
        {"lg2.approx.ftz.f32", 0x80000001, 0, NINF},
        {"lg2.approx.f32", NZERO, 0, NINF},
        {"lg2.approx.f32", 0, 0, NINF},
        {"lg2.approx.f32", INF, 0, INF},
        {"lg2.approx.f32", ONE, 0, 0},
        {"lg2.approx.f32", 0x41000000, 0, 0x40400000},
        {"ex2.approx.f32", NINF, 0, 0},
        {"ex2.approx.f32", NZERO, 0, ONE},
        {"ex2.approx.f32", INF, 0, INF},
        {"ex2.approx.f32", 0x7fffffff, 0, NAN32},
        {"ex2.approx.f32", 0x41200000, 0, 0x44800000}, /* 2^10 */
        {"ex2.approx.f32", 0xc3150000, 0, 0x00000001}, /* 2^-149 */
        {"ex2.approx.ftz.f32", 0xc2fe0000, 0, 0},      /* 2^-127 */
        {"ex2.approx.f32", 0x43000000, 0, INF},        /* 2^128 */
        {"tanh.approx.f32", NINF, 0, 0xbf800000},
        {"tanh.approx.f32", NZERO, 0, NZERO},
        {"tanh.approx.f32", INF, 0, ONE},
        {"tanh.approx.f32", 0x00000003, 0, 0x00000003},
        {"tanh.approx.f32", 0xffc00000, 0, NAN32},
        /* 2^126 < |b|: 0, or NaN for an infinite dividend */
        {"div.approx.f32", ONE, 0x7f000000, 0},
        {"div.approx.f32", INF, 0x7f000000, NAN32},
        {"div.approx.f32", 0x7f000000, 0x7e800000, 0x40000000},
        {"div.full.f32", 0x7f000000, 0x7f000000, ONE},
        {"div.rn.f32", ONE, 0, INF},
        {"div.rn.f32", 0, 0, NAN32},
        {"div.rn.f32", ONE, NZERO, NINF},
        {"add.f32", INF, NINF, NAN32},
        {"add.rm.f32", ONE, 0xbf800000, NZERO},
        {"add.rn.f32", ONE, 0xbf800000, 0},
        {"add.ftz.f32", 0x80000001, 0x80000001, NZERO},
        {"add.sat.f32", 0x7fc00000, 0, 0},
        {"add.sat.f32", ONE, ONE, ONE},
        {"add.sat.f32", NZERO, NZERO, 0},
        {"mul.ftz.f32", 0x00800000, 0x3f000000, 0},
        {"mul.rp.f32", 0x00000001, 0x3f000000, 0x00000001},
        {"mul.rz.f32", 0x7f7fffff, 0x7f7fffff, 0x7f7fffff},
        {"min.f32", 0, NZERO, NZERO},
        {"min.f32", NZERO, 0, NZERO},
        {"max.f32", NZERO, 0, 0},
        {"max.f32", 0, NZERO, 0},
        {"min.f32", 0x7fc00000, ONE, ONE},
        {"max.f32", ONE, 0xffc00000, ONE},
        {"min.f32", 0x7fc00000, 0xffc00000, NAN32},
        {"min.NaN.f32", ONE, 0x7fc00000, NAN32},
        {"max.ftz.f32", 0x00000001, 0x80000001, 0},
        {"max.xorsign.abs.f32", 0xc0000000, 0x3f800000, 0xc0000000},
        {"min.xorsign.abs.f32", 0xc0000000, 0xbf800000, 0x3f800000},
        {"abs.f32", NZERO, 0, 0},
        {"neg.f32", 0, 0, NZERO},
        {"abs.ftz.f32", 0x80000001, 0, 0},
        {"neg.ftz.f32", 0x00000001, 0, NZERO},
        {"copysign.f32", NZERO, ONE, 0xbf800000},
        {"copysign.f32", ONE, 0xbf800000, ONE},
    };
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(t); k++) {
        struct ptx_inst in;
        uint32_t aux;
        union util_row a, b, d;
        if (!util_inst(&in, t[k].form))
            fail_msg("no row for %s", t[k].form);
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        for (unsigned i = 0; i < LANES; i++)
            a.w[i] = t[k].a, b.w[i] = t[k].b;
        fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &b, &b}, UINT32_MAX,
           aux);
        for (unsigned i = 0; i < LANES; i++)
            if (d.w[i] != t[k].want)
                fail_msg("%s of %08x, %08x gives %08x, not %08x", t[k].form, t[k].a,
                         t[k].b, d.w[i], t[k].want);
    }
}

/* Huge arguments: something in [-1, 1]. */
static void
test_huge_angles(void **state)
{
    (void)state;
    static const char *const forms[] = {"sin.approx.f32", "cos.approx.f32"};
    for (size_t f = 0; f < 2; f++) {
        struct ptx_inst in;
        uint32_t aux;
        union util_row a, d;
        assert_true(util_inst(&in, forms[f]));
        lane_fn *fn = lane_select(&in, &aux);
        for (unsigned i = 0; i < LANES; i++)
            a.w[i] = 0x4e000000 + i * 0x018abcde;
        fn((void *const[]){&d, NULL}, (const void *const[]){&a, &a, &a, &a}, UINT32_MAX,
           aux);
        for (unsigned i = 0; i < LANES; i++)
            assert_true(d.f[i] >= -1.0f && d.f[i] <= 1.0f);
    }
}

/* -- comparison, minimum, maximum on encodings -- */

/* Encodings ordered as integers; both zeros alike unless `zeros`. */
static int64_t
key(uint64_t v, bool wide, bool zeros)
{
    int64_t m = (int64_t)(v & (wide ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX));
    bool neg = v >> (wide ? 63 : 31) & 1;
    return zeros ? (neg ? -m - 1 : m) : neg ? -m : m;
}

static bool
relation(const char *cmp, uint64_t a, uint64_t b, bool wide)
{
    bool un = is_nan(a, wide) || is_nan(b, wide);
    int64_t x = key(a, wide, false), y = key(b, wide, false);
    if (!strcmp(cmp, "num"))
        return !un;
    if (!strcmp(cmp, "nan"))
        return un;
    if (un)
        return cmp[strlen(cmp) - 1] == 'u'; /* equ, neu, ltu, leu, gtu, geu */
    if (!strncmp(cmp, "eq", 2))
        return x == y;
    if (!strncmp(cmp, "ne", 2))
        return x != y;
    if (!strncmp(cmp, "lt", 2))
        return x < y;
    if (!strncmp(cmp, "le", 2))
        return x <= y;
    if (!strncmp(cmp, "gt", 2))
        return x > y;
    return x >= y;
}

static void
test_comparisons(void **state)
{
    static const char *const cmps[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    (void)state;
    uint64_t rng = 8;
    for (int wide = 0; wide < 2; wide++)
        for (int ftz = 0; ftz < 2 - wide; ftz++)
            for (size_t c = 0; c < UTIL_COUNT(cmps); c++)
                for (int set = 0; set < 2; set++) {
                    char form[48];
                    struct ptx_inst in;
                    uint32_t aux;
                    snprintf(form, sizeof form, "%s.%s%s%s.f%d", set ? "set" : "setp",
                             cmps[c], ftz ? ".ftz" : "", set ? ".f32" : "",
                             wide ? 64 : 32);
                    assert_true(util_inst(&in, form));
                    lane_fn *fn = lane_select(&in, &aux);
                    if (!fn)
                        fail_msg("no lane function for %s", form);
                    size_t n = wide ? UTIL_COUNT(util_float64) : UTIL_COUNT(util_float32);
                    for (uint64_t j = 0; j < n * n; j += LANES) {
                        union util_row a, b, d = {0}, q = {0};
                        for (unsigned i = 0; i < LANES; i++) {
                            uint64_t k = (j + i) % (n * n), r = splitmix_next(&rng) % n;
                            util_set(&a, wide ? 8 : 4, i,
                                     wide ? util_float64[k % n] : util_float32[k % n]);
                            k = j & 64 ? r : k / n;
                            util_set(&b, wide ? 8 : 4, i,
                                     wide ? util_float64[k] : util_float32[k]);
                        }
                        fn((void *const[]){&d, &q}, (const void *const[]){&a, &b, &b, &b},
                           UINT32_MAX, aux);
                        for (unsigned i = 0; i < LANES; i++) {
                            uint64_t x = util_get(&a, wide ? 8 : 4, i),
                                     y = util_get(&b, wide ? 8 : 4, i);
                            bool want = relation(cmps[c], ftz ? flush32(x) : x,
                                                 ftz ? flush32(y) : y, wide);
                            bool have = set ? d.w[i] == 0x3f800000 : (d.w[0] >> i & 1);
                            if (have != want || (set && !have && d.w[i]))
                                fail_msg("%s %llx %llx", form, (unsigned long long)x,
                                         (unsigned long long)y);
                            if (!set && (q.w[0] >> i & 1) == want)
                                fail_msg("%s: q %llx %llx", form, (unsigned long long)x,
                                         (unsigned long long)y);
                        }
                    }
                }
}

static void
test_min_max_class(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (int what = 0; what < 8; what++) {
            static const char *const names[] = {"min",          "max",
                                                "testp.finite", "testp.infinite",
                                                "testp.number", "testp.notanumber",
                                                "testp.normal", "testp.subnormal"};
            char form[48];
            struct ptx_inst in;
            uint32_t aux;
            snprintf(form, sizeof form, "%s.f%d", names[what], wide ? 64 : 32);
            assert_true(util_inst(&in, form));
            lane_fn *fn = lane_select(&in, &aux);
            assert_non_null(fn);
            size_t n = wide ? UTIL_COUNT(util_float64) : UTIL_COUNT(util_float32);
            for (uint64_t j = 0; j < n * n; j += LANES) {
                union util_row a, b, d = {0};
                for (unsigned i = 0; i < LANES; i++) {
                    uint64_t k = (j + i) % (n * n);
                    util_set(&a, wide ? 8 : 4, i,
                             wide ? util_float64[k % n] : util_float32[k % n]);
                    util_set(&b, wide ? 8 : 4, i,
                             wide ? util_float64[k / n] : util_float32[k / n]);
                }
                fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &b, &b},
                   UINT32_MAX, aux);
                for (unsigned i = 0; i < LANES; i++) {
                    uint64_t x = util_get(&a, wide ? 8 : 4, i),
                             y = util_get(&b, wide ? 8 : 4, i), want;
                    if (what < 2) {
                        bool first =
                            (key(x, wide, true) < key(y, wide, true)) == (what == 0);
                        want = is_nan(x, wide) ? y : is_nan(y, wide) ? x : first ? x : y;
                        if (is_nan(want, wide))
                            want = wide ? y | (uint64_t)1 << 51 : NAN32;
                        assert_true(util_get(&d, wide ? 8 : 4, i) == want);
                        continue;
                    }
                    uint64_t e = wide ? x >> 52 & 0x7ff : x >> 23 & 0xff,
                             top = wide ? 0x7ff : 0xff;
                    uint64_t frac = wide ? x & 0xfffffffffffff : x & 0x7fffff;
                    bool nan = e == top && frac, inf = e == top && !frac,
                         sub = !e && frac;
                    bool is[] = {e != top, inf, !nan, nan, e != top && !sub, sub};
                    if ((d.w[0] >> i & 1) != is[what - 2])
                        fail_msg("%s of %llx", form, (unsigned long long)x);
                }
            }
        }
}

/* Three sources (sm_100): the text's semantics, step by step, over all triples. */
static uint32_t
two_inputs(uint32_t x, uint32_t y, bool max, bool nan)
{
    if (is_nan(x, false) || is_nan(y, false))
        return nan || (is_nan(x, false) && is_nan(y, false)) ? NAN32
               : is_nan(x, false)                            ? y
                                                             : x;
    return (key(x, false, true) < key(y, false, true)) != max ? x : y;
}

static void
test_three_sources(void **state)
{
    (void)state;
    enum { N = UTIL_COUNT(util_float32) };
    for (int form = 0; form < 16; form++) {
        bool max = form & 1, nan = form & 2, abs = form & 4, ftz = form & 8;
        char text[64];
        struct ptx_inst in;
        uint32_t aux;
        snprintf(text, sizeof text, "%s%s%s.f32", max ? "max" : "min", ftz ? ".ftz" : "",
                 nan ? ".NaN" : "");
        assert_true(util_inst(&in, text));
        uint16_t mods[PTX_NMODGROUPS];
        memcpy(mods, in.mod, sizeof mods);
        mods[PTX_MG_ABS] = abs ? PTX_ABS_ABS : 0;
        in.mod = mods;
        in.op = max ? PTX_OP_MAXF3 : PTX_OP_MINF3;
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        for (uint64_t j = 0; j < (uint64_t)N * N * N; j += LANES) {
            union util_row s[3], d = {0};
            for (unsigned i = 0; i < LANES; i++) {
                uint64_t k = j + i;
                for (int c = 0; c < 3; c++, k /= N)
                    s[c].w[i] = (uint32_t)util_float32[k % N];
            }
            fn((void *const[]){&d, NULL},
               (const void *const[]){&s[0], &s[1], &s[2], &s[2]}, UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                uint32_t v[3];
                for (int c = 0; c < 3; c++) {
                    v[c] = ftz ? (uint32_t)flush32(s[c].w[i]) : s[c].w[i];
                    v[c] &= abs ? 0x7fffffff : UINT32_MAX;
                }
                uint32_t want =
                    two_inputs(two_inputs(v[0], v[1], max, nan), v[2], max, nan);
                if (d.w[i] != want)
                    fail_msg("%s abs %d of %08x %08x %08x: %08x, not %08x", text, abs,
                             s[0].w[i], s[1].w[i], s[2].w[i], d.w[i], want);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_f32),      cmocka_unit_test(test_exact_f64),
        cmocka_unit_test(test_error_bounds),   cmocka_unit_test(test_quotient_bounds),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_huge_angles),
        cmocka_unit_test(test_comparisons),    cmocka_unit_test(test_min_max_class),
        cmocka_unit_test(test_three_sources),
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
