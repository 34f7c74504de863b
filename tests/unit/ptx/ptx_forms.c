/* ptx_forms.c: for every instruction form that nvcc 13 and clang 14 were seen to emit, an
 * instruction is made, parsed, checked to have the suffixes written, printed, parsed
 * again, and given to ptxas where that is installed. The operands come from the shapes
 * below, which are written from the PTX ISA, not from the opcode table. */
#include "unit/kit/forms_kit.h"
#include "unit/kit/ptx_kit.h"

/* The suffixes of both spellings are the same set: the order is the printer's to choose.
 */
static void
same_words(const char *form, const char *printed)
{
    char a[128], b[128], *save, *save2;
    printed += *printed == '@' ? strcspn(printed, " ") + 1 : 0;
    snprintf(b, sizeof b, "%.*s", (int)strcspn(printed, " ;"), printed);
    assert_int_equal(strlen(form), strlen(b));
    snprintf(a, sizeof a, "%s", form);
    for (char *w = strtok_r(a, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
        char copy[128];
        bool found = false;
        snprintf(copy, sizeof copy, "%s", b);
        for (char *v = strtok_r(copy, ".", &save2); v; v = strtok_r(NULL, ".", &save2))
            found |= !strcmp(v, w);
        if (!found)
            fail_msg("'%s' is printed as '%s'", form, b);
    }
}

static void
check_list(const char *path, size_t at_least, size_t by_name)
{
    char *text = file_read(path, NULL), *save;
    assert_non_null(text);
    struct strbuf all = {0}, printed = {0};
    strbuf_addz(&all, prologue);
    size_t n = 0, skipped = 0;
    for (char *form = strtok_r(text, "\n", &save); form;
         form = strtok_r(NULL, "\n", &save)) {
        char copy[128];
        struct strbuf one = {0}, line = {0};
        snprintf(copy, sizeof copy, "%s", form);
        if (!instance(copy, &line)) {
            skipped++;
            continue;
        }
        n++;
        strbuf_addz(&one, prologue);
        strbuf_printf(&one, "%s\n$L: ret; }\n", line.s);
        struct ptx_module *m = kit_parse(one.s);
        kit_roundtrip(m, NULL);
        const struct ptx_func *f = m->funcs.v[m->funcs.n - 1];
        struct strbuf again = {0};
        ptx_print_inst(f, &f->body.v[0], &again);
        same_words(form, again.s);
        ptx_module_free(m);
        strbuf_printf(&all, "%s\n", line.s);
        strbuf_free(&again);
        strbuf_free(&one);
        strbuf_free(&line);
    }
    strbuf_addz(&all, "$L: ret;\n}\n");
    print_message("%zu forms, %zu known by name only\n", n, skipped);
    assert_true(n >= at_least);
    assert_int_equal(skipped, by_name);
    struct ptx_module *m = kit_parse(all.s);
    kit_roundtrip(m, &printed);
    ptx_module_free(m);
    const char *ptxas = kit_ptxas();
    if (ptxas) {
        struct strbuf out = {0};
        if (kit_assemble(ptxas, printed.s, "sm_90", &out))
            fail_msg("ptxas: %s", out.s);
        strbuf_free(&out);
    } else {
        print_message("no ptxas here: what is printed was not given to it\n");
    }
    strbuf_free(&all);
    strbuf_free(&printed);
    free(text);
}

static void
core_forms(void **state)
{
    (void)state;
    check_list(SOURCE_DIR "/tests/golden/ptx/forms-core.txt", 280, 5);
}

static void
all_forms(void **state)
{
    (void)state;
    check_list(SOURCE_DIR "/tests/golden/ptx/forms-all.txt", 520, 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_forms),
        cmocka_unit_test(all_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
