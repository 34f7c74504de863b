/* csv.c: tables are read as written, and bad ones are named by file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/csv.h"

#include <string.h>

static void
cells_and_comments(void **st)
{
    struct diag_sink d = {0};
    struct csv *c =
        csv_parse("t.csv", "# card: X\nname,cycles,note\r\na,1,\n\nb,2,last", &d);
    assert_non_null(c);
    assert_int_equal(c->ncols, 3);
    assert_int_equal(c->nrows, 2);
    assert_string_equal(csv_cell(c, 0, csv_find(c, "cycles")), "1");
    assert_string_equal(csv_cell(c, 0, 2), "");
    assert_string_equal(csv_cell(c, 1, csv_find(c, "note")), "last");
    assert_int_equal(c->line[1], 5);
    assert_int_equal(c->ncomments, 1);
    assert_string_equal(c->comments[0], "card: X");
    assert_int_equal(csv_find(c, "nosuch"), -1);
    csv_free(c);
}

static void
bad_tables(void **st)
{
    struct diag_sink d = {0};
    struct strbuf b = {0};
    assert_null(csv_parse("t.csv", "a,b\n1,2\n1\n", &d));
    diag_print(&d, &b);
    assert_non_null(strstr(b.s, "t.csv:3"));
    assert_null(csv_parse("t.csv", "", &d));
    assert_null(csv_parse("t.csv", "a,b\n1,2,3\n", &d));
    assert_null(csv_read("/nonexistent/t.csv", &d));
    assert_int_equal(d.errors, 4);
    strbuf_free(&b);
    diag_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_and_comments),
        cmocka_unit_test(bad_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
