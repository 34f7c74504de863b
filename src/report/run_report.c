/* run_report.c: stored runs as text, tables, CSV and JSON (run_report.h). */
#include "report/run_report.h"

#include "allot/allot.h"
#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"
#include "experiments/stored_energy.h"
#include "report/figure_report.h"
#include "report/table.h"
#include "stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *
text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* A list's items with blanks between. */
static void
joined(const json_t *o, const char *key, struct strbuf *b)
{
    const json_t *a = json_object_get(o, key);
    for (size_t i = 0; i < json_array_size(a); i++)
        strbuf_printf(b, "%s%s", b->n ? " " : "",
                      json_string_value(json_array_get(a, i)));
}

static uint64_t
total_cycles(const json_t *run)
{
    uint64_t sum = 0;
    size_t i;
    json_t *l;
    json_array_foreach(json_object_get(run, "launches"), i, l) sum +=
        (uint64_t)json_integer_value(json_object_get(l, "cycles"));
    return sum;
}

/* Ids of the runs that a filter chooses; NULL: the store is damaged. */
static int64_t *
chosen(struct store *s, const struct store_filter *filter, size_t *n)
{
    int64_t *ids = store_list(s, filter, n);
    if (store_good(s))
        return ids;
    free(ids);
    return NULL;
}

/* What was chosen for a run: the small input, settings, passes, parameters, blanks between. */
static char *
choices(const json_t *run)
{
    struct strbuf b = {0};
    if (json_is_true(json_object_get(run, "quick")))
        strbuf_addz(&b, "quick");
    joined(run, "settings", &b);
    if (*text(run, "passes"))
        strbuf_printf(&b, "%spasses=%s", b.n ? " " : "", text(run, "passes"));
    joined(run, "params", &b);
    return strbuf_take(&b);
}

/* Is the word of n characters one of the words of a text? */
static bool
has_word(const char *words, const char *word, size_t n)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && !strncmp(at, word, n))
            return true;
    return false;
}

/* The words of `words` that all of the n texts have, or those that they do not. */
static char *
words_in_all(const char *words, char *const *texts, size_t n, bool in_all)
{
    struct strbuf b = {0};
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t len = strcspn(at, " "), k = 0;
        while (k < n && has_word(texts[k], at, len))
            k++;
        if (len && (k == n) == in_all)
            strbuf_printf(&b, "%s%.*s", b.n ? " " : "", (int)len, at);
    }
    return strbuf_take(&b);
}

static void
list_row(struct table *t, int64_t id, const json_t *run, const char *settings)
{
    char b[32];
    table_cell(t, "%lld", (long long)id);
    table_cell(t, "%s", text(run, "state"));
    table_cell(t, "%s", text(run, "workload"));
    table_cell(t, "%s", text(run, "machine"));
    table_cell(t, "%s", settings);
    table_cell(t, "%zu", json_array_size(json_object_get(run, "launches")));
    table_cell(t, "%s", table_thousands(b, total_cycles(run)));
    const char *at = text(run, "started"); /* 2026-11-28T17:36:53Z: month to minute */
    table_cell(t, "%.11s", strlen(at) > 16 ? at + 5 : at);
}

/* At most 100 columns: settings that all runs have stand once, below; what is left is wrapped. */
bool
run_report_list(struct store *s, const struct store_filter *filter, FILE *out)
{
    enum { WIDE = 100, SETTINGS = 4 };
    size_t n;
    int64_t *ids = chosen(s, filter, &n);
    if (!ids)
        return false;
    struct table *t =
        table_new(8, (const char *const[]){"run", "state", "workload", "machine",
                                           "settings", "launches", "cycles", "started"});
    json_t **run = xcalloc(n + 1, sizeof *run);
    char **chosen_for = xcalloc(n + 1, sizeof *chosen_for);
    for (size_t i = 0; i < n; i++) {
        run[i] = store_run(s, ids[i]);
        chosen_for[i] = choices(run[i]);
    }
    for (size_t i = 0; i < n; i++) {
        char *own = words_in_all(chosen_for[i], chosen_for, n, n == 1);
        list_row(t, ids[i], run[i], own ? own : "");
        free(own);
    }
    table_wrap(t, SETTINGS, WIDE);
    if (n)
        table_show(t, out);
    else
        fprintf(out, "no runs in %s\n", store_path(s));
    char *common = n > 1 ? words_in_all(chosen_for[0], chosen_for, n, true) : NULL;
    if (common && *common) {
        struct strbuf clean = {0};
        strbuf_visible(&clean, common, 10000);
        fprintf(out, "\nall of them: %s\n", clean.s);
        strbuf_free(&clean);
    }
    free(common);
    for (size_t i = 0; i < n; i++) {
        json_decref(run[i]);
        free(chosen_for[i]);
    }
    free(run);
    free(chosen_for);
    table_free(t);
    free(ids);
    return true;
}

static bool
launch_stats_of(const json_t *launch, struct launch_stats *st)
{
    const char *id;
    json_t *v;
    memset(st, 0, sizeof *st);
    json_object_foreach((json_t *)launch, id, v) if (json_is_integer(v))
        stats_set(st, id, (uint64_t)json_integer_value(v));
    return true;
}

static const char *const facts[] = {
    "key",      "state",      "message", "workload", "machine",  "machine_hash",
    "settings", "params",     "passes",  "compiler", "ptx_hash", "seed",
    "quick",    "max_cycles", "version", "host",     "started",  "seconds"};
enum { NFACTS = sizeof facts / sizeof *facts };

enum { MAX_FACT = 10000 };

/* As a terminal may show it: anyone may have written the store. */
static void
fact(const json_t *run, const char *name, struct strbuf *b)
{
    const json_t *v = json_object_get(run, name);
    struct strbuf raw = {0};
    b->n = 0;
    strbuf_addz(&raw, "");
    if (json_is_array(v))
        joined(run, name, &raw);
    else if (json_is_string(v))
        strbuf_addz(&raw, json_string_value(v));
    else if (json_is_integer(v))
        strbuf_printf(&raw, "%lld", (long long)json_integer_value(v));
    else if (json_is_boolean(v))
        strbuf_addz(&raw, json_is_true(v) ? "yes" : "no");
    else if (json_is_real(v))
        strbuf_printf(&raw, "%.3f", json_real_value(v));
    strbuf_visible(b, raw.s, MAX_FACT);
    strbuf_free(&raw);
}

/* A setting's value as in a machine file, as a terminal may show it; in b. */
static const char *
setting_text(const json_t *v, struct strbuf *b)
{
    b->n = 0;
    if (json_is_integer(v))
        strbuf_printf(b, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        strbuf_printf(b, "%.15g", json_real_value(v));
    else if (json_is_boolean(v))
        strbuf_addz(b, json_is_true(v) ? "true" : "false");
    else
        strbuf_visible(b, json_is_string(v) ? json_string_value(v) : "", MAX_FACT);
    return b->s;
}

static void
show_machine(const json_t *machine, FILE *out)
{
    struct allot_setting_info info;
    struct strbuf b = {0};
    fprintf(out, "\nmachine\n");
    for (size_t i = 0; allot_setting(i, &info); i++) {
        const json_t *v = json_object_get(machine, info.path);
        if (v)
            fprintf(out, "  %-32s %s\n", info.path, setting_text(v, &b));
    }
    strbuf_free(&b);
}

/* The launch gets an object "energy" where its energy is known. */
static void
add_energy(json_t *launch, const struct machine *m)
{
    struct energy e;
    struct energy_value v;
    if (!stored_energy(launch, m, &e))
        return;
    json_t *o =
        json_pack("{s:s, s:b}", "model", machine_words_energy_model[m->energy.model],
                  "calibrated", energy_calibrated(m));
    for (size_t i = 0; energy_value_at(i, &e, &v); i++)
        json_object_set_new(o, v.name, json_real(v.value));
    json_object_set_new(launch, "energy", o);
}

static void
show_run(struct store *s, const json_t *run, FILE *out)
{
    json_t *machine = store_machine(s, text(run, "machine_hash")), *l;
    struct machine *described = stored_machine(s, run);
    size_t k;
    struct strbuf b = {0};
    fprintf(out, "run %lld\n", (long long)json_integer_value(json_object_get(run, "id")));
    for (size_t f = 0; f < NFACTS; f++) {
        fact(run, facts[f], &b);
        if (*b.s)
            fprintf(out, "  %-14s %s\n", facts[f], b.s);
    }
    if (machine)
        show_machine(machine, out);
    json_array_foreach(json_object_get(run, "launches"), k, l)
    {
        struct launch_stats st;
        launch_stats_of(l, &st);
        fact(l, "kernel", &b);
        fprintf(out, "\nlaunch %zu: %s\n", k + 1, b.s);
        b.n = 0;
        stats_text(&st, false, &b);
        fputs(b.s ? b.s : "", out);
        struct energy e;
        struct energy_value v;
        if (stored_energy(l, described, &e))
            for (size_t n = 0; energy_value_at(n, &e, &v); n++)
                fprintf(out, "  %-32s %20.6g  %s\n", v.name, v.value, v.unit);
    }
    strbuf_free(&b);
    machine_free(described);
    json_decref(machine);
}

/* As JSON: what a run (store_run) lacks of it is added. */
static void
complete(struct store *s, json_t *run)
{
    json_t *machine = store_machine(s, text(run, "machine_hash")), *l;
    struct machine *described = stored_machine(s, run);
    size_t k;
    if (machine)
        json_object_set_new(run, "machine_settings", machine);
    json_array_foreach(json_object_get(run, "launches"), k, l) add_energy(l, described);
    machine_free(described);
}

/* The run that a user means; NULL and a diagnostic. */
static json_t *
find(struct store *s, const char *name, struct diag_sink *diag)
{
    json_t *run = store_run_named(s, name);
    if (!run)
        diag_error(diag, "%s holds no run '%s' ('allot results list')", store_path(s),
                   name);
    return run;
}

bool
run_report_show(struct store *s, const char *const *names, size_t n, const char *json,
                FILE *out, struct diag_sink *diag)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        json_t *run = find(s, names[i], diag);
        ok = run != NULL;
        if (ok && json) {
            complete(s, run);
            ok = json_put(json, run, JSON_INDENT(2), out, diag);
        } else if (ok) {
            fputs(i ? "\n" : "", out);
            show_run(s, run, out);
        }
        json_decref(run);
    }
    return ok;
}

/* Sums of a run's launches of one kernel. */
static bool
kernel_sum(const json_t *run, const char *kernel, struct launch_stats *sum, size_t *n)
{
    size_t i;
    json_t *l;
    *n = 0;
    memset(sum, 0, sizeof *sum);
    json_array_foreach(json_object_get(run, "launches"), i, l)
    {
        struct launch_stats one;
        if (strcmp(text(l, "kernel"), kernel))
            continue;
        launch_stats_of(l, &one);
        stats_add(sum, &one);
        (*n)++;
    }
    return *n > 0;
}

/* A counter in two runs, and how far it moved: the difference over the larger of the two. */
struct moved {
    struct allot_stat_info info;
    uint64_t count[2];
    double value[2], effect;
    size_t row; /* of the counter: the order of equals */
};

static int
by_effect(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    return x->effect != y->effect ? (x->effect < y->effect) - (x->effect > y->effect)
                                  : (x->row > y->row) - (x->row < y->row);
}

static void
moved_row(struct table *t, const struct moved *m)
{
    double va = m->value[0], vb = m->value[1];
    table_cell(t, "%s", m->info.id);
    if (m->info.derived) {
        table_cell(t, "%.6g", va);
        table_cell(t, "%.6g", vb);
        table_cell(t, "%+.6g", vb - va);
    } else {
        table_cell(t, "%" PRIu64, m->count[0]);
        table_cell(t, "%" PRIu64, m->count[1]);
        table_cell(t, "%+" PRId64, (int64_t)(m->count[1] - m->count[0]));
    }
    if (va != 0)
        table_cell(t, "%+.2f %%", 100 * (vb / va - 1));
    else
        table_cell(t, "new");
}

/* One line: cycles, and the cause of issue slots whose share moved most. */
static void
verdict(const struct launch_stats *a, const struct launch_stats *b, FILE *out)
{
    uint64_t cycles[2], slots[2], n[2];
    stats_get(a, "cycles", &cycles[0], NULL);
    stats_get(b, "cycles", &cycles[1], NULL);
    if (!cycles[0] || !cycles[1])
        return;
    double change = 100 * ((double)cycles[1] / (double)cycles[0] - 1);
    if (cycles[0] == cycles[1])
        fprintf(out, "B takes as many cycles as A");
    else
        fprintf(out, "B takes %.2f %% %s cycles than A", fabs(change),
                change < 0 ? "fewer" : "more");
    stats_get(a, "issue_slots", &slots[0], NULL);
    stats_get(b, "issue_slots", &slots[1], NULL);
    const char *id, *word, *meaning, *most = NULL;
    double share[2] = {0}, from = 0, to = 0;
    for (size_t i = 0; slots[0] && slots[1] && allot_issue_cause(i, &id, &word, &meaning);
         i++) {
        stats_get(a, id, &n[0], NULL);
        stats_get(b, id, &n[1], NULL);
        for (int k = 0; k < 2; k++)
            share[k] = 100 * (double)n[k] / (double)slots[k];
        if (fabs(share[1] - share[0]) > fabs(to - from))
            most = word, from = share[0], to = share[1];
    }
    if (most)
        fprintf(out, "; of the issue slots, '%s' moved most: %.1f to %.1f %%", most, from,
                to);
    fprintf(out, "\n");
}

static void
diff_kernel(const json_t *a, const json_t *b, const char *kernel, FILE *out)
{
    struct launch_stats x, y;
    size_t na, nb;
    bool in_a = kernel_sum(a, kernel, &x, &na), in_b = kernel_sum(b, kernel, &y, &nb);
    struct strbuf name = {0};
    strbuf_visible(&name, kernel, MAX_FACT);
    if (!in_a || !in_b)
        fprintf(out, "\n%s: only in run %s\n", name.s, in_a ? "A" : "B");
    else
        fprintf(out, "\n%s (%zu and %zu launches)\n", name.s, na, nb);
    strbuf_free(&name);
    if (!in_a || !in_b)
        return;
    verdict(&x, &y, out);
    struct table *t =
        table_new(5, (const char *const[]){"counter", "A", "B", "B - A", "B / A - 1"});
    VEC(struct moved) moved = {0};
    struct moved one = {0};
    for (; stats_info(one.row, &one.info); one.row++) {
        stats_get(&x, one.info.id, &one.count[0], &one.value[0]);
        stats_get(&y, one.info.id, &one.count[1], &one.value[1]);
        double p = fabs(one.value[0]), q = fabs(one.value[1]);
        one.effect = fabs(one.value[1] - one.value[0]) / (p > q ? p : q);
        if (one.value[0] != one.value[1] || one.count[0] != one.count[1])
            *vec_push(&moved) = one;
    }
    if (moved.n)
        qsort(moved.v, moved.n, sizeof *moved.v, by_effect);
    for (size_t i = 0; i < moved.n; i++)
        moved_row(t, &moved.v[i]);
    if (moved.n)
        table_show(t, out);
    else
        fprintf(out, "every counter is the same\n");
    vec_free(&moved);
    table_free(t);
}

/* Settings in which two machines differ. */
static void
diff_machines(const json_t *a, const json_t *b, FILE *out)
{
    struct table *t = table_new(3, (const char *const[]){"setting", "A", "B"});
    struct allot_setting_info info;
    struct strbuf text = {0};
    size_t n = 0;
    for (size_t i = 0; allot_setting(i, &info); i++) {
        const json_t *x = json_object_get(a, info.path),
                     *y = json_object_get(b, info.path);
        if (json_equal(x, y))
            continue;
        table_cell(t, "%s", info.path);
        table_cell(t, "%s", x ? setting_text(x, &text) : "(none)");
        table_cell(t, "%s", y ? setting_text(y, &text) : "(none)");
        n++;
    }
    if (n) {
        fprintf(out, "\n");
        table_show(t, out);
    }
    strbuf_free(&text);
    table_free(t);
}

static void
diff_runs(struct store *s, const json_t *a, const json_t *b, FILE *out)
{
    struct strbuf x = {0}, y = {0};
    for (size_t f = 0; f < NFACTS; f++) {
        fact(a, facts[f], &x);
        fact(b, facts[f], &y);
        if (strcmp(x.s, y.s))
            fprintf(out, "%-14s A: %s\n%-14s B: %s\n", facts[f], x.s, "", y.s);
    }
    strbuf_free(&x);
    strbuf_free(&y);
    json_t *ma = store_machine(s, text(a, "machine_hash")),
           *mb = store_machine(s, text(b, "machine_hash"));
    if (ma && mb)
        diff_machines(ma, mb, out);
    json_decref(ma);
    json_decref(mb);
    VEC(const char *) seen = {0};
    for (int side = 0; side < 2; side++) {
        size_t i;
        json_t *l;
        json_array_foreach(json_object_get(side ? b : a, "launches"), i, l)
        {
            const char *k = text(l, "kernel");
            bool old = false;
            for (size_t n = 0; n < seen.n; n++)
                old |= !strcmp(seen.v[n], k);
            if (old)
                continue;
            *vec_push(&seen) = k;
            diff_kernel(a, b, k, out);
        }
    }
    vec_free(&seen);
}

bool
run_report_diff(struct store *s, const char *const names[2], FILE *out,
                struct diag_sink *diag)
{
    json_t *a = find(s, names[0], diag), *b = a ? find(s, names[1], diag) : NULL;
    const bool both = b != NULL;
    if (both)
        diff_runs(s, a, b, out);
    json_decref(a);
    json_decref(b);
    return both;
}

static void
export_launch(const json_t *run, const json_t *l, const char *settings, size_t number,
              struct strbuf *out)
{
    static const char *const columns[] = {
        "workload", "machine", "machine_hash", "settings", "params", "passes", "compiler",
        "ptx_hash", "seed",    "quick",        "version",  "host",   "started"};
    struct strbuf b = {0};
    struct launch_stats st;
    struct allot_setting_info info;
    if (!run) {
        strbuf_addz(out, "run,launch,kernel,seconds");
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            strbuf_printf(out, ",%s", columns[i]);
        strbuf_addz(out, ",");
        stats_csv_header(out);
        for (size_t i = 0; allot_setting(i, &info); i++)
            strbuf_printf(out, ",%s", info.path);
        strbuf_addz(out, "\n");
        return;
    }
    strbuf_printf(out, "%lld,%zu,",
                  (long long)json_integer_value(json_object_get(run, "id")), number);
    csv_field(out, text(l, "kernel"));
    strbuf_printf(out, ",%.6f", json_number_value(json_object_get(l, "seconds")));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fact(run, columns[i], &b);
        strbuf_addz(out, ",");
        csv_field(out, b.s);
    }
    launch_stats_of(l, &st);
    strbuf_addz(out, ",");
    stats_csv_row(&st, out);
    strbuf_addz(out, settings);
    strbuf_addz(out, "\n");
    strbuf_free(&b);
}

/* A machine's columns; empty ones for NULL. */
static void
export_settings(const json_t *machine, struct strbuf *out)
{
    struct allot_setting_info info;
    struct strbuf b = {0};
    out->n = 0;
    for (size_t i = 0; allot_setting(i, &info); i++) {
        strbuf_addz(out, ",");
        csv_field(out, setting_text(json_object_get(machine, info.path), &b));
    }
    strbuf_free(&b);
}

/* CSV into out, and as JSON. */
static json_t *
export_runs(struct store *s, const int64_t *ids, size_t n, struct strbuf *out)
{
    struct strbuf settings = {0};
    json_t *all = json_array(), *machine = NULL;
    char *hash = NULL; /* of machine: runs on one follow each other */
    export_launch(NULL, NULL, NULL, 0, out);
    for (size_t i = 0; i < n; i++) {
        json_t *run = store_run(s, ids[i]), *l;
        size_t k;
        if (!hash || strcmp(hash, text(run, "machine_hash"))) {
            free(hash);
            json_decref(machine);
            hash = xstrdup(text(run, "machine_hash"));
            machine = store_machine(s, hash);
            export_settings(machine, &settings);
        }
        json_array_foreach(json_object_get(run, "launches"), k, l)
            export_launch(run, l, settings.s, k + 1, out);
        if (machine)
            json_object_set(run, "machine_settings", machine);
        json_array_append_new(all, run);
    }
    json_decref(machine);
    free(hash);
    strbuf_free(&settings);
    return all;
}

bool
run_report_export(struct store *s, const struct store_filter *filter, const char *csv,
                  const char *json, FILE *out, struct diag_sink *diag)
{
    size_t n;
    int64_t *ids = chosen(s, filter, &n);
    if (!ids)
        return false;
    struct strbuf text = {0};
    json_t *all = export_runs(s, ids, n, &text);
    bool ok = store_good(s); /* all of it or nothing */
    if (ok && json)
        ok = json_put(json, all, JSON_INDENT(1), out, diag);
    if (ok && (csv || !json))
        ok = file_put(csv ? csv : "-", text.s, text.n, out, diag);
    json_decref(all);
    strbuf_free(&text);
    free(ids);
    return ok;
}

void
run_report_plan(struct store *s, const struct experiment *e, FILE *out)
{
    static const char *const words[] = {"missing", "stored", "failed"};
    for (size_t i = 0; i < e->nrun; i++) {
        const struct exp_run *r = &e->run[i];
        fprintf(out, "%-8s %s %s on %s", words[store_find(s, r->key, NULL)], r->key,
                r->workload, r->machine);
        for (size_t k = 0; k < r->nsettings; k++)
            fprintf(out, " %s", r->settings[k]);
        fprintf(out, "%s%s\n", *r->passes ? " passes " : "", r->passes);
    }
}
