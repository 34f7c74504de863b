/* runtime_result.c: what the public interface says of a result beside its counters: causes of
 * issue slots, energy, and of the library its version. */
#include "unit/kit/runtime_kit.h"

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %a;\n.reg .b32 %n;\n"
    "ld.param.u64 %a, [p];\nld.global.u32 %n, [%a];\nadd.u32 %n, %n, 1;\n"
    "st.global.u32 [%a], %n;\nret;\n}\n";

static void
test_causes_add_up_and_energy_is_the_sum_of_its_components(void **state)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("v100", d);
    struct allot_device *dev = allot_device_new(m, NULL, d);
    struct allot_module *mod = allot_module_parse("k.ptx", ptx, sizeof ptx - 1, d);
    uint64_t p = allot_alloc(dev, 4, d);
    const void *args[] = {&p};
    struct allot_launch l = {.module = mod, .kernel = "k", .args = args, .nargs = 1};
    const struct allot_result *r = allot_launch(dev, &l, d);
    assert_non_null(r);

    uint64_t slots, one, sum = 0;
    const char *id, *word, *meaning;
    size_t n = 0;
    for (; allot_issue_cause(n, &id, &word, &meaning); n++) {
        assert_true(allot_result_get(r, id, &one, NULL));
        assert_true(*word && *meaning);
        sum += one;
    }
    assert_true(allot_result_get(r, "issue_slots", &slots, NULL));
    assert_true(n > 2 && slots > 0);
    assert_int_equal(sum, slots);

    struct allot_energy_value v, none;
    double total = 0, parts = 0;
    for (size_t i = 0; allot_result_energy(r, m, i, &v); i++) {
        assert_true(allot_result_energy(NULL, m, i, &none));
        assert_string_equal(none.name, v.name);
        assert_true(none.value == 0 && *v.unit && *v.meaning);
        if (!strcmp(v.name, "energy"))
            total = v.value;
        for (const char *const *c =
                 (const char *const[]){"energy_sm", "energy_icnt", "energy_l2",
                                       "energy_dram", NULL};
             *c; c++)
            parts += strcmp(v.name, *c) ? 0 : v.value;
    }
    assert_true(total > 0);
    assert_true(parts > total * (1 - 1e-9) && parts < total * (1 + 1e-9));
    assert_true(allot_energy_calibrated(m));

    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
}

static void
test_calibration_is_that_of_the_machine(void **state)
{
    struct allot_machine *m = allot_machine_load("a100", NULL);
    assert_false(allot_energy_calibrated(m));
    allot_machine_free(m);
    assert_string_equal(allot_version(), ALLOT_VERSION);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes_add_up_and_energy_is_the_sum_of_its_components),
        cmocka_unit_test(test_calibration_is_that_of_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
