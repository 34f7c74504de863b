/* exec_workloads.c: every workload, full size, executed functionally by 1, 2, 3 and 8
 * host threads: the same memory and the same counts as by one without the account of what
 * blocks touch. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

#include "allot/allot.h"

/* Hash of memory and counts. */
static uint64_t
run(const struct allot_workload *w, unsigned threads)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, "clang", &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    struct allot_options options = {.functional = true, .threads = threads};
    assert_non_null(m);
    assert_non_null(machine);
    struct allot_device *dev = allot_device_new(machine, &options, d);
    char check[256] = "";
    spy_begin();
    if (!allot_workload_run(w, dev, m, false, 1, check, d))
        fail_msg("%s, %u threads: %s %s", w->name, threads, check, allot_diag_text(d));
    uint64_t hash = spy_end(dev);
    for (size_t i = 0; i < allot_results(dev); i++) {
        struct allot_stat_info info;
        uint64_t count;
        for (size_t k = 0; allot_stat(k, &info); k++)
            if (!info.derived &&
                allot_result_get(allot_result_at(dev, i), info.id, &count, NULL))
                hash = (hash ^ count) * 0x100000001b3u;
    }
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return hash;
}

static void
same_memory_and_counts(void **state)
{
    static const unsigned threads[] = {2, 3, 8};
    (void)state;
    for (size_t i = 0; allot_workloads[i]; i++) {
        if (!in_sample(i, 0))
            continue;
        uint64_t one = run(allot_workloads[i], 1);
        for (size_t t = SANITIZED; t < (SANITIZED ? 2 : sizeof threads / sizeof *threads);
             t++)
            if (run(allot_workloads[i], threads[t]) != one)
                fail_msg("%s: other results with %u threads", allot_workloads[i]->name,
                         threads[t]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory_and_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
