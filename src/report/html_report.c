/* html_report.c: the data of the page as JSON, and the page from its parts (html/). */
#include "report/html_report.h"

#include "experiments/stored_energy.h"
#include "experiments/sweep.h"
#include "base/demangle.h"
#include "base/json.h"
#include "report/figure_report.h"
#include "report/run_charts.h"
#include "stats/stats.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char report_page_html[], report_page_css[], report_page_js[];

#define CHARTJS "/usr/share/javascript/chart.js/chart.min.js"

/* -- figures -- */

static json_t *
real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Values of a metric, a list a row. */
static json_t *
matrix(const struct experiment *e, const double *v, size_t m)
{
    json_t *rows = json_array();
    for (size_t r = 0; r < e->nrow; r++) {
        json_t *row = json_array();
        for (size_t k = 0; k < e->nseries; k++)
            json_array_append_new(row, real(v[figure_at(e, r, k, m)]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *
metrics_json(const struct figure *f, json_t *ours, json_t *paper, json_t *shows,
             json_t *verdicts)
{
    static const char *const as[] = {
#define AS(id, word, value, factor, back, nothing) word,
#include "experiments/comparisons.def"
#undef AS
    };
    const struct experiment *e = f->e;
    json_t *metrics = json_array();
    for (size_t m = 0; m < e->nmetric; m++) {
        const struct exp_metric *x = &e->metric[m];
        struct strbuf verdict = {0};
        json_t *show = json_array();
        for (size_t k = 0; k < e->nseries; k++)
            json_array_append_new(show, json_boolean(figure_shows(f, k, m)));
        figure_verdict_text(f, m, &verdict);
        json_array_append_new(metrics,
                              json_pack("{s:s, s:s, s:s, s:s}", "name", x->name, "label",
                                        x->label, "unit", x->unit, "as", as[x->as]));
        json_array_append_new(ours, matrix(e, f->ours, m));
        json_array_append_new(paper, matrix(e, f->paper, m));
        json_array_append_new(shows, show);
        json_array_append_new(verdicts, json_string(verdict.s ? verdict.s : ""));
        strbuf_free(&verdict);
    }
    return metrics;
}

static json_t *
figure_json(const struct figure *f, const char *name, bool *ok, struct diag_sink *diag)
{
    const struct experiment *e = f->e;
    json_t *rows = json_array(), *workloads = json_array(), *series = json_array(),
           *checks = json_array(), *ours = json_array(), *paper = json_array(),
           *shows = json_array(), *verdicts = json_array(), *means = json_array();
    const char **labels = xcalloc(e->nrow + 1, sizeof *labels);
    double *at = xcalloc(e->nrow + 1, sizeof *at);
    json_t *x = json_array();
    for (size_t r = 0; r < e->nrow; r++)
        labels[r] = e->row[r].label;
    bool sweep = sweep_numbers(labels, e->nrow, false, at);
    for (size_t r = 0; r < e->nrow && sweep; r++)
        json_array_append_new(x, json_real(at[r]));
    free(labels);
    free(at);
    for (size_t m = 0; m < e->nmetric; m++) {
        json_t *one = json_array();
        for (size_t k = 0; k < e->nseries; k++)
            json_array_append_new(one, json_pack("[o, o]", real(figure_mean(f, k, m)),
                                                 real(figure_paper_mean(f, k, m))));
        json_array_append_new(means, one);
    }
    for (size_t r = 0; r < e->nrow; r++) {
        const char *w = e->row[r].workload ? e->row[r].workload : e->row[r].label;
        json_array_append_new(rows, json_text(e->row[r].label));
        json_array_append_new(workloads, json_text(w));
    }
    for (size_t k = 0; k < e->nseries; k++)
        json_array_append_new(
            series, json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:f}", "label",
                              e->series[k].label, "variant", e->series[k].variant,
                              "machine", e->series[k].machine, "line", e->series[k].line,
                              "axis", e->series[k].axis, "at", e->series[k].at));
    for (size_t i = 0; i < e->ncheck; i++) {
        int holds;
        *ok &= figure_check(f, i, &holds, diag);
        json_array_append_new(
            checks, json_pack("{s:s, s:i}", "says", e->check[i].says, "holds", holds));
    }
    json_t *metrics = metrics_json(f, ours, paper, shows, verdicts);
    return json_pack(
        "{s:o, s:b, s:o, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o}",
        "means", means, "arithmetic", e->arithmetic, "sweep", x, "name", json_text(name),
        "title", e->title, "source", e->source, "note", e->note, "metrics", metrics,
        "rows", rows, "workloads", workloads, "series", series, "checks", checks, "ours",
        ours, "paper", paper, "shows", shows, "verdicts", verdicts);
}

/* -- runs -- */

static const char *
text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* Variants of the figures that this run is part of. */
static json_t *
variants(const struct figure *const *figures, size_t n, const char *key)
{
    json_t *all = json_object(), *list = json_array();
    const char *name;
    json_t *unused;
    for (size_t i = 0; i < n; i++) {
        const struct experiment *e = figures[i]->e;
        for (size_t c = 0; c < e->nrow * e->nseries; c++)
            if (e->cell[c] >= 0 && !strcmp(e->run[e->cell[c]].key, key))
                json_object_set_new(all, e->series[c % e->nseries].variant, json_true());
    }
    json_object_foreach(all, name, unused) json_array_append_new(list, json_string(name));
    json_decref(all);
    return list;
}

static json_t *
settings_text(const json_t *run)
{
    struct strbuf b = {0};
    const json_t *a = json_object_get(run, "settings"),
                 *p = json_object_get(run, "params");
    strbuf_addz(&b, "");
    for (size_t i = 0; i < json_array_size(a); i++)
        strbuf_printf(&b, "%s%s", b.n ? " " : "",
                      json_string_value(json_array_get(a, i)));
    for (size_t i = 0; i < json_array_size(p); i++)
        strbuf_printf(&b, "%s%s", b.n ? " " : "",
                      json_string_value(json_array_get(p, i)));
    if (*text(run, "passes"))
        strbuf_printf(&b, "%spasses %s", b.n ? " " : "", text(run, "passes"));
    if (json_is_true(json_object_get(run, "quick")))
        strbuf_printf(&b, "%ssmall input", b.n ? " " : "");
    json_t *j = json_string(b.s);
    strbuf_free(&b);
    return j;
}

enum { SHOWN_NAME = 64 }; /* of a kernel, as in the source */

/* A line for each kernel of the run. */
static void
add_run(json_t *list, const json_t *run, const struct machine *m,
        const struct figure *const *figures, size_t n)
{
    static const char *const shown[] = {"resident_blocks", "cycles",       "ipc",
                                        "l1d_miss_rate",   "l2_miss_rate", "dram_use"};
    json_t *launches = json_object_get(run, "launches"), *l, *v, *vs = NULL;
    size_t count = json_array_size(launches);
    for (size_t first = 0; first < count; first++) {
        const char *kernel = text(json_array_get(launches, first), "kernel"), *id;
        struct launch_stats sum = {0};
        struct energy joules = {0};
        bool known = true;
        size_t k, same = 0;
        bool seen = false;
        for (size_t i = 0; i < first; i++)
            seen |= !strcmp(text(json_array_get(launches, i), "kernel"), kernel);
        if (seen)
            continue;
        json_array_foreach(launches, k, l)
        {
            struct launch_stats one = {0};
            if (strcmp(text(l, "kernel"), kernel))
                continue;
            json_object_foreach(l, id, v) if (json_is_integer(v))
                stats_set(&one, id, (uint64_t)json_integer_value(v));
            stats_add(&sum, &one);
            struct energy e = {0};
            known &= stored_energy(l, m, &e);
            energy_add(&joules, &e);
            same++;
        }
        char *plain = demangle_within(kernel, SHOWN_NAME);
        if (!vs)
            vs = variants(figures, n, text(run, "key"));
        json_t *o = json_pack(
            "{s:O, s:s, s:s, s:s, s:o, s:I, s:s, s:O}", "id", json_object_get(run, "id"),
            "workload", text(run, "workload"), "kernel", plain, "machine",
            text(run, "machine"), "settings", settings_text(run), "launches",
            (json_int_t)same, "started", text(run, "started"), "variants", vs);
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
            double value;
            if (stats_get(&sum, shown[i], NULL, &value))
                json_object_set_new(o, shown[i], real(value));
        }
        struct energy_value value;
        for (size_t i = 0; known && energy_value_at(i, &joules, &value); i++)
            json_object_set_new(o, value.name, real(value.value));
        if (known)
            json_object_set_new(o, "energy_calibrated",
                                json_boolean(energy_calibrated(m)));
        json_array_append_new(list, o);
        free(plain);
    }
    json_decref(vs);
}

static json_t *
runs_json(struct store *s, const struct figure *const *figures, size_t n)
{
    json_t *list = json_array();
    size_t count;
    int64_t *ids =
        store_list(s, &(struct store_filter){.state = "done", .newest = true}, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *run = store_run(s, ids[i]);
        struct machine *m = stored_machine(s, run);
        add_run(list, run, m, figures, n);
        machine_free(m);
        json_decref(run);
    }
    free(ids);
    return list;
}

/* -- charts of kernels -- */

enum { MOST_BARS = 40, MOST_CURVES = 4 };

/* What a run's launches of one kernel add up to, by the newest runs. */
struct kernels {
    VEC(struct run_kernel) v;
    VEC(struct machine *) machines;
    struct arena mem;
};

/* Kernels of a run: a line each, as in add_run. */
static void
collect(struct kernels *k, const json_t *run, const struct machine *m)
{
    json_t *launches = json_object_get(run, "launches"), *l, *v;
    size_t i;
    size_t first = k->v.n;
    json_array_foreach(launches, i, l)
    {
        const char *id;
        char *kernel = demangle_within(text(l, "kernel"), SHOWN_NAME / 2);
        struct launch_stats one = {0};
        struct run_kernel *to = NULL;
        const char *label = arena_printf(
            &k->mem, "%s %s",
            json_is_integer(json_object_get(run, "id"))
                ? arena_printf(&k->mem, "%lld",
                               (long long)json_integer_value(json_object_get(run, "id")))
                : "",
            kernel);
        free(kernel);
        json_object_foreach(l, id, v) if (json_is_integer(v))
            stats_set(&one, id, (uint64_t)json_integer_value(v));
        for (size_t n = first; n < k->v.n; n++)
            if (!strcmp(k->v.v[n].label, label))
                to = &k->v.v[n];
        if (!to) {
            to = vec_push(&k->v);
            to->label = label;
            to->machine = m;
            to->machine_name = arena_strdup(&k->mem, text(run, "machine"));
        }
        stats_add(&to->stats, &one);
    }
}

static uint64_t
counted(const struct launch_stats *s, const char *id)
{
    uint64_t n = 0;
    stats_get(s, id, &n, NULL);
    return n;
}

/* Would their curves be the same? */
static bool
same_occupancy(const struct run_kernel *a, const struct run_kernel *b)
{
    static const char *const demands[] = {"thread_registers", "block_scratchpad"};
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++)
        if (counted(&a->stats, demands[i]) != counted(&b->stats, demands[i]))
            return false;
    return counted(&a->stats, "threads") * counted(&b->stats, "blocks") ==
               counted(&b->stats, "threads") * counted(&a->stats, "blocks") &&
           !strcmp(a->machine_name, b->machine_name) &&
           !strcmp(a->machine->residency.policy, b->machine->residency.policy) &&
           a->machine->residency.threshold == b->machine->residency.threshold;
}

/* Occupancy of the first kernels that differ, over each of the three demands. */
static void
add_curves(json_t *list, struct kernels *k)
{
    size_t drawn[MOST_CURVES], n = 0;
    for (size_t i = 0; i < k->v.n && n < MOST_CURVES; i++) {
        const struct launch_stats *s = &k->v.v[i].stats;
        uint64_t blocks = counted(s, "blocks");
        struct occ_kernel one = {
            .threads = blocks ? (uint32_t)(counted(s, "threads") / blocks) : 0,
            .registers = (uint32_t)counted(s, "thread_registers"),
            .scratchpad = (uint32_t)counted(s, "block_scratchpad")};
        const struct machine *m = k->v.v[i].machine;
        bool seen = !one.threads || !m;
        for (size_t j = 0; j < n && !seen; j++)
            seen = same_occupancy(&k->v.v[drawn[j]], &k->v.v[i]);
        if (seen)
            continue;
        for (int over = 0; over < NOVER; over++) {
            struct chart c =
                charts_residency(m, &one, (enum occupancy_over)over, &k->mem);
            c.title = arena_printf(&k->mem, "%s: %s", k->v.v[i].label, c.title);
            json_array_append_new(list, chart_json(&c));
        }
        drawn[n++] = i;
    }
}

/* Stall causes of all, a roofline of each machine, occupancy curves. */
static json_t *
charts_json(struct store *s)
{
    struct kernels k = {0};
    json_t *stalls = json_array(), *roofs = json_array(), *curves = json_array();
    size_t count;
    int64_t *ids =
        store_list(s, &(struct store_filter){.state = "done", .newest = true}, &count);
    for (size_t i = count; i-- > 0 && k.v.n < MOST_BARS;) { /* the newest first */
        json_t *run = store_run(s, ids[i]);
        struct machine *m = stored_machine(s, run);
        *vec_push(&k.machines) = m;
        collect(&k, run, m);
        json_decref(run);
    }
    free(ids);
    if (k.v.n > MOST_BARS)
        k.v.n = MOST_BARS;
    if (k.v.n) {
        struct chart c = charts_stalls(k.v.v, k.v.n, &k.mem);
        json_array_append_new(stalls, chart_json(&c));
    }
    struct run_kernel *same = xcalloc(k.v.n + 1, sizeof *same);
    for (size_t i = 0; i < k.v.n; i++) {
        size_t n = 0;
        bool seen = !k.v.v[i].machine;
        for (size_t j = 0; j < k.v.n; j++) {
            bool equal = !strcmp(k.v.v[j].machine_name, k.v.v[i].machine_name);
            seen |= equal && j < i;
            if (equal && k.v.v[j].machine)
                same[n++] = k.v.v[j];
        }
        if (seen || !n)
            continue;
        struct chart c = charts_roofline(same, n, &k.mem);
        json_array_append_new(roofs, chart_json(&c));
    }
    free(same);
    add_curves(curves, &k);
    for (size_t i = 0; i < k.machines.n; i++)
        machine_free(k.machines.v[i]);
    vec_free(&k.machines);
    vec_free(&k.v);
    arena_free(&k.mem);
    return json_pack("[{s:s, s:s, s:o}, {s:s, s:s, s:o}, {s:s, s:s, s:o}]", "title",
                     "Stall causes", "note",
                     "Where the issue slots went, a bar a kernel, the newest runs first "
                     "(docs/looking.md).",
                     "charts", stalls, "title", "Roofline", "note",
                     "Below the slope DRAM limits a kernel, below the flat part issue.",
                     "charts", roofs, "title", "Occupancy", "note",
                     "Resident warps if one demand of the kernel were another: for the "
                     "newest kernels that differ.",
                     "charts", curves);
}

static json_t *
colours_json(const char *const *v)
{
    json_t *list = json_array();
    for (int i = 0; i < CHART_COLOURS; i++)
        json_array_append_new(list, json_string(v[i]));
    return list;
}

/* -- the page -- */

/* JSON within a script element: no "<" may stand in it. */
static void
add_json(struct strbuf *out, const json_t *j)
{
    char *dump = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(10));
    for (const char *p = dump; *p;) {
        size_t k = strcspn(p, "<");
        strbuf_add(out, p, k);
        p += k;
        if (*p) {
            strbuf_addz(out, "\\u003c");
            p++;
        }
    }
    free(dump);
}

/* The library; "" and a warning where it is not. */
static char *
chartjs(struct diag_sink *diag)
{
    const char *path = getenv("ALLOT_CHARTJS");
    char *code = file_read(path && *path ? path : CHARTJS, NULL);
    if (code && !strstr(code, "</script"))
        return code;
    free(code);
    struct diag *d = diag_add(diag, DIAG_WARNING, NULL,
                              "the report has no charts: Chart.js is not installed");
    diag_hint(diag, d,
              "Debian package libjs-chart.js, or the path of chart.min.js in "
              "$ALLOT_CHARTJS");
    return xstrdup("");
}

bool
html_report(const struct figure *const *figures, const char *const *names, size_t n,
            struct store *s, struct strbuf *out, struct diag_sink *diag)
{
    bool ok = true;
    char now[24], *charts = chartjs(diag);
    struct strbuf about = {0}, json = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, figure_json(figures[i], names[i], &ok, diag));
    run_now(now);
    strbuf_printf(&about, "allot %s, %s", run_version(), now);
    json_t *data =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "about", about.s, "figures", list,
                  "runs", runs_json(s, figures, n), "charts", charts_json(s), "colours",
                  colours_json(chart_colours), "pale", colours_json(chart_pale));
    add_json(&json, data);
    const struct {
        const char *mark, *text;
    } parts[] = {{"@CSS@", report_page_css},
                 {"@DATA@", json.s},
                 {"@CHARTS@", charts},
                 {"@JS@", report_page_js}};
    const char *p = report_page_html;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { /* in the page's order */
        const char *at = strstr(p, parts[i].mark);
        strbuf_add(out, p, (size_t)(at - p));
        strbuf_addz(out, parts[i].text);
        p = at + strlen(parts[i].mark);
    }
    strbuf_addz(out, p);
    json_decref(data);
    strbuf_free(&about);
    strbuf_free(&json);
    free(charts);
    return ok;
}
