/* cmd_bench.c: allot bench: how fast the simulator is, per workload. */
#include "cli/runs.h"
#include "cli/session.h"

#include "micro/speed.h"

static const struct cli_cmd cmd = {
    "bench", "[OPTIONS] [WORKLOAD... | --parse FILE...]",
    "Simulated warp instructions and cycles per second of host time, with timing and\n"
    "functionally; the best of --repeat runs. Default workloads: those that are marked\n"
    "for it in their folder (.bench), at their full sizes.\n"
    "With --parse: megabytes of PTX parsed per second of CPU time, per file ('-': stdin).",
    "  allot bench --tsv > speed.tsv\n"};

/* The fastest of n runs. */
static bool
best_of(const struct allot_workload *w, const struct cli_sim *s, uint64_t n,
        struct speed *best)
{
    bool ok = true;
    for (uint64_t i = 0; ok && i < n; i++) {
        struct cli_session x = cli_session_of(s, w->name, w, NULL, NULL);
        struct allot_options o;
        struct speed one = {0};
        ok = cli_session_machine(&x) && cli_sim_run_options(&cmd, s, &o, w->name) &&
             cli_session_device(&x, &o) && cli_session_run(&x);
        if (ok)
            speed_add(&one, x.dev);
        *best = i ? speed_best(best, &one) : one;
        if (*x.why)
            fprintf(stderr, "allot: %s: check failed: %s\n", w->name, x.why);
        cli_session_close(&x);
        ok = ok && !cli_interrupted();
    }
    return ok;
}

static int
bench_parse(const struct cli_list *files, uint64_t repeat, bool tsv)
{
    struct allot_diag *d = cli_diag_new();
    struct diag_sink diag = {0};
    struct speed_report r = speed_report_parsing(stdout, tsv);
    bool ok = speed_report_files(&r, files->v, files->n, repeat, &diag, d);
    speed_report_end(&r, ok);
    cli_sink(&diag);
    cli_diag(d);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}

enum { MOST_USUAL = 64 };

int
cmd_bench(int argc, char **argv)
{
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
        pos.n ? pos : (struct cli_list){usual, speed_usual(usual, MOST_USUAL)};
    if (!cli_known_workloads(&cmd, &names))
        return EXIT_USAGE;
    struct speed_report r = speed_report_runs(stdout, tsv);
    bool ok = true;
    for (size_t i = 0; ok && i < names.n; i++) {
        const struct allot_workload *w = allot_workload_find(names.v[i]);
        for (int functional = s.functional ? 1 : 0; ok && functional < 2; functional++) {
            struct cli_sim one = s;
            struct speed best;
            one.functional = functional;
            ok = best_of(w, &one, n, &best);
            if (ok)
                speed_report_run(&r, w->name, s.machine,
                                 checked.threads ? checked.threads : 1, functional,
                                 &best);
        }
    }
    speed_report_end(&r, true);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
