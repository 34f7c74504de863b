/* ptx_target.c: the first target and version of PTX of each form, against what ptxas 13.0 answered
 * for sm_20 to sm_90 and PTX 2.3 to 9.0 (tests/golden/ptx/targets.txt). ptxas_forms.c asks
 * ptxas itself, where there is one. With an argument: that list, and all differences. */
#include "unit/kit/lanes_util.h"
#include "unit/kit/ptx_kit.h"

#include "base/file.h"
#include "ptx/parse.h"
#include "ptx/target.h"

static const char before[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n.func f() { ret; }\n"
    ".entry k(.param .align 16 .b8 par[64])\n{\n"
    ".reg .pred %p<72>; .reg .b16 %h<72>; .reg .b32 %r<72>; .reg .b64 %rd<72>;\n"
    ".reg .f32 %f<72>; .reg .f64 %fd<72>; .reg .b128 %q<72>;\nT: .branchtargets L;\n",
                  after[] = "\nL: ret;\n}\n";

/* The version of PTX that a target came with: no file for it has an earlier one. */
static const struct {
    unsigned sm, version;
} came[] = {{20, 203}, {30, 300}, {32, 400}, {35, 301}, {50, 400}, {52, 401},
            {53, 402}, {60, 500}, {61, 500}, {70, 600}, {72, 601}, {75, 603},
            {80, 700}, {86, 701}, {89, 708}, {90, 708}};

static unsigned
came_with(unsigned sm)
{
    for (size_t i = 0; i < UTIL_COUNT(came); i++)
        if (came[i].sm == sm)
            return came[i].version;
    return 0;
}

/* Differences in the list. *n: lines that could be read. */
static size_t
compare(const char *path, size_t *n, bool all)
{
    size_t bytes, wrong = 0;
    char *text = file_read(path, &bytes), *save;
    assert_non_null(text);
    *n = 0;
    for (char *s = strtok_r(text, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
        unsigned sm, major, minor;
        int at = 0;
        assert_true(sscanf(s, "sm_%u\t%u.%u\t%n", &sm, &major, &minor, &at) == 3 && at);
        struct strbuf t = {0};
        struct diag_sink diag = {0};
        strbuf_printf(&t, "%s%s%s", before, s + at, after);
        struct ptx_module *m = ptx_parse("t", t.s, t.n, &diag);
        const struct ptx_func *f = m ? ptx_find_func(m, "k") : NULL;
        if (f && !f->fault) {
            const struct ptx_inst *in = &f->body.v[0];
            while (ptx_is_pseudo(in))
                in++;
            struct ptx_since got = ptx_since(f, in);
            unsigned came_at = came_with(sm);
            unsigned version = got.version > came_at ? got.version : came_at;
            ++*n;
            if (got.sm != sm || version != 100 * major + minor) {
                printf("sm_%u, PTX %u.%u here: %s\n", got.sm, version / 100,
                       version % 100, s);
                wrong++;
            }
        } else if (all) {
            printf("not read: %s\n", s);
        }
        if (m)
            ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&t);
    }
    free(text);
    return wrong;
}

static void
forms_have_the_first_target_that_ptxas_has(void **state)
{
    (void)state;
    size_t n;
    assert_int_equal(compare(SOURCE_DIR "/tests/golden/ptx/targets.txt", &n, false), 0);
    assert_true(n >= 1000);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_have_the_first_target_that_ptxas_has),
    };
    size_t n, wrong;
    if (argc > 1) {
        wrong = compare(argv[1], &n, true);
        printf("%zu forms, %zu differ\n", n, wrong);
        return wrong != 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
