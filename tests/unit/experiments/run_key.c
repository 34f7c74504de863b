/* run_key.c: a stored result is not used any more when what it depends on has changed: the
 * key takes in the hashes of the simulator's and the workload's sources. They stand in for
 * run_model.c's here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "experiments/run.h"

#include <string.h>

static const char *version = "0.1.0+aaaaaaaaaaaa", *vecadd = "aaaaaaaaaaaa";

const char *
run_version(void)
{
    return version;
}

const char *
run_workload_id(const char *name)
{
    return strcmp(name, "vecadd") ? "bbbbbbbbbbbb" : vecadd;
}

static void
key_of(const char *workload, char key[33])
{
    struct exp_run r = {.workload = workload,
                        .machine = "gtx480",
                        .passes = "",
                        .compiler = "clang",
                        .seed = 1,
                        .quick = true};
    struct run_cache c = {0};
    struct diag_sink diag = {0};
    assert_true(run_prepare(&r, &c, &diag));
    strcpy(key, r.key);
    run_cache_free(&c);
    diag_free(&diag);
}

static void
key_takes_in_the_workloads_sources(void **state)
{
    char before[33], after[33], other[33], again[33];
    (void)state;
    key_of("vecadd", before);
    key_of("matmul", other);
    vecadd = "cccccccccccc";
    key_of("vecadd", after);
    assert_string_not_equal(after, before);
    key_of("matmul", again); /* only its own */
    assert_string_equal(again, other);
    vecadd = "aaaaaaaaaaaa";
    key_of("vecadd", again);
    assert_string_equal(again, before);
}

static void
key_takes_in_the_simulators_sources(void **state)
{
    char before[33], after[33];
    (void)state;
    key_of("vecadd", before);
    version = "0.1.0+dddddddddddd";
    key_of("vecadd", after);
    assert_string_not_equal(after, before);
    version = "0.1.0+aaaaaaaaaaaa";
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_takes_in_the_workloads_sources),
        cmocka_unit_test(key_takes_in_the_simulators_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
