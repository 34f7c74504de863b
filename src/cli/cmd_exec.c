/* cmd_exec.c: allot exec: a CUDA program on the simulated GPU (src/program runs it); what it
 * launched as a table, JSON, CSV or a run of the store. Standard output is the program's
 * alone. */
#include "cli/runs.h"
#include "cli/session.h"

#include "cuda/core/core.h"
#include "report/program_report.h"

static const struct cli_cmd cmd = {
    "exec", "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    "Runs a CUDA program on the simulated GPU, or a script that starts one. It may use the\n"
    "runtime API, linked as shared library or statically (nvcc's default; then it must have\n"
    "its symbol table), or the driver API.\n"
    "Kernels must have PTX inside, as nvcc puts there unless told otherwise. The program's\n"
    "output and exit status are its own; the table of its kernels goes to standard error.\n"
    "A program killed by signal N gives the status 128+N, and the kernel that was running is\n"
    "named. Signals that allot exec gets are passed on to the program. Where a launch failed\n"
    "or was refused, and a program with status 0 took no notice, the status is 1.",
    "  allot exec ./saxpy 1000000\n"
    "  allot exec --machine titan --scheduler lrr --json saxpy.json -- ./saxpy -n 4\n"
    "  allot exec --functional --per-kernel python3 script.py\n"
    "  allot exec --kernel 'gemm*' --skip 2 --count 1 --why ./app\n"};

struct want {
    struct program_show show;
    const char *db;
    bool per_kernel, none;
    struct cli_look look;
    const char *kernel, *skip, *count; /* which launches have timing */
};

static bool
tell(const struct want *w, const struct cli_list *pos, const struct program_result *r,
     const struct allot_machine *m, const struct cli_sim *s)
{
    struct diag_sink diag = {0};
    struct program_show show = cli_program_show(&w->show, w->db, r);
    json_t *o = show.json ? cli_sim_json(m, s) : NULL;
    bool ok = program_report(stderr, pos->v[0], r, m, o, &show, &diag);
    cli_sink(&diag);
    ok &= cli_look_show_lines(&w->look, stderr, program_launches(r));
    ok &= !r->cut && cli_program_store(s, w->db, pos, r, m);
    ok &= cli_check_end(s, r->findings,
                        !r->signal && !json_array_size(r->failures) &&
                            !json_array_size(r->running));
    program_report_capability(stderr, r, m);
    return ok && !r->lost;
}

static int
exec_program(const struct cli_list *pos, const struct cli_sim *s, const struct want *w,
             const struct allot_machine *m)
{
    struct program_setup setup = cli_program_setup(s, &w->look);
    struct program_result r;
    setup.kernel = w->kernel;
    setup.skip = w->skip;
    setup.count = w->count;
    setup.per_kernel = w->per_kernel;
    setup.all =
        w->show.json || w->show.csv || w->db || w->show.why || cli_look_lines(&w->look);
    setup.pass_signals = true;
    bool ran = cli_program_run(&cmd, &setup, pos, &r), ok = ran && tell(w, pos, &r, m, s);
    int status = ran && r.status ? r.status : ok ? EXIT_OK : EXIT_FAILED;
    program_result_free(&r);
    return status;
}

int
cmd_exec(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct want w = {.look = CLI_LOOK_DEFAULTS};
    s.machine = ACU_MACHINE;
    const struct cli_opt own[] = {
        {"per-kernel", 0, NULL, "a line on standard error after each launch", NULL, NULL,
         &w.per_kernel},
        {"json", 0, "FILE", "one JSON object with every launch and every counter",
         &w.show.json, NULL, NULL},
        {"csv", 0, "FILE", "one CSV line a launch, with every counter", &w.show.csv, NULL,
         NULL},
        {"db", 0, "FILE", "store the run there (see 'allot results'), a row a launch",
         &w.db, NULL, NULL},
        {"kernel", 0, "PATTERN",
         "timing for kernels of this name alone (* and ?), the others are only executed",
         &w.kernel, NULL, NULL},
        {"skip", 0, "N", "... but the first N launches of them", &w.skip, NULL, NULL},
        {"count", 0, "N", "... and N launches at most", &w.count, NULL, NULL},
        CLI_LOOK_OPTIONS(&w.look),
        CLI_PASSES_OPTION(&s),
        CLI_CHECK_OPTION(&s),
        {"no-table", 0, NULL, "nothing on standard error at the end", NULL, NULL,
         &w.none},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS];
    struct cli_list pos;
    cli_sim_options(&s, sim);
    cli_leave_out(sim, (const char *const[]){"quick", "seed", "compiler"}, 3);
    if (!cli_parse_program(&cmd, (const struct cli_opt *const[]){sim, own, NULL}, argc,
                           argv, &pos))
        return EXIT_USAGE;
    if (!pos.n)
        return cli_usage(&cmd, "give a program");
    struct allot_options o;
    if (!cli_sim_check(&cmd, &s, w.db, NULL, &o))
        return EXIT_USAGE;
    uint64_t n;
    if (w.skip && !cli_u64(w.skip, 0, UINT64_MAX, &n))
        return cli_usage(&cmd, "--skip %s: not a number of launches", w.skip);
    if (w.count && !cli_u64(w.count, 1, UINT64_MAX, &n))
        return cli_usage(&cmd, "--count %s: not a positive number of launches", w.count);
    if ((w.kernel || w.skip || w.count) && s.functional)
        return cli_usage(&cmd, "--kernel, --skip, --count: nothing has timing here");
    int status = cli_look_check(&cmd, &w.look, s.functional, &o);
    if (status)
        return status;
    if ((w.look.trace && !cli_write_file(w.look.trace, "", 0)) ||
        (w.look.timeline && !cli_write_file(w.look.timeline, "", 0)) ||
        (w.show.json && !cli_writable(w.show.json)) ||
        (w.show.csv && !cli_writable(w.show.csv)) || !cli_store_ready(w.db))
        return EXIT_FAILED;
    w.show.table = !w.none;
    w.show.why = w.look.why;
    w.show.functional = s.functional;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(&s, d);
    cli_diag(d);
    allot_diag_free(d);
    status = m ? exec_program(&pos, &s, &w, m) : EXIT_FAILED;
    allot_machine_free(m);
    return status;
}
