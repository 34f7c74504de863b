/* cmd_advise.c: allot advise: what limits a kernel, what would help, what that gains. */
#include "cli/runs.h"
#include "cli/session.h"

#include <string.h>
#include <unistd.h>

static const struct cli_cmd cmd = {
    "advise", "[OPTIONS] WORKLOAD | KERNEL.ptx",
    "Says what limits a kernel and which lines lose most, tries what may help, and answers\n"
    "what to do, what it gains in time and energy, and what it costs: on the card you have,\n"
    "and on new hardware (docs/advise.md). Each answer is a simulation of the whole run whose\n"
    "results are those of the original. A kernel of your own is described as for 'allot run'.\n"
    "Ctrl-C, or the end of --budget, answers with what is known until then.",
    "  allot advise lavaMD --quick -m 001-table2.3-scratchpad\n"
    "  allot advise hotspot -m a100 --budget 5m --json\n"
    "  allot advise saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32 \\\n"
    "      --arg buf:1024xf32 --arg 1024 -o better.ptx\n"};

struct job {
    const char *budget, *jobs, *output;
    struct cli_list params;
    bool json, exhaustive;
    double seconds; /* of the budget; 0: none */
    uint64_t processes;
};

/* The status. */
static int
advise(const struct job *j, struct cli_session *x, const struct allot_options *o)
{
    char why[256];
    struct advice a;
    if (!cli_session_machine(x) || !cli_session_device(x, o))
        return EXIT_FAILED;
    struct advice_of of = cli_session_advise(x, o);
    of.jobs = (unsigned)j->processes;
    of.budget = j->seconds;
    of.exhaustive = j->exhaustive;
    bool ok = advice_make(&of, &a, why, x->d);
    cli_progress_end();
    if (*why)
        fprintf(stderr, "allot advise: %s: %s\n", x->subject.name, why);
    if (ok && j->output)
        ok = cli_session_advised(x, &a, j->output);
    if (ok && j->json) {
        json_t *answer = advice_json(&a);
        ok = cli_write_json("-", answer, CLI_JSON);
        json_decref(answer);
    } else if (ok)
        advice_text(stdout, &a, cli_session_again(x), j->output);
    advice_free(&a);
    return ok ? EXIT_OK : advice_refused(&a) ? EXIT_USAGE : EXIT_FAILED;
}

int
cmd_advise(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct job j = {.processes = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)};
    bool list = false;
    const struct cli_opt options[] = {
        {"budget", 0, "TIME", "at most so long: 90, 90s, 5m, 1h", &j.budget, NULL, NULL},
        {"jobs", 'j', "N", "simulations at a time (default: as many as processors)",
         &j.jobs, NULL, NULL},
        {"output", 'o', "FILE.ptx", "the best that works on the card, as PTX", &j.output,
         NULL, NULL},
        {"exhaustive", 0, NULL,
         "try also what cannot help, to its end, and no pairs (to judge the search)",
         NULL, NULL, &j.exhaustive},
        {"param", 'P', "NAME=VALUE", "a parameter of the workload (its README)", NULL,
         &j.params, NULL},
        {"json", 0, NULL, "one JSON object with every candidate", NULL, NULL, &j.json},
        {"list", 0, NULL, "what can limit a kernel and what is tried, as Markdown tables",
         NULL, NULL, &list},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    cli_sim_options(&s, sim);
    cli_leave_out(sim,
                  (const char *const[]){"functional", "check-analyses", "no-skip",
                                        "schedule", "threads"},
                  5);
    cli_own_options(&own, kernel);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, sim, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (list)
        return advice_list(stdout), EXIT_OK;
    if (pos.n && (!strcmp(pos.v[0], "exec") || subject_kind(pos.v[0]) == SUBJECT_PROGRAM))
        return cli_usage(&cmd, "a CUDA program cannot be advised yet: 'allot exec --why "
                               "--by-line' says what limits its kernels");
    if (pos.n != 1)
        return cli_usage(&cmd, "give one workload or one file");
    if (j.budget && !cli_seconds(j.budget, &j.seconds))
        return cli_usage(&cmd, "--budget %s: a time, as 90s, 5m or 1h", j.budget);
    if (j.jobs && !cli_u64(j.jobs, 1, 256, &j.processes))
        return cli_usage(&cmd, "--jobs %s: not a number from 1 to 256", j.jobs);
    if (j.json && j.output && !strcmp(j.output, "-"))
        return cli_usage(&cmd, "--json and the PTX cannot both go to standard output");
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    if (j.output && !cli_writable(j.output))
        return EXIT_FAILED;
    struct cli_session x;
    int status = cli_session_find(&cmd, &s, pos.v[0], &own, &j.params, &x);
    if (status)
        return status;
    status = advise(&j, &x, &o);
    cli_session_close(&x);
    return cli_interrupted() ? EXIT_INTERRUPTED : status;
}
