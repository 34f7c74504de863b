/* idle_latency.c: what machine/latency.h says of a read of idle DRAM and of dependent
 * additions, against simulated chains. */
#include "unit/kit/runtime_kit.h"

#include "machine/latency.h"

enum { STRIDE = 1 << 16, MOST = 96 };

static const char chain[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n, .param .u64 out)\n{\n"
    ".reg .b64 %a, %o;\n.reg .b32 %n;\n.reg .pred %q;\n"
    "ld.param.u64 %a, [p];\nld.param.u32 %n, [n];\nld.param.u64 %o, [out];\n"
    "more:\nld.global.u64 %a, [%a];\nadd.u32 %n, %n, -1;\n"
    "setp.ne.u32 %q, %n, 0;\n@%q bra more;\nst.global.u64 [%o], %a;\nret;\n}\n";

/* Cycles of a chain of n loads, each in a row of its own; nothing is in the L2. */
static uint64_t
cycles(const char *name, uint32_t n)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(name, d);
    struct allot_options options = {0};
    assert_true(allot_machine_set(m, "partition.prefill", "false", d));
    struct allot_device *dev = allot_device_new(m, &options, d);
    struct allot_module *mod = allot_module_parse("k.ptx", chain, sizeof chain - 1, d);
    uint64_t size = (uint64_t)MOST * STRIDE, at = allot_alloc(dev, size, d);
    uint64_t out = allot_alloc(dev, 8, d);
    uint64_t *data = calloc(1, size);
    for (uint64_t i = 0; i + 1 < MOST; i++)
        data[i * STRIDE / 8] = at + (i + 1) * STRIDE;
    assert_true(allot_write(dev, at, data, size, d));
    const void *args[] = {&at, &n, &out};
    struct allot_launch l = {.module = mod, .kernel = "k", .grid = {1, 1, 1}};
    l.block[0] = l.block[1] = l.block[2] = 1;
    l.args = args;
    l.nargs = 3;
    if (!allot_launch(dev, &l, d))
        fail_msg("%s: %s", name, allot_diag_text(d));
    uint64_t c = 0;
    assert_true(allot_result_get(allot_result_at(dev, 0), "cycles", &c, NULL));
    free(data);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return c;
}

/* Cycles of a warp that adds a register to itself n times. */
static uint64_t
additions(const char *name, int n)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load(name, d);
    struct allot_options options = {0};
    char *text = malloc(8000 + 40 * (size_t)n);
    int at = sprintf(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %%o;\n"
                           ".reg .b32 %%r;\nld.param.u64 %%o, [out];\n"
                           "mov.u32 %%r, %%tid.x;\n");
    for (int i = 0; i < n; i++)
        at += sprintf(text + at, "add.u32 %%r, %%r, %%r;\n");
    at += sprintf(text + at, "st.global.u32 [%%o], %%r;\nret;\n}\n");
    assert_true(allot_machine_set(m, "compiler.registers", "virtual", d));
    assert_true(allot_machine_set(m, "l1i.perfect", "true", d));
    struct allot_device *dev = allot_device_new(m, &options, d);
    struct allot_module *mod = allot_module_parse("k.ptx", text, (size_t)at, d);
    uint64_t out = dev ? allot_alloc(dev, 8, d) : 0;
    const void *args[] = {&out};
    struct allot_launch l = {.module = mod, .kernel = "k", .grid = {1, 1, 1}};
    l.block[0] = 32;
    l.block[1] = l.block[2] = 1;
    l.args = args;
    l.nargs = 1;
    if (!dev || !mod || !allot_launch(dev, &l, d))
        fail_msg("%s: %s", name, allot_diag_text(d));
    uint64_t c = 0;
    assert_true(allot_result_get(allot_result_at(dev, 0), "cycles", &c, NULL));
    free(text);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return c;
}

static const char *const names[] = {"gtx480", "titan", "a100", "002-gtx680", "002-c2075"};

/* Of the machines of 002 an addition takes 9 cycles and an off-chip access 300 to 400
 * (section 5). */
static void
dependent_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct diag_sink d = {0};
        struct machine *m = machine_load(names[i], &d);
        uint64_t chain = additions(names[i], 164) - additions(names[i], 100);
        uint32_t said = latency_dependent(m, PTX_LAT_INT_ADD);
        if (chain != 64 * said)
            fail_msg("%s: %u cycles, simulated %.2f", names[i], said, (double)chain / 64);
        if (!strncmp(names[i], "002", 3)) {
            assert_int_equal(said, 9);
            uint64_t far = (cycles(names[i], 80) - cycles(names[i], 16)) / 64;
            assert_in_range(far, 300, 400);
        }
        machine_free(m);
        diag_free(&d);
    }
}

/* The add, setp and bra of a turn, and steps through queues that no setting names, are
 * what the sums leave out. */
static void
as_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct diag_sink d = {0};
        struct machine *m = machine_load(names[i], &d);
        double dram = (double)(cycles(names[i], 80) - cycles(names[i], 16)) / 64;
        double said = latency_dram(m);
        if (said > dram || said < dram * 0.85)
            fail_msg("%s: %.0f, simulated %.1f", names[i], said, dram);
        machine_free(m);
        diag_free(&d);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_simulated),
                                       cmocka_unit_test(dependent_use)};
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
