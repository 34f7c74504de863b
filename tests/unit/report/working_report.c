/* working_report.c: which working sets are shown, as what, and where a schedule goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/working_report.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Launches of f(int) and of g, of two blocks and one. */
static json_t *
launches(void)
{
    json_t *o = json_loads("[{\"kernel\": \"_Z1fi\", \"blocks\": 2, \"lines\": [3, 5],"
                           "  \"schedule\": \"f in steps\\n\"},"
                           " {\"kernel\": \"g\", \"blocks\": 1, \"lines\": [7],"
                           "  \"schedule\": \"g in steps\\n\"}]",
                           0, NULL);
    assert_non_null(o);
    return o;
}

/* What is written to the stream; NULL: refused, for `why`. */
static char *
shown(struct working_show w, const char *why)
{
    struct diag_sink diag = {0};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    json_t *l = launches();
    bool ok = working_report(l, "gtx480", &w, f, &diag);
    json_decref(l);
    fclose(f);
    assert_int_equal(ok, !why);
    assert_int_equal(diag.errors, why != NULL);
    if (why)
        assert_non_null(strstr(diag.list[0]->message, why));
    diag_free(&diag);
    if (ok)
        return text;
    free(text);
    return NULL;
}

static void
shows(struct working_show w, const char *want)
{
    char *text = shown(w, NULL);
    assert_string_equal(text, want);
    free(text);
}

static void
kernels_by_any_name(void **st)
{
    shows((struct working_show){.csv = true},
          "kernel,block,lines\n_Z1fi,0,3\n_Z1fi,1,5\ng,0,7\n");
    shows((struct working_show){.csv = true, .kernel = "f"},
          "kernel,block,lines\n_Z1fi,0,3\n_Z1fi,1,5\n");
    shows((struct working_show){.csv = true, .kernel = "g"},
          "kernel,block,lines\ng,0,7\n");
    assert_null(
        shown((struct working_show){.kernel = "h", .nth = 4}, "no launch 4 of kernel h"));
}

static void
one_object_of_all(void **st)
{
    char *text = shown((struct working_show){.json = true, .csv = true}, NULL);
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o); /* and nothing beside it */
    assert_string_equal(json_string_value(json_object_get(o, "machine")), "gtx480");
    assert_int_equal(json_array_size(json_object_get(o, "kernels")), 2);
    json_decref(o);
    free(text);
}

static void
schedules_go_where_they_should(void **st)
{
    char path[] = "/tmp/allot-working-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    shows((struct working_show){.schedule = true, .kernel = "g"}, "g in steps\n");
    shows((struct working_show){.schedule = true, .kernel = "g", .csv = true},
          "g in steps\n");
    shows((struct working_show){.schedule = true, .kernel = "f", .out = path}, "");
    char *kept = file_read(path, NULL);
    assert_string_equal(kept, "f in steps\n");
    free(kept);
    /* JSON holds it: of several kernels too, unless a file is asked for. */
    char *text = shown((struct working_show){.schedule = true, .json = true}, NULL);
    assert_non_null(strstr(text, "f in steps") && strstr(text, "g in steps"));
    free(text);
    assert_null(shown((struct working_show){.schedule = true, .json = true, .out = path},
                      "several kernels"));
    assert_null(shown((struct working_show){.schedule = true}, "several kernels"));
    assert_null(shown((struct working_show){.chart = "x.svg"}, "several kernels"));
    unlink(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_by_any_name),
        cmocka_unit_test(one_object_of_all),
        cmocka_unit_test(schedules_go_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
