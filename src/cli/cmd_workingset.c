/* cmd_workingset.c: allot workingset: the cache lines that each block touches, what blocks
 * have in common, the contention ratio over TLP; schedules made from them (004). Of a
 * workload, of a kernel of one's own, or of each kernel of a CUDA program. */
#include "cli/runs.h"
#include "cli/session.h"

#include "cuda/core/core.h"
#include "report/working_report.h"
#include "runtime/working.h"

static const struct cli_cmd cmd = {
    "workingset", "[OPTIONS] WORKLOAD | FILE | [--] PROGRAM [ARGUMENTS]",
    "Runs a workload, a kernel of your own, or a CUDA program (as 'allot exec' does; what it\n"
    "prints is left out) without timing and shows for each kernel the distinct cache lines\n"
    "of global memory that its blocks touch: how they are distributed, in which arrays they\n"
    "lie, what blocks have in common, and the contention ratio over the number of blocks\n"
    "that run at once. --schedule makes a schedule for 'allot run' and 'allot exec'\n"
    "(docs/cta-scheduling.md).",
    "  allot workingset euler -m 004-table1-fermi\n"
    "  allot workingset euler --schedule awss -o flux.txt && allot run euler --schedule "
    "flux.txt\n"
    "  allot workingset -- ./app 1000\n"};

/* A workload or a file's kernel. */
static bool
of_kernels(struct cli_session *x, const struct allot_options *o,
           const struct working_show *show, const struct working_want *want,
           json_t *launches)
{
    bool ok = cli_session_device(x, o) && cli_session_run(x);
    cli_progress_end();
    if (cli_session_why(&cmd, x) == EXIT_USAGE)
        cli_misused();
    return ok && rt_working_launches(x->dev, x->machine, show->nth, show->kernel, want,
                                     launches, x->d);
}

/* A CUDA program with its arguments. */
static bool
of_program(const struct cli_list *words, const struct cli_sim *s, uint64_t nth,
           const struct working_want *want, json_t *launches)
{
    struct program_setup setup = cli_program_setup(s, &(struct cli_look){0});
    struct program_result r;
    setup.threads = 1;
    setup.working_nth = nth;
    setup.working = *want;
    bool ok = cli_program_launches(&cmd, &setup, words, &r, NULL);
    if (ok)
        json_array_extend(launches, r.working);
    program_result_free(&r);
    return ok;
}

int
cmd_workingset(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct cli_list params = {0}, pos;
    struct working_want want = {.cps = -1};
    struct working_show show = {0};
    const char *const machine = s.machine, *nth = "1", *cps = NULL, *style = NULL;
    const struct cli_opt options[] = {
        {"only", 0, "KERNEL", "this kernel alone", &show.kernel, NULL, NULL},
        {"nth", 0, "N", "the N-th launch of a kernel (default 1)", &nth, NULL, NULL},
        {"schedule", 0, "METHOD",
         "write a schedule: awss, static (one TLP), relax (a step's largest block is "
         "free), window (TLP by lines in common), round-robin, random (,tlp=N)",
         &want.method, NULL, NULL},
        {"cps", 0, "X",
         "... cost of a synchronisation in run times of a block (default: sync_cycles / "
         "warp instructions)",
         &cps, NULL, NULL},
        {"output", 'o', "FILE", "... to this file", &show.out, NULL, NULL},
        {"chart", 'c', "FILE", "contention ratio over TLP, .svg, .pdf, .png or .txt",
         &show.chart, NULL, NULL},
        CLI_CHART_STYLE(&style),
        {"json", 0, NULL, "one JSON object", NULL, NULL, &show.json},
        {"csv", 0, NULL, "lines of each block", NULL, NULL, &show.csv},
        {"param", 'P', "NAME=VALUE", "a parameter of the workload (its README)", NULL,
         &params, NULL},
        {0}};
    static const char *const no_time[] = {"schedule",      "functional", "no-skip",
                                          "scheduler",     "max-cycles", "threads",
                                          "check-analyses"};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    cli_sim_options(&s, sim);
    cli_leave_out(sim, no_time, sizeof no_time / sizeof *no_time);
    cli_own_options(&own, kernel);
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, options, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (!pos.n)
        return cli_usage(&cmd, "give a workload, a file, or a program");
    if (!cli_u64(nth, 1, UINT32_MAX, &show.nth))
        return cli_usage(&cmd, "--nth %s: not a positive number", nth);
    if (want.method && !cli_method(want.method))
        return EXIT_USAGE;
    if (cps && (!cli_f64(cps, &want.cps) || !(want.cps >= 0)))
        return cli_usage(&cmd, "--cps %s: not a number from 0 on", cps);
    if ((show.out || cps) && !want.method)
        return cli_usage(&cmd, "--output and --cps belong to --schedule METHOD");
    s.functional = true;
    struct allot_options o;
    if (!cli_chart_named(&cmd, show.chart, style, &show.look) ||
        !cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    o.working_sets = true;
    o.threads = 1;
    struct cli_session x;
    bool program;
    int status = cli_session_words(&cmd, &s, &pos, &own, &params, &x, &program);
    if (status)
        return status;
    if (program && s.machine == machine)
        s.machine = ACU_MACHINE;
    struct diag_sink diag = {0};
    json_t *all = json_array();
    bool ok =
        cli_session_machine(&x) && (program ? of_program(&pos, &s, show.nth, &want, all)
                                            : of_kernels(&x, &o, &show, &want, all));
    show.schedule = want.method;
    ok = ok && working_report(all, allot_machine_name(x.machine), &show, stdout, &diag);
    cli_sink(&diag);
    if (ok && show.chart)
        fprintf(stderr, "chart: %s\n", show.chart);
    json_decref(all);
    cli_session_close(&x);
    return cli_flush(ok ? EXIT_OK : EXIT_FAILED);
}
