/* cmd_bench.c: allot bench: how fast the simulator is, per workload. */
#include "cli/cli.h"

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
    struct allot_diag *d = allot_diag_new();
    struct allot_options o;
    struct allot_machine *m = NULL;
    struct allot_module *mod = NULL;
    struct allot_device *dev = NULL;
    uint64_t seed;
    char why[256] = "";
    bool ok = cli_u64(s->seed, 0, UINT32_MAX, &seed) &&
              cli_sim_run_options(cmd, s, &o, w->name) && (m = cli_sim_machine(s, d)) &&
              (mod = cli_workload_module(w, s->compiler, d)) &&
              (dev = allot_device_new(m, &o, d)) &&
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

int
cmd_bench(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "bench", "[OPTIONS] [WORKLOAD...]",
        "Simulated warp instructions and cycles per second of host time, with timing and\n"
        "functionally (on one thread); the best of --repeat runs. Default workloads: vecadd,\n"
        "bfs, matmul, hotspot, backprop, backprop_16 at their full sizes.",
        "  allot bench --tsv > speed.tsv\n"};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    const char *repeat = "3";
    bool tsv = false;
    const struct cli_opt own[] = {
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
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, ""))
        return EXIT_USAGE;
    static const char *const usual[] = {"vecadd",  "bfs",      "matmul",
                                        "hotspot", "backprop", "backprop_16"};
    struct cli_list names = pos.n ? pos : (struct cli_list){(const char **)usual, 6};
    for (size_t i = 0; i < names.n; i++)
        if (!allot_workload_find(names.v[i]))
            return cli_usage(&cmd, "no workload is called '%s' ('allot list workloads')",
                             names.v[i]);
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
            unsigned threads = functional || !checked.threads ? 1 : checked.threads;
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
    if (!tsv) {
        struct strbuf b = {0};
        table_print(t, &b);
        fputs(b.s, stdout);
        strbuf_free(&b);
    }
    table_free(t);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
