/* timing_products.c: products of a warpgroup in an SM of an H100: how long one keeps the tensor
 * cores, when its result is there, what a wait waits for; and registers that change hands. Times
 * are read by %clock in the kernel. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"
#include "unit/kit/wgmma_gemm.h"

#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define FROM "mov.u32 %r1, %clock;\n"
#define TO "mov.u32 %r2, %clock;\nsub.u32 %r3, %r2, %r1;\n"
/* Longer than a product and its result. */
#define PAUSE(l)                                                                         \
    "mov.u32 %r4, 0;\n" l                                                                \
    ":\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 60;\n@%p1 bra " l ";\n"

static void
product(struct strbuf *b, unsigned n, const char *k, const char *types, bool registers,
        const char *tail)
{
    strbuf_printf(b, "wgmma.mma_async.sync.aligned.m64n%uk%s.%s {", n, k, types);
    for (unsigned i = 0; i < n / 2; i++)
        strbuf_printf(b, "%s%%a%u", i ? ", " : "", i);
    strbuf_printf(b, "}, %s, %%rd2, %%p2%s;\n",
                  registers ? "{%r8, %r9, %r10, %r11}" : "%rd1", tail);
}

/* What the first thread's %r3 is at the end. */
static uint32_t
cycles_of(const char *body, unsigned threads, unsigned registers, bool maximum)
{
    struct strbuf b = {0};
    struct rig r;
    strbuf_printf(
        &b,
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 out)\n%s\n{\n"
        ".shared .align 1024 .b8 t[65536];\n.reg .pred %%p<4>;\n.reg .b32 %%r<16>;\n"
        ".reg .b32 %%a<128>;\n.reg .b64 %%rd<6>;\nmov.u32 %%r8, 0;\nmov.u32 %%r9, 0;\n"
        "mov.u32 %%r10, 0;\nmov.u32 %%r11, 0;\nmov.b64 %%rd1, 0x4000004000010000;\n"
        "mov.b64 %%rd2, 0x4000004000010400;\nmov.u32 %%r5, %%tid.x;\n"
        "setp.ge.u32 %%p2, %%r5, 0;\n",
        maximum ? ".maxntid 256\n.minnctapersm 1" : ".maxntid 256");
    for (unsigned i = 0; i < 128; i++)
        strbuf_printf(&b, "mov.b32 %%a%u, 0;\n", i);
    strbuf_addz(&b, body);
    strbuf_addz(&b, "ld.param.u64 %rd3, [out];\nsetp.eq.u32 %p3, %r5, 0;\n"
                    "@%p3 st.global.u32 [%rd3], %r3;\nret;\n}\n");
    rig_load(&r, "h100", b.s, NULL);
    rig_set(&r, "l1i.perfect", "true");
    r.registers = registers;
    const uint64_t out = rig_buf(&r, 0, 64);
    rig_launch(&r, 1, threads);
    const uint32_t cycles = rig_u32(&r, out, 0);
    rig_free(&r);
    strbuf_free(&b);
    return cycles;
}

/* Cycles a product of many, with one group open: so many a group that their time is longer than
 * that to a result. */
static double
each(unsigned n, const char *k, const char *types, bool registers, const char *tail)
{
    struct strbuf b = {0};
    strbuf_addz(&b, "mov.u32 %r4, 0;\n" FROM "L:\n" FENCE);
    unsigned group = n < 128 ? 20 : 4;
    for (unsigned i = 0; i < group; i++)
        product(&b, n, k, types, registers, tail);
    strbuf_addz(
        &b,
        COMMIT WAIT(
            1) "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 50;\n@%p1 bra L;\n" WAIT(0)
            TO);
    uint32_t cycles = cycles_of(b.s, 128, 168, true);
    strbuf_free(&b);
    return cycles / (50.0 * group);
}

static void
near(const char *what, double got, double want)
{
    if (got < want || got > want * 1.03)
        fail_msg("%s: %.2f cycles, not %.2f", what, got, want);
}

static void
a_product_takes_half_a_cycle_a_column(void **state)
{
    (void)state;
    near("f16", each(256, "16", "f32.f16.f16", false, ", 1, 1, 0, 0"), 128);
    near("bf16, n 128", each(128, "16", "f32.bf16.bf16", true, ", 1, 1, 0"), 64);
    near("tf32", each(256, "8", "f32.tf32.tf32", false, ", 1, 1"), 128);
    near("e4m3", each(256, "32", "f32.e4m3.e5m2", false, ", 1, 1"), 128);
    near("s8", each(256, "32", "s32.s8.u8", false, ""), 128);
}

/* 64 rows of A are 2 KB, 16 cycles of the banks; n columns of B n / 4. */
static void
small_products_wait_for_scratchpad(void **state)
{
    (void)state;
    near("n 32, A in registers", each(32, "16", "f32.f16.f16", true, ", 1, 1, 0"), 16);
    near("n 32, A in scratchpad", each(32, "16", "f32.f16.f16", false, ", 1, 1, 0, 0"),
         24);
    near("n 64, A in scratchpad", each(64, "16", "f32.f16.f16", false, ", 1, 1, 0, 0"),
         32);
}

static uint32_t
waits(const char *before, const char *after)
{
    struct strbuf b = {0};
    for (const char *s = before; *s; s++)
        if (*s == 'P')
            product(&b, 64, "16", "f32.f16.f16", true, ", 1, 1, 0");
        else if (*s == 'N') {
            strbuf_addz(&b, "@!%p2 ");
            product(&b, 64, "16", "f32.f16.f16", true, ", 1, 1, 0");
        } else if (*s == 'C')
            strbuf_addz(&b, COMMIT);
        else if (*s == 'F')
            strbuf_addz(&b, FENCE);
        else
            strbuf_addz(&b, PAUSE("A"));
    strbuf_printf(&b, "%s", FROM);
    strbuf_addz(&b, after);
    strbuf_addz(&b, TO WAIT(0));
    uint32_t cycles = cycles_of(b.s, 128, 168, true);
    strbuf_free(&b);
    return cycles;
}

static void
a_wait_is_for_the_groups_it_names(void **state)
{
    (void)state;
    enum { RESULT = 32 + 66, FREE = 45 };
    uint32_t one = waits("FPC", WAIT(0));
    if (one < RESULT - 16 || one > RESULT + 24)
        fail_msg("one product: %u cycles", one);
    assert_true(waits("FPC", WAIT(1)) < FREE);
    assert_true(waits("FPCPC", WAIT(1)) > 60);
    assert_true(waits("FPCPC", WAIT(0)) > waits("FPCPC", WAIT(1)) + 20);
    assert_true(waits("FPCpPC", WAIT(1)) < FREE);
    assert_true(waits("FPCp", WAIT(0)) < FREE);
    assert_true(waits("FP", WAIT(0)) < FREE); /* in no group yet */
    /* by no lane: it is none the less one of the group */
    assert_true(waits("FNCPC", WAIT(0)) + 8 > waits("FPCPC", WAIT(0)));
    assert_true(waits("FPCC", WAIT(1)) > 60);
    assert_true(waits("FPCC", WAIT(2)) < FREE);
}

/* Warps 4 to 7 want 232 registers; warps 0 to 3 pause, then keep 40. */
static uint32_t
registers_wanted(const char *want, bool maximum)
{
    struct strbuf b = {0};
    strbuf_printf(
        &b, "%s",
        "setp.ge.u32 %p3, %r5, 128;\n@%p3 bra MORE;\n" PAUSE(
            "A") "setmaxnreg.dec.sync.aligned.u32 40;\nbar.sync 0;\nld.shared.u32 %r3, [t];\n"
                 "bra END;\nMORE:\n" FROM);
    strbuf_printf(&b, "setmaxnreg.inc.sync.aligned.u32 %s;\n", want);
    strbuf_printf(&b, "%s", TO "st.shared.u32 [t], %r3;\nbar.sync 0;\nEND:\n");
    uint32_t cycles = cycles_of(b.s, 256, 128, maximum);
    strbuf_free(&b);
    return cycles;
}

static void
registers_are_waited_for(void **state)
{
    (void)state;
    assert_true(registers_wanted("216", true) > 400); /* 128 + 88: what the others give */
    assert_true(registers_wanted("128", true) < 100);
    assert_true(registers_wanted("216", false) < 100); /* no maximum at launch */
}

static void
more_registers_than_there_are_never_come(void **state)
{
    (void)state;
    struct rig r;
    rig_load(
        &r, "h100",
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.maxnreg 128\n"
        "{\nsetmaxnreg.inc.sync.aligned.u32 232;\nret;\n}\n",
        NULL);
    r.registers = 128;
    struct launch_stats out;
    assert_false(rig_try(&r, 1, 128, &out));
    struct strbuf b = {0};
    diag_print(&r.diag, &b);
    assert_non_null(strstr(b.s, "waits for registers of its block"));
    strbuf_free(&b);
    rig_free(&r);
}

static void
other_machines_do_not_have_them(void **state)
{
    (void)state;
    struct rig r;
    rig_load(
        &r, "a100",
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 128\n"
        "{\nwgmma.fence.sync.aligned;\nret;\n}\n",
        NULL);
    struct launch_stats out;
    assert_false(rig_try(&r, 1, 128, &out));
    struct strbuf b = {0};
    diag_print(&r.diag, &b);
    assert_non_null(strstr(b.s, "this machine does not have wgmma"));
    strbuf_free(&b);
    rig_free(&r);
}

static uint16_t ga[GEMM_M * GEMM_K], gb[GEMM_N * GEMM_K];

/* Whole products of matrices in time: the values, and slots whose cause is the products. */
static void
check_gemm(void (*text)(struct strbuf *), bool tiled, unsigned threads, uint64_t slots)
{
    struct strbuf t = {0};
    struct rig r;
    struct launch_stats out;
    text(&t);
    gemm_fill(ga, gb, tiled);
    rig_load(&r, "h100", t.s, NULL);
    const uint64_t a = rig_buf(&r, 0, sizeof ga), b = rig_buf(&r, 1, sizeof gb),
                   c = rig_buf(&r, 2, GEMM_M * GEMM_N * 4);
    assert_true(dev_write(r.mem, a, ga, sizeof ga));
    assert_true(dev_write(r.mem, b, gb, sizeof gb));
    r.registers = 64;
    /* one block a column of tiles: the rig's grids are lines */
    if (!rig_try(&r, GEMM_N / 64, threads, &out))
        rig_fail(&r, "launch");
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = 0; j < GEMM_N; j++) {
            const uint32_t bits = rig_u32(&r, c, i * GEMM_N + j);
            float v;
            memcpy(&v, &bits, 4);
            if (v != (float)gemm_reference((int)i, (int)j))
                fail_msg("(%u,%u): %g", i, j, (double)v);
        }
    assert_true(out.sm.issue_tensor > slots);
    rig_free(&r);
    strbuf_free(&t);
}

static void
a_gemm_has_its_values(void **state)
{
    (void)state;
    check_gemm(gemm_text, false, 128, 4 * 4 * 20);
    (void)gemm_specialised_text; /* its bulk copies have no timing yet */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_takes_half_a_cycle_a_column),
        cmocka_unit_test(small_products_wait_for_scratchpad),
        cmocka_unit_test(a_wait_is_for_the_groups_it_names),
        cmocka_unit_test(registers_are_waited_for),
        cmocka_unit_test(more_registers_than_there_are_never_come),
        cmocka_unit_test(other_machines_do_not_have_them),
        cmocka_unit_test(a_gemm_has_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
