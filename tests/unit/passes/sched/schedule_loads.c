/* schedule_loads.c: when loads start, when they could, and what keeps them: cases computed by
 * hand. Latencies: global memory 500 cycles, parameters 1, everything else 4. */
#include "unit/kit/ptx_kit.h"

#include "passes/sched/schedule.h"

struct facts {
    struct ptx_module *m;
    struct schedule_loads loads;
};

static struct facts
look(const char *text, const char *registers, enum schedule_when when)
{
    const struct pass_key given[] = {
        {.key = "latencies", .value = "global=500+local=500+shared=25+const=1"},
        {.key = "registers", .value = registers},
        {0}};
    const struct pass_args a = {.pass = &pass_schedule, .given = given};
    struct diag_sink diag = {0};
    struct facts f = {.m = kit_parse(text)};
    assert_true(schedule_loads(ptx_find_func(f.m, "k"), &a, when, &f.loads, &diag));
    diag_free(&diag);
    return f;
}

static void
done(struct facts *f)
{
    vec_free(&f->loads.load);
    ptx_module_free(f->m);
}

/* The load of that line. */
static const struct schedule_load *
at(const struct facts *f, uint32_t line)
{
    for (size_t i = 0; i < f->loads.load.n; i++)
        if (f->loads.load.v[i].line == line)
            return &f->loads.load.v[i];
    fail_msg("no load in line %u", line);
    return NULL;
}

static const char three[] = KERNEL("ld.param.u64 %rd1, [p];\n" /* line 14, cycle 0 */
                                   "ld.global.f32 %f1, [%rd1];\n"
                                   "add.f32 %f2, %f1, %f1;\n"
                                   "ld.global.f32 %f3, [%rd1+4];\n"
                                   "add.f32 %f4, %f3, %f2;\n"
                                   "ld.global.f32 %f5, [%rd1+8];\n"
                                   "add.f32 %f6, %f5, %f4;\n"
                                   "st.global.f32 [%rd1+12], %f6;\n"
                                   "ret;");

/* Issued in cycles 1, 501, 502, 1002, 1003, 1503: each addition waits 499 cycles, and the
 * loads after could have started in cycle 1. */
static void
order_of_the_source(void **state)
{
    struct facts f = look(three, "none", SCHEDULE_NOT);
    assert_int_equal(f.loads.load.n, 3);
    assert_false(f.loads.ordered);
    for (uint32_t i = 0; i < 3; i++) {
        const struct schedule_load *l = at(&f, 15 + 2 * i);
        assert_int_equal(l->wait, 499);
        assert_int_equal(l->to_use, 1);
        assert_int_equal(l->late, 499 * i);
        assert_int_equal(l->why_late, i ? SCHEDULE_ORDER : SCHEDULE_NOT_LATE);
        assert_int_equal(l->bound, SCHEDULE_KERNEL);
    }
    done(&f);
}

/* Loads in cycles 1, 2, 3; the first addition waits from 4 to 501, the others for it. */
static void
loads_first(void **state)
{
    struct facts f = look(three, "none", SCHEDULE_NOW);
    assert_true(f.loads.ordered);
    assert_int_equal(at(&f, 15)->wait, 497);
    assert_int_equal(at(&f, 15)->to_use, 3);
    assert_int_equal(at(&f, 17)->wait, 0);
    assert_int_equal(at(&f, 19)->wait, 0);
    for (uint32_t line = 15; line < 20; line += 2)
        assert_int_equal(at(&f, line)->late, 0);
    done(&f);
}

/* Two of the address and two values may live: the third load goes after the second
 * addition (cycle 505), after 498 cycles of waiting for the first load and 3 for the first
 * addition. */
static void
too_few_registers(void **state)
{
    struct facts f = look(three, "4", SCHEDULE_NOW);
    assert_int_equal(at(&f, 15)->wait, 498);
    assert_int_equal(at(&f, 17)->late, 0);
    assert_int_equal(at(&f, 19)->late, 501);
    assert_int_equal(at(&f, 19)->why_late, SCHEDULE_PRESSURE);
    done(&f);
}

/* Code that was ordered before stays as it is; nobody says that the pass would move a load. */
static void
ordered_before(void **state)
{
    struct facts f = look(three, "none", SCHEDULE_BEFORE);
    assert_true(f.loads.ordered);
    assert_int_equal(at(&f, 17)->to_use, 1);
    assert_int_equal(at(&f, 17)->late, 499);
    assert_int_equal(at(&f, 17)->why_late, SCHEDULE_NO_GAIN);
    done(&f);
}

static void
bounds(void **state)
{
    static const char text[] = KERNEL(
        "ld.param.u64 %rd1, [p];\n" /* line 14 */
        "st.global.f32 [%rd1], %f1;\n"
        "ld.global.f32 %f2, [%rd2];\n" /* 16: other base, so perhaps the same bytes */
        "bar.sync 0;\n"
        "ld.global.u64 %rd3, [%rd1+8];\n" /* 18 */
        "add.s64 %rd4, %rd3, 4;\n"
        "ld.global.f32 %f4, [%rd4];\n" /* 20 */
        "mov.u32 %r1, %clock;\n"
        "ld.global.f32 %f5, [%rd1+16];\n" /* 22 */
        "@%p1 bra L;\n"
        "ld.global.f32 %f6, [%rd1+20];\n" /* 24 */
        "L:\n"
        "st.global.f32 [%rd1+24], %f1;\n"
        "ld.global.f32 %f7, [%rd1+28];\n" /* 27: the store is beside it */
        "ld.shared.f32 %f3, [sm];\n"      /* 28: another memory */
        "ret;");
    static const struct {
        uint32_t line, bound, of;
    } want[] = {{16, SCHEDULE_MEMORY, 15}, {18, SCHEDULE_FENCE, 17},
                {20, SCHEDULE_LOADED, 18}, {22, SCHEDULE_STAYS, 21},
                {24, SCHEDULE_BLOCK, 24},  {27, SCHEDULE_BLOCK, 25},
                {28, SCHEDULE_BLOCK, 25}};
    struct facts f = look(text, "none", SCHEDULE_NOT);
    assert_int_equal(f.loads.load.n, sizeof want / sizeof *want);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct schedule_load *l = at(&f, want[i].line);
        if (l->bound != want[i].bound || l->bound_line != want[i].of)
            fail_msg("line %u: bound %u by line %u, not %u by %u", l->line, l->bound,
                     l->bound_line, want[i].bound, want[i].of);
    }
    done(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_the_source),
        cmocka_unit_test(loads_first),
        cmocka_unit_test(too_few_registers),
        cmocka_unit_test(ordered_before),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
