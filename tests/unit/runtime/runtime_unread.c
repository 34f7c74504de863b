/* Modules in which the body of a kernel or of a function has errors: the others run, whatever
 * the module was read from; what cannot run says why, with its line. */
#include "unit/kit/runtime_kit.h"

#define HEAD ".version 9.0\n.target sm_80\n.address_size 64\n"
#define SOUND                                                                            \
    ".visible .entry k(.param .u64 out) {\n.reg .b64 %d<2>; .reg .b32 %r;\n"             \
    "ld.param.u64 %d1, [out]; mov.u32 %r, 42; st.global.u32 [%d1], %r; ret;\n}\n"
#define BAD_TEXT "{ .reg .b32 %r; frob.u32 %r, 1; ret; }"
#define BAD ".visible .entry bad(.param .u64 out)\n" BAD_TEXT "\n"
#define FUNC_TEXT "{ add.u37 %r, 1, 2; ret; }"
#define CALLER                                                                           \
    ".func g()\n" FUNC_TEXT "\n.visible .entry caller(.param .u64 out) { call g; ret; }\n"
/* Names a variable of the module that a kernel uses too. */
#define SHARES                                                                           \
    ".shared .b32 one; .shared .b32 two;\n.visible .entry shares()\n"                    \
    "{ frob.shared.u32 [one], two; ret; }\n"                                             \
    ".visible .entry uses() { st.shared.u32 [one], 1; st.shared.u32 [two], 2; ret; }\n"

static const char *const orders[] = {HEAD SOUND BAD CALLER, HEAD BAD SOUND CALLER,
                                     HEAD CALLER BAD SOUND};

static const struct allot_result *
launch(struct rt_kit *k, const char *kernel, uint64_t *out)
{
    const void *args[1] = {out};
    struct allot_launch l = {.module = k->mod,
                             .kernel = kernel,
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .args = args,
                             .nargs = 1};
    return allot_launch(k->dev, &l, k->d);
}

static void
refused(struct rt_kit *k, const char *kernel, const char *message, uint64_t *out)
{
    assert_null(launch(k, kernel, out));
    if (!strstr(allot_diag_text(k->d), message))
        fail_msg("%s: %s", kernel, allot_diag_text(k->d));
    allot_diag_clear(k->d);
    char *why = allot_kernel_refused(k->mod, kernel);
    assert_non_null(why);
    assert_non_null(strstr(why, message));
    free(why);
}

static void
check(struct rt_kit *k, size_t unread)
{
    uint64_t out = allot_alloc(k->dev, 4, k->d);
    uint32_t got = 0;
    if (!launch(k, "k", &out))
        rt_fail(k, "k");
    assert_true(allot_read(k->dev, out, &got, 4, k->d));
    assert_int_equal(got, 42);
    assert_string_equal(allot_diag_text(k->d), "");
    assert_null(allot_kernel_refused(k->mod, "k"));
    assert_null(allot_kernel_refused(k->mod, "none"));
    refused(k, "bad", "unknown instruction 'frob'", &out);
    if (unread > 1)
        refused(k, "caller", "unknown modifier '.u37' of 'add'", &out);
    assert_int_equal(allot_module_unread(k->mod, k->d), unread);
    assert_non_null(
        strstr(allot_diag_text(k->d),
               "warning: kernel 'bad' cannot run and stays as it is written"));
    assert_int_equal(allot_diag_errors(k->d), 0);
    allot_diag_clear(k->d);
    bool seen = false;
    const struct allot_kernel *x;
    for (size_t i = 0; (x = allot_module_kernel(k->mod, i)); i++) {
        assert_int_equal(x->unread, !strcmp(x->name, "bad"));
        seen |= x->unread;
    }
    assert_true(seen);
}

/* Text, text with timing, a fatbin, an image, a copy of what is printed, parts linked. */
static void
others_run(void **state)
{
    (void)state;
    struct rt_kit k;
    static const struct allot_options timed = {.max_cycles = 1000000};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int way = 0; way < 6; way++) {
            rt_open(&k, way < 2 || way == 4 ? orders[i] : NULL, way == 1 ? &timed : NULL);
            size_t unread = 2, len;
            char *bytes = NULL;
            if (way == 2 || way == 3) {
                bytes = allot_fatbin_write(&orders[i], 1, NULL, &len, k.d);
                assert_non_null(bytes);
                k.mod = way == 2 ? allot_module_read("fat", bytes, len, k.m, k.d)
                                 : allot_module_image("fat", bytes, k.m, k.d);
            } else if (way == 4) {
                char *text = allot_module_print(k.mod);
                allot_module_free(k.mod);
                k.mod = allot_module_parse("again.ptx", text, strlen(text), k.d);
                free(text);
            } else if (way == 5) {
                static const char other[] = HEAD ".visible .entry more() { ret; }\n" BAD;
                struct allot_module *m[2] = {
                    allot_module_parse("a", HEAD SOUND, strlen(HEAD SOUND), k.d),
                    allot_module_parse("b", other, strlen(other), k.d)};
                k.mod = allot_module_link(m, 2, "linked", k.d);
                unread = 1;
            }
            if (!k.mod)
                rt_fail(&k, "module");
            check(&k, unread);
            rt_close(&k);
            free(bytes);
        }
}

/* A fatbin, as a program's, in which no kernel is sound, has its variables all the same; a text
 * is refused. */
static void
no_sound_kernel(void **state)
{
    (void)state;
    struct rt_kit k;
    const char *text = HEAD ".global .u32 v = 3;\n" BAD;
    const char *sound = HEAD SOUND;
    size_t len, n;
    rt_open(&k, NULL, NULL);
    assert_null(allot_module_parse("t.ptx", text, strlen(text), k.d));
    assert_int_equal(allot_diag_errors(k.d), 1);
    allot_diag_clear(k.d);
    /* The writer refuses it too: the letters of a sound one's are exchanged. */
    char *bytes = allot_fatbin_write(&sound, 1, "none", &len, k.d);
    assert_non_null(bytes);
    for (n = 0; memcmp(bytes + n, "mov.u32", 7); n++)
        assert_true(n + 7 < len);
    memcpy(bytes + n, "mob", 3);
    k.mod = allot_module_read("fat", bytes, len, k.m, k.d);
    if (!k.mod)
        rt_fail(&k, "module");
    uint64_t out = 0;
    refused(&k, "k", "unknown instruction 'mob'", &out);
    free(bytes);
    rt_close(&k);
}

/* Every pass alone, and pipelines: the body stays as it is, and k gives the same. */
static void
passes_leave_it(void **state)
{
    (void)state;
    const char *name, *meaning;
    for (size_t i = 0;; i++) {
        bool last = !allot_pass(i, &name, &meaning);
        struct rt_kit k;
        rt_open(&k, HEAD SHARES SOUND BAD CALLER, NULL);
        bool ok = allot_module_opt_for(k.mod, k.m,
                                       last ? "cleanup,schedule,register-allocate" : name,
                                       "", NULL, k.d);
        if (!ok) { /* it asks for a setting or for a launch */
            assert_null(strstr(allot_diag_text(k.d), "invalid module"));
            allot_diag_clear(k.d);
        }
        char *text = allot_module_print(k.mod);
        assert_non_null(strstr(text, "bad(\n\t.param .align 8 .u64 out\n)\n" BAD_TEXT));
        assert_non_null(strstr(text, FUNC_TEXT));
        assert_non_null(strstr(text, ".shared .align 4 .b32 one"));
        assert_non_null(strstr(text, ".shared .align 4 .b32 two"));
        free(text);
        if (ok) {
            struct allot_module *whole = k.mod;
            uint64_t out = allot_alloc(k.dev, 4, k.d);
            uint32_t got = 0;
            if (launch(&k, "k", &out)) {
                assert_true(allot_read(k.dev, out, &got, 4, k.d));
                assert_int_equal(got, 42);
            } else if (!strstr(allot_diag_text(k.d), "is compiled for launches")) {
                fail_msg("%s: %s", name, allot_diag_text(k.d)); /* of several blocks */
            }
            assert_ptr_equal(k.mod, whole);
        }
        rt_close(&k);
        if (last)
            break;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_run),
        cmocka_unit_test(no_sound_kernel),
        cmocka_unit_test(passes_leave_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
