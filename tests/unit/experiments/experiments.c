/* experiments.c: experiment files, keys, the store, figures and their verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "experiments/figure.h"
#include "experiments/launch.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/allot-unit-XXXXXX";

static const char *
in_dir(const char *name)
{
    static char path[2][200];
    static int which;
    which ^= 1;
    snprintf(path[which], sizeof path[0], "%s/%s", dir, name);
    return path[which];
}

static const char *
write_file(const char *name, const char *text)
{
    const char *path = in_dir(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char base[] =
    "title: t\n"
    "machine: gtx480\n"
    "workloads:\n"
    "  - {name: vecadd}\n"
    "  - {name: matmul, label: mm, settings: [sm.count=4]}\n"
    "variants:\n"
    "  - {name: lrr, settings: [sm.scheduler=lrr]}\n"
    "  - {name: gto, settings: [sm.scheduler=gto], registers: 30}\n"
    "baseline: lrr\n"
    "metrics:\n"
    "  - {name: gain, stat: ipc, as: gain}\n";

static struct experiment *
load(const char *text)
{
    struct diag_sink diag = {0};
    struct experiment *e = experiment_load(write_file("e.yaml", text), true, &diag);
    if (!e) {
        struct strbuf b = {0};
        diag_print(&diag, &b);
        fail_msg("%s", b.s);
    }
    diag_free(&diag);
    return e;
}

/* The text is refused; its first diagnostic stands at line and holds `words`. */
static void
refused(const char *text, unsigned line, const char *words)
{
    struct diag_sink diag = {0};
    struct experiment *e = experiment_load(write_file("e.yaml", text), true, &diag);
    assert_null(e);
    assert_true(diag.n > 0);
    if (!strstr(diag.list[0]->message, words))
        fail_msg("'%s' is not in '%s'", words, diag.list[0]->message);
    assert_int_equal(diag.list[0]->line, line);
    diag_free(&diag);
}

/* Replaces one text of `base`. */
static char *
with(const char *from, const char *to)
{
    static char out[2000];
    const char *at = strstr(base, from);
    assert_non_null(at);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
    return out;
}

static void
rows_times_series(void **state)
{
    (void)state;
    struct experiment *e = load(base);
    assert_int_equal(e->nrow, 2);
    assert_int_equal(e->nseries, 2);
    assert_int_equal(e->nrun, 4);
    assert_string_equal(e->row[1].label, "mm");
    assert_string_equal(e->series[1].label, "gto");
    assert_int_equal(e->series[1].base, 0);
    const struct exp_run *r = &e->run[e->cell[1 * 2 + 1]];
    assert_string_equal(r->workload, "matmul");
    assert_int_equal(r->nsettings, 3);
    assert_string_equal(r->settings[0], "sm.count=4");
    assert_string_equal(r->settings[1], "sm.scheduler=gto");
    assert_string_equal(r->settings[2], "residency.regs_per_thread=30");
    assert_true(r->quick);
    experiment_free(e);
}

static void
registers_by_number_or_kind(void **state)
{
    (void)state;
    struct experiment *e =
        load("title: t\nmachine: gtx480\n"
             "workloads: [{name: vecadd, registers: 24}, {name: matmul}]\n"
             "variants: [{name: a, registers: allocated}, {name: v, registers: virtual}, "
             "{name: n, registers: 30}]\n"
             "metrics: [{name: cycles}]\n");
    const char *const want[2][3] = {
        {"residency.regs_per_thread=24 compiler.registers=allocated",
         "residency.regs_per_thread=24 compiler.registers=virtual",
         "residency.regs_per_thread=24 residency.regs_per_thread=30"},
        {"compiler.registers=allocated", "compiler.registers=virtual",
         "residency.regs_per_thread=30"}};
    for (size_t r = 0; r < 2; r++)
        for (size_t k = 0; k < 3; k++) {
            const struct exp_run *run = &e->run[e->cell[r * 3 + k]];
            char text[200] = "";
            for (size_t i = 0; i < run->nsettings; i++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                         i ? " " : "", run->settings[i]);
            assert_string_equal(text, want[r][k]);
        }
    assert_int_equal(e->nrun, 6);
    experiment_free(e);
    refused(with("registers: 30", "registers: many"), 8, "compiler.registers");
    refused(with("registers: 30", "registers: 30000"), 8, "residency.regs_per_thread");
    refused(with("{name: vecadd}", "{name: vecadd, registers: both}"), 4,
            "compiler.registers");
    refused("title: t\nworkloads:\n  - {label: a, threads: 64, registers: virtual}\n"
            "variants: [{name: a}]\nmetrics: [{name: resident_blocks}]\n",
            3, "not a number of registers");
}

static void
ranges_multiply_and_equal_runs_are_shared(void **state)
{
    (void)state;
    struct experiment *e = load(with(
        "baseline:", "ranges:\n"
                     "  - {set: residency.threshold, from: 0.1, to: 0.3, step: 0.1}\n"
                     "  - {set: sm.max_blocks, values: [4, 8], labels: [a, b]}\n"
                     "baseline:"));
    assert_int_equal(e->nseries, 12);
    assert_string_equal(e->series[0].label, "lrr, residency.threshold=0.1, a");
    assert_string_equal(e->series[5].label, "lrr, residency.threshold=0.3, b");
    assert_int_equal(e->series[6 + 5].base, 5); /* same range values */
    assert_null(e->series[0].line);             /* two ranges are no sweep of a number */
    assert_int_equal(e->nrun, 24);
    experiment_free(e);
    /* Two variants that say the same are one run; so are two rows of one workload. */
    e = load(with("registers: 30", "passes: \"\""));
    experiment_free(e);
    e = load(with("settings: [sm.scheduler=gto], registers: 30",
                  "settings: [sm.scheduler=lrr]"));
    assert_int_equal(e->nrun, 2);
    experiment_free(e);
}

static void
keys_differ_with_what_matters(void **state)
{
    (void)state;
    const char *set[] = {"sm.count=4"};
    struct exp_run r = {.workload = "vecadd",
                        .machine = "gtx480",
                        .passes = "",
                        .compiler = "clang",
                        .seed = 1,
                        .quick = true};
    struct run_cache c = {0};
    struct diag_sink diag = {0};
    assert_true(run_prepare(&r, &c, &diag));
    char first[33];
    strcpy(first, r.key);
    struct exp_run other[5] = {r, r, r, r, r};
    other[0].seed = 2;
    other[1].quick = false;
    other[2].workload = "matmul";
    other[3].settings = set;
    other[3].nsettings = 1;
    other[4].max_cycles = 5;
    for (int i = 0; i < 5; i++) {
        assert_true(run_prepare(&other[i], &c, &diag));
        assert_string_not_equal(other[i].key, first);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(other[i].key, other[k].key);
    }
    /* A setting that states what the machine has anyway makes no other machine. */
    const char *same[] = {"sm.count=15"};
    r.settings = same;
    r.nsettings = 1;
    assert_true(run_prepare(&r, &c, &diag));
    assert_string_equal(r.key, first);
    /* There and back. */
    struct exp_run back;
    struct arena mem = {0};
    json_t *j = run_json(&r);
    assert_true(run_from_json(j, &back, &mem));
    assert_true(run_prepare(&back, &c, &diag));
    assert_string_equal(back.key, first);
    json_decref(j);
    arena_free(&mem);
    run_cache_free(&c);
    diag_free(&diag);
}

static const char own_ptx[] = ".version 4.2\n.target sm_35\n.address_size 64\n"
                              ".visible .entry k(.param .u64 p, .param .f32 x)\n"
                              "{ ret; }\n";

/* Key of a launch of a kernel of one's own; false and a message on failure. */
static bool
own_key(const char *ptx, const char *grid, const char *buffer, char key[33],
        struct diag_sink *diag)
{
    const char *texts[] = {"kernel=k", grid, "block=64", "smem=0", buffer, "arg=1.5"};
    struct exp_run r = {.workload = ptx,
                        .own = true,
                        .machine = "gtx480",
                        .params = texts,
                        .nparams = 6,
                        .passes = "",
                        .compiler = "clang",
                        .seed = 1};
    struct run_cache c = {0};
    bool ok = run_prepare(&r, &c, diag);
    if (ok) { /* as a plan, and back */
        struct exp_run back;
        struct arena mem = {0};
        json_t *j = run_json(&r);
        assert_true(run_from_json(j, &back, &mem));
        assert_true(back.own);
        assert_true(run_prepare(&back, &c, diag));
        assert_string_equal(back.key, r.key);
        json_decref(j);
        arena_free(&mem);
    }
    strcpy(key, r.key);
    run_cache_free(&c);
    return ok;
}

static void
keys_of_ones_own_kernel(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    char key[6][33], path[200], other[200], buffer[300];
    snprintf(path, sizeof path, "%s", write_file("k.ptx", own_ptx));
    snprintf(other, sizeof other, "%s", write_file("elsewhere.ptx", own_ptx));
    snprintf(buffer, sizeof buffer, "arg=buf:in=%s", write_file("in.bin", "1234"));
    assert_true(own_key(path, "grid=4", buffer, key[0], &diag));
    assert_true(own_key(other, "grid=4", buffer, key[1], &diag));
    assert_string_equal(key[1], key[0]); /* the PTX, not its file */
    assert_true(own_key(path, "grid=5", buffer, key[1], &diag));
    assert_true(own_key(path, "grid=4", "arg=buf:4", key[2], &diag));
    write_file("in.bin", "1235");
    assert_true(own_key(path, "grid=4", buffer, key[3], &diag));
    write_file("in.bin", "12345");
    assert_true(own_key(path, "grid=4", buffer, key[4], &diag));
    write_file("k.ptx", ".version 4.2\n.target sm_35\n.address_size 64\n"
                        ".visible .entry k(.param .u64 p, .param .f32 x)\n"
                        "{ bar.sync 0; ret; }\n");
    assert_true(own_key(path, "grid=4", "arg=buf:4", key[5], &diag));
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(key[i], key[k]);
    assert_false(own_key(path, "grid=0", buffer, key[0], &diag));
    assert_non_null(strstr(diag.list[0]->message, "grid '0'"));
    diag_free(&diag);
    assert_false(own_key(path, "size=4", buffer, key[0], &diag));
    assert_non_null(strstr(diag.list[0]->message, "no parameter 'size'"));
    diag_free(&diag);
    assert_false(own_key(path, "grid=4", "arg=buf:in=/nowhere/x", key[0], &diag));
    assert_non_null(strstr(diag.list[0]->message, "cannot read /nowhere/x"));
    diag_free(&diag);
}

static void
what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    refused(with("vecadd", "vecadt"), 4, "no workload is called 'vecadt'");
    refused(with("gtx480", "gtx481"), 2, "there is no machine");
    refused(with("sm.scheduler=gto", "sm.schedule=gto"), 8, "there is no setting");
    refused(with("sm.count=4", "sm.count=four"), 5, "sm.count");
    refused(with("registers: 30", "passes: nopass"), 8, "no pass is called");
    refused(with("registers: 30", "registrs: 30"), 8, "there is no key 'registrs'");
    refused(with("stat: ipc", "stat: ipd"), 11, "there is no counter 'ipd'");
    refused(with("as: gain", "as: gains"), 11, "'gains': one of value, gain,");
    refused(with("baseline: lrr", "baseline: lr"), 9, "no variant");
    refused("title: t\nmean: median\nworkloads:\n  - {label: a, threads: 64}\n"
            "variants:\n  - {name: v}\nmetrics:\n  - {name: resident_blocks}\n",
            2, "a mean is `geometric` or `arithmetic`, not 'median'");
    refused(with("baseline: lrr\n", ""), 10, "needs a `baseline:`");
    refused(with("name: gto", "name: lrr"), 8, "two series are called");
    refused(with("label: mm", "label: vecadd"), 5, "two rows are called");
    refused(with("title: t\n", ""), 1, "title");
    refused(with("title: t", "title: [t"), 1, "one value expected");
    refused(with("metrics:\n  - {name: gain, stat: ipc, as: gain}\n", "metrics: []\n"),
            10, "empty");
    refused("", 0, "states nothing");
}

static void
occupancy_rows_need_no_run(void **state)
{
    (void)state;
    struct experiment *e = load("title: t\n"
                                "machine: 001-table2.3-registers\n"
                                "workloads:\n"
                                "  - {label: hotspot, threads: 256, registers: 36, "
                                "scratchpad: 1K}\n"
                                "variants:\n"
                                "  - {name: plain}\n"
                                "  - {name: shared, share: registers, "
                                "settings: [residency.threshold=0.1]}\n"
                                "metrics: [{name: resident_blocks}, "
                                "{name: registers_wasted_percent}]\n");
    struct diag_sink diag = {0};
    assert_int_equal(e->nrun, 0);
    struct figure *f = figure_make(e, NULL, &diag);
    /* 001 Example 2.1.1: 3 blocks, 5120 of 32768 registers wasted; Table 2.6: 6. */
    assert_true(f->ours[figure_at(e, 0, 0, 0)] == 3);
    assert_true(f->ours[figure_at(e, 0, 1, 0)] == 6);
    assert_true(fabs(f->ours[figure_at(e, 0, 0, 1)] - 15.625) < 1e-12);
    figure_free(f);
    experiment_free(e);
    diag_free(&diag);
}

/* What a machine file states and a kernel declares needs no run either: 000 Tables I and
 * II, section 7.1. */
static void
facts_need_no_run(void **state)
{
    (void)state;
    struct experiment *e = load(
        "title: t\n"
        "machine: 000-table2\n"
        "workloads:\n"
        "  - {name: srad_v2_24, label: SRAD1, kernels: [srad_cuda_1]}\n"
        "  - {name: srad_v2_24, label: both}\n"
        "  - {label: machine, threads: 32}\n"
        "variants: [{name: plain}, {name: more, settings: [sm.count=30, l2.sets=64]}]\n"
        "metrics: [{name: scratchpad_bytes}, {name: scratchpad_variables}, "
        "{name: sm.count}, {name: l2_bytes}, {name: scratchpad_sharing_bits}, "
        "{name: sm.scheduler}]\n");
    struct diag_sink diag = {0};
    struct figure *f = figure_make(e, NULL, &diag);
    assert_non_null(f);
    const double want[3][2][6] = {
        {{13824, 6, 14, 1572864, 209, NAN}, {13824, 6, 30, 786432, 209, NAN}},
        {{NAN, NAN, 14, 1572864, 209, NAN}, {NAN, NAN, 30, 786432, 209, NAN}},
        {{NAN, NAN, 14, 1572864, 209, NAN}, {NAN, NAN, 30, 786432, 209, NAN}}};
    for (size_t r = 0; r < 3; r++)
        for (size_t k = 0; k < 2; k++)
            for (size_t m = 0; m < 6; m++) {
                double v = f->ours[figure_at(e, r, k, m)], w = want[r][k][m];
                if (!(v == w || (isnan(v) && isnan(w))))
                    fail_msg("row %zu, series %zu, %s: %g", r, k, e->metric[m].name, v);
            }
    figure_free(f);
    experiment_free(e);
    diag_free(&diag);
}

/* The key of vecadd's run with this in its row. */
static const char *
key_of(const char *in_row, bool quick)
{
    static char key[2][33];
    static int which;
    struct diag_sink diag = {0};
    char text[300];
    snprintf(text, sizeof text,
             "title: t\nworkloads: [{name: vecadd%s}]\nvariants: [{name: v}]\n"
             "metrics: [{name: ipc}]\n",
             in_row);
    struct experiment *e = experiment_load(write_file("e.yaml", text), quick, &diag);
    assert_non_null(e);
    assert_int_equal(e->nrun, 1);
    which ^= 1;
    memcpy(key[which], e->run[0].key, sizeof key[0]);
    experiment_free(e);
    diag_free(&diag);
    return key[which];
}

static void
full_params_are_left_out_of_quick_runs(void **state)
{
    (void)state;
    assert_string_equal(key_of(", full_params: [n=5000]", true), key_of("", true));
    assert_string_equal(key_of(", full_params: [n=5000]", false),
                        key_of(", params: [n=5000]", false));
    assert_string_not_equal(key_of(", full_params: [n=5000]", false), key_of("", false));
}

/* -- the store -- */

static json_t *
made_up(const char *key, const char *token, const char *kernel, int cycles, int threads)
{
    struct exp_run r = {
        .workload = "w", .machine = "m", .passes = "", .compiler = "clang"};
    snprintf(r.key, sizeof r.key, "%s", key);
    json_t *rec = run_failure(&r, token, "2026-01-01T00:00:00Z", 1, "");
    json_object_set_new(rec, "state", json_string("done"));
    json_array_append_new(json_object_get(rec, "launches"),
                          json_pack("{s:s, s:f, s:i, s:i}", "kernel", kernel, "seconds",
                                    0.5, "cycles", cycles, "thread_instructions",
                                    threads));
    return rec;
}

static void
records_come_back(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    struct store *s = store_open(in_dir("back.db"), STORE_WRITE, &diag);
    assert_non_null(s);
    json_t *r = made_up("k1", "t1", "f", 100, 3200);
    assert_true(store_add(s, r, &diag));
    assert_true(store_add(s, r, &diag)); /* the same token: nothing new */
    json_decref(r);
    size_t n;
    free(store_list(s, &(struct store_filter){0}, &n));
    assert_int_equal(n, 1);
    int64_t id;
    assert_int_equal(store_find(s, "k1", &id), STORE_DONE);
    assert_int_equal(store_find(s, "k2", NULL), STORE_NONE);
    r = store_run(s, id);
    json_t *l = json_array_get(json_object_get(r, "launches"), 0);
    assert_int_equal(json_integer_value(json_object_get(l, "cycles")), 100);
    assert_string_equal(json_string_value(json_object_get(l, "kernel")), "f");
    assert_null(json_object_get(l, "blocks")); /* not said, so not known: no zero */
    json_decref(r);
    store_close(s);
}

static void
several_writers(void **state)
{
    (void)state;
    enum { WRITERS = 4, EACH = 25 };
    const char *path = in_dir("many.db");
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            struct diag_sink diag = {0};
            struct store *s =
                store_open(path, STORE_WRITE, &diag); /* all make it at once */
            bool ok = s != NULL;
            for (int i = 0; ok && i < EACH; i++) {
                char t[40];
                snprintf(t, sizeof t, "%d.%d", w, i);
                json_t *r = made_up(t, t, "f", i, i);
                ok = store_add(s, r, &diag);
                json_decref(r);
            }
            store_close(s);
            _exit(!ok);
        }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        wait(&status);
        assert_int_equal(status, 0);
    }
    struct diag_sink diag = {0};
    struct store *s = store_open(path, STORE_WRITE, &diag);
    size_t n;
    free(store_list(s, &(struct store_filter){0}, &n));
    assert_int_equal(n, WRITERS * EACH);
    store_close(s);
}

/* Another process writes to a new database, which has no log yet: opening it
 * waits. */
static void
opening_waits_for_a_writer(void **state)
{
    (void)state;
    const char *path = in_dir("new.db");
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    if (fork() == 0) {
        sqlite3 *db;
        bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
                  sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                  write(ready[1], "", 1) == 1;
        sqlite3_sleep(200);
        sqlite3_close(db);
        _exit(!ok);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    struct diag_sink diag = {0};
    struct store *s = store_open(path, STORE_WRITE, &diag);
    assert_non_null(s);
    store_close(s);
    int status;
    wait(&status);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

static void
sql(const char *path, const char *text)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
}

/* What the first version wrote, with a counter that there is no longer. */
static const char version1[] =
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE,"
    " key TEXT NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL,"
    " workload TEXT NOT NULL, machine TEXT NOT NULL, machine_hash TEXT NOT NULL,"
    " settings TEXT NOT NULL, passes TEXT NOT NULL, compiler TEXT NOT NULL,"
    " ptx_hash TEXT NOT NULL, seed INTEGER NOT NULL, quick INTEGER NOT NULL,"
    " max_cycles INTEGER NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL,"
    " started TEXT NOT NULL, seconds REAL NOT NULL);"
    "CREATE TABLE launches (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " number INTEGER NOT NULL, kernel TEXT NOT NULL, host_seconds REAL NOT NULL,"
    " cycles INTEGER, gone INTEGER, PRIMARY KEY (run, number)) WITHOUT ROWID;"
    "INSERT INTO runs VALUES (7, 't', 'k', 'done', '', 'w', 'm', 'h', 'a=1', '',"
    " 'clang', 'p', 1, 1, 0, '0', 'host', '2026-01-01T00:00:00Z', 2.5);"
    "INSERT INTO launches VALUES (7, 0, 'f', 0.5, 77, 5); PRAGMA user_version = 1;";

static void
old_stores_are_brought_up_to_date(void **state)
{
    (void)state;
    const char *path = in_dir("old.db");
    struct diag_sink diag = {0};
    sql(path, version1);
    struct store *s = store_open(path, STORE_WRITE, &diag);
    assert_non_null(s);
    json_t *r = store_run(s, 7);
    assert_non_null(r);
    json_t *l = json_array_get(json_object_get(r, "launches"), 0);
    assert_int_equal(json_integer_value(json_object_get(l, "cycles")), 77);
    assert_int_equal(json_array_size(json_object_get(r, "params")), 0);
    json_decref(r);
    assert_null(store_machine(s, "")); /* it kept none */
    assert_true(store_good(s));
    r = made_up("k2", "t2", "g", 1, 1);
    json_object_set_new(r, "machine_hash", json_string("0123"));
    json_object_set_new(r, "machine_settings", json_pack("{s:i}", "sm.count", 15));
    assert_true(store_add(s, r, &diag)); /* columns of today's counters were added */
    json_decref(r);
    r = store_machine(s, "0123");
    assert_int_equal(json_integer_value(json_object_get(r, "sm.count")), 15);
    json_decref(r);
    store_close(s);
    sql(path, "PRAGMA user_version = 1000");
    assert_null(store_open(path, STORE_WRITE, &diag));
    assert_non_null(strstr(diag.list[0]->message, "newer allot"));
    diag_free(&diag);
    write_file("text.db", "this is no database at all, but long enough to look like one");
    assert_null(store_open(in_dir("text.db"), STORE_WRITE, &diag));
    diag_free(&diag);
}

/* Every page from the `first` on overwritten: what a bad disk leaves. */
static void
damage(const char *path, long first)
{
    enum { PAGE = 4096 };
    char junk[PAGE];
    struct stat st;
    memset(junk, 0xa5, sizeof junk);
    assert_int_equal(stat(path, &st), 0);
    FILE *f = fopen(path, "r+b");
    assert_true(f && st.st_size > first * PAGE);
    fseek(f, first * PAGE, SEEK_SET);
    for (long at = first * PAGE; at < st.st_size; at += PAGE)
        assert_int_equal(fwrite(junk, PAGE, 1, f), 1);
    fclose(f);
}

static void
damaged_stores_are_errors(void **state)
{
    (void)state;
    const char *path = in_dir("damaged.db");
    struct diag_sink diag = {0};
    struct store *s = store_open(path, STORE_WRITE, &diag);
    for (int i = 0; i < 200; i++) {
        char key[16], token[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(token, sizeof token, "t%d", i);
        json_t *r = made_up(key, token, "f", 100 + i, 3200);
        assert_true(store_add(s, r, &diag));
        json_decref(r);
    }
    store_close(s);
    damage(path, 12); /* behind the schema, which grows by a column a counter */
    s = store_open(path, STORE_READ, &diag);
    assert_non_null(s);
    assert_true(store_good(s));
    size_t n;
    free(store_list(s, &(struct store_filter){0}, &n));
    for (int i = 0; i < 200 && store_good(s); i++)
        json_decref(store_run(s, i + 1));
    assert_false(store_good(s));
    assert_int_equal(diag.errors, 1); /* told once */
    assert_non_null(strstr(diag.list[0]->message, "damaged.db"));
    assert_non_null(strstr(diag.list[0]->hint, ".recover"));
    store_close(s);
    diag_free(&diag);
}

static void
reading_makes_no_store(void **state)
{
    (void)state;
    const char *path = in_dir("typo.db");
    struct diag_sink diag = {0};
    assert_null(store_open(path, STORE_READ, &diag));
    assert_non_null(strstr(diag.list[0]->message, "typo.db"));
    assert_int_not_equal(access(path, F_OK), 0);
    diag_free(&diag);
    assert_true(store_check(path, &diag)); /* could be made, and is not yet */
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(store_check("/nonexistent/folder/x.db", &diag));
    diag_free(&diag);
}

static void
the_spool_is_taken_once(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    struct store *s = store_open(in_dir("spool.db"), STORE_WRITE, &diag);
    const char *folder = store_spool(s, &diag);
    json_t *r = made_up("k", "t", "f", 1, 1);
    size_t n;
    assert_true(store_spool_write(folder, r));
    assert_true(store_collect(s, folder, &n, &diag));
    assert_int_equal(n, 1);
    /* As after a kill between commit and removal: the record is still there. */
    assert_true(store_spool_write(folder, r));
    assert_true(store_collect(s, folder, &n, &diag));
    free(store_list(s, &(struct store_filter){0}, &n));
    assert_int_equal(n, 1);
    /* Another process found the folder empty and took it away. */
    assert_int_equal(rmdir(folder), 0);
    assert_true(store_spool_write(folder, r));
    assert_true(store_collect(s, folder, &n, &diag));
    assert_int_equal(n, 1);
    /* A file that is no record is put aside and told of. */
    char path[300];
    snprintf(path, sizeof path, "%s/x.json", folder);
    FILE *f = fopen(path, "w");
    fputs("{", f);
    fclose(f);
    assert_false(store_collect(s, folder, &n, &diag));
    strcat(path, ".bad");
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    json_decref(r);
    store_close(s);
    diag_free(&diag);
}

/* -- figures -- */

static void
put(struct store *s, const struct experiment *e, size_t row, size_t series, int cycles)
{
    static int token;
    char t[40];
    struct diag_sink diag = {0};
    snprintf(t, sizeof t, "p%d", token++);
    const struct exp_run *r = &e->run[e->cell[row * e->nseries + series]];
    json_t *rec = made_up(r->key, t, "vecadd", cycles, 1000);
    assert_true(store_add(s, rec, &diag));
    json_decref(rec);
}

static const char four[] =
    "title: t\n"
    "machine: gtx480\n"
    "paper: p.csv\n"
    "workloads:\n"
    "  - {name: vecadd, label: a, settings: [sm.count=1]}\n"
    "  - {name: vecadd, label: b, settings: [sm.count=2]}\n"
    "  - {name: vecadd, label: c, settings: [sm.count=3]}\n"
    "  - {name: vecadd, label: d, settings: [sm.count=4]}\n"
    "variants:\n"
    "  - {name: old, settings: [sm.scheduler=lrr]}\n"
    "  - {name: new, settings: [sm.scheduler=gto]}\n"
    "baseline: old\n"
    "metrics: [{name: gain, stat: ipc, as: gain}]\n"
    "checks:\n"
    "  - {says: x, that: \"[a, new] > 0 and [b, new] < 0\"}\n"
    "  - {says: y, that: \"[each, new] > 0\"}\n"
    "  - {says: z, that: \"[a, new] >= [c, new]\"}\n"
    "  - {says: bad, that: \"[a, news] > 0\"}\n"
    "  - {says: m, that: \"[mean, new] > 13 and [mean, new] < 14\"}\n";

static void
verdict_by_hand(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    write_file("p.csv", "# from nowhere\nworkload,series,value\na,new,10\nb,new,20\n"
                        "c,new,-5\n\"d\",new,0\nelse,new,3\nmean,new,7\n");
    struct experiment *e = load(four);
    struct store *s = store_open(in_dir("fig.db"), STORE_WRITE, &diag);
    /* IPC = 1000 / cycles; gains: a +25 %, b -20 %, c +100 %, d not run. */
    const int cycles[4][2] = {{100, 80}, {100, 125}, {100, 50}, {100, 0}};
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k < 2; k++)
            if (cycles[r][k])
                put(s, e, r, k, cycles[r][k]);
    struct figure *f = figure_make(e, s, &diag);
    assert_non_null(f);
    assert_true(fabs(f->ours[figure_at(e, 0, 1, 0)] - 25) < 1e-9);
    assert_true(fabs(f->ours[figure_at(e, 1, 1, 0)] + 20) < 1e-9);
    assert_true(isnan(f->ours[figure_at(e, 3, 1, 0)]));
    assert_int_equal(f->missing, 1);
    struct verdict v = figure_verdict(f, 0);
    assert_int_equal(v.cells, 3);
    assert_int_equal(v.signs, 3);
    assert_int_equal(v.signs_equal, 1); /* only a */
    /* Ranks: ours a 2, b 1, c 3; the paper's a 2, b 3, c 1: exactly reversed. */
    assert_true(fabs(v.rank + 1) < 1e-12);
    assert_true(fabs(v.mean_ours - 100 * (cbrt(1.25 * 0.8 * 2.0) - 1)) < 1e-9);
    assert_true(fabs(v.mean_paper - 100 * (cbrt(1.1 * 1.2 * 0.95) - 1)) < 1e-9);
    int holds;
    assert_true(figure_check(f, 0, &holds, &diag));
    assert_int_equal(holds, 1);
    assert_true(figure_check(f, 1, &holds, &diag));
    assert_int_equal(holds, 0); /* b lost, whatever d is */
    assert_true(figure_check(f, 2, &holds, &diag));
    assert_int_equal(holds, 0);
    assert_false(figure_check(f, 3, &holds, &diag));
    assert_int_equal(diag.list[0]->line, 18);
    /* The mean is of all rows: not known without d, which then loses 16 %. */
    assert_true(f->paper_mean[1] == 7 && isnan(f->paper_mean[0]));
    assert_true(isnan(figure_mean(f, 1, 0)));
    /* The paper's mean: what it states, else of its values, if it has all. */
    assert_true(figure_paper_mean(f, 1, 0) == 7);
    f->paper_mean[1] = NAN;
    assert_true(fabs(figure_paper_mean(f, 1, 0) -
                     100 * (pow(1.1 * 1.2 * 0.95, 0.25) - 1)) < 1e-9);
    f->paper[figure_at(e, 3, 1, 0)] = NAN;
    assert_true(isnan(figure_paper_mean(f, 1, 0)));
    assert_true(figure_check(f, 4, &holds, &diag));
    assert_int_equal(holds, -1);
    figure_free(f);
    put(s, e, 3, 1, 120); /* 1.25 * 0.8 * 2 / 1.2, to the power of 1/4: 1.1362 */
    f = figure_make(e, s, &diag);
    assert_true(fabs(figure_mean(f, 1, 0) - 100 * (pow(2.0 / 1.2, 0.25) - 1)) < 1e-9);
    assert_true(figure_check(f, 4, &holds, &diag));
    assert_int_equal(holds, 1);
    /* Values by words, and statements with sums: a +25, b -20, c +100, d -16.67; the paper's 10, 20, -5,
     * 0 (d), 7 (mean). */
    static const struct {
        const char *text;
        double want; /* NaN: refused */
    } words[] = {{"[a, new]", 25},
                 {"paper [a, new]", 10},
                 {"paper [mean, new]", 7},
                 {"[best, new] - [worst, new]", 120},
                 {"paper [best, new] - paper [worst, new]", 25},
                 {"100 * (1 + [a, new] / 50) / [c, new]", 1.5},
                 {"2 - 3 - 4", -5},
                 {"8 / 4 / 2", 1},
                 {"-[b, new] - -1", 21},
                 {"number of ([each, new] > 0)", 2},
                 {"number of ([each, new] > 0 and [each, new] < 50)", 1},
                 {"max(1, 3, 2)", 3},
                 {"2 ^ 3 * 2", 16},
                 {"mean of (2)", 2},
                 {"mean of (max([each, new], 1)) ^ 4", 2500}, /* 25, 1, 100, 1 */
                 {"mean of ([each, new])", NAN}, /* not known: b and d lose */
                 {"max(1", NAN},
                 {"mean of 2", NAN},
                 {"cells", 4},
                 {"cells gain", 4},
                 {"signs gain", 4},
                 {"signs equal gain", 1},
                 {"bounded", 5},
                 {"within", 0},
                 {"rank", -0.8},
                 {"statements", 5},
                 {"held", 2},
                 {"made", 0},
                 {"made held", 0},
                 {"[each, new]", NAN},
                 {"[a, new", NAN},
                 {"[a, nothing]", NAN},
                 {"[nobody, new]", NAN},
                 {"(1", NAN},
                 {"1 2", NAN},
                 {"number of [a, new]", NAN},
                 {"signsgain", NAN},
                 {"", NAN},
                 {"((((((((((((((((((((((1))))))))))))))))))))))", NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        double v = 0;
        const char *wrong = figure_value(f, words[i].text, &v);
        if (isnan(words[i].want) ? !wrong && !isnan(v) : wrong || !(fabs(v - words[i].want) < 1e-9))
            fail_msg("%s: %.17g, %s", words[i].text, v, wrong ? wrong : "understood");
    }
    e->arithmetic = true; /* 25 - 20 + 100 - 16.67, of four */
    assert_true(fabs(figure_mean(f, 1, 0) - (105 - 100.0 / 6) / 4) < 1e-9);
    figure_free(f);
    diag_free(&diag);
    write_file("p.csv", "workload,series,value\na,new,ten\n");
    assert_null(figure_make(e, s, &diag));
    assert_int_equal(diag.list[0]->line, 2);
    store_close(s);
    experiment_free(e);
    diag_free(&diag);
}

static const char steps[] =
    "title: t\n"
    "machine: gtx480\n"
    "paper: p.csv\n"
    "workloads:\n"
    "  - {name: vecadd, label: a, settings: [sm.count=1], per: 10}\n"
    "  - {name: vecadd, label: b, settings: [sm.count=2], rate: 100}\n"
    "  - {name: vecadd, label: c, settings: [sm.count=3], per: 10}\n"
    "  - {name: vecadd, label: d, settings: [sm.count=4]}\n"
    "variants:\n"
    "  - {name: old, settings: [sm.scheduler=lrr]}\n"
    "  - {name: new, settings: [sm.scheduler=gto]}\n"
    "baseline: old\n"
    "metrics: [{name: cost, stat: cycles, as: each}]\n"
    "checks:\n"
    "  - {says: x, that: \"[median off, new] <= 25 and [median off, new] > 24.9\"}\n"
    "  - {says: y, that: \"[median off, new] < 25\"}\n";

/* 50 cycles more in 10 steps are 5 each, 100 bytes in 50 cycles are 2 a cycle; 25 % above 4,
 * as much as 2, half of 10. The row without either, 30 cycles, has nothing beside it. */
static void
each_of_a_difference(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    write_file("p.csv", "workload,series,value,source\na,new,4,Table 1\n"
                        "b,new,2,\"Table 2, second column\"\nc,new,10,Table 3\n");
    struct experiment *e = load(steps);
    struct store *s = store_open(in_dir("each.db"), STORE_WRITE, &diag);
    const int more[4] = {50, 50, 50, 30};
    for (size_t r = 0; r < 4; r++) {
        put(s, e, r, 0, 100);
        put(s, e, r, 1, 100 + more[r]);
    }
    struct figure *f = figure_make(e, s, &diag);
    assert_non_null(f);
    const double want[] = {5, 2, 5, 30}, off[] = {25, 0, -50};
    for (size_t r = 0; r < 4; r++)
        assert_true(fabs(f->ours[figure_at(e, r, 1, 0)] - want[r]) < 1e-9);
    for (size_t r = 0; r < 3; r++)
        assert_true(fabs(figure_off(f, r, 1, 0) - off[r]) < 1e-9);
    assert_true(isnan(figure_off(f, 3, 1, 0)));
    size_t within;
    assert_true(fabs(figure_median_off(f, 1, 1, 0, &within) - 25) < 1e-9);
    assert_int_equal(within, 1);
    f->paper[figure_at(e, 2, 1, 0)] = NAN; /* of two: between them */
    assert_true(fabs(figure_median_off(f, 0, 1, 0, &within) - 12.5) < 1e-9);
    f->paper[figure_at(e, 2, 1, 0)] = 10;
    int holds;
    assert_true(figure_check(f, 0, &holds, &diag));
    assert_int_equal(holds, 1);
    assert_true(figure_check(f, 1, &holds, &diag));
    assert_int_equal(holds, 0);
    figure_free(f);
    store_close(s);
    experiment_free(e);
    refused("title: t\nworkloads:\n  - {name: vecadd, per: 2, rate: 3}\nvariants:\n"
            "  - {name: a}\nmetrics:\n  - {name: ipc}\n",
            3, "covers one of them");
    refused("title: t\nworkloads:\n  - {name: vecadd, per: 0}\nvariants:\n"
            "  - {name: a}\nmetrics:\n  - {name: ipc}\n",
            3, "not a positive number");
}

/* A text behind the arguments stands in place of one of them. */
static void
arguments_are_replaced(void **state)
{
    (void)state;
    struct arena mem = {0};
    struct launch_desc l;
    const char *wrong = NULL;
    const char *const texts[] = {"kernel=k", "grid=1",  "block=32", "arg=buf:64",
                                 "arg=2",    "arg1=60", "arg1=6"};
    assert_true(launch_from_texts(texts, 7, &l, &wrong, &mem));
    assert_int_equal(l.nargs, 2);
    assert_string_equal(l.args[0], "buf:64");
    assert_string_equal(l.args[1], "6");
    const char *const none[] = {"arg=2", "arg1=6"}, *const bare[] = {"arg=2", "arg0"};
    assert_false(launch_from_texts(none, 2, &l, &wrong, &mem));
    assert_string_equal(wrong, "arg1=6");
    assert_false(launch_from_texts(bare, 2, &l, &wrong, &mem));
    arena_free(&mem);
}

/* Speed-ups 100 / 80, 100 / 125 and 100 / 50 of a sweep; its best and worst are not run. */
static void
best_and_worst(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    static const char text[] =
        "title: t\n"
        "machine: gtx480\n"
        "workloads: [{name: vecadd}]\n"
        "variants:\n"
        "  - {name: old}\n"
        "  - {name: worst, worst: sweep}\n"
        "  - {name: sweep, ranges: [{set: sm.count, values: [\"2\", \"3\", \"4\"]}]}\n"
        "  - {name: best, best: sweep}\n"
        "baseline: old\n"
        "metrics: [{name: speedup, stat: cycles, as: speedup}]\n"
        "checks:\n"
        "  - {says: x, that: \"[vecadd, best] < 1.7 * [vecadd, old]\"}\n"
        "  - {says: y, that: \"2.5 * [vecadd, worst] = [vecadd, best]\"}\n"
        "  - {says: bad, that: \"2 * = 6\"}\n";
    struct experiment *e = load(text);
    struct store *s = store_open(in_dir("best.db"), STORE_WRITE, &diag);
    assert_int_equal(e->nseries, 6);
    assert_int_equal(e->nrun, 4);
    assert_null(e->series[0].line); /* a value of no sweep */
    assert_null(e->series[5].line);
    for (size_t k = 2; k < 5; k++) {
        assert_string_equal(e->series[k].line, "sweep");
        assert_string_equal(e->series[k].axis, "sm.count");
        assert_true(e->series[k].at == (double)k);
    }
    static const int cycles[] = {100, 0, 80, 125, 50, 0};
    for (size_t k = 0; k < 6; k++)
        if (cycles[k])
            put(s, e, 0, k, cycles[k]);
    struct figure *f = figure_make(e, s, &diag);
    int holds;
    assert_true(f->ours[0] == 1 && f->ours[1] == 0.8 && f->ours[2] == 1.25 &&
                f->ours[5] == 2);
    assert_true(f->raw[1] == 125 && f->raw[5] == 50);
    assert_true(figure_check(f, 0, &holds, &diag));
    assert_int_equal(holds, 0);
    assert_true(figure_check(f, 1, &holds, &diag));
    assert_int_equal(holds, 1);
    assert_false(figure_check(f, 2, &holds, &diag));
    figure_free(f);
    store_close(s);
    experiment_free(e);
    diag_free(&diag);
    refused(with("name: gto,", "name: gto, best: grr,"), 8, "no variant that is run");
    refused(with("name: gto,", "name: gto, best: lrr,"), 8, "has nothing of its own");
}

/* Two launches of a kernel: 64 threads that executed 640 instructions, 100 threads that
 * executed `more`. */
static void
put_launches(struct store *s, const struct experiment *e, size_t series, int more)
{
    struct diag_sink diag = {0};
    char t[40];
    snprintf(t, sizeof t, "l%zu", series);
    json_t *rec = made_up(e->run[e->cell[series]].key, t, "vecadd", 10, 640);
    json_t *launches = json_object_get(rec, "launches");
    json_object_set_new(json_array_get(launches, 0), "threads", json_integer(64));
    json_array_append_new(launches,
                          json_pack("{s:s, s:f, s:i, s:i, s:i}", "kernel", "vecadd",
                                    "seconds", 0.5, "cycles", 10, "thread_instructions",
                                    more, "threads", 100));
    assert_true(store_add(s, rec, &diag));
    json_decref(rec);
}

static void
instructions_added_per_thread(void **state)
{
    (void)state;
    struct diag_sink diag = {0};
    write_file("p.csv", "workload,series,value,metric\na,new,50,added\na,same,7,added\n"
                        "a,new,0.25,each\n");
    struct experiment *e =
        load("title: t\npaper: p.csv\nworkloads: [{name: vecadd, label: a}]\n"
             "variants:\n"
             "  - {name: old, settings: [sm.count=1]}\n"
             "  - {name: new, settings: [sm.count=2]}\n"
             "  - {name: same, settings: [sm.count=3]}\n"
             "baseline: old\n"
             "metrics:\n"
             "  - {name: added, stat: thread_instructions, as: difference}\n"
             "  - {name: each, stat: instructions_per_thread, as: difference}\n");
    struct store *s = store_open(in_dir("diff.db"), STORE_WRITE, &diag);
    put_launches(s, e, 0, 1000);
    put_launches(s, e, 1, 1041);
    put_launches(s, e, 2, 1000);
    struct figure *f = figure_make(e, s, &diag);
    assert_non_null(f);
    assert_true(f->ours[figure_at(e, 0, 0, 0)] == 0); /* beside itself */
    assert_true(f->ours[figure_at(e, 0, 1, 0)] == 41);
    /* 1640 and 1681 instructions of 164 threads, over both launches. */
    assert_true(fabs(f->ours[figure_at(e, 0, 1, 1)] - 0.25) < 1e-12);
    assert_true(f->ours[figure_at(e, 0, 2, 0)] == 0);
    struct verdict v = figure_verdict(f, 0);
    assert_int_equal(v.cells, 2);
    assert_int_equal(v.equal, 0);
    assert_int_equal(v.signs, 2);
    assert_int_equal(v.signs_equal, 1); /* the paper has more in `same`, we have not */
    assert_true(isnan(v.mean_ours));    /* no mean with a zero */
    assert_true(fabs(figure_verdict(f, 1).mean_ours - 0.25) < 1e-12);
    figure_free(f);
    store_close(s);
    experiment_free(e);
    diag_free(&diag);
}

static int
make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_times_series),
        cmocka_unit_test(registers_by_number_or_kind),
        cmocka_unit_test(ranges_multiply_and_equal_runs_are_shared),
        cmocka_unit_test(keys_differ_with_what_matters),
        cmocka_unit_test(keys_of_ones_own_kernel),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(occupancy_rows_need_no_run),
        cmocka_unit_test(facts_need_no_run),
        cmocka_unit_test(full_params_are_left_out_of_quick_runs),
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(several_writers),
        cmocka_unit_test(opening_waits_for_a_writer),
        cmocka_unit_test(old_stores_are_brought_up_to_date),
        cmocka_unit_test(damaged_stores_are_errors),
        cmocka_unit_test(reading_makes_no_store),
        cmocka_unit_test(the_spool_is_taken_once),
        cmocka_unit_test(verdict_by_hand),
        cmocka_unit_test(each_of_a_difference),
        cmocka_unit_test(arguments_are_replaced),
        cmocka_unit_test(best_and_worst),
        cmocka_unit_test(instructions_added_per_thread),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
