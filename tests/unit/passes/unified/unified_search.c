/* unified_search.c: Figure 5 of 002 over tables of levels, one way through it each, and
 * the dispatch interval of Figure 4. */
#include "unit/kit/ptx_kit.h"

#include "passes/unified/unified_alloc_int.h"

enum { LEVELS = 6 };

static uint64_t own;   /* off-chip instructions left out */
static bool least_fit; /* least=fit */

/* Levels of 4 to 9 blocks of 64 threads; compute instructions and off-chip ones, and
 * spills to local memory, by level. */
static uint32_t
search(double interval, uint32_t cores, const uint32_t compute[LEVELS],
       const uint32_t offchip[LEVELS], const uint32_t to_local[LEVELS], char **said)
{
    struct us_level level[LEVELS] = {{0}};
    struct strbuf b = {0};
    for (uint32_t i = 0; i < LEVELS; i++)
        level[i] = (struct us_level){.blocks = 4 + i,
                                     .limit = 40 - 4 * i,
                                     .fits = compute[i] > 0,
                                     .to_local = to_local[i],
                                     .count = {compute[i], offchip[i], 0}};
    struct us_search s = {.level = level,
                          .n = LEVELS,
                          .block_threads = 64,
                          .cores = cores,
                          .interval = interval,
                          .most_ratio = 200,
                          .least_fit = least_fit,
                          .own_memory = own};
    uint32_t best = us_search(&s, &b);
    if (said)
        *said = strbuf_take(&b);
    strbuf_free(&b);
    return level[best].blocks;
}

/* 4 cycles * 100 compute / 1 off-chip = 400 > 200; of 2 and more off-chip not. */
static const uint32_t hundred[LEVELS] = {101, 101, 101, 101, 101, 101};
static const uint32_t none[LEVELS] = {0};

static void
not_bound(void **state)
{
    char *said;
    (void)state;
    assert_int_equal(search(1, 100, hundred, (uint32_t[]){1, 1, 1, 1, 1, 1}, none, &said),
                     4);
    assert_non_null(strstr(said, "not concurrency-bound"));
    free(said);
}

/* 4 * 96 = 384 threads = 6 blocks: up from there to the highest that is beneficial. */
static void
up(void **state)
{
    char *said;
    (void)state;
    assert_int_equal(search(4, 96, hundred, (uint32_t[]){1, 1, 2, 2, 3, 3}, none, &said),
                     7);
    assert_non_null(strstr(said, "start: 4.00 * 96 cores = 384 threads, 6 blocks; "
                                 "originally 4; without spills to local memory up to 9"));
    assert_non_null(strstr(said,
                           "  7 blocks, 448 threads: 0 registers, 0 spilled to "
                           "scratchpad, 0 to local memory; CI_pred 101 * 4.00 / 2 = "
                           "202.0 > 200.0\n"));
    assert_non_null(strstr(said, "/ 3 = 134.7, not above 200.0\n"));
    assert_non_null(strstr(said, "chosen: 7 blocks, 28 registers\n"));
    free(said);
    /* "the largest concurrency level which is beneficial", past one that is not */
    assert_int_equal(search(4, 96, hundred, (uint32_t[]){1, 1, 2, 3, 3, 2}, none, NULL),
                     9);
    /* no off-chip instruction at all */
    assert_int_equal(search(4, 96, hundred, none, none, NULL), 9);
    /* a level whose registers do not do is never taken */
    assert_int_equal(search(4, 96, (uint32_t[]){101, 101, 101, 101, 101, 0},
                            (uint32_t[]){1, 1, 1, 1, 1, 0}, none, NULL),
                     8);
}

/* Down to the first that is beneficial, or to the last without spills to local memory. */
static void
down(void **state)
{
    static const uint32_t local[LEVELS] = {0, 0, 1, 2, 3, 4};
    (void)state;
    assert_int_equal(search(4, 140, hundred, (uint32_t[]){1, 1, 2, 3, 3, 3}, local, NULL),
                     6);
    assert_int_equal(search(4, 140, hundred, (uint32_t[]){3, 3, 3, 3, 3, 3}, local, NULL),
                     5);
}

/* Not beneficial at a start below SmemFitTnum: the original number; with least=fit the most
 * blocks without spills to local memory, as from a start above. */
static void
original(void **state)
{
    static const uint32_t three[LEVELS] = {3, 3, 3, 3, 3, 3};
    static const uint32_t local[LEVELS] = {0, 0, 0, 0, 2, 3};
    char *said;
    (void)state;
    assert_int_equal(search(4, 96, hundred, three, none, &said), 4);
    assert_non_null(strstr(said, "chosen: 4 blocks, the original number\n"));
    free(said);
    assert_int_equal(search(4, 96, hundred, three, local, NULL), 4);
    least_fit = true;
    assert_int_equal(search(4, 96, hundred, three, local, NULL), 7);
    /* beneficial at the start: up, as before; above SmemFitTnum: down, as before */
    assert_int_equal(search(4, 96, hundred, (uint32_t[]){1, 1, 2, 3, 3, 3}, local, NULL),
                     6);
    assert_int_equal(search(4, 140, hundred, (uint32_t[]){1, 1, 1, 1, 2, 3}, local, NULL),
                     8);
    least_fit = false;
}

/* CI_pred without the program's own loads: 4 * 101 / 1 > 200, 4 * 101 / 3 is not. */
static void
own_memory(void **state)
{
    static const uint32_t offchip[LEVELS] = {10, 10, 10, 11, 11, 13};
    (void)state;
    assert_int_equal(search(4, 96, hundred, offchip, none, NULL), 4);
    own = 10;
    assert_int_equal(search(4, 96, hundred, offchip, none, NULL), 8);
    own = 0;
}

/* Figure 4: every instruction takes three cycles, one is dispatched in every cycle. */
static void
figure4(void **state)
{
    static const char *const texts[] = {
        KERNEL("add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\n"
               "add.s32 %r4, %r3, 1;\n"),
        KERNEL("add.s32 %r1, %r0, 1;\nadd.s32 %r2, %r0, 2;\nadd.s32 %r3, %r0, 3;\n"
               "add.s32 %r4, %r0, 4;\n")};
    static const double intervals[] = {3, 1}; /* scenarios A and B */
    uint32_t latency[PTX_NLATENCIES];
    (void)state;
    for (int i = 0; i < PTX_NLATENCIES; i++)
        latency[i] = 3;
    for (int i = 0; i < 2; i++) {
        struct ptx_module *m = kit_parse(texts[i]);
        struct us_count c = {0};
        us_count(m->funcs.v[0], latency, &c);
        assert_int_equal(c.compute, 4);
        assert_true(us_interval(&c) == intervals[i]);
        ptx_module_free(m);
    }
}

/* What counts as off-chip; a load's result is not waited for. */
static void
counts(void **state)
{
    uint32_t latency[PTX_NLATENCIES];
    (void)state;
    for (int i = 0; i < PTX_NLATENCIES; i++)
        latency[i] = 400;
    struct ptx_module *m =
        kit_parse(KERNEL("ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n"
                         "ld.u32 %r2, [%rd1];\natom.global.add.u32 %r3, [%rd1], 1;\n"
                         "ld.shared.u32 %r4, [sm];\nst.shared.u32 [sm], %r1;\n"
                         "st.global.u32 [%rd1], %r2;\nret;\n"));
    struct us_count c = {0};
    us_count(m->funcs.v[0], latency, &c);
    assert_int_equal(c.offchip, 4);
    assert_int_equal(c.compute, 4);
    assert_true(us_interval(&c) == 1);
    ptx_module_free(m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_bound), cmocka_unit_test(up),
        cmocka_unit_test(down),      cmocka_unit_test(original),
        cmocka_unit_test(figure4),   cmocka_unit_test(own_memory),
        cmocka_unit_test(counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
