/* sm_program.c: what a machine has no unit for is refused before the launch, with its place;
 * it runs where there is one, and without timing. Loads that are operands, under sharing. */
#include "unit/kit/runtime_kit.h"

static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
    " .reg .f32 %f<5>; .reg .b32 %r<7>;\n"
    " mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
    " mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0;\n"
    " mov.b32 %r6, 0;\n"
    " mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},\n"
    "  {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n ret;\n}\n";

static bool
launch(struct rt_kit *k)
{
    const struct allot_launch l = {
        .module = k->mod, .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    return allot_launch(k->dev, &l, k->d);
}

static void
tensor_instructions_need_a_unit(void **st)
{
    const struct allot_options timed = {0};
    struct rt_kit k;
    rt_open(&k, text, &timed);
    assert_false(launch(&k));
    const char *said = allot_diag_text(k.d);
    assert_non_null(strstr(said, "this machine has no tensor cores to run mma on"));
    assert_non_null(strstr(said, "test.ptx:10:"));
    assert_non_null(strstr(said, "unit.tensor is 0"));
    assert_int_equal(allot_results(k.dev), 0);
    rt_close(&k);

    rt_open(&k, text, NULL); /* functional */
    assert_true(launch(&k));
    rt_close(&k);

    rt_open(&k, text, &timed);
    allot_device_free(k.dev);
    allot_machine_free(k.m);
    k.m = allot_machine_load("a100", k.d);
    k.dev = allot_device_new(k.m, &timed, k.d);
    if (!launch(&k))
        rt_fail(&k, "a100");
    rt_close(&k);
}

/* -- loads that are operands, beside a mechanism that guards what they touch -- */

struct counts {
    uint64_t cycles, threads, locks, refusals, pairs, sum;
};

static uint64_t
counter(const struct allot_result *r, const char *name)
{
    uint64_t v = 0;
    assert_true(allot_result_get(r, name, &v, NULL));
    return v;
}

/* 32 blocks of 64 threads on one SM of 001's machine, whose settings come behind. Kernel k
 * adds what it computes to p[0]; n is 5. */
static struct counts
run_on(const char *ptx, const char *policy, const char *const (*set)[2])
{
    const struct allot_options timed = {.max_cycles = 1000000};
    struct rt_kit k;
    struct counts c = {0};
    rt_open(&k, ptx, &timed);
    allot_device_free(k.dev);
    allot_machine_free(k.m);
    k.m = allot_machine_load("001-table2.3-registers", k.d);
    assert_true(allot_machine_set(k.m, "sm.count", "1", k.d));
    assert_true(allot_machine_set(k.m, "sm.operand_loads", "true", k.d));
    assert_true(allot_machine_set(k.m, "residency.policy", policy, k.d));
    for (; (*set)[0]; set++)
        if (!allot_machine_set(k.m, (*set)[0], (*set)[1], k.d))
            rt_fail(&k, (*set)[0]);
    k.dev = allot_device_new(k.m, &timed, k.d);
    uint64_t p = allot_alloc(k.dev, 64, k.d), zero = 0;
    assert_true(allot_write(k.dev, p, &zero, 8, k.d));
    const struct allot_result *r = rt_try(&k, 32, 64, 2, (const uint64_t[]){p, 5});
    if (!r)
        rt_fail(&k, policy);
    c.cycles = counter(r, "cycles");
    c.threads = counter(r, "thread_instructions");
    c.locks = counter(r, "share_locks");
    c.refusals = counter(r, "share_refusals");
    c.pairs = counter(r, "shared_pairs");
    assert_true(allot_read(k.dev, p, &c.sum, 4, k.d));
    rt_close(&k);
    return c;
}

/* A block waits for its partner's lock at a load that is an operand as at any other, and
 * executes as many instructions as without sharing. */
static void
operands_wait_for_scratchpad(void **st)
{
    static const char kernel[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<6>;\n"
        ".reg .b64 %d<2>;\n.reg .pred %q<2>;\n.shared .align 4 .b8 m[1024];\n"
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, m;\n"
        "add.u32 %r2, %r2, %r3;\nmov.u32 %r4, 0;\n$l:\n"
        "ld.shared.u32 %r3, [%r2+512];\nadd.u32 %r4, %r4, %r3;\n"
        "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %q1, %r1, 300;\n@%q1 bra $l;\n"
        "ld.param.u64 %d1, [p];\nred.global.add.u32 [%d1], %r4;\nret;\n}\n";
    const char *const set[][2] = {{"sm.scratchpad", "1536"},
                                  {"sm.max_block_scratchpad", "1536"},
                                  {"residency.threshold", "0.25"},
                                  {NULL, NULL}};
    (void)st;
    struct counts none = run_on(kernel, "baseline", set);
    struct counts pair = run_on(kernel, "scratchpad-sharing", set);
    assert_int_equal(none.pairs, 0);
    assert_int_equal(pair.pairs, 1);
    assert_int_equal(pair.locks, 32);
    assert_true(pair.refusals > 0);
    assert_true(pair.cycles > none.cycles * 3 / 4); /* one runs, one waits */
    assert_int_equal(pair.threads, none.threads);
}

/* No register holds its value: here it is the seventh of a thread, six are private. */
static void
operands_have_no_register(void **st)
{
    static const char kernel[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<9>;\n"
        ".reg .b64 %d<2>;\n"
        "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, %r1;\nmul.lo.u32 %r3, %r2, %r1;\n"
        "mul.lo.u32 %r4, %r3, %r2;\nmul.lo.u32 %r5, %r4, %r3;\n"
        "mul.lo.u32 %r6, %r5, %r4;\n"
        "ld.param.u32 %r7, [n];\nadd.u32 %r6, %r6, %r7;\n"
        "xor.b32 %r1, %r1, %r2;\nxor.b32 %r1, %r1, %r3;\nxor.b32 %r1, %r1, %r4;\n"
        "xor.b32 %r1, %r1, %r5;\nxor.b32 %r1, %r1, %r6;\n"
        "ld.param.u64 %d1, [p];\nred.global.add.u32 [%d1], %r1;\nret;\n}\n";
    const char *const on[][2] = {{"sm.registers", "1152"},
                                 {"residency.regs_per_thread", "12"},
                                 {"residency.threshold", "0.5"},
                                 {"compiler.late_passes", "reorder-registers"},
                                 {NULL, NULL}};
    const char *const off[][2] = {
        {"sm.registers", "1152"},       {"residency.regs_per_thread", "12"},
        {"residency.threshold", "0.5"}, {"compiler.late_passes", "reorder-registers"},
        {"sm.operand_loads", "false"},  {NULL, NULL}};
    (void)st;
    struct counts with = run_on(kernel, "register-sharing", on);
    struct counts without = run_on(kernel, "register-sharing", off);
    assert_int_equal(with.pairs, 1);
    assert_int_equal(with.locks, 0);
    assert_true(without.locks > 0);
    assert_int_equal(without.threads - with.threads, 32 * 64);
    assert_int_equal(with.sum, without.sum);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_instructions_need_a_unit),
        cmocka_unit_test(operands_wait_for_scratchpad),
        cmocka_unit_test(operands_have_no_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
