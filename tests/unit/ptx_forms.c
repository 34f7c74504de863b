/* ptx_forms.c: for every instruction form that nvcc 13 and clang 14 were seen to emit, an
 * instruction is made, parsed, checked to have the suffixes written, printed, parsed
 * again, and given to ptxas where that is installed. The operands come from the shapes
 * below, which are written from the PTX ISA, not from the opcode table. */
#include "unit/ptx_kit.h"

/* d a: register of the first type; D A: the same, twice as wide with .wide; b: register
 * of the second type; r: .b32 register; P: predicate; others as they stand. */
static const struct {
    const char *mnemonic, *operands;
} shapes[] = {
    {"add", "d, a, a"},
    {"sub", "d, a, a"},
    {"addc", "d, a, a"},
    {"subc", "d, a, a"},
    {"mul", "D, a, a"},
    {"mad", "D, a, a, D"},
    {"madc", "d, a, a, a"},
    {"div", "d, a, a"},
    {"rem", "d, a, a"},
    {"min", "d, a, a"},
    {"max", "d, a, a"},
    {"and", "d, a, a"},
    {"or", "d, a, a"},
    {"xor", "d, a, a"},
    {"not", "d, a"},
    {"neg", "d, a"},
    {"abs", "d, a"},
    {"popc", "r, a"},
    {"clz", "r, a"},
    {"bfind", "r, a"},
    {"brev", "d, a"},
    {"bfe", "d, a, r, 5"},
    {"bfi", "d, a, a, 3, r"},
    {"fns", "r, r, r, r"},
    {"bmsk", "r, r, r"},
    {"shl", "d, a, r"},
    {"shr", "d, a, 7"},
    {"shf", "r, r, r, r"},
    {"prmt", "r, r, r, 0x3210"},
    {"fma", "d, a, a, a"},
    {"rcp", "d, a"},
    {"sqrt", "d, a"},
    {"rsqrt", "d, a"},
    {"sin", "d, a"},
    {"cos", "d, a"},
    {"lg2", "d, a"},
    {"ex2", "d, a"},
    {"tanh", "d, a"},
    {"copysign", "d, a, a"},
    {"setp", "%p1, a, a"},
    {"selp", "d, a, a, P"},
    {"mov", "d, a"},
    {"cvt", "d, b"},
    {"cvta", "d, a"},
    {"ld", "V, M"},
    {"st", "M, V"},
    {"red", "[%rd1], a"},
    {"shfl", "d|P, a, 1, 31, -1"},
    {"match", "r, a, -1"},
    {"redux", "d, a, -1"},
    {"activemask", "r"},
    {"membar", ""},
    {"ret", ""},
    {"exit", ""},
    {"trap", ""},
    {"nanosleep", "100"},
    {"bra", "$L"},
    {"call", "dev"},
    {"barrier", "0"},
};

static const char *
reg_of(const char *type)
{
    return !strcmp(type, "pred")                        ? "%p2"
           : !strcmp(type, "f32")                       ? "%f1"
           : !strcmp(type, "f64")                       ? "%fd1"
           : strchr("8", type[1]) || strstr(type, "16") ? "%h1"
           : strstr(type, "32")                         ? "%r1"
                                                        : "%rd2";
}

static bool
is_type(const char *w)
{
    static const char *const all[] = {"pred", "b8",  "u8",  "s8",  "b16", "u16",
                                      "s16",  "b32", "u32", "s32", "b64", "u64",
                                      "s64",  "f32", "f64", "f16"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(w, all[i]))
            return true;
    return false;
}

/* One instruction of that form; false: a form that is only known by name. */
static bool
instance(const char *form, struct strbuf *b)
{
    char words[128];
    snprintf(words, sizeof words, "%s", form);
    char *mn = strtok(words, "."), *type[3] = {"b32", "b32", "b32"};
    int nt = 0, vec = 1;
    bool wide = false, ballot = false, warp = false, reduce = false, cas = false;
    const char *space = "", *reduction = "";
    for (char *w; (w = strtok(NULL, "."));) {
        if (is_type(w))
            type[nt < 3 ? nt++ : 2] = w;
        vec = !strcmp(w, "v2") ? 2 : !strcmp(w, "v4") ? 4 : vec;
        wide |= !strcmp(w, "wide");
        ballot |= !strcmp(w, "ballot");
        warp |= !strcmp(w, "warp");
        cas |= !strcmp(w, "cas");
        if (!strcmp(w, "red"))
            reduce = true;
        if (reduce && (!strcmp(w, "and") || !strcmp(w, "or") || !strcmp(w, "popc")))
            reduction = w;
        if (!strcmp(w, "shared") || !strcmp(w, "param") || !strcmp(w, "const") ||
            !strcmp(w, "local"))
            space = w;
    }
    if (!strcmp(mn, "tex") || !strcmp(mn, "sust") || !strcmp(mn, "wmma"))
        return false;
    const char *operands = NULL;
    if (!strcmp(mn, "vote"))
        operands = ballot ? "r, P, -1" : "%p3, !P, -1";
    else if (!strcmp(mn, "atom"))
        operands = cas ? "d, [%rd1+8], a, a" : "d, [%rd1+-8], a";
    else if (!strcmp(mn, "bar"))
        operands = warp     ? "-1"
                   : reduce ? (!strcmp(reduction, "popc") ? "r, 0, P" : "%p3, 0, P")
                            : "0";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !operands; i++)
        if (!strcmp(shapes[i].mnemonic, mn))
            operands = shapes[i].operands;
    if (!operands)
        fail_msg("the test has no shape for %s", form);
    const char *wider =
        !strcmp(type[0], "u16") || !strcmp(type[0], "s16") ? "%r1" : "%rd2";
    bool jumps = !strcmp(mn, "bra") || !strcmp(mn, "ret") || !strcmp(mn, "exit") ||
                 !strcmp(mn, "trap");
    strbuf_printf(b, "%s%s ", jumps ? "@%p1 " : "", form);
    for (const char *s = operands; *s; s++) {
        const char *r = reg_of(type[0]);
        bool letter = s == operands || s[-1] == ' ' || s[-1] == '|' || s[-1] == '!';
        if (!letter || !strchr("daDbrPVM", *s))
            strbuf_add(b, s, 1);
        else if (*s == 'd' || *s == 'a')
            strbuf_addz(b, s[1] == 'e' ? "d" : r); /* "dev" is a name */
        else if (*s == 'D')
            strbuf_addz(b, wide ? wider : r);
        else if (*s == 'b')
            strbuf_addz(b, reg_of(type[1]));
        else if (*s == 'r')
            strbuf_addz(b, "%r2");
        else if (*s == 'P')
            strbuf_addz(b, "%p4");
        else if (*s == 'V') {
            for (int k = 0; k < vec; k++)
                strbuf_printf(b, "%s%s", k ? ", " : vec > 1 ? "{" : "", r);
            strbuf_addz(b, vec > 1 ? "}" : "");
        } else if (!strcmp(space, "param")) {
            strbuf_addz(b, !strcmp(mn, "ld") ? "[par]" : "[arg]");
        } else {
            strbuf_addz(b, !strcmp(space, "shared")  ? "[sm+16]"
                           : !strcmp(space, "const") ? "[cm+16]"
                           : !strcmp(space, "local") ? "[%rd1]"
                                                     : "[%rd1+32]");
        }
    }
    strbuf_addz(b, ";");
    return true;
}

static const char prologue[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".const .align 16 .b8 cm[64];\n.func dev() { ret; }\n"
    ".visible .entry k(.param .align 16 .b8 par[32])\n{\n"
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
    ".reg .f32 %f<8>; .reg .f64 %fd<8>; .shared .align 16 .b8 sm[64];\n"
    ".param .align 16 .b8 arg[32];\n";

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
    check_list(SOURCE_DIR "/tests/golden/ptx/forms-all.txt", 490, 43);
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
