/* cmd_compare.c: allot compare: workloads under several variants; the first is the
 * reference. */
#include "cli/cli.h"
#include "cli/energy.h"
#include "cli/own.h"
#include "cli/runs.h"

#include "base/diag.h"
#include "program/program.h"
#include "report/chart.h"
#include "report/program_report.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *settings, *meaning;
} named[] = {
#define VARIANT(name, settings, meaning) {name, settings, meaning},
#include "cli/variants.def"
#undef VARIANT
};
enum { NNAMED = sizeof named / sizeof *named, MAX_VARIANTS = 64 };

struct variant {
    const char *name, *settings;
};

/* What is compared: a workload, a kernel of one's own (own), or a program with arguments
 * (words). */
struct subject {
    const char *name;
    const struct allot_workload *workload;
    const struct cli_own *own;
    const char *const *words;
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

static const char *
near_variant(const char *name)
{
    const char *names[NNAMED];
    for (size_t i = 0; i < NNAMED; i++)
        names[i] = named[i].name;
    return cli_near_word(name, names, NNAMED);
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
            return cli_usage(cmd, "no variant is called '%s'%s (--list-variants)", p,
                             near_variant(p)),
                   -1;
        v[n++] = (struct variant){named[i].name, named[i].settings};
    }
    return n ? n : (cli_usage(cmd, "--variants: name at least one"), -1);
}

/* What --schedule and --opt-tlp ask for: round robin, a file's schedule, each method, round
 * robin with each number of blocks an SM. -1 after saying why not. */
static int
schedule_variants(struct cli_sim *s, bool opt_tlp, struct variant v[MAX_VARIANTS],
                  const struct cli_cmd *cmd)
{
    int n = 0;
    v[n++] = (struct variant){"round-robin", "cta.order=round-robin"};
    if (s->schedules.n)
        v[n++] = (struct variant){"schedule", "cta.order=schedule"};
    for (size_t i = 0; i < s->methods.n && n < MAX_VARIANTS; i++)
        v[n++] = (struct variant){
            s->methods.v[i], arena_printf(cli_mem(), "cta.order=schedule+cta.schedule=%s",
                                          s->methods.v[i])};
    s->methods.n = 0; /* they are the variants' */
    if (!opt_tlp)
        return n;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(s, d);
    char text[32] = "0";
    uint64_t sms = 0, most = 0;
    if (m) {
        allot_machine_get(m, "sm.count", text, sizeof text);
        cli_u64(text, 1, UINT32_MAX, &sms);
        allot_machine_get(m, "sm.max_blocks", text, sizeof text);
        cli_u64(text, 1, UINT32_MAX, &most);
    }
    cli_diag(d);
    allot_diag_free(d);
    allot_machine_free(m);
    if (!m)
        return -1;
    if ((size_t)n + most > MAX_VARIANTS)
        return cli_usage(cmd, "--opt-tlp: an SM has up to %llu blocks, too many to try",
                         (unsigned long long)most),
               -1;
    for (uint64_t k = 1; k <= most; k++)
        v[n++] = (struct variant){
            arena_printf(cli_mem(), "tlp=%llu", (unsigned long long)(k * sms)),
            arena_printf(cli_mem(),
                         "cta.order=schedule+cta.schedule=round-robin,tlp=%llu",
                         (unsigned long long)(k * sms))};
    return n;
}

/* The variant of --opt-tlp with the fewest cycles, of each workload. */
static void
print_best(const struct cell *cells, const struct subject *w, size_t nw,
           const struct variant *v, size_t nv)
{
    for (size_t i = 0; i < nw; i++) {
        const struct cell *c = &cells[i * nv];
        size_t best = nv;
        for (size_t k = 0; k < nv; k++)
            if (c[k].ok && !strncmp(v[k].name, "tlp=", 4) &&
                (best == nv || c[k].cycles < c[best].cycles))
                best = k;
        if (best < nv && c[0].ok && c[0].cycles)
            printf("%s%s: best with %s, %+.2f %% cycles\n", i ? "" : "\n", w[i].name,
                   v[best].name,
                   100 * ((double)c[best].cycles / (double)c[0].cycles - 1));
    }
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
    if (!ok)
        cli_misused();
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
sum(struct cell *c, const struct subject *w, const struct allot_device *dev,
    const struct allot_machine *m)
{
    bool ok = true;
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        if (w->workload && !counts(w->workload->kernels, allot_result_kernel(r)))
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

/* The settings of the command line, then the variant's, as they are applied. */
static const char *const *
settings_of(const struct cli_sim *s, const struct variant *v, size_t *n)
{
    const char *const *base = cli_sim_settings(s, n);
    const char **all = ARENA_ARRAY(cli_mem(), const char *, *n + strlen(v->settings) + 1);
    char *copy = arena_strdup(cli_mem(), v->settings), *save;
    memcpy(all, base, *n * sizeof *all);
    for (char *p = strtok_r(copy, "+", &save); p; p = strtok_r(NULL, "+", &save))
        all[(*n)++] = p;
    return all;
}

static bool
store_cell(const struct cli_sim *s, const char *db, const struct cli_list *params,
           const struct subject *w, const struct variant *v, const struct cell *c,
           const char *why, const struct allot_machine *m, struct allot_module *mod,
           const struct allot_device *dev, struct launch *l)
{
    struct cli_ran ran = {.db = db,
                          .workload = w->name,
                          .own = w->own,
                          .params = params->v,
                          .nparams = params->n,
                          .sim = s,
                          .seconds = c->seconds,
                          .ok = c->ok,
                          .message = c->ok  ? ""
                                     : *why ? why
                                            : "did not run to its end"};
    ran.settings = settings_of(s, v, &ran.nsettings);
    if (w->own)
        ran.params = launch_texts(l, "", &ran.nparams, cli_mem());
    ran.mod = mod;
    ran.dev = dev;
    return cli_store_run(&ran, m);
}

/* A program, all its launches; what it prints is left out. */
static bool
run_words(const struct cli_sim *s, const struct subject *w, const struct variant *v,
          struct cell *c)
{
    struct program_setup setup = {.machine = s->machine,
                                  .threads = cli_sim_threads(s),
                                  .no_skip = s->no_skip,
                                  .max_cycles = s->max_cycles,
                                  .max_instructions = s->max_instructions,
                                  .guard = s->guard,
                                  .all = true,
                                  .discard = true};
    struct program_result r;
    struct strbuf why = {0};
    json_t *one;
    size_t i;
    setup.settings = settings_of(s, v, &setup.nsettings);
    bool ran = program_run(&setup, (char *const *)w->words, &r, &why);
    if (!ran)
        fprintf(stderr, "allot compare: %s\n", why.s);
    else
        program_report_end(stderr, w->name, &r, false);
    c->ran = ran && !cli_interrupted();
    c->ok = ran && !program_failure(&r, cli_mem());
    json_array_foreach(r.all, i, one)
    {
        const struct {
            const char *id;
            uint64_t *to;
            bool most;
        } add[] = {{"cycles", &c->cycles, false},
                   {"warp_instructions", &c->warp, false},
                   {"thread_instructions", &c->thread, false},
                   {"resident_blocks", &c->blocks, true},
                   {"shared_pairs", &c->pairs, true},
                   {"baseline_blocks", &c->baseline, true}};
        for (size_t k = 0; k < sizeof add / sizeof *add; k++) {
            uint64_t x = (uint64_t)json_integer_value(json_object_get(one, add[k].id));
            if (!add[k].most)
                *add[k].to += x;
            else if (x > *add[k].to)
                *add[k].to = x;
        }
        c->seconds += json_number_value(json_object_get(one, "seconds"));
    }
    c->ipc = c->cycles ? (double)c->thread / (double)c->cycles : 0;
    if (ran && !json_array_size(r.all)) {
        fprintf(stderr, "allot compare: %s launched no kernel\n", w->name);
        c->ok = false;
    }
    program_result_free(&r);
    strbuf_free(&why);
    return c->ok;
}

static bool
run_cell(const struct cli_cmd *cmd, const struct cli_sim *s, const char *db,
         const struct cli_list *params, const struct subject *w, const struct variant *v,
         struct cell *c)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_options o;
    char label[96];
    snprintf(label, sizeof label, "%s %s", w->name, v->name);
    uint64_t seed = 0; /* checked by cmd_compare */
    struct launch l;
    struct allot_machine *m = NULL;
    struct allot_module *mod = NULL;
    struct allot_device *dev = NULL;
    bool ready = cli_u64(s->seed, 0, UINT32_MAX, &seed) &&
                 cli_sim_run_options(cmd, s, &o, label) && (m = cli_sim_machine(s, d)) &&
                 apply(m, v, d);
    if (ready && w->words) {
        ready = run_words(s, w, v, c);
    } else if (ready) {
        mod = w->own ? allot_module_load_for(w->name, m, d)
                     : cli_workload_module(w->workload, s->compiler, d);
        ready = mod && (!w->own || cli_own_read(w->own, mod, w->name, &l)) &&
                (dev = cli_sim_device(s, m, &o, d));
    }
    if (ready && dev) {
        char why[256] = "";
        c->ran = true;
        struct strbuf b = {0};
        for (size_t i = 0; i < params->n; i++)
            strbuf_printf(&b, "%s%s", i ? " " : "", params->v[i]);
        c->ok = w->own ? cli_own_run(&l, dev, (uint32_t)seed)
                       : allot_workload_run_with(w->workload, dev, mod, s->quick,
                                                 (uint32_t)seed, b.s, why, d);
        strbuf_free(&b);
        cli_progress_end();
        if (!c->ok && cli_interrupted())
            c->ran = false;
        else if (!c->ok)
            fprintf(stderr, "allot: %s under %s: %s%s\n", w->name, v->name,
                    *why ? "check failed: " : "did not run to its end", why);
        c->ok &= sum(c, w, dev, m);
        if (c->ran)
            ready = store_cell(s, db, params, w, v, c, why, m, mod, dev, &l);
    }
    cli_diag(d);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ready && c->ok;
}

/* How many times as fast as the reference: a ratio of cycles. NaN: not known. */
static double
speedup(const struct cell *c, const struct cell *ref)
{
    return c->ok && ref->ok && c->cycles && ref->cycles
               ? (double)ref->cycles / (double)c->cycles
               : NAN;
}

static void
print_text(const struct cell *cells, const struct subject *w, size_t nw,
           const struct variant *v, size_t nv)
{
    char gain_title[64], b[32];
    snprintf(gain_title, sizeof gain_title, "speed-up over %s", v[0].name);
    struct table *t =
        table_new(8, (const char *const[]){"workload", "variant", "blocks/SM", "pairs",
                                           "cycles", "IPC", gain_title, "check"});
    for (size_t i = 0; i < nw; i++) {
        if (i)
            table_rule(t);
        for (size_t k = 0; k < nv; k++) {
            const struct cell *c = &cells[i * nv + k], *ref = &cells[i * nv];
            table_cell(t, "%s", k ? "" : w[i].name);
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
            double faster = speedup(c, ref);
            if (!k || isnan(faster))
                table_cell(t, "-");
            else
                table_cell(t, "%+.2f %%", 100 * (faster - 1));
            table_cell(t, "%s", !c->ok ? "FAILED" : w[i].own ? "-" : "passed");
        }
    }
    table_show(t, stdout);
    table_free(t);
    for (size_t k = 1; k < nv && nw > 1; k++) {
        double logs = 0;
        size_t n = 0;
        for (size_t i = 0; i < nw; i++) {
            double faster = speedup(&cells[i * nv + k], &cells[i * nv]);
            if (!isnan(faster)) {
                logs += log(faster);
                n++;
            }
        }
        if (n)
            printf("%s%s: %+.2f %% speed-up, geometric mean of %zu\n", k == 1 ? "\n" : "",
                   v[k].name, 100 * (exp(logs / (double)n) - 1), n);
    }
}

/* By component, and how a variant's energy and energy-delay product differ from the
 * first's. */
static void
print_energy(const struct cell *cells, const struct subject *w, size_t nw,
             const struct variant *v, size_t nv)
{
    struct table *t = table_new(
        10, (const char *const[]){"workload", "variant", "SM J", "icnt J", "L2 J",
                                  "DRAM J", "all J", "W", "energy", "energy x delay"});
    for (size_t i = 0; i < nw * nv; i++) {
        const struct energy *e = &cells[i].energy, *ref = &cells[i / nv * nv].energy;
        if (i && i % nv == 0)
            table_rule(t);
        table_cell(t, "%s", i % nv ? "" : w[i / nv].name);
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
print_json(const struct cell *cells, const struct subject *w, size_t nw,
           const struct variant *v, size_t nv, const struct cli_sim *s, bool energy)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < nw * nv; i++) {
        const struct cell *c = &cells[i];
        json_array_append_new(
            rows,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
                      "workload", w[i / nv].name, "variant", v[i % nv].name, "check",
                      !c->ran ? "not run"
                      : c->ok ? "passed"
                              : "failed",
                      "resident_blocks", (json_int_t)c->blocks, "baseline_blocks",
                      (json_int_t)c->baseline, "shared_pairs", (json_int_t)c->pairs,
                      "cycles", (json_int_t)c->cycles, "warp_instructions",
                      (json_int_t)c->warp, "thread_instructions", (json_int_t)c->thread,
                      "ipc", c->ipc, "seconds", c->seconds));
        double faster = speedup(c, &cells[i / nv * nv]);
        json_object_set_new(json_array_get(rows, i), "speedup",
                            isnan(faster) ? json_null() : json_real(faster));
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

/* Bars of the speed-ups; of several subjects their geometric mean behind them. */
static bool
draw(const struct cell *cells, const struct subject *w, size_t nw,
     const struct variant *v, size_t nv, const struct cli_sim *s, const char *path,
     bool values)
{
    const char **groups = xcalloc(nw + 1, sizeof *groups),
               **series = xcalloc(nv, sizeof *series);
    double *value = xcalloc((nw + 1) * nv, sizeof *value);
    bool mean = nw > 1;
    for (size_t i = 0; i < nw; i++)
        groups[i] = w[i].name;
    groups[nw] = "geometric mean";
    for (size_t k = 0; k < nv; k++) {
        double logs = 0;
        series[k] = v[k].name;
        for (size_t i = 0; i < nw; i++) {
            value[i * nv + k] = speedup(&cells[i * nv + k], &cells[i * nv]);
            logs += log(value[i * nv + k]);
        }
        value[nw * nv + k] = exp(logs / (double)nw);
    }
    char title[160], ylabel[96];
    snprintf(title, sizeof title, "Speed-up on %s%s", s->machine,
             s->quick ? " (small inputs)" : "");
    snprintf(ylabel, sizeof ylabel, "speed-up over %s (cycles)", v[0].name);
    struct chart c = {.title = title,
                      .ylabel = ylabel,
                      .ngroups = nw + mean,
                      .nseries = nv,
                      .groups = groups,
                      .series = series,
                      .value = value,
                      .mean = mean,
                      .values = values};
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

/* What the words of the command line are. */
static int
subjects(const struct cli_cmd *cmd, const struct cli_list *pos, struct cli_own *kernel,
         bool needs_device, struct subject *w)
{
    const char *first = pos->v[0];
    struct stat st;
    bool known = allot_workload_find(first), file = !known && !stat(first, &st),
         program = file && S_ISREG(st.st_mode) && !access(first, X_OK) &&
                   !ends_in(first, ".ptx");
    *w = (struct subject){.name = first};
    if (program) {
        const char **words = ARENA_ARRAY(cli_mem(), const char *, pos->n + 1);
        memcpy(words, pos->v, pos->n * sizeof *words);
        words[pos->n] = NULL;
        w->words = words;
        return cli_own_given(kernel) ? cli_own_misplaced(cmd)
               : needs_device
                   ? cli_usage(cmd,
                               "--db and --energy: not of programs; see 'allot exec'")
                   : EXIT_OK;
    }
    if (file || (!known && ends_in(first, ".ptx"))) {
        w->own = kernel;
        return pos->n > 1 ? cli_usage(cmd, "one kernel of your own at a time")
                          : cli_own_ready(cmd, kernel);
    }
    for (size_t i = 0; i < pos->n; i++) {
        w[i] = (struct subject){.name = pos->v[i],
                                .workload = allot_workload_find(pos->v[i])};
        if (!w[i].workload)
            return cli_usage(
                cmd, "no workload is called '%s'%s\n('allot list workloads' names them)",
                pos->v[i], cli_near_workload(pos->v[i]));
    }
    return cli_own_given(kernel) ? cli_own_misplaced(cmd) : EXIT_OK;
}

int
cmd_compare(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "compare", "[OPTIONS] WORKLOAD... | KERNEL.ptx | [--] PROGRAM [ARGUMENTS]",
        "Simulates each workload under each variant, checks every result, and prints\n"
        "resident blocks, cycles, IPC and the speed-up (cycles) over the first variant.\n"
        "The same for a kernel of your own, described as for 'allot run', and for a CUDA\n"
        "program, run as by 'allot exec' (all its launches; what it prints is left out).\n"
        "--scheduler, --residency and --set hold for all variants, then the variant's own.",
        "  allot compare backprop srad_v2_24 -m 000-table2 --chart gain.svg\n"
        "  allot compare matmul --variants baseline,big:l1d.sets=64\n"
        "  allot compare saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32 \\\n"
        "      --arg buf:1024xf32 --arg 1024 --variants baseline,shared-lrr\n"
        "  allot compare -m a100 --variants baseline,big:l1d.sets=64 -- ./app 1000\n"
        "  allot compare euler -m 004-table1-fermi --schedule awss --schedule relax "
        "--opt-tlp\n"};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    const char *text = NULL, *chart = NULL, *db = NULL;
    bool json = false, list = false, energy = false, values = false, opt_tlp = false;
    struct cli_list params = {0};
    const struct cli_opt own[] = {
        {"variants", 'v', "A,B,...",
         "what to compare (default unshared-lrr,shared-lrr,shared-owf; with --schedule "
         "round-robin and what it names)",
         &text, NULL, NULL},
        {"opt-tlp", 0, NULL,
         "also round robin with 1, 2, ... blocks an SM at most, and which is best (004: "
         "OptTLP)",
         NULL, NULL, &opt_tlp},
        {"param", 'P', "NAME=VALUE", "a parameter of the workloads (their READMEs)", NULL,
         &params, NULL},
        {"list-variants", 0, NULL, "the named variants", NULL, NULL, &list},
        {"energy", 0, NULL, "energy by component too (docs/energy.md)", NULL, NULL,
         &energy},
        {"chart", 'c', "FILE", "chart of the speed-ups: .svg, .pdf, .png or .txt", &chart,
         NULL, NULL},
        {"values", 0, NULL, "... with the values on its bars", NULL, NULL, &values},
        {"db", 0, "FILE", "store the results there (see 'allot results')", &db, NULL,
         NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], launch[CLI_OWN_OPTIONS];
    struct cli_own kernel = {0};
    cli_sim_options(&s, sim);
    cli_own_options(&kernel, launch);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, own, launch, NULL}, argc,
                   argv, &pos))
        return EXIT_USAGE;
    if (list) {
        list_variants();
        return EXIT_OK;
    }
    if (!pos.n)
        return cli_usage(&cmd, "name at least one workload ('allot list workloads')");
    if (s.functional)
        return cli_usage(&cmd, "--functional has no timing to compare");
    if (!cli_sim_methods(&cmd, &s, text ? 1 : MAX_VARIANTS - 2))
        return EXIT_USAGE;
    if (db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (text && opt_tlp)
        return cli_usage(&cmd, "--opt-tlp or --variants, not both");
    struct variant v[MAX_VARIANTS];
    int nv = text ? parse_variants(text, v, &cmd)
             : s.schedules.n || s.methods.n || opt_tlp
                 ? schedule_variants(&s, opt_tlp, v, &cmd)
                 : parse_variants("unshared-lrr,shared-lrr,shared-owf", v, &cmd);
    if (nv < 0)
        return EXIT_USAGE;
    struct subject *w = ARENA_ARRAY(cli_mem(), struct subject, pos.n);
    int status = subjects(&cmd, &pos, &kernel, db || energy, w);
    if (status)
        return status;
    if (w[0].words)
        pos.n = 1;
    if (params.n && (w[0].words || w[0].own))
        return cli_usage(&cmd, "--param: only workloads have parameters");
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, ""))
        return EXIT_USAGE;
    if (chart && !chart_format(chart))
        return cli_usage(
            &cmd, "--chart %s: the name must end in .svg, .pdf, .png or .txt", chart);
    if (values && !chart)
        return cli_usage(&cmd, "--values: on the bars of which chart? (--chart)");
    if ((chart && !cli_writable(chart)) || !cli_store_ready(db))
        return EXIT_FAILED;
    struct cell *cells = ARENA_ARRAY(cli_mem(), struct cell, pos.n * (size_t)nv);
    bool ok = true;
    for (size_t i = 0; i < pos.n * (size_t)nv && !cli_interrupted(); i++)
        ok &= run_cell(&cmd, &s, db, &params, &w[i / (size_t)nv], &v[i % (size_t)nv],
                       &cells[i]);
    if (json)
        print_json(cells, w, pos.n, v, (size_t)nv, &s, energy);
    else
        print_text(cells, w, pos.n, v, (size_t)nv);
    if (opt_tlp && !json)
        print_best(cells, w, pos.n, v, (size_t)nv);
    if (energy && !json)
        print_energy(cells, w, pos.n, v, (size_t)nv);
    if (chart && !cli_interrupted())
        ok &= draw(cells, w, pos.n, v, (size_t)nv, &s, chart, values);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
