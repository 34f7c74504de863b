/* multiplex_workloads.c: scratchalloc and scratchfree change no workload's memory. Every
 * workload runs as it is and under every scheme, in the launches of its program:
 * functionally, where every access is held against what the block holds and what is
 * allocated holds nothing of what was in it, and simulated under residency multiplexing. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

static const char *const schemes[] = {
    "multiplex-hw",
    "co-multiplex-hw:gap=0",
    "peel-loops,late-stores,multiplex-hw:gap=0",
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Hash of all buffers after the run; *allocations: of scratchpad, where it is simulated. */
static uint64_t
run(const struct allot_workload *w, const char *compiler, const char *passes,
    bool functional, uint64_t *allocations)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("003-gtx480-16k", d);
    const struct allot_options options = {
        .functional = functional, .check_analyses = functional, .max_cycles = 50000000};
    assert_non_null(m);
    assert_non_null(machine);
    if (functional)
        assert_true(allot_machine_set(machine, "compiler.registers", "virtual", d));
    assert_true(allot_machine_set(machine, "compiler.passes", passes, d));
    assert_true(allot_machine_set(machine, "residency.policy", "multiplexing", d));
    /* some need more than this machine has */
    assert_true(allot_machine_set(machine, "sm.max_block_scratchpad", "49152", d));
    assert_true(allot_machine_set(machine, "sm.scratchpad", "49152", d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    char check[256] = "";
    spy_begin();
    if (!dev || !allot_workload_run(w, dev, m, true, 1, check, d))
        fail_msg("%s %s -p %s: %s %s", w->name, compiler, passes, check,
                 allot_diag_text(d));
    uint64_t hash = spy_end(dev);
    for (size_t k = 0; k < allot_results(dev) && !functional; k++) {
        uint64_t n = 0;
        assert_true(
            allot_result_get(allot_result_at(dev, k), "multiplex_allocations", &n, NULL));
        *allocations += n;
    }
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return hash;
}

static void
same_memory(void **state)
{
    static const char *const compilers[] = {"clang", "nvcc"};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            const struct allot_workload *w = allot_workloads[i];
            size_t len;
            if (!in_sample(i, 2) || !allot_workload_ptx(w->name, compilers[c], &len))
                continue;
            uint64_t plain = run(w, compilers[c], "", true, NULL);
            for (size_t p = 0; p < SCHEMES; p++)
                if (run(w, compilers[c], schemes[p], true, NULL) != plain)
                    fail_msg("%s (%s): %s changed its memory", w->name, compilers[c],
                             schemes[p]);
        }
}

static void
same_memory_simulated(void **state)
{
    unsigned allocating[SCHEMES] = {0};
    (void)state;
    for (size_t i = 0; allot_workloads[i]; i++) {
        const struct allot_workload *w = allot_workloads[i];
        size_t len;
        if (!in_sample(i, 5))
            continue;
        const char *compiler =
            allot_workload_ptx(w->name, "clang", &len) ? "clang" : "nvcc";
        uint64_t none = 0, plain = run(w, compiler, "", false, &none);
        assert_int_equal(none, 0);
        for (size_t p = 0; p < SCHEMES; p++) {
            uint64_t n = 0;
            if (run(w, compiler, schemes[p], false, &n) != plain)
                fail_msg("%s: %s changed its memory, simulated", w->name, schemes[p]);
            allocating[p] += n > 0;
            if (!n && p == 0) /* then no scheme finds a place */
                break;
        }
    }
    for (size_t p = 0; p < SCHEMES; p++)
        if (allocating[p] < (SANITIZED ? 3 : 10))
            fail_msg("%s: only %u workloads allocate scratchpad", schemes[p],
                     allocating[p]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_memory),
        cmocka_unit_test(same_memory_simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
