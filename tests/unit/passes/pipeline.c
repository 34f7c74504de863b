/* pipeline.c: what names of several passes stand for: written out down to passes, that there are, with
 * settings that they have; no name is a pass's too. */
#include "unit/kit/ptx_kit.h"

#include "passes/pass.h"
#include "passes/pipeline.h"

static void
expands_to(const char *list, const char *want)
{
    char *text = pipeline_expand(list);
    assert_string_equal(text, want);
    free(text);
}

static void
written_out(void **state)
{
    (void)state;
    const char cleanup[] = "copy-propagation,constant-fold,common-subexpressions,"
                           "address-fold,multiply-add,copy-propagation,dead-code";
    char around[400];
    expands_to("", "");
    expands_to("cleanup", cleanup);
    snprintf(around, sizeof around, "sink,%s,hoist:a=b,%s", cleanup, cleanup);
    expands_to("sink,cleanup,hoist:a=b,cleanup", around);
    expands_to("cleanu,cleanups,no", "cleanu,cleanups,no");
}

/* A step of a pipeline may be an earlier one. */
static void
within_one_another(void **state)
{
    (void)state;
    char *card = pipeline_expand("card"), *cleanup = pipeline_expand("cleanup");
    char start[400];
    snprintf(start, sizeof start, "parameter-vectors,merge-scratchpad,%s,jumps:back=yes,",
             cleanup);
    assert_memory_equal(card, start, strlen(start));
    assert_true(pass_names("card", "post-schedule"));
    assert_true(pass_names("card", "dead-code"));
    assert_false(pass_names("card", "relssp"));
    free(card);
    free(cleanup);
}

static void
rows_are_passes(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    size_t pipelines = 0, n = 0;
    const struct pipeline_row *r;
    for (size_t i = 0; (r = pipeline_row(i)); i++) {
        assert_true(*r->why);
        pipelines += r->begins;
        n++;
        if (r->begins)
            assert_null(pass_find(r->text));
        assert_true(pass_known(r->text, &diag));
        assert_false(strchr(r->text, ','));
        if (!strchr(r->text, ':'))
            assert_true(pass_find(r->text) || pipeline_is(r->text, strlen(r->text)));
    }
    assert_true(pipelines >= 2 && n > 30);
    assert_false(pipeline_is("car", 3));
    assert_false(pipeline_is("cards", 5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_out),
        cmocka_unit_test(within_one_another),
        cmocka_unit_test(rows_are_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
