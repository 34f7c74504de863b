/* cmd_workingset.c: allot workingset: the cache lines that each block touches, what blocks
 * have in common, the contention ratio over TLP; schedules made from them (004). Of a
 * workload, of a kernel of one's own, or of each kernel of a CUDA program. */
#include "cli/session.h"

#include "base/demangle.h"
#include "cuda/core/core.h"
#include "experiments/subject.h"
#include "program/program.h"
#include "report/program_report.h"
#include "report/working_report.h"
#include "runtime/working.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

struct show {
    bool json, csv;
    const char *only, *method, *out, *chart, *cps;
    const char *nth_text;
    uint64_t nth;
};

static bool
write_schedule(const json_t *o, const struct show *show)
{
    const char *text = json_string_value(json_object_get(o, "schedule"));
    return text && cli_write_file(show->out ? show->out : "-", text, strlen(text));
}

static bool
show_one(const json_t *o, const struct show *show)
{
    if (show->chart) {
        const struct chart c = working_chart(o, cli_mem());
        if (!cli_chart(&c, show->chart))
            return false;
    }
    if (show->method && (show->out || !show->json))
        return write_schedule(o, show);
    if (show->csv && !show->json)
        working_csv(o, stdout);
    else if (!show->json)
        working_print(o, stdout);
    return true;
}

/* One launch of each kernel, or of the one that is asked for. */
static bool
show_all(json_t *launches, const struct show *show, const struct allot_machine *m)
{
    json_t *kernels = json_array(), *o;
    size_t i;
    bool ok = true;
    json_array_foreach(launches, i, o)
    {
        const char *kernel = json_string_value(json_object_get(o, "kernel"));
        if (!show->only || demangle_means(kernel, show->only))
            json_array_append(kernels, o);
    }
    if (json_array_size(kernels) > 1 &&
        (show->chart || (show->method && (show->out || !show->json)))) {
        fprintf(stderr, "allot: there are several kernels; choose one (--only)\n");
        ok = false;
    } else if (!json_array_size(kernels)) {
        fprintf(stderr, "allot: there is no launch %llu of kernel %s\n",
                (unsigned long long)show->nth, show->only ? show->only : "any");
        ok = false;
    }
    if (ok && show->csv && !show->method && !show->json)
        working_csv_head(stdout);
    json_array_foreach(kernels, i, o) ok = ok && show_one(o, show);
    if (ok && show->json) {
        json_t *all =
            json_pack("{s:s, s:O}", "machine", allot_machine_name(m), "kernels", kernels);
        ok = cli_write_json("-", all, CLI_JSON);
        json_decref(all);
    }
    json_decref(kernels);
    return ok;
}

/* A workload or a file's kernel. */
static bool
of_kernels(struct cli_session *x, const struct allot_options *o, const struct show *show,
           json_t *launches)
{
    struct working_want want = {.method = show->method, .cps = -1};
    if (show->cps)
        cli_f64(show->cps, &want.cps);
    bool ok = cli_session_device(x, o) && cli_session_run(x);
    cli_progress_end();
    if (*x->why)
        fprintf(stderr, "allot workingset: %s: %s\n", x->subject.name, x->why);
    if (*x->why && !allot_results(x->dev)) /* refused before its first launch */
        cli_misused();
    return ok && rt_working_launches(x->dev, x->machine, show->nth, show->only, &want,
                                     launches, x->d);
}

/* A CUDA program with its arguments (NULL at the end). */
static bool
of_program(const char *const *words, const struct cli_sim *s, const struct show *show,
           json_t *launches)
{
    struct program_setup setup = cli_program_setup(s, &(struct cli_look){0});
    setup.threads = 1;
    setup.working_sets = show->nth_text;
    setup.working_method = show->method;
    setup.working_cps = show->cps;
    setup.discard = true;
    struct program_result r;
    struct strbuf why = {0};
    setup.settings = cli_sim_settings(s, &setup.nsettings);
    bool ok = program_run(&setup, (char *const *)words, &r, &why);
    if (!ok)
        fprintf(stderr, "allot workingset: %s\n", why.s);
    else
        program_report_end(stderr, words[0], &r, false);
    ok = ok && !program_failure(&r, cli_mem());
    if (ok)
        json_array_extend(launches, r.working);
    program_result_free(&r);
    strbuf_free(&why);
    return ok;
}

int
cmd_workingset(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct cli_list params = {0}, pos;
    struct show show = {.nth_text = "1"};
    const char *const machine = s.machine;
    double cps;
    const struct cli_opt options[] = {
        {"only", 0, "KERNEL", "this kernel alone", &show.only, NULL, NULL},
        {"nth", 0, "N", "the N-th launch of a kernel (default 1)", &show.nth_text, NULL,
         NULL},
        {"schedule", 0, "METHOD",
         "write a schedule: awss, static (one TLP), relax (a step's largest block is "
         "free), window (TLP by lines in common), round-robin, random (,tlp=N)",
         &show.method, NULL, NULL},
        {"cps", 0, "X",
         "... cost of a synchronisation in run times of a block (default: sync_cycles / "
         "warp instructions)",
         &show.cps, NULL, NULL},
        {"output", 'o', "FILE", "... to this file", &show.out, NULL, NULL},
        {"chart", 'c', "FILE", "contention ratio over TLP, .svg, .pdf, .png or .txt",
         &show.chart, NULL, NULL},
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
    if (!cli_u64(show.nth_text, 1, UINT32_MAX, &show.nth))
        return cli_usage(&cmd, "--nth %s: not a positive number", show.nth_text);
    if (show.method && !cli_method(show.method))
        return EXIT_USAGE;
    if (show.cps && (!cli_f64(show.cps, &cps) || !(cps >= 0)))
        return cli_usage(&cmd, "--cps %s: not a number from 0 on", show.cps);
    if ((show.out || show.cps) && !show.method)
        return cli_usage(&cmd, "--output and --cps belong to --schedule METHOD");
    s.functional = true;
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    o.functional = o.working_sets = true;
    o.threads = 1;
    const struct allot_workload *w = allot_workload_find(pos.v[0]);
    const bool program = subject_kind(pos.v[0]) == SUBJECT_PROGRAM;
    if ((w || program) && cli_own_given(&own))
        return cli_own_misplaced(&cmd);
    if (program && params.n)
        return cli_usage(&cmd, "--param belongs to a workload");
    if (pos.n != 1 && !program)
        return cli_usage(&cmd, "give one workload, one file, or one program");
    if (!w && access(pos.v[0], R_OK))
        return cli_usage(&cmd,
                         "'%s' is neither a workload ('allot list workloads') nor a "
                         "file%s",
                         pos.v[0], cli_near_workload(pos.v[0]));
    if (program && s.machine == machine)
        s.machine = ACU_MACHINE;
    int status = w || program ? EXIT_OK : cli_own_ready(&cmd, &own);
    if (status)
        return status;
    struct cli_session x = cli_session_of(&s, pos.v[0], w, &own, &params);
    json_t *launches = json_array();
    bool ok = cli_session_machine(&x) &&
              (program ? of_program(pos.v, &s, &show, launches)
                       : of_kernels(&x, &o, &show, launches)) &&
              show_all(launches, &show, x.machine);
    json_decref(launches);
    cli_session_close(&x);
    return cli_flush(ok ? EXIT_OK : EXIT_FAILED);
}
