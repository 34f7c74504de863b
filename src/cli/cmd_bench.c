/* cmd_bench.c: allot bench: how fast the simulator is, per workload. */
#include "cli/cli.h"

#include "base/clock.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

struct figure {
    uint64_t warp, cycles;
    double seconds;
};

/* Sum over one run's launches; simulation time only (not the host's check). */
static bool
measure(const struct allot_workload *w, const struct cli_cmd *cmd,
        const struct cli_sim *s, struct figure *f)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_options o;
    struct allot_machine *m = NULL;
    struct allot_module *mod = NULL;
    struct allot_device *dev = NULL;
    uint64_t seed;
    char why[256] = "";
    bool ok = cli_u64(s->seed, 0, UINT32_MAX, &seed) &&
              cli_sim_run_options(cmd, s, &o, w->name) && (m = cli_sim_machine(s, d)) &&
              (mod = cli_workload_module(w, s->compiler, d)) &&
              (dev = cli_sim_device(s, m, &o, d)) &&
              allot_workload_run(w, dev, mod, s->quick, (uint32_t)seed, why, d);
    memset(f, 0, sizeof *f);
    for (size_t i = 0; ok && i < allot_results(dev); i++) {
        uint64_t v = 0;
        allot_result_get(allot_result_at(dev, i), "warp_instructions", &v, NULL);
        f->warp += v;
        v = 0;
        allot_result_get(allot_result_at(dev, i), "cycles", &v, NULL);
        f->cycles += v;
        f->seconds += allot_result_seconds(allot_result_at(dev, i));
    }
    cli_progress_end();
    if (*why)
        fprintf(stderr, "allot: %s: check failed: %s\n", w->name, why);
    cli_diag(d);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok;
}

/* Best of n: the least disturbed by whatever else the machine does. */
static bool
best_of(const struct allot_workload *w, const struct cli_cmd *cmd,
        const struct cli_sim *s, uint64_t n, struct figure *best)
{
    for (uint64_t i = 0; i < n; i++) {
        struct figure f;
        if (!measure(w, cmd, s, &f) || cli_interrupted())
            return false;
        if (!i || f.seconds < best->seconds)
            *best = f;
    }
    return true;
}

/* -- parsing -- */

static char *
read_all(const char *path, size_t *n)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t cap = 1 << 20;
    char *text = f ? malloc(cap) : NULL;
    *n = 0;
    while (text) {
        *n += fread(text + *n, 1, cap - *n, f);
        if (*n < cap)
            break;
        cap *= 2;
        char *more = realloc(text, cap);
        if (!more)
            free(text);
        text = more;
    }
    if (f && f != stdin)
        fclose(f);
    return text;
}

/* Text to module and back to nothing, as often as fills a tenth of a second. */
static bool
parse_once(const char *path, const char *text, size_t n, double *mb_per_s)
{
    struct allot_diag *d = cli_diag_new();
    double begin = clock_seconds(CLOCK_PROCESS_CPUTIME_ID), spent = 0;
    bool ok = true;
    uint64_t bytes = 0;
    while (ok && spent < 0.1) {
        struct allot_module *m = allot_module_parse(path, text, n, d);
        ok = m != NULL;
        allot_module_free(m);
        bytes += n;
        spent = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    }
    *mb_per_s = (double)bytes / 1e6 / spent;
    cli_diag(d);
    allot_diag_free(d);
    return ok;
}

static int
bench_parse(const struct cli_list *files, uint64_t repeat, bool tsv)
{
    struct table *t =
        table_new(3, (const char *const[]){"file", "megabytes", "megabytes_per_s"});
    bool ok = true;
    if (tsv)
        printf("file\tmegabytes\tmegabytes_per_s\n");
    for (size_t i = 0; ok && i < files->n; i++) {
        size_t n;
        char *text = read_all(files->v[i], &n);
        double best = 0;
        if (!text) {
            fprintf(stderr, "allot: cannot read '%s'\n", files->v[i]);
            ok = false;
        }
        for (uint64_t k = 0; ok && k < repeat; k++) {
            double speed;
            ok = parse_once(files->v[i], text, n, &speed);
            best = speed > best ? speed : best;
        }
        free(text);
        if (tsv && ok)
            printf("%s\t%.6f\t%.1f\n", files->v[i], (double)n / 1e6, best);
        if (tsv || !ok)
            continue;
        table_cell(t, "%s", files->v[i]);
        table_cell(t, "%.3f", (double)n / 1e6);
        table_cell(t, "%.1f", best);
    }
    if (!tsv && ok)
        table_show(t, stdout);
    table_free(t);
    return ok ? EXIT_OK : EXIT_FAILED;
}

enum { MOST_USUAL = 64 };

/* Names of the workloads to run if none is given. */
static size_t
usual_workloads(const char **name)
{
    size_t n = 0;
    for (const struct allot_workload *const *w = allot_workloads; *w; w++)
        if ((*w)->bench && n < MOST_USUAL)
            name[n++] = (*w)->name;
    return n;
}

int
cmd_bench(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "bench", "[OPTIONS] [WORKLOAD... | --parse FILE...]",
        "Simulated warp instructions and cycles per second of host time, with timing and\n"
        "functionally; the best of --repeat runs. Default workloads: those that are marked\n"
        "for it in their folder (.bench), at their full sizes.\n"
        "With --parse: megabytes of PTX parsed per second of CPU time, per file ('-': stdin).",
        "  allot bench --tsv > speed.tsv\n"};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    const char *repeat = "3";
    bool tsv = false, parse = false;
    const struct cli_opt own[] = {
        {"parse", 0, NULL, "the arguments are PTX files: how fast they parse", NULL, NULL,
         &parse},
        {"tsv", 0, NULL, "tab-separated, for a table file", NULL, NULL, &tsv},
        {"repeat", 'n', "N", "runs of each (default 3)", &repeat, NULL, NULL},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS];
    cli_sim_options(&s, sim);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, own, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    uint64_t n;
    if (!cli_u64(repeat, 1, 1000, &n))
        return cli_usage(&cmd, "--repeat %s: not a number from 1 to 1000", repeat);
    if (parse && !pos.n)
        return cli_usage(&cmd, "--parse needs PTX files");
    if (parse)
        return bench_parse(&pos, n, tsv);
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, ""))
        return EXIT_USAGE;
    const char *usual[MOST_USUAL];
    struct cli_list names =
        pos.n ? pos : (struct cli_list){usual, usual_workloads(usual)};
    for (size_t i = 0; i < names.n; i++)
        if (!allot_workload_find(names.v[i]))
            return cli_usage(
                &cmd, "no workload is called '%s'%s\n('allot list workloads' names them)",
                names.v[i], cli_near_workload(names.v[i]));
    struct table *t =
        table_new(8, (const char *const[]){"workload", "machine", "threads", "mode",
                                           "warp_instructions", "seconds",
                                           "warp_instructions_per_s", "cycles_per_s"});
    if (tsv)
        printf("workload\tmachine\tthreads\tmode\twarp_instructions\tseconds\t"
               "warp_instructions_per_s\tcycles_per_s\n");
    bool ok = true;
    for (size_t i = 0; ok && i < names.n; i++) {
        const struct allot_workload *w = allot_workload_find(names.v[i]);
        for (int functional = s.functional ? 1 : 0; ok && functional < 2; functional++) {
            struct cli_sim one = s;
            one.functional = functional;
            struct figure f = {0};
            ok = best_of(w, &cmd, &one, n, &f);
            if (!ok)
                break;
            double wps = (double)f.warp / f.seconds, cps = (double)f.cycles / f.seconds;
            unsigned threads = checked.threads ? checked.threads : 1;
            const char *mode = functional ? "functional" : "timing";
            if (tsv) {
                printf("%s\t%s\t%u\t%s\t%llu\t%.6f\t%.0f\t%.0f\n", w->name, s.machine,
                       threads, mode, (unsigned long long)f.warp, f.seconds, wps, cps);
                fflush(stdout);
                continue;
            }
            char b[32];
            table_cell(t, "%s", w->name);
            table_cell(t, "%s", s.machine);
            table_cell(t, "%u", threads);
            table_cell(t, "%s", mode);
            table_cell(t, "%s", table_thousands(b, f.warp));
            table_cell(t, "%.3f", f.seconds);
            table_cell(t, "%s", table_thousands(b, (uint64_t)wps));
            if (functional)
                table_cell(t, "-");
            else
                table_cell(t, "%s", table_thousands(b, (uint64_t)cps));
        }
    }
    if (!tsv)
        table_show(t, stdout);
    table_free(t);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
