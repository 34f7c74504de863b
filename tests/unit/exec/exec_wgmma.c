/* exec_wgmma.c: products of a warpgroup against a model of their own: where elements lie in
 * scratchpad, in the words of PTX ISA 9.7.15.5 (rows of 8, chunks of 16 bytes, which chunk
 * changes places with which), where they lie in registers (9.7.15.4), and how sums are cut
 * (Xie et al. 2025). Values: any bits, sums that cancel, infinities and NaN. */
#include "unit/kit/exec_kit.h"

#include "base/file.h"
#include "machine/machine.h"
#include "unit/kit/lanes_util.h"
#include "unit/kit/wgmma_gemm.h"

enum { M = 64, IMAGE = 64 * 1024, B_AT = 16 * 1024 };

struct type {
    const char *name;
    int bytes, mbits, ebits, k; /* k of the instruction; ebits 0: integer */
};
static const struct type types[] = {{"f16", 2, 10, 5, 16}, {"bf16", 2, 7, 8, 16},
                                    {"tf32", 4, 10, 8, 8}, {"e4m3", 1, 3, 4, 32},
                                    {"e5m2", 1, 2, 5, 32}, {"s8", 1, 0, 0, 32},
                                    {"u8", 1, 0, 0, 32},   {"b1", 1, 0, 0, 256}};

/* A value as m 2^e; inf and NaN in x. */
struct number {
    double m;
    int e;
    double x;
};

static struct number
number_of(uint32_t v, const struct type *t)
{
    struct number r = {0, -100000, 0};
    if (!strcmp(t->name, "tf32"))
        v >>= 13;
    int e = (int)(v >> t->mbits) & ((1 << t->ebits) - 1),
        bias = (1 << (t->ebits - 1)) - 1;
    double m = (double)(v & ((1u << t->mbits) - 1));
    bool minus = v >> (t->mbits + t->ebits) & 1, fp8 = !strcmp(t->name, "e4m3");
    if (e == (1 << t->ebits) - 1 && (!fp8 || m == 7)) {
        r.x = m != 0 ? (double)__builtin_nanf("") : __builtin_inf();
        r.x = minus ? -r.x : r.x;
        r.m = 1;
        return r;
    }
    m = e ? m + (1 << t->mbits) : m;
    e = (e ? e : 1) - bias;
    for (int i = 0; i < t->mbits; i++)
        m /= 2;
    if (m != 0)
        r.e = e;
    r.m = minus ? -m : m;
    r.x = __builtin_ldexp(r.m, e);
    return r;
}

static uint32_t
element(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    memcpy(&v, p, (size_t)bytes);
    return v;
}

static bool
is_finite(double x)
{
    return x - x == 0;
}

/* c + a b in the card's way; half: D is f16. */
static double
model(const uint8_t *a, const struct type *ta, const uint8_t *b, const struct type *tb,
      double c, bool half, bool na, bool nb)
{
    int frac = ta->bytes == 1 ? 13 : 25, top = -100000, ce;
    double plain = c, sum = 0, p[64];
    int e[64];
    bool finite = is_finite(c);
    for (int k = 0; k < ta->k; k++) {
        struct number x = number_of(element(a + k * ta->bytes, ta->bytes), ta),
                      y = number_of(element(b + k * tb->bytes, tb->bytes), tb);
        double sign = na != nb ? -1 : 1;
        finite &= is_finite(x.x) && is_finite(y.x);
        plain += sign * x.x * y.x;
        p[k] = sign * x.m * y.m;
        e[k] = x.e + y.e;
        if (p[k] != 0 && e[k] > top)
            top = e[k];
    }
    if (!finite)
        return plain;
    __builtin_frexp(c, &ce);
    ce--;
    if (c != 0) {
        int least = half ? -14 : -126, raised = ce < least ? least : ce;
        top = raised > top ? raised : top;
    }
    if (top < -50000)
        return 0;
    for (int k = 0; k < ta->k; k++)
        if (p[k] != 0)
            sum += (double)(int64_t)__builtin_ldexp(
                p[k], frac - (top - e[k]) > -60 ? frac - (top - e[k]) : -60);
    sum += (double)(int64_t)__builtin_ldexp(c, frac - top);
    double r = __builtin_ldexp(sum, top - frac);
    if (half)
        return r; /* rounded where it is compared */
    /* cut to 24 bits, of fp8 to 14, and to the least place of f32 */
    int re;
    __builtin_frexp(r, &re);
    int digits = ta->bytes == 1 ? 14 : 24, last = re - digits;
    if (ta->bytes != 1 && last < -149)
        last = -149;
    if (ta->bytes == 1 && re < -125) /* subnormal: the places of f32 that it keeps */
        last = -126 - 13;
    r = __builtin_ldexp((double)(int64_t)__builtin_ldexp(r, -last), last);
    return r > 3.4028234663852886e38    ? __builtin_inf()
           : r < -3.4028234663852886e38 ? -__builtin_inf()
                                        : r;
}

/* To nearest even, of 11 digits. */
static uint32_t
half_of(double v)
{
    if (v != v)
        return 0x7fff;
    uint32_t best = 0, sign = v < 0 || (v == 0 && __builtin_signbit(v)) ? 0x8000 : 0;
    double x = v < 0 ? -v : v;
    if (x >= 65520)
        return 0x7c00 | sign;
    uint32_t lo = 0, hi = 0x7bff;
    const struct type *t = &types[0];
    while (lo < hi) { /* the largest not above */
        uint32_t mid = (lo + hi + 1) / 2;
        if (number_of(mid, t).x <= x)
            lo = mid;
        else
            hi = mid - 1;
    }
    double below = number_of(lo, t).x,
           above = lo == 0x7bff ? 65536 : number_of(lo + 1, t).x;
    best = x - below > above - x || (x - below == above - x && lo & 1) ? lo + 1 : lo;
    return best | sign;
}

/* Byte offset of byte `b` of the 32 along k of line r (K-major), or of element (r, k) of two
 * bytes (MN-major); swizzle 0, 32, 64, 128. The distances are what the descriptor says. */
static uint32_t
chunk_place(int swizzle, uint32_t row, uint32_t chunk)
{
    uint32_t x = swizzle == 128  ? row % 8
                 : swizzle == 64 ? row / 2 % 4
                 : swizzle == 32 ? row / 4 % 2
                                 : 0;
    return chunk ^ x;
}

static uint32_t
place(bool mn, int swizzle, uint32_t leading, uint32_t stride, uint32_t r, uint32_t b)
{
    uint32_t chunks = (uint32_t)swizzle / 16;
    if (!mn) {
        uint32_t c = b / 16;
        if (!swizzle)
            return r / 8 * stride + c * leading + r % 8 * 16 + b % 16;
        return r / 8 * stride + r % 8 * (uint32_t)swizzle +
               chunk_place(swizzle, r % 8, c) * 16 + b % 16;
    }
    uint32_t k = b / 2, c = r / 8; /* eight elements of M or N are a chunk */
    if (!swizzle)
        return c * stride + k / 8 * leading + k % 8 * 16 + r % 8 * 2 + b % 2;
    return c / chunks * leading + k / 8 * stride + k % 8 * (uint32_t)swizzle +
           chunk_place(swizzle, k % 8, c % chunks) * 16 + r % 8 * 2 + b % 2;
}

struct operand {
    bool mn;
    int swizzle;
    uint32_t leading, stride, at;
};

static uint64_t
descriptor(const struct operand *o)
{
    uint64_t mode = o->swizzle == 128  ? 1
                    : o->swizzle == 64 ? 2
                    : o->swizzle == 32 ? 3
                                       : 0;
    return (uint64_t)(o->at >> 4) | (uint64_t)(o->leading >> 4) << 16 |
           (uint64_t)(o->stride >> 4) << 32 | mode << 62;
}

static void
some_layout(struct operand *o, bool may_mn, uint32_t lines, uint32_t at, uint64_t *rng)
{
    static const int swizzles[] = {0, 32, 64, 128};
    o->swizzle = swizzles[splitmix_next(rng) % 4];
    o->mn = may_mn && splitmix_next(rng) % 2;
    o->at = at;
    uint32_t w = (uint32_t)o->swizzle, atom = w ? 8 * w : 128;
    if (!o->mn) {
        o->stride = w ? atom : 256;
        o->leading = w ? 16 : 128;
    } else if (w) { /* atoms of w bytes along MN; two groups of 8 k */
        uint32_t atoms = (lines * 2 + w - 1) / w;
        o->leading = atom;
        o->stride = atoms * atom;
    } else {
        o->stride = 128;
        o->leading = lines / 8 * 128;
    }
}

struct form {
    const struct type *a, *b;
    const char *d; /* f16 f32 s32 */
    int n;
    bool a_regs, scale, na, nb, sat;
    struct operand oa, ob;
};

static void
kernel_text(struct strbuf *t, const struct form *f, int nd)
{
    strbuf_addz(
        t,
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 image, .param .u64 regs, .param .u64 da, .param "
        ".u64 db)\n.reqntid 128\n{\n.reg .b32 %d<128>;\n.reg .b32 %r<16>;\n.reg .b64 "
        "%rd<12>;\n.reg .pred %p<4>;\n.shared .align 1024 .b8 s[65536];\n"
        "ld.param.u64 %rd1, [image];\nld.param.u64 %rd2, [regs];\nld.param.u64 %rd3, "
        "[da];\nld.param.u64 %rd4, [db];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n"
        "mov.u32 %r3, 0;\nL: mad.lo.u32 %r4, %r3, 128, %r1;\nshl.b32 %r4, %r4, 2;\n"
        "cvt.u64.u32 %rd5, %r4;\nadd.u64 %rd6, %rd1, %rd5;\nld.global.b32 %r5, [%rd6];\n"
        "add.u32 %r6, %r2, %r4;\nst.shared.b32 [%r6], %r5;\nadd.u32 %r3, %r3, 1;\n"
        "setp.lt.u32 %p1, %r3, 128;\n@%p1 bra L;\nbar.sync 0;\n");
    strbuf_printf(t, "mad.wide.u32 %%rd2, %%r1, %d, %%rd2;\n", (nd + 4) * 4);
    for (int i = 0; i < nd; i++)
        strbuf_printf(t, "ld.global.b32 %%d%d, [%%rd2+%d];\n", i, 4 * i);
    for (int i = 0; i < 4; i++)
        strbuf_printf(t, "ld.global.b32 %%r%d, [%%rd2+%d];\n", 8 + i, 4 * (nd + i));
    strbuf_printf(t,
                  "setp.%s.u32 %%p2, %%r1, 200;\nwgmma.fence.sync.aligned;\n"
                  "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s%s {",
                  f->scale ? "lt" : "gt", f->n, f->a->k, f->d, f->a->name, f->b->name,
                  f->sat                      ? ".satfinite"
                  : !strcmp(f->a->name, "b1") ? ".and.popc"
                                              : "");
    for (int i = 0; i < nd; i++)
        strbuf_printf(t, "%s%%d%d", i ? ", " : "", i);
    strbuf_addz(t, f->a_regs ? "}, {%r8, %r9, %r10, %r11}, %rd4, %p2"
                             : "}, %rd3, %rd4, %p2");
    if (f->a->ebits)
        strbuf_printf(t, ", %d, %d", f->na ? -1 : 1, f->nb ? -1 : 1);
    if (f->a->bytes == 2 && !f->a_regs)
        strbuf_printf(t, ", %d", f->oa.mn);
    if (f->a->bytes == 2)
        strbuf_printf(t, ", %d", f->ob.mn);
    strbuf_addz(
        t, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (int i = 0; i < nd; i++)
        strbuf_printf(t, "st.global.b32 [%%rd2+%d], %%d%d;\n", 4 * i, i);
    strbuf_addz(t, "ret;\n}\n");
}

static uint8_t image[IMAGE], fa[M][32], fb[256][32];
static uint32_t regs[128][132], was[128][132];

static uint8_t
some_byte(const struct type *t, int byte, uint64_t *rng, unsigned way)
{
    uint64_t r = splitmix_next(rng);
    if (way == 3 &&
        t->ebits) /* the largest below 2: sums of all of k have the most bits */
        return t->bytes == 2   ? (byte ? 0x3f : 0xff)
               : t->bytes == 4 ? (byte == 3 ? 0x3f : 0xff)
                               : (uint8_t)(((1 << (t->ebits - 1)) - 1) << t->mbits |
                                           ((1 << t->mbits) - 1));
    if (way == 0 || !t->ebits) /* any bits */
        return (uint8_t)r;
    /* exponents near each other: sums that cancel and are cut */
    if (byte == t->bytes - 1) {
        int shift = t->bytes == 1 ? t->mbits
                                  : (t->mbits + t->ebits + 1 - 8) - t->ebits + t->ebits;
        (void)shift;
        uint32_t top = t->bytes == 1
                           ? (uint32_t)((1 << (t->ebits - 1)) - 1 - (int)(r % 3))
                                     << t->mbits |
                                 (r >> 8 & ((1u << t->mbits) - 1))
                       : t->ebits == 5 ? 0x38 | (r & 7)
                                       : 0x3e | (r & 1);
        return (uint8_t)((top & 0x7f) | (r >> 40 & 0x80));
    }
    return (uint8_t)r;
}

static void
fill(const struct form *f, uint8_t m[][32], const struct type *t, int lines,
     const struct operand *o, uint64_t *rng, unsigned way)
{
    for (int r = 0; r < lines; r++)
        for (int b = 0; b < 32; b++) {
            m[r][b] = some_byte(t, b % t->bytes, rng, way);
            if (o)
                image[o->at + place(o->mn, o->swizzle, o->leading, o->stride, (uint32_t)r,
                                    (uint32_t)b)] = m[r][b];
        }
}

static uint32_t
expected(const struct form *f, int row, int col, uint32_t c)
{
    if (!f->a->ebits) {
        int64_t s = f->scale ? (int32_t)c : 0;
        for (int k = 0; k < 32; k++)
            if (!strcmp(f->a->name, "b1"))
                for (int i = 0; i < 8; i++)
                    s += (fa[row][k] & fb[col][k]) >> i & 1;
            else
                s += (!strcmp(f->a->name, "s8") ? (int8_t)fa[row][k] : fa[row][k]) *
                     (!strcmp(f->b->name, "s8") ? (int8_t)fb[col][k] : fb[col][k]);
        if (f->sat)
            s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
        return (uint32_t)(uint64_t)s;
    }
    bool half = !strcmp(f->d, "f16");
    float cf;
    memcpy(&cf, &c, 4);
    double cv = half ? number_of(c, &types[0]).x : (double)cf;
    double r = model(fa[row], f->a, fb[col], f->b, f->scale ? cv : 0, half, f->na, f->nb);
    if (half)
        return half_of(r);
    float v = (float)r;
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return r != r ? 0x7fffffff : bits;
}

static void
check_form(struct form *f, uint64_t *rng, unsigned way)
{
    bool half = !strcmp(f->d, "f16"), may_mn = f->a->bytes == 2;
    int nd = half ? f->n / 4 : f->n / 2;
    some_layout(&f->oa, may_mn, M, 0, rng);
    some_layout(&f->ob, may_mn, (uint32_t)f->n, B_AT, rng);
    memset(image, 0, sizeof image);
    fill(f, fa, f->a, M, f->a_regs ? NULL : &f->oa, rng, way);
    fill(f, fb, f->b, f->n, &f->ob, rng, way);
    for (int t = 0; t < 128; t++) {
        for (int i = 0; i < nd; i++) {
            uint64_t r = splitmix_next(rng);
            regs[t][i] = way == 0 || !f->a->ebits ? (uint32_t)r
                         : half ? (uint32_t)(r & 0x87ff87ff) | 0x38003800
                                : (uint32_t)(r & 0x81ffffff) | 0x3e000000;
        }
        for (int i = 0; i < 4; i++) /* row t / 4 and 8 on, halves of k */
            memcpy(&regs[t][nd + i],
                   &fa[t / 32 * 16 + t % 32 / 4 + i % 2 * 8][i / 2 * 16 + t % 4 * 4], 4);
    }
    memcpy(was, regs, sizeof was);
    struct strbuf text = {0};
    struct kit k;
    kernel_text(&text, f, nd);
    kit_sums = SUMS_HOPPER;
    kit_load(&k, text.s);
    size_t line = (size_t)(nd + 4) * 4;
    uint64_t pi = kit_buf(&k, IMAGE), pr = kit_buf(&k, 128 * line);
    uint8_t *flat = malloc(128 * line);
    for (int t = 0; t < 128; t++)
        memcpy(flat + (size_t)t * line, regs[t], line);
    assert_true(dev_write(k.mem, pi, image, IMAGE));
    assert_true(dev_write(k.mem, pr, flat, 128 * line));
    kit_param(&k, 0, pi);
    kit_param(&k, 1, pr);
    kit_param(&k, 2, descriptor(&f->oa));
    kit_param(&k, 3, descriptor(&f->ob));
    kit_run(&k, 1, 128);
    assert_true(dev_read(k.mem, pr, flat, 128 * line));
    for (int t = 0; t < 128; t++)
        for (int i = 0; i < (half ? 2 * nd : nd); i++) {
            int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2),
                col = 8 * (i / 4) + 2 * (t % 4) + i % 2;
            uint32_t got, c;
            memcpy(&got, flat + (size_t)t * line + (size_t)(half ? i / 2 : i) * 4, 4);
            c = was[t][half ? i / 2 : i];
            if (half) {
                got = got >> 16 * (i % 2) & 0xffff;
                c = c >> 16 * (i % 2) & 0xffff;
            }
            uint32_t want = expected(f, row, col, c);
            if (got != want && !((got | want) << 1 == 0))
                fail_msg("m64n%dk%d %s %s %s a %s %d/%d b %d/%d (%d,%d): %08x, not %08x",
                         f->n, f->a->k, f->d, f->a->name, f->b->name,
                         f->a_regs ? "regs" : "desc", f->oa.mn, f->oa.swizzle, f->ob.mn,
                         f->ob.swizzle, row, col, got, want);
        }
    free(flat);
    kit_free(&k);
    strbuf_free(&text);
}

static void
test_products(void **state)
{
    (void)state;
    uint64_t rng = 7;
    static const int ns[] = {8, 16, 24, 32, 64, 96, 128, 256};
    for (unsigned a = 0; a < UTIL_COUNT(types); a++)
        for (unsigned b = 0; b < UTIL_COUNT(types); b++) {
            const struct type *ta = &types[a], *tb = &types[b];
            bool fp8 = ta->ebits && ta->bytes == 1 && tb->ebits && tb->bytes == 1;
            bool ints = !ta->ebits && !tb->ebits && ta->k == 32 && tb->k == 32;
            if (a != b && !fp8 && !ints)
                continue;
            for (unsigned i = 0; i < 24; i++) {
                uint64_t r = splitmix_next(&rng);
                struct form f = {.a = ta,
                                 .b = tb,
                                 .n = ns[r % 8],
                                 .a_regs = r >> 8 & 1,
                                 .scale = r >> 9 & 3,
                                 .na = ta->ebits && (r >> 11 & 3) == 0,
                                 .nb = ta->ebits && (r >> 13 & 3) == 0,
                                 .sat = ints && (r >> 15 & 1)};
                f.d = !ta->ebits ? "s32"
                      : (ta->mbits == 10 && ta->bytes == 2) || fp8
                          ? (r >> 16 & 1 ? "f16" : "f32")
                          : "f32";
                if (!ta->ebits && f.n == 24 && 0)
                    f.n = 16;
                check_form(&f, &rng, i % 4);
            }
        }
}

static uint16_t ga[GEMM_M * GEMM_K], gb[GEMM_N * GEMM_K];
static float gc[GEMM_M * GEMM_N];

static void
check_gemm(void (*text)(struct strbuf *), bool tiled, unsigned threads)
{
    struct strbuf t = {0};
    struct kit k;
    text(&t);
    gemm_fill(ga, gb, tiled);
    kit_load(&k, t.s);
    uint64_t pa = kit_buf(&k, sizeof ga), pb = kit_buf(&k, sizeof gb),
             pc = kit_buf(&k, sizeof gc);
    kit_param(&k, 0, pa);
    kit_param(&k, 1, pb);
    kit_param(&k, 2, pc);
    assert_true(dev_write(k.mem, pa, ga, sizeof ga));
    assert_true(dev_write(k.mem, pb, gb, sizeof gb));
    if (kit_launch(&k, (struct exec_dim){GEMM_N / 64, GEMM_M / 64, 1},
                   (struct exec_dim){threads, 1, 1}) != EXEC_OK)
        kit_fail(&k, "run");
    assert_true(dev_read(k.mem, pc, gc, sizeof gc));
    for (int i = 0; i < GEMM_M; i++)
        for (int j = 0; j < GEMM_N; j++)
            if (gc[i * GEMM_N + j] != (float)gemm_reference(i, j))
                fail_msg("(%d,%d): %g, not %d", i, j, (double)gc[i * GEMM_N + j],
                         gemm_reference(i, j));
    kit_free(&k);
    strbuf_free(&t);
}

static void
test_gemm(void **state)
{
    (void)state;
    check_gemm(gemm_text, false, 128);
}

/* A warpgroup that copies, one that multiplies, and registers that change hands. */
static void
test_specialised_gemm(void **state)
{
    (void)state;
    check_gemm(gemm_specialised_text, true, 256);
}

/* Of Triton: B is k by columns for f16, columns by k for e4m3. */
static void
check_triton(const char *file, bool fp8, uint32_t shared)
{
    enum { TM = 128, TN = 256, TK = 256 };
    static const uint8_t e4m3[5] = {0, 0x38, 0x40, 0x44, 0x48};
    static uint8_t a[TM * TK * 2], b[TN * TK * 2];
    static float c[TM * TN];
    struct kit k;
    char *text = file_read(file, NULL);
    assert_non_null(text);
    kit_sums = SUMS_HOPPER;
    kit_load(&k, text);
    for (int i = 0; i < TM * TK + TN * TK; i++) {
        bool second = i >= TM * TK;
        int v = gemm_value(i);
        uint8_t *to = second ? b : a;
        size_t at = (size_t)(second ? i - TM * TK : i);
        if (fp8)
            to[at] = (uint8_t)(v < 0 ? e4m3[-v] | 0x80 : e4m3[v]);
        else
            memcpy(to + 2 * at, &(uint16_t){gemm_bits(v)}, 2);
    }
    uint64_t pa = kit_buf(&k, sizeof a), pb = kit_buf(&k, sizeof b),
             pc = kit_buf(&k, sizeof c);
    assert_true(dev_write(k.mem, pa, a, sizeof a) && dev_write(k.mem, pb, b, sizeof b));
    kit_param(&k, 0, pa);
    kit_param(&k, 1, pb);
    kit_param(&k, 2, pc);
    kit_param(&k, 3, TM);
    kit_param(&k, 4, TN);
    k.g.dynamic_shared = shared;
    if (kit_launch(&k, (struct exec_dim){TM / 64, TN / 128, 1},
                   (struct exec_dim){128, 1, 1}) != EXEC_OK)
        kit_fail(&k, file);
    assert_true(dev_read(k.mem, pc, c, sizeof c));
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            int want = 0;
            for (int x = 0; x < TK; x++)
                want += gemm_value(i * TK + x) *
                        gemm_value(TM * TK + (fp8 ? j * TK + x : x * TN + j));
            if (c[i * TN + j] != (float)want)
                fail_msg("%s (%d,%d): %g, not %d", file, i, j, (double)c[i * TN + j],
                         want);
        }
    kit_free(&k);
    free(text);
}

static void
test_triton(void **state)
{
    (void)state;
    check_triton(SOURCE_DIR "/tests/golden/ptx/inputs/triton-sm90-f16.ptx", false, 73728);
    check_triton(SOURCE_DIR "/tests/golden/ptx/inputs/triton-sm90-e4m3.ptx", true, 36864);
}

#define WARPGROUP(inst)                                                                  \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"           \
    ".reg .b32 %d<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<2>;\nmov.u64 %rd1, 0;\n"         \
    "setp.eq.u64 %p1, %rd1, 0;\n" inst "ret;\n}\n"
#define PRODUCT(shape) "wgmma.mma_async.sync.aligned." shape

/* Who does not take part, or reads beyond scratchpad; what there is no form of. */
static void
test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned threads;
        const char *want;
    } t[] = {
        {WARPGROUP(
             PRODUCT("m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 1, 1, "
                     "0, 0;\n")),
         96, "wgmma is executed by all threads of four warps"},
        {WARPGROUP(
             PRODUCT("m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 1, 1, "
                     "0, 0;\n")),
         128, "scratchpad"},
        {WARPGROUP(
             PRODUCT("m64n12k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 1, 1, "
                     "0, 0;\n")),
         0, "n is a multiple of 8"},
        {WARPGROUP(
             PRODUCT("m64n8k8.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 1, 1, "
                     "0, 0;\n")),
         0, "there is no such shape"},
        {WARPGROUP(
             PRODUCT("m64n8k16.f32.f16.f16 {%d0, %d1, %d2}, %rd1, %rd1, %p1, 1, 1, 0, "
                     "0;\n")),
         0, "matrix D has 4 registers"},
        {WARPGROUP(
             PRODUCT("m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 2, 1, "
                     "0, 0;\n")),
         0, "imm-scale-a is -1 or 1"},
        {WARPGROUP(
             PRODUCT("m64n8k32.f32.e4m3.e4m3 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %p1, 1, "
                     "1, 0, 0;\n")),
         0, "it takes 6 operands"},
        {WARPGROUP(
             PRODUCT("sp.m64n8k32.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, %d0, 0, "
                     "%p1, 1, 1, 0, 0;\n")),
         0, "sparse matrices are not simulated"},
        {WARPGROUP("wgmma.wait_group.sync.aligned 8;\n"), 0, "from 0 to 7"},
        {WARPGROUP("setmaxnreg.dec.sync.aligned.u32 20;\n"), 0,
         "a multiple of 8 from 24 to 256"},
        {WARPGROUP("setmaxnreg.dec.sync.aligned.u32 44;\n"), 0,
         "a multiple of 8 from 24 to 256"},
    };
    for (unsigned i = 0; i < UTIL_COUNT(t); i++) {
        struct kit k;
        struct strbuf b = {0};
        bool loaded = kit_try(&k, t[i].text);
        assert_int_equal(loaded, t[i].threads != 0);
        if (loaded)
            assert_int_equal(kit_launch(&k, (struct exec_dim){1, 1, 1},
                                        (struct exec_dim){t[i].threads, 1, 1}),
                             EXEC_FAULT);
        diag_print(&k.diag, &b);
        if (!strstr(b.s, t[i].want))
            fail_msg("%u: %s", i, b.s);
        strbuf_free(&b);
        kit_free(&k);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),         cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_specialised_gemm), cmocka_unit_test(test_triton),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
