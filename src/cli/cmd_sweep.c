/* cmd_sweep.c: allot sweep: an experiment file's runs into the store, here or by Slurm.
 */
#include "cli/runs.h"

#include "report/figure_report.h"

#include <stdlib.h>
#include <string.h>

struct sweep {
    struct cli_runs runs;
    const char *engine, *csv;
    bool quick, dry;
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

static int
list_runs(const struct experiment *e, struct store *s)
{
    static const char *const words[] = {"missing", "stored", "failed"};
    for (size_t i = 0; i < e->nrun; i++) {
        const struct exp_run *r = &e->run[i];
        printf("%-8s %s %s on %s", words[store_find(s, r->key, NULL)], r->key,
               r->workload, r->machine);
        for (size_t k = 0; k < r->nsettings; k++)
            printf(" %s", r->settings[k]);
        printf("%s%s\n", *r->passes ? " passes " : "", r->passes);
    }
    return EXIT_OK;
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
        "  allot sweep mine.yaml --db mine.db --csv mine.csv\n"};
    struct sweep w = {.engine = "local"};
    const struct cli_opt own[] = {
        {"quick", 'q', NULL, "the workloads' small inputs", NULL, NULL, &w.quick},
        {"csv", 0, "FILE", "write the values as CSV", &w.csv, NULL, NULL},
        {"dry-run", 'n', NULL, "only list the runs and what the store has", NULL, NULL,
         &w.dry},
        {0}};
    struct cli_opt runs[CLI_RUNS_OPTIONS];
    cli_runs_options(&w.runs, runs);
    struct cli_list pos;
    struct runner o;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, runs, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (pos.n != 1)
        return cli_usage(&cmd, "give one experiment file");
    if (!cli_runs_runner(&cmd, &w.runs, &o))
        return EXIT_USAGE;
    if (w.csv && !cli_writable(w.csv))
        return EXIT_FAILED;
    struct diag_sink diag = {0};
    struct experiment *e = experiment_load(pos.v[0], w.quick, &diag);
    struct store *s = e ? store_open(w.runs.db, &diag) : NULL;
    cli_sink(&diag);
    int status = EXIT_FAILED;
    if (s && w.dry)
        status = list_runs(e, s);
    else if (s) {
        status = cli_runs_do(&o, s, e);
        if (status != EXIT_INTERRUPTED && !show(&w, e, s))
            status = EXIT_FAILED;
    }
    store_close(s);
    experiment_free(e);
    return status;
}
