/* ptx_roundtrip.c: every .ptx file of the tests that parses must be the same module after
 * printing and parsing, printing must be stable, and ptxas, where installed, must accept
 * what is printed whenever it accepts the original. ptxas 13 knows sm_75 and later only,
 * so older targets and versions are rewritten in the copies it gets. */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/skip.h"

#include <fts.h>

static unsigned files, assembled;

/* The text for ptxas: an old target or version becomes one that ptxas 13 has. */
static void
modernise(const char *text, struct strbuf *out, char *arch, size_t size)
{
    unsigned sm = 75;
    const char *target = strstr(text, ".target sm_");
    size_t n = target ? strspn(target + 8, "sm_0123456789abcdef") : 0;
    if (target)
        sscanf(target, ".target sm_%3u", &sm);
    if (target && sm >= 75)
        snprintf(arch, size, "%.*s", (int)n, target + 8);
    else
        snprintf(arch, size, "sm_75");
    const char *version = strstr(text, ".version ");
    unsigned major = 8, minor = 0;
    if (version)
        sscanf(version, ".version %u.%u", &major, &minor);
    if (version && target && version < target && (sm < 75 || major * 10 + minor < 63)) {
        bool newer = major * 10 + minor >= 63;
        strbuf_add(out, text, (size_t)(version - text));
        strbuf_printf(out, ".version %u.%u\n.target %s", newer ? major : 6,
                      newer ? minor : 5, arch);
        strbuf_addz(out, target + 8 + n);
    } else {
        strbuf_addz(out, text);
    }
}

static bool
accepted(const char *ptxas, const char *text, struct strbuf *out)
{
    char arch[16];
    struct strbuf modern = {0};
    modernise(text, &modern, arch, sizeof arch);
    int rc = kit_assemble(ptxas, modern.s, arch, out);
    strbuf_free(&modern);
    return rc == 0;
}

static void
one_file(const char *path, const char *ptxas)
{
    struct diag_sink diag = {0};
    char *text = file_read(path, NULL);
    assert_non_null(text);
    struct ptx_module *m = ptx_parse(path, text, strlen(text), &diag);
    /* A test of an error says so in its first lines. */
    bool wrong = strstr(text, "RUN: ! ") || strstr(text, "RUN: not ");
    diag_free(&diag);
    if (!m) {
        if (!wrong)
            fail_msg("%s does not parse", path);
        free(text);
        return;
    }
    struct strbuf printed = {0}, again = {0};
    kit_roundtrip(m, &printed);
    struct ptx_module *n = kit_parse(printed.s);
    ptx_print(n, &again);
    assert_string_equal(printed.s, again.s);
    ptx_module_free(n);
    ptx_module_free(m);
    files++;
    if (ptxas) {
        struct strbuf a = {0}, b = {0};
        if (accepted(ptxas, text, &a)) {
            assembled++;
            if (!accepted(ptxas, printed.s, &b))
                fail_msg("%s: ptxas refuses what is printed: %s", path, b.s);
        }
        strbuf_free(&a);
        strbuf_free(&b);
    }
    strbuf_free(&printed);
    strbuf_free(&again);
    free(text);
}

static void
every_file(void **state)
{
    (void)state;
    const char *ptxas = kit_ptxas();
    char *roots[] = {SOURCE_DIR "/tests", NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(fts);
    for (FTSENT *e; (e = fts_read(fts));)
        if (e->fts_info == FTS_F && e->fts_namelen > 4 &&
            !strcmp(e->fts_name + e->fts_namelen - 4, ".ptx"))
            one_file(e->fts_path, ptxas);
    fts_close(fts);
    print_message("%u files, %u of them through ptxas\n", files, assembled);
    if (!ptxas)
        SKIP_PART("ptxas");
    assert_true(files >= 15);
    assert_true(!ptxas || assembled >= 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file),
    };
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
