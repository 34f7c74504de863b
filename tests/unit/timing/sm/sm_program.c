/* sm_program.c: what a machine has no unit for is refused before the launch, with its place;
 * it runs where there is one, and without timing. */
#include "unit/kit/runtime_kit.h"

static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
    " .reg .f32 %f<5>; .reg .b32 %r<7>;\n"
    " mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
    " mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0;\n"
    " mov.b32 %r6, 0;\n"
    " mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},\n"
    "  {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n ret;\n}\n";

static bool
launch(struct rt_kit *k)
{
    const struct allot_launch l = {
        .module = k->mod, .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    return allot_launch(k->dev, &l, k->d);
}

static void
tensor_instructions_need_a_unit(void **st)
{
    const struct allot_options timed = {0};
    struct rt_kit k;
    rt_open(&k, text, &timed);
    assert_false(launch(&k));
    const char *said = allot_diag_text(k.d);
    assert_non_null(strstr(said, "this machine has no tensor cores to run mma on"));
    assert_non_null(strstr(said, "test.ptx:10:"));
    assert_non_null(strstr(said, "unit.tensor is 0"));
    assert_int_equal(allot_results(k.dev), 0);
    rt_close(&k);

    rt_open(&k, text, NULL); /* functional */
    assert_true(launch(&k));
    rt_close(&k);

    rt_open(&k, text, &timed);
    allot_device_free(k.dev);
    allot_machine_free(k.m);
    k.m = allot_machine_load("a100", k.d);
    k.dev = allot_device_new(k.m, &timed, k.d);
    if (!launch(&k))
        rt_fail(&k, "a100");
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_instructions_need_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
