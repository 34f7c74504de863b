/* Linking of several modules: what resolves to what, and what is refused. */
#include "unit/kit/runtime_kit.h"

#define HEAD ".version 7.0\n.target sm_50\n.address_size 64\n"
/* out[tid] for one value in %r0 */
#define TAIL                                                                             \
    "ld.param.u64 %d0, [out]; mov.u32 %r9, %tid.x; mul.wide.u32 %d1, %r9, 4;\n"          \
    "add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r0; ret;\n"
#define REGS ".reg .u32 %r<10>; .reg .u64 %d<4>;\n"
#define CALL(f)                                                                          \
    "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0;\n"                           \
    "call (q), " f ", (p); ld.param.b32 %r0, [q]; }\n"
#define FUNC(linkage, name, op)                                                          \
    linkage ".func (.param .b32 q) " name "(.param .b32 p)\n{ .reg .u32 %r<2>;\n"        \
            "ld.param.b32 %r0, [p]; " op " st.param.b32 [q], %r0; ret; }\n"
#define DECL(linkage, name) linkage ".func (.param .b32 q) " name "(.param .b32 p);\n"

static struct allot_module *
parts(struct rt_kit *k, size_t n, const char *const *text, const char *const *name)
{
    struct allot_module *m[4] = {NULL};
    for (size_t i = 0; i < n; i++) {
        m[i] = allot_module_parse(name[i], text[i], strlen(text[i]), k->d);
        if (!m[i])
            rt_fail(k, name[i]);
    }
    struct allot_module *to = allot_module_link(m, n, "linked", k->d);
    for (size_t i = 0; i < n && !to; i++)
        allot_module_free(m[i]); /* still the caller's */
    return to;
}

static uint32_t
answer(struct rt_kit *k)
{
    uint32_t v = 0;
    uint64_t out = allot_alloc(k->dev, 128, k->d);
    rt_run(k, 1, 1, 1, &out);
    assert_true(allot_read(k->dev, out, &v, 4, k->d));
    return v;
}

static const char *const names[] = {"a.ptx", "b.ptx", "c.ptx"};

/* One kernel that uses everything; links in every order; the printed module again. */
static void
names_resolve_across_parts(void **state)
{
    static const char *const text[] = {
        /* helper and tab are a's own, and so are b's */
        HEAD
        ".extern .global .u32 counter;\n.extern .const .align 4 .b8 scale[16];\n"
        ".extern .global .align 8 .b8 table[16];\n.extern .shared .b8 dyn[];\n"
        ".global .u32 tab = 1000;\n" DECL(".extern ", "bump") FUNC(
            "", "helper", "add.u32 %r0, %r0, 10000;")
            FUNC(".weak ", "both", "add.u32 %r0, %r0, 100000;") FUNC(
                ".weak ", "lost",
                "add.u32 %r0, %r0, 1;") ".visible .entry k(.param .u64 out)\n{\n" REGS
                                        "mov.u32 %r0, 0; ld.global.u32 %r1, [counter];\n"
                                        "ld.const.u32 %r2, [scale+8]; ld.global.u32 %r3, [tab];\n"
                                        "add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3;\n" CALL(
                                            "bump") CALL("helper") CALL("both")
                                            CALL(
                                                "lost") "ld.global.u64 %d2, [table+8];\n"
                                                        "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                                                        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0;\n"
                                                        "call (q), %d2, (p), P; ld.param.b32 %r0, [q]; }\n" TAIL
                                                        "}\n",
        HEAD ".visible .global .u32 counter = 5;\n"
             ".visible .const .align 4 .u32 scale[4] = {0, 10, 20, 30};\n"
             ".global .u32 tab = 7000000;\n.extern .shared .b8 dyn[];\n"
             ".visible .func (.param .b32 q) two(.param .b32 p);\n"
             ".visible .func (.param .b32 q) one(.param .b32 p);\n"
             ".visible .global .u64 table[2] = {one, two};\n" FUNC(
                 "", "helper", "add.u32 %r0, %r0, 20000000;")
                 FUNC(".weak ", "both", "add.u32 %r0, %r0, 200000;")
                     FUNC(".visible ", "one", "add.u32 %r0, %r0, 3;")
                         FUNC(".visible ", "two", "mul.lo.u32 %r0, %r0, 3;")
                             FUNC(".visible ", "lost", "add.u32 %r0, %r0, 300;")
                                 FUNC(".visible ", "bump",
                                      CALL("helper") ".reg .u32 %t; ld.global.u32 %t, "
                                                     "[tab]; add.u32 %r0, %r0, %t;")};
    for (int order = 0; order < 2; order++) {
        struct rt_kit k;
        rt_open(&k, NULL, NULL);
        const char *const t[] = {text[order], text[1 - order]};
        const char *const n[] = {names[order], names[1 - order]};
        k.mod = parts(&k, 2, t, n);
        if (!k.mod)
            rt_fail(&k, "link");
        uint32_t weak = order ? 200000 : 100000; /* the first weak one */
        uint32_t want = (5 + 20 + 1000 + 20000000 + 7000000 + 10000 + weak + 300) * 3;
        assert_int_equal(answer(&k), want);
        char *printed = allot_module_print(k.mod);
        struct allot_module *again =
            allot_module_parse("again.ptx", printed, strlen(printed), k.d);
        if (!again)
            rt_fail(&k, printed);
        struct rt_kit k2;
        rt_open(&k2, NULL, NULL);
        k2.mod = again;
        assert_int_equal(answer(&k2), want);
        free(printed);
        rt_close(&k);
        rt_close(&k2);
    }
}

static void
common_variables_merge(void **state)
{
    static const char *const text[] = {
        HEAD ".common .global .align 4 .b8 buf[4];\n"
             ".visible .entry k(.param .u64 out)\n{\n" REGS
             "mov.u32 %r1, 9; st.global.u32 [buf], %r1; ld.global.u32 %r0, [buf];\n" TAIL
             "}\n",
        HEAD ".common .global .align 4 .b8 buf[64];\n"};
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    k.mod = parts(&k, 2, text, names);
    if (!k.mod)
        rt_fail(&k, "link");
    uint64_t bytes;
    assert_true(allot_symbol(k.dev, k.mod, "buf", NULL, &bytes, k.d));
    assert_int_equal(bytes, 64);
    assert_int_equal(answer(&k), 9);
    rt_close(&k);
}

static void
refused(const char *a, const char *b, const char *want)
{
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    const char *const text[] = {a, b};
    k.mod = parts(&k, 2, text, names);
    assert_null(k.mod);
    const char *got = allot_diag_text(k.d);
    if (strncmp(got, want, strlen(want)) != 0)
        fail_msg("expected: %s\ngot: %s", want, got);
    assert_int_equal(allot_diag_errors(k.d), 1);
    rt_close(&k);
}

static void
bad_links_are_explained(void **state)
{
    refused(HEAD ".visible .global .u32 x;\n", HEAD "\n.visible .global .u32 x;\n",
            "b.ptx:5:23: error: 'x' is defined here and in a.ptx, line 4\n");
    refused(HEAD ".visible .entry k() { ret; }\n", HEAD ".visible .entry k() { ret; }\n",
            "b.ptx:4:17: error: 'k' is defined here and in a.ptx, line 4\n");
    refused(HEAD DECL(".extern ", "f") ".visible .entry k(.param .u64 out)\n{" REGS CALL(
                "f") "ret; }\n",
            HEAD ".global .u32 x;\n",
            "a.ptx:8:1: error: function 'f' is used here, but none of the linked modules "
            "defines it\n");
    refused(
        HEAD ".extern .global .u32 y;\n.visible .global .u64 p = y;\n",
        HEAD ".global .u32 y;\n",
        "a.ptx:5:23: error: variable 'y' is used here, but none of the linked modules "
        "defines it\n");
    refused(HEAD ".extern .global .u32 y;\n", HEAD ".visible .global .u64 y;\n",
            "b.ptx:4:23: error: 'y' has 8 bytes here, but 4 in a.ptx, line 4\n");
    refused(HEAD ".extern .const .u32 y;\n", HEAD ".visible .global .u32 y;\n",
            "b.ptx:4:23: error: 'y' is in another state space than in a.ptx, line 4\n");
    refused(HEAD DECL(".extern ", "f"), HEAD ".visible .func f(.param .b32 p) { ret; }\n",
            "b.ptx:4:16: error: 'f' has other parameters or results than in a.ptx, line "
            "4\n");
    refused(
        HEAD ".extern .global .u32 f;\n", HEAD ".visible .func f() { ret; }\n",
        "b.ptx:4:16: error: 'f' is a function here, but a variable in a.ptx, line 4\n");
    refused(HEAD, ".version 7.0\n.target sm_50\n.address_size 32\n",
            "error: b.ptx has 32-bit addresses, but a.ptx has 64-bit ones\n");
}

/* An unresolved name that nothing uses is no error, nor is what the device brings. */
static void
unused_and_builtin_names_stay_open(void **state)
{
    static const char *const text[] = {
        HEAD ".extern .func nowhere();\n.extern .global .u32 nothing;\n"
             ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".visible .entry k(.param .u64 out)\n{\n" REGS "mov.u32 %r0, 3;\n" TAIL
             "}\n",
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"};
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    k.mod = parts(&k, 2, text, names);
    if (!k.mod)
        rt_fail(&k, "link");
    assert_int_equal(answer(&k), 3);
    rt_close(&k);
}

/* A fault in a function of the second file names that file. */
static void
faults_name_the_part(void **state)
{
    static const char *const text[] = {
        HEAD ".extern .func boom();\n.visible .entry k(.param .u64 out)\n{\n"
             "call boom, ();\nret; }\n",
        HEAD "\n\n.visible .func boom()\n{\ntrap;\nret; }\n"};
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    k.mod = parts(&k, 2, text, names);
    if (!k.mod)
        rt_fail(&k, "link");
    uint64_t out = 0;
    assert_null(rt_try(&k, 1, 1, 1, &out));
    rt_told(&k, "b.ptx:8:1: error: kernel 'k'");
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_resolve_across_parts),
        cmocka_unit_test(common_variables_merge),
        cmocka_unit_test(bad_links_are_explained),
        cmocka_unit_test(unused_and_builtin_names_stay_open),
        cmocka_unit_test(faults_name_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
