/* reference.c: see reference.h. */
#include "micro/reference.h"

#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *config, *machine;
} machines[] = {{"SM2_GTX480", "gtx480"}, {"SM3_KEPLER_TITAN", "titan"}};
enum { NMACHINES = sizeof machines / sizeof *machines };

/* The goals of docs/fidelity.md. */
static const double GOAL_MEDIAN = 0.03, GOAL_NEAR = 0.10, GOAL_SHARE = 0.95;

static double
difference(const struct reference_sample *s)
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
sorted(const struct reference *r, unsigned machine, const char *group, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->samples.n; i++) {
        const struct reference_sample *s = &r->samples.v[i];
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

void
reference_print_launches(const struct reference *r)
{
    struct table *t = table_new(6, (const char *const[]){"case", "machine", "kernel",
                                                         "cycles", "GPGPU-Sim", "ratio"});
    if (r->csv)
        printf("case,machine,kernel,launch,cycles,gpgpusim_cycles,ratio\n");
    for (size_t i = 0; i < r->samples.n; i++) {
        const struct reference_sample *s = &r->samples.v[i];
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

bool
reference_print_summary(const struct reference *r)
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

bool
reference_chart(const struct reference *r, const char *path, struct diag_sink *diag)
{
    VEC(const char *) groups = {0};
    struct arena mem = {0};
    for (size_t i = 0; i < r->samples.n;
         i++) { /* groups: the word before the first dash */
        const char *name = r->samples.v[i].c->name;
        size_t len = strcspn(name, "-"), k = 0;
        while (k < groups.n &&
               (strlen(groups.v[k]) != len || strncmp(groups.v[k], name, len)))
            k++;
        if (k < groups.n)
            continue;
        char *copy = arena_strdup(&mem, name);
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
    bool ok = chart_write(&c, path, diag);
    free(value);
    free(v);
    vec_free(&groups);
    arena_free(&mem);
    return ok;
}

/* -- running -- */

static bool
wanted(const struct reference *r, size_t i, unsigned machine)
{
    const struct micro_case *c = &r->cases.v[i];
    if (strcmp(c->config, machines[machine].config) ||
        (r->machine && strcmp(r->machine, machines[machine].machine)) ||
        (r->quick && !micro_is_quick(&r->cases, i)))
        return false;
    bool match = !r->nonly;
    for (size_t k = 0; k < r->nonly; k++)
        match |= !strncmp(c->name, r->only[k], strlen(r->only[k]));
    return match;
}

static bool
run_case(struct reference *r, size_t i, unsigned machine, const struct allot_machine *m,
         struct allot_options *o, struct allot_diag *d)
{
    const struct micro_case *c = &r->cases.v[i];
    struct allot_device *dev = NULL;
    struct allot_module *module[MICRO_MAX_LAUNCHES] = {0};
    o->user = (void *)c->name;
    bool ok = micro_run(c, m, o, &dev, module, NULL, d);
    for (unsigned k = 0; ok && k < c->nlaunches; k++) {
        const struct allot_result *result = allot_result_at(dev, k);
        uint64_t warp = 0, thread = 0;
        struct reference_sample *s = vec_push(&r->samples);
        *s = (struct reference_sample){.c = c, .launch = k, .machine = machine};
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

bool
reference_run(struct reference *r, struct allot_options *o, struct diag_sink *diag,
              struct allot_diag *d)
{
    bool ok = micro_load(&r->cases, diag);
    for (unsigned k = 0; ok && k < NMACHINES; k++) {
        struct allot_machine *m = allot_machine_load(machines[k].machine, d);
        if (m) /* as the simulator that it is beside */
            allot_machine_set(m, "sm.rounding", "gpgpu-sim", d);
        /* The reference simulates the PTX as it is. */
        ok = m && allot_machine_set(m, "compiler.registers", "virtual", d);
        for (size_t i = 0; ok && i < r->cases.n; i++)
            if (wanted(r, i, k))
                ok = run_case(r, i, k, m, o, d);
        allot_machine_free(m);
    }
    return ok;
}

bool
reference_has_machine(const char *name)
{
    for (unsigned k = 0; k < NMACHINES; k++)
        if (!strcmp(machines[k].machine, name))
            return true;
    return false;
}

bool
reference_same_instructions(const struct reference *r)
{
    bool same = true;
    for (size_t i = 0; i < r->samples.n; i++)
        same &= r->samples.v[i].same_instructions;
    return same;
}

void
reference_free(struct reference *r)
{
    micro_free(&r->cases);
    vec_free(&r->samples);
}
