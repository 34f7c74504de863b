/* pass_facts.c: what a pass is given is what holds of the code as it is. A pipeline gives the same
 * code as its passes run one by one, each with facts of its own: so for every pass that keeps
 * some facts, between two that need facts, over the kernels of the golden tests. */
#include "unit/kit/ptx_kit.h"

#include "base/str.h"
#include "passes/pass.h"

#include <glob.h>

static char *
printed(const struct ptx_module *m)
{
    struct strbuf b = {0};
    ptx_print(m, &b);
    return strbuf_take(&b);
}

static bool
run(struct ptx_module *m, const char *passes)
{
    struct diag_sink diag = {0};
    const bool ok = pass_run(m, passes, NULL, NULL, &diag);
    diag_free(&diag);
    return ok;
}

static void
pipelines_are_their_passes(void **state)
{
    (void)state;
    static const char *const first[] = {"guard-selects", "hoist"};
    static const char *const last[] = {"power-states", "schedule"};
    static const char *const keeper[] = {"copy-propagation", "common-subexpressions",
                                         "address-fold",     "multiply-add",
                                         "repeated-loads",   "dead-code"};
    glob_t files;
    assert_int_equal(
        glob(SOURCE_DIR "/tests/golden/passes/[cghrs]*.ptx", 0, NULL, &files), 0);
    unsigned n = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t length;
        char *text = file_read(files.gl_pathv[i], &length);
        for (size_t u = 0; u < 4; u++)
            for (size_t k = 0; k < sizeof keeper / sizeof *keeper; k++) {
                const char *steps[] = {first[u / 2], keeper[k], last[u % 2]};
                struct ptx_module *whole = kit_parse(text), *each = kit_parse(text);
                struct strbuf passes = {0};
                strbuf_printf(&passes, "%s,%s,%s", steps[0], steps[1], steps[2]);
                if (run(whole, passes.s) && run(each, steps[0]) && run(each, steps[1]) &&
                    run(each, steps[2])) {
                    char *a = printed(whole), *b = printed(each);
                    if (strcmp(a, b) != 0)
                        fail_msg("%s, %s:\n%s\nand\n%s", files.gl_pathv[i], passes.s, a,
                                 b);
                    free(a);
                    free(b);
                    n++;
                }
                strbuf_free(&passes);
                ptx_module_free(whole);
                ptx_module_free(each);
            }
        free(text);
    }
    globfree(&files);
    assert_true(n > 200);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_are_their_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
