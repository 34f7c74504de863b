/* cmd_compare.c: allot compare: workloads under several variants; the first is the
 * reference. */
#include "cli/cli.h"
#include "cli/energy.h"
#include "cli/runs.h"

#include "base/diag.h"
#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *settings, *meaning;
} named[] = {
#define VARIANT(name, settings, meaning) {name, settings, meaning},
#include "cli/variants.def"
#undef VARIANT
};
enum { NNAMED = sizeof named / sizeof *named, MAX_VARIANTS = 16 };

struct variant {
    const char *name, *settings;
};

/* Sums over the launches that the workload says count. */
struct cell {
    bool ran, ok;
    uint64_t cycles, warp, thread, blocks, pairs, baseline;
    double ipc, seconds;
    struct energy energy;
};

static void
list_variants(void)
{
    struct table *t =
        table_new(3, (const char *const[]){"variant", "meaning", "settings"});
    for (size_t i = 0; i < NNAMED; i++) {
        table_cell(t, "%s", named[i].name);
        table_cell(t, "%s", named[i].meaning);
        table_cell(t, "%s", named[i].settings);
    }
    table_show(t, stdout);
    printf("\nA variant of your own: NAME:PATH=VALUE[+PATH=VALUE...]\n");
    table_free(t);
}

/* "a,b,mine:sm.scheduler=gto+l1d.sets=64" */
static int
parse_variants(const char *text, struct variant v[MAX_VARIANTS],
               const struct cli_cmd *cmd)
{
    char *copy = arena_strdup(cli_mem(), text), *save;
    int n = 0;
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (n == MAX_VARIANTS)
            return cli_usage(cmd, "--variants: at most %d", MAX_VARIANTS), -1;
        char *colon = strchr(p, ':');
        if (colon) {
            *colon = 0;
            v[n++] = (struct variant){p, colon + 1};
            continue;
        }
        size_t i = 0;
        while (i < NNAMED && strcmp(named[i].name, p))
            i++;
        if (i == NNAMED)
            return cli_usage(cmd, "no variant is called '%s' (--list-variants)", p), -1;
        v[n++] = (struct variant){named[i].name, named[i].settings};
    }
    return n ? n : (cli_usage(cmd, "--variants: name at least one"), -1);
}

static bool
apply(struct allot_machine *m, const struct variant *v, struct allot_diag *d)
{
    char *copy = xstrdup(v->settings), *save;
    bool ok = true;
    for (char *p = strtok_r(copy, "+", &save); ok && p; p = strtok_r(NULL, "+", &save)) {
        char *eq = strchr(p, '=');
        if (!eq) {
            fprintf(stderr, "allot: variant %s: '%s' is not PATH=VALUE\n", v->name, p);
            ok = false;
            break;
        }
        *eq = 0;
        ok = allot_machine_set(m, p, eq + 1, d);
    }
    free(copy);
    return ok;
}

/* Blank-separated list contains the name; an empty list contains all. */
static bool
counts(const char *kernels, const char *name)
{
    size_t n = strlen(name);
    if (!kernels || !*kernels)
        return true;
    for (const char *p = kernels; (p = strstr(p, name)); p += n)
        if ((p == kernels || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

/* False: the energies of a launch do not add up. */
static bool
sum(struct cell *c, const struct allot_workload *w, const struct allot_device *dev,
    const struct allot_machine *m)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        if (!counts(w->kernels, allot_result_kernel(r)))
            continue;
        uint64_t v;
        const struct {
            const char *id;
            uint64_t *to;
        } add[] = {{"cycles", &c->cycles},
                   {"warp_instructions", &c->warp},
                   {"thread_instructions", &c->thread}},
          max[] = {{"resident_blocks", &c->blocks},
                   {"shared_pairs", &c->pairs},
                   {"baseline_blocks", &c->baseline}};
        for (size_t k = 0; k < 3; k++) {
            if (allot_result_get(r, add[k].id, &v, NULL))
                *add[k].to += v;
            if (allot_result_get(r, max[k].id, &v, NULL) && v > *max[k].to)
                *max[k].to = v;
        }
        c->seconds += allot_result_seconds(r);
        struct energy e;
        ok &= cli_energy(r, m, &e);
        energy_add(&c->energy, &e);
    }
    c->ipc = c->cycles ? (double)c->thread / (double)c->cycles : 0;
    return ok;
}

/* The variant's settings come last, as they were applied. */
static bool
store_cell(const struct cli_sim *s, const char *db, const struct allot_workload *w,
           const struct variant *v, const struct cell *c, const char *why,
           const struct allot_machine *m, struct allot_module *mod,
           const struct allot_device *dev)
{
    size_t n;
    const char *const *base = cli_sim_settings(s, &n);
    const char **all = ARENA_ARRAY(cli_mem(), const char *, n + strlen(v->settings));
    char *copy = arena_strdup(cli_mem(), v->settings), *save;
    memcpy(all, base, n * sizeof *all);
    for (char *p = strtok_r(copy, "+", &save); p; p = strtok_r(NULL, "+", &save))
        all[n++] = p;
    struct cli_ran ran = {.db = db,
                          .workload = w->name,
                          .sim = s,
                          .settings = all,
                          .nsettings = n,
                          .seconds = c->seconds,
                          .ok = c->ok,
                          .message = c->ok  ? ""
                                     : *why ? why
                                            : "did not run to its end"};
    ran.mod = mod;
    ran.dev = dev;
    return cli_store_run(&ran, m);
}

static bool
run_cell(const struct cli_cmd *cmd, const struct cli_sim *s, const char *db,
         const struct allot_workload *w, const struct variant *v, struct cell *c)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_options o;
    char label[96];
    snprintf(label, sizeof label, "%s %s", w->name, v->name);
    uint64_t seed = 0; /* checked by cmd_compare */
    struct allot_machine *m = NULL;
    struct allot_module *mod = NULL;
    struct allot_device *dev = NULL;
    bool ready = cli_u64(s->seed, 0, UINT32_MAX, &seed) &&
                 cli_sim_run_options(cmd, s, &o, label) && (m = cli_sim_machine(s, d)) &&
                 apply(m, v, d) && (mod = cli_workload_module(w, s->compiler, d)) &&
                 (dev = cli_sim_device(s, m, &o, d));
    if (ready) {
        char why[256] = "";
        c->ran = true;
        c->ok = allot_workload_run(w, dev, mod, s->quick, (uint32_t)seed, why, d);
        cli_progress_end();
        if (!c->ok && cli_interrupted())
            c->ran = false;
        else if (!c->ok)
            fprintf(stderr, "allot: %s under %s: %s%s\n", w->name, v->name,
                    *why ? "check failed: " : "did not run to its end", why);
        c->ok &= sum(c, w, dev, m);
        if (c->ran)
            ready = store_cell(s, db, w, v, c, why, m, mod, dev);
    }
    cli_diag(d);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ready && c->ok;
}

static void
print_text(const struct cell *cells, const struct allot_workload *const *w, size_t nw,
           const struct variant *v, size_t nv)
{
    char gain_title[64], b[32];
    snprintf(gain_title, sizeof gain_title, "IPC vs %s", v[0].name);
    struct table *t =
        table_new(8, (const char *const[]){"workload", "variant", "blocks/SM", "pairs",
                                           "cycles", "IPC", gain_title, "check"});
    for (size_t i = 0; i < nw; i++) {
        if (i)
            table_rule(t);
        for (size_t k = 0; k < nv; k++) {
            const struct cell *c = &cells[i * nv + k], *ref = &cells[i * nv];
            table_cell(t, "%s", k ? "" : w[i]->name);
            table_cell(t, "%s", v[k].name);
            if (!c->ran) {
                for (int dash = 0; dash < 5; dash++)
                    table_cell(t, "-");
                table_cell(t, "not run");
                continue;
            }
            table_cell(t, "%llu", (unsigned long long)c->blocks);
            table_cell(t, "%llu", (unsigned long long)c->pairs);
            table_cell(t, "%s", table_thousands(b, c->cycles));
            table_cell(t, "%.2f", c->ipc);
            if (!k || !ref->ok || !c->ok || ref->ipc <= 0)
                table_cell(t, "-");
            else
                table_cell(t, "%+.2f %%", 100 * (c->ipc / ref->ipc - 1));
            table_cell(t, "%s", c->ok ? "passed" : "FAILED");
        }
    }
    table_show(t, stdout);
    table_free(t);
    for (size_t k = 1; k < nv && nw > 1; k++) {
        double logs = 0;
        size_t n = 0;
        for (size_t i = 0; i < nw; i++) {
            const struct cell *c = &cells[i * nv + k], *ref = &cells[i * nv];
            if (c->ok && ref->ok && c->ipc > 0 && ref->ipc > 0) {
                logs += log(c->ipc / ref->ipc);
                n++;
            }
        }
        if (n)
            printf("%s%s: %+.2f %% IPC, geometric mean of %zu\n", k == 1 ? "\n" : "",
                   v[k].name, 100 * (exp(logs / (double)n) - 1), n);
    }
}

/* By component, and how a variant's energy and energy-delay product differ from the
 * first's. */
static void
print_energy(const struct cell *cells, const struct allot_workload *const *w, size_t nw,
             const struct variant *v, size_t nv)
{
    struct table *t = table_new(
        10, (const char *const[]){"workload", "variant", "SM J", "icnt J", "L2 J",
                                  "DRAM J", "all J", "W", "energy", "energy x delay"});
    for (size_t i = 0; i < nw * nv; i++) {
        const struct energy *e = &cells[i].energy, *ref = &cells[i / nv * nv].energy;
        if (i && i % nv == 0)
            table_rule(t);
        table_cell(t, "%s", i % nv ? "" : w[i / nv]->name);
        table_cell(t, "%s", v[i % nv].name);
        for (int c = 0; c < ENERGY_COMPONENTS; c++)
            table_cell(t, "%.4g", e->component[c]);
        table_cell(t, "%.4g", e->total);
        table_cell(t, "%.4g", e->seconds > 0 ? e->total / e->seconds : 0);
        if (i % nv == 0 || ref->total <= 0 || e->total <= 0) {
            table_cell(t, "-");
            table_cell(t, "-");
            continue;
        }
        table_cell(t, "%+.2f %%", 100 * (e->total / ref->total - 1));
        table_cell(t, "%+.2f %%",
                   100 * (e->total * e->seconds / (ref->total * ref->seconds) - 1));
    }
    printf("\n");
    table_show(t, stdout);
    table_free(t);
}

static void
print_json(const struct cell *cells, const struct allot_workload *const *w, size_t nw,
           const struct variant *v, size_t nv, const struct cli_sim *s, bool energy)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < nw * nv; i++) {
        const struct cell *c = &cells[i];
        json_array_append_new(
            rows,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
                      "workload", w[i / nv]->name, "variant", v[i % nv].name, "check",
                      !c->ran ? "not run"
                      : c->ok ? "passed"
                              : "failed",
                      "resident_blocks", (json_int_t)c->blocks, "baseline_blocks",
                      (json_int_t)c->baseline, "shared_pairs", (json_int_t)c->pairs,
                      "cycles", (json_int_t)c->cycles, "warp_instructions",
                      (json_int_t)c->warp, "thread_instructions", (json_int_t)c->thread,
                      "ipc", c->ipc, "seconds", c->seconds));
        struct energy_value e;
        json_t *values = json_object();
        for (size_t n = 0; energy && energy_value_at(n, &c->energy, &e); n++)
            json_object_set_new(values, e.name, json_real(e.value));
        if (energy)
            json_object_set(json_array_get(rows, i), "energy", values);
        json_decref(values);
    }
    json_t *o = json_pack("{s:o, s:b, s:o}", "machine", json_text(s->machine), "quick",
                          s->quick, "results", rows);
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    printf("\n");
    json_decref(o);
}

static bool
draw(const struct cell *cells, const struct allot_workload *const *w, size_t nw,
     const struct variant *v, size_t nv, const struct cli_sim *s, const char *path)
{
    const char **groups = xcalloc(nw, sizeof *groups),
               **series = xcalloc(nv, sizeof *series);
    double *value = xcalloc(nw * nv, sizeof *value);
    for (size_t i = 0; i < nw; i++)
        groups[i] = w[i]->name;
    for (size_t k = 0; k < nv; k++)
        series[k] = v[k].name;
    for (size_t i = 0; i < nw * nv; i++) {
        const struct cell *c = &cells[i], *ref = &cells[i / nv * nv];
        value[i] = c->ok && ref->ok && ref->ipc > 0 ? c->ipc / ref->ipc : NAN;
    }
    char title[160], ylabel[96];
    snprintf(title, sizeof title, "IPC on %s%s", s->machine,
             s->quick ? " (small inputs)" : "");
    snprintf(ylabel, sizeof ylabel, "IPC relative to %s", v[0].name);
    struct chart c = {.title = title,
                      .ylabel = ylabel,
                      .ngroups = nw,
                      .nseries = nv,
                      .groups = groups,
                      .series = series,
                      .value = value};
    bool ok = cli_chart(&c, path);
    free(groups);
    free(series);
    free(value);
    return ok;
}

static bool
ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n > k && !strcmp(s + n - k, tail);
}

int
cmd_compare(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "compare", "[OPTIONS] WORKLOAD...",
        "Simulates each workload under each variant, checks every result, and prints\n"
        "resident blocks, cycles, IPC and the gain over the first variant.\n"
        "--scheduler, --residency and --set hold for all variants, then the variant's own.",
        "  allot compare backprop srad_v2_24 -m 000-table2 --chart gain.svg\n"
        "  allot compare matmul --variants baseline,big:l1d.sets=64\n"
        "  allot compare matmul --schedule matmul.txt\n"};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    const char *text = NULL, *chart = NULL, *db = NULL;
    bool json = false, list = false, energy = false;
    const struct cli_opt own[] = {
        {"variants", 'v', "A,B,...",
         "what to compare (default unshared-lrr,shared-lrr,shared-owf; with --schedule "
         "round-robin,schedule)",
         &text, NULL, NULL},
        {"list-variants", 0, NULL, "the named variants", NULL, NULL, &list},
        {"energy", 0, NULL, "energy by component too (docs/energy.md)", NULL, NULL,
         &energy},
        {"chart", 'c', "FILE", "bar chart, .svg or .png", &chart, NULL, NULL},
        {"db", 0, "FILE", "store the results there (see 'allot results')", &db, NULL,
         NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS];
    cli_sim_options(&s, sim);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, own, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (list) {
        list_variants();
        return EXIT_OK;
    }
    if (!pos.n)
        return cli_usage(&cmd, "name at least one workload ('allot list workloads')");
    if (s.functional)
        return cli_usage(&cmd, "--functional has no timing to compare");
    if (db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store does not keep schedules");
    if (s.schedules.n && !text)
        text = "round-robin,schedule";
    else if (!text)
        text = "unshared-lrr,shared-lrr,shared-owf";
    struct variant v[MAX_VARIANTS];
    int nv = parse_variants(text, v, &cmd);
    if (nv < 0)
        return EXIT_USAGE;
    const struct allot_workload **w =
        ARENA_ARRAY(cli_mem(), const struct allot_workload *, pos.n);
    for (size_t i = 0; i < pos.n; i++)
        if (!(w[i] = allot_workload_find(pos.v[i])))
            return cli_usage(
                &cmd, "no workload is called '%s'%s\n('allot list workloads' names them)",
                pos.v[i], cli_near_workload(pos.v[i]));
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, ""))
        return EXIT_USAGE;
    if (chart && !ends_in(chart, ".svg") && !ends_in(chart, ".png"))
        return cli_usage(&cmd, "--chart %s: the name must end in .svg or .png", chart);
    if ((chart && !cli_writable(chart)) || !cli_store_ready(db))
        return EXIT_FAILED;
    struct cell *cells = ARENA_ARRAY(cli_mem(), struct cell, pos.n * (size_t)nv);
    bool ok = true;
    for (size_t i = 0; i < pos.n * (size_t)nv && !cli_interrupted(); i++)
        ok &= run_cell(&cmd, &s, db, w[i / (size_t)nv], &v[i % (size_t)nv], &cells[i]);
    if (json)
        print_json(cells, w, pos.n, v, (size_t)nv, &s, energy);
    else
        print_text(cells, w, pos.n, v, (size_t)nv);
    if (energy && !json)
        print_energy(cells, w, pos.n, v, (size_t)nv);
    if (chart && !cli_interrupted())
        ok &= draw(cells, w, pos.n, v, (size_t)nv, &s, chart);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
