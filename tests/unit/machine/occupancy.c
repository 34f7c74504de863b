/* occupancy.c: resident blocks against the papers' tables, cell by cell, with the machine
 * files of the papers; rules that must hold for any kernel; the cost formulas. */
#include "machine/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct machine *
preset(const char *name)
{
    struct diag_sink d = {0};
    struct machine *m = machine_load(name, &d);
    if (!m)
        fail_msg("%s cannot be loaded", name);
    diag_free(&d);
    return m;
}

static struct allot_occupancy
compute(const struct machine *m, uint32_t threads, uint32_t regs, uint32_t smem,
        enum occ_share share, double t)
{
    struct diag_sink d = {0};
    struct allot_occupancy o;
    struct occ_kernel k = {threads, regs, smem, 0};
    if (!occ_compute(m, &k, share, t, &o, &d))
        fail_msg("%u threads, %u registers, %u bytes: %s", threads, regs, smem,
                 d.n ? d.list[0]->message : "?");
    diag_free(&d);
    return o;
}

/* 001: percentages of sharing 0, 10, 30, 50, 70, 90. */
static const double thresholds[] = {1.0, 0.9, 0.7, 0.5, 0.3, 0.1};

struct row {
    const char *name;
    uint32_t threads,
        units;          /* 001 Tables 2.1, 2.2: registers a thread, scratchpad a block */
    uint32_t blocks[6]; /* 001 Tables 2.6, 2.8 */
};

static void
check_table(const char *machine, const struct row *rows, size_t n, enum occ_share share)
{
    struct machine *m = preset(machine);
    int wrong = 0;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 6; c++) {
            bool regs = share == OCC_SHARE_REGISTERS;
            struct allot_occupancy o =
                compute(m, rows[i].threads, regs ? rows[i].units : 0,
                        regs ? 0 : rows[i].units, share, thresholds[c]);
            if (o.resident_blocks != rows[i].blocks[c]) {
                print_error("%s, t = %g: %u blocks, the table has %u\n", rows[i].name,
                            thresholds[c], o.resident_blocks, rows[i].blocks[c]);
                wrong++;
            }
            assert_int_equal(o.baseline_blocks, rows[i].blocks[0]);
            assert_int_equal(o.shared_pairs, rows[i].blocks[c] - rows[i].blocks[0]);
            assert_int_equal(o.unshared_blocks + 2 * o.shared_pairs, o.resident_blocks);
        }
    assert_int_equal(wrong, 0);
    machine_free(m);
}

static void
test_001_table_2_6(void **state)
{
    static const struct row rows[] = {
        {"backprop", 256, 24, {5, 5, 5, 5, 6, 6}},
        {"b+tree", 508, 24, {2, 2, 2, 3, 3, 3}},
        {"hotspot", 256, 36, {3, 3, 3, 4, 4, 6}},
        {"LIB", 192, 36, {4, 4, 5, 5, 6, 8}},
        {"MUM", 256, 28, {4, 4, 4, 5, 5, 6}},
        {"mri-q", 256, 24, {5, 5, 5, 5, 6, 6}},
        {"sgemm", 128, 48, {5, 5, 5, 5, 6, 8}},
        {"stencil", 512, 28, {2, 2, 2, 2, 2, 3}},
    };
    check_table("001-table2.3-registers", rows, sizeof rows / sizeof *rows,
                OCC_SHARE_REGISTERS);
}

static void
test_001_table_2_8(void **state)
{
    static const struct row rows[] = {
        {"CONV1", 64, 2560, {6, 6, 6, 6, 7, 8}},
        {"CONV2", 128, 5184, {3, 3, 3, 3, 3, 4}},
        {"lavaMD", 128, 7200, {2, 2, 2, 2, 2, 4}},
        {"NW1", 16, 2180, {7, 7, 7, 8, 8, 8}},
        {"NW2", 16, 2180, {7, 7, 7, 8, 8, 8}},
        {"SRAD1", 256, 6144, {2, 2, 2, 3, 4, 4}},
        {"SRAD2", 256, 5120, {3, 3, 3, 3, 3, 5}},
    };
    check_table("001-table2.3-scratchpad", rows, sizeof rows / sizeof *rows,
                OCC_SHARE_SCRATCHPAD);
}

/* 001 Examples 2.1.1 and 2.1.2: what is left over, and the worked figures 2.1b, 2.2b. */
static void
test_001_underutilisation(void **state)
{
    struct machine *m = preset("001-table2.3-registers");
    struct allot_occupancy o = compute(m, 256, 36, 0, OCC_SHARE_NONE, 1);
    assert_int_equal(o.resident_blocks, 3);
    assert_int_equal(o.registers_wasted, 5120);
    assert_string_equal(o.limited_by, "registers");
    machine_free(m);
    m = preset("001-table2.3-scratchpad");
    o = compute(m, 128, 0, 7200, OCC_SHARE_NONE, 1);
    assert_int_equal(o.resident_blocks, 2);
    assert_int_equal(o.scratchpad_wasted, 1984);
    assert_string_equal(o.limited_by, "scratchpad");
    /* what is left over without sharing is the same with it */
    o = compute(m, 128, 0, 7200, OCC_SHARE_SCRATCHPAD, 0.1);
    assert_int_equal(o.scratchpad_wasted, 1984);
    machine_free(m);
}

/* 000 Table I, section 8.1.1 (t = 0.1). */
static void
test_000_figure_13(void **state)
{
    static const struct {
        const char *name;
        uint32_t smem, threads, baseline, blocks, pairs;
    } k[] = {
        {"backprop", 9408, 256, 1, 2, 1},  {"DCT1", 2112, 64, 7, 14, 7},
        {"DCT2", 2112, 64, 7, 14, 7},      {"DCT3", 2176, 128, 7, 12, 5},
        {"DCT4", 2176, 128, 7, 12, 5},     {"NQU", 10496, 64, 1, 2, 1},
        {"SRAD1", 13824, 576, 1, 2, 1},    {"SRAD2", 11520, 576, 1, 2, 1},
        {"FDTD3d", 3840, 128, 4, 6, 2},    {"heartwall", 11872, 128, 1, 2, 1},
        {"histogram", 9216, 192, 1, 2, 1}, {"MC1", 9216, 32, 1, 2, 1},
        {"NW1", 8452, 32, 1, 2, 1},        {"NW2", 8452, 32, 1, 2, 1},
    };
    struct machine *m = preset("000-table2");
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        struct allot_occupancy o =
            compute(m, k[i].threads, 0, k[i].smem, OCC_SHARE_SCRATCHPAD, 0.1);
        if (o.baseline_blocks != k[i].baseline || o.resident_blocks != k[i].blocks ||
            o.shared_pairs != k[i].pairs)
            fail_msg("%s: %u -> %u, %u pairs", k[i].name, o.baseline_blocks,
                     o.resident_blocks, o.shared_pairs);
        assert_int_equal(o.unshared_blocks, k[i].baseline - k[i].pairs);
    }
    /* Example 3.1: backprop leaves 6976 bytes; Example 3.3: DCT3, 5 pairs and 2 unshared
     */
    assert_int_equal(compute(m, 256, 0, 9408, OCC_SHARE_NONE, 1).scratchpad_wasted, 6976);
    assert_int_equal(compute(m, 128, 0, 2176, OCC_SHARE_SCRATCHPAD, 0.1).unshared_blocks,
                     2);
    machine_free(m);
}

/* 000 section 8.3.1 and 8.1.8: what the text says of Figures 20, 21 and 25. (It also says
 * that DCT1 and DCT2 reach 8 blocks at the limit of threads, which 128 threads, Table
 * VII, cannot: 2048 / 128 = 16. Not tested: text and table disagree.) */
static void
test_000_other_configurations(void **state)
{
    struct machine *m = preset("000-table8-48k");
    struct allot_occupancy o = compute(m, 128, 0, 3840, OCC_SHARE_SCRATCHPAD, 0.1);
    assert_int_equal(o.resident_blocks, 16); /* FDTD3d: limit of threads */
    assert_non_null(strstr(o.limited_by, "threads"));
    assert_true(o.shared_pairs > 0);
    /* SRAD1 and SRAD2: 2048 threads leave no room for more blocks, 3072 do */
    assert_int_equal(compute(m, 576, 0, 13824, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs,
                     0);
    assert_int_equal(compute(m, 576, 0, 11520, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs,
                     0);
    struct diag_sink d = {0};
    assert_true(machine_set(m, "sm.max_threads", "3072", &d));
    assert_true(compute(m, 576, 0, 13824, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs > 0);
    assert_true(compute(m, 576, 0, 11520, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs > 0);
    /* MC1 and heartwall gain with 48 KB */
    assert_true(compute(m, 32, 0, 9216, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs > 0);
    assert_true(compute(m, 128, 0, 11872, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs > 0);
    machine_free(m);
    m = preset("000-table8-64k");
    o = compute(m, 256, 0, 9408, OCC_SHARE_SCRATCHPAD, 0.1);
    assert_int_equal(o.resident_blocks, 8); /* backprop: limit of threads */
    assert_string_equal(o.limited_by, "threads");
    assert_int_equal(o.baseline_blocks, 6);
    /* FDTD3d gains nothing with 64 KB */
    assert_int_equal(compute(m, 128, 0, 3840, OCC_SHARE_SCRATCHPAD, 0.1).shared_pairs, 0);
    machine_free(m);
}

/* 001 Example 2.2.4's arithmetic on the equations: R = 36, Rtb = 10, t = 0.8: B = 3, and
 * no pair fits with all three making progress: (36 - 30) / 8 < 1. With t = 0.6 one does.
 */
static void
test_exact_floors(void **state)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    machine_set(m, "sm.max_blocks", "64", &d);
    machine_set(m, "sm.scratchpad", "3600", &d);
    assert_int_equal(compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, 0.8).resident_blocks,
                     3);
    assert_int_equal(compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, 0.6).resident_blocks,
                     4);
    assert_int_equal(compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, 0.3).resident_blocks,
                     5);
    assert_int_equal(compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, 0.2).resident_blocks,
                     6);
    assert_int_equal(
        compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, 0.6000001).resident_blocks, 3);
    /* left over exactly k t Rtb for all t in hundredths: a pair each, where doubles round
     */
    machine_set(m, "sm.max_threads", "4096", &d);
    for (uint32_t h = 1; h < 100; h++)
        for (uint32_t pairs = 1; pairs * h < 100 && pairs <= 10; pairs++) {
            char bytes[20];
            snprintf(bytes, sizeof bytes, "%u", 10 * 1000 + pairs * h * 10);
            machine_set(m, "sm.scratchpad", bytes, &d);
            struct allot_occupancy o =
                compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, h / 100.0);
            if (o.shared_pairs != pairs)
                fail_msg("t = 0.%02u: %u pairs instead of %u", h, o.shared_pairs, pairs);
            snprintf(bytes, sizeof bytes, "%u", 10 * 1000 + pairs * h * 10 - 1);
            machine_set(m, "sm.scratchpad", bytes, &d);
            o = compute(m, 32, 0, 1000, OCC_SHARE_SCRATCHPAD, h / 100.0);
            assert_int_equal(o.shared_pairs, pairs - 1);
        }
    assert_int_equal(occ_private(7200, 0.1), 720);
    assert_int_equal(occ_private(7201, 0.1), 720);
    assert_int_equal(occ_private(1000, 0.29),
                     290); /* 1000 * 0.29 is below 290 as a double */
    assert_int_equal(occ_private(1000, 1), 1000);
    assert_int_equal(d.n, 0);
    machine_free(m);
}

/* The definition instead of the formula: the most pairs S <= B whose demand fits,
 * (B - S) Rtb + S (1 + t) Rtb <= R, by trying. */
static void
test_sharing_by_search(void **state)
{
    struct machine *m = preset("000-table2");
    uint64_t r = 7;
    unsigned gained = 0;
    for (int i = 0; i < 20000; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        uint32_t threads = 1 + (uint32_t)(r >> 33) % 1024;
        uint32_t regs = (uint32_t)(r >> 20) % 64, smem = (uint32_t)(r >> 40) % 16385;
        uint32_t h = 1 + (uint32_t)(r >> 12) % 100;
        enum occ_share share = i & 1 ? OCC_SHARE_REGISTERS : OCC_SHARE_SCRATCHPAD;
        struct allot_occupancy o;
        struct diag_sink d = {0};
        struct occ_kernel k = {threads, regs, smem, 0};
        uint64_t warps = (threads + 31) / 32, rtb = warps * 32 * ((regs + 3) / 4 * 4);
        bool fits = rtb <= 65536;
        assert_int_equal(occ_compute(m, &k, share, h / 100.0, &o, &d), fits);
        diag_free(&d);
        if (!fits)
            continue;
        uint64_t lim[4] = {96 / warps, 16, rtb ? 65536 / rtb : 1000,
                           smem ? 16384 / smem : 1000};
        uint64_t *mine = &lim[share == OCC_SHARE_REGISTERS ? 2 : 3];
        uint64_t R = share == OCC_SHARE_REGISTERS ? 65536 : 16384;
        uint64_t u = share == OCC_SHARE_REGISTERS ? rtb : smem, B = *mine, S = 0;
        uint64_t baseline = 1000, resident = 1000;
        for (int j = 0; j < 4; j++)
            baseline = lim[j] < baseline ? lim[j] : baseline;
        while (u && S < B && (B - (S + 1)) * u * 100 + (S + 1) * u * (100 + h) <= R * 100)
            S++;
        *mine += S;
        for (int j = 0; j < 4; j++)
            resident = lim[j] < resident ? lim[j] : resident;
        if (o.resident_blocks != resident || o.baseline_blocks != baseline ||
            o.shared_pairs != resident - baseline ||
            o.unshared_blocks + o.shared_pairs != baseline)
            fail_msg("%u threads %u registers %u bytes t 0.%02u: %u of %u", threads, regs,
                     smem, h, o.resident_blocks, (unsigned)resident);
        gained += resident > baseline;
        /* what limits is what is reached */
        assert_true(!strstr(o.limited_by, "threads") == (lim[0] != resident));
        assert_true(!strstr(o.limited_by, "blocks") == (lim[1] != resident));
        assert_true(!strstr(o.limited_by, "registers") == (lim[2] != resident));
        assert_true(!strstr(o.limited_by, "scratchpad") == (lim[3] != resident));
        assert_int_equal(o.warps, resident * warps);
        assert_true(o.occupancy == (double)(resident * warps) / 96);
        assert_int_equal(o.by_scratchpad, smem ? lim[3] : OCC_UNLIMITED);
        assert_int_equal(o.by_registers, rtb ? lim[2] : OCC_UNLIMITED);
        assert_int_equal(o.scratchpad_wasted, 16384 - baseline * smem);
        assert_int_equal(o.registers_wasted, 65536 - baseline * rtb);
    }
    assert_true(gained > 1000);
    machine_free(m);
}

/* GPGPU-Sim's counts as measured (registers of ptxas 13): vecadd 6 by threads, matmul 3
 * by registers on the GTX 480; 8 and 7 on the Titan. */
static void
test_gpgpusim_limits(void **state)
{
    struct machine *m = preset("gtx480");
    struct allot_occupancy o = compute(m, 256, 12, 0, OCC_SHARE_NONE, 1);
    assert_int_equal(o.resident_blocks, 6);
    assert_string_equal(o.limited_by, "threads");
    o = compute(m, 256, 34, 2048, OCC_SHARE_NONE, 1);
    assert_int_equal(o.resident_blocks, 3);
    assert_string_equal(o.limited_by, "registers");
    machine_free(m);
    m = preset("titan");
    /* CUDA's occupancy calculator for 3.5: 34 registers a thread are 1088 a warp, 1280 */
    assert_int_equal(compute(m, 256, 12, 0, OCC_SHARE_NONE, 1).resident_blocks, 8);
    assert_int_equal(compute(m, 256, 34, 2048, OCC_SHARE_NONE, 1).resident_blocks, 6);
    assert_int_equal(compute(m, 64, 10, 3073, OCC_SHARE_NONE, 1).by_scratchpad, 14);
    m->sm.rounding = ROUNDING_GPGPUSIM; /* 36 registers a thread, 3073 bytes */
    assert_int_equal(compute(m, 256, 12, 0, OCC_SHARE_NONE, 1).resident_blocks, 8);
    assert_int_equal(compute(m, 256, 34, 2048, OCC_SHARE_NONE, 1).resident_blocks, 7);
    assert_int_equal(compute(m, 64, 10, 3073, OCC_SHARE_NONE, 1).by_scratchpad, 15);
    machine_free(m);
}

/* Compute capability 1.3 as in CUDA's occupancy spreadsheet: registers of a block rounded
 * up to 512, scratchpad to 512. */
static void
test_block_granular_registers(void **state)
{
    struct machine *m = preset("003-gtx285");
    /* 256 threads x 17 = 4352 -> 4608 registers: 3 blocks (by the unrounded count too);
     * 192 x 11 = 2112 -> 2560: 6 instead of 7 */
    assert_int_equal(compute(m, 256, 17, 0, OCC_SHARE_NONE, 1).by_registers, 3);
    assert_int_equal(compute(m, 192, 11, 0, OCC_SHARE_NONE, 1).by_registers, 6);
    assert_int_equal(compute(m, 64, 8, 4000, OCC_SHARE_NONE, 1).by_scratchpad, 4);
    assert_int_equal(compute(m, 64, 8, 4097, OCC_SHARE_NONE, 1).by_scratchpad, 3);
    machine_free(m);
}

static void
test_refusals(void **state)
{
    static const struct {
        uint32_t threads, regs, smem;
        double t;
        const char *word;
    } bad[] = {
        {0, 0, 0, 1, "at least one thread"},
        {1025, 8, 0, 1, "1025 threads, a block may have 1024"},
        {256, 64, 0, 1, "need 64 registers, a thread may have 63"},
        {1024, 40, 0, 1, "needs 40960 registers, of 32768"},
        {256, 8, 49153, 1, "49153 bytes of scratchpad, a block may have 49152"},
        {256, 8, 0xffffffff, 1, "bytes of scratchpad"},
        {256, 8, 100, 0, "threshold"},
        {256, 8, 100, -0.5, "threshold"},
        {256, 8, 100, 1.01, "threshold"},
        {256, 8, 100, 1e-10, "threshold"},
        {256, 8, 100, 0.0 / 0.0, "threshold"},
    };
    struct machine *m = preset("gtx480");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct diag_sink d = {0};
        struct allot_occupancy o;
        struct occ_kernel k = {bad[i].threads, bad[i].regs, bad[i].smem, 0};
        assert_false(occ_compute(m, &k, OCC_SHARE_SCRATCHPAD, bad[i].t, &o, &d));
        assert_int_equal(d.errors, 1);
        if (!strstr(d.list[0]->message, bad[i].word))
            fail_msg("'%s' is not in: %s", bad[i].word, d.list[0]->message);
        diag_free(&d);
    }
    /* the SM's scratchpad, where the limit of a block is larger */
    struct diag_sink d = {0};
    struct allot_occupancy o;
    struct occ_kernel k = {32, 8, 20000, 0};
    machine_set(m, "sm.scratchpad", "16384", &d);
    assert_false(occ_compute(m, &k, OCC_SHARE_NONE, 1, &o, &d));
    assert_non_null(strstr(d.list[0]->message, "the SM has 16384"));
    diag_free(&d);
    machine_free(m);
}

static void
test_cap_by_setting(void **state)
{
    struct machine *m = preset("gtx480");
    struct diag_sink d = {0};
    machine_set(m, "residency.max_blocks", "2", &d);
    struct allot_occupancy o = compute(m, 128, 16, 0, OCC_SHARE_NONE, 1);
    assert_int_equal(o.resident_blocks, 2);
    assert_int_equal(o.by_blocks, 2);
    assert_string_equal(o.limited_by, "blocks");
    machine_free(m);
}

/* Register sharing where the file is in 4 parts of 16384: what is left of each part feeds
 * pairs of warps of that part alone, and never more pairs than there were blocks. */
static void
test_partitioned_registers(void **state)
{
    static const struct {
        uint32_t threads, registers;
        double t;
        uint32_t baseline, pairs;
    } c[] = {
        /* 1536 a warp: 10 in each part, 1024 left, not 1382 for one more (4 x 1024 were
         * enough for 2) */
        {32, 48, 0.9, 40, 0},
        /* 768 for one more in each part (4 x 1024 were enough for 5) */
        {32, 48, 0.5, 40, 4},
        /* 3840 a warp: 4 in each part, 1024 left for 4 more: 32 warps make 5 blocks of 6,
         * 2 were there: no more than 2 pairs */
        {192, 120, 0.05, 2, 2},
    };
    struct machine *m = preset("gtx480");
    struct diag_sink d = {0};
    static const char *const set[][2] = {
        {"sm.registers", "65536"},     {"sm.register_partitions", "4"},
        {"sm.register_alloc", "warp"}, {"sm.register_unit", "256"},
        {"sm.max_registers", "255"},   {"sm.max_blocks", "64"},
        {"sm.max_threads", "2048"}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_true(machine_set(m, set[i][0], set[i][1], &d));
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct allot_occupancy o =
            compute(m, c[i].threads, c[i].registers, 0, OCC_SHARE_REGISTERS, c[i].t);
        assert_int_equal(o.baseline_blocks, c[i].baseline);
        assert_int_equal(o.shared_pairs, c[i].pairs);
    }
    machine_free(m);
    diag_free(&d);
}

/* 001 section 2.4.2 and 000 section 7.1. */
static void
test_cost(void **state)
{
    struct machine *m = preset("001-table2.3-registers");
    assert_int_equal(occ_cost_registers(m), 273);
    assert_int_equal(occ_cost_scratchpad(m), 93);
    assert_int_equal(occ_cost_both(m), 273 + 12); /* and 4 locks of 3 bits */
    machine_free(m);
    m = preset("000-table2");
    assert_int_equal(occ_cost_scratchpad(m), 209);
    machine_free(m);
}

int
main(void)
{
    unsetenv("ALLOT_MACHINES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_001_table_2_6),
        cmocka_unit_test(test_001_table_2_8),
        cmocka_unit_test(test_001_underutilisation),
        cmocka_unit_test(test_000_figure_13),
        cmocka_unit_test(test_000_other_configurations),
        cmocka_unit_test(test_exact_floors),
        cmocka_unit_test(test_sharing_by_search),
        cmocka_unit_test(test_gpgpusim_limits),
        cmocka_unit_test(test_block_granular_registers),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cap_by_setting),
        cmocka_unit_test(test_partitioned_registers),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
