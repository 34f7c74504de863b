/* exec_video.c: video instructions, every operation with every combination of types and
 * secondary operation (tests/vectors/video.h), against a transcription of the pseudo-code
 * of PTX ISA 9.0, 9.7.18, which works on the text of the instruction and on arrays of
 * bytes; what a card does against the ISA is marked. */
#include "unit/kit/exec_kit.h"

#include "unit/kit/lanes_util.h"
#include "vectors/video.h"

typedef __int128 wide;

static wide
clamp(wide v, wide most, wide least)
{
    return v > most ? most : v < least ? least : v;
}

static wide
as_number(const uint8_t *bytes, int n, bool is_signed)
{
    wide v = 0;
    for (int i = n; i--;)
        v = v * 256 + bytes[i];
    return is_signed && bytes[n - 1] >= 128 ? v - ((wide)1 << 8 * n) : v;
}

/* partSelectSignExtend */
static wide
select_part(uint32_t r, const char *sel, bool is_signed)
{
    uint8_t b[4];
    memcpy(b, &r, 4);
    if (!*sel)
        return as_number(b, 4, is_signed);
    int at = sel[2] - '0';
    return sel[1] == 'b' ? as_number(b + at, 1, is_signed)
                         : as_number(b + 2 * at, 2, is_signed);
}

static bool
has(const struct video_form *f, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = f->suffixes; (p = strstr(p, word)); p++)
        if (p[n] == '.' || !p[n])
            return true;
    return false;
}

static bool
compare(const struct video_form *f, wide a, wide b)
{
    return has(f, ".eq")   ? a == b
           : has(f, ".ne") ? a != b
           : has(f, ".lt") ? a < b
           : has(f, ".le") ? a <= b
           : has(f, ".gt") ? a > b
                           : a >= b;
}

static wide
primary(const struct video_form *f, wide a, wide b)
{
    const char *op = f->suffixes;
    if (!strncmp(op, "vadd", 4))
        return a + b;
    if (!strncmp(op, "vsub", 4))
        return a - b;
    if (!strncmp(op, "vabsdiff", 8))
        return a - b < 0 ? b - a : a - b;
    if (!strncmp(op, "vmin", 4))
        return a < b ? a : b;
    if (!strncmp(op, "vmax", 4))
        return a > b ? a : b;
    if (!strncmp(op, "vavrg",
                 5)) { /* (a + b + 1) >> 1, or (a + b) >> 1 of a negative sum */
        wide s = a + b >= 0 ? a + b + 1 : a + b;
        return s >= 0 ? s / 2 : -((1 - s) / 2);
    }
    if (!strncmp(op, "vsh", 3)) {
        if (has(f, ".wrap"))
            b %= 32;
        b = b > 32 ? 32 : b;
        wide p = 1;
        while (b-- > 0)
            p *= 2;
        if (op[3] == 'l')
            return a * p;
        return a >= 0 ? a / p : -((-a + p - 1) / p);
    }
    return compare(f, a, b);
}

static uint32_t
scalar(const struct video_form *f, bool sd, bool sa, bool sb, uint32_t ra, uint32_t rb,
       uint32_t rc)
{
    wide t = primary(f, select_part(ra, f->asel, sa), select_part(rb, f->bsel, sb));
    int bits = !*f->dsel ? 32 : f->dsel[1] == 'b' ? 8 : 16;
    /* From here on in two words, as ptxas' code, and as that against the ISA: .sat has no
     * bound above for 32 unsigned bits, takes a negative number for a large one where it
     * has 8 or 16, looks at 2 bits more than 32 of what is shifted, and does not see
     * which part that goes into; a sum is compared as a signed word. */
    bool sat = has(f, ".sat"), shift = !strncmp(f->suffixes, "vsh", 3),
         sum = !strncmp(f->suffixes, "vadd", 4) || !strncmp(f->suffixes, "vsub", 4);
    uint32_t low = (uint32_t)t;
    int32_t high = (int32_t)(uint32_t)(t >> 32);
    if (sat && shift)
        high = ((high & 3) ^ 2) - 2;
    if (sat && bits < 32 && !shift) {
        uint32_t most = (sd ? 1u << (bits - 1) : 1u << bits) - 1;
        low = high || low > most ? most : low;
        high = 0;
    } else if (sat && sd) {
        if (high != (low >> 31 ? -1 : 0))
            low = high < 0 ? 0x80000000u : 0x7fffffffu;
        high = low >> 31 ? -1 : 0;
    } else if (sat) {
        if (high < 0)
            low = 0, high = 0;
        if (high && shift)
            low = UINT32_MAX;
    }
    if (sum || (shift && sat))
        high = low >> 31 ? -1 : 0;
    wide c = select_part(rc, "", sd);
    t = (wide)high * ((wide)1 << 32) + low;
    if (!sd && high < 0)
        t += (wide)1 << 64;
    if (has(f, ".add"))
        return (uint32_t)(t + c);
    if (has(f, ".min"))
        return (uint32_t)(t < c ? t : c);
    if (has(f, ".max"))
        return (uint32_t)(t > c ? t : c);
    if (!*f->dsel)
        return low;
    uint8_t d[4];
    memcpy(d, &rc, 4);
    if (!strcmp(f->dsel, ".h1"))
        low >>= 16; /* against the ISA */
    memcpy(d + (f->dsel[2] - '0') * bits / 8, &low, (size_t)bits / 8);
    memcpy(&rc, d, 4);
    return rc;
}

/* Against the ISA words and c are signed, whatever their types. */
static uint32_t
mad(const struct video_form *f, bool sa, bool sb, uint32_t ra, uint32_t rb, uint32_t rc)
{
    bool negated = *f->neg_a, final = sa || sb || negated || *f->neg_c;
    wide t = select_part(ra, f->asel, sa || !*f->asel) *
             select_part(rb, f->bsel, sb || !*f->bsel);
    int lsb = 0;
    if (has(f, ".po"))
        lsb = 1;
    else if (negated)
        t = -t - 1, lsb = 1;
    else if (*f->neg_c)
        rc = ~rc, lsb = 1;
    t += select_part(rc, "", true) + lsb;
    if (!final && t < 0)
        t += (wide)1 << 64; /* 64 bits, shifted without sign */
    t >>= has(f, ".shr7") ? 7 : has(f, ".shr15") ? 15 : 0;
    if (!has(f, ".sat"))
        return (uint32_t)t;
    if (final)
        return (uint32_t)clamp(t, INT32_MAX, INT32_MIN);
    return (uint32_t)clamp(t >> 63 ? 0 : t, UINT32_MAX, 0);
}

static uint32_t
simd(const struct video_form *f, int ways, bool sd, bool sa, bool sb, uint32_t ra,
     uint32_t rb, uint32_t rc)
{
    uint8_t src[8], d[4];
    int size = 4 / ways;
    memcpy(src, &ra, 4), memcpy(src + 4, &rb, 4), memcpy(d, &rc, 4);
    const char *asel = *f->asel    ? f->asel
                       : ways == 2 ? ".h10"
                                   : ".b3210",
               *bsel = *f->bsel    ? f->bsel
                       : ways == 2 ? ".h32"
                                   : ".b7654",
               *mask = *f->dsel    ? f->dsel
                       : ways == 2 ? ".h10"
                                   : ".b3210";
    uint32_t sum = rc;
    for (int i = 0; i < ways; i++) {
        if (!strchr(mask + 2, '0' + i))
            continue;
        int a = asel[1 + ways - i] - '0', b = bsel[1 + ways - i] - '0';
        wide t = primary(f, as_number(src + a * size, size, sa),
                         as_number(src + b * size, size, sb));
        if (has(f, ".sat"))
            t = sd ? clamp(t, ((wide)1 << (8 * size - 1)) - 1,
                           -((wide)1 << (8 * size - 1)))
                   : clamp(t, ((wide)1 << 8 * size) - 1, 0);
        sum += (uint32_t)t;
        uint32_t low = (uint32_t)t;
        memcpy(d + i * size, &low, (size_t)size);
    }
    if (has(f, ".add"))
        return sum;
    memcpy(&rc, d, 4);
    return rc;
}

static uint32_t
reference(const struct video_form *f, uint32_t a, uint32_t b, uint32_t c)
{
    size_t name = strcspn(f->suffixes, ".");
    char last = f->suffixes[name - 1];
    bool set = !strncmp(f->suffixes, "vset", 4);
    const char *t = f->suffixes + name; /* three types, of vset two */
    bool first = t[1] == 's', second = t[5] == 's', third = t[9] == 's' && !set;
    bool sd = first, sa = set ? first : second, sb = set ? second : third;
    if (last == '2' || last == '4')
        return simd(f, last - '0', sd, sa, sb, a, b, c);
    if (!strncmp(f->suffixes, "vmad", 4))
        return mad(f, sa, sb, a, b, c);
    return scalar(f, sd, sa, sb, a, b, c);
}

static void
test_all_forms(void **state)
{
    (void)state;
    uint64_t rng = 9;
    struct video_form f;
    unsigned n;
    for (n = 0; video_form(n, &f); n++) {
        uint32_t in[3 * 32], out[32];
        for (int i = 0; i < 3 * 32; i++)
            in[i] = (uint32_t)util_value(&rng, 4, false);
        struct strbuf b = {0};
        struct kit k;
        video_kernel(&b, &f);
        kit_load(&k, b.s);
        uint64_t pi = kit_buf(&k, sizeof in), po = kit_buf(&k, sizeof out);
        kit_param(&k, 0, pi);
        kit_param(&k, 1, po);
        assert_true(dev_write(k.mem, pi, in, sizeof in));
        kit_run(&k, 1, 32);
        assert_true(dev_read(k.mem, po, out, sizeof out));
        for (int i = 0; i < 32; i++) {
            uint32_t want = reference(&f, in[i], in[32 + i], in[64 + i]);
            if (out[i] != want)
                fail_msg("%s d%s a%s b%s of %x, %x, %x gives %x, not %x", f.suffixes,
                         f.dsel, f.asel, f.bsel, in[i], in[32 + i], in[64 + i], out[i],
                         want);
        }
        kit_free(&k);
        strbuf_free(&b);
    }
    print_message("%u forms\n", n);
    assert_true(n > 1900);
}

/* Examples worked out by hand, and where it says so an H100's answers. */
static void
test_by_hand(void **state)
{
    static const struct {
        const char *inst;
        uint32_t a, b, c, want;
    } t[] = {
        {"vadd.s32.s32.s32.sat %r4.b1, %r0.b0, %r1.b0, %r2;", 0x7f, 0x01, 0x11223344,
         0x11227f44},
        {"vsub.u32.u32.u32.sat %r4, %r0, %r1;", 1, 2, 0, 0},
        {"vabsdiff4.u32.u32.u32.add %r4, %r0, %r1, %r2;", 0x01020304, 0x04030201, 100,
         108},
        {"vavrg4.u32.u32.u32 %r4, %r0, %r1, %r2;", 0x01020304, 0x02020303, 0, 0x02020304},
        {"vset4.u32.u32.eq %r4, %r0, %r1, %r2;", 0x01020304, 0x01000300, 0, 0x01000100},
        {"vmad.s32.s32.s32.shr7 %r4, %r0, %r1, %r2;", 0xffffffff, 128, 0, 0xffffffff},
        {"vshr.s32.s32.u32.clamp %r4, %r0, %r1;", 0x80000000, 99, 0, 0xffffffff},
        {"vadd2.s32.s32.s32.sat %r4, %r0, %r1, %r2;", 0x7fff8000, 0x0001ffff, 0,
         0x7fff8000},
        /* An H100's, against the ISA: tests/vectors on driver 580, CUDA 13.0. */
        {"vadd.u32.s32.u32 %r4.h1, %r0, %r1.b3, %r2;", 0x3d2a5264, 0x000158e4, 0x7ffffffe,
         0x3d2afffe},
        {"vset.u32.s32.lt %r4.h1, %r0, %r1.h0, %r2;", 0x7f, 0xff, 0x5a, 0x5a},
        {"vadd.u32.u32.u32.sat.add %r4, %r0, %r1.h1, %r2;", 0xffffff80, 0xd17500fb, 1,
         0xd0f6},
        {"vadd.u32.s32.u32.sat %r4.b0, %r0.h0, %r1.b1, %r2;", 0xa370928c, 0xffff8000,
         0xff, 0xff},
        {"vsub.s32.u32.u32.sat %r4.b0, %r0.h1, %r1.b2, %r2;", 9, 0x7ffffffe, 0x20, 0x7f},
        {"vadd.u32.s32.u32.min %r4, %r0.b0, %r1.b3, %r2;", 0x7fffff, 0x508b, 0x21, 0x21},
        {"vadd.u32.u32.u32.sat.max %r4, %r0, %r1.h0, %r2;", 0xffffff80, 0xcf8e44a0,
         0xffffff, 0xffffff},
        {"vabsdiff.u32.s32.u32.sat.max %r4, %r0, %r1, %r2;", 0xffffff80, 0xffffff80, 0x7f,
         0},
        {"vshl.u32.u32.u32.sat.clamp %r4, %r0.h0, %r1.h0;", 0xca4ca, 0x30356ca, 0, 0},
        {"vshr.s32.u32.u32.sat.clamp %r4.b0, %r0.b2, %r1.h1, %r2;", 0xffff8000, 0x15a3,
         0x7fffff, 0x7fffff},
        {"vset.s32.u32.eq.max %r4, %r0.b2, %r1, %r2;", 0x100, 3, 0xdb8a7937, 0},
        {"vmad.u32.u32.u32.sat %r4, %r0.b3, %r1.b1, %r2;", 4, 0xcd14da09, 0xd8e1bbb3, 0},
        {"vmad.u32.u32.u32.sat.shr7 %r4, %r0, %r1.b1, %r2;", 2, 0x8db739a6, 0xbb716360,
         0xffffffff},
        {"vmad.u32.s32.u32.sat %r4, %r0.h0, %r1, %r2;", 0xaee7b11f, 0x80000000, 3,
         0x7fffffff},
        {"vmad.u32.u32.u32.shr15 %r4, -%r0.b0, %r1, %r2;", 0xffffff80, 0xa3eb62af, 0x7fff,
         0x5c149e},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(t); i++) {
        struct strbuf b = {0};
        struct kit k;
        uint32_t in[3 * 32] = {0}, out;
        in[0] = t[i].a, in[32] = t[i].b, in[64] = t[i].c;
        matrix_head(&b, 30);
        for (int w = 0; w < 3; w++)
            strbuf_printf(&b, "ld.global.b32 %%r%d, [%%rd1+%d];\n", w, w * 128);
        strbuf_printf(&b, "%s\nst.global.b32 [%%rd2], %%r4;\nret;\n}\n", t[i].inst);
        kit_load(&k, b.s);
        uint64_t pi = kit_buf(&k, sizeof in), po = kit_buf(&k, 128);
        kit_param(&k, 0, pi);
        kit_param(&k, 1, po);
        assert_true(dev_write(k.mem, pi, in, sizeof in));
        kit_run(&k, 1, 32);
        assert_true(dev_read(k.mem, po, &out, 4));
        if (out != t[i].want)
            fail_msg("%s gives %x, not %x", t[i].inst, out, t[i].want);
        kit_free(&k);
        strbuf_free(&b);
    }
}

static void
test_refusals(void **state)
{
    static const struct {
        const char *inst, *why;
    } t[] = {
        {"vadd.s32.s32.s32 %r1, %r2, %r3, %r4;",
         "vadd.s32.s32.s32: a third operand needs a secondary operation or a selected "
         "destination"},
        {"vadd.s32.s32.s32.add %r1, %r2, %r3;",
         "vadd.s32.s32.s32.add: a secondary operation or a selected destination needs a third "
         "operand"},
        {"vadd2.s32.s32.s32.sat.add %r1, %r2, %r3, %r4;",
         "vadd2.s32.s32.s32.sat.add: .sat and .add exclude each other"},
        {"vadd4.s32.s32.s32 %r1.b12, %r2, %r3, %r4;",
         "vadd4.s32.s32.s32: the mask is .b and digits from 3 to 0, falling"},
        {"vadd2.s32.s32.s32 %r1, %r2.b3210, %r3, %r4;",
         "vadd2.s32.s32.s32: sources are selected by .h and two digits"},
        {"vsub.s32.s32.s32 %r1, -%r2, %r3;",
         "vsub.s32.s32.s32: a minus sign is for operands of vmad without .po"},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(t); i++) {
        struct strbuf b = {0}, want = {0};
        kit_text(&b, PTX_HEAD ".visible .entry k()\n{\n.reg .b32 %r<8>;\n$s\nret;\n}\n",
                 t[i].inst);
        kit_text(&want, "test.ptx:7:1: error: kernel 'k': $s\n    $s\n    ^\n", t[i].why,
                 t[i].inst);
        kit_refused(b.s, want.s);
        strbuf_free(&b);
        strbuf_free(&want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_forms),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
