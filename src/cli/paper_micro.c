/* paper_micro.c: allot paper micro: every launch of the microbenchmarks on our
 * descriptions of the two machines for which GPGPU-Sim's cycles are known. */
#include "cli/cli.h"
#include "micro/micro.h"
#include "cli/runs.h"

#include "base/vec.h"
#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_cmd cmd = {
    "paper micro", "[OPTIONS] [CASE...]",
    "Runs the microbenchmarks (workloads/micro/) on gtx480 and titan: cycles of each launch\n"
    "beside those of GPGPU-Sim 4.2 (papers/micro/), and how far apart they are. CASE: only\n"
    "those whose name begins so. Fails if a kernel executes another number of\n"
    "instructions, or, with all cases, if the median difference reaches 3 % or fewer than\n"
    "95 % of the launches are within 10 %.",
    "  allot paper micro --quick\n"
    "  allot paper micro --machine titan l2read --csv\n"};

static const struct {
    const char *config, *machine;
} machines[] = {{"SM2_GTX480", "gtx480"}, {"SM3_KEPLER_TITAN", "titan"}};
enum { NMACHINES = sizeof machines / sizeof *machines };

/* The goals of docs/fidelity.md. */
static const double GOAL_MEDIAN = 0.03, GOAL_NEAR = 0.10, GOAL_SHARE = 0.95;

struct sample {
    const struct micro_case *c;
    unsigned launch, machine;
    uint64_t ours;
    bool same_instructions;
};

struct micro_run_state {
    bool quick, csv;
    const char *only;
    struct cli_list pos;
    struct micro_cases cases;
    VEC(struct sample) samples;
};

static double
difference(const struct sample *s)
{
    return (double)s->ours / (double)s->c->launch[s->launch].cycles - 1;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Differences without sign, sorted, of the samples of a machine (NMACHINES: all) and of a
 * group of cases (NULL: all); returns how many. */
static size_t
sorted(const struct micro_run_state *r, unsigned machine, const char *group, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->samples.n; i++) {
        const struct sample *s = &r->samples.v[i];
        size_t len = strcspn(s->c->name, "-");
        if ((machine < NMACHINES && s->machine != machine) ||
            (group && (strlen(group) != len || strncmp(group, s->c->name, len))))
            continue;
        out[n++] = fabs(difference(s));
    }
    qsort(out, n, sizeof *out, by_value);
    return n;
}

static double
median(const double *v, size_t n)
{
    return n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : NAN;
}

static double
share_within(const double *v, size_t n, double limit)
{
    size_t k = 0;
    while (k < n && v[k] <= limit)
        k++;
    return n ? (double)k / (double)n : NAN;
}

/* -- output -- */

static void
print_launches(const struct micro_run_state *r)
{
    struct table *t = table_new(6, (const char *const[]){"case", "machine", "kernel",
                                                         "cycles", "GPGPU-Sim", "ratio"});
    if (r->csv)
        printf("case,machine,kernel,launch,cycles,gpgpusim_cycles,ratio\n");
    for (size_t i = 0; i < r->samples.n; i++) {
        const struct sample *s = &r->samples.v[i];
        const struct micro_launch *l = &s->c->launch[s->launch];
        const char *machine = machines[s->machine].machine;
        if (r->csv) {
            printf("%s,%s,%s,%u/%u,%llu,%llu,%.5f\n", s->c->name, machine, l->kernel,
                   s->launch + 1, s->c->nlaunches, (unsigned long long)s->ours,
                   (unsigned long long)l->cycles, difference(s) + 1);
            continue;
        }
        table_cell(t, "%s", s->c->name);
        table_cell(t, "%s", machine);
        table_cell(t, "%s%s", l->kernel,
                   s->launch + 1 < s->c->nlaunches ? " (warm-up)" : "");
        table_cell(t, "%llu", (unsigned long long)s->ours);
        table_cell(t, "%llu", (unsigned long long)l->cycles);
        table_cell(t, "%.4f", difference(s) + 1);
    }
    if (!r->csv)
        table_show(t, stdout);
    table_free(t);
}

/* The summary; returns whether the goals are met. */
static bool
print_summary(const struct micro_run_state *r)
{
    double *v = xcalloc(r->samples.n + 1, sizeof *v);
    static const char *const heads[] = {"machine",    "launches",    "median |diff.|",
                                        "within 1 %", "within 10 %", "largest"};
    struct table *t = table_new(6, heads);
    bool ok = true;
    for (unsigned m = 0; m <= NMACHINES; m++) {
        size_t n = sorted(r, m, NULL, v);
        if (!n)
            continue;
        if (m == NMACHINES)
            table_rule(t);
        table_cell(t, "%s", m < NMACHINES ? machines[m].machine : "both");
        table_cell(t, "%zu", n);
        table_cell(t, "%.2f %%", 100 * median(v, n));
        table_cell(t, "%.1f %%", 100 * share_within(v, n, 0.01));
        table_cell(t, "%.1f %%", 100 * share_within(v, n, GOAL_NEAR));
        table_cell(t, "%.1f %%", 100 * v[n - 1]);
        ok &= median(v, n) < GOAL_MEDIAN && share_within(v, n, GOAL_NEAR) >= GOAL_SHARE;
    }
    FILE *f = r->csv ? stderr : stdout;
    putc('\n', f);
    table_show(t, f);
    table_free(t);
    free(v);
    return ok;
}

/* Median difference of each group of cases (the word before the first dash). */
static bool
write_chart(const struct micro_run_state *r, const char *path)
{
    VEC(const char *) groups = {0};
    for (size_t i = 0; i < r->samples.n; i++) {
        const char *name = r->samples.v[i].c->name;
        size_t len = strcspn(name, "-"), k = 0;
        while (k < groups.n &&
               (strlen(groups.v[k]) != len || strncmp(groups.v[k], name, len)))
            k++;
        if (k < groups.n)
            continue;
        char *copy = arena_strdup(cli_mem(), name);
        copy[len] = 0;
        *vec_push(&groups) = copy;
    }
    const char *series[NMACHINES];
    double *value = xcalloc(groups.n * NMACHINES + 1, sizeof *value);
    double *v = xcalloc(r->samples.n + 1, sizeof *v);
    for (size_t g = 0; g < groups.n; g++)
        for (unsigned m = 0; m < NMACHINES; m++) {
            series[m] = machines[m].machine;
            value[g * NMACHINES + m] = 100 * median(v, sorted(r, m, groups.v[g], v));
        }
    struct chart c = {.title = "Cycles of microbenchmarks against GPGPU-Sim 4.2",
                      .ylabel = "median difference (%)",
                      .ngroups = groups.n,
                      .nseries = NMACHINES,
                      .groups = groups.v,
                      .series = series,
                      .value = value};
    struct diag_sink diag = {0};
    bool ok = chart_write(&c, path, &diag);
    cli_sink(&diag);
    free(value);
    free(v);
    vec_free(&groups);
    return ok;
}

/* -- running -- */

static bool
wanted(const struct micro_run_state *r, size_t i, unsigned machine)
{
    const struct micro_case *c = &r->cases.v[i];
    if (strcmp(c->config, machines[machine].config) ||
        (r->only && strcmp(r->only, machines[machine].machine)) ||
        (r->quick && !micro_is_quick(&r->cases, i)))
        return false;
    bool match = !r->pos.n;
    for (size_t k = 0; k < r->pos.n; k++)
        match |= !strncmp(c->name, r->pos.v[k], strlen(r->pos.v[k]));
    return match;
}

static bool
run_case(struct micro_run_state *r, size_t i, unsigned machine,
         const struct allot_machine *m, struct allot_options *o, struct allot_diag *d)
{
    const struct micro_case *c = &r->cases.v[i];
    struct allot_device *dev = NULL;
    struct allot_module *module[MICRO_MAX_LAUNCHES] = {0};
    o->user = (void *)c->name;
    bool ok = micro_run(c, m, o, &dev, module, NULL, d);
    for (unsigned k = 0; ok && k < c->nlaunches; k++) {
        const struct allot_result *result = allot_result_at(dev, k);
        uint64_t warp = 0, thread = 0;
        struct sample *s = vec_push(&r->samples);
        *s = (struct sample){.c = c, .launch = k, .machine = machine};
        allot_result_get(result, "cycles", &s->ours, NULL);
        allot_result_get(result, "warp_instructions", &warp, NULL);
        allot_result_get(result, "thread_instructions", &thread, NULL);
        s->same_instructions =
            warp == c->launch[k].warp_insn && thread == c->launch[k].thread_insn;
        if (!s->same_instructions)
            fprintf(stderr,
                    "allot: %s on %s: %llu warp and %llu thread instructions, GPGPU-Sim "
                    "%llu and %llu\n",
                    c->name, machines[machine].machine, (unsigned long long)warp,
                    (unsigned long long)thread,
                    (unsigned long long)c->launch[k].warp_insn,
                    (unsigned long long)c->launch[k].thread_insn);
    }
    allot_device_free(dev);
    for (unsigned k = 0; k < MICRO_MAX_LAUNCHES; k++)
        allot_module_free(module[k]);
    return ok;
}

static bool
run_all(struct micro_run_state *r, struct allot_options *o, struct allot_diag *d)
{
    bool ok = true;
    for (unsigned k = 0; ok && k < NMACHINES; k++) {
        struct allot_machine *m = allot_machine_load(machines[k].machine, d);
        /* The reference simulates the PTX as it is. */
        ok = m && allot_machine_set(m, "compiler.registers", "virtual", d);
        for (size_t i = 0; ok && i < r->cases.n; i++)
            if (wanted(r, i, k))
                ok = run_case(r, i, k, m, o, d);
        allot_machine_free(m);
    }
    cli_progress_end();
    return ok;
}

int
paper_micro(int argc, char **argv)
{
    struct micro_run_state r = {0};
    const char *chart = NULL;
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    const struct cli_opt own[] = {
        {"quick", 'q', NULL, "of every kernel only the shortest case", NULL, NULL,
         &r.quick},
        {"machine", 'm', "NAME", "gtx480 or titan (default both)", &r.only, NULL, NULL},
        {"csv", 0, NULL, "launches as CSV; the summary goes to standard error", NULL,
         NULL, &r.csv},
        {"chart", 0, "FILE", "median difference of each group of cases, .svg or .png",
         &chart, NULL, NULL},
        {0}};
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, NULL}, argc, argv, &r.pos))
        return EXIT_USAGE;
    if (r.only && strcmp(r.only, "gtx480") && strcmp(r.only, "titan"))
        return cli_usage(
            &cmd, "--machine %s: there are figures for gtx480 and titan only", r.only);
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &sim, &o, "micro"))
        return EXIT_USAGE;
    if (chart && !cli_writable(chart))
        return EXIT_FAILED;
    struct allot_diag *d = cli_diag_new();
    struct diag_sink diag = {0};
    bool ok = micro_load(&r.cases, &diag) && run_all(&r, &o, d);
    if (ok && !r.samples.n) {
        fprintf(stderr, "allot paper micro: no case begins with '%s'\n", r.pos.v[0]);
        ok = false;
    }
    if (ok) {
        print_launches(&r);
        bool met = print_summary(&r);
        if (!r.pos.n && !met) {
            fprintf(stderr, "allot: the goals (median under 3 %%, 95 %% of the launches "
                            "within 10 %%) are missed\n");
            ok = false;
        }
        for (size_t i = 0; i < r.samples.n; i++)
            ok &= r.samples.v[i].same_instructions;
        if (chart)
            ok &= write_chart(&r, chart);
    }
    cli_sink(&diag);
    cli_diag(d);
    allot_diag_free(d);
    micro_free(&r.cases);
    vec_free(&r.samples);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
