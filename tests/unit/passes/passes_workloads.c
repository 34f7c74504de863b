/* passes_workloads.c: passes never change results. Every workload runs as it is and
 * transformed, functionally; every buffer is the same bit for bit when it is freed (or at
 * the end), and so is everything read back. */
#include "unit/kit/sanitized.h"
#include "unit/kit/workload_spy.h"

/* Hash of all buffers after the run; fails the test unless the workload's check passed.
 */
static uint64_t
run(const struct allot_workload *w, const char *compiler, const char *passes)
{
    struct allot_diag *d = allot_diag_new();
    size_t len;
    const char *text = allot_workload_ptx(w->name, compiler, &len);
    struct allot_module *m = allot_module_parse(w->name, text, len, d);
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    /* what is switched off loses its value */
    struct allot_options options = {.functional = true,
                                    .check_analyses = strstr(passes, "power-states")};
    assert_non_null(m);
    assert_non_null(machine);
    assert_true(allot_machine_set(machine, "compiler.registers", "virtual", d));
    if (!allot_module_opt(m, passes, NULL, d))
        fail_msg("%s %s -p %s: %s", w->name, compiler, passes, allot_diag_text(d));
    struct allot_device *dev = allot_device_new(machine, &options, d);
    char check[256] = "";
    spy_begin();
    if (!allot_workload_run(w, dev, m, true, 1, check, d))
        fail_msg("%s %s -p %s: %s %s", w->name, compiler, passes, check,
                 allot_diag_text(d));
    uint64_t hash = spy_end(dev);
    allot_device_free(dev);
    allot_machine_free(machine);
    allot_module_free(m);
    allot_diag_free(d);
    return hash;
}

static const char *const pipelines[] = {
    "copy-propagation",
    "constant-fold",
    "common-subexpressions",
    "address-fold",
    "narrow-addresses",
    "late-operands",
    "merge-loads",
    "repeated-loads",
    "late-products",
    "if-convert",
    "guard-selects",
    "parameter-vectors",
    "merge-scratchpad",
    "late-extensions",
    "pack-halves",
    "address-sums",
    "jumps",
    "sink",
    "hoist",
    "block-order",
    "unroll",
    "multiply-add",
    "dead-code",
    "cleanup",
    "register-allocate",
    "cleanup,register-allocate",
    "cleanup,schedule,register-allocate",
    "schedule:registers=none",
    "cleanup,unroll,constant-fold,address-fold,cleanup,schedule,register-allocate",
    "parameter-vectors,merge-scratchpad,cleanup,jumps:back=yes,unroll,block-order,"
    "jumps,address-sums,"
    "cleanup,repeated-loads,"
    "cleanup,late-products,if-convert,guard-selects,sink,hoist,merge-loads,"
    "late-extensions,schedule:operands=late:expanded=yes,late-operands,register-allocate",
    "power-states:window=1",
    "cleanup,register-allocate,power-states",
    /* spilling, ever more */
    "dead-code,register-allocate,reorder-registers",
    "dead-code,register-allocate:max-registers=24,reorder-registers",
    "dead-code,register-allocate:max-registers=16",
    "dead-code,register-allocate:max-registers=14",
};

static void
same_memory(void **state)
{
    static const char *const compilers[] = {"clang", "nvcc"};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; allot_workloads[i]; i++) {
            const struct allot_workload *w = allot_workloads[i];
            size_t len;
            if (!in_sample(i, 3) || !allot_workload_ptx(w->name, compilers[c], &len))
                continue;
            uint64_t plain = run(w, compilers[c], "");
            /* of the second compiler the long ones only, which hold the others */
            for (size_t p = c ? 6 : 0; p < sizeof pipelines / sizeof *pipelines; p++)
                if (run(w, compilers[c], pipelines[p]) != plain)
                    fail_msg("%s (%s): %s changed its memory", w->name, compilers[c],
                             pipelines[p]);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
