/* run_report.c: runs of a store and figures of it: what is shown, and which files are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "experiments/run.h"
#include "report/figure_files.h"
#include "report/figure_set.h"
#include "report/run_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/allot-runs-XXXXXX";

static const char *
in_dir(const char *name)
{
    static char path[4][200];
    static unsigned which;
    which = (which + 1) % 4;
    snprintf(path[which], sizeof path[0], "%s/%s", dir, name);
    return path[which];
}

/* A run of one launch, with a key and a token of eight times this letter. */
static json_t *
made_up(const char *workload, char letter, int cycles, const char *state)
{
    char name[9] = {letter, letter, letter, letter, letter, letter, letter, letter, 0};
    struct exp_run r = {
        .workload = workload, .machine = "m", .passes = "", .compiler = "clang"};
    snprintf(r.key, sizeof r.key, "%s", name);
    json_t *rec = run_failure(&r, name, "2026-01-01T00:00:00Z", 1, "");
    json_object_set_new(rec, "state", json_string(state));
    json_array_append_new(
        json_object_get(rec, "launches"),
        json_pack("{s:s, s:f, s:i}", "kernel", "k", "seconds", 0.5, "cycles", cycles));
    return rec;
}

/* A store of two runs, the second of which a writer has left in its spool. */
static struct store *
two_runs(struct diag_sink *diag)
{
    const char *path = in_dir("runs.db");
    struct store *s = store_open(path, STORE_WRITE, diag);
    json_t *a = made_up("first", 'a', 100, "done"),
           *b = made_up("other", 'b', 150, "failed");
    assert_true(store_add(s, a, diag));
    assert_true(store_spool_write(store_spool(s, diag), b));
    json_decref(a);
    json_decref(b);
    store_close(s);
    s = store_open_current(path, diag);
    assert_non_null(s);
    return s;
}

/* The text that a report writes. */
struct text {
    char *s;
    size_t n;
    FILE *f;
};

static struct text *
begin(struct text *t)
{
    *t = (struct text){0};
    t->f = open_memstream(&t->s, &t->n);
    return t;
}

static void
has(struct text *t, const char *words, const char *never)
{
    fclose(t->f);
    if (words)
        assert_non_null(strstr(t->s, words));
    else
        assert_string_equal(t->s, "");
    if (never)
        assert_null(strstr(t->s, never));
    free(t->s);
}

static void
filters_choose(void **st)
{
    struct diag_sink diag = {0};
    struct store *s = two_runs(&diag);
    struct text t;
    assert_true(run_report_list(s, &(struct store_filter){0}, begin(&t)->f));
    has(&t, "other", NULL); /* from the spool */
    assert_true(
        run_report_list(s, &(struct store_filter){.workload = "f%"}, begin(&t)->f));
    has(&t, "first", "other");
    assert_true(
        run_report_list(s, &(struct store_filter){.state = "failed"}, begin(&t)->f));
    has(&t, "other", "first");
    assert_true(run_report_list(s, &(struct store_filter){.machine = "x"}, begin(&t)->f));
    has(&t, "no runs in ", NULL);
    store_close(s);
    assert_null(store_open_current(in_dir("none.db"), &diag));
    assert_int_equal(diag.errors, 1);
    diag_free(&diag);
}

static void
runs_by_their_names(void **st)
{
    struct diag_sink diag = {0};
    struct store *s = two_runs(&diag);
    const char *both[] = {"aaaa", "bbbb"}, *wrong[] = {"1", "cccc"};
    struct text t;
    assert_true(run_report_show(s, both, 2, NULL, begin(&t)->f, &diag));
    has(&t, "\n\nrun ", NULL); /* one behind the other */
    assert_true(run_report_show(s, both + 1, 1, "-", begin(&t)->f, &diag));
    fclose(t.f);
    json_t *o = json_loads(t.s, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "workload")), "other");
    json_decref(o);
    free(t.s);
    assert_true(run_report_diff(s, both, begin(&t)->f, &diag));
    has(&t, "B: other", NULL);
    assert_int_equal(diag.errors, 0);
    assert_false(run_report_diff(s, wrong, begin(&t)->f, &diag));
    has(&t, NULL, NULL);
    assert_false(run_report_show(s, wrong + 1, 1, NULL, begin(&t)->f, &diag));
    has(&t, NULL, NULL);
    assert_int_equal(diag.errors, 2);
    assert_non_null(strstr(diag.list[0]->message, "holds no run 'cccc'"));
    store_close(s);
    diag_free(&diag);
}

static void
launches_into_files(void **st)
{
    struct diag_sink diag = {0};
    struct store *s = two_runs(&diag);
    const struct store_filter all = {0}, one = {.workload = "first"};
    char csv[200], json[200];
    struct text t;
    snprintf(csv, sizeof csv, "%s", in_dir("x.csv"));
    snprintf(json, sizeof json, "%s", in_dir("x.json"));
    assert_true(run_report_export(s, &one, NULL, NULL, begin(&t)->f, &diag));
    has(&t, "k,0.500000,first", "k,0.500000,other"); /* CSV where nothing is said */
    assert_true(run_report_export(s, &all, csv, json, begin(&t)->f, &diag));
    has(&t, NULL, NULL);
    char *text = file_read(csv, NULL);
    assert_non_null(strstr(text, "first") && strstr(text, "other"));
    free(text);
    json_t *o = json_load_file(json, 0, NULL);
    assert_int_equal(json_array_size(o), 2);
    json_decref(o);
    assert_true(run_report_export(s, &all, NULL, "-", begin(&t)->f, &diag));
    has(&t, "\"other\"", "k,0.5"); /* JSON alone */
    assert_false(run_report_export(s, &all, in_dir("no/x"), NULL, begin(&t)->f, &diag));
    has(&t, NULL, NULL);
    assert_int_equal(diag.errors, 1);
    store_close(s);
    diag_free(&diag);
}

static const char *
experiment(const char *name, const char *row)
{
    const char *path = in_dir(name);
    struct strbuf b = {0};
    strbuf_printf(
        &b,
        "title: by %s\nmachine: gtx480\nworkloads: [%s]\nvariants: [{name: a}]\n"
        "metrics: [{name: resident_blocks}]\n",
        name, row);
    assert_true(file_write(path, b.s, b.n));
    strbuf_free(&b);
    return path;
}

/* Two figures that need no run, in one page, one text, one CSV file. */
static void
figures_together(void **st)
{
    struct diag_sink diag = {0};
    struct store *s = two_runs(&diag);
    struct figure_set x = {0};
    struct strbuf wrote = {0};
    struct text t;
    char html[200], csv[200];
    snprintf(html, sizeof html, "%s", in_dir("page"));
    snprintf(csv, sizeof csv, "%s", in_dir("set.csv"));
    const char *names[] = {
        experiment("one.yaml", "{label: l, threads: 256, registers: 20}"),
        experiment("two.yaml", "{label: l, threads: 512, registers: 20}")};
    setenv("ALLOT_CHARTJS", "/nonexistent", 1); /* its tables alone, and a warning */
    assert_true(figure_set_read(&x, s, names, 2, false, &diag));
    assert_int_equal(x.figures.n, 2);
    const struct figure_set_files to = {html, "-", csv};
    assert_true(figure_set_write(&x, s, &to, begin(&t)->f, &wrote, &diag));
    has(&t, "by two.yaml", "<html");
    assert_non_null(strstr(wrote.s, "page/index.html: 2 figures"));
    char *text = file_read(in_dir("page/index.html"), NULL);
    assert_non_null(strstr(text, "by one.yaml"));
    free(text);
    text = file_read(csv, NULL);
    assert_non_null(strstr(text, "two.yaml"));
    free(text);
    assert_int_equal(diag.errors, 0);
    const struct figure_set_files nowhere = {.csv = in_dir("no/x")};
    assert_false(figure_set_write(&x, s, &nowhere, stdout, &wrote, &diag));
    assert_int_equal(diag.errors, 1);
    strbuf_free(&wrote);
    figure_set_free(&x);
    store_close(s);
    diag_free(&diag);
}

static void
a_figure_and_its_files(void **st)
{
    struct diag_sink diag = {0};
    struct strbuf wrote = {0};
    struct text t;
    char csv[200];
    snprintf(csv, sizeof csv, "%s", in_dir("f.csv"));
    const char *path = experiment("f.yaml", "{label: l, threads: 256, registers: 20}");
    struct experiment *e = experiment_load(path, false, &diag);
    assert_non_null(e);
    struct figure_files to = {.csv = csv, .keep = true, .spaced = true};
    assert_true(figure_files_show(e, NULL, "f", path, &to, begin(&t)->f, &wrote, &diag));
    assert_non_null(strstr(wrote.s, "wrote ") && strstr(wrote.s, "/results/f.csv\n"));
    fclose(t.f);
    assert_string_equal(t.s + t.n - 2, "\n\n"); /* another follows */
    free(t.s);
    char *text = file_read(csv, NULL), *kept = file_read(in_dir("results/f.csv"), NULL);
    assert_non_null(strstr(text, "resident_blocks"));
    assert_non_null(strstr(kept, "# allot paper f, "));
    free(text);
    free(kept);
    to = (struct figure_files){.csv = in_dir("no/x")};
    assert_false(figure_files_show(e, NULL, "f", path, &to, begin(&t)->f, &wrote, &diag));
    has(&t, "by f.yaml", NULL); /* the text is shown all the same */
    assert_int_equal(diag.errors, 1);
    strbuf_free(&wrote);
    experiment_free(e);
    diag_free(&diag);
}

static int
make_dir(void **st)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(void **st)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_choose),         cmocka_unit_test(runs_by_their_names),
        cmocka_unit_test(launches_into_files),    cmocka_unit_test(figures_together),
        cmocka_unit_test(a_figure_and_its_files),
    };
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 1);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
