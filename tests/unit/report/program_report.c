/* program_report.c: what is told of a program that has run, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/program_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One launch of k; `overlooked`: and one of j that failed, of which the program took no
 * notice. */
static struct program_result
result(bool overlooked)
{
    struct program_result r = {.seconds = 1};
    r.rows = json_loads("[{\"name\": \"k\", \"launches\": 1, \"cycles\": 100,"
                        "  \"warp_instructions\": 10, \"thread_instructions\": 320,"
                        "  \"resident_blocks\": 2, \"seconds\": 0.5}]",
                        0, NULL);
    r.all = json_loads("[{\"name\": \"k\", \"launch\": 1, \"cycles\": 100,"
                       "  \"warp_instructions\": 10}]",
                       0, NULL);
    assert_true(r.rows && r.all);
    if (!overlooked)
        return r;
    r.failures = json_loads("[{\"kernel\": \"j\", \"launch\": 2, \"count\": 1,"
                            "  \"outcome\": \"failed\", \"error\": \"E\","
                            "  \"reason\": \"why\"}]",
                            0, NULL);
    r.overlooked = json_array_get(r.failures, 0);
    return r;
}

/* What is written to the stream. */
static char *
told(struct program_result *r, const struct program_show *show, bool want,
     struct diag_sink *diag)
{
    char *text = NULL;
    size_t n = 0;
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    FILE *f = open_memstream(&text, &n);
    json_t *options = json_pack("{s:s}", "asked", "this");
    assert_int_equal(program_report(f, "./app", r, m, options, show, diag), want);
    fclose(f);
    allot_machine_free(m);
    allot_diag_free(d);
    program_result_free(r);
    return text;
}

static void
a_table_unless_it_is_unwanted(void **st)
{
    struct diag_sink diag = {0};
    struct program_result r = result(false);
    char *text = told(&r, &(struct program_show){.table = true}, true, &diag);
    assert_non_null(strstr(text, "./app on gtx480"));
    free(text);
    r = result(false);
    text =
        told(&r, &(struct program_show){.table = true, .functional = true}, true, &diag);
    assert_non_null(strstr(text, "./app, functional"));
    free(text);
    r = result(false);
    text = told(&r, &(struct program_show){0}, true, &diag);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(diag.n, 0);
}

/* It is told of and counts as failed, with a table and without. */
static void
an_overlooked_failure_is_told(void **st)
{
    struct diag_sink diag = {0};
    for (int table = 0; table < 2; table++) {
        struct program_result r = result(true);
        char *text = told(&r, &(struct program_show){.table = table}, false, &diag);
        assert_non_null(strstr(text, "launch 2, of j, failed (E): why"));
        assert_non_null(strstr(text, "took no notice"));
        free(text);
    }
}

static void
launches_in_files(void **st)
{
    char json[] = "/tmp/allot-program-XXXXXX", csv[] = "/tmp/allot-program-XXXXXX";
    struct diag_sink diag = {0};
    close(mkstemp(json));
    close(mkstemp(csv));
    struct program_result r = result(false);
    char *text = told(&r, &(struct program_show){.json = json, .csv = csv}, true, &diag);
    assert_string_equal(text, "");
    free(text);
    json_t *o = json_load_file(json, 0, NULL);
    assert_non_null(o);
    char *all = json_dumps(o, 0);
    assert_non_null(strstr(all, "\"asked\": \"this\""));
    free(all);
    json_decref(o);
    text = file_read(csv, NULL);
    assert_non_null(strchr(text, '\n'));
    assert_int_equal(strncmp(strchr(text, '\n'), "\n./app,gtx480,k,", 16), 0);
    free(text);
    /* One that cannot be written fails, and the rest is told. */
    r = result(false);
    text = told(&r, &(struct program_show){.csv = "/nonexistent/x", .table = true}, false,
                &diag);
    assert_non_null(strstr(text, "./app on gtx480"));
    assert_int_equal(diag.errors, 1);
    free(text);
    /* Issue slots that do not add up. */
    r = result(false);
    json_object_set_new(json_array_get(r.all, 0), "issue_slots", json_integer(10));
    text = told(&r, &(struct program_show){.why = true}, false, &diag);
    assert_int_equal(diag.errors, 2);
    free(text);
    unlink(json);
    unlink(csv);
    diag_free(&diag);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_unless_it_is_unwanted),
        cmocka_unit_test(an_overlooked_failure_is_told),
        cmocka_unit_test(launches_in_files),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
