/* Loads, stores and atomics in all spaces, against plain C. */
#include "unit/kit/exec_kit.h"

/* -- widths, sign and zero extension -- */

static void
widths_and_extension(void **state)
{
    static const struct {
        const char *type, *reg;
        unsigned bytes, reg_bytes;
        bool is_signed;
    } f[] = {
        {"u8", "%h1", 1, 2, false},  {"s8", "%h1", 1, 2, true},
        {"u8", "%r5", 1, 4, false},  {"s8", "%r5", 1, 4, true},
        {"u8", "%d5", 1, 8, false},  {"s8", "%d5", 1, 8, true},
        {"b8", "%r5", 1, 4, false},  {"u16", "%h1", 2, 2, false},
        {"s16", "%h1", 2, 2, true},  {"s16", "%r5", 2, 4, true},
        {"u16", "%d5", 2, 8, false}, {"s16", "%d5", 2, 8, true},
        {"u32", "%r5", 4, 4, false}, {"s32", "%d5", 4, 8, true},
        {"u32", "%d5", 4, 8, false}, {"f32", "%f1", 4, 4, false},
        {"u64", "%d5", 8, 8, false}, {"s64", "%d5", 8, 8, true},
        {"f64", "%g1", 8, 8, false}, {"b64", "%d5", 8, 8, false},
    };
    static const char *const spaces[] = {".global", ".shared", "", ".local", ".const"};
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        for (size_t sp = 0; sp < 5; sp++) {
            struct strbuf b = {0};
            /* table -> register by ld.T; register -> out by a store of its whole width */
            kit_text(&b,
                     PTX_HEAD
                     ".const .align 8 .b8 ctab[512];\n"
                     ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
                     ".reg .u16 %h<3>; .reg .f32 %f<2>; .reg .f64 %g<2>;\n"
                     ".shared .align 8 .b8 sh[512]; .local .align 8 .b8 lo[512];\n"
                     "mul.wide.u32 %d1, %t, 8; ld.param.u64 %d0, [out];\n"
                     "add.u64 %d0, %d0, %d1; ld.param.u64 %d2, [in];\n"
                     "mul.wide.u32 %d3, %t, $u; add.u64 %d4, %d2, %d3;\n"
                     "ld.global.u64 %d6, [%d2+0];\n",
                     f[i].bytes);
            if (sp == 1 || sp == 3) { /* copy this lane's element by bytes */
                const char *s = spaces[sp];
                kit_text(&b, "mov.u64 %d7, $s; add.u64 %d7, %d7, %d3;\n",
                         sp == 1 ? "sh" : "lo");
                for (unsigned k = 0; k < f[i].bytes; k++)
                    kit_text(&b, "ld.global.u8 %h2, [%d4+$u]; st$s.u8 [%d7+$u], %h2;\n",
                             k, s, k);
                strbuf_addz(&b, "mov.u64 %d4, %d7;\n");
            } else if (sp == 4) {
                strbuf_addz(&b, "mov.u64 %d4, ctab; add.u64 %d4, %d4, %d3;\n");
            }
            kit_text(&b, "ld$s.$s $s, [%d4];\n", spaces[sp], f[i].type, f[i].reg);
            kit_text(&b, "st.global.b$u [%d0], $s;\nret;\n}\n", f[i].reg_bytes * 8,
                     f[i].reg);
            struct kit k;
            kit_load(&k, b.s);
            uint64_t out = kit_out(&k, 32 * 8), in = kit_buf(&k, 512), caddr, csize;
            kit_param(&k, 1, in);
            uint8_t data[512];
            for (int j = 0; j < 512; j++)
                data[j] = (uint8_t)(j * 73 + 41);
            dev_write(k.mem, in, data, 512);
            assert_true(exec_image_symbol(k.im, "ctab", &caddr, &csize));
            dev_write(k.mem, caddr, data, 512);
            kit_run(&k, 1, 32);
            for (unsigned t = 0; t < 32; t++) {
                uint64_t v = 0, keep = f[i].reg_bytes == 8
                                           ? ~(uint64_t)0
                                           : ((uint64_t)1 << f[i].reg_bytes * 8) - 1;
                for (unsigned j = 0; j < f[i].bytes; j++)
                    v |= (uint64_t)data[t * f[i].bytes + j] << 8 * j;
                if (f[i].is_signed && f[i].bytes < 8 && v >> (f[i].bytes * 8 - 1))
                    v |= ~(uint64_t)0 << f[i].bytes * 8;
                assert_int_equal(kit_u64(&k, out, t), v & keep);
            }
            kit_free(&k);
            strbuf_free(&b);
        }
}

/* Stores take the low bytes of a wider register. */
static void
narrow_stores(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                          "ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %t, 16;\n"
                          "add.u64 %d0, %d0, %d1;\n"
                          "mad.lo.u32 %r5, %t, 0x01020408, 0x9abcdef0;\n"
                          "cvt.u64.u32 %d2, %r5; shl.b64 %d2, %d2, 20;\n"
                          "st.global.u8 [%d0+1], %r5; st.global.u16 [%d0+2], %r5;\n"
                          "st.global.u8 [%d0+4], %d2; st.global.u16 [%d0+6], %d2;\n"
                          "st.global.u32 [%d0+8], %d2; ret;\n}\n");
    uint64_t out = kit_out(&k, 64 * 16);
    kit_run(&k, 1, 64);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t v = t * 0x01020408u + 0x9abcdef0u;
        uint64_t w = (uint64_t)v << 20;
        uint8_t want[16] = {0}, got[16];
        memcpy(want + 1, &v, 1);
        memcpy(want + 2, &v, 2);
        memcpy(want + 4, &w, 1);
        memcpy(want + 6, &w, 2);
        memcpy(want + 8, &w, 4);
        dev_read(k.mem, out + 16 * t, got, 16);
        assert_memory_equal(got, want, 16);
    }
    kit_free(&k);
}

static void
vectors(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
             ".reg .f32 %f<4>; .reg .u16 %h<4>; .shared .align 16 .b8 sh[1024];\n"
             "ld.param.u64 %d0, [out]; ld.param.u64 %d2, [in];\n"
             "mul.wide.u32 %d1, %t, 64; add.u64 %d0, %d0, %d1;\n"
             "add.u64 %d2, %d2, %d1;\n"
             "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d2];\n"
             "st.global.v4.f32 [%d0], {%f3, %f2, %f1, %f0};\n"
             "ld.global.v2.u64 {%d3, %d4}, [%d2+16];\n"
             "st.global.v2.u64 [%d0+16], {%d4, %d3};\n"
             "ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%d2+32];\n"
             "st.global.v4.u8 [%d0+32], {%h3, %h0, %h2, %h1};\n"
             "ld.global.v2.s16 {%r5, _}, [%d2+36];\n"
             "st.global.u32 [%d0+36], %r5;\n"
             "mul.wide.u32 %d5, %t, 16; mov.u64 %d6, sh; add.u64 %d5, %d5, %d6;\n"
             "ld.global.nc.v4.u32 {%r6, %r7, %r8, %r9}, [%d2+48];\n"
             "st.shared.v2.u32 [%d5], {%r7, %r6};\n"
             "st.shared.v2.u32 [%d5+8], {%r9, %r8};\n"
             "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%d5];\n"
             "st.global.v4.u32 [%d0+48], {%r6, %r7, %r8, %r9}; ret;\n}\n");
    uint64_t out = kit_out(&k, 40 * 64), in = kit_buf(&k, 40 * 64);
    kit_param(&k, 1, in);
    uint8_t d[40 * 64];
    for (int i = 0; i < 40 * 64; i++)
        d[i] = (uint8_t)(i * 151 + 7);
    dev_write(k.mem, in, d, sizeof d);
    kit_run(&k, 1, 40);
    for (unsigned t = 0; t < 40; t++) {
        const uint8_t *s = d + 64 * t;
        uint8_t w[64] = {0}, got[64];
        for (int i = 0; i < 4; i++)
            memcpy(w + 4 * i, s + 12 - 4 * i, 4);
        memcpy(w + 16, s + 24, 8);
        memcpy(w + 24, s + 16, 8);
        w[32] = s[35], w[33] = s[32], w[34] = s[34], w[35] = s[33];
        int16_t h;
        memcpy(&h, s + 36, 2);
        int32_t x = h;
        memcpy(w + 36, &x, 4);
        memcpy(w + 48, s + 52, 4);
        memcpy(w + 52, s + 48, 4);
        memcpy(w + 56, s + 60, 4);
        memcpy(w + 60, s + 56, 4);
        dev_read(k.mem, out + 64 * t, got, 64);
        assert_memory_equal(got, w, 64);
    }
    kit_free(&k);
}

/* -- address patterns: one word, neighbours, strides, scattered; all lanes or some -- */

static void
address_patterns(void **state)
{
    static const char *const how[] = {"mov.u32 %r5, 5;", "mov.u32 %r5, %t;",
                                      "mul.lo.u32 %r5, %t, 7;", "sub.u32 %r5, 300, %t;",
                                      "mul.lo.u32 %r5, %t, 37; and.b32 %r5, %r5, 255;"};
    for (int pattern = 0; pattern < 5; pattern++)
        for (int some = 0; some < 2; some++)
            for (int wide = 0; wide < 2; wide++) {
                struct strbuf b = {0};
                kit_text(
                    &b,
                    PTX_HEAD
                    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
                    "ld.param.u64 %d2, [in];\n$s\n"
                    "mul.wide.u32 %d3, %r5, $d; add.u64 %d2, %d2, %d3;\n"
                    "mul.wide.u32 %d1, %t, 8; ld.param.u64 %d0, [out];\n"
                    "add.u64 %d0, %d0, %d1; mov.u64 %d6, 77; mov.u32 %r6, 77;\n"
                    "and.b32 %r7, %l, 5; setp.ne.u32 %p1, %r7, 4;\n",
                    how[pattern], wide ? 8 : 4);
                const char *g = some ? "@%p1 " : "";
                if (wide)
                    kit_text(&b, "$sld.global.u64 %d6, [%d2];\n", g);
                else
                    kit_text(&b, "$sld.global.u32 %r6, [%d2]; cvt.u64.u32 %d6, %r6;\n",
                             g);
                strbuf_addz(&b, "st.global.u64 [%d0], %d6; ret;\n}\n");
                struct kit k;
                kit_load(&k, b.s);
                uint64_t out = kit_out(&k, 40 * 8), in = kit_buf(&k, 301 * 8);
                kit_param(&k, 1, in);
                for (unsigned i = 0; i < 301; i++) {
                    uint64_t v = i * 0x1234567890abcdefu;
                    dev_write(k.mem, in + (wide ? 8 : 4) * i, &v, wide ? 8 : 4);
                }
                kit_run(&k, 1, 40);
                for (unsigned t = 0; t < 40; t++) {
                    unsigned i = pattern == 0   ? 5
                                 : pattern == 1 ? t
                                 : pattern == 2 ? t * 7
                                 : pattern == 3 ? 300 - t
                                                : t * 37 & 255;
                    uint64_t v = i * 0x1234567890abcdefu;
                    if (!wide)
                        v &= 0xffffffff;
                    if (some && (t & 5) == 4)
                        v = 77;
                    assert_int_equal(kit_u64(&k, out, t), v);
                }
                kit_free(&k);
                strbuf_free(&b);
            }
}

/* Lanes of one load in two allocations. */
static void
two_allocations_at_once(void **state)
{
    struct kit k;
    kit_load(
        &k, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b)\n{\n" PROLOGUE
        "ld.param.u64 %d2, [a]; ld.param.u64 %d3, [b];\n"
        "and.b32 %r5, %t, 1; setp.eq.u32 %p1, %r5, 1; selp.b64 %d2, %d3, %d2, %p1;\n"
        "mov.u32 %r7, 3;\n"
        "L: ld.global.u32 %r6, [%d2]; sub.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0;\n"
        "@%p2 bra L; st.global.u32 [%d0], %r6; ret;\n}\n");
    uint64_t out = kit_out(&k, 128), a = kit_buf(&k, 4), b = kit_buf(&k, 4);
    uint32_t va = 11, vb = 22;
    dev_write(k.mem, a, &va, 4);
    dev_write(k.mem, b, &vb, 4);
    kit_param(&k, 1, a);
    kit_param(&k, 2, b);
    kit_run(&k, 1, 32);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(kit_u32(&k, out, t), t & 1 ? 22 : 11);
    kit_free(&k);
}

/* Of several lanes that store to one word the highest wins (any is right; one is kept).
 */
static void
colliding_stores(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                          "ld.param.u64 %d0, [out]; st.global.u32 [%d0], %l; ret;\n}\n");
    uint64_t out = kit_out(&k, 4);
    kit_run(&k, 1, 32);
    assert_int_equal(kit_u32(&k, out, 0), 31);
    kit_free(&k);
}

/* -- spaces and generic addresses -- */

static void
generic_addresses(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".global .align 4 .u32 gv[4] = {100, 101, 102, 103};\n"
                      ".const .align 4 .u32 cv[4] = {200, 201, 202, 203};\n"
                      ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".shared .align 4 .b8 pad[4]; .shared .align 4 .u32 sv[4];\n"
                      ".local .align 4 .u32 lv[4]; .reg .u64 %g, %c, %s, %lo, %x;\n"
                      "mov.u64 %g, gv; cvta.global.u64 %g, %g;\n"
                      "mov.u64 %c, cv; cvta.const.u64 %c, %c;\n"
                      "mov.u64 %s, sv; cvta.shared.u64 %s, %s; cvta.local.u64 %lo, lv;\n"
                      "add.u32 %r4, %t, 300; add.u32 %r5, %t, 400;\n"
                      "setp.eq.u32 %p1, %l, 2; @%p1 st.u32 [%s+8], %r4;\n"
                      "st.u32 [%lo+12], %r5;\n"
                      "and.b32 %r6, %l, 3;\n"
                      "setp.eq.u32 %p1, %r6, 0; @%p1 add.u64 %x, %g, 4;\n"
                      "setp.eq.u32 %p1, %r6, 1; @%p1 add.u64 %x, %c, 4;\n"
                      "setp.eq.u32 %p1, %r6, 2; @%p1 add.u64 %x, %s, 8;\n"
                      "setp.eq.u32 %p1, %r6, 3; @%p1 add.u64 %x, %lo, 12;\n"
                      "ld.u32 %r7, [%x];\n" /* four spaces at once */
                      "isspacep.global %p2, %x; isspacep.shared %p3, %x;\n"
                      "isspacep.local %p4, %x; isspacep.const %p5, %x;\n"
                      "@%p2 add.u32 %r7, %r7, 1000; @%p3 add.u32 %r7, %r7, 2000;\n"
                      "@%p4 add.u32 %r7, %r7, 4000; @%p5 add.u32 %r7, %r7, 8000;\n"
                      "cvta.to.shared.u64 %s, %s; ld.shared.u32 %r8, [%s+8];\n"
                      "cvta.to.local.u64 %lo, %lo; ld.local.u32 %r9, [%lo+12];\n"
                      "ld.shared.u32 %r10, [sv+8]; ld.local.u32 %r11, [lv+12];\n"
                      "ld.u32 %r12, [sv+8];\n"
                      "setp.ne.u32 %p1, %r8, %r10; @%p1 mov.u32 %r7, 1;\n"
                      "setp.ne.u32 %p1, %r9, %r11; @%p1 mov.u32 %r7, 2;\n"
                      "setp.ne.u32 %p1, %r8, %r12; @%p1 mov.u32 %r7, 3;\n"
                      "st.global.u32 [%d0], %r7; ret;\n}\n");
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (unsigned t = 0; t < 32; t++) {
        static const uint32_t base[] = {1101, 8201, 2302, 4400};
        assert_int_equal(kit_u32(&k, out, t), base[t & 3] + ((t & 3) == 3 ? t : 0));
    }
    assert_int_equal(k.p->static_shared, 20);
    kit_free(&k);
}

static void
initialisers_and_symbol_addresses(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".global .align 8 .b8 text[8] = {72, 105, 0x21};\n"
                      ".const .align 4 .f32 half = 0f3F000000;\n"
                      ".global .align 8 .u64 ptr[3] = {text, text+1, generic(half)};\n"
                      ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      "ld.global.u64 %d2, [ptr+8]; ld.global.u8 %r4, [%d2];\n"
                      "st.global.u32 [%d0], %r4;\n"
                      "ld.global.u64 %d2, [ptr+16]; ld.u32 %r4, [%d2];\n"
                      "st.global.u32 [%d0+4], %r4;\n"
                      "mov.u64 %d3, ptr+8; ld.global.u64 %d3, [%d3];\n"
                      "ld.global.u8 %r4, [%d3+1]; st.global.u32 [%d0+8], %r4; ret;\n}\n");
    uint64_t out = kit_out(&k, 64), a, n;
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u32(&k, out, 0), 'i');
    assert_int_equal(kit_u32(&k, out, 1), 0x3f000000);
    assert_int_equal(kit_u32(&k, out, 2), '!');
    assert_true(exec_image_symbol(k.im, "text", &a, &n));
    assert_int_equal(n, 8);
    assert_false(exec_image_symbol(k.im, "nothing", &a, &n));
    kit_free(&k);
}

static void
dynamic_scratchpad(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".extern .shared .align 16 .b8 dyn[];\n"
                      ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".shared .align 4 .b8 st[20]; .reg .u64 %a;\n"
                      "mov.u64 %a, dyn; add.u64 %a, %a, %d1; st.shared.u32 [%a], %t;\n"
                      "bar.sync 0; mov.u64 %a, dyn; sub.u64 %a, %a, %d1;\n"
                      "ld.shared.u32 %r4, [%a+252]; mov.u32 %r6, %dynamic_smem_size;\n"
                      "mad.lo.u32 %r4, %r6, 1000, %r4;\n"
                      "mov.u64 %a, dyn; cvt.u32.u64 %r5, %a;\n"
                      "mad.lo.u32 %r4, %r5, 1000000, %r4;\n"
                      "st.global.u32 [%d0], %r4; ret;\n}\n");
    uint64_t out = kit_out(&k, 256);
    k.g.dynamic_shared = 256;
    kit_run(&k, 1, 64);
    assert_int_equal(k.p->static_shared, 20);
    assert_int_equal(k.p->dynamic_base, 32);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(kit_u32(&k, out, t), 32000000 + 256000 + 63 - t);
    kit_free(&k);
}

/* Blocks start with zeroed scratchpad, local memory and registers, whoever ran before. */
static void
blocks_do_not_see_each_other(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
             ".shared .u32 s; .local .u32 x; .reg .u32 %u; .reg .u64 %w;\n"
             "ld.shared.u32 %r4, [s]; ld.local.u32 %r5, [x]; bar.sync 0;\n"
             "add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %u; cvt.u32.u64 %r6, %w;\n"
             "add.u32 %r4, %r4, %r6; @%p5 add.u32 %r4, %r4, 1;\n"
             "st.global.u32 [%d0], %r4;\n"
             "st.shared.u32 [s], 1; st.local.u32 [x], 2; mov.u32 %u, 4;\n"
             "mov.u64 %w, 5; setp.eq.u32 %p5, %u, 4; ret;\n}\n");
    uint64_t out = kit_out(&k, 4 * 64 * 4);
    kit_run(&k, 4, 64);
    for (unsigned t = 0; t < 256; t++)
        assert_int_equal(kit_u32(&k, out, t), 0);
    kit_free(&k);
}

static void
parameters(void **state)
{
    struct kit k;
    kit_load(
        &k, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u8 a, .param .u16 b, .param .f32 c,\n"
        ".param .align 8 .b8 s[24], .param .u64 .ptr .global .align 4 d)\n{\n" PROLOGUE
        ".reg .u16 %h<3>; .reg .f32 %f<2>;\n"
        "ld.param.s8 %r4, [a]; st.global.u32 [%d0], %r4;\n"
        "ld.param.u16 %h1, [b]; cvt.u32.u16 %r4, %h1; st.global.u32 [%d0+4], %r4;\n"
        "ld.param.f32 %f1, [c]; st.global.f32 [%d0+8], %f1;\n"
        "ld.param.v2.u32 {%r4, %r5}, [s+8]; st.global.v2.u32 [%d0+16], {%r4, %r5};\n"
        "mov.b64 %d2, s; ld.param.u32 %r4, [%d2+20]; st.global.u32 [%d0+12], %r4;\n"
        "ld.param.u64 %d3, [d]; st.global.u64 [%d0+24], %d3; ret;\n}\n");
    uint64_t out = kit_out(&k, 32);
    kit_param(&k, 1, 0x85);
    kit_param(&k, 2, 0xfedc);
    kit_param(&k, 3, 0x40490fdb);
    for (unsigned i = 0; i < 24; i++)
        k.params[k.p->entry->params.v[4]->offset + i] = (uint8_t)(i + 1);
    kit_param(&k, 5, 0x1122334455667788);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u32(&k, out, 0), 0xffffff85);
    assert_int_equal(kit_u32(&k, out, 1), 0xfedc);
    assert_int_equal(kit_u32(&k, out, 2), 0x40490fdb);
    assert_int_equal(kit_u32(&k, out, 3), 0x18171615);
    assert_int_equal(kit_u32(&k, out, 4), 0x0c0b0a09);
    assert_int_equal(kit_u32(&k, out, 5), 0x100f0e0d);
    assert_int_equal(kit_u64(&k, out, 3), 0x1122334455667788);
    kit_free(&k);
}

static void
modules_with_32_bit_addresses(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD32
             ".global .u32 gv = 9; .const .u32 cv = 5;\n"
             ".visible .entry k(.param .u32 out)\n{\n"
             ".reg .u32 %r<16>; .shared .u32 sh[32]; .local .u32 lo[2];\n"
             "ld.param.u32 %r0, [out]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n"
             "add.u32 %r0, %r0, %r2; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2;\n"
             "st.shared.u32 [%r3], %r1; cvta.shared.u32 %r4, %r3;\n"
             "ld.u32 %r5, [%r4]; mov.u32 %r6, lo; st.local.u32 [%r6+4], %r5;\n"
             "cvta.local.u32 %r6, %r6; ld.u32 %r7, [%r6+4];\n"
             "ld.global.u32 %r8, [gv]; mad.lo.u32 %r7, %r7, 10, %r8;\n"
             "mov.u32 %r9, cv; ld.const.u32 %r9, [%r9];\n"
             "add.u32 %r7, %r7, %r9; st.global.u32 [%r0], %r7; ret;\n}\n");
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(kit_u32(&k, out, t), t * 10 + 14);
    kit_free(&k);
}

/* Local memory: each lane has its own, at the same addresses; all widths. */
/* All lanes at one address of local memory, and bytes and halves, by some of the lanes:
 * the others keep what they had. */
static void
some_lanes_only(void **state)
{
    struct kit k;
    kit_load(
        &k, PTX_HEAD
        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
        ".local .align 16 .b8 a[64]; .shared .align 4 .b8 s[256]; .reg .b16 %h0;\n"
        "ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %t, 32; add.u64 %d0, %d0, %d1;\n"
        "cvt.u64.u32 %d3, %t; mul.lo.u64 %d3, %d3, 0x8123456789abcdef; mov.u64 %d4, -1;\n"
        "st.local.u64 [a+8], %d4; and.b32 %r4, %t, 3; setp.eq.u32 %p1, %r4, 1;\n"
        "@%p1 st.local.u64 [a+8], %d3; ld.local.u64 %d5, [a+8];\n"
        "st.global.u64 [%d0], %d5;\n"
        "@!%p1 ld.local.v2.u32 {%r5, %r6}, [a+8]; @%p1 mov.u32 %r5, 5;\n"
        "@%p1 mov.u32 %r6, 6; st.global.v2.u32 [%d0+8], {%r5, %r6};\n"
        "shl.b32 %r7, %t, 1; mov.u32 %r8, s; add.u32 %r8, %r8, %r7;\n"
        "mul.lo.u32 %r9, %t, 40503; cvt.u16.u32 %h0, %r9; st.shared.u16 [%r8], %h0;\n"
        "mov.u32 %r10, 7; mov.u32 %r11, 8; mov.u32 %r12, 9;\n"
        "@%p1 ld.shared.s8 %r10, [%r8]; @%p1 ld.shared.u16 %r11, [%r8];\n"
        "@%p1 ld.shared.s16 %r12, [s+2]; st.global.u32 [%d0+16], %r10;\n"
        "st.global.v2.u32 [%d0+24], {%r11, %r12}; ret;\n}\n");
    uint64_t out = kit_out(&k, 64 * 32);
    kit_run(&k, 1, 64);
    for (unsigned t = 0; t < 64; t++) {
        bool in = t % 4 == 1;
        uint64_t v = in ? t * 0x8123456789abcdef : ~(uint64_t)0;
        uint16_t h = (uint16_t)(t * 40503), second = 40503;
        assert_int_equal(kit_u64(&k, out, 4 * t), v);
        assert_int_equal(kit_u32(&k, out, 8 * t + 2), in ? 5 : 0xffffffff);
        assert_int_equal(kit_u32(&k, out, 8 * t + 3), in ? 6 : 0xffffffff);
        assert_int_equal(kit_u32(&k, out, 8 * t + 4), in ? (uint32_t)(int8_t)h : 7);
        assert_int_equal(kit_u32(&k, out, 8 * t + 6), in ? h : 8);
        assert_int_equal(kit_u32(&k, out, 8 * t + 7), in ? (uint32_t)(int16_t)second : 9);
    }
    kit_free(&k);
}

static void
local_memory(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".local .align 16 .b8 a[64]; .reg .u64 %x; .reg .u16 %h<4>;\n"
                      "ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %t, 8;\n"
                      "add.u64 %d0, %d0, %d1;\n"
                      "mov.u64 %x, a; and.b32 %r4, %l, 7; mul.wide.u32 %d2, %r4, 8;\n"
                      "add.u64 %x, %x, %d2;\n"
                      "cvt.u64.u32 %d3, %t; mul.lo.u64 %d3, %d3, 0x0123456789abcdef;\n"
                      "st.local.u64 [%x], %d3;\n" /* divergent addresses */
                      "ld.local.v2.u32 {%r5, %r6}, [%x];\n"
                      "st.local.v2.u32 [a+56], {%r6, %r5};\n"
                      "st.local.u8 [a+57], %r4;\n"
                      "ld.local.u64 %d4, [a+56]; st.global.u64 [%d0], %d4; ret;\n}\n");
    uint64_t out = kit_out(&k, 64 * 8);
    kit_run(&k, 1, 64);
    for (uint64_t t = 0; t < 64; t++) {
        uint64_t v = t * 0x0123456789abcdef;
        v = v >> 32 | v << 32;
        v = (v & ~(uint64_t)0xff00) | (t & 7) << 8;
        assert_int_equal(kit_u64(&k, out, (unsigned)t), v);
    }
    kit_free(&k);
}

static void
packing_and_unpacking(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".reg .b16 %h<6>; .reg .b8 %b<3>; .reg .f64 %g; .reg .f32 %f<3>;\n"
                      "add.u32 %r4, %t, 0x12340000; add.u32 %r5, %t, 0x56780000;\n"
                      "mov.b64 %d2, {%r4, %r5}; st.global.u64 [%d0], %d2;\n"
                      "mov.b64 {%r6, %r7}, %d2; mov.b32 {%h1, %h2}, %r6;\n"
                      "mov.b32 %r8, {%h2, %h1}; st.global.u32 [%d0+8], %r8;\n"
                      "mov.b64 {%h1, %h2, %h3, %h4}, %d2;\n"
                      "mov.b64 %d3, {%h4, %h3, %h2, %h1}; st.global.u64 [%d0+16], %d3;\n"
                      "mov.b64 %g, {%r5, %r4}; st.global.f64 [%d0+24], %g;\n"
                      "mov.b64 {_, %r9}, %d2; st.global.u32 [%d0+12], %r9; ret;\n}\n");
    uint64_t out = kit_out(&k, 32);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u64(&k, out, 0), 0x5678000012340000);
    assert_int_equal(kit_u32(&k, out, 2), 0x00001234);
    assert_int_equal(kit_u32(&k, out, 3), 0x56780000);
    assert_int_equal(kit_u64(&k, out, 2), 0x0000123400005678);
    assert_int_equal(kit_u64(&k, out, 3), 0x1234000056780000);
    kit_free(&k);
}

/* -- atomics: the lanes' results in order must be a run of the operation -- */

static uint64_t
atom_ref(const char *op, const char *type, uint64_t old, uint64_t b, uint64_t c)
{
    bool wide = type[1] == '6';
    uint64_t keep = wide ? ~(uint64_t)0 : 0xffffffff, r;
    int64_t so = wide ? (int64_t)old : (int32_t)old, sb = wide ? (int64_t)b : (int32_t)b;
    if (!strcmp(op, "add")) {
        if (type[0] == 'f') {
            float x, y;
            double u, v;
            if (!wide) {
                memcpy(&x, &old, 4);
                memcpy(&y, &b, 4);
                x += y;
                r = 0;
                memcpy(&r, &x, 4);
            } else {
                memcpy(&u, &old, 8);
                memcpy(&v, &b, 8);
                u += v;
                memcpy(&r, &u, 8);
            }
            return r;
        }
        r = old + b;
    } else if (!strcmp(op, "and"))
        r = old & b;
    else if (!strcmp(op, "or"))
        r = old | b;
    else if (!strcmp(op, "xor"))
        r = old ^ b;
    else if (!strcmp(op, "exch"))
        r = b;
    else if (!strcmp(op, "min"))
        r = type[0] == 's' ? (uint64_t)(so < sb ? so : sb) : (old < b ? old : b);
    else if (!strcmp(op, "max"))
        r = type[0] == 's' ? (uint64_t)(so > sb ? so : sb) : (old > b ? old : b);
    else if (!strcmp(op, "inc"))
        r = old >= b ? 0 : old + 1;
    else if (!strcmp(op, "dec"))
        r = !old || old > b ? b : old - 1;
    else
        r = old == b ? c : old;
    return r & keep;
}

static void
atomics(void **state)
{
    static const char *const ops[][2] = {
        {"add", "u32"}, {"add", "s32"},  {"add", "u64"},  {"add", "f32"}, {"add", "f64"},
        {"and", "b32"}, {"and", "b64"},  {"or", "b32"},   {"or", "b64"},  {"xor", "b32"},
        {"xor", "b64"}, {"exch", "b32"}, {"exch", "b64"}, {"min", "u32"}, {"min", "s32"},
        {"min", "u64"}, {"min", "s64"},  {"max", "u32"},  {"max", "s32"}, {"max", "u64"},
        {"max", "s64"}, {"inc", "u32"},  {"dec", "u32"},  {"cas", "b32"}, {"cas", "b64"}};
    static const char *const spaces[] = {".global", ".shared", "", "G"};
    enum { N = 32, WORDS = 4 }; /* one warp: lanes in order */
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int sp = 0; sp < 4; sp++) {
            const char *op = ops[i][0], *type = ops[i][1];
            bool wide = type[1] == '6', cas = !strcmp(op, "cas");
            unsigned bytes = wide ? 8 : 4;
            const char *pre = type[0] == 'f' ? (wide ? "%g" : "%f") : wide ? "%d" : "%r";
            char bits[4];
            snprintf(bits, 4, "b%d", wide ? 64 : 32);
            struct strbuf b = {0};
            /* in[0..4): start values; in[4+t]: operand b; in[4+N+t]: c. out: old values
             */
            kit_text(
                &b,
                PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 in)\n"
                         "{\n" PROLOGUE ".shared .align 8 .b8 sh[64]; .reg .u64 %x, %y;\n"
                         ".reg .f32 %f<16>; .reg .f64 %g<16>;\n"
                         "ld.param.u64 %d0, [out]; ld.param.u64 %x, [in];\n"
                         "mul.wide.u32 %d1, %t, $u; add.u64 %d0, %d0, %d1;\n"
                         "add.u64 %y, %x, %d1; and.b32 %r4, %t, 3;\n"
                         "mul.wide.u32 %d1, %r4, $u;\n"
                         "ld.global.$s $s10, [%y+$u];\n"
                         "ld.global.$s $s11, [%y+$u];\n",
                bytes, bytes, bits, pre, WORDS * bytes, bits, pre, (WORDS + N) * bytes);
            if (sp == 1 || sp == 2) {
                kit_text(&b,
                         "mov.u64 %d2, sh; add.u64 %d3, %d2, %d1;\n"
                         "add.u64 %d4, %x, %d1; setp.lt.u32 %p1, %t, 4;\n"
                         "@%p1 ld.global.$s $s12, [%d4];\n"
                         "@%p1 st.shared.$s [%d3], $s12; bar.sync 0;\n",
                         bits, pre, bits, pre);
                if (sp == 2)
                    strbuf_addz(&b, "cvta.shared.u64 %d3, %d3;\n");
            } else {
                strbuf_addz(&b, "add.u64 %d3, %x, %d1;\n");
            }
            kit_text(&b, "atom$s.$s.$s $s13, [%d3], $s10$s$s$s;\n",
                     sp == 3 ? "" : spaces[sp], op, type, pre, pre, cas ? ", " : "",
                     cas ? pre : "", cas ? "11" : "");
            kit_text(&b, "st.global.$s [%d0], $s13;\n", bits, pre);
            kit_text(&b,
                     "bar.sync 0; ld$s.$s $s14, [%d3];\n"
                     "st.global.$s [%d0+$u], $s14; ret;\n}\n",
                     sp == 3 ? "" : spaces[sp], bits, pre, bits, N * bytes, pre);
            struct kit k;
            kit_load(&k, b.s);
            uint64_t out = kit_out(&k, 2 * N * bytes),
                     in = kit_buf(&k, (WORDS + 2 * N) * bytes);
            kit_param(&k, 1, in);
            uint64_t word[WORDS], vb[N], vc[N], x = 88172645463325252u;
            for (int j = 0; j < WORDS + 2 * N; j++) {
                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                uint64_t v = x;
                if (type[0] == 'f') {
                    float f = (float)(int)(x >> 40) / 256;
                    double d = (double)(int64_t)x / 1e9;
                    v = 0;
                    memcpy(&v, wide ? (void *)&d : (void *)&f, bytes);
                } else if (!strcmp(op, "inc") || !strcmp(op, "dec") || cas) {
                    v = x % 5;
                }
                if (!wide)
                    v &= 0xffffffff;
                if (j < WORDS)
                    word[j] = v;
                else if (j < WORDS + N)
                    vb[j - WORDS] = v;
                else
                    vc[j - WORDS - N] = v;
                dev_write(k.mem, in + bytes * (unsigned)j, &v, bytes);
            }
            kit_run(&k, 1, N);
            for (unsigned t = 0; t < N; t++) {
                uint64_t got = wide ? kit_u64(&k, out, t) : kit_u32(&k, out, t);
                if (got != word[t & 3])
                    fail_msg("%s.%s %s lane %u: %llx, expected %llx", op, type,
                             spaces[sp], t, (unsigned long long)got,
                             (unsigned long long)word[t & 3]);
                word[t & 3] = atom_ref(op, type, word[t & 3], vb[t], vc[t]);
            }
            for (unsigned t = 0; t < N; t++)
                assert_int_equal(wide ? kit_u64(&k, out, N + t) : kit_u32(&k, out, N + t),
                                 word[t & 3]);
            kit_free(&k);
            strbuf_free(&b);
        }
}

static void
reductions_have_no_result(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                          "ld.param.u64 %d0, [out]; red.global.add.u32 [%d0], %t;\n"
                          "red.release.gpu.global.max.u32 [%d0+4], %t;\n"
                          "and.b32 %r4, %t, 1; setp.eq.u32 %p1, %r4, 1;\n"
                          "@%p1 red.add.u32 [%d0+8], 1;\n"
                          "atom.global.add.u32 _, [%d0+12], 2; ret;\n}\n");
    uint64_t out = kit_out(&k, 16);
    kit_run(&k, 4, 100);
    assert_int_equal(kit_u32(&k, out, 0), 400 * 399 / 2);
    assert_int_equal(kit_u32(&k, out, 1), 399);
    assert_int_equal(kit_u32(&k, out, 2), 200);
    assert_int_equal(kit_u32(&k, out, 3), 800);
    kit_free(&k);
}

/* atom.add.f32 flushes subnormals in global memory, not in shared memory (PTX ISA, atom).
 */
static void
float_atomics_and_subnormals(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
                      ".shared .f32 s; .reg .f32 %f<3>;\n"
                      "st.shared.u32 [s], 5; st.global.u32 [%d0], 5;\n"
                      "atom.shared.add.f32 %f1, [s], 0f00000003;\n"
                      "atom.global.add.f32 %f1, [%d0], 0f80000003;\n"
                      "ld.shared.f32 %f1, [s]; st.global.f32 [%d0+4], %f1; ret;\n}\n");
    uint64_t out = kit_out(&k, 8);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u32(&k, out, 0), 0);
    assert_int_equal(kit_u32(&k, out, 1), 8);
    kit_free(&k);
}

/* A sum that is no number has the same bits from add and atom.add. */
static void
float_atomics_and_nan(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
             ".reg .f32 %f<3>; .reg .f64 %g<3>;\n"
             "mov.f64 %g0, 0d7ff0000000000000; mov.f64 %g1, 0dfff0000000000000;\n"
             "mov.f32 %f0, 0f7f800000; mov.f32 %f1, 0fff800000;\n"
             "add.f64 %g2, %g0, %g1; st.global.f64 [%d0], %g2;\n"
             "st.global.f64 [%d0+8], %g0; red.global.add.f64 [%d0+8], %g1;\n"
             "add.f32 %f2, %f0, %f1; st.global.f32 [%d0+16], %f2;\n"
             "st.global.f32 [%d0+20], %f0; red.global.add.f32 [%d0+20], %f1; ret;\n}\n");
    uint64_t out = kit_out(&k, 24);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u64(&k, out, 0), 0xfff8000000000000);
    assert_int_equal(kit_u64(&k, out, 1), 0xfff8000000000000);
    assert_int_equal(kit_u32(&k, out, 4), 0x7fffffff);
    assert_int_equal(kit_u32(&k, out, 5), 0x7fffffff);
    kit_free(&k);
}

/* -- special registers -- */

static void
special_registers(void **state)
{
    struct kit k;
    static const char *const names[] = {
        "%tid.x",       "%tid.y",       "%tid.z",       "%ntid.x",         "%ntid.y",
        "%ntid.z",      "%ctaid.x",     "%ctaid.y",     "%ctaid.z",        "%nctaid.x",
        "%nctaid.y",    "%nctaid.z",    "%laneid",      "%warpid",         "%nwarpid",
        "%smid",        "%nsmid",       "%lanemask_eq", "%lanemask_lt",    "%lanemask_le",
        "%lanemask_gt", "%lanemask_ge", "%clock",       "%total_smem_size"};
    enum { NR = sizeof names / sizeof *names };
    struct strbuf b = {0};
    strbuf_addz(&b, PTX_HEAD
                ".visible .entry k(.param .u64 out)\n{ .reg .u32 %r<32>;\n"
                ".reg .u64 %d<4>; .shared .b8 sm[100]; ld.param.u64 %d0, [out];\n");
    /* global thread number from first principles */
    strbuf_addz(
        &b, "mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mul.lo.u32 %r0, %r0, %r1;\n"
            "mov.u32 %r1, %ctaid.y; add.u32 %r0, %r0, %r1; mov.u32 %r1, %nctaid.x;\n"
            "mul.lo.u32 %r0, %r0, %r1; mov.u32 %r1, %ctaid.x; add.u32 %r0, %r0, %r1;\n"
            "mov.u32 %r1, %ntid.z; mul.lo.u32 %r0, %r0, %r1; mov.u32 %r1, %tid.z;\n"
            "add.u32 %r0, %r0, %r1; mov.u32 %r1, %ntid.y; mul.lo.u32 %r0, %r0, %r1;\n"
            "mov.u32 %r1, %tid.y; add.u32 %r0, %r0, %r1; mov.u32 %r1, %ntid.x;\n"
            "mul.lo.u32 %r0, %r0, %r1; mov.u32 %r1, %tid.x; add.u32 %r0, %r0, %r1;\n");
    kit_text(&b, "mul.wide.u32 %d1, %r0, $d; add.u64 %d0, %d0, %d1;\n", 4 * NR);
    for (int i = 0; i < NR; i++)
        kit_text(&b, "mov.u32 %r2, $s; st.global.u32 [%d0+$d], %r2;\n", names[i], 4 * i);
    strbuf_addz(&b, "ret;\n}\n");
    kit_load(&k, b.s);
    struct exec_dim g = {3, 2, 2}, n = {5, 4, 2};
    uint64_t clock = 4242;
    k.g.clock = &clock;
    k.g.nsm = 15;
    uint64_t out = kit_out(&k, 12 * 40 * 4 * NR);
    assert_int_equal(kit_launch(&k, g, n), EXEC_OK);
    unsigned at = 0;
    for (uint32_t bz = 0; bz < g.z; bz++)
        for (uint32_t by = 0; by < g.y; by++)
            for (uint32_t bx = 0; bx < g.x; bx++)
                for (uint32_t z = 0; z < n.z; z++)
                    for (uint32_t y = 0; y < n.y; y++)
                        for (uint32_t x = 0; x < n.x; x++, at++) {
                            uint32_t in_block = x + n.x * (y + n.y * z),
                                     l = in_block % 32;
                            uint32_t w[NR] = {x,
                                              y,
                                              z,
                                              n.x,
                                              n.y,
                                              n.z,
                                              bx,
                                              by,
                                              bz,
                                              g.x,
                                              g.y,
                                              g.z,
                                              l,
                                              in_block / 32,
                                              2,
                                              0,
                                              15,
                                              1u << l,
                                              (1u << l) - 1,
                                              (uint32_t)((2ull << l) - 1),
                                              ~(uint32_t)((2ull << l) - 1),
                                              ~((1u << l) - 1),
                                              4242,
                                              100};
                            for (unsigned i = 0; i < NR; i++)
                                if (kit_u32(&k, out, at * NR + i) != w[i])
                                    fail_msg("%s of thread %u: %u, expected %u", names[i],
                                             at, kit_u32(&k, out, at * NR + i), w[i]);
                        }
    kit_free(&k);
    strbuf_free(&b);
}

/* A vector register as a whole, and its components. */
static void
vector_registers(void **state)
{
    struct kit k;
    kit_load(&k,
             PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
                      ".reg .v4 .b32 %v; .reg .v2 .b64 %w;\n"
                      "ld.param.u64 %d2, [in]; ld.param.u64 %d0, [out];\n"
                      "mul.wide.u32 %d3, %t, 16; add.u64 %d2, %d2, %d3;\n"
                      "add.u64 %d0, %d0, %d3; ld.global.v4.b32 %v, [%d2];\n"
                      "add.u32 %v.y, %v.x, %v.w; st.global.v4.b32 [%d0], %v;\n"
                      "ld.global.v2.b64 %w, [%d2]; add.u64 %w.x, %w.x, %w.y;\n"
                      "st.global.v2.b64 [%d0+512], %w; ret; }\n");
    uint64_t out = kit_out(&k, 1024), in = kit_buf(&k, 512);
    kit_param(&k, 1, in);
    uint32_t data[128];
    for (uint32_t i = 0; i < 128; i++)
        data[i] = i * 0x1234567;
    dev_write(k.mem, in, data, sizeof data);
    kit_run(&k, 1, 32);
    for (unsigned i = 0; i < 32; i++) {
        const uint32_t *x = data + 4 * i;
        uint64_t lo = x[0] | (uint64_t)x[1] << 32, hi = x[2] | (uint64_t)x[3] << 32;
        assert_int_equal(kit_u32(&k, out, 4 * i), x[0]);
        assert_int_equal(kit_u32(&k, out, 4 * i + 1), x[0] + x[3]);
        assert_int_equal(kit_u32(&k, out, 4 * i + 2), x[2]);
        assert_int_equal(kit_u32(&k, out, 4 * i + 3), x[3]);
        assert_int_equal(kit_u64(&k, out, 64 + 2 * i), lo + hi);
        assert_int_equal(kit_u64(&k, out, 64 + 2 * i + 1), hi);
    }
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_extension),
        cmocka_unit_test(narrow_stores),
        cmocka_unit_test(vectors),
        cmocka_unit_test(address_patterns),
        cmocka_unit_test(two_allocations_at_once),
        cmocka_unit_test(colliding_stores),
        cmocka_unit_test(generic_addresses),
        cmocka_unit_test(initialisers_and_symbol_addresses),
        cmocka_unit_test(dynamic_scratchpad),
        cmocka_unit_test(blocks_do_not_see_each_other),
        cmocka_unit_test(parameters),
        cmocka_unit_test(modules_with_32_bit_addresses),
        cmocka_unit_test(local_memory),
        cmocka_unit_test(some_lanes_only),
        cmocka_unit_test(packing_and_unpacking),
        cmocka_unit_test(atomics),
        cmocka_unit_test(reductions_have_no_result),
        cmocka_unit_test(float_atomics_and_subnormals),
        cmocka_unit_test(float_atomics_and_nan),
        cmocka_unit_test(special_registers),
        cmocka_unit_test(vector_registers),
    };
    return KIT_RUN_VARIANTS(tests);
}
