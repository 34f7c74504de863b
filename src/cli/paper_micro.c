/* paper_micro.c: allot paper micro: the microbenchmarks beside GPGPU-Sim
 * (micro/reference.h). */
#include "cli/runs.h"
#include "micro/micro.h"
#include "micro/reference.h"

static const struct cli_cmd cmd = {
    "paper micro", "[OPTIONS] [CASE...]",
    "Runs the microbenchmarks (workloads/micro/) on gtx480 and titan: cycles of each launch\n"
    "beside those of GPGPU-Sim 4.2 (papers/micro/), and how far apart they are. CASE: only\n"
    "those whose name begins so. Fails if a kernel executes another number of\n"
    "instructions, or, with all cases, if the median difference reaches 3 % or fewer than\n"
    "95 % of the launches are within 10 %.",
    "  allot paper micro --quick\n"
    "  allot paper micro --machine titan l2read --csv\n"};

int
paper_micro(int argc, char **argv)
{
    struct reference r = {0};
    const char *chart = NULL;
    struct cli_list pos;
    struct cli_sim sim = CLI_SIM_DEFAULTS;
    const struct cli_opt own[] = {
        {"quick", 'q', NULL, "of every kernel only the shortest case", NULL, NULL,
         &r.quick},
        {"machine", 'm', "NAME", "gtx480 or titan (default both)", &r.machine, NULL,
         NULL},
        {"csv", 0, NULL, "launches as CSV; the summary goes to standard error", NULL,
         NULL, &r.csv},
        {"chart", 0, "FILE", "median difference of each group of cases, .svg, .pdf, .png or .txt",
         &chart, NULL, NULL},
        {0}};
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, NULL}, argc, argv, &pos))
        return EXIT_USAGE;
    if (r.machine && !reference_has_machine(r.machine))
        return cli_usage(
            &cmd, "--machine %s: there are figures for gtx480 and titan only", r.machine);
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &sim, &o, "micro"))
        return EXIT_USAGE;
    const char *unknown = micro_unknown(pos.v, pos.n);
    if (unknown)
        return cli_usage(&cmd, "no case begins with '%s' (papers/micro/gpgpusim.csv)",
                         unknown);
    if (chart && !cli_writable(chart))
        return EXIT_FAILED;
    r.only = pos.v;
    r.nonly = pos.n;
    struct allot_diag *d = cli_diag_new();
    struct diag_sink diag = {0};
    bool ok = reference_run(&r, &o, &diag, d);
    cli_progress_end();
    if (ok && !r.samples.n) {
        fprintf(stderr, "allot paper micro: no case begins with '%s'\n", pos.v[0]);
        ok = false;
    }
    if (ok) {
        reference_print_launches(&r);
        bool met = reference_print_summary(&r);
        if (!pos.n && !met) {
            fprintf(stderr, "allot: the goals (median under 3 %%, 95 %% of the launches "
                            "within 10 %%) are missed\n");
            ok = false;
        }
        ok &= reference_same_instructions(&r);
        if (chart)
            ok &= reference_chart(&r, chart, &diag);
    }
    cli_sink(&diag);
    cli_diag(d);
    allot_diag_free(d);
    reference_free(&r);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
