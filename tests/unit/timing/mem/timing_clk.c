/* Clock domains: exact for any ratio and any length; ticks left out are accounted for. */
#include "timing/engine/memsys.h"
#include "timing/mem/clk.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

/* 700 : 924 = 25 : 33. Tick n of the DRAM is at n / 924, tick c of the core at c / 700
 * us. */
static void
odd_ratio(void **state)
{
    (void)state;
    struct clk k;
    clk_init(&k, (const double[]){700, 700, 700, 924});
    for (uint64_t n = 0; n < 20000; n++) {
        /* first core cycle at or after DRAM tick n, by counting up */
        uint64_t c = n * 700 / 924;
        c = c > 2 ? c - 2 : 0;
        while (c * 924 < n * 700)
            c++;
        assert_int_equal(clk_at_or_after(&k, CLK_DRAM, n, CLK_CORE), c);
        while (c * 924 <= n * 700)
            c++;
        assert_int_equal(clk_after(&k, CLK_DRAM, n, CLK_CORE), c);
        assert_int_equal(clk_at_or_after(&k, CLK_CORE, n, CLK_ICNT), n);
        assert_int_equal(clk_after(&k, CLK_CORE, n, CLK_L2), n + 1);
    }
}

/* Periods: equal times are equal integers after any number of cycles. */
static void
no_drift(void **state)
{
    (void)state;
    struct clk k;
    clk_init(&k, (const double[]){1417.5, 650.123, 1132, 924});
    for (uint64_t n = 1; n < (uint64_t)1 << 40; n = n * 3 + 1) {
        /* n seconds: whole numbers of ticks in each domain */
        clk_time t = (clk_time)n * 1417500000 * k.period[CLK_CORE];
        assert_true(t == (clk_time)n * 650123000 * k.period[CLK_ICNT]);
        assert_true(t == (clk_time)n * 924000000 * k.period[CLK_DRAM]);
        if (n < (uint64_t)1 << 32) {
            assert_int_equal(clk_at_or_after(&k, CLK_CORE, n * 1417500, CLK_DRAM),
                             n * 924000);
            assert_int_equal(clk_at_or_after(&k, CLK_CORE, n * 1417500 + 1, CLK_ICNT),
                             n * 650123 + 1);
        }
    }
}

/* DRAM clocks of a launch = ticks in the half-open span of its core cycles, stepped or
 * not. */
static void
ticks_of_a_launch(void **state)
{
    (void)state;
    struct diag_sink d = {0};
    struct machine *m = machine_load("gtx480", &d);
    struct memsys_facts facts;
    struct memsys *ms = memsys_new(m, &facts, &d);
    assert_non_null(ms);
    for (uint64_t now = 0; now <= 1000; now++)
        memsys_step(ms, now);
    memsys_begin(ms, false, false);
    memsys_step(ms, 700001000); /* nothing under way: one leap */
    struct launch_stats s = {0};
    memsys_stats(ms, &s);
    /* ticks n with 1000/700 < n/924 <= 700001000/700, on six channels */
    uint64_t before = 1000ull * 924 / 700, until = 700001000ull * 924 / 700;
    assert_int_equal(s.mem.dram_cycles, 6 * (until - before));
    assert_true(memory_idle(facts.memory));
    assert_true(memsys_next_event(ms) == NEVER);
    memsys_free(ms);
    machine_free(m);
    diag_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_ratio),
        cmocka_unit_test(no_drift),
        cmocka_unit_test(ticks_of_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
