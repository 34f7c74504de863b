/* cmd_workingset.c: allot workingset: the cache lines that each block touches, what blocks
 * have in common, the contention ratio over TLP; schedules made from them (004). */
#include "cli/cli.h"
#include "cli/own.h"

#include "report/chart.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_cmd cmd = {
    "workingset", "[OPTIONS] WORKLOAD | FILE",
    "Runs a workload, or a kernel of your own, without timing and shows for each kernel the\n"
    "distinct cache lines of global memory that its blocks touch: how they are distributed,\n"
    "in which arrays they lie, what blocks have in common, and the contention ratio over the\n"
    "number of blocks that run at once. --schedule makes a schedule for 'allot run'\n"
    "(docs/cta-scheduling.md).",
    "  allot workingset euler -m 004-table1-fermi\n"
    "  allot workingset euler --schedule awss -o flux.txt && allot run euler --schedule "
    "flux.txt\n"};

struct show {
    bool json, csv;
    const char *only, *method, *out, *chart, *cps;
    uint64_t nth;
};

/* A launch and what is computed of it. */
struct view {
    const struct allot_result *r;
    struct allot_working_set w;
    const char *kernel;
    uint64_t sms, resident, capacity; /* resident: blocks of an SM; capacity: lines */
    double cps;
    uint64_t *sorted; /* sizes, rising */
};

enum { BINS = 8, DISTANCES = 5, BAR = 40 };

static int
rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool
view_of(struct view *v, const struct allot_result *r, const struct allot_machine *m,
        const struct show *show, struct allot_diag *d)
{
    char text[32] = "";
    uint64_t sync = 0, inst = 0;
    *v = (struct view){.r = r, .kernel = allot_result_kernel(r)};
    struct allot_occupancy_query q = allot_result_demand(r);
    struct allot_occupancy o;
    if (!allot_result_working_set(r, &v->w) || !allot_occupancy(m, &q, &o, d))
        return false;
    v->resident = o.resident_blocks;
    allot_machine_get(m, "sm.count", text, sizeof text);
    cli_u64(text, 1, UINT32_MAX, &v->sms);
    allot_machine_get(m, "cta.sync_cycles", text, sizeof text);
    cli_u64(text, 0, UINT32_MAX, &sync);
    v->capacity = allot_machine_l2_bytes(m) / v->w.line_bytes;
    allot_result_get(r, "warp_instructions", &inst, NULL);
    v->cps = inst ? (double)sync * v->w.blocks / (double)inst : 0;
    if (show->cps)
        cli_f64(show->cps, &v->cps);
    v->sorted = xcalloc(v->w.blocks + 1, sizeof *v->sorted);
    memcpy(v->sorted, v->w.lines, v->w.blocks * sizeof *v->sorted);
    qsort(v->sorted, v->w.blocks, sizeof *v->sorted, rising);
    return true;
}

/* Mean contention ratio of `tlp` blocks that run at once, in order of their number: by the
 * sum of their working sets (Definition 2), and with common lines counted once. */
static void
contention(const struct view *v, uint64_t tlp, double *sum, double *distinct)
{
    enum { SAMPLES = 16 };
    uint64_t steps = (v->w.blocks + tlp - 1) / tlp, lines = 0, different = 0, n = 0;
    uint64_t stride = steps > SAMPLES ? steps / SAMPLES : 1;
    uint32_t *ids = xcalloc(tlp, sizeof *ids);
    for (uint64_t s = 0; s < steps; s += stride, n++) {
        uint64_t from = s * tlp, k = 0;
        for (; k < tlp && from + k < v->w.blocks; k++) {
            ids[k] = (uint32_t)(from + k);
            lines += v->w.lines[from + k];
        }
        different += allot_working_union(v->r, ids, k);
    }
    free(ids);
    *sum = (double)lines / (double)n / (double)v->capacity;
    *distinct = (double)different / (double)n / (double)v->capacity;
}

/* Mean share of a block's lines that the block `distance` further touches too. */
static double
overlap(const struct view *v, uint64_t distance)
{
    enum { PAIRS = 256 };
    if (distance >= v->w.blocks)
        return 0;
    uint64_t pairs = v->w.blocks - distance, stride = pairs > PAIRS ? pairs / PAIRS : 1;
    uint64_t common = 0, lines = 0;
    for (uint64_t i = 0; i < pairs; i += stride) {
        common += allot_working_common(v->r, (uint32_t)i, (uint32_t)(i + distance));
        lines += v->w.lines[i];
    }
    return lines ? (double)common / (double)lines : 0;
}

static const uint64_t distances[DISTANCES] = {1, 2, 8, 64, 512};

static void
bar(double part, char out[BAR + 1])
{
    int n = part <= 0 ? 0 : part >= 1 ? BAR : (int)(part * BAR + 0.5);
    memset(out, '#', (size_t)n);
    out[n] = 0;
}

static void
print_distribution(const struct view *v)
{
    uint64_t least = v->sorted[0], most = v->sorted[v->w.blocks - 1], fullest = 0;
    uint64_t count[BINS] = {0}, width = (most - least) / BINS + 1;
    for (uint32_t i = 0; i < v->w.blocks; i++) {
        uint64_t n = ++count[(v->sorted[i] - least) / width];
        fullest = n > fullest ? n : fullest;
    }
    struct table *t = table_new(3, (const char *const[]){"lines", "blocks", ""});
    for (uint64_t i = 0; i < BINS && least + i * width <= most; i++) {
        char b[BAR + 1];
        bar((double)count[i] / (double)fullest, b);
        table_cell(t, "%llu to %llu", (unsigned long long)(least + i * width),
                   (unsigned long long)(least + (i + 1) * width - 1));
        table_cell(t, "%llu", (unsigned long long)count[i]);
        table_cell(t, "%s", b);
    }
    table_show(t, stdout);
    table_free(t);
}

static void
print_text(const struct view *v)
{
    char b[32];
    const struct allot_working_set *w = &v->w;
    printf("\n%s: %s blocks, ", v->kernel, table_thousands(b, w->blocks));
    printf("%.1f lines of %u bytes each (%llu to %llu), ",
           (double)w->sum / (double)w->blocks, w->line_bytes,
           (unsigned long long)v->sorted[0],
           (unsigned long long)v->sorted[w->blocks - 1]);
    printf("%s different ones\n\n", table_thousands(b, w->distinct));
    print_distribution(v);
    struct table *t = table_new(
        5, (const char *const[]){"array", "bytes", "lines, sum", "distinct", "reuse"});
    for (size_t i = 0; i < w->narrays; i++) {
        const struct allot_working_array *a = &w->arrays[i];
        table_cell(t, "0x%llx", (unsigned long long)a->addr);
        table_cell(t, "%s", table_thousands(b, a->bytes));
        table_cell(t, "%s", table_thousands(b, a->lines));
        table_cell(t, "%s", table_thousands(b, a->distinct));
        table_cell(t, "%.2f", a->distinct ? (double)a->lines / (double)a->distinct : 0);
    }
    printf("\n");
    table_show(t, stdout);
    table_free(t);
    printf("\nlines in common with the block so much further:");
    for (int i = 0; i < DISTANCES && distances[i] < w->blocks; i++)
        printf("%s %llu: %.1f %%", i ? "," : "", (unsigned long long)distances[i],
               100 * overlap(v, distances[i]));
    printf("\n\n");
    t = table_new(5, (const char *const[]){"blocks/SM", "TLP", "contention ratio",
                                           "common lines once", ""});
    for (uint64_t k = 1; k <= v->resident; k++) {
        double sum, distinct;
        char row[BAR + 1];
        contention(v, k * v->sms, &sum, &distinct);
        bar(sum / 4, row);
        table_cell(t, "%llu", (unsigned long long)k);
        table_cell(t, "%llu", (unsigned long long)(k * v->sms));
        table_cell(t, "%.3f", sum);
        table_cell(t, "%.3f", distinct);
        table_cell(t, "%s", row);
    }
    table_show(t, stdout);
    table_free(t);
}

static json_t *
view_json(const struct view *v)
{
    const struct allot_working_set *w = &v->w;
    json_t *lines = json_array(), *arrays = json_array(), *over = json_array(),
           *ratio = json_array();
    for (uint32_t i = 0; i < w->blocks; i++)
        json_array_append_new(lines, json_integer((json_int_t)w->lines[i]));
    for (size_t i = 0; i < w->narrays; i++)
        json_array_append_new(arrays,
                              json_pack("{s:I, s:I, s:I, s:I}", "address",
                                        (json_int_t)w->arrays[i].addr, "bytes",
                                        (json_int_t)w->arrays[i].bytes, "lines",
                                        (json_int_t)w->arrays[i].lines, "distinct",
                                        (json_int_t)w->arrays[i].distinct));
    for (int i = 0; i < DISTANCES && distances[i] < w->blocks; i++)
        json_array_append_new(over, json_pack("{s:I, s:f}", "distance",
                                              (json_int_t)distances[i], "common",
                                              overlap(v, distances[i])));
    for (uint64_t k = 1; k <= v->resident; k++) {
        double sum, distinct;
        contention(v, k * v->sms, &sum, &distinct);
        json_array_append_new(ratio, json_pack("{s:I, s:f, s:f}", "tlp",
                                               (json_int_t)(k * v->sms), "contention",
                                               sum, "contention_distinct", distinct));
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "kernel",
                     v->kernel, "blocks", (json_int_t)w->blocks, "line_bytes",
                     (json_int_t)w->line_bytes, "capacity_lines", (json_int_t)v->capacity,
                     "sum", (json_int_t)w->sum, "distinct", (json_int_t)w->distinct,
                     "cps", v->cps, "lines", lines, "arrays", arrays, "overlap", over,
                     "contention", ratio);
}

static bool
draw(const struct view *v, const char *path)
{
    static const char *const series[] = {"sum of working sets", "common lines once"};
    char(*name)[24] = xcalloc(v->resident, sizeof *name);
    const char **groups = xcalloc(v->resident, sizeof *groups);
    double *value = xcalloc(2 * v->resident, sizeof *value),
           *x = xcalloc(v->resident, sizeof *x);
    for (uint64_t k = 0; k < v->resident; k++) {
        contention(v, (k + 1) * v->sms, &value[2 * k], &value[2 * k + 1]);
        snprintf(name[k], sizeof *name, "%llu", (unsigned long long)((k + 1) * v->sms));
        groups[k] = name[k];
        x[k] = (double)((k + 1) * v->sms);
    }
    char title[160];
    snprintf(title, sizeof title, "%.100s: contention ratio over TLP", v->kernel);
    struct chart c = {.title = title,
                      .kind = CHART_LINES,
                      .x = x,
                      .xlabel = "resident blocks of the GPU",
                      .ylabel = "working sets / last-level cache",
                      .ngroups = v->resident,
                      .nseries = 2,
                      .groups = groups,
                      .series = series,
                      .value = value};
    bool ok = cli_chart(&c, path);
    free(name);
    free(groups);
    free(value);
    free(x);
    return ok;
}

static bool
write_schedule(const struct view *v, const struct show *show,
               const struct allot_machine *m, struct allot_diag *d)
{
    char *text = allot_working_schedule(v->r, m, show->method,
                                        (uint32_t)(v->sms * v->resident), v->cps, d);
    bool ok = text && cli_write_file(show->out ? show->out : "-", text, strlen(text));
    free(text);
    return ok;
}

static bool
show_one(struct view *v, const struct show *show, const struct allot_machine *m,
         json_t *kernels, struct allot_diag *d)
{
    if (show->chart && !draw(v, show->chart))
        return false;
    if (show->method)
        return write_schedule(v, show, m, d);
    if (show->json)
        json_array_append_new(kernels, view_json(v));
    else if (show->csv)
        for (uint32_t i = 0; i < v->w.blocks; i++)
            printf("%s,%u,%llu\n", v->kernel, i, (unsigned long long)v->w.lines[i]);
    else
        print_text(v);
    return true;
}

/* Launch number show->nth of each kernel, or of the one that is asked for. */
static bool
show_all(const struct allot_device *dev, const struct show *show,
         const struct allot_machine *m, struct allot_diag *d)
{
    json_t *kernels = json_array();
    size_t shown = 0;
    bool ok = true;
    if (show->csv)
        printf("kernel,block,lines\n");
    for (size_t i = 0; ok && i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t nth = 1;
        for (size_t k = 0; k < i; k++)
            nth += !strcmp(allot_result_kernel(allot_result_at(dev, k)),
                           allot_result_kernel(r));
        if (nth != show->nth ||
            (show->only && strcmp(show->only, allot_result_kernel(r))))
            continue;
        if (shown++ && (show->method || show->chart)) {
            fprintf(stderr, "allot: there are several kernels; choose one (--only)\n");
            ok = false;
            break;
        }
        struct view v;
        ok = view_of(&v, r, m, show, d) && show_one(&v, show, m, kernels, d);
        free(v.sorted);
    }
    if (ok && !shown) {
        fprintf(stderr, "allot: there is no launch %llu of kernel %s\n",
                (unsigned long long)show->nth, show->only ? show->only : "any");
        ok = false;
    }
    if (ok && show->json && !show->method) {
        json_t *o =
            json_pack("{s:s, s:O}", "machine", allot_machine_name(m), "kernels", kernels);
        json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        printf("\n");
        json_decref(o);
    }
    json_decref(kernels);
    return ok;
}

/* Options of a simulation without those that need time. */
static void
sim_options(struct cli_sim *s, struct cli_opt table[CLI_SIM_OPTIONS])
{
    static const char *const left_out[] = {"schedule",      "functional", "no-skip",
                                           "scheduler",     "max-cycles", "threads",
                                           "check-analyses"};
    cli_sim_options(s, table);
    cli_leave_out(table, left_out, sizeof left_out / sizeof *left_out);
}

int
cmd_workingset(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct cli_list params = {0}, pos;
    struct show show = {0};
    const char *nth = "1";
    double cps;
    const struct cli_opt options[] = {
        {"only", 0, "KERNEL", "this kernel alone", &show.only, NULL, NULL},
        {"nth", 0, "N", "the N-th launch of a kernel (default 1)", &nth, NULL, NULL},
        {"schedule", 0, "METHOD",
         "write a schedule: awss, static (one TLP), relax (a step's largest block is "
         "free), window (TLP by lines in common), round-robin, random (,tlp=N)",
         &show.method, NULL, NULL},
        {"cps", 0, "X",
         "... cost of a synchronisation in run times of a block (default: sync_cycles / "
         "warp instructions)",
         &show.cps, NULL, NULL},
        {"output", 'o', "FILE", "... to this file", &show.out, NULL, NULL},
        {"chart", 'c', "FILE", "contention ratio over TLP, .svg, .pdf, .png or .txt", &show.chart,
         NULL, NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &show.json},
        {"csv", 0, NULL, "lines of each block", NULL, NULL, &show.csv},
        {"param", 'P', "NAME=VALUE", "a parameter of the workload (its README)", NULL,
         &params, NULL},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    sim_options(&s, sim);
    cli_own_options(&own, kernel);
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, options, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (pos.n != 1)
        return cli_usage(&cmd, "give one workload or one file");
    if (!cli_u64(nth, 1, UINT32_MAX, &show.nth))
        return cli_usage(&cmd, "--nth %s: not a positive number", nth);
    if (show.cps && (!cli_f64(show.cps, &cps) || !(cps >= 0)))
        return cli_usage(&cmd, "--cps %s: not a number from 0 on", show.cps);
    if ((show.out || show.cps) && !show.method)
        return cli_usage(&cmd, "--output and --cps belong to --schedule METHOD");
    s.functional = true;
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    o.functional = o.working_sets = true;
    o.threads = 1;
    const struct allot_workload *w = allot_workload_find(pos.v[0]);
    if (w && cli_own_given(&own))
        return cli_own_misplaced(&cmd);
    if (!w && access(pos.v[0], R_OK))
        return cli_usage(&cmd,
                         "'%s' is neither a workload ('allot list workloads') nor a "
                         "file%s",
                         pos.v[0], cli_near_workload(pos.v[0]));
    int status = w ? EXIT_OK : cli_own_ready(&cmd, &own);
    if (status)
        return status;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(&s, d);
    uint64_t seed = 0;
    cli_u64(s.seed, 0, UINT32_MAX, &seed);
    struct allot_module *mod = !m  ? NULL
                               : w ? cli_workload_module(w, s.compiler, d)
                                   : allot_module_load_for(pos.v[0], m, d);
    struct launch l;
    bool ok = mod && (w || cli_own_read(&own, mod, pos.v[0], &l));
    struct allot_device *dev = ok ? allot_device_new(m, &o, d) : NULL;
    struct strbuf text = {0};
    for (size_t i = 0; i < params.n; i++)
        strbuf_printf(&text, "%s%s", i ? " " : "", params.v[i]);
    char why[256] = "";
    ok = dev && (w ? allot_workload_run_with(w, dev, mod, s.quick, (uint32_t)seed, text.s,
                                             why, d)
                   : cli_own_run(&l, dev, (uint32_t)seed));
    cli_progress_end();
    if (*why)
        fprintf(stderr, "allot: %s: %s\n", pos.v[0], why);
    ok = ok && show_all(dev, &show, m, d);
    strbuf_free(&text);
    cli_diag(d);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return cli_flush(ok ? EXIT_OK : EXIT_FAILED);
}
