/* pass_args.c: settings of passes: the least and the greatest number of each are taken, one below
 * and one above are refused, with both bounds in the text. */
#include "unit/kit/ptx_kit.h"

#include "passes/pass.h"

static const char text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n.reqntid 32\n{\n"
    ".reg .b32 %r<4>;\n.reg .b64 %d<3>;\n.shared .align 4 .b8 s[128];\n"
    "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nst.shared.u32 [s], %r1;\n"
    "st.global.u32 [%d1], %r1;\nret;\n}\n";

/* Whether the pass refuses the number: not what the kernel makes of it. */
static bool
refuses(const char *pass, const char *key, double value, double least, double most)
{
    struct ptx_module *m = kit_parse(text);
    struct diag_sink diag = {0};
    struct strbuf step = {0}, why = {0}, want = {0};
    strbuf_printf(&step, "%s:%s=%.10g", pass, key, value);
    strbuf_printf(&want, "%s=%.10g: give a number from %g to %g", key, value, least,
                  most);
    bool found = false;
    if (!pass_run(m, step.s, NULL, NULL, &diag)) {
        diag_print(&diag, &why);
        found = strstr(why.s, want.s) != NULL;
        if (!found && strstr(why.s, "give a number"))
            fail_msg("%s: %s", step.s, why.s);
    }
    strbuf_free(&step);
    strbuf_free(&why);
    strbuf_free(&want);
    diag_free(&diag);
    ptx_module_free(m);
    return found;
}

static void
bounds_of_settings(void **state)
{
    (void)state;
    static const struct {
        const char *pass, *key;
        double least, most;
    } rows[] = {
        {"late-stores", "max-registers", 1, 1024},
        {"register-allocate", "max-registers", 1, 1024},
        {"register-allocate", "sm-registers", 1024, 1 << 20},
        {"register-allocate", "sm-warps", 1, 1024},
        {"register-allocate", "banks", 0, 64},
        {"register-allocate", "reserved", 0, 16},
        {"unified-alloc", "max-registers", 1, 1024},
        {"unified-alloc", "sm-registers", 1024, 1 << 20},
        {"unified-alloc", "sm-warps", 1, 1024},
        {"unified-alloc", "banks", 0, 64},
        {"unified-alloc", "reserved", 0, 16},
        {"unified-alloc", "max-threads", 1, 65536},
        {"unified-alloc", "threads", 0, 65536},
        {"unified-alloc", "share", 0, 1},
        {"merge-blocks", "max-threads", 1, 65536},
        {"power-states", "window", 1, 254},
        {"peel-loops", "most", 1, 1e6},
        {"relssp", "threshold", 0, 1},
        {"relssp", "dynamic", 0, 16 << 20},
        {"scratchpad-layout", "threshold", 0, 1},
        {"scratchpad-layout", "trips", 1, 1 << 20},
        {"multiplex-hw", "most", 0, 1},
        {"multiplex-hw", "dynamic", 0, 16 << 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double least = rows[i].least, most = rows[i].most;
        const double values[] = {least - 1, least, most, most + 1};
        for (int k = 0; k < 4; k++)
            if (refuses(rows[i].pass, rows[i].key, values[k], least, most) !=
                (k == 0 || k == 3))
                fail_msg("%s:%s=%g", rows[i].pass, rows[i].key, values[k]);
    }
}

/* schedule:latencies=CLASS=CYCLES+... */
static void
latencies_by_class(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool takes;
    } rows[] = {{"global=0", true},
                {"global=100000", true},
                {"global=5+shared=7", true},
                {"global=-1", false},
                {"global=100001", false},
                {"global=", false},
                {"global", false},
                {"globe=5", false},
                {"global=5x", false},
                {"global=5+shared=-7", false},
                {"=5", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ptx_module *m = kit_parse(text);
        struct diag_sink diag = {0};
        struct strbuf step = {0};
        strbuf_printf(&step, "schedule:latencies=%s", rows[i].value);
        const bool ok = pass_run(m, step.s, NULL, NULL, &diag);
        if (ok != rows[i].takes)
            fail_msg("%s: %s", step.s, ok ? "taken" : "refused");
        strbuf_free(&step);
        diag_free(&diag);
        ptx_module_free(m);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_settings),
        cmocka_unit_test(latencies_by_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
