/* exec_half.c: half precision and narrow conversions as whole instructions: registers of
 * their sizes, wider destinations, two destinations, atomics; lop3 with a predicate. */
#include "unit/kit/exec_kit.h"

#include "unit/kit/lanes_util.h"
#include "vectors/matrix.h"

/* The body reads %r0, %r1 and leaves its result in %r4; both sources the same in all
 * lanes. */
static uint32_t
run1(const char *body, uint32_t a, uint32_t b)
{
    struct strbuf t = {0};
    struct kit k;
    uint32_t in[64], out;
    for (int i = 0; i < 32; i++)
        in[i] = a, in[32 + i] = b;
    matrix_head(&t, 80);
    strbuf_printf(&t,
                  "ld.global.b32 %%r0, [%%rd1];\nld.global.b32 %%r1, [%%rd1+128];\n"
                  "mov.b32 {%%h0, %%h1}, %%r0;\nmov.b32 {%%h2, %%h3}, %%r1;\n%s\n"
                  "st.global.b32 [%%rd2], %%r4;\nret;\n}\n",
                  body);
    kit_load(&k, t.s);
    uint64_t pi = kit_buf(&k, sizeof in), po = kit_buf(&k, 128);
    kit_param(&k, 0, pi);
    kit_param(&k, 1, po);
    assert_true(dev_write(k.mem, pi, in, sizeof in));
    kit_run(&k, 1, 32);
    assert_true(dev_read(k.mem, po, &out, 4));
    kit_free(&k);
    strbuf_free(&t);
    return out;
}

static void
test_registers(void **state)
{
    static const struct {
        const char *body;
        uint32_t a, b, want;
    } t[] = {
        {"add.f16x2 %r4, %r0, %r1;", 0x3c003c00, 0x40004200, 0x42004400},
        {"add.rn.f16 %h4, %h0, %h2; cvt.u32.u16 %r4, %h4;", 0x3c00, 0x3c01, 0x4000},
        {"fma.rn.relu.bf16x2 %r4, %r0, %r1, %r1;", 0x3f80bf80, 0x40004000, 0x40800000},
        {"cvt.rn.f16x2.f32 %r4, %f0, %f0; mov.b32 %f0, %r0; cvt.rn.f16x2.f32 %r4, %f0, %f0;",
         0x3f800000, 0, 0x3c003c00},
        {"cvt.rna.tf32.f32 %r4, %f1; mov.b32 %f1, %r0; cvt.rna.tf32.f32 %r4, %f1;",
         0x3f801000, 0, 0x3f802000},
        {"mov.b32 %f0, %r0; mov.b32 %f1, %r1; cvt.rn.satfinite.e4m3x2.f32 %h4, %f0, %f1;"
         "cvt.u32.u16 %r4, %h4;",
         0x3f800000, 0xc3e00000, 0x38fe},
        {"cvt.rn.f16x2.e5m2x2 %r4, %h0;", 0x3cbc, 0, 0x3c00bc00},
        {"setp.lt.f16x2 %p1|%p2, %r0, %r1; selp.u32 %r4, 1, 0, %p1;"
         "selp.u32 %r5, 16, 0, %p2; or.b32 %r4, %r4, %r5;",
         0x40003c00, 0x3c004000, 1},
        {"set.gt.u32.f16x2 %r4, %r0, %r1;", 0x40003c00, 0x3c004000, 0xffff0000},
        {"set.lt.f16.f16 %h4, %h0, %h2; cvt.u32.u16 %r4, %h4;", 0x3c00, 0x4000, 0x3c00},
        /* A narrow result in a wider register is extended by its sign. */
        {"cvt.s16.s32 %r4, %r0;", 0x18000, 0, 0xffff8000},
        {"cvt.u16.s32 %r4, %r0;", 0x18000, 0, 0x8000},
        {"cvt.s8.s32 %r4, %r0;", 0x180, 0, 0xffffff80},
        {"cvt.s8.s32 %h4, %r0; cvt.u32.u16 %r4, %h4;", 0x180, 0, 0xff80},
        {"cvt.s16.s32 %rd8, %r0; shr.u64 %rd8, %rd8, 32; cvt.u32.u64 %r4, %rd8;", 0x8000,
         0, 0xffffffff},
        {"mov.b32 %f0, %r0; cvt.rzi.s16.f32 %r4, %f0;", 0xc2c80000, 0, 0xffffff9c},
        {"mov.b32 %f0, %r0; cvt.rzi.s8.f32 %rd8, %f0; shr.u64 %rd8, %rd8, 32;"
         "cvt.u32.u64 %r4, %rd8;",
         0xc2c80000, 0, 0xffffffff},
        /* lop3: d and whether it is not 0, with another predicate. */
        {"setp.eq.u32 %p2, %r1, 1; lop3.and.b32 %r5|%p1, %r0, %r0, %r0, 0x80, %p2;"
         "selp.u32 %r4, 100, 0, %p1; add.u32 %r4, %r4, %r5;",
         7, 1, 107},
        {"setp.eq.u32 %p2, %r1, 1; lop3.or.b32 _|%p1, %r0, %r0, %r0, 0x80, !%p2;"
         "selp.u32 %r4, 100, 0, %p1;",
         0, 1, 0},
        {"setp.eq.u32 %p2, %r1, 1; lop3.or.b32 _|%p1, %r0, %r0, %r0, 0x80, !%p2;"
         "selp.u32 %r4, 100, 0, %p1;",
         0, 2, 100},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(t); i++) {
        uint32_t got = run1(t[i].body, t[i].a, t[i].b);
        if (got != t[i].want)
            fail_msg("%s of %x, %x gives %x, not %x", t[i].body, t[i].a, t[i].b, got,
                     t[i].want);
    }
}

/* All lanes add to one address: exact in f16 up to 2048. */
static void
test_atomics(void **state)
{
    static const struct {
        const char *inst, *type;
        uint32_t a, start, want;
    } t[] = {
        {"atom.global.add.noftz.f16 %h4, [%rd4+0], %h0;", "f16", 0x3c00, 0x4900, 0x5140},
        {"atom.global.add.noftz.f16x2 %r5, [%rd4+0], %r0;", "f16x2", 0x4000bc00, 0,
         0x5400d000},
        {"red.global.add.noftz.bf16 [%rd4+0], %h0;", "bf16", 0x3f80, 0, 0x4200},
        {"red.global.add.noftz.bf16x2 [%rd4+0], %r0;", "bf16x2", 0x3f804000, 0,
         0x42004280},
        /* Subnormal sums are kept. */
        {"red.global.add.noftz.f16 [%rd4+0], %h0;", "f16", 1, 1, 33},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(t); i++) {
        struct strbuf b = {0};
        struct kit k;
        uint32_t out;
        matrix_head(&b, 90);
        strbuf_printf(&b, "mov.u32 %%r0, %u;\nmov.b32 {%%h0, %%h1}, %%r0;\n%s\nret;\n}\n",
                      t[i].a, t[i].inst);
        kit_load(&k, b.s);
        uint64_t po = kit_buf(&k, 128);
        kit_param(&k, 0, po);
        kit_param(&k, 1, po);
        assert_true(dev_write(k.mem, po, &t[i].start, 4));
        kit_run(&k, 1, 32);
        assert_true(dev_read(k.mem, po, &out, 4));
        if (out != t[i].want)
            fail_msg("%s leaves %x, not %x", t[i].inst, out, t[i].want);
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
        {"add.rz.f16 %h1, %h2, %h3;",
         "add.rz.f16: these types and modifiers do not go together"},
        {"cvt.rn.e4m3x2.f32 %h1, %f2, %f3;",
         "cvt.rn.e4m3x2.f32: these types and modifiers do not go together"},
        {"lop3.xor.b32 %r1|%p1, %r1, %r2, %r3, 1, %p2;",
         "lop3.xor.b32: the predicate is combined by .and or .or"},
    };
    (void)state;
    for (size_t i = 0; i < UTIL_COUNT(t); i++) {
        struct strbuf b = {0}, want = {0};
        kit_text(&b,
                 PTX_HEAD
                 ".visible .entry k()\n{\n.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 "
                 "%rd<4>; .reg .f32 %f<4>; .reg .pred %p<4>;\n$s\nret;\n}\n",
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
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
