/* transform.c: passes as allot opt runs them, and what is written behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two variables: 12288 and 4096 bytes a block. */
static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n.reqntid 256, 1, 1\n{\n"
    " .shared .align 4 .b8 a[12288];\n .shared .align 4 .b8 b[4096];\n"
    " .reg .b32 %r<3>;\n .reg .b64 %rd<2>;\n"
    " mov.u32 %r1, %tid.x;\n st.shared.u32 [a], %r1;\n st.shared.u32 [b], %r1;\n"
    " ld.shared.u32 %r2, [a+4];\n ld.param.u64 %rd1, [p];\n"
    " st.global.u32 [%rd1], %r2;\n ret;\n}\n";

struct kit {
    struct allot_diag *d;
    struct allot_machine *m;
    struct allot_module *mod;
    char *report;
};

static bool
begin(struct kit *k, const char *passes, bool strip, const char *threshold)
{
    *k = (struct kit){.d = allot_diag_new()};
    k->m = allot_machine_load("000-table2", k->d);
    assert_non_null(k->m);
    assert_true(allot_machine_set(k->m, "residency.threshold", threshold, k->d));
    k->mod = allot_module_parse("k.ptx", text, strlen(text), k->d);
    const struct transform t = {.passes = passes, .strip = strip, .threads = 256};
    return transform_passes(&t, k->mod, k->m, NULL, &k->report, k->d);
}

static void
end(struct kit *k)
{
    free(k->report);
    allot_module_free(k->mod);
    allot_machine_free(k->m);
    allot_diag_free(k->d);
}

/* The PTX behind the passes. */
static char *
ptx(struct kit *k)
{
    return allot_module_print(k->mod);
}

/* The machine's threshold is the passes': it decides what of the variables is private. */
static void
passes_are_told_the_threshold(void **st)
{
    struct kit k;
    char *some[2];
    assert_true(begin(&k, "scratchpad-layout,relssp", false, "0.1"));
    some[0] = xstrdup(k.report);
    end(&k);
    assert_true(begin(&k, "scratchpad-layout,relssp", false, "0.9"));
    some[1] = xstrdup(k.report);
    end(&k);
    assert_string_not_equal(some[0], some[1]);
    free(some[0]);
    free(some[1]);
    assert_false(begin(&k, "nothing-such", false, "0.1"));
    assert_true(*allot_diag_text(k.d));
    end(&k);
}

static void
invented_instructions_are_taken_out(void **st)
{
    struct kit k;
    char *s;
    assert_true(begin(&k, "scratchpad-layout,relssp", false, "0.1"));
    assert_non_null(strstr(s = ptx(&k), "relssp"));
    free(s);
    end(&k);
    assert_true(begin(&k, "scratchpad-layout,relssp", true, "0.1"));
    assert_null(strstr(s = ptx(&k), "relssp"));
    free(s);
    end(&k);
}

static void
both_outputs(void **st)
{
    struct kit k;
    struct diag_sink diag = {0};
    char *s = NULL;
    size_t n = 0;
    assert_true(begin(&k, "", false, "0.1"));
    FILE *f = open_memstream(&s, &n);
    assert_true(transform_write(k.mod, "-", "-", f, &diag, k.d));
    fclose(f);
    assert_non_null(strstr(s, ".entry k"));
    assert_non_null(strstr(s, "digraph"));
    assert_true(strstr(s, "digraph") > strstr(s, ".entry k"));
    free(s);
    assert_true(transform_write(k.mod, NULL, NULL, stdout, &diag, k.d));
    assert_false(transform_write(k.mod, NULL, "/nonexistent/x", stdout, &diag, k.d));
    assert_int_equal(diag.errors, 1);
    diag_free(&diag);
    end(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_told_the_threshold),
        cmocka_unit_test(invented_instructions_are_taken_out),
        cmocka_unit_test(both_outputs),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
