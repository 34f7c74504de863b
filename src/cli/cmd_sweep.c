/* cmd_sweep.c: allot sweep: an experiment file's runs into the store, here or by Slurm.
 */
#include "cli/runs.h"

#include "experiments/slurm.h"
#include "report/figure_report.h"
#include "report/run_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep {
    struct cli_runs runs;
    const char *engine, *csv, *partition, *throttle, *task;
    bool quick, dry, requeue, no_wait, cancel;
};

/* The experiment's values as a table, and as CSV where wanted. */
static bool
show(const struct sweep *w, const struct experiment *e, struct store *s)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    struct figure *f = figure_make(e, s, &diag);
    bool ok = f && figure_text(f, false, &text, &diag);
    if (ok)
        fputs(text.s, stdout);
    text.n = 0;
    if (ok && w->csv) {
        figure_csv(f, &text);
        ok = cli_write_file(w->csv, text.s, text.n);
    }
    cli_sink(&diag);
    strbuf_free(&text);
    figure_free(f);
    return ok;
}

/* A task of a job array, started by Slurm. */
static int
do_task(const struct cli_cmd *cmd, const struct sweep *w, const struct runner *o)
{
    const char *index = getenv("SLURM_ARRAY_TASK_ID");
    struct diag_sink diag = {0};
    uint64_t i;
    if (!index || !cli_u64(index, 0, 1 << 20, &i))
        return cli_usage(cmd,
                         "--task is for Slurm jobs: $SLURM_ARRAY_TASK_ID is not set");
    bool ok = slurm_task(o, w->task, (size_t)i, &diag);
    cli_sink(&diag);
    return ok ? EXIT_OK : EXIT_FAILED;
}

static int
do_slurm(const struct sweep *w, const struct runner *o, struct store *s,
         const struct experiment *e)
{
    struct diag_sink diag = {0};
    struct runner_count c;
    size_t under_way = 0;
    uint64_t throttle = 0;
    if (w->throttle)
        cli_u64(w->throttle, 1, 1 << 20, &throttle); /* checked by cmd_sweep */
    const struct slurm j = {.name = e->name,
                            .partition = w->partition,
                            .throttle = (unsigned)throttle,
                            .requeue = w->requeue,
                            .no_wait = w->no_wait,
                            .limits = *o};
    cli_catch_signals();
    bool ok = slurm_run(&j, s, e->run, e->nrun, &c, &under_way, &diag);
    cli_progress_end();
    cli_sink(&diag);
    fprintf(
        stderr,
        "%s: %zu runs: %zu stored before, %zu done now, %zu failed%s, %zu with Slurm\n",
        e->name, c.runs, c.stored, c.done, c.failed + c.failed_before,
        c.failed_before ? " (--retry runs them again)" : "", under_way);
    if (under_way)
        fprintf(stderr, "the same command collects; --cancel ends the jobs\n");
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    return ok && !c.failed && !c.failed_before ? EXIT_OK : EXIT_FAILED;
}

static int
do_cancel(const struct sweep *w)
{
    struct diag_sink diag = {0};
    size_t n = 0;
    struct store *s = store_open(w->runs.db, STORE_READ, &diag);
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
    struct sweep w = {.engine = "local"};
    const struct cli_opt own[] = {
        {"quick", 'q', NULL, "the workloads' small inputs", NULL, NULL, &w.quick},
        {"csv", 0, "FILE", "write the values as CSV", &w.csv, NULL, NULL},
        {"dry-run", 'n', NULL, "only list the runs and what the store has", NULL, NULL,
         &w.dry},
        {"engine", 'e', "local|slurm",
         "where: this machine (default), or Slurm job arrays", &w.engine, NULL, NULL},
        {"partition", 'p', "NAME", "Slurm: the partition", &w.partition, NULL, NULL},
        {"throttle", 0, "N", "Slurm: at most N runs of an array at a time", &w.throttle,
         NULL, NULL},
        {"requeue", 0, NULL, "Slurm: start runs of failed nodes again", NULL, NULL,
         &w.requeue},
        {"no-wait", 0, NULL, "Slurm: submit, collect what is there, return", NULL, NULL,
         &w.no_wait},
        {"cancel", 0, NULL, "Slurm: cancel all jobs of this store", NULL, NULL,
         &w.cancel},
        {"task", 0, "DIR", "Slurm: what a job of ours runs", &w.task, NULL, NULL},
        {0}};
    struct cli_opt runs[CLI_RUNS_OPTIONS];
    cli_runs_options(&w.runs, runs);
    struct cli_list pos;
    struct runner o;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, runs, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    bool slurm = !strcmp(w.engine, "slurm");
    uint64_t throttle;
    if (!cli_runs_runner(&cmd, &w.runs, &o))
        return EXIT_USAGE;
    if (w.task)
        return do_task(&cmd, &w, &o);
    if (!slurm && strcmp(w.engine, "local"))
        return cli_usage(&cmd, "--engine %s: local or slurm", w.engine);
    if (w.throttle && !cli_u64(w.throttle, 1, 1 << 20, &throttle))
        return cli_usage(&cmd, "--throttle %s: not a positive number", w.throttle);
    if (!slurm && (w.partition || w.throttle || w.requeue || w.no_wait || w.cancel))
        return cli_usage(&cmd,
                         "--partition, --throttle, --requeue, --no-wait and --cancel "
                         "are for --engine slurm");
    if (w.cancel)
        return do_cancel(&w);
    if (pos.n != 1)
        return cli_usage(&cmd, "give one experiment file");
    if (access(pos.v[0], F_OK) && !strchr(pos.v[0], '/'))
        return cli_usage(&cmd, "there is no file '%s'%s", pos.v[0],
                         cli_near_experiment(pos.v[0]));
    if (w.csv && !cli_writable(w.csv))
        return EXIT_FAILED;
    struct diag_sink diag = {0};
    struct experiment *e = experiment_load(pos.v[0], w.quick, &diag);
    struct store *s = e ? store_open(w.runs.db, STORE_WRITE, &diag) : NULL;
    cli_sink(&diag);
    int status = EXIT_FAILED;
    if (s && w.dry) {
        run_report_plan(s, e, stdout);
        status = EXIT_OK;
    } else if (s && cli_runs_allowed(&w.runs, e)) {
        status = slurm ? do_slurm(&w, &o, s, e) : cli_runs_do(&o, s, e);
        if (status != EXIT_INTERRUPTED && !show(&w, e, s))
            status = EXIT_FAILED;
    }
    if (s && !store_good(s))
        status = EXIT_FAILED;
    cli_sink(&diag);
    store_close(s);
    experiment_free(e);
    return status;
}
