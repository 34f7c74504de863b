/* Rare memory instructions: 128-bit values, half-precision atomics, hints, the stack. */
#include "unit/kit/exec_kit.h"

#include <math.h>

static void
wide_values_in_every_space(void **state)
{
    static const char *const spaces[] = {".global", ".shared", ".local", ""};
    for (int s = 0; s < 4; s++) {
        struct strbuf b = {0};
        kit_text(&b,
                 PTX_HEAD
                 ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
                 ".reg .b128 %q<4>; .shared .align 16 .b8 sh[512];\n"
                 ".local .align 16 .b8 lo[16];\n"
                 "ld.param.u64 %d2, [in]; ld.param.u64 %d0, [out];\n"
                 "mul.wide.u32 %d3, %t, 16; add.u64 %d2, %d2, %d3;\n"
                 "add.u64 %d0, %d0, %d3; mov.u64 %d4, $s; $s\n"
                 "ld.global.b128 %q0, [%d2];\n"
                 "mov.b128 {%d5, %d6}, %q0; xor.b64 %d6, %d6, 1;\n"
                 "mov.b128 %q1, {%d6, %d5}; mov.b128 %q2, %q1;\n"
                 "st$s.b128 [%d4], %q2; ld$s.b128 %q3, [%d4];\n"
                 "st.global.b128 [%d0], %q3; ret; }\n",
                 s == 1   ? "sh"
                 : s == 2 ? "lo"
                          : "0",
                 s == 1   ? "add.u64 %d4, %d4, %d3;"
                 : s == 2 ? ""
                          : "mov.u64 %d4, %d0;",
                 spaces[s], spaces[s]);
        struct kit k;
        kit_load(&k, b.s);
        uint64_t out = kit_out(&k, 512), in = kit_buf(&k, 512);
        kit_param(&k, 1, in);
        uint64_t data[64];
        for (int i = 0; i < 64; i++)
            data[i] = (uint64_t)i * 0x123456789abcdefu;
        dev_write(k.mem, in, data, sizeof data);
        kit_run(&k, 1, 32);
        for (unsigned i = 0; i < 32; i++) {
            assert_int_equal(kit_u64(&k, out, 2 * i), data[2 * i + 1] ^ 1);
            assert_int_equal(kit_u64(&k, out, 2 * i + 1), data[2 * i]);
        }
        kit_free(&k);
        strbuf_free(&b);
    }
}

/* One word exchanged by all lanes in turn; compare and swap where it fits. */
static void
wide_atomics(void **state)
{
    struct kit k;
    kit_load(&k, PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u64 cell)\n{\n" PROLOGUE
             ".reg .b128 %q<4>;\n"
             "ld.param.u64 %d2, [cell]; ld.param.u64 %d0, [out];\n"
             "mul.wide.u32 %d3, %t, 16; add.u64 %d0, %d0, %d3; cvt.u64.u32 %d4, %t;\n"
             "add.u64 %d4, %d4, 100; mov.b128 %q0, {%d4, %d3};\n"
             "atom.global.exch.b128 %q1, [%d2], %q0;\n"
             "st.global.b128 [%d0], %q1; mov.u64 %d6, 7; mov.b128 %q2, {%d6, %d6};\n"
             "atom.relaxed.gpu.cas.b128 _, [%d2+16], %q2, %q0;\n"
             "ret; }\n");
    uint64_t out = kit_out(&k, 512), cell = kit_buf(&k, 32);
    kit_param(&k, 1, cell);
    const uint64_t start[4] = {1, 2, 7, 7};
    dev_write(k.mem, cell, start, sizeof start);
    kit_run(&k, 1, 32);
    for (unsigned i = 0; i < 32; i++) { /* each got what the lane before put there */
        assert_int_equal(kit_u64(&k, out, 2 * i), i ? 99 + i : 1);
        assert_int_equal(kit_u64(&k, out, 2 * i + 1), i ? 16 * (i - 1) : 2);
    }
    assert_int_equal(kit_u64(&k, cell, 0), 131);
    assert_int_equal(kit_u64(&k, cell, 1), 16 * 31);
    assert_int_equal(kit_u64(&k, cell, 2), 100); /* only the first found 7, 7 */
    assert_int_equal(kit_u64(&k, cell, 3), 0);
    kit_free(&k);
}

/* Value of a half or bfloat. */
static double
value(uint16_t h, bool bf)
{
    unsigned mbits = bf ? 7 : 10, ebits = bf ? 8 : 5, bias = bf ? 127 : 15;
    unsigned e = h >> mbits & ((1u << ebits) - 1), m = h & ((1u << mbits) - 1);
    double v = e == (1u << ebits) - 1 ? (m ? NAN : INFINITY)
               : e ? ldexp(m + (double)(1u << mbits), (int)e - (int)bias - (int)mbits)
                   : ldexp(m, 1 - (int)bias - (int)mbits);
    return h >> 15 ? -v : v;
}

/* The one nearest to x, ties to even, by looking at all of them. */
static uint16_t
nearest(double x, bool bf, bool minus_zero)
{
    uint16_t inf = bf ? 0x7f80 : 0x7c00, best = 0;
    double most = value((uint16_t)(inf - 1), bf);
    double limit = most + (most - value((uint16_t)(inf - 2), bf)) / 2, found = INFINITY;
    if (isnan(x))
        return 0x7fff;
    uint16_t sign = signbit(x) || (x == 0 && minus_zero) ? 0x8000 : 0;
    if (fabs(x) >= limit)
        return sign | inf;
    for (uint32_t h = 0; h < inf; h++) {
        double d = fabs(fabs(x) - value((uint16_t)h, bf));
        if (d < found || (d == found && !(h & 1))) {
            found = d;
            best = (uint16_t)h;
        }
    }
    return sign | best;
}

static void
half_atomics(void **state)
{
    static const uint16_t f16[] = {0,      0x8000, 0x3c00, 0xbc00, 0x0001, 0x03ff,
                                   0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01,
                                   0x3555, 0x1234, 0x8003, 0x63ff, 0x1001, 0x5640},
                          bf16[] = {0,      0x8000, 0x3f80, 0xbf80, 0x0001, 0x007f,
                                    0x0080, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc1,
                                    0x3eab, 0x1234, 0x8003, 0x4b7f, 0x3b01, 0x42c8};
    enum { N = 18 };
    for (int form = 0; form < 6; form++) {
        bool bf = form & 1, two = form >= 2, red = form >= 4;
        struct strbuf b = {0};
        kit_text(&b,
                 PTX_HEAD
                 ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" PROLOGUE
                 ".reg .b16 %h<4>; .reg .b32 %b<4>; ld.param.u64 %d2, [in];\n"
                 "ld.param.u64 %d0, [out]; mul.wide.u32 %d3, %t, 4;\n"
                 "add.u64 %d0, %d0, %d3; add.u64 %d2, %d2, %d3;\n"
                 "ld.global.b32 %b0, [%d2]; mov.b32 {%h0, %h2}, %b0;\n"
                 "$s.global.add.noftz.$s$s $s[%d0], $s; ret; }\n",
                 red ? "red" : "atom", bf ? "bf16" : "f16", two ? "x2" : "",
                 red   ? ""
                 : two ? "%b1, "
                       : "%h1, ",
                 two ? "%b0" : "%h0");
        struct kit k;
        kit_load(&k, b.s);
        uint32_t a[N * N], c[N * N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const uint16_t *v = bf ? bf16 : f16;
                a[i * N + j] = v[i] | (uint32_t)v[j] << 16;
                c[i * N + j] = v[j] | (uint32_t)v[(i + j) % N] << 16;
            }
        uint64_t out = kit_out(&k, sizeof a), in = kit_buf(&k, sizeof c);
        kit_param(&k, 1, in);
        dev_write(k.mem, out, a, sizeof a);
        dev_write(k.mem, in, c, sizeof c);
        kit_run(&k, N * N / 4, 4);
        for (unsigned i = 0; i < N * N; i++) {
            uint32_t want = 0, got = kit_u32(&k, out, i);
            for (int half = 0; half < 2; half++) {
                uint16_t x = (uint16_t)(a[i] >> 16 * half),
                         y = (uint16_t)(c[i] >> 16 * half);
                uint16_t r = half && !two ? x
                                          : nearest(value(x, bf) + value(y, bf), bf,
                                                    x == 0x8000 && y == 0x8000);
                want |= (uint32_t)r << 16 * half;
            }
            if (got != want)
                fail_msg("form %d: 0x%08x + 0x%08x = 0x%08x, expected 0x%08x", form, a[i],
                         c[i], got, want);
        }
        kit_free(&k);
        strbuf_free(&b);
    }
}

/* Hints change nothing, and every spelling prints as it was read. */
static void
hints_change_nothing(void **state)
{
    static const char text[] = KERNEL(
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d3, 0f3F000000;\n"
        "createpolicy.range.L2::evict_last.L2::evict_unchanged.b64 %d4, [%d0], 4, 8;\n"
        "createpolicy.cvt.L2.b64 %d5, 4096;\n"
        "prefetch.global.L2 [%d0]; prefetchu.L1 [%d0];\n"
        "applypriority.global.L2::evict_normal [%d0], 128; discard.global.L2 [%d0], 128;\n"
        "mov.u32 %r4, 5; st.global.L1::no_allocate.L2::cache_hint.u32 [%d0], %r4, %d3;\n"
        "atom.global.add.L2::cache_hint.u32 %r5, [%d0], %r4, %d3;\n"
        "red.global.add.L2::cache_hint.u32 [%d0], %r5, %d4;\n"
        "atom.global.cas.L2::cache_hint.b32 %r6, [%d0], 15, %t, %d5;\n"
        "ld.global.L1::evict_last.L2::cache_hint.L2::128B.u32 %r7, [%d0], %d3;\n"
        "ld.mmio.relaxed.sys.global.u32 %r8, [%d0];\n"
        "fence.proxy.async; fence.proxy.async.global; fence.proxy.alias;\n"
        "fence.mbarrier_init.release.cluster; membar.proxy.alias; fence.sc.cluster;\n"
        "add.u32 %r7, %r7, %r8; st.global.u32 [%d0], %r7;");
    struct kit k;
    kit_load(&k, text);
    uint64_t out = kit_out(&k, 128);
    kit_run(&k, 1, 32);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(kit_u32(&k, out, i), 2 * i);
    kit_free(&k);
}

/* Each lane takes blocks of its own size; a function does so too, deeper. */
static void
the_stack_grows_by_lane(void **state)
{
    struct kit k;
    kit_load(
        &k, PTX_HEAD
        ".func (.param .b32 r) down(.param .b32 n)\n{\n"
        ".reg .u32 %r<12>; .reg .u64 %d<8>; .reg .pred %p;\n"
        "ld.param.b32 %r0, [n]; mov.u32 %r9, %laneid; add.u32 %r1, %r0, %r9;\n"
        "mul.wide.u32 %d0, %r1, 4; alloca.u64 %d1, %d0, 16;\n" /* n + lane words */
        "and.b64 %d4, %d1, 15; cvt.u32.u64 %r7, %d4;\n"
        "mov.u32 %r2, 0;\n"
        "F: mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2;\n"
        "mad.lo.u32 %r3, %r0, 1000, %r2; st.local.u32 [%d3], %r3;\n"
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra F;\n"
        "mov.u32 %r4, 0; setp.le.u32 %p, %r0, 1; @%p bra E;\n"
        "sub.u32 %r5, %r0, 1; { .param .b32 a; .param .b32 b;\n"
        "st.param.b32 [a], %r5; call (b), down, (a); ld.param.b32 %r4, [b]; }\n"
        "E: add.u32 %r4, %r4, %r7; mov.u32 %r2, 0;\n"
        "G: mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2;\n"
        "ld.local.u32 %r3, [%d3]; add.u32 %r4, %r4, %r3;\n"
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra G;\n"
        "st.param.b32 [r], %r4; ret; }\n"
        ".visible .entry k(.param .u64 out)\n{\n" PROLOGUE
        "mov.u32 %r8, 0; mov.u32 %r9, 0;\n"
        "T: stacksave.u64 %d2; mov.u64 %d3, 64; alloca.u64 %d4, %d3;\n"
        "st.local.u32 [%d4+60], %l; mov.u32 %r4, 4;\n"
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), down, (a);\n"
        "ld.param.b32 %r5, [b]; }\n"
        "ld.local.u32 %r6, [%d4+60]; add.u32 %r9, %r9, %r6; add.u32 %r9, %r9, %r5;\n"
        "stackrestore.u64 %d2; add.u32 %r8, %r8, 1; setp.lt.u32 %p0, %r8, 2000;\n"
        "@%p0 bra T; cvt.u32.u64 %r10, %d4; st.global.u32 [%d0], %r9; ret; }\n");
    uint64_t out = kit_out(&k, 128);
    k.g.limit = 100000000;
    kit_run(&k, 1, 32);
    for (unsigned lane = 0; lane < 32; lane++) {
        uint32_t sum = 0;
        for (unsigned n = 4; n >= 1; n--)
            for (unsigned i = 0; i < n + lane; i++)
                sum += n * 1000 + i;
        assert_int_equal(kit_u32(&k, out, lane), 2000 * (sum + lane));
    }
    kit_free(&k);

    kit_load(&k, KERNEL("mov.u64 %d3, 100000; L: alloca.u64 %d4, %d3; bra L;"));
    kit_out(&k, 128);
    assert_int_equal(
        kit_launch(&k, (struct exec_dim){1, 1, 1}, (struct exec_dim){1, 1, 1}),
        EXEC_FAULT);
    struct strbuf b = {0};
    diag_print(&k.diag, &b);
    assert_non_null(strstr(b.s, "stack overflow: alloca of 100000 bytes"));
    strbuf_free(&b);
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_values_in_every_space),
        cmocka_unit_test(wide_atomics),
        cmocka_unit_test(half_atomics),
        cmocka_unit_test(hints_change_nothing),
        cmocka_unit_test(the_stack_grows_by_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
