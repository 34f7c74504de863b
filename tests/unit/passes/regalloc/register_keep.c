/* register_keep.c: how far a spilled register is kept in a register between two uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "allot/allot.h"
#include "base/str.h"

enum { VALUES = 10 };

/* Ten values live together, of which the first is used least: with ten registers it is spilled.
 * After them there is room. Its last two uses are `distance` instructions from each other. */
static char *
kernel(unsigned distance)
{
    struct strbuf b = {0};
    strbuf_addz(&b, ".version 7.8\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                    ".reg .b32 %r<40>;\n.reg .b64 %d<4>;\n"
                    "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\n");
    for (unsigned i = 1; i <= VALUES; i++)
        strbuf_printf(&b, "ld.volatile.global.u32 %%r%u, [%%d1+%u];\n", i, 4 * i);
    strbuf_addz(&b, "mov.u32 %r30, 0;\n");
    for (unsigned round = 0; round < 5; round++)
        for (unsigned i = 2; i <= VALUES; i++)
            strbuf_printf(&b, "add.u32 %%r30, %%r30, %%r%u;\n", i);
    strbuf_addz(&b, "add.u32 %r30, %r30, %r1;\n");
    for (unsigned i = 1; i < distance; i++)
        strbuf_printf(&b, "xor.b32 %%r30, %%r30, %u;\n", i);
    strbuf_addz(&b, "add.u32 %r30, %r30, %r1;\nst.global.u32 [%d2], %r30;\nret;\n}\n");
    return strbuf_take(&b);
}

static unsigned
reloads(unsigned distance)
{
    char *text = kernel(distance);
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_parse("t", text, strlen(text), d);
    if (!m || !allot_module_opt(m, "register-allocate:max-registers=10", NULL, d))
        fail_msg("%s", allot_diag_text(d));
    char *printed = allot_module_print(m);
    unsigned n = 0;
    for (const char *p = printed; (p = strstr(p, "ld.local")); p++)
        n++;
    free(printed);
    allot_module_free(m);
    allot_diag_free(d);
    free(text);
    return n;
}

/* Loaded once for both uses if they are 128 instructions from each other, not if 129. */
static void
kept_for_128_instructions(void **state)
{
    (void)state;
    assert_int_equal(reloads(2), 1);
    assert_int_equal(reloads(127), 1);
    assert_int_equal(reloads(128), 1);
    assert_int_equal(reloads(129), 2);
    assert_int_equal(reloads(200), 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_for_128_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
