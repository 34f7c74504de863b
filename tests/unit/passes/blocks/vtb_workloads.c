/* vtb_workloads.c: merging blocks that take turns with one scratchpad changes no
 * workload's memory. Every workload runs as it is and under every scheme, in the launches
 * of its program, functionally (vtb_random simulates them, too), and none reads what another
 * virtual block wrote. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

/* Hash of all buffers after the run; *merged: launches whose blocks were merged. */
static uint64_t
run(const struct allot_workload *w, const char *compiler, const char *passes,
    unsigned *merged)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    const struct allot_options options = {.functional = true, .check_analyses = true};
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
    for (size_t k = 0; k < allot_results(dev); k++) {
        uint32_t g[3], b[3], dynamic;
        allot_result_shape(allot_result_at(dev, k), g, b, &dynamic);
        *merged += b[2] > 1;
    }
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return hash;
}

static const char *const schemes[] = {
    "vtb:gain=0",
    "vtb-pipe:gain=0",
    "vtb-named:gain=0",
    "vtb:merge=3:gap=0:gain=0",
    "vtb-pipe:merge=4:gap=0:gain=0",
    "vtb-named:merge=5:gap=0:gain=0",
    "peel-loops,late-stores,vtb-pipe:gain=0",
    "co-vtb:gain=0",
    "co-vtb:gain=0:turns=vtb-named:merge=3",
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

static void
same_memory(void **state)
{
    static const char *const compilers[] = {"clang", "nvcc"};
    unsigned merged[SCHEMES] = {0};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            const struct allot_workload *w = allot_workloads[i];
            size_t len;
            unsigned none = 0;
            if (!in_sample(i, 4) || !allot_workload_ptx(w->name, compilers[c], &len))
                continue;
            uint64_t plain = run(w, compilers[c], "", &none);
            for (size_t p = 0; p < SCHEMES; p++) {
                unsigned n = 0;
                if (run(w, compilers[c], schemes[p], &n) != plain)
                    fail_msg("%s (%s): %s changed its memory", w->name, compilers[c],
                             schemes[p]);
                merged[p] += n > 0;
            }
        }
    for (size_t p = 0; p < SCHEMES; p++)
        if (merged[p] < (SANITIZED ? 2 : 5))
            fail_msg("%s: only %u workloads are merged", schemes[p], merged[p]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
