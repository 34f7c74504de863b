/* runtime_kernel_facts.c: what a module tells of its kernels without passes, and behind them. */
#include "unit/kit/runtime_kit.h"

#include <string.h>

/* Three values, of which one is stored; passes leave that one. */
static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    ".reg .b32 %r<8>;\n.reg .b64 %d<2>;\nld.param.u64 %d1, [p];\n"
    "ld.global.u32 %r1, [%d1];\nld.global.u32 %r2, [%d1+4];\nld.global.u32 %r3, "
    "[%d1+8];\nst.global.u32 [%d1], %r1;\nadd.u32 %r4, %r1, %r2;\nadd.u32 %r4, %r4, %r3;\nret;\n}\n"
    ".visible .entry j() { ret; }\n";

static void
as_is_and_behind_passes(void **state)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("t.ptx", text, strlen(text), d);
    (void)state;
    assert_non_null(m);
    const struct allot_kernel *k = allot_module_kernel_as_is(m, 0);
    assert_string_equal(k->name, "k");
    assert_int_equal(k->live_registers, 5);
    assert_int_equal(k->registers, 5);
    assert_int_equal(k->nparams, 1);
    assert_string_equal(allot_module_kernel_as_is(m, 1)->name, "j");
    assert_null(allot_module_kernel_as_is(m, 2));
    assert_ptr_equal(allot_module_find(m, "k"), k);
    assert_int_equal(k->live_registers, 5);
    assert_int_equal(k->registers, 3);
    assert_ptr_equal(allot_module_kernel_as_is(m, 0), k); /* what is known stays */
    assert_int_equal(k->registers, 3);
    allot_module_free(m);
    allot_diag_free(d);
}

/* Loads are told of as they stand behind the clean-up, which deletes two. */
static void
loads_behind_the_clean_up(void **state)
{
    static const char *const cleanups[] = {"cleanup", "", "copy-propagation"};
    static const unsigned want[] = {1, 3, 3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct allot_diag *d = allot_diag_new();
        struct allot_module *m = allot_module_parse("t.ptx", text, strlen(text), d);
        struct allot_machine *a = allot_machine_load("gtx480", d);
        struct allot_code code;
        struct allot_load load[4];
        assert_true(m && a);
        assert_true(allot_machine_set(a, "compiler.cleanup", cleanups[i], d));
        assert_true(allot_kernel_code(m, a, "k", &code, load, 4, d));
        assert_int_equal(code.loads, want[i]);
        assert_int_equal(code.registers, want[i] == 1 ? 3 : 5);
        allot_machine_free(a);
        allot_module_free(m);
        allot_diag_free(d);
    }
}

int
main(void)
{
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_is_and_behind_passes),
                                       cmocka_unit_test(loads_behind_the_clean_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
