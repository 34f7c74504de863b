/* exec_turns.c: a virtual block that loses its data to another one is found, by code that
 * takes no turns but says that it has virtual blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "allot/allot.h"

#include <string.h>

/* Two virtual blocks of 32 threads. `body` has %r1: the virtual block; %r2: 4 %tid.x. */
#define KERNEL(body)                                                                     \
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n"               \
    ".pragma \"allot virtual 1\";\n{\n.reg .pred %p1;\n.reg .b32 %r<9>;\n"               \
    ".shared .align 4 .b8 s[128];\nmov.u32 %r1, %tid.z;\nmov.u32 %r2, %tid.x;\n"         \
    "mov.u32 %r3, s;\nmad.lo.u32 %r2, %r2, 4, %r3;\nsetp.eq.u32 %p1, %r1, 0;\n" body     \
    "ret;\n}\n"

static void
expect(const char *text, const char *want)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *machine = allot_machine_load("gtx480", d);
    const struct allot_options o = {.functional = true, .check_analyses = true};
    /* as it is: nothing here uses what is read */
    assert_true(allot_machine_set(machine, "compiler.registers", "virtual", d));
    struct allot_module *m = allot_module_parse("t.ptx", text, strlen(text), d);
    struct allot_device *dev = m ? allot_device_new(machine, &o, d) : NULL;
    struct allot_launch l = {
        .module = m, .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 2}};
    bool ok = dev && allot_launch(dev, &l, d);
    const char *got = allot_diag_text(d);
    if (ok != !want || (want && !strstr(got, want)))
        fail_msg("%s: \"%s\":\n%s", ok ? "runs" : "fails", got, text);
    allot_device_free(dev);
    allot_module_free(m);
    allot_machine_free(machine);
    allot_diag_free(d);
}

static void
lost_data(void **state)
{
    (void)state;
    expect(KERNEL("st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\n"),
           "finds it overwritten by virtual block 1");
    /* an atomic reads, too */
    expect(KERNEL("st.shared.u32 [%r2], %r1;\nbar.sync 0;\n"
                  "@%p1 atom.shared.add.u32 %r4, [%r2], 1;\n"),
           "finds it overwritten by virtual block 1");
}

static void
turns_taken(void **state)
{
    (void)state;
    expect(KERNEL("@%p1 st.shared.u32 [%r2], %r1;\n@%p1 ld.shared.u32 %r4, [%r2];\n"
                  "bar.sync 0;\n@!%p1 st.shared.u32 [%r2], %r1;\n"
                  "@!%p1 ld.shared.u32 %r4, [%r2];\n"),
           NULL);
    /* what it never wrote is anything */
    expect(KERNEL("@%p1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\n"
                  "@!%p1 ld.shared.u32 %r4, [%r2];\n"),
           NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_data),
        cmocka_unit_test(turns_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
