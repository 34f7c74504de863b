/* vtb_ptxas.c: what the passes that merge blocks print is PTX that a card's assembler takes,
 * and says how to launch it. Kernels of 003, as nvcc compiles them. Skipped without ptxas.
 */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/skip.h"

#include "allot/allot.h"
#include "allot/workload.h"
#include "base/str.h"

static const struct {
    const char *workload, *block;
} kernels[] = {{"mv", "32"},
               {"fft", "64"},
               {"mc1", "32"},
               {"storegpu", "128"},
               {"histogram_8224", "64"},
               {"conv2_8300", "16, 8"}};
static const char *const schemes[] = {"vtb", "vtb-pipe", "vtb-named:merge=4",
                                      "co-vtb:private=2048",
                                      "co-vtb:private=1024:merge=3:turns=vtb-named"};

/* The workload's PTX with the size of its blocks. */
static struct strbuf
sized(const char *workload, const char *block)
{
    struct strbuf b = {0};
    size_t len;
    const char *text = allot_workload_ptx(workload, "nvcc", &len);
    assert_non_null(text);
    const char *body = strstr(text, "\n{");
    assert_non_null(body);
    strbuf_printf(&b, "%.*s\n.reqntid %s%s", (int)(body - text), text, block, body);
    return b;
}

static void
assembles(void **state)
{
    const char *ptxas = kit_ptxas();
    unsigned merged = 0;
    size_t len;
    (void)state;
    if (!ptxas || !allot_workload_ptx("mv", "nvcc", &len))
        SKIP_NEEDS("ptxas");
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
            struct allot_diag *d = allot_diag_new();
            struct strbuf text = sized(kernels[k].workload, kernels[k].block);
            struct allot_module *m = allot_module_parse("k.ptx", text.s, text.n, d);
            if (!m || !allot_module_opt(m, schemes[s], NULL, d))
                fail_msg("%s: %s", kernels[k].workload, allot_diag_text(d));
            char *out = allot_module_print(m), path[] = "/tmp/vtb-XXXXXX", cmd[400];
            const bool changed = strstr(out, "allot launch") != NULL;
            merged += changed;
            assert_true(changed == (strstr(out, "// Launch it with") != NULL));
            int fd = mkstemp(path);
            assert_true(fd >= 0 && write(fd, out, strlen(out)) == (ssize_t)strlen(out));
            close(fd);
            snprintf(cmd, sizeof cmd, "%s -arch=sm_75 -O0 -o /dev/null %s 2>&1", ptxas,
                     path);
            if (changed && system(cmd))
                fail_msg("%s -p %s", kernels[k].workload, schemes[s]);
            unlink(path);
            free(out);
            allot_module_free(m);
            allot_diag_free(d);
            strbuf_free(&text);
        }
    assert_true(merged >= 28);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(assembles)};
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
