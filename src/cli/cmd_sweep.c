/* cmd_sweep.c: allot sweep: an experiment file's runs into the store, here or by Slurm.
 */
#include "cli/runs.h"

#include "report/run_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A task of a job array, started by Slurm. */
static int
do_task(const struct cli_cmd *cmd, const char *batch, const struct runner *o)
{
    const char *index = getenv("SLURM_ARRAY_TASK_ID");
    struct diag_sink diag = {0};
    uint64_t i;
    if (!index || !cli_u64(index, 0, 1 << 20, &i))
        return cli_usage(cmd,
                         "--task is for Slurm jobs: $SLURM_ARRAY_TASK_ID is not set");
    bool ok = slurm_task(o, batch, (size_t)i, &diag);
    cli_sink(&diag);
    return ok ? EXIT_OK : EXIT_FAILED;
}

static int
do_cancel(const char *db)
{
    struct diag_sink diag = {0};
    size_t n = 0;
    struct store *s = store_open(db, STORE_READ, &diag);
    bool ok = s && slurm_cancel(s, &n, &diag);
    cli_sink(&diag);
    if (ok)
        fprintf(stderr, "cancelled %zu runs; what was finished is stored\n", n);
    store_close(s);
    return ok ? EXIT_OK : EXIT_FAILED;
}

int
cmd_sweep(int argc, char **argv)
{
    const struct cli_cmd cmd = {
        "sweep", "[OPTIONS] FILE.yaml",
        "Runs what an experiment file describes and the store does not have yet, each\n"
        "simulation in a process of its own, and prints the values. A run that is stored is\n"
        "not done again; one that failed only with --retry. Ctrl-C or a kill lose nothing\n"
        "that was finished: the same command goes on. docs/experiments.md describes the file.",
        "  allot sweep mine.yaml --db mine.db --csv mine.csv\n"
        "  allot sweep mine.yaml --engine slurm -p batch --time-limit 600 "
        "--memory-limit 2000\n"};
    struct cli_runs r = {0};
    struct slurm j = {0};
    struct figure_files to = {0};
    const char *engine = "local", *throttle = NULL, *task = NULL;
    bool quick = false, dry = false, cancel = false;
    const struct cli_opt own[] = {
        {"quick", 'q', NULL, "the workloads' small inputs", NULL, NULL, &quick},
        {"csv", 0, "FILE", "write the values as CSV", &to.csv, NULL, NULL},
        {"dry-run", 'n', NULL, "only list the runs and what the store has", NULL, NULL,
         &dry},
        {"engine", 'e', "local|slurm",
         "where: this machine (default), or Slurm job arrays", &engine, NULL, NULL},
        {"partition", 'p', "NAME", "Slurm: the partition", &j.partition, NULL, NULL},
        {"throttle", 0, "N", "Slurm: at most N runs of an array at a time", &throttle,
         NULL, NULL},
        {"requeue", 0, NULL, "Slurm: start runs of failed nodes again", NULL, NULL,
         &j.requeue},
        {"no-wait", 0, NULL, "Slurm: submit, collect what is there, return", NULL, NULL,
         &j.no_wait},
        {"cancel", 0, NULL, "Slurm: cancel all jobs of this store", NULL, NULL, &cancel},
        {"task", 0, "DIR", "Slurm: what a job of ours runs", &task, NULL, NULL},
        {0}};
    struct cli_opt runs[CLI_RUNS_OPTIONS];
    cli_runs_options(&r, runs);
    struct cli_list pos;
    uint64_t most = 0;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, runs, NULL}, argc, argv,
                   &pos) ||
        !cli_runs_runner(&cmd, &r, &j.limits))
        return EXIT_USAGE;
    const bool slurm = !strcmp(engine, "slurm");
    if (task)
        return do_task(&cmd, task, &j.limits);
    if (!slurm && strcmp(engine, "local"))
        return cli_usage(&cmd, "--engine %s: local or slurm", engine);
    if (throttle && !cli_u64(throttle, 1, 1 << 20, &most))
        return cli_usage(&cmd, "--throttle %s: not a positive number", throttle);
    if (!slurm && (j.partition || throttle || j.requeue || j.no_wait || cancel))
        return cli_usage(&cmd,
                         "--partition, --throttle, --requeue, --no-wait and --cancel "
                         "are for --engine slurm");
    if (cancel)
        return do_cancel(r.db);
    if (pos.n != 1)
        return cli_usage(&cmd, "give one experiment file");
    if (access(pos.v[0], F_OK) && !strchr(pos.v[0], '/'))
        return cli_usage(&cmd, "there is no file '%s'%s", pos.v[0],
                         cli_near_experiment(pos.v[0]));
    if (to.csv && !cli_writable(to.csv))
        return EXIT_FAILED;
    struct diag_sink diag = {0};
    struct experiment *e = experiment_load(pos.v[0], quick, &diag);
    struct store *s = e ? store_open(r.db, STORE_WRITE, &diag) : NULL;
    cli_sink(&diag);
    int status = s && dry ? EXIT_OK : EXIT_FAILED;
    if (s && dry) {
        run_report_plan(s, e, stdout);
    } else if (s && cli_runs_allowed(&r, e)) {
        j.name = e->name;
        j.throttle = (unsigned)most;
        status = slurm ? cli_runs_slurm(&j, s, e) : cli_runs_do(&j.limits, s, e);
        if (status != EXIT_INTERRUPTED && !cli_runs_show(e, s, e->name, pos.v[0], &to))
            status = EXIT_FAILED;
    }
    if (s && !store_good(s))
        status = EXIT_FAILED;
    cli_sink(&diag);
    store_close(s);
    experiment_free(e);
    return status;
}
