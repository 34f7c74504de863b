/* pass_illegal.c: a pass that makes what does not exist, or gives two registers one place, is
 * refused by its name. The passes are this file's own, in the place of mul24 and
 * reorder-registers. */
#include "unit/kit/ptx_kit.h"

#include "passes/pass.h"
#include "ptx/parse.h"

#include <string.h>

static unsigned made_group; /* the group of the suffix that it writes */
static unsigned made_mod;
static const struct ptx_inst *made; /* what it puts at the begin of k; NULL: suffixes */

/* Writes the suffix at every max and min. */
static bool
run_func(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    (void)facts;
    (void)a;
    (void)diag;
    if (made) {
        f->body.v[0] = *made;
        return *changed = true;
    }
    for (size_t i = 0; i < f->body.n; i++) {
        const char *mnemonic = ptx_ops[f->body.v[i].op].mnemonic;
        if (!strcmp(mnemonic, "max") || !strcmp(mnemonic, "min")) {
            ptx_set_mod(f->module, &f->body.v[i], made_group, made_mod);
            *changed = true;
        }
    }
    return true;
}

const struct pass pass_mul24 = {
    .name = "mul24", .meaning = "makes suffixes for this test", .run_func = run_func};

static const char *moved, *onto; /* names of registers */

/* Gives register `moved` the place of `onto`. */
static bool
move_places(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
            bool *changed, struct diag_sink *diag)
{
    struct ptx_reg *from = NULL, *to = NULL;
    (void)facts;
    (void)a;
    (void)diag;
    for (size_t i = 0; i < f->regs.n; i++) {
        from = !strcmp(f->regs.v[i].name, moved) ? &f->regs.v[i] : from;
        to = !strcmp(f->regs.v[i].name, onto) ? &f->regs.v[i] : to;
    }
    assert_true(from && to);
    from->place = to->place;
    return *changed = true;
}

const struct pass pass_reorder_registers = {.name = "reorder-registers",
                                            .meaning = "moves places for this test",
                                            .run_func = move_places,
                                            .places = true};

static bool
after(void *user, const struct pass_step *s, struct diag_sink *diag)
{
    (void)user;
    (void)s;
    (void)diag;
    return true;
}

/* What the pipeline says of a module of one instruction; "": nothing. In `said`. */
static const char *
said(const char *target, const char *inst, const char *pipeline, bool watched)
{
    static char text[512];
    static const struct pass_watch watch = {.after = after};
    struct diag_sink diag = {0};
    struct pass_launch any = {0};
    struct strbuf t = {0};
    strbuf_printf(&t,
                  ".version 8.0\n.target %s\n.address_size 64\n.visible .entry k()\n{\n"
                  ".reg .b16 %%h<4>; .reg .f32 %%f<4>;\n%s\nret;\n}\n",
                  target, inst);
    struct ptx_module *m = ptx_parse("t", t.s, t.n, &diag);
    assert_non_null(m);
    bool ok =
        pass_run_watched(m, pipeline, NULL, &any, NULL, watched ? &watch : NULL, &diag);
    assert_int_equal(ok, diag.errors == 0);
    snprintf(text, sizeof text, "%s", diag.n ? diag.list[0]->message : "");
    ptx_module_free(m);
    strbuf_free(&t);
    diag_free(&diag);
    return text;
}

#define MAX_F32 "max.f32 %f1, %f2, %f3;"

static void
a_form_of_a_later_target_is_refused_by_the_pass(void **state)
{
    (void)state;
    made_group = PTX_MG_NAN_;
    made_mod = PTX_NAN__NAN;
    assert_string_equal(said("sm_75", MAX_F32, "jumps,mul24,block-order", true),
                        "mul24 made what is no PTX: 'max.NaN.f32 %f1, %f2, %f3' needs "
                        ".target sm_80 or later, the file has sm_75");
    assert_string_equal(said("sm_80", MAX_F32, "jumps,mul24,block-order", true), "");
}

/* Not watched, the module is looked at the same time, after the last pass. */
static void
unwatched_the_pipeline_is_refused(void **state)
{
    (void)state;
    made_group = PTX_MG_NAN_;
    made_mod = PTX_NAN__NAN;
    assert_string_equal(said("sm_75", MAX_F32, "jumps,mul24,block-order", false),
                        "the pipeline made what is no PTX: 'max.NaN.f32 %f1, %f2, %f3' "
                        "needs .target sm_80 or later, the file has sm_75");
}

static void
a_form_that_never_was_is_refused_by_the_pass(void **state)
{
    (void)state;
    made_group = PTX_MG_FTZ;
    made_mod = PTX_FTZ_FTZ;
    assert_string_equal(
        said("sm_80", "min.bf16 %h1, %h2, %h3;", "mul24", true),
        "mul24 made what is no PTX: 'min.ftz.bf16 %h1, %h2, %h3' does not "
        "exist: these types and modifiers do not go together");
}

/* What was read like that is no pass's doing; the other check still holds. */
static void
what_was_there_before_is_not_the_pass_s(void **state)
{
    (void)state;
    made_group = PTX_MG_NAN_;
    made_mod = PTX_NAN__NAN;
    assert_string_equal(said("sm_75", "max.NaN.f32 %f1, %f2, %f3;", "mul24", true), "");
    made_group = PTX_MG_FTZ;
    made_mod = PTX_FTZ_FTZ;
    assert_string_equal(
        said("sm_75", "min.bf16 %h1, %h2, %h3;", "mul24", true),
        "mul24 made what is no PTX: 'min.ftz.bf16 %h1, %h2, %h3' does not "
        "exist: these types and modifiers do not go together");
}

/* %R0 is live where %R1 is written, and %R1 no longer where %R2 is. */
static void
a_place_given_to_two_is_refused_by_the_pass(void **state)
{
    static const char text[] =
        "ld.const.f32 %f1, [0];\nld.const.f32 %f2, [4];\nadd.f32 %f3, %f2, %f2;\n"
        "add.f32 %f3, %f3, %f1;\nst.global.f32 [0], %f3;\n";
    static const char passes[] = "register-allocate,reorder-registers";
    (void)state;
    moved = "%R1";
    onto = "%R0";
    for (int watched = 0; watched < 2; watched++)
        assert_string_equal(said("sm_80", text, passes, watched),
                            "pass reorder-registers keeps two registers of k in one "
                            "place: 'ld' writes %R1 while %R0 is live");
    moved = onto;
    assert_string_equal(said("sm_80", text, passes, true), "");
}

/* tcgen05 is read and printed, but not executed. A kernel that has it in the file is left out, one
 * that a pass gave it is an error of the pass. */
static void
code_that_cannot_be_executed_is_refused_by_the_pass(void **state)
{
    static const char text[] =
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry no()\n{\n"
        "tcgen05.fence::before_thread_sync;\nret;\n}\n.visible .entry k()\n{\n"
        ".reg .b32 %r<4>;\nmov.u32 %r1, 5;\nst.global.u32 [0], %r1;\nret;\n}\n";
    static const struct pass_watch watch = {.after = after};
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct diag_sink diag = {0};
        struct pass_launch any = {0};
        struct ptx_module *m = ptx_parse("t", text, strlen(text), &diag);
        assert_non_null(m);
        made_group = PTX_MG_FTZ;
        made = bad ? &m->funcs.v[0]->body.v[0] : NULL;
        const bool ok =
            pass_run_watched(m, "dead-code,mul24", NULL, &any, NULL, &watch, &diag);
        made = NULL;
        assert_int_equal(ok, !bad);
        if (bad)
            assert_string_equal(
                diag.list[0]->message,
                "pass mul24 left what cannot be executed: kernel 'k': "
                "tcgen05.fence::before_thread_sync: this needs sm_100a, which is not simulated");
        ptx_module_free(m);
        diag_free(&diag);
    }
}

/* As if watched. */
static void
the_environment_asks_for_each(void **state)
{
    static const char *const set[] = {"1", "0", ""};
    (void)state;
    made_group = PTX_MG_NAN_;
    made_mod = PTX_NAN__NAN;
    for (int i = 0; i < 3; i++) {
        setenv("ALLOT_VERIFY_EACH", set[i], 1);
        char want[128];
        snprintf(want, sizeof want,
                 "%s made what is no PTX: 'max.NaN.f32 %%f1, %%f2, %%f3' needs .target "
                 "sm_80 or later, the file has sm_75",
                 i ? "the pipeline" : "mul24");
        assert_string_equal(said("sm_75", MAX_F32, "jumps,mul24,block-order", false),
                            want);
    }
    unsetenv("ALLOT_VERIFY_EACH");
}

int
main(void)
{
    unsetenv("ALLOT_VERIFY_EACH");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_of_a_later_target_is_refused_by_the_pass),
        cmocka_unit_test(unwatched_the_pipeline_is_refused),
        cmocka_unit_test(a_form_that_never_was_is_refused_by_the_pass),
        cmocka_unit_test(what_was_there_before_is_not_the_pass_s),
        cmocka_unit_test(a_place_given_to_two_is_refused_by_the_pass),
        cmocka_unit_test(code_that_cannot_be_executed_is_refused_by_the_pass),
        cmocka_unit_test(the_environment_asks_for_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
