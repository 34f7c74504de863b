/* runs.c: the runner on a terminal. */
#include "cli/runs.h"

#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void
cli_runs_options(struct cli_runs *r, struct cli_opt table[CLI_RUNS_OPTIONS])
{
    const struct cli_opt t[CLI_RUNS_OPTIONS] = {
        {"db", 0, "FILE",
         "the store (default $ALLOT_DB or ~/.local/share/allot/results.db)", &r->db, NULL,
         NULL},
        {"jobs", 'j', "N", "simulations at a time (default: one a core)", &r->jobs, NULL,
         NULL},
        {"time-limit", 0, "SECONDS", "end a run that takes longer", &r->time_limit, NULL,
         NULL},
        {"memory-limit", 0, "MB", "end a run that needs more memory", &r->memory_limit,
         NULL, NULL},
        {"retry", 0, NULL, "run again what failed before", NULL, NULL, &r->retry},
        {"again", 0, NULL, "run again what is stored", NULL, NULL, &r->again},
        {"programs", 0, NULL,
         "start the programs that the experiment names (program:); they may do all that you "
         "may",
         NULL, NULL, &r->programs},
        {"verbose", 'v', NULL, "a line for every run that ends", NULL, NULL, &r->verbose},
        {0}};
    memcpy(table, t, sizeof t);
}

void
cli_sink(struct diag_sink *diag)
{
    struct strbuf b = {0};
    cli_progress_end();
    diag_print(diag, &b);
    char *text = demangle_text(b.s ? b.s : "");
    fputs(text, stderr);
    free(text);
    strbuf_free(&b);
    diag_free(diag);
}

static bool
interrupted(void *user)
{
    (void)user;
    return cli_interrupted();
}

void
cli_runs_progress(const struct runner_count *c, double left, const char *last)
{
    enum { WIDTH = 20 };
    size_t ended = c->stored + c->failed_before + c->done + c->failed;
    size_t filled = c->runs ? ended * WIDTH / c->runs : WIDTH;
    char bar[WIDTH + 1], line[200], rest[60] = "", failed[40] = "";
    for (size_t i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = 0;
    if (left >= 90)
        snprintf(rest, sizeof rest, ", %.0f min left", left / 60);
    else if (left >= 0)
        snprintf(rest, sizeof rest, ", %.0f s left", left);
    if (c->failed + c->failed_before)
        snprintf(failed, sizeof failed, ", %zu failed", c->failed + c->failed_before);
    snprintf(line, sizeof line, "[%s] %zu/%zu runs%s%s  %s", bar, ended, c->runs, failed,
             rest, last ? last : "");
    cli_progress_line(line);
}

static void
progress(void *user, const struct runner_count *c, double left, const char *last)
{
    (void)user;
    cli_runs_progress(c, left, last);
}

static void
finished(void *user, const struct exp_run *r, bool ok, const char *message)
{
    const struct cli_runs *o = user;
    if (ok && !o->verbose)
        return;
    cli_progress_end();
    if (ok) {
        printf("stored %s %s\n", r->key, r->workload);
        fflush(stdout);
        return;
    }
    fprintf(stderr, "allot: %s on %s", r->workload, r->machine);
    for (size_t i = 0; i < r->nsettings; i++)
        fprintf(stderr, " %s", r->settings[i]);
    fprintf(stderr, "%s%s: %s\n", *r->passes ? " passes " : "", r->passes, message);
}

bool
cli_runs_runner(const struct cli_cmd *cmd, const struct cli_runs *r, struct runner *o)
{
    uint64_t v = 0;
    memset(o, 0, sizeof *o);
    if (r->jobs && !cli_u64(r->jobs, 1, 4096, &v))
        return cli_usage(cmd, "--jobs %s: not a number from 1 to 4096", r->jobs), false;
    o->jobs = (unsigned)v;
    if (r->time_limit && (!cli_f64(r->time_limit, &o->time_limit) || o->time_limit <= 0))
        return cli_usage(cmd, "--time-limit %s: not a number of seconds", r->time_limit),
               false;
    v = 0;
    if (r->memory_limit && !cli_u64(r->memory_limit, 1, 1 << 30, &v))
        return cli_usage(cmd, "--memory-limit %s: not a number of MB", r->memory_limit),
               false;
    o->memory_limit = v << 20;
    o->again = r->again;
    o->retry = r->retry;
    o->progress = progress;
    o->finished = finished;
    o->interrupted = interrupted;
    o->user = (void *)r;
    return true;
}

bool
cli_runs_allowed(const struct cli_runs *r, const struct experiment *e)
{
    const struct exp_row *row = experiment_program(e);
    if (!row || r->programs)
        return true;
    fprintf(stderr,
            "allot: %s: row '%s' starts the program %s, which may do all that you may\n"
            "  If you trust it, give --programs.\n",
            e->file, row->label, row->workload);
    cli_misused();
    return false;
}

/* What came of runs; elsewhere: with Slurm, as words behind the sums. */
static void
sum_up(const struct experiment *e, const struct runner_count *c, const char *elsewhere)
{
    fprintf(stderr, "%s: %zu runs: %zu stored before, %zu done now, %zu failed%s%s\n",
            e->name, c->runs, c->stored, c->done, c->failed + c->failed_before,
            c->failed_before ? " (--retry runs them again)" : "", elsewhere);
}

static int
ended(bool ok, const struct runner_count *c)
{
    return cli_interrupted()                       ? EXIT_INTERRUPTED
           : ok && !c->failed && !c->failed_before ? EXIT_OK
                                                   : EXIT_FAILED;
}

int
cli_runs_do(struct runner *o, struct store *s, const struct experiment *e)
{
    struct runner_count c;
    struct diag_sink diag = {0};
    cli_catch_signals();
    bool ok = runner_run(o, s, e->run, e->nrun, &c, &diag);
    cli_progress_end();
    cli_sink(&diag);
    if (c.runs)
        sum_up(e, &c, "");
    if (c.elsewhere)
        fprintf(stderr, "%s: another sweep did %zu of these runs meanwhile\n", e->name,
                c.elsewhere);
    if (cli_interrupted())
        fprintf(stderr, "interrupted: what was finished is stored; the same command goes "
                        "on from here\n");
    return ended(ok, &c);
}

int
cli_runs_slurm(const struct slurm *j, struct store *s, const struct experiment *e)
{
    struct runner_count c;
    struct diag_sink diag = {0};
    size_t under_way = 0;
    char with[48];
    cli_catch_signals();
    bool ok = slurm_run(j, s, e->run, e->nrun, &c, &under_way, &diag);
    cli_progress_end();
    cli_sink(&diag);
    snprintf(with, sizeof with, ", %zu with Slurm", under_way);
    sum_up(e, &c, with);
    if (under_way)
        fprintf(stderr, "the same command collects; --cancel ends the jobs\n");
    return ended(ok, &c);
}

bool
cli_runs_show(const struct experiment *e, struct store *s, const char *name,
              const char *path, const struct figure_files *to)
{
    struct diag_sink diag = {0};
    struct strbuf wrote = {0};
    bool ok = figure_files_show(e, s, name, path, to, stdout, &wrote, &diag);
    fputs(wrote.n ? wrote.s : "", stderr);
    cli_sink(&diag);
    strbuf_free(&wrote);
    return ok;
}

static int
figure(const struct cli_runs *r, struct runner *o, struct store *s, const char *name,
       bool quick, const struct figure_files *to)
{
    struct diag_sink diag = {0};
    char *path = figure_find(name);
    struct experiment *e = path ? experiment_load(path, quick, &diag) : NULL;
    cli_sink(&diag);
    bool allowed = e && cli_runs_allowed(r, e);
    int status = allowed ? cli_runs_do(o, s, e) : EXIT_FAILED;
    if (allowed && status != EXIT_INTERRUPTED && !cli_runs_show(e, s, name, path, to))
        status = EXIT_FAILED;
    experiment_free(e);
    free(path);
    return status;
}

int
cli_runs_figures(const struct cli_runs *r, struct runner *o, const char *const *names,
                 size_t n, bool quick, const struct figure_files *to)
{
    struct diag_sink diag = {0};
    struct store *s = store_open(r->db, STORE_WRITE, &diag);
    cli_sink(&diag);
    if (!s)
        return EXIT_FAILED;
    int status = EXIT_OK;
    char **all = n ? NULL : figure_names();
    for (size_t i = 0;
         status != EXIT_INTERRUPTED && store_good(s) && (all ? all[i] != NULL : i < n);
         i++) {
        int one = figure(r, o, s, all ? all[i] : names[i], quick, to);
        if (one != EXIT_OK)
            status = one;
    }
    allot_names_free(all);
    if (!store_good(s))
        status = EXIT_FAILED;
    cli_sink(&diag);
    store_close(s);
    return status;
}

bool
cli_store_ready(const char *db)
{
    struct diag_sink diag = {0};
    bool ok = !db || store_check(db, &diag);
    cli_sink(&diag);
    return ok;
}

bool
cli_store_run(const struct cli_ran *c, const struct allot_machine *m)
{
    if (!c->db)
        return true;
    uint64_t seed = 1, max_cycles = 0;
    char token[33], now[24];
    cli_u64(c->sim->seed, 0, UINT32_MAX, &seed);
    if (c->sim->max_cycles)
        cli_u64(c->sim->max_cycles, 1, UINT64_MAX, &max_cycles);
    struct exp_run r = {.workload = c->workload,
                        .own = c->own,
                        .machine = c->sim->machine,
                        .settings = c->settings,
                        .nsettings = c->nsettings,
                        .params = c->params,
                        .nparams = c->nparams,
                        .passes = c->passes ? c->passes : "",
                        .compiler = c->sim->compiler,
                        .seed = (uint32_t)seed,
                        .quick = c->sim->quick,
                        .max_cycles = max_cycles};
    struct diag_sink diag = {0};
    bool ok = run_identify(&r, m, c->mod, c->ptx_hash, &diag);
    run_token(token);
    run_now(now);
    json_t *rec = run_record(&r, token, now, c->seconds, m, c->dev, c->ok, c->message);
    if (c->launches)
        json_object_set(rec, "launches", c->launches);
    struct store *s = ok ? store_open(c->db, STORE_WRITE, &diag) : NULL;
    ok = s && store_add(s, rec, &diag);
    store_close(s);
    json_decref(rec);
    cli_sink(&diag);
    return ok;
}
