/* compare.c: sums over launches, and what is simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "experiments/compare.h"
#include "experiments/subject.h"

#include <stdlib.h>
#include <string.h>

static void
kernels_that_count(void **st)
{
    assert_true(compare_counts(NULL, "k") && compare_counts("", "k"));
    assert_true(compare_counts("a bc d", "bc") && compare_counts("a bc d", "a") &&
                compare_counts("a bc d", "d"));
    assert_false(compare_counts("a bc d", "b") || compare_counts("a bc d", "c") ||
                 compare_counts("abc", "bc"));
    assert_true(compare_counts("bcd bc", "bc")); /* behind a longer one */
}

static void
launches_add_up(void **st)
{
    struct compare_cell c = {0};
    json_t *l = json_loads(
        "[{\"cycles\": 100, \"warp_instructions\": 10, \"thread_instructions\": 300,"
        "  \"resident_blocks\": 3, \"shared_pairs\": 1, \"seconds\": 0.25},"
        " {\"cycles\": 50, \"warp_instructions\": 5, \"thread_instructions\": 150,"
        "  \"resident_blocks\": 2, \"shared_pairs\": 2, \"seconds\": 0.5}]",
        0, NULL);
    assert_non_null(l);
    compare_add_launches(&c, l);
    json_decref(l);
    assert_int_equal(c.cycles, 150);
    assert_int_equal(c.warp, 15);
    assert_int_equal(c.thread, 450);
    assert_true(c.ipc == 3);       /* of the sums */
    assert_int_equal(c.blocks, 3); /* the most */
    assert_int_equal(c.pairs, 2);
    assert_int_equal(c.baseline, 0);
    assert_true(c.seconds == 0.75);
    compare_add_launches(&c, NULL); /* a program without launches */
    assert_int_equal(c.cycles, 150);
}

static const char text[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                           ".visible .entry a()\n{\n ret;\n}\n"
                           ".visible .entry b(.param .u32 n)\n{\n ret;\n}\n";

/* A file's kernel from its description to its launches; the device's sums are those of the
 * kernels asked for. */
static void
a_file_is_a_subject(void **st)
{
    const char *args[] = {"7"};
    const struct launch_desc desc = {
        .kernel = "b", .grid = "2", .block = "64", .args = args, .nargs = 1};
    struct subject s = {
        .name = "t.ptx", .data = text, .len = sizeof text - 1, .desc = &desc};
    struct arena mem = {0};
    struct diag_sink diag = {0};
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    const struct allot_options o = {0};
    struct allot_device *dev = allot_device_new(m, &o, d);
    struct allot_module *mod = subject_module(&s, m, d);
    char why[256] = "left";
    assert_true(subject_ready(&s, mod, &mem, &diag));
    assert_int_equal(s.launch.block[0], 64);
    assert_true(subject_run(&s, dev, mod, why, &diag, d));
    assert_string_equal(why, "");
    assert_int_equal(allot_results(dev), 1);

    struct compare_cell all = {0}, none = {0};
    assert_true(compare_add_device(&all, dev, "a b", m, &diag));
    assert_true(compare_add_device(&none, dev, "a", m, &diag));
    assert_int_equal(all.warp, 4); /* two blocks of two warps: ret */
    assert_int_equal(all.thread, 128);
    assert_true(all.cycles > 0 && all.energy.total > 0);
    assert_int_equal(none.cycles, 0);
    struct compare_cell cell = {0};
    assert_true(compare_add_run(&cell, dev, "b", m, true, false, false, &diag));
    assert_true(cell.ran && cell.ok && cell.cycles == all.cycles);
    cell = (struct compare_cell){0}; /* a failed check ran; an interrupted run did not */
    assert_false(compare_add_run(&cell, dev, "b", m, false, false, false, &diag));
    assert_true(cell.ran && !cell.ok);
    assert_false(compare_add_run(&cell, dev, "b", m, false, false, true, &diag));
    assert_true(!cell.ran && !cell.refused);
    assert_false(compare_add_run(&cell, dev, "b", m, false, true, false, &diag));
    assert_true(!cell.ran && cell.refused);
    assert_true(none.energy.total == 0);

    const struct launch_desc wrong = {.kernel = "c", .grid = "2", .block = "64"};
    s.desc = &wrong;
    assert_false(subject_ready(&s, mod, &mem, &diag));
    assert_int_equal(diag.errors, 1);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    diag_free(&diag);
    arena_free(&mem);
}

static void
a_workload_takes_its_parameters(void **st)
{
    const char *params[] = {"nothing=1"};
    struct subject s = {.name = "vecadd",
                        .workload = allot_workload_find("vecadd"),
                        .compiler = "clang",
                        .quick = true,
                        .seed = 1,
                        .params = params,
                        .nparams = 1};
    struct diag_sink diag = {0};
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    const struct allot_options o = {.functional = true};
    struct allot_device *dev = allot_device_new(m, &o, d);
    struct allot_module *mod = subject_module(&s, m, d);
    char why[256];
    assert_false(subject_run(&s, dev, mod, why, &diag, d));
    assert_non_null(strstr(why, "nothing"));
    assert_int_equal(allot_results(dev), 0);
    s.nparams = 0;
    assert_true(subject_run(&s, dev, mod, why, &diag, d));
    s.compiler = "gcc";
    assert_null(subject_module(&s, m, d));
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_count),
        cmocka_unit_test(launches_add_up),
        cmocka_unit_test(a_file_is_a_subject),
        cmocka_unit_test(a_workload_takes_its_parameters),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
