/* report.c: tables and charts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "experiments/sweep.h"
#include "report/chart.h"
#include "report/compare_report.h"
#include "report/figure_report.h"
#include "report/run_charts.h"
#include "report/table.h"
#include "timing/policy/policy.h"

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

/* Texts that a shell, gnuplot, SVG or a terminal would take for something else, and how
 * each stands in the SVG. MARK is a command that makes a file. */
#define MARK "touch allot-was-here"
#define LONG_40 "0123456789012345678901234567890123456789"
#define LONG_120 LONG_40 LONG_40 LONG_40

static const struct {
    const char *text, *svg;
} hostile[] = {
    {"`" MARK "`", "`" MARK "`"},
    {"$(" MARK ")", "$(" MARK ")"},
    {"\" . system('" MARK "') . \"", "\" . system('" MARK "') . \""},
    {"' . system(\"" MARK "\") . '", "' . system(\"" MARK "\") . '"},
    {"x\nsystem('" MARK "')\n!" MARK "\nEOD\ne", "x system('" MARK "') !" MARK " EOD e"},
    {"|" MARK, "|" MARK},
    {"< " MARK, "&lt; " MARK},
    {"@ARG1 @x", "@ARG1 @x"},
    {"%s %n %d %g 50%", "%s %n %d %g 50%"},
    {"\\n \\042 \\(1) \\", "\\n \\042 \\(1) \\"},
    {"^{up}_low {/:Bold b}", "^{up}_low {/:Bold b}"},
    {"# a,b;c:d", "# a,b;c:d"},
    {"tab\there", "tab here"},
    {"--version", "--version"},
    {"-e", "-e"},
    {"<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"},
    {"]]><!-- &amp; -->", "]]&gt;&lt;!-- &amp;amp; -->"},
    {"\x1b]0;title\x07\xc2\x9b", " ]0;title  "},
    {"\xff\xc0\xaf\xed\xa0\x80\xf8\x88", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xef\xbf\xbf\xc3\xa9\xf0\x9f\x98\x80", "\xef\xbf\xbd\xc3\xa9\xf0\x9f\x98\x80"},
    {LONG_120 "cut", LONG_120 "\xe2\x80\xa6<"},
    {"", "<text"},
};
enum { NHOSTILE = sizeof hostile / sizeof *hostile };

/* Each text as title, axis, group and series, in a folder of its own. */
static void
chart_takes_texts_as_data(void **state)
{
    (void)state;
    char dir[] = "/tmp/allot-hostile-XXXXXX", before[4096];
    const char *texts[NHOSTILE];
    double value[NHOSTILE * NHOSTILE];
    if (system("gnuplot --version >/dev/null 2>&1")) {
        print_message("gnuplot is not installed: not drawn\n");
        return;
    }
    assert_non_null(mkdtemp(dir));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir), 0);
    for (size_t i = 0; i < NHOSTILE; i++)
        texts[i] = hostile[i].text;
    for (size_t i = 0; i < NHOSTILE * NHOSTILE; i++)
        value[i] = 1;
    for (size_t i = 0; i < NHOSTILE; i++) {
        struct diag_sink d = {0};
        struct chart c = {.title = texts[i],
                          .ylabel = texts[i],
                          .ngroups = i ? 1 : NHOSTILE,
                          .nseries = i ? 1 : NHOSTILE,
                          .groups = i ? texts + i : texts,
                          .series = i ? texts + i : texts,
                          .value = value};
        assert_true(chart_write(&c, "c.svg", &d));
        assert_int_equal(d.n, 0);
        char *svg = file_read("c.svg", NULL);
        assert_non_null(svg);
        for (size_t k = i; k < (i ? i + 1 : NHOSTILE); k++) {
            size_t n = 0;
            for (char *p = svg; (p = strstr(p, hostile[k].svg)); p++)
                n++;
            /* Title, axis, group, series; a long one has no room in the key. */
            if (n < (i && strlen(hostile[k].text) < 100 ? 4 : 2))
                fail_msg("'%s' stands %zu times in the chart", hostile[k].svg, n);
        }
        assert_null(strstr(svg, "]]>"));
        assert_null(strstr(svg, "<script"));
        free(svg);
        diag_free(&d);
    }
    /* File names too: a pipe, a command, options. */
    static const char *const names[] = {"|" MARK ".svg", "`" MARK "`.png", "-e.svg",
                                        "< " MARK ".svg", "a\nb'\"\\%d.svg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct diag_sink d = {0};
        assert_true(chart_write(&chart, names[i], &d));
        assert_int_equal(unlink(names[i]), 0);
        diag_free(&d);
    }
    assert_int_equal(unlink("c.svg"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(dir), 0); /* no command made a file */
}

/* Every kind, in every format: a file of that kind, and nothing on standard error. */
static void
every_kind_of_chart(void **state)
{
    (void)state;
    static const char *const groups[] = {"one", "two", "three"}, *const series[] = {
                                                                     "first", "second"};
    static const double value[] = {1, 2, NAN, 4, 5, 6}, x[] = {1, 10, 100};
    static const struct chart_style style[] = {{8, false, true}, {9, true, false}};
    static const struct {
        const char *name, *starts;
    } formats[] = {
        {"c.svg", "<?xml"}, {"c.pdf", "%PDF"}, {"c.png", "\x89PNG"}, {"c.txt", " "}};
    char dir[] = "/tmp/allot-kinds-XXXXXX", path[64];
    if (system("gnuplot --version >/dev/null 2>&1"))
        return;
    assert_non_null(mkdtemp(dir));
    for (int kind = CHART_BARS; kind <= CHART_SCATTER; kind++)
        for (size_t i = 0; i < 4 * 4; i += i < 4 ? 1 : 4) {
            struct diag_sink d = {0};
            struct chart c = {.title = "kinds",
                              .xlabel = "over",
                              .ylabel = "what",
                              .kind = (enum chart_kind)kind,
                              .ngroups = 3,
                              .nseries = 2,
                              .groups = groups,
                              .series = series,
                              .value = value,
                              .x = x,
                              .style = i & 4 ? style : NULL,
                              .mean = kind <= CHART_STACK,
                              .look = &(const struct chart_look){.values = i & 4},
                              .log_x = i & 8 && kind >= CHART_LINES,
                              .log_y = i & 8 && kind >= CHART_LINES};
            size_t n;
            snprintf(path, sizeof path, "%s/%s", dir, formats[i % 4].name);
            assert_true(chart_write(&c, path, &d));
            assert_int_equal(d.n, 0);
            char *text = file_read(path, &n);
            assert_true(n > 500);
            /* A terminal's legend has each series' sign beside its name. */
            if (i % 4 == 3 && kind <= CHART_STACK) {
                assert_non_null(strstr(text, "**** first"));
                assert_non_null(strstr(text, "#### second"));
            }
            assert_int_equal(
                memcmp(text, formats[i % 4].starts, strlen(formats[i % 4].starts)), 0);
            if (i % 4 == 0) {
                assert_non_null(strstr(text, "first"));
                assert_non_null(strstr(text, "second"));
                if (kind <= CHART_STACK)
                    assert_non_null(strstr(text, "three"));
            }
            free(text);
            unlink(path);
            json_t *o = chart_json(&c);
            assert_int_equal(json_array_size(json_object_get(o, "groups")), 3);
            assert_int_equal(json_array_size(json_object_get(o, "series")), 2);
            assert_true(json_is_null(json_array_get(
                json_object_get(json_array_get(json_object_get(o, "series"), 0),
                                "values"),
                1)));
            json_decref(o);
            diag_free(&d);
        }
    assert_int_equal(rmdir(dir), 0);
}

static void
labels_that_sweep_a_number(void **state)
{
    (void)state;
    double x[3];
    static const char *const yes[] = {"t = 0.1", "t = 0.5", "t = 0.9"},
                             *const bare[] = {"10 %", "20 %", "30 %"},
                             *const falls[] = {"t = 0.5", "t = 0.1", "t = 0.9"},
                             *const other[] = {"DCT1", "DCT2", "DCT3"},
                             *const none[] = {"a", "b", "c"};
    assert_true(sweep_numbers(yes, 3, false, x));
    assert_float_equal(x[2], 0.9, 1e-12);
    assert_true(sweep_numbers(bare, 3, false, x));
    assert_float_equal(x[0], 10, 0);
    assert_false(sweep_numbers(yes, 2, false, x));
    assert_false(sweep_numbers(falls, 3, false, x));
    assert_false(sweep_numbers(other, 3, false, x));
    assert_false(sweep_numbers(none, 3, false, x));
}

/* Speed-ups are ratios of cycles: 100 / 80 and 100 / 125, whose geometric mean is 1; a failed
 * cell has none. */
static void
comparisons(void **state)
{
    (void)state;
    static const char *const subject[] = {"a", "b"}, *const variant[] = {"old", "new"};
    struct compare_cell cell[4] = {{.ran = true, .ok = true, .cycles = 100},
                                   {.ran = true, .ok = true, .cycles = 80},
                                   {.ran = true, .ok = true, .cycles = 100},
                                   {.ran = true, .ok = true, .cycles = 125}};
    const struct compare t = {.nsubject = 2,
                              .nvariant = 2,
                              .subject = subject,
                              .variant = variant,
                              .cell = cell,
                              .machine = "m",
                              .checked = true};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    compare_report_text(&t, f);
    fclose(f);
    assert_non_null(strstr(text, "+25.00 %"));
    assert_non_null(strstr(text, "-20.00 %"));
    assert_non_null(strstr(text, "new: +0.00 % speed-up, geometric mean of 2"));
    free(text);
    cell[3].ok = false;
    f = open_memstream(&text, &n);
    compare_report_text(&t, f);
    fclose(f);
    assert_non_null(strstr(text, "FAILED"));
    assert_null(strstr(text, "-20.00 %"));
    assert_non_null(strstr(text, "new: +25.00 % speed-up, geometric mean of 1"));
    free(text);
    json_t *o = compare_report_json(&t, false);
    json_t *rows = json_object_get(o, "results");
    assert_int_equal(json_array_size(rows), 4);
    assert_true(json_number_value(json_object_get(json_array_get(rows, 1), "speedup")) ==
                1.25);
    assert_true(json_is_null(json_object_get(json_array_get(rows, 3), "speedup")));
    json_decref(o);

    /* One object, or tables; a chart beside either. */
    struct diag_sink diag = {0};
    struct compare_show show = {.json = true};
    f = open_memstream(&text, &n);
    assert_true(compare_report(&t, &show, f, &diag));
    fclose(f);
    o = json_loads(text, 0, NULL);
    assert_non_null(o);
    json_decref(o);
    free(text);
    show = (struct compare_show){.chart = "/nonexistent-folder/c.svg"};
    f = open_memstream(&text, &n);
    assert_false(compare_report(&t, &show, f, &diag));
    fclose(f);
    assert_non_null(strstr(text, "FAILED")); /* the table is shown all the same */
    assert_int_equal(diag.errors, 1);
    free(text);
    diag_free(&diag);
}

/* The curve is the calculator's, and the kernel's own place is on it. */
static void
occupancy_curves(void **state)
{
    (void)state;
    struct arena mem = {0};
    struct diag_sink d = {0};
    struct machine *m = machine_load("gtx480", &d);
    assert_non_null(m);
    struct occ_kernel k = {.threads = 256, .registers = 20, .scratchpad = 5000};
    for (int over = 0; over < NOVER; over++) {
        struct chart c =
            charts_occupancy(m, &k, OCC_SHARE_NONE, 1, (enum occupancy_over)over, &mem);
        double own[] = {256, 20, 5000};
        bool on = false;
        assert_true(c.ngroups > 2 && c.steps);
        for (size_t i = 0; i < c.ngroups; i++) {
            struct allot_occupancy o;
            struct occ_kernel at = k;
            *(over == OVER_THREADS     ? &at.threads
              : over == OVER_REGISTERS ? &at.registers
                                       : &at.scratchpad) = (uint32_t)c.x[i];
            bool fits = occ_compute(m, &at, OCC_SHARE_NONE, 1, &o, &d);
            assert_float_equal(c.value[2 * i], fits ? o.warps : 0, 0);
            assert_true(i == 0 || c.x[i] > c.x[i - 1]);
            if (!isnan(c.value[2 * i + 1])) {
                assert_float_equal(c.x[i], own[over], 0);
                on = true;
            }
        }
        assert_true(on);
        /* A point's value holds back to the point before it, for every demand. */
        for (size_t i = 1; i < c.ngroups; i++)
            for (uint32_t x = (uint32_t)c.x[i - 1] + 1; x <= c.x[i]; x++) {
                struct allot_occupancy o;
                struct occ_kernel at = k;
                *(over == OVER_THREADS     ? &at.threads
                  : over == OVER_REGISTERS ? &at.registers
                                           : &at.scratchpad) = x;
                bool fits = occ_compute(m, &at, OCC_SHARE_NONE, 1, &o, &d);
                assert_float_equal(c.value[2 * i], fits ? o.warps : 0, 0);
            }
    }
    /* With sharing, the second line is the calculator's too. */
    struct chart shared =
        charts_occupancy(m, &k, OCC_SHARE_SCRATCHPAD, 0.1, OVER_SCRATCHPAD, &mem);
    assert_int_equal(shared.nseries, 3);
    for (size_t i = 1; i < shared.ngroups; i++)
        for (uint32_t x = (uint32_t)shared.x[i - 1] + 1; x <= shared.x[i]; x++) {
            struct allot_occupancy o;
            struct occ_kernel at = k;
            at.scratchpad = x;
            bool fits = occ_compute(m, &at, OCC_SHARE_SCRATCHPAD, 0.1, &o, &d);
            assert_float_equal(shared.value[3 * i + 1], fits ? o.warps : 0, 0);
        }
    /* gtx480: 15 SMs, 2 schedulers of one instruction; 177.4 GB/s at 700 MHz */
    assert_float_equal(charts_peak_instructions(m), 15 * 2 * 32, 0);
    assert_float_equal(charts_peak_bytes(m) * 0.7, 177.4, 0.1);
    machine_free(m);
    arena_free(&mem);
    diag_free(&d);
}

/* The report page's curve has a line of the machine's residency policy, by the policy's own plan, for
 * each there is whose plan gives other blocks. */
static void
residency_curves(void **state)
{
    (void)state;
    struct arena mem = {0};
    struct diag_sink d = {0};
    const struct residency_policy *policy;
    size_t with_line = 0;
    for (size_t i = 0; (policy = residency_at(i)); i++) {
        struct machine *m = machine_load("gtx480", &d);
        assert_true(machine_set(m, "residency.policy", policy->name, &d));
        struct occ_kernel k = {.threads = 256, .registers = 30, .scratchpad = 9000};
        for (int over = 0; over < NOVER; over++) {
            struct chart c = charts_residency(m, &k, (enum occupancy_over)over, &mem);
            bool differ = false;
            for (size_t p = 0; p < c.ngroups; p++) {
                struct occ_kernel at = k;
                *(over == OVER_THREADS     ? &at.threads
                  : over == OVER_REGISTERS ? &at.registers
                                           : &at.scratchpad) = (uint32_t)c.x[p];
                struct residency_plan plan = {0};
                struct allot_occupancy o = {0};
                struct diag_sink quiet = {0};
                bool fits = occ_compute(m, &at, OCC_SHARE_NONE, 1, &o, &quiet);
                bool ok = residency_plan_of(m, &at, &plan, &quiet);
                diag_free(&quiet);
                unsigned warps = (at.threads + 31) / 32, without = fits ? o.warps : 0;
                unsigned with = ok ? plan.blocks * warps : 0;
                assert_float_equal(c.value[c.nseries * p], without, 0);
                if (c.nseries == 3)
                    assert_float_equal(c.value[3 * p + 1], with, 0);
                differ |= with != without;
            }
            assert_int_equal(c.nseries, differ ? 3 : 2);
            if (differ)
                assert_int_equal(strncmp(c.series[1], policy->name, strlen(policy->name)),
                                 0);
            with_line += differ;
        }
        machine_free(m);
    }
    assert_true(with_line >= 4 * 2); /* all but the policy that shares nothing */
    arena_free(&mem);
    diag_free(&d);
}

static void
chart_refuses_bad_names(void **state)
{
    (void)state;
    struct diag_sink d = {0};
    assert_false(chart_write(&chart, "/tmp/chart.gif", &d));
    assert_non_null(strstr(d.list[0]->message, ".svg"));
    assert_false(chart_write(&chart, "/nonexistent-folder/c.svg", &d));
    assert_int_equal(d.errors, 2);
    diag_free(&d);
}

/* Each word alone, words together, and what is none. */
static void
chart_styles_are_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "gray",           "size=",
        "size=99x400",    "size=400x10001",
        "size=400x300px", "font=a:3",
        "font=a:1x",      "font=a;b",
        "font=`x`",       "linear,,log",
        "values=1",       "font=0123456789012345678901234567890123456789"};
    struct diag_sink d = {0};
    struct chart_look look = {0};
    assert_true(chart_look_parse("", &look, &d));
    assert_true(
        chart_look_parse("grey,size=800x300,font=Times New Roman:14,log", &look, &d));
    assert_true(look.grey && !look.hatch && !look.values && look.x == CHART_AXIS_LOG);
    assert_true(look.width == 800 && look.height == 300 && look.points == 14);
    assert_string_equal(look.font, "Times New Roman");
    assert_true(chart_look_parse("hatch,values,linear,font=:9", &look, &d));
    assert_true(look.hatch && look.values && look.x == CHART_AXIS_LINEAR);
    assert_true(look.points == 9 && !*look.font);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct chart_look none = {0};
        assert_false(chart_look_parse(wrong[i], &none, &d));
        assert_int_equal(d.errors, i + 1);
    }
    diag_free(&d);
}

/* The drawing follows the style: its size, font, greys and patterns. */
static void
chart_styles_are_drawn(void **state)
{
    (void)state;
    char dir[] = "/tmp/allot-style-XXXXXX", path[64];
    struct diag_sink d = {0};
    if (system("gnuplot --version >/dev/null 2>&1"))
        skip();
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/c.svg", dir);
    struct chart_look look = {0};
    struct chart c = chart;
    c.look = &look;
    assert_true(chart_look_parse("size=512x333,font=Courier:9", &look, &d));
    assert_true(chart_write(&c, path, &d));
    char *svg = file_read(path, NULL);
    assert_non_null(strstr(svg, "viewBox=\"0 0 512 333\""));
    assert_non_null(strstr(svg, "Courier"));
    assert_null(strstr(svg, "<pattern"));
    free(svg);
    assert_true(chart_look_parse("hatch,grey", &look, &d));
    assert_true(chart_write(&c, path, &d));
    svg = file_read(path, NULL);
    assert_non_null(strstr(svg, "<pattern"));
    for (int i = 0; i < CHART_COLOURS; i++) { /* no colour is left */
        char rgb[32];
        unsigned r, g, b;
        sscanf(chart_colours[i], "#%2x%2x%2x", &r, &g, &b);
        snprintf(rgb, sizeof rgb, "rgb(%3u, %3u, %3u)", r, g, b);
        assert_true(!strstr(svg, rgb) || (r == g && g == b));
    }
    free(svg);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
    diag_free(&d);
}

/* 40 columns: the wrapped cell breaks at blanks, then behind punctuation, then anywhere. */
static void
wrapped_column(void **state)
{
    (void)state;
    struct table *t = table_new(3, (const char *const[]){"name", "words", "n"});
    struct strbuf b = {0};
    table_cell(t, "first-long-name");
    table_cell(t,
               "one two three four five six sm.register_alloc.a=12345678901234567890123");
    table_cell(t, "1");
    table_wrap(t, 1, 40);
    table_print(t, &b);
    assert_string_equal(b.s, "name             words                 n\n"
                             "---------------  --------------------  -\n"
                             "first-long-name  one two three four    1\n"
                             "                 five six\n"
                             "                 sm.register_alloc.a=\n"
                             "                 12345678901234567890\n"
                             "                 123\n");
    strbuf_free(&b);
    table_free(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_right_words_left),
        cmocka_unit_test(thousands),
        cmocka_unit_test(chart_holds_groups_and_series),
        cmocka_unit_test(chart_takes_texts_as_data),
        cmocka_unit_test(chart_refuses_bad_names),
        cmocka_unit_test(chart_styles_are_read),
        cmocka_unit_test(chart_styles_are_drawn),
        cmocka_unit_test(wrapped_column),
        cmocka_unit_test(every_kind_of_chart),
        cmocka_unit_test(labels_that_sweep_a_number),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(occupancy_curves),
        cmocka_unit_test(residency_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
