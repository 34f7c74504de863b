/* lanes_half.c: f16, bf16 and their pairs: arithmetic, comparison, minimum and maximum
 * with every modifier against MPFR with 700 bits, rounded once; the packed and narrow
 * conversions (f16x2, bf16x2, tf32, e4m3, e5m2) against MPFR and, for the 8-bit formats,
 * against a search through all their values. Meaning: PTX ISA 9.7.4, 9.7.6, 9.7.9.21. */
#include "unit/kit/lanes_util.h"

#if __has_include(<mpfr.h>)
#include "unit/kit/lanes_mpfr.h"

enum { EXACT = 700, BATCHES = 120 };

static unsigned long nforms, nchecks;

static bool
is_bhalf(unsigned t)
{
    return t == PTX_BF16 || t == PTX_BF16X2;
}

static bool
is_pair(unsigned t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2;
}

static unsigned
element_type(unsigned t)
{
    return is_bhalf(t) ? PTX_BF16 : PTX_F16;
}

/* All kinds of halves: the corners often. */
static uint32_t
some_half(uint64_t *rng, bool bhalf)
{
    static const uint16_t f16[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,
                                   0x8400, 0x401,  0x3bff, 0x3c00, 0xbc00, 0x3c01, 0x7bff,
                                   0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff, 0x7fff,
                                   0x0200, 0x6400, 0x6401, 0x5bff, 0x1400, 0x13ff},
                          bf16[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x807f,
                                    0x80,   0x8080, 0x81,   0x3f7f, 0x3f80, 0xbf80,
                                    0x3f81, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81,
                                    0x7fc0, 0xffff, 0x7fff, 0x0040, 0x4300, 0x4301,
                                    0x427f, 0x3c00, 0x0100};
    uint64_t r = splitmix_next(rng);
    if (r % 3 == 0)
        return (bhalf ? bf16 : f16)[(r >> 8) % UTIL_COUNT(f16)];
    if (r % 3 == 1) /* near one: sums that cancel, ties */
        return (uint32_t)((bhalf ? 0x3f00 : 0x3800) + (r >> 8 & 0x7ff)) |
               (r >> 32 & 0x8000);
    return r >> 8 & 0xffff;
}

/* The exact value of one element's operation in r; false: NaN. Sources are flushed. */
static void
flush_in(uint32_t *v, unsigned t, bool ftz)
{
    if (ftz && t == PTX_F16 && !(*v & 0x7c00))
        *v &= 0x8000;
}

enum op { ADD, SUB, MUL, FMA, MIN, MAX, NEG, ABS };

struct mods {
    bool ftz, sat, relu, nan, xorsign;
};

static uint32_t
min_max(const mpfr_t a, const mpfr_t b, uint32_t va, uint32_t vb, bool max, bool nan,
        bool xorsign)
{
    uint32_t sign = (va ^ vb) & 0x8000;
    mpfr_t x, y;
    if (mpfr_nan_p(a) || mpfr_nan_p(b)) {
        if (nan || (mpfr_nan_p(a) && mpfr_nan_p(b)))
            return 0x7fff;
        uint32_t v = mpfr_nan_p(a) ? vb : va;
        return xorsign ? (v & 0x7fff) | sign : v;
    }
    if (xorsign)
        va &= 0x7fff, vb &= 0x7fff;
    mpfr_init2(x, EXACT), mpfr_init2(y, EXACT);
    mpfr_set(x, a, MPFR_RNDN), mpfr_set(y, b, MPFR_RNDN);
    if (xorsign)
        mpfr_abs(x, x, MPFR_RNDN), mpfr_abs(y, y, MPFR_RNDN);
    int c = mpfr_cmp(x, y);
    if (!c) /* -0 below +0 */
        c = mpfr_signbit(y) - mpfr_signbit(x);
    mpfr_clear(x), mpfr_clear(y);
    uint32_t v = (c < 0) != max ? va : vb;
    return xorsign ? v | sign : v;
}

static uint32_t
reference(enum op op, unsigned t, uint32_t va, uint32_t vb, uint32_t vc, struct mods m)
{
    static mpfr_t a, b, c, r;
    static bool ready;
    if (!ready) {
        mpfr_init2(a, EXACT), mpfr_init2(b, EXACT), mpfr_init2(c, EXACT),
            mpfr_init2(r, EXACT);
        ready = true;
    }
    flush_in(&va, t, m.ftz), flush_in(&vb, t, m.ftz), flush_in(&vc, t, m.ftz);
    decode(a, va, t);
    if ((op == NEG || op == ABS) && mpfr_nan_p(a)) /* as a card answers */
        return 0x7fff;
    if (op == NEG)
        return va ^ 0x8000;
    if (op == ABS)
        return va & 0x7fff;
    decode(b, vb, t), decode(c, vc, t);
    if (op == MIN || op == MAX)
        return min_max(a, b, va, vb, op == MAX, m.nan, m.xorsign);
    switch (op) {
    case ADD:
        mpfr_add(r, a, b, MPFR_RNDN);
        break;
    case SUB:
        mpfr_sub(r, a, b, MPFR_RNDN);
        break;
    case MUL:
        mpfr_mul(r, a, b, MPFR_RNDN);
        break;
    default:
        mpfr_fma(r, a, b, c, MPFR_RNDN);
        break;
    }
    if (m.sat) {
        if (mpfr_nan_p(r) || mpfr_sgn(r) <= 0)
            mpfr_set_zero(r, 1);
        else if (mpfr_cmp_ui(r, 1) > 0)
            mpfr_set_ui(r, 1, MPFR_RNDN);
    }
    if (m.relu && !mpfr_nan_p(r) && mpfr_signbit(r))
        mpfr_set_zero(r, 1);
    uint32_t v = (uint32_t)round_once(r, t, MPFR_RNDN);
    flush_in(&v, t, m.ftz);
    return v;
}

static void
check_form(const char *form, enum op op, unsigned t, struct mods m)
{
    struct ptx_inst in;
    uint32_t aux;
    const struct lane_variant *v[4];
    size_t nv = lane_variants(v);
    if (!util_inst(&in, form))
        fail_msg("no row for %s", form);
    nforms++;
    unsigned et = element_type(t);
    for (size_t k = 0; k < nv; k++) {
        lane_fn *fn = lane_select_in(v[k], &in, &aux);
        uint64_t rng = t * 77 + op;
        if (!fn)
            fail_msg("no lane function for %s", form);
        for (unsigned batch = 0; batch < BATCHES; batch++) {
            union util_row s[3], d;
            for (unsigned i = 0; i < LANES; i++)
                for (unsigned j = 0; j < 3; j++)
                    s[j].w[i] = some_half(&rng, is_bhalf(t)) |
                                (is_pair(t) ? some_half(&rng, is_bhalf(t)) << 16 : 0);
            fn((void *const[]){&d, NULL},
               (const void *const[]){&s[0], &s[1], &s[2], &s[2]}, UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                uint32_t want = 0;
                for (unsigned h = 0; h < (is_pair(t) ? 32u : 16u); h += 16)
                    want |= reference(op, et, s[0].w[i] >> h & 0xffff,
                                      s[1].w[i] >> h & 0xffff, s[2].w[i] >> h & 0xffff, m)
                            << h;
                nchecks++;
                if (d.w[i] != want)
                    fail_msg("%s (%s) of %x, %x, %x gives %x, not %x", form, v[k]->name,
                             s[0].w[i], s[1].w[i], s[2].w[i], d.w[i], want);
            }
        }
    }
}

static const unsigned types[] = {PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2};

static void
test_arithmetic(void **state)
{
    static const char *const names[] = {"add", "sub", "mul", "fma"};
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(types); k++)
        for (unsigned op = ADD; op <= FMA; op++)
            for (unsigned m = 0; m < 8; m++) {
                struct mods mods = {.ftz = m & 1, .sat = m & 2, .relu = m & 4};
                bool bf = is_bhalf(types[k]);
                if ((bf && (mods.ftz || mods.sat)) ||
                    (mods.relu && (mods.sat || op != FMA)))
                    continue;
                char form[64];
                snprintf(form, sizeof form, "%s.rn%s%s%s.%s", names[op],
                         mods.ftz ? ".ftz" : "", mods.sat ? ".sat" : "",
                         mods.relu ? ".relu" : "", ptx_types[types[k]].text);
                check_form(form, op, types[k], mods);
            }
}

static void
test_min_max_neg_abs(void **state)
{
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(types); k++)
        for (unsigned m = 0; m < 8; m++) {
            struct mods mods = {.ftz = m & 1, .nan = m & 2, .xorsign = m & 4};
            const char *t = ptx_types[types[k]].text;
            char form[64];
            if (mods.ftz && is_bhalf(types[k]))
                continue;
            for (unsigned op = MIN; op <= MAX; op++) {
                snprintf(form, sizeof form, "%s%s%s%s.%s", op == MIN ? "min" : "max",
                         mods.ftz ? ".ftz" : "", mods.nan ? ".NaN" : "",
                         mods.xorsign ? ".xorsign.abs" : "", t);
                check_form(form, op, types[k], mods);
            }
            if (mods.nan || mods.xorsign)
                continue;
            for (unsigned op = NEG; op <= ABS; op++) {
                snprintf(form, sizeof form, "%s%s.%s", op == NEG ? "neg" : "abs",
                         mods.ftz ? ".ftz" : "", t);
                check_form(form, op, types[k], mods);
            }
        }
    print_message("%lu forms, %lu lanes checked\n", nforms, nchecks);
}

/* ex2 [2^-9.9 relative for f16, 2^-7 for bf16] and tanh [2^-10.987, 2^-8]: PTX ISA 9.7.4.
 * A result below the normal numbers may be off by one unit of the last place. */
static void
test_approximate(void **state)
{
    static const struct {
        const char *form;
        double bound;
        unsigned t;
    } t[] = {{"ex2.approx.f16", 0x1.4p-10, PTX_F16},
             {"ex2.approx.ftz.bf16", 0x1p-7, PTX_BF16},
             {"tanh.approx.f16", 0x1.02p-11, PTX_F16},
             {"tanh.approx.bf16", 0x1p-8, PTX_BF16}};
    (void)state;
    mpfr_t x, r, g;
    mpfr_inits2(100, x, r, g, (mpfr_ptr)0);
    for (size_t k = 0; k < UTIL_COUNT(t); k++) {
        struct ptx_inst in;
        uint32_t aux;
        assert_true(util_inst(&in, t[k].form));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        bool bf = t[k].t == PTX_BF16;
        double least = bf ? 0x1p-126 : 0x1p-14, ulp = bf ? 0x1p-133 : 0x1p-24;
        for (uint32_t a = 0; a < 0x10000; a += LANES) {
            union util_row s, d;
            for (unsigned i = 0; i < LANES; i++)
                s.w[i] = a + i;
            fn((void *const[]){&d, NULL}, (const void *const[]){&s, &s, &s, &s},
               UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                uint32_t in_bits = s.w[i];
                decode(x, in_bits, t[k].t);
                decode(g, d.w[i], t[k].t);
                if (mpfr_nan_p(x)) {
                    assert_int_equal(d.w[i], 0x7fff);
                    continue;
                }
                if (*t[k].form == 'e')
                    mpfr_exp2(r, x, MPFR_RNDN);
                else
                    mpfr_tanh(r, x, MPFR_RNDN);
                uint64_t nearest = round_once(r, t[k].t, MPFR_RNDN);
                if (bf && *t[k].form == 'e' && !(nearest & 0x7f80)) /* .ftz */
                    nearest = 0;
                if (d.w[i] == nearest)
                    continue;
                mpfr_sub(g, g, r, MPFR_RNDN);
                double err = mpfr_get_d(g, MPFR_RNDN), size = mpfr_get_d(r, MPFR_RNDN);
                err = err < 0 ? -err : err;
                size = size < 0 ? -size : size;
                if (!(err <= t[k].bound * size || (size < least && err <= ulp)))
                    fail_msg("%s of %x gives %x, nearest %llx", t[k].form, s.w[i], d.w[i],
                             (unsigned long long)nearest);
            }
        }
    }
    mpfr_clears(x, r, g, (mpfr_ptr)0);
}

/* -- comparison -- */

static bool
compares(const char *cmp, const mpfr_t a, const mpfr_t b)
{
    bool un = mpfr_unordered_p(a, b);
    int c = un ? 0 : mpfr_cmp(a, b);
    if (!strcmp(cmp, "num"))
        return !un;
    if (!strcmp(cmp, "nan"))
        return un;
    if (un)
        return cmp[2] == 'u';
    return !strncmp(cmp, "eq", 2)   ? c == 0
           : !strncmp(cmp, "ne", 2) ? c != 0
           : !strncmp(cmp, "lt", 2) ? c < 0
           : !strncmp(cmp, "le", 2) ? c <= 0
           : !strncmp(cmp, "gt", 2) ? c > 0
                                    : c >= 0;
}

static bool
combined(const char *op, bool r, bool c)
{
    return !*op ? r : !strcmp(op, ".and") ? r && c : !strcmp(op, ".or") ? r || c : r != c;
}

/* dest 0: setp, else set with that destination type. */
static void
check_compare(const char *cmp, const char *op, bool ftz, unsigned t, unsigned dest)
{
    char form[64];
    struct ptx_inst in;
    uint32_t aux;
    snprintf(form, sizeof form, "%s.%s%s%s%s%s.%s", dest ? "set" : "setp", cmp, op,
             ftz ? ".ftz" : "", dest ? "." : "", dest ? ptx_types[dest].text : "",
             ptx_types[t].text);
    if (!util_inst(&in, form))
        fail_msg("no row for %s", form);
    lane_fn *fn = lane_select(&in, &aux);
    if (!fn)
        fail_msg("no lane function for %s", form);
    nforms++;
    mpfr_t x, y;
    mpfr_inits2(64, x, y, (mpfr_ptr)0);
    uint64_t rng = t + dest * 100;
    unsigned et = element_type(t);
    uint32_t one = dest == PTX_F16 || dest == PTX_F16X2     ? 0x3c00
                   : dest == PTX_BF16 || dest == PTX_BF16X2 ? 0x3f80
                                                            : 0xffff;
    for (unsigned batch = 0; batch < 8; batch++) {
        union util_row a, b, d;
        uint32_t c = (uint32_t)splitmix_next(&rng), p[2] = {0};
        for (unsigned i = 0; i < LANES; i++) {
            a.w[i] = some_half(&rng, is_bhalf(t)) |
                     (is_pair(t) ? some_half(&rng, is_bhalf(t)) << 16 : 0);
            b.w[i] = i % 4 ? some_half(&rng, is_bhalf(t)) |
                                 (is_pair(t) ? some_half(&rng, is_bhalf(t)) << 16 : 0)
                           : a.w[i];
        }
        if (dest)
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &c, &c},
               UINT32_MAX, aux);
        else
            fn((void *const[]){&p[0], &p[1]}, (const void *const[]){&a, &b, &c, &c},
               UINT32_MAX, aux);
        for (unsigned i = 0; i < LANES; i++) {
            bool want[2] = {false, false};
            for (unsigned h = 0; h < (is_pair(t) ? 2u : 1u); h++) {
                uint32_t va = a.w[i] >> 16 * h & 0xffff, vb = b.w[i] >> 16 * h & 0xffff;
                flush_in(&va, et, ftz), flush_in(&vb, et, ftz);
                decode(x, va, et), decode(y, vb, et);
                want[h] = combined(op, compares(cmp, x, y), c >> i & 1);
                if (!is_pair(t))
                    want[1] = combined(op, !compares(cmp, x, y), c >> i & 1);
            }
            nchecks++;
            if (!dest) {
                if ((p[0] >> i & 1) != want[0] || (p[1] >> i & 1) != want[1])
                    fail_msg("%s of %x, %x", form, a.w[i], b.w[i]);
                continue;
            }
            uint32_t v = want[0] ? one : 0;
            if (is_pair(t))
                v |= want[1] ? one << 16 : 0;
            else if (want[0] && ptx_types[dest].bytes == 4)
                v = UINT32_MAX;
            if (d.w[i] != v)
                fail_msg("%s of %x, %x gives %x, not %x", form, a.w[i], b.w[i], d.w[i],
                         v);
        }
    }
    mpfr_clears(x, y, (mpfr_ptr)0);
}

static void
test_comparisons(void **state)
{
    static const char *const cmps[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    static const char *const ops[] = {"", ".and", ".or", ".xor"};
    static const uint8_t dests[4][6] = {{0, PTX_F16, PTX_U16, PTX_S16, PTX_U32, PTX_S32},
                                        {0, PTX_F16X2, PTX_U32, PTX_S32},
                                        {0, PTX_BF16, PTX_U16, PTX_S16, PTX_U32, PTX_S32},
                                        {0, PTX_BF16X2, PTX_U32, PTX_S32}};
    (void)state;
    for (size_t c = 0; c < UTIL_COUNT(cmps); c++)
        for (size_t o = 0; o < UTIL_COUNT(ops); o++)
            for (size_t k = 0; k < UTIL_COUNT(types); k++)
                for (unsigned n = 0; n < 6 && (!n || dests[k][n]); n++)
                    for (unsigned ftz = 0; ftz < (is_bhalf(types[k]) ? 1u : 2u); ftz++)
                        check_compare(cmps[c], ops[o], ftz, types[k], dests[k][n]);
}

/* -- conversions -- */

static float
some_float(uint64_t *rng)
{
    uint64_t r = splitmix_next(rng);
    uint32_t b = util_float32[(r >> 8) % UTIL_COUNT(util_float32)];
    if (r % 4) /* magnitudes where the narrow formats have their numbers */
        b = (uint32_t)((127 - 30 + (r >> 8) % 60) << 23) |
            (uint32_t)(r >> 32 & 0x807fffff);
    if (r % 4 == 2) /* ties */
        b &= 0xfff00000 | ((r >> 40 & 1) ? 0 : 0xff000);
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static uint32_t
float_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static uint32_t
narrow_reference(float f, unsigned t, bool rz, bool relu, bool satf)
{
    static mpfr_t x;
    static bool ready;
    if (!ready)
        mpfr_init2(x, 64), ready = true;
    decode(x, float_bits(f), PTX_F32);
    if (mpfr_nan_p(x))
        return 0x7fff;
    if (relu && mpfr_signbit(x))
        return 0;
    uint32_t v = (uint32_t)round_once(x, t, rz ? MPFR_RNDZ : MPFR_RNDN);
    uint32_t inf = t == PTX_F16 ? 0x7c00 : 0x7f80;
    return satf && (v & 0x7fff) == inf ? v - 1 : v;
}

static void
test_packed_conversions(void **state)
{
    static const unsigned dests[] = {PTX_F16, PTX_BF16, PTX_F16X2, PTX_BF16X2};
    (void)state;
    for (unsigned k = 0; k < 4; k++)
        for (unsigned m = 0; m < 8; m++) {
            bool rz = m & 1, relu = m & 2, satf = m & 4, pair = is_pair(dests[k]);
            char form[64];
            struct ptx_inst in;
            uint32_t aux;
            uint64_t rng = k * 8 + m;
            snprintf(form, sizeof form, "cvt.%s%s%s.%s.f32", rz ? "rz" : "rn",
                     relu ? ".relu" : "", satf ? ".satfinite" : "",
                     ptx_types[dests[k]].text);
            assert_true(util_inst(&in, form));
            lane_fn *fn = lane_select(&in, &aux);
            assert_non_null(fn);
            for (unsigned batch = 0; batch < 200; batch++) {
                union util_row a, b, d;
                for (unsigned i = 0; i < LANES; i++)
                    a.f[i] = some_float(&rng), b.f[i] = some_float(&rng);
                fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &b, &b},
                   UINT32_MAX, aux);
                for (unsigned i = 0; i < LANES; i++) {
                    unsigned et = element_type(dests[k]);
                    uint32_t want = narrow_reference(a.f[i], et, rz, relu, satf);
                    if (pair)
                        want = want << 16 | narrow_reference(b.f[i], et, rz, relu, satf);
                    if (d.w[i] != want)
                        fail_msg("%s of %a, %a gives %x, not %x", form, (double)a.f[i],
                                 (double)b.f[i], d.w[i], want);
                }
            }
        }
}

static void
test_tf32(void **state)
{
    static const char *const forms[] = {
        "cvt.rna.tf32.f32",     "cvt.rna.satfinite.tf32.f32",
        "cvt.rn.tf32.f32",      "cvt.rz.tf32.f32",
        "cvt.rn.relu.tf32.f32", "cvt.rz.satfinite.relu.tf32.f32"};
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(forms); k++) {
        struct ptx_inst in;
        uint32_t aux;
        uint64_t rng = k;
        assert_true(util_inst(&in, forms[k]));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        bool satf = strstr(forms[k], "satfinite"), relu = strstr(forms[k], "relu");
        for (unsigned batch = 0; batch < 300; batch++) {
            union util_row a, d;
            for (unsigned i = 0; i < LANES; i++)
                a.f[i] = some_float(&rng);
            fn((void *const[]){&d, NULL}, (const void *const[]){&a, &a, &a, &a},
               UINT32_MAX, aux);
            for (unsigned i = 0; i < LANES; i++) {
                /* In the encoding: 13 bits below the last place. */
                uint32_t b = a.w[i], m = b & 0x7fffffff, low = m & 0x1fff, want = m - low;
                if (strstr(forms[k], "rna"))
                    want += low >= 0x1000 ? 0x2000 : 0;
                else if (strstr(forms[k], ".rn."))
                    want += low > 0x1000 || (low == 0x1000 && want & 0x2000) ? 0x2000 : 0;
                if (m >= 0x7f800000)
                    want = m;
                if (satf && want >= 0x7f800000)
                    want = 0x7f7fe000;
                want |= b & 0x80000000;
                if (relu && b >> 31)
                    want = 0;
                /* NaN as a card: canonical and cut; .rna works on the bits (an H100 gives
                 * 0xffbfe000 for 0xffc00001 with .satfinite). */
                if (m > 0x7f800000 && strstr(forms[k], "rna"))
                    want = (b & ~0x1fffu) - (satf ? 0x2000 : 0);
                else if (m > 0x7f800000)
                    want = 0x7fffe000;
                if (d.w[i] != want)
                    fail_msg("%s of %x gives %x, not %x", forms[k], b, d.w[i], want);
            }
        }
    }
}

/* The value of an 8-bit encoding after its definition. */
static double
e8_value(unsigned v, bool e5m2)
{
    unsigned mbits = e5m2 ? 2 : 3, e = v >> mbits & (e5m2 ? 31 : 15),
             m = v & ((1u << mbits) - 1);
    int bias = e5m2 ? 15 : 7;
    double x = e ? (double)(m + (1u << mbits)) : (double)m;
    for (int s = (int)(e ? e : 1) - bias - (int)mbits; s; s += s < 0 ? 1 : -1)
        x *= s < 0 ? 0.5 : 2.0;
    return v & 0x80 ? -x : x;
}

/* Nearest of all finite values; of two as near the one with the even encoding. */
static unsigned
e8_search(float f, bool e5m2, bool relu)
{
    unsigned top = e5m2 ? 0x7b : 0x7e, sign = float_bits(f) >> 24 & 0x80, best = 0;
    if (f != f)
        return 0x7f;
    if (relu && sign)
        return 0;
    double x = f < 0 ? -(double)f : f, least = 1e300;
    for (unsigned v = 0; v <= top; v++) {
        double gap = e8_value(v, e5m2) - x;
        gap = gap < 0 ? -gap : gap;
        if (gap < least || (gap == least && !(v & 1))) {
            least = gap;
            best = v;
        }
    }
    return (x > e8_value(top, e5m2) ? top : best) | sign;
}

static float
half_float(uint32_t h)
{
    mpfr_t x;
    mpfr_init2(x, 30);
    decode(x, h, PTX_F16);
    float f = mpfr_get_flt(x, MPFR_RNDN);
    mpfr_clear(x);
    return f;
}

static void
test_e8(void **state)
{
    (void)state;
    for (unsigned m = 0; m < 4; m++) {
        bool e5m2 = m & 1, relu = m & 2;
        struct ptx_inst in[3];
        uint32_t aux[3];
        lane_fn *fn[3];
        const char *t = e5m2 ? "e5m2x2" : "e4m3x2", *r = relu ? ".relu" : "";
        char form[3][64];
        snprintf(form[0], sizeof form[0], "cvt.rn.satfinite%s.%s.f32", r, t);
        snprintf(form[1], sizeof form[1], "cvt.rn.satfinite%s.%s.f16x2", r, t);
        snprintf(form[2], sizeof form[2], "cvt.rn%s.f16x2.%s", r, t);
        for (int k = 0; k < 3; k++) {
            assert_true(util_inst(&in[k], form[k]));
            fn[k] = lane_select(&in[k], &aux[k]);
            assert_non_null(fn[k]);
        }
        uint64_t rng = m;
        for (unsigned batch = 0; batch < 300; batch++) {
            union util_row a, b, h, d;
            for (unsigned i = 0; i < LANES; i++) {
                a.f[i] = some_float(&rng), b.f[i] = some_float(&rng);
                h.w[i] = some_half(&rng, false) | some_half(&rng, false) << 16;
            }
            fn[0]((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &b, &b},
                  UINT32_MAX, aux[0]);
            for (unsigned i = 0; i < LANES; i++)
                assert_int_equal(d.w[i], e8_search(a.f[i], e5m2, relu) << 8 |
                                             e8_search(b.f[i], e5m2, relu));
            fn[1]((void *const[]){&d, NULL}, (const void *const[]){&h, &h, &h, &h},
                  UINT32_MAX, aux[1]);
            for (unsigned i = 0; i < LANES; i++)
                assert_int_equal(d.w[i],
                                 e8_search(half_float(h.w[i] >> 16), e5m2, relu) << 8 |
                                     e8_search(half_float(h.w[i] & 0xffff), e5m2, relu));
        }
        for (unsigned v = 0; v < 0x10000; v += LANES) { /* back: every pair */
            union util_row a, d;
            for (unsigned i = 0; i < LANES; i++)
                a.w[i] = v + i;
            fn[2]((void *const[]){&d, NULL}, (const void *const[]){&a, &a, &a, &a},
                  UINT32_MAX, aux[2]);
            for (unsigned i = 0; i < LANES; i++)
                for (unsigned half = 0; half < 2; half++) {
                    unsigned e = a.w[i] >> 8 * half & 0xff, mag = e & 0x7f;
                    uint32_t got = d.w[i] >> 16 * half & 0xffff;
                    if (e5m2 ? mag > 0x7c : mag == 0x7f)
                        assert_int_equal(got, 0x7fff);
                    else if (relu && e & 0x80)
                        assert_int_equal(got, 0);
                    else if (e5m2 && mag == 0x7c)
                        assert_int_equal(got, 0x7c00 | (e & 0x80) << 8);
                    else
                        assert_true((double)half_float(got) == e8_value(e, e5m2) &&
                                    got >> 15 == e >> 7);
                }
        }
    }
}

static void
test_pack(void **state)
{
    static const struct {
        const char *form;
        uint32_t a, b, c, want;
    } t[] = {
        {"cvt.pack.sat.s16.s32", 40000, (uint32_t)-40000, 0, 0x7fff8000},
        {"cvt.pack.sat.u16.s32", (uint32_t)-1, 70000, 0, 0x0000ffff},
        {"cvt.pack.sat.s16.s32", (uint32_t)-2, 3, 0, 0xfffe0003},
        {"cvt.pack.sat.u8.s32.b32", 300, 7, 0x1234abcd, 0xabcdff07},
        {"cvt.pack.sat.s8.s32.b32", (uint32_t)-200, 200, 0x12345678, 0x5678807f},
        {"cvt.pack.sat.u4.s32.b32", 99, 3, 0x89abcdef, 0xabcdeff3},
        {"cvt.pack.sat.s4.s32.b32", (uint32_t)-99, 99, 0x89abcdef, 0xabcdef87},
    };
    (void)state;
    for (size_t k = 0; k < UTIL_COUNT(t); k++) {
        struct ptx_inst in;
        uint32_t aux;
        union util_row a, b, c, d;
        assert_true(util_inst(&in, t[k].form));
        lane_fn *fn = lane_select(&in, &aux);
        assert_non_null(fn);
        for (unsigned i = 0; i < LANES; i++)
            a.w[i] = t[k].a, b.w[i] = t[k].b, c.w[i] = t[k].c;
        fn((void *const[]){&d, NULL}, (const void *const[]){&a, &b, &c, &c}, UINT32_MAX,
           aux);
        for (unsigned i = 0; i < LANES; i++)
            if (d.w[i] != t[k].want)
                fail_msg("%s gives %x, not %x", t[k].form, d.w[i], t[k].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_min_max_neg_abs),
        cmocka_unit_test(test_approximate),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_packed_conversions),
        cmocka_unit_test(test_tf32),
        cmocka_unit_test(test_e8),
        cmocka_unit_test(test_pack),
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
