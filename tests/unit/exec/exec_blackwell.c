/* exec_blackwell.c: what sm_100 and sm_120 brought to registers: pairs of f32, f32 with halves,
 * conversions of 4, 6 and 8 bits, redux of f32, vectors of 256 bits, mma of 4 and 6 bits with and
 * without scales. Pairs and mixed forms against the single-precision instructions, which have
 * tests against MPFR; conversions against a search through all values; products against sums
 * of small numbers that are exact. */
#include "unit/kit/exec_kit.h"

#include "machine/machine.h"
#include "unit/kit/lanes_util.h"

#define HEAD                                                                                 \
    ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 in, "    \
    ".param .u64 out)\n{\n.reg .b8 %b<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<40>;\n.reg .f32 " \
    "%f<40>;\n.reg .b64 %rd<16>;\n.reg .pred %p<4>;\nld.param.u64 %rd1, [in];\n"             \
    "ld.param.u64 %rd2, [out];\nmov.u32 %r0, %laneid;\nmul.wide.u32 %rd3, %r0, 64;\n"        \
    "add.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\n"

/* 32 lanes of 16 words in and out. */
static void
run(const char *body, uint32_t in[32][16], uint32_t out[32][16])
{
    struct strbuf t = {0};
    struct kit k;
    strbuf_addz(&t, HEAD);
    strbuf_addz(&t, body);
    strbuf_addz(&t, "ret;\n}\n");
    kit_sums = SUMS_BLACKWELL_RTX;
    kit_load(&k, t.s);
    uint64_t pi = kit_buf(&k, 2048), po = kit_buf(&k, 2048);
    kit_param(&k, 0, pi);
    kit_param(&k, 1, po);
    assert_true(dev_write(k.mem, pi, in, 2048));
    kit_run(&k, 1, 32);
    assert_true(dev_read(k.mem, po, out, 2048));
    kit_free(&k);
    strbuf_free(&t);
}

static uint32_t
some_float(uint64_t *rng)
{
    static const uint32_t corners[] = {0,          0x80000000, 1,          0x80000001,
                                       0x7fffff,   0x800000,   0x3f800000, 0x7f7fffff,
                                       0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001};
    uint64_t r = splitmix_next(rng);
    return r % 3 == 0   ? corners[(r >> 8) % UTIL_COUNT(corners)]
           : r % 3 == 1 ? 0x3f000000 + (uint32_t)(r >> 8 & 0x1ffffff)
                        : (uint32_t)(r >> 8);
}

static void
test_pairs(void **state)
{
    (void)state;
    static const char *const rnd[] = {".rn", ".rz", ".rm", ".rp"},
                             *const ftz[] = {"", ".ftz"},
                             *const ops[] = {"add", "sub", "mul", "fma"};
    uint64_t rng = 3;
    for (unsigned i = 0; i < 32; i++) {
        const char *op = ops[i % 4], *r = rnd[i / 4 % 4], *z = ftz[i / 16];
        const char *third = i % 4 == 3 ? ", %rd6" : "", *c0 = i % 4 == 3 ? ", %f6" : "",
                   *c1 = i % 4 == 3 ? ", %f7" : "";
        uint32_t in[32][16], out[32][16];
        char body[1000];
        for (int l = 0; l < 32; l++)
            for (int w = 0; w < 16; w++)
                in[l][w] = some_float(&rng);
        snprintf(
            body, sizeof body,
            "ld.global.v2.b64 {%%rd4, %%rd5}, [%%rd1];\nld.global.b64 %%rd6, [%%rd1+16];\n"
            "%s%s%s.f32x2 %%rd7, %%rd4, %%rd5%s;\nst.global.b64 [%%rd2], %%rd7;\n"
            "mov.b64 {%%f2, %%f3}, %%rd4;\nmov.b64 {%%f4, %%f5}, %%rd5;\n"
            "mov.b64 {%%f6, %%f7}, %%rd6;\n%s%s%s.f32 %%f8, %%f2, %%f4%s;\n"
            "%s%s%s.f32 %%f9, %%f3, %%f5%s;\nst.global.v2.f32 [%%rd2+8], {%%f8, %%f9};\n",
            op, r, z, third, op, r, z, c0, op, r, z, c1);
        run(body, in, out);
        for (int l = 0; l < 32; l++) {
            assert_int_equal(out[l][0], out[l][2]);
            assert_int_equal(out[l][1], out[l][3]);
        }
    }
}

static void
test_mixed(void **state)
{
    (void)state;
    static const char *const types[] = {"f16", "bf16"},
                             *const rnd[] = {".rn", ".rz", ".rm", ".rp"},
                             *const sat[] = {"", ".sat"};
    uint64_t rng = 4;
    for (unsigned i = 0; i < 48; i++) {
        const char *t = types[i % 2], *r = rnd[i / 2 % 4], *s = sat[i / 8 % 2];
        unsigned op = i / 16;
        uint32_t in[32][16], out[32][16];
        char body[1000];
        for (int l = 0; l < 32; l++) {
            for (int w = 0; w < 16; w++)
                in[l][w] = some_float(&rng);
            in[l][0] = (uint32_t)splitmix_next(&rng);
        }
        const char *name = op == 0   ? "add"
                           : op == 1 ? "sub"
                                     : "fma",
                   *b = op == 2 ? "%h2, " : "", *fb = op == 2 ? "%f2, " : "";
        snprintf(
            body, sizeof body,
            "ld.global.v2.b16 {%%h1, %%h2}, [%%rd1];\nld.global.f32 %%f3, [%%rd1+4];\n"
            "%s%s%s.f32.%s %%f4, %%h1, %s%%f3;\nst.global.f32 [%%rd2], %%f4;\n"
            "cvt.f32.%s %%f1, %%h1;\ncvt.f32.%s %%f2, %%h2;\n%s%s%s.f32 %%f5, %%f1, %s%%f3;\n"
            "st.global.f32 [%%rd2+4], %%f5;\n",
            name, r, s, t, b, t, t, name, r, s, fb);
        run(body, in, out);
        for (int l = 0; l < 32; l++)
            if (out[l][0] != out[l][1])
                fail_msg("%s: %08x %08x: %08x, not %08x", body, in[l][0], in[l][1],
                         out[l][0], out[l][1]);
    }
}

/* -- narrow formats: sign, exponent of ebits, mantissa of mbits, no infinity or NaN -- */

static double
tiny_value(unsigned v, int ebits, int mbits)
{
    int e = (int)(v >> mbits) & ((1 << ebits) - 1), bias = ebits == 2 ? 1 : 3;
    double m = v & ((1u << mbits) - 1);
    m = e ? m + (1 << mbits) : m;
    m = __builtin_ldexp(m, (e ? e : 1) - bias - mbits);
    return v >> (ebits + mbits) & 1 ? -m : m;
}

/* The nearest of all values, the even one of two; NaN and what is too large the largest. */
static unsigned
tiny_nearest(float x, int ebits, int mbits, bool relu)
{
    unsigned n = 1u << (ebits + mbits), best = 0;
    if (x != x)
        return n - 1;
    double a = x < 0 ? -(double)x : (double)x, least = 1e300;
    if (relu && __builtin_signbit(x))
        return 0;
    for (unsigned v = 0; v < n; v++) {
        double d = tiny_value(v, ebits, mbits) - a;
        d = d < 0 ? -d : d;
        if (d < least || (d == least && v % 2 == 0)) {
            best = v;
            least = d;
        }
    }
    return a - a == 0 ? best | (__builtin_signbit(x) ? n : 0)
                      : (n - 1) | (__builtin_signbit(x) ? n : 0);
}

static void
test_tiny(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int ebits, mbits;
    } t[] = {{"e2m3x2", 2, 3}, {"e3m2x2", 3, 2}, {"e2m1x2", 2, 1}};
    uint64_t rng = 5;
    for (unsigned i = 0; i < 60; i++) {
        int e = t[i % 3].ebits, m = t[i % 3].mbits;
        bool relu = i / 3 % 2, four = m == 1;
        uint32_t in[32][16], out[32][16];
        char body[1000];
        for (int l = 0; l < 32; l++)
            for (int w = 0; w < 2; w++) { /* near and between the format's values */
                uint64_t r = splitmix_next(&rng);
                double v = tiny_value((unsigned)r % (2u << (e + m)), e, m),
                       u = tiny_value((unsigned)(r >> 20) % (2u << (e + m)), e, m);
                float x = (float)(r >> 40 & 1 ? (v + u) / 2 : v);
                memcpy(&in[l][w], &x, 4);
                in[l][w] += (uint32_t)(r >> 41 & 3) - 1;
                if (r >> 50 % 8 == 0)
                    in[l][w] = some_float(&rng);
            }
        snprintf(body, sizeof body,
                 "ld.global.v2.f32 {%%f1, %%f2}, [%%rd1];\n"
                 "cvt.rn.satfinite%s.%s.f32 %s, %%f1, %%f2;\n%s"
                 "st.global.b32 [%%rd2], %%r2;\ncvt.rn.f16x2.%s %%r3, %s;\n"
                 "st.global.b32 [%%rd2+4], %%r3;\n",
                 relu ? ".relu" : "", t[i % 3].name, four ? "%b1" : "%h1",
                 four ? "cvt.u32.u8 %r2, %b1;\n" : "cvt.u32.u16 %r2, %h1;\n",
                 t[i % 3].name, four ? "%b1" : "%h1");
        run(body, in, out);
        for (int l = 0; l < 32; l++) {
            float x, y;
            memcpy(&x, &in[l][0], 4);
            memcpy(&y, &in[l][1], 4);
            unsigned hi = tiny_nearest(x, e, m, relu), lo = tiny_nearest(y, e, m, relu);
            unsigned want = hi << (four ? 4 : 8) | lo;
            if (out[l][0] != want)
                fail_msg("%s: %g %g: %x, not %x", t[i % 3].name, (double)x, (double)y,
                         out[l][0], want);
            /* Every value is one of f16. */
            for (int w = 0; w < 2; w++) {
                uint32_t h = out[l][1] >> (w ? 0 : 16) & 0xffff;
                double v = __builtin_ldexp((h & 0x3ff) + (h & 0x7c00 ? 1024 : 0),
                                           (int)(h >> 10 & 31 ? h >> 10 & 31 : 1) - 25);
                assert_true((h & 0x8000 ? -v : v) == tiny_value(w ? lo : hi, e, m));
            }
        }
    }
}

static void
test_scales(void **state)
{
    (void)state;
    uint64_t rng = 6;
    for (unsigned i = 0; i < 40; i++) {
        bool up = i % 2, satf = i / 2 % 2;
        uint32_t in[32][16], out[32][16];
        char body[600];
        for (int l = 0; l < 32; l++)
            in[l][0] = some_float(&rng), in[l][1] = (uint32_t)splitmix_next(&rng);
        snprintf(
            body, sizeof body,
            "ld.global.v2.f32 {%%f1, %%f2}, [%%rd1];\ncvt.%s%s.ue8m0x2.f32 %%h1, %%f1, %%f2;\n"
            "cvt.u32.u16 %%r2, %%h1;\nst.global.b32 [%%rd2], %%r2;\n"
            "cvt.rn.bf16x2.ue8m0x2 %%r3, %%h1;\nst.global.b32 [%%rd2+4], %%r3;\n",
            up ? "rp" : "rz", satf ? ".satfinite" : "");
        run(body, in, out);
        for (int l = 0; l < 32; l++)
            for (int w = 0; w < 2; w++) {
                float x;
                memcpy(&x, &in[l][w], 4);
                double a = x < 0 ? -(double)x : (double)x;
                unsigned want = 0;
                if (x != x) {
                    want = 0xff;
                } else if (up) {
                    while (want < 0xff && __builtin_ldexp(1, (int)want - 127) < a)
                        want++;
                } else {
                    while (want < 0xff && __builtin_ldexp(1, (int)want + 1 - 127) <= a)
                        want++;
                }
                if (want == 0xff && x == x && satf)
                    want = 0xfe;
                unsigned got = out[l][0] >> (w ? 0 : 8) & 255;
                if (got != want)
                    fail_msg("ue8m0 %s %g: %x, not %x", up ? "rp" : "rz", (double)x, got,
                             want);
                uint32_t b = (out[l][1] >> (w ? 0 : 16) & 0xffff) << 16;
                float back;
                memcpy(&back, &b, 4);
                assert_true(want == 0xff
                                ? back != back
                                : (double)back == __builtin_ldexp(1, (int)want - 127));
            }
    }
}

static void
test_redux(void **state)
{
    (void)state;
    static const char *const mods[] = {"min",     "max",     "min.abs",
                                       "max.abs", "min.NaN", "max.abs.NaN"};
    uint64_t rng = 8;
    for (unsigned i = 0; i < 60; i++) {
        const char *m = mods[i % 6];
        bool max = m[1] == 'a', abs = strstr(m, "abs"), nan = strstr(m, "NaN");
        uint32_t in[32][16], out[32][16];
        char body[400];
        for (int l = 0; l < 32; l++) {
            in[l][0] = some_float(&rng);
            if (i % 2 && (in[l][0] & 0x7fffffff) > 0x7f800000)
                in[l][0] = 0x40000000u + (uint32_t)l;
        }
        snprintf(body, sizeof body,
                 "ld.global.f32 %%f1, [%%rd1];\nredux.sync.%s.f32 %%f2, %%f1, "
                 "0xffffffff;\nst.global.f32 [%%rd2], %%f2;\n",
                 m);
        run(body, in, out);
        bool any = false, isnan = false;
        uint32_t best = 0;
        for (int l = 0; l < 32; l++) {
            uint32_t v = abs ? in[l][0] & 0x7fffffff : in[l][0];
            if ((v & 0x7fffffff) > 0x7f800000) {
                isnan = true;
                continue;
            }
            /* ordered by sign and magnitude, -0 below +0 */
            int64_t key = v >> 31 ? -(int64_t)(v & 0x7fffffff) - 1 : (int64_t)v,
                    old = best >> 31 ? -(int64_t)(best & 0x7fffffff) - 1 : (int64_t)best;
            if (!any || (max ? key > old : key < old))
                best = v;
            any = true;
        }
        uint32_t want = (nan && isnan) || !any ? 0x7fffffff : best;
        for (int l = 0; l < 32; l++)
            if (out[l][0] != want)
                fail_msg("%s: %08x, not %08x", m, out[l][0], want);
    }
}

static void
test_vectors(void **state)
{
    (void)state;
    uint32_t in[32][16], out[32][16];
    for (uint32_t l = 0; l < 32; l++)
        for (uint32_t w = 0; w < 16; w++)
            in[l][w] = l << 8 | w;
    run("ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, _}, [%rd1+32];\n"
        "st.global.v8.b32 [%rd2], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};\n"
        "ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];\n"
        "setp.lt.u32 %p1, %r0, 16;\n@%p1 st.global.v8.f32 [%rd2+32], {%f8, %f7, %f6, %f5, %f4, "
        "%f3, %f2, %f1};\n",
        in, out);
    for (uint32_t l = 0; l < 32; l++)
        for (uint32_t w = 0; w < 8; w++) {
            assert_int_equal(out[l][w], w < 7 ? l << 8 | (14 - w) : l);
            assert_int_equal(out[l][8 + w], l < 16 ? l << 8 | (7 - w) : 0);
        }
}

/* -- mma: small numbers, exact sums -- */

static double
factor_value(unsigned byte, const char *t)
{
    if (!strcmp(t, "e2m1"))
        return tiny_value(byte >> 2 & 15, 2, 1);
    if (!strcmp(t, "e2m3"))
        return tiny_value(byte & 63, 2, 3);
    if (!strcmp(t, "e3m2"))
        return tiny_value(byte & 63, 3, 2);
    int m = !strcmp(t, "e4m3") ? 3 : 2, e = 7 - m, x = (int)(byte >> m) & ((1 << e) - 1);
    double v = __builtin_ldexp((byte & ((1u << m) - 1)) + (x ? 1 << m : 0),
                               (x ? x : 1) - ((1 << (e - 1)) - 1) - m);
    return byte & 0x80 ? -v : v;
}

/* Bytes whose values are -2 to 2, by sixteenths at most. */
static unsigned
some_factor(const char *t, uint64_t *rng)
{
    for (;;) {
        unsigned b = splitmix_next(rng) & 255;
        if (!strcmp(t, "e2m1"))
            b &= 0x3c;
        else if (t[1] != '4' && t[1] != '5')
            b &= 63;
        double v = factor_value(b, t);
        if (v >= -2 && v <= 2 && v * 16 == (double)(int)(v * 16))
            return b;
    }
}

static void
test_kinds(void **state)
{
    (void)state;
    static const char *const types[] = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
    uint64_t rng = 9;
    for (unsigned i = 0; i < 25 * 3; i++) {
        /* way 0: f8f6f4, 1: mxf8f6f4, 2: 4 bits with scales */
        unsigned way = i / 25;
        const char *ta = way == 2 ? "e2m1" : types[i % 5],
                   *tb = way == 2 ? "e2m1" : types[i / 5 % 5];
        bool four = way == 2, small = four && i % 2, packed = four;
        int k = four ? 64 : 32, every = small ? 16 : 32, nscale = k / every;
        static double a[16][64], b[8][64], c[16][8], sa[16][4], sb[8][4];
        unsigned ba = way ? (unsigned)(splitmix_next(&rng) % (unsigned)(4 / nscale)) *
                                (unsigned)nscale
                          : 0,
                 bb = way ? (unsigned)(splitmix_next(&rng) % (unsigned)(4 / nscale)) *
                                (unsigned)nscale
                          : 0,
                 ida = splitmix_next(&rng) % 2, idb = splitmix_next(&rng) % 4;
        uint32_t in[32][16], out[32][16];
        memset(in, 0, sizeof in);
        for (int l = 0; l < 32; l++) {
            int g = l / 4, t = l % 4;
            for (int r = 0; r < 6; r++)
                for (int j = 0; j < (packed ? 8 : 4); j++) {
                    const char *ty = r < 4 ? ta : tb;
                    unsigned f = some_factor(ty, &rng);
                    int per = packed ? 8 : 4;
                    int col = r < 4 ? r / 2 * 4 * per + t * per + j
                                    : (r - 4) * 4 * per + t * per + j;
                    (r < 4 ? a[g + r % 2 * 8] : b[g])[col] = factor_value(f, ty);
                    in[l][r] |= packed ? (f >> 2) << 4 * j : f << 8 * j;
                }
            for (int r = 0; r < 4; r++) {
                float v = (float)((int)(splitmix_next(&rng) % 65) - 32);
                c[g + r / 2 * 8][2 * t + r % 2] = (double)v;
                memcpy(&in[l][6 + r], &v, 4);
            }
            for (int side = 0; side < 2; side++)
                for (int s = 0; s < 4; s++) { /* 1/4 to 4; ue4m3 with a mantissa */
                    unsigned v = small ? 0x28 + (unsigned)(splitmix_next(&rng) % 24)
                                       : 125 + (unsigned)(splitmix_next(&rng) % 5);
                    in[l][10 + side] |= v << 8 * s;
                }
        }
        for (int s = 0; s < nscale; s++) {
            for (int r = 0; r < 16; r++) {
                unsigned v =
                    in[r % 8 * 4 + 2 * (int)ida + r / 8][10] >> 8 * ((int)ba + s) & 255;
                sa[r][s] = !way    ? 1
                           : small ? factor_value(v, "e4m3")
                                   : __builtin_ldexp(1, (int)v - 127);
            }
            for (int n = 0; n < 8; n++) {
                unsigned v = in[n * 4 + (int)idb][11] >> 8 * ((int)bb + s) & 255;
                sb[n][s] = !way    ? 1
                           : small ? factor_value(v, "e4m3")
                                   : __builtin_ldexp(1, (int)v - 127);
            }
        }
        char body[1200], kind[120], scales[100] = "";
        if (!way)
            snprintf(kind, sizeof kind, "kind::f8f6f4.f32.%s.%s.f32", ta, tb);
        else if (way == 1)
            snprintf(kind, sizeof kind,
                     "kind::mxf8f6f4.block_scale%s.f32.%s.%s.f32.ue8m0",
                     i % 2 ? ".scale_vec::1X" : "", ta, tb);
        else
            snprintf(kind, sizeof kind,
                     "kind::%s.block_scale.scale_vec::%s.f32.e2m1.e2m1.f32.%s",
                     small || i % 4 ? "mxf4nvf4" : "mxf4", small ? "4X" : "2X",
                     small ? "ue4m3" : "ue8m0");
        if (way)
            snprintf(scales, sizeof scales, ", %%r11, {%u, %u}, %%r12, {%u, %u}", ba, ida,
                     bb, idb);
        snprintf(
            body, sizeof body,
            "ld.global.v4.b32 {%%r1, %%r2, %%r3, %%r4}, [%%rd1];\n"
            "ld.global.v2.b32 {%%r5, %%r6}, [%%rd1+16];\n"
            "ld.global.v4.f32 {%%f1, %%f2, %%f3, %%f4}, [%%rd1+24];\n"
            "ld.global.v2.b32 {%%r11, %%r12}, [%%rd1+40];\n"
            "mma.sync.aligned.m16n8k%d.row.col.%s {%%f5, %%f6, %%f7, %%f8}, {%%r1, %%r2, %%r3, "
            "%%r4}, {%%r5, %%r6}, {%%f1, %%f2, %%f3, %%f4}%s;\n"
            "st.global.v4.f32 [%%rd2], {%%f5, %%f6, %%f7, %%f8};\n",
            k, kind, scales);
        /* the vector at 24 is not aligned to 16 */
        char *at = strstr(body, "ld.global.v4.f32");
        memcpy(at, "ld.global.b32   ", 0), (void)at;
        struct strbuf text = {0};
        const char *bad = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+24];\n";
        const char *from = strstr(body, bad);
        strbuf_add(&text, body, (size_t)(from - body));
        strbuf_addz(
            &text,
            "ld.global.v2.f32 {%f1, %f2}, [%rd1+24];\nld.global.v2.f32 {%f3, %f4}, "
            "[%rd1+32];\n");
        strbuf_addz(&text, from + strlen(bad));
        run(text.s, in, out);
        for (int l = 0; l < 32; l++)
            for (int r = 0; r < 4; r++) {
                int row = l / 4 + r / 2 * 8, col = l % 4 * 2 + r % 2;
                double s = c[row][col];
                for (int x = 0; x < k; x++)
                    s += a[row][x] * b[col][x] * sa[row][x / every] * sb[col][x / every];
                float v;
                memcpy(&v, &out[l][r], 4);
                if ((double)v != s)
                    fail_msg("%s (%d,%d): %g, not %g", kind, row, col, (double)v, s);
            }
        strbuf_free(&text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs), cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_tiny),  cmocka_unit_test(test_scales),
        cmocka_unit_test(test_redux), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
