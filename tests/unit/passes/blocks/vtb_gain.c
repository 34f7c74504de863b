/* vtb_gain.c: what the passes that merge blocks expect, held against the formula of
 * src/passes/blocks/vtb_gain.c worked out here, and multiplex-hw's turns; merge=auto takes the
 * number from which most is expected; co-vtb's private part, by rows of threads, and none
 * where tests would cost more. */
#include "unit/kit/blocks_kit.h"

/* A region (`inside`) between additions (`outside` of them); SM of 4096 bytes, so that one
 * block of 64 threads and 4096 bytes is resident. */
static struct strbuf
kernel_of(unsigned outside, const char *inside)
{
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 7.0\n.target sm_70\n.address_size 64\n"
                    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %t, %r<9>;\n"
                    ".reg .b64 %at;\n.shared .align 4 .b8 s[4096];\n"
                    "ld.param.u64 %at, [out];\nmov.u32 %t, %tid.x;\nmov.u32 %r0, s;\n"
                    "mov.u32 %r7, 1;\n");
    strbuf_addz(&b, inside);
    for (unsigned i = 0; i < outside; i++)
        strbuf_addz(&b, "add.u32 %r7, %r7, %t;\n");
    strbuf_addz(&b, "st.global.u32 [%at], %r7;\nret;\n}\n");
    return b;
}

#define EXCHANGE                                                                         \
    "mad.lo.u32 %r1, %t, 4, %r0;\nst.shared.u32 [%r1], %t;\nbar.sync 0;\n"               \
    "xor.b32 %r2, %t, 63;\nmad.lo.u32 %r2, %r2, 4, %r0;\nld.shared.u32 %r7, [%r2];\n"

static char *
report_of(const struct strbuf *text, const char *passes, uint32_t blocks)
{
    struct allot_machine *machine = allot_machine_load("003-gtx480-16k", NULL);
    assert_non_null(machine);
    assert_true(allot_machine_set(machine, "sm.scratchpad", "8000", NULL));
    assert_true(allot_machine_set(machine, "sm.max_block_scratchpad", "8000", NULL));
    return blocks_report_on(
        machine, text, (struct pass_launch){.grid = {blocks, 1, 1}, .block = {64, 1, 1}},
        passes);
}

static double
number_behind(const char *report, const char *words)
{
    const char *at = strstr(report, words);
    if (!at)
        fail_msg("no '%s' in: %s", words, report);
    return strtod(at + strlen(words), NULL);
}

/* A line for each region, and what is expected. */
static void
expect_lines(const char *report)
{
    const char *n = strstr(report, " region"), *s = report;
    unsigned lines = 0;
    assert_non_null(n);
    while (n[-1] != ' ')
        n--;
    while ((s = strstr(s, "\n  lines ")))
        lines++, s++;
    if (lines != strtoul(n, NULL, 10) || !strstr(report, "\n  expected: ") ||
        !strstr(report, " threads an SM instead of ") ||
        !strstr(report, " times as fast\n") || strstr(report, "lines 0 to"))
        fail_msg("%s", report);
}

/* One block an SM, 15 SMs: T turns before, T' after. The issue slots are not full: a warp
 * issues every 18 cycles or less often. */
static double
formula(double share, unsigned blocks, unsigned k)
{
    const double before = (double)((blocks + 14) / 15);
    const unsigned merged = (blocks + k - 1) / k;
    return before / ((double)((merged + 14) / 15) * (1 + (k - 1) * share));
}

static void
turns_of_the_grid(void **state)
{
    static const unsigned grids[] = {15, 30, 45, 60, 300, 301, 448};
    (void)state;
    for (unsigned outside = 0; outside < 40; outside += 13) {
        struct strbuf text = kernel_of(outside, EXCHANGE);
        for (unsigned i = 0; i < sizeof grids / sizeof *grids; i++)
            for (unsigned k = 2; k <= 4; k++) {
                char passes[60];
                snprintf(passes, sizeof passes, "vtb:merge=%u:gain=0:motion=0", k);
                char *report = report_of(&text, passes, grids[i]);
                const double share = number_behind(report, "region, ") / 100,
                             got = number_behind(report, "turns of blocks instead of");
                expect_lines(report);
                const char *times = strstr(report, "instead of");
                times = strstr(times + 10, "instead of");
                const double faster = number_behind(times, ", "),
                             want = formula(share, grids[i], k);
                if ((unsigned)got != (grids[i] + 14) / 15 || faster < want - 0.011 ||
                    faster > want + 0.011)
                    fail_msg("%u blocks, merge=%u: %g expected, not %g: %s", grids[i], k,
                             want, faster, report);
                free(report);
            }
        strbuf_free(&text);
    }
}

/* As many blocks as SMs: one alone on each is as good as two in turn. */
static void
a_grid_that_fits_gains_nothing(void **state)
{
    struct strbuf text = kernel_of(20, EXCHANGE);
    (void)state;
    char *report = report_of(&text, "vtb", 15);
    if (!strstr(report, "blocks are not merged: it would take longer"))
        fail_msg("%s", report);
    free(report);
    report = report_of(&text, "vtb", 300);
    if (!strstr(report, "2 blocks are merged"))
        fail_msg("%s", report);
    free(report);
    strbuf_free(&text);
}

/* Hardware: 3 blocks an SM instead of 1. */
static void
turns_with_hardware(void **state)
{
    static const struct {
        unsigned blocks;
        const char *said;
    } cases[] = {
        {15, "takes 1 turns of blocks instead of 1: no gain"},
        {16, "takes 1 turns of blocks instead of 2\n"},
        {45, "takes 1 turns of blocks instead of 3\n"},
        {300, "takes 7 turns of blocks instead of 20\n"},
    };
    struct strbuf text = kernel_of(20, EXCHANGE);
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *report = report_of(&text, "multiplex-hw", cases[i].blocks);
        if (!strstr(report, cases[i].said))
            fail_msg("%s: %s", cases[i].said, report);
        free(report);
    }
    strbuf_free(&text);
}

static void
auto_takes_the_most(void **state)
{
    unsigned chosen[9] = {0};
    (void)state;
    for (unsigned outside = 0; outside < 200; outside += 40)
        for (unsigned blocks = 30; blocks < 300; blocks += 60) {
            struct strbuf text = kernel_of(outside, EXCHANGE);
            char *report = report_of(&text, "vtb:merge=auto:gain=0", blocks);
            const unsigned k = (unsigned)number_behind(report, "k: ");
            double best = 0;
            for (unsigned i = 2; i <= 8; i++) {
                char words[20];
                snprintf(words, sizeof words, "%s %u:", i == 2 ? "merging" : ",", i);
                const double is = number_behind(report, words);
                best = is > best ? is : best;
                if (i == k && number_behind(report, words) < best)
                    fail_msg("%s", report);
            }
            char words[20];
            snprintf(words, sizeof words, "%s %u:", k == 2 ? "merging" : ",", k);
            if (number_behind(report, words) < best)
                fail_msg("%u is not the best: %s", k, report);
            chosen[k]++;
            free(report);
            strbuf_free(&text);
        }
    assert_true(chosen[2] < 25 && chosen[2] + chosen[3] + chosen[4] < 25);
}

/* Thread t has row t of 64 bytes to itself, and reads it word by word: a border between rows
 * is on one side of all words of a thread. Private rows need no turn while they are
 * written and read before the others. */
static void
rows_of_threads_ask_once(void **state)
{
    struct strbuf rows = {0};
    (void)state;
    strbuf_addz(&rows, "mad.lo.u32 %r1, %t, 64, %r0;\n");
    for (unsigned i = 0; i < 16; i++)
        strbuf_printf(&rows, "st.shared.u32 [%%r1+%u], %%t;\n", 4 * i);
    strbuf_addz(&rows, "bar.sync 0;\n");
    for (unsigned i = 0; i < 16; i++)
        strbuf_printf(
            &rows, "ld.shared.u32 %%r2, [%%r1+%u];\nadd.u32 %%r7, %%r7, %%r2;\n", 4 * i);
    struct strbuf text = kernel_of(9, rows.s);
    char *report = report_of(&text, "co-vtb:private=1024:gain=0:motion=0", 300);
    if (!strstr(report, "and 32 find out when they run, by 1 comparisons"))
        fail_msg("%s", report);
    free(report);
    /* 1072: within row 16 */
    report = report_of(&text, "co-vtb:private=1072:gain=0:motion=0", 300);
    if (!strstr(report, "and 32 find out when they run, by 2 comparisons"))
        fail_msg("%s", report);
    free(report);
    strbuf_free(&text);
    strbuf_free(&rows);
}

/* The low half is written and read before the high one: private, it needs no turn. Data
 * decide: no part is worth its tests. */
static void
private_where_it_pays(void **state)
{
    struct strbuf in_order = {0}, table = {0};
    (void)state;
    strbuf_addz(&in_order, "mad.lo.u32 %r1, %t, 4, %r0;\n");
    strbuf_addz(&table, "mad.lo.u32 %r1, %t, 4, %r0;\n");
    for (unsigned i = 0; i < 16; i++) {
        strbuf_printf(&in_order,
                      "st.shared.u32 [%%r1+%u], %%t;\nbar.sync 0;\n"
                      "ld.shared.u32 %%r2, [%%r1+%u];\nadd.u32 %%r7, %%r7, %%r2;\n",
                      256 * i, 256 * i);
        strbuf_printf(
            &table,
            "ld.global.u32 %%r2, [%%at+%u];\nand.b32 %%r2, %%r2, 4092;\n"
            "add.u32 %%r2, %%r2, %%r0;\nst.shared.u32 [%%r2], %%t;\nbar.sync 0;\n"
            "ld.shared.u32 %%r2, [%%r1];\nadd.u32 %%r7, %%r7, %%r2;\n",
            4 * i);
    }
    struct strbuf text = kernel_of(40, in_order.s);
    char *report = report_of(&text, "co-vtb:gain=0:gap=0:motion=0", 300);
    /* 8000 - 4096 bytes are free: of 15 arrays of 256 bytes the first */
    if (!strstr(report, "3840 bytes are private to each virtual block, 256 public"))
        fail_msg("%s", report);
    free(report);
    strbuf_free(&text);
    text = kernel_of(40, table.s);
    report = report_of(&text, "co-vtb:gain=0:gap=0:motion=0", 300);
    if (!strstr(report, "no bytes are private") || !strstr(report, "2 blocks are merged"))
        fail_msg("%s", report);
    free(report);
    strbuf_free(&text);
    strbuf_free(&in_order);
    strbuf_free(&table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_of_the_grid),
        cmocka_unit_test(a_grid_that_fits_gains_nothing),
        cmocka_unit_test(turns_with_hardware),
        cmocka_unit_test(auto_takes_the_most),
        cmocka_unit_test(rows_of_threads_ask_once),
        cmocka_unit_test(private_where_it_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
