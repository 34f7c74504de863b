/* runs.h: what sweep and paper share: options of the runner, its progress line, its
 * failures. */
#ifndef ALLOT_CLI_RUNS_H
#define ALLOT_CLI_RUNS_H

#include "cli/cli.h"
#include "experiments/experiment.h"
#include "experiments/slurm.h"
#include "report/figure_files.h"

struct cli_runs {
    const char *db, *jobs, *time_limit, *memory_limit;
    bool again, retry, verbose, programs;
};
enum { CLI_RUNS_OPTIONS = 9 };
void cli_runs_options(struct cli_runs *r, struct cli_opt table[CLI_RUNS_OPTIONS]);
/* Numbers checked; false after saying what is wrong. */
bool cli_runs_runner(const struct cli_cmd *cmd, const struct cli_runs *r,
                     struct runner *o);
/* Whether the experiment may be run: it starts no program, or --programs was given; false
 * after saying why not. */
bool cli_runs_allowed(const struct cli_runs *r, const struct experiment *e);
/* Runs what is missing, says what failed and sums up on standard error. EXIT_OK,
 * EXIT_FAILED if some run failed or could not be stored, EXIT_INTERRUPTED. */
int cli_runs_do(struct runner *o, struct store *s, const struct experiment *e);
/* The same by Slurm. */
int cli_runs_slurm(const struct slurm *j, struct store *s, const struct experiment *e);
/* Prints the figure of an experiment whose runs are stored and writes its files; false after
 * saying what went wrong. */
bool cli_runs_show(const struct experiment *e, struct store *s, const char *name,
                   const char *path, const struct figure_files *to);
/* Runs what is missing of the papers' experiments of these names (n 0: of all) and shows each
 * that was not interrupted. EXIT_OK, or how the last that went wrong ended. */
int cli_runs_figures(const struct cli_runs *r, struct runner *o, const char *const *names,
                     size_t n, bool quick, const struct figure_files *to);

/* Stores a run that this process did itself, or the program it started; db NULL: does
 * nothing. `machine` and `settings` are what the options said (cli_sim_settings); false
 * after saying why not. */
struct cli_ran {
    const char *db, *workload, *passes;
    bool own; /* a kernel of one's own: see struct exp_run */
    const struct cli_sim *sim;
    const char *const *settings, *const *params;
    size_t nsettings, nparams;
    double seconds;
    bool ok;
    const char *message;
    struct allot_module *mod; /* or, NULL: */
    const char *ptx_hash;
    const struct allot_device *dev; /* with the launches; or, NULL: */
    json_t *launches; /* an object each: kernel, seconds, ptx_hash, counters */
};
/* Whether runs can be stored in db (NULL: none is wanted), asked before a simulation;
 * false after saying why not. */
bool cli_store_ready(const char *db);
bool cli_store_run(const struct cli_ran *r, const struct allot_machine *m);

/* A progress line on a terminal: "[####....] 12/60 runs, 2 failed, 3 min left  TEXT". */
void cli_runs_progress(const struct runner_count *c, double left, const char *last);
/* Prints the sink's diagnostics to standard error and empties it. */
void cli_sink(struct diag_sink *diag);

#endif
