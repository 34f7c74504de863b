/* persistent_workloads.c: persistent blocks change no workload's memory, whatever the order
 * that the array holds. Every workload runs as it is and with a few blocks, functionally. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

/* Hash of all buffers after the run; *blocks: of all its launches. */
static uint64_t
run(const struct allot_workload *w, const char *compiler, const char *passes,
    uint64_t *blocks)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    const struct allot_options options = {.functional = true};
    assert_non_null(m);
    assert_non_null(machine);
    assert_true(allot_machine_set(machine, "compiler.registers", "virtual", d));
    assert_true(allot_machine_set(machine, "compiler.passes", passes, d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    char check[256] = "";
    spy_begin();
    if (!dev || !allot_workload_run(w, dev, m, true, 1, check, d))
        fail_msg("%s %s -p %s: %s %s", w->name, compiler, passes, check,
                 allot_diag_text(d));
    uint64_t hash = spy_end(dev);
    *blocks = 0;
    for (size_t k = 0; k < allot_results(dev); k++) {
        uint32_t g[3], b[3], dynamic;
        allot_result_shape(allot_result_at(dev, k), g, b, &dynamic);
        *blocks += (uint64_t)g[0] * g[1] * g[2];
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
    static const char *const schemes[] = {"persistent-blocks:tlp=1",
                                          "cleanup,persistent-blocks:tlp=5",
                                          "persistent-blocks:tlp=3:barrier=1"};
    enum { SCHEMES = sizeof schemes / sizeof *schemes };
    unsigned changed[SCHEMES] = {0}, workloads = 0;
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            const struct allot_workload *w = allot_workloads[i];
            size_t len;
            uint64_t all, some;
            if (!in_sample(i, 4) || !allot_workload_ptx(w->name, compilers[c], &len))
                continue;
            uint64_t plain = run(w, compilers[c], "", &all);
            workloads += all > 5;
            for (size_t p = 0; p < SCHEMES; p++) {
                if (run(w, compilers[c], schemes[p], &some) != plain)
                    fail_msg("%s (%s): %s changed its memory", w->name, compilers[c],
                             schemes[p]);
                changed[p] += some < all;
            }
        }
    print_message("%u workloads, of which %u, %u and %u run with fewer blocks\n",
                  workloads, changed[0], changed[1], changed[2]);
    for (size_t p = 0; p < SCHEMES; p++)
        if (2 * changed[p] < workloads)
            fail_msg("%s: only %u of %u workloads are changed", schemes[p], changed[p],
                     workloads);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
