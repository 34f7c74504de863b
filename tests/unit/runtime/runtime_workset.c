/* runtime_workset.c: working sets of blocks, counted by hand and by a second count in C. */
#include "unit/kit/runtime_kit.h"

#include "runtime/working.h"

#include <math.h>

/* Block b of 64 threads: reads 64 words of `a` from 48 b on (neighbours share 16 words),
 * through generic addresses in odd blocks; lane 0 reads 16 bytes of `c` at 112 b; writes
 * one byte of `o` at 4096 b where the thread is 0; touches its scratchpad, twice. */
static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 c, .param .u64 o)\n{\n"
    ".reg .pred %p<3>; .reg .u32 %r<12>; .reg .u64 %d<12>; .reg .b16 %h<2>;\n"
    ".shared .align 4 .b8 t[512];\n"
    "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [c]; ld.param.u64 %d2, [o];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 48, %r1;\n"
    "mul.wide.u32 %d3, %r3, 4; add.u64 %d3, %d0, %d3; and.b32 %r4, %r2, 1;\n"
    "setp.ne.u32 %p0, %r4, 0; @%p0 ld.u32 %r5, [%d3]; @!%p0 ld.global.u32 %r5, [%d3];\n"
    "ld.global.u32 %r5, [%d3]; mov.u32 %r6, t; mad.lo.u32 %r6, %r1, 4, %r6;\n"
    "st.shared.u32 [%r6], %r5; ld.shared.u32 %r5, [%r6];\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra E; mul.wide.u32 %d4, %r2, 112;\n"
    "add.u64 %d4, %d1, %d4; ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d4];\n"
    "mul.wide.u32 %d5, %r2, 4096; add.u64 %d5, %d2, %d5; cvt.u16.u32 %h0, %r7;\n"
    "st.global.u8 [%d5], %h0;\n"
    "E: ret; }\n";

enum {
    BLOCKS = 20,
    A = (BLOCKS * 48 + 16) * 4,
    C = (BLOCKS - 1) * 112 + 16,
    O = BLOCKS * 4096
};

/* Lines of 128 bytes in [from, from + bytes). */
static unsigned
lines(uint64_t from, uint64_t bytes)
{
    return (unsigned)((from + bytes - 1) / 128 - from / 128 + 1);
}

/* The kernel on buffers for `a`, `c` and `o`. */
static const struct allot_result *
launch(struct rt_kit *k, bool working_sets, uint64_t buf[3])
{
    const struct allot_options options = {.functional = working_sets,
                                          .working_sets = working_sets};
    rt_open(k, text, &options);
    buf[0] = allot_alloc(k->dev, A, k->d);
    buf[1] = allot_alloc(k->dev, C, k->d);
    buf[2] = allot_alloc(k->dev, O, k->d);
    const struct allot_result *r = rt_try(k, BLOCKS, 64, 3, buf);
    if (!r)
        rt_fail(k, "launch");
    return r;
}

static void
distinct_lines_of_each_block(void **state)
{
    struct rt_kit k;
    uint64_t buf[3];
    const struct allot_result *r = launch(&k, true, buf);
    struct allot_working_set w;
    assert_true(allot_result_working_set(r, &w));
    assert_int_equal(w.blocks, BLOCKS);
    assert_int_equal(w.line_bytes, 128);
    uint64_t sum = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        unsigned want = lines(192 * b, 256) + lines(112 * b, 16) + 1;
        assert_int_equal(w.lines[b], want);
        sum += want;
    }
    assert_int_equal(w.sum, sum);
    assert_int_equal(w.narrays, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(w.arrays[i].addr, buf[i]);
    assert_int_equal(w.arrays[0].distinct, lines(0, A));
    assert_int_equal(w.arrays[1].distinct,
                     lines(0, C)); /* 16 of 112 bytes, no gap of 128 */
    assert_int_equal(w.arrays[2].distinct, BLOCKS);
    assert_int_equal(w.arrays[2].lines, BLOCKS);
    assert_int_equal(w.arrays[0].lines + w.arrays[1].lines + BLOCKS, sum);
    assert_int_equal(w.distinct, lines(0, A) + lines(0, C) + BLOCKS);
    rt_close(&k);
}

/* Lines of `a` and `c` in common, against sets of lines made here. */
static void
what_blocks_have_in_common(void **state)
{
    struct rt_kit k;
    uint64_t buf[3];
    const struct allot_result *r = launch(&k, true, buf);
    static uint8_t set[BLOCKS][2][64];
    for (unsigned b = 0; b < BLOCKS; b++) {
        for (unsigned i = 0; i < 256; i++)
            set[b][0][(192 * b + i) / 128] = 1;
        for (unsigned i = 0; i < 16; i++)
            set[b][1][(112 * b + i) / 128] = 1;
    }
    for (unsigned x = 0; x < BLOCKS; x++)
        for (unsigned y = 0; y < BLOCKS; y++) {
            unsigned common = x == y, together = x == y ? 1 : 2;
            for (int i = 0; i < 128; i++) {
                common += set[x][i / 64][i % 64] & set[y][i / 64][i % 64];
                together += set[x][i / 64][i % 64] | set[y][i / 64][i % 64];
            }
            assert_int_equal(allot_working_common(r, x, y), common);
            assert_int_equal(allot_working_union(r, (uint32_t[]){x, y}, 2), together);
        }
    rt_close(&k);
}

static double
real(const json_t *o, const char *key)
{
    assert_non_null(json_object_get(o, key));
    return json_number_value(json_object_get(o, key));
}

static void
near(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * want);
}

/* Overlap and contention ratio, against sets of lines made here: 15 SMs, so steps of 15 and
 * of 5 blocks at one block an SM, one step above. */
static void
figures_of_a_launch(void **state)
{
    enum { SMS = 15 };
    struct rt_kit k;
    uint64_t buf[3];
    const struct allot_result *r = launch(&k, true, buf);
    const struct working_want by_machine = {.cps = -1}, own = {"awss", 0.25};
    json_t *o = rt_working_json(r, k.m, &by_machine, k.d);
    assert_non_null(o);
    static uint8_t set[BLOCKS][256];
    for (unsigned b = 0; b < BLOCKS; b++) {
        for (unsigned i = 0; i < 256; i++)
            set[b][(192 * b + i) / 128] = 1;
        for (unsigned i = 0; i < 16; i++)
            set[b][100 + (112 * b + i) / 128] = 1;
        set[b][200 + b] = 1;
    }
    double common = 0, lines = 0, sum = 0, together[3] = {0}; /* first 15, last 5, all */
    for (unsigned i = 0; i < 256; i++) {
        bool seen[3] = {0};
        for (unsigned b = 0; b < BLOCKS; b++) {
            sum += set[b][i];
            seen[b / SMS] |= set[b][i];
            seen[2] |= set[b][i];
            if (b + 2 < BLOCKS) {
                common += set[b][i] & set[b + 2][i];
                lines += set[b][i];
            }
        }
        for (int s = 0; s < 3; s++)
            together[s] += seen[s];
    }
    const double capacity = real(o, "capacity_lines");
    assert_true(capacity == (double)allot_machine_l2_bytes(k.m) / 128);
    assert_true(real(o, "sum") == sum && real(o, "distinct") == together[2]);
    assert_true(json_array_size(json_object_get(o, "lines")) == BLOCKS);
    const json_t *two = json_array_get(json_object_get(o, "overlap"), 1);
    assert_true(real(two, "distance") == 2);
    near(real(two, "common"), common / lines);
    const json_t *one = json_array_get(json_object_get(o, "contention"), 0);
    const json_t *all = json_array_get(json_object_get(o, "contention"), 1);
    assert_true(real(one, "tlp") == SMS && real(all, "tlp") == 2 * SMS);
    near(real(one, "contention"), sum / 2 / capacity);
    near(real(one, "contention_distinct"), (together[0] + together[1]) / 2 / capacity);
    near(real(all, "contention"), sum / capacity);
    near(real(all, "contention_distinct"), together[2] / capacity);
    assert_null(json_object_get(o, "schedule"));
    json_decref(o);
    o = rt_working_json(r, k.m, &own, k.d);
    char *text = allot_working_schedule(r, k.m, "awss", SMS * 8, 0.25, k.d);
    assert_true(real(o, "cps") == 0.25);
    assert_string_equal(json_string_value(json_object_get(o, "schedule")), text);
    free(text);
    json_decref(o);
    rt_close(&k);
}

/* Without the option, and with timing, there are none; methods that there are not are
 * refused with those that there are. */
static void
what_is_not_there_is_said(void **state)
{
    struct rt_kit k;
    struct allot_working_set w;
    uint64_t buf[3];
    const struct allot_result *r = launch(&k, false, buf);
    assert_false(allot_result_working_set(r, &w));
    assert_null(allot_working_schedule(r, k.m, "awss", 120, 0.1, k.d));
    rt_told(&k, "no working sets");
    const struct working_want want = {.cps = -1};
    assert_null(rt_working_json(r, k.m, &want, k.d));
    rt_told(&k, "were not watched");
    assert_null(allot_working_schedule(r, k.m, "greedy", 120, 0.1, k.d));
    rt_told(&k, "awss, static or relax");
    assert_null(allot_working_schedule(r, k.m, "relax,packer=lmf", 120, 0.1, k.d));
    rt_told(&k, "packer=mxf");
    static const char *const wrong[][2] = {{"random,tlp=0", "N of tlp: 1 or more"},
                                           {"random,tlp=x", "random takes tlp=N, seed=N"},
                                           {"round-robin,seed=3", "no 'seed=3'"},
                                           {"awss,tlp=4", "no 'tlp=4'"},
                                           {"random,packer=lmf", "no 'packer=lmf'"},
                                           {"random,tlp=4,", "no ''"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(allot_working_schedule(r, k.m, wrong[i][0], 120, 0.1, k.d));
        rt_told(&k, wrong[i][1]);
    }
    rt_close(&k);
}

/* One step, with the TLP that is asked for or the greatest; a seed gives one order. */
static void
baselines_ignore_working_sets(void **state)
{
    struct rt_kit k;
    uint64_t buf[3];
    const struct allot_result *r = launch(&k, true, buf);
    static const char *const method[] = {"round-robin,tlp=121", "round-robin,tlp=3",
                                         "random,seed=1,tlp=3", "random,tlp=3,seed=1",
                                         "random,seed=2,tlp=3"};
    char *text_of[5], *at[5];
    for (size_t i = 0; i < 5; i++) {
        text_of[i] = allot_working_schedule(r, k.m, method[i], 120, 0.1, k.d);
        assert_non_null(text_of[i]);
        at[i] = strstr(text_of[i], "\nstep ");
        assert_non_null(at[i]);
    }
    assert_string_equal(at[0], "\nstep 120: 0-19\n");
    assert_string_equal(at[1], "\nstep 3: 0-19\n");
    assert_string_equal(at[2], at[3]);
    assert_string_not_equal(at[2], at[4]);
    assert_memory_equal(at[2], "\nstep 3: ", 9);
    assert_null(strstr(at[2] + 2, "step"));
    for (size_t i = 0; i < 5; i++)
        free(text_of[i]);
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_lines_of_each_block),
        cmocka_unit_test(what_blocks_have_in_common),
        cmocka_unit_test(figures_of_a_launch),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(baselines_ignore_working_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
