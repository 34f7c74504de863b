/* cmd_exec.c: allot exec: a CUDA program on the simulated GPU (src/program runs it); what it
 * launched as a table, JSON, CSV or a run of the store. Standard output is the program's
 * alone. */
#define _GNU_SOURCE
#include "cli/look.h"
#include "cli/passes.h"
#include "cli/runs.h"
#include "cli/why.h"

#include "cuda/core/core.h"
#include "program/program.h"
#include "report/program_report.h"

#include <stdlib.h>
#include <string.h>

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
    const char *json, *csv, *db;
    bool per_kernel, none;
    struct cli_look look;
    const char *kernel, *skip, *count; /* which launches have timing */
};

/* Is a line kept for every launch? */
static bool
keeps_all(const struct want *w)
{
    return w->json || w->csv || w->db || w->look.why;
}

static bool
write_json(const char *path, json_t *o)
{
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    struct strbuf b = {0};
    strbuf_printf(&b, "%s\n", text);
    bool ok = cli_write_file(path, b.s, b.n);
    strbuf_free(&b);
    free(text);
    json_decref(o);
    return ok;
}

/* A program that ends without a kernel may have found the GPU too old. */
static void
explain_capability(unsigned lowest, const struct allot_machine *m)
{
    char text[32] = "";
    uint64_t have = 0;
    allot_machine_get(m, "gpu.compute_capability", text, sizeof text);
    if (!cli_u64(text, 0, 1000, &have) || lowest <= have)
        return;
    fprintf(
        stderr,
        "allot exec: the program's PTX is for compute capability %u.%u and later, and "
        "%s\n"
        "  says %u.%u. Any PTX is simulated on any machine; but a program that asks may\n"
        "  refuse. Choose another machine ('allot list machines'), or let this one say\n"
        "  more: --set gpu.compute_capability=%u\n",
        lowest / 10, lowest % 10, allot_machine_name(m), (unsigned)have / 10,
        (unsigned)have % 10, lowest);
}

/* A run of the store: its program, its arguments, one launch a row. */
static bool
store(const struct want *w, const struct cli_list *pos, const struct program_result *r,
      const struct allot_machine *m, const struct cli_sim *s)
{
    const char **args = ARENA_ARRAY(cli_mem(), const char *, pos->n);
    const char *failure = program_failure(r, cli_mem());
    size_t nargs = 0;
    for (size_t i = 1; i < pos->n; i++)
        args[nargs++] = arena_printf(cli_mem(), "arg=%s", pos->v[i]);
    json_t *launches = program_launches(r);
    struct cli_ran ran = {.db = w->db,
                          .workload = pos->v[0],
                          .params = args,
                          .nparams = nargs,
                          .sim = s,
                          .seconds = r->seconds,
                          .ok = !failure,
                          .message = failure ? failure : "",
                          .ptx_hash = program_ptx_hash(r, cli_mem()),
                          .launches = launches};
    ran.settings = cli_sim_settings(s, &ran.nsettings);
    bool ok = cli_store_run(&ran, m);
    json_decref(launches);
    return ok;
}

static bool
report(const struct want *w, const struct cli_list *pos, const struct program_result *r,
       const struct allot_machine *m, const struct cli_sim *s)
{
    const char *program = pos->v[0];
    bool ok = true;
    if (w->json)
        ok &= write_json(w->json, program_report_json(program, r, m, cli_sim_json(m, s)));
    if (w->csv) {
        struct strbuf b = {0};
        program_report_csv(program, r, m, &b);
        ok &= cli_write_file(w->csv, b.s, b.n);
        strbuf_free(&b);
    }
    if (w->db)
        ok &= store(w, pos, r, m, s);
    if (!w->none)
        program_report_table(stderr, program, r, m, s->functional);
    if (w->look.why)
        ok &= why_print_launches(r->all, stderr);
    program_report_end(stderr, program, r, !w->none);
    ok &= !r->overlooked;
    ok &= cli_check_end(s, r->findings);
    if (r->status && !json_array_size(r->rows))
        explain_capability(r->lowest, m);
    return ok;
}

/* -- the command -- */

/* Options of a simulation without those of workloads. */
static void
program_options(struct cli_sim *s, struct cli_opt table[CLI_SIM_OPTIONS])
{
    static const char *const left_out[] = {"quick", "seed", "compiler"};
    cli_sim_options(s, table);
    cli_leave_out(table, left_out, sizeof left_out / sizeof *left_out);
}

static int
exec_program(const struct cli_list *pos, const struct cli_sim *s, const struct want *w,
             const struct allot_machine *m)
{
    const struct cli_look *l = &w->look;
    struct program_setup setup = {.machine = s->machine,
                                  .schedules = s->schedules.v,
                                  .nschedules = s->schedules.n,
                                  .threads = cli_sim_threads(s),
                                  .checks = s->checks,
                                  .functional = s->functional,
                                  .no_skip = s->no_skip,
                                  .max_cycles = s->max_cycles,
                                  .max_instructions = s->max_instructions,
                                  .guard = s->guard,
                                  .kernel = w->kernel,
                                  .skip = w->skip,
                                  .count = w->count,
                                  .trace = l->trace,
                                  .trace_from = l->from,
                                  .trace_to = l->to,
                                  .trace_limit = l->limit,
                                  .timeline = l->timeline,
                                  .timeline_cycles = l->every,
                                  .timeline_sms = l->timeline_sms,
                                  .per_kernel = w->per_kernel,
                                  .all = keeps_all(w),
                                  .pass_signals = true};
    struct program_result r;
    struct strbuf why = {0};
    setup.settings = cli_sim_settings(s, &setup.nsettings);
    bool ran = program_run(&setup, (char *const *)pos->v, &r, &why);
    if (!ran)
        fprintf(stderr, "allot exec: %s\n", why.s);
    bool ok = ran && report(w, pos, &r, m, s);
    int status = ran && r.status ? r.status : ok ? EXIT_OK : EXIT_FAILED;
    program_result_free(&r);
    strbuf_free(&why);
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
         &w.json, NULL, NULL},
        {"csv", 0, "FILE", "one CSV line a launch, with every counter", &w.csv, NULL,
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
    program_options(&s, sim);
    if (!cli_parse_program(&cmd, (const struct cli_opt *const[]){sim, own, NULL}, argc,
                           argv, &pos))
        return EXIT_USAGE;
    if (!pos.n)
        return cli_usage(&cmd, "give a program");
    if (!pass_names_check(&cmd, s.passes) || !cli_check(&cmd, &s))
        return EXIT_USAGE;
    if (w.db && s.functional)
        return cli_usage(&cmd, "--functional has no timing to store");
    if (!cli_sim_methods(&cmd, &s, 1))
        return EXIT_USAGE;
    if (w.db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (s.functional && (s.schedules.n || s.methods.n))
        return cli_usage(&cmd, "--schedule: an order of blocks needs the cycle model");
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, NULL))
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
    if (w.look.trace && !cli_write_file(w.look.trace, "", 0))
        return EXIT_FAILED;
    if (w.look.timeline && !cli_write_file(w.look.timeline, "", 0))
        return EXIT_FAILED;
    if ((w.json && !cli_writable(w.json)) || (w.csv && !cli_writable(w.csv)) ||
        !cli_store_ready(w.db))
        return EXIT_FAILED;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(&s, d);
    status = EXIT_FAILED;
    cli_diag(d);
    allot_diag_clear(d);
    if (m)
        status = exec_program(&pos, &s, &w, m);
    allot_machine_free(m);
    allot_diag_free(d);
    return status;
}
