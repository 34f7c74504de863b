/* report.c: tables and charts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
numbers_right_words_left(void **state)
{
    (void)state;
    struct table *t = table_new(3, (const char *const[]){"name", "cycles", "note"});
    table_cell(t, "a");
    table_cell(t, "%d", 5);
    table_cell(t, "x");
    table_rule(t);
    table_cell(t, "longer");
    table_cell(t, "1,234");
    table_cell(t, "y z");
    struct strbuf b = {0};
    table_print(t, &b);
    assert_string_equal(b.s, "name    cycles  note\n"
                             "------  ------  ----\n"
                             "a            5  x\n"
                             "------  ------  ----\n"
                             "longer   1,234  y z\n");
    strbuf_free(&b);
    table_free(t);
}

static void
thousands(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(table_thousands(b, 0), "0");
    assert_string_equal(table_thousands(b, 999), "999");
    assert_string_equal(table_thousands(b, 1000), "1,000");
    assert_string_equal(table_thousands(b, UINT64_MAX), "18,446,744,073,709,551,615");
}

static const double values[4] = {1, 1.25, 1, NAN};
static const struct chart chart = {.title = "a \"title\"",
                                   .ylabel = "IPC",
                                   .ngroups = 2,
                                   .nseries = 2,
                                   .groups = (const char *const[]){"lavaMD", "nw_32"},
                                   .series = (const char *const[]){"unshared", "shared"},
                                   .value = values};

static void
chart_holds_groups_and_series(void **state)
{
    (void)state;
    char dir[] = "/tmp/allot-chart-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/c.svg", dir);
    struct diag_sink d = {0};
    if (system("gnuplot --version >/dev/null 2>&1")) {
        print_message("gnuplot is not installed: not drawn\n");
        assert_false(chart_write(&chart, path, &d));
        assert_non_null(strstr(d.list[0]->message, "gnuplot"));
    } else {
        assert_true(chart_write(&chart, path, &d));
        char *svg = file_read(path, NULL);
        assert_non_null(svg);
        assert_non_null(strstr(svg, "lavaMD"));
        assert_non_null(strstr(svg, "nw_32"));
        assert_non_null(strstr(svg, "unshared"));
        assert_non_null(strstr(svg, "</svg>"));
        free(svg);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0); /* no temporary file stays */
    diag_free(&d);
}

static void
chart_refuses_bad_names(void **state)
{
    (void)state;
    struct diag_sink d = {0};
    assert_false(chart_write(&chart, "/tmp/chart.pdf", &d));
    assert_non_null(strstr(d.list[0]->message, ".svg"));
    assert_false(chart_write(&chart, "/nonexistent-folder/c.svg", &d));
    assert_int_equal(d.errors, 2);
    diag_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_right_words_left),
        cmocka_unit_test(thousands),
        cmocka_unit_test(chart_holds_groups_and_series),
        cmocka_unit_test(chart_refuses_bad_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
