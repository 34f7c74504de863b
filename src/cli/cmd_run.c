/* cmd_run.c: allot run: one simulation of a workload or of a user's own kernel. */
#include "cli/cli.h"
#include "cli/energy.h"
#include "cli/own.h"
#include "cli/look.h"
#include "cli/passes.h"
#include "cli/runs.h"
#include "cli/timeline.h"
#include "cli/why.h"

#include "report/figure_report.h"
#include "report/launch_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_cmd cmd = {
    "run", "[OPTIONS] WORKLOAD | FILE",
    "Simulates a workload ('allot list workloads'), whose results are checked, or a kernel\n"
    "of your own: say which (--kernel, unless there is one only), its --grid and --block,\n"
    "and one --arg per parameter, or put these in a YAML file (--launch).\n"
    "FILE holds PTX: text, a fatbin, or a CUDA program, object or library built with it.\n"
    "An argument is a number, or a buffer: buf:COUNTxTYPE or buf:BYTES, with options behind\n"
    "commas: init=zero|iota|random|NUMBER  in=FILE  out=FILE  show=N",
    "  allot run matmul --machine titan --scheduler lrr\n"
    "  allot run lavaMD -m 001-table2.3-scratchpad -r scratchpad-sharing -s owf --stats\n"
    "  allot run saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32,init=iota \\\n"
    "      --arg buf:1024xf32,show=8 --arg 1024\n"};

struct out {
    bool json, csv, stats, energy;
    const char *db; /* NULL: not stored */
    struct cli_list params;
    struct cli_look look;
};

static double
host_seconds(const struct allot_device *dev)
{
    double t = 0;
    for (size_t i = 0; i < allot_results(dev); i++)
        t += allot_result_seconds(allot_result_at(dev, i));
    return t;
}

static bool
ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && !strcmp(s + n - k, tail);
}

/* -- output -- */

static bool
print_csv(const struct allot_device *dev, const char *workload,
          const struct allot_machine *m, bool energy)
{
    bool ok = true;
    struct strbuf more = {0};
    struct allot_stat_info s;
    printf("workload,machine,kernel,seconds");
    for (size_t k = 0; allot_stat(k, &s); k++)
        printf(",%s", s.id);
    if (energy)
        cli_energy_csv_header(&more);
    printf("%s\n", more.n ? more.s : "");
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        struct strbuf names = {0};
        csv_field(&names, workload);
        strbuf_addz(&names, ",");
        csv_field(&names, allot_machine_name(m));
        printf("%s,%s,%.6f", names.s, allot_result_kernel(r), allot_result_seconds(r));
        strbuf_free(&names);
        for (size_t k = 0; allot_stat(k, &s); k++) {
            uint64_t n = 0;
            double v = 0;
            allot_result_get(r, s.id, &n, &v);
            if (s.derived)
                printf(",%.9g", v);
            else
                printf(",%llu", (unsigned long long)n);
        }
        more.n = 0;
        if (energy) {
            struct energy e;
            ok &= cli_energy(r, m, &e);
            cli_energy_csv(&e, &more);
        }
        printf("%s\n", more.n ? more.s : "");
    }
    strbuf_free(&more);
    return ok;
}

/* False: the causes of some SM's issue slots do not add up. */
static bool
print_json(const struct out *out, const struct allot_device *dev,
           const struct allot_machine *m, const struct cli_sim *s, const char *workload,
           const char *check, const char *why)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < allot_results(dev); i++)
        json_array_append_new(kernels, cli_result_json(allot_result_at(dev, i)));
    bool ok = true;
    for (size_t i = 0; out->look.why && i < allot_results(dev); i++) {
        json_t *sms = why_json(allot_result_at(dev, i));
        ok &= sms != NULL;
        if (sms)
            json_object_set_new(json_array_get(kernels, i), "sms", sms);
    }
    for (size_t i = 0; out->energy && i < allot_results(dev); i++) {
        struct energy e;
        ok &= cli_energy(allot_result_at(dev, i), m, &e);
        json_object_set_new(json_array_get(kernels, i), "energy", cli_energy_json(&e, m));
    }
    json_t *o =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "machine",
                  json_text(allot_machine_name(m)), "workload", json_text(workload),
                  "options", cli_sim_json(m, s), "check", check, "kernels", kernels);
    json_object_set_new(o, "machine_settings", run_machine(m));
    if (why && *why)
        json_object_set_new(o, "why", json_string(why));
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    printf("\n");
    json_decref(o);
    return ok;
}

static bool
write_trace(const struct allot_device *dev, const char *path)
{
    size_t n;
    struct allot_trace_cut cut;
    char *text = allot_trace(dev, &n, &cut);
    bool ok = text && cli_write_file(path, text, n);
    free(text);
    if (ok && cut.full)
        fprintf(
            stderr,
            "allot: %s is full from cycle %llu of launch %llu on: later events are left "
            "out; choose a window (--trace-from, --trace-to) or raise --trace-limit\n",
            path, (unsigned long long)cut.cycle, (unsigned long long)cut.launch);
    return ok;
}

static bool
print_result(const struct out *out, const struct allot_device *dev,
             const struct allot_machine *m, const struct cli_sim *s, const char *name,
             const char *check, const char *why)
{
    cli_progress_end();
    if (out->json) {
        return print_json(out, dev, m, s, name, check, why);
    }
    if (out->csv) {
        return print_csv(dev, name, m, out->energy);
    }
    char sched[64] = "", resid[64] = "";
    allot_machine_get(m, "sm.scheduler", sched, sizeof sched);
    allot_machine_get(m, "residency.policy", resid, sizeof resid);
    if (s->functional)
        printf("%s, functional\n\n", name);
    else
        printf("%s on %s, scheduler %s, residency %s\n\n", name, allot_machine_name(m),
               sched, resid);
    if (allot_results(dev))
        launch_report_summary(stdout, dev, s->functional);
    if (out->stats)
        launch_report_stats(stdout, dev);
    bool ok = !out->look.why || why_print(dev);
    if (out->energy && allot_results(dev))
        ok &= cli_energy_print(dev, m);
    if (*check)
        printf("\ncheck %s%s%s\n", check, why && *why ? ": " : "", why ? why : "");
    return ok;
}

/* After the result is out: a disk that is full loses these files, not the run. */
static bool
write_files(const struct out *out, const struct allot_device *dev)
{
    bool ok = !out->look.trace || write_trace(dev, out->look.trace);
    return (!out->look.timeline ||
            timeline_write(dev, out->look.timeline, out->look.timeline_sms)) &&
           ok;
}

/* cli_sim_run_options has checked it. */
static uint32_t
o_seed(const struct cli_sim *s)
{
    uint64_t seed = 0;
    cli_u64(s->seed, 0, UINT32_MAX, &seed);
    return (uint32_t)seed;
}

/* -- a workload -- */

static int
run_workload(const struct allot_workload *w, const struct cli_sim *s,
             const struct allot_machine *m, const struct allot_options *o,
             const struct out *out, struct allot_diag *d)
{
    struct allot_module *mod = cli_workload_module(w, s->compiler, d);
    struct allot_device *dev = mod ? cli_sim_device(s, m, o, d) : NULL;
    bool ok = dev != NULL;
    if (ok) {
        char why[256] = "";
        struct strbuf params = {0};
        for (size_t i = 0; i < out->params.n; i++)
            strbuf_printf(&params, "%s%s", i ? " " : "", out->params.v[i]);
        ok = allot_workload_run_with(w, dev, mod, s->quick, o_seed(s), params.s, why, d);
        strbuf_free(&params);
        if (*why && !allot_results(dev)) { /* refused before its first launch */
            fprintf(stderr, "allot run: %s: %s\n", w->name, why);
            allot_device_free(dev);
            allot_module_free(mod);
            return EXIT_USAGE;
        }
        if (ok || !cli_interrupted() || (!out->json && !out->csv))
            ok &= print_result(out, dev, m, s, w->name,
                               ok                  ? "passed"
                               : cli_interrupted() ? "interrupted"
                                                   : "failed",
                               why);
        struct cli_ran ran = {.db = out->db,
                              .workload = w->name,
                              .params = out->params.v,
                              .nparams = out->params.n,
                              .sim = s,
                              .mod = mod,
                              .dev = dev,
                              .seconds = host_seconds(dev),
                              .ok = ok,
                              .message = ok     ? ""
                                         : *why ? why
                                                : "did not run to its end"};
        ran.settings = cli_sim_settings(s, &ran.nsettings);
        if (ok || !cli_interrupted()) {
            ok &= cli_store_run(&ran, m);
            ok &= write_files(out, dev);
        }
    }
    cli_diag(d);
    allot_diag_clear(d);
    ok &= !dev || cli_check_end(s, allot_device_findings(dev));
    allot_device_free(dev);
    allot_module_free(mod);
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* -- a kernel of the user's own -- */

static int
run_own(const char *path, const struct cli_own *own, const struct cli_sim *s,
        const struct allot_machine *m, const struct allot_options *o,
        const struct out *out, struct allot_diag *d)
{
    struct launch l;
    struct allot_module *mod = allot_module_load_for(path, m, d);
    bool ok = mod && cli_own_read(own, mod, path, &l);
    struct allot_device *dev = ok ? cli_sim_device(s, m, o, d) : NULL;
    ok = dev && cli_own_run(&l, dev, o_seed(s));
    cli_progress_end();
    if (ok) {
        /* nothing checks a user's results */
        ok = print_result(out, dev, m, s, path, "", NULL);
        struct cli_ran ran = {.db = out->db,
                              .workload = path,
                              .own = true,
                              .sim = s,
                              .mod = mod,
                              .dev = dev,
                              .seconds = host_seconds(dev),
                              .ok = true,
                              .message = ""};
        ran.settings = cli_sim_settings(s, &ran.nsettings);
        ran.params = launch_texts(&l, "", &ran.nparams, cli_mem());
        ok &= cli_store_run(&ran, m);
        ok &= cli_own_finish(&l, dev, out->json || out->csv ? stderr : stdout);
        ok &= write_files(out, dev);
    }
    cli_diag(d);
    allot_diag_clear(d);
    ok &= !dev || cli_check_end(s, allot_device_findings(dev));
    allot_device_free(dev);
    allot_module_free(mod);
    return ok ? EXIT_OK : EXIT_FAILED;
}

int
cmd_run(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct out out = {.look = CLI_LOOK_DEFAULTS};
    const struct cli_opt options[] = {
        {"stats", 0, NULL, "every counter, not only the summary", NULL, NULL, &out.stats},
        {"energy", 0, NULL, "energy by component (docs/energy.md)", NULL, NULL,
         &out.energy},
        CLI_LOOK_OPTIONS(&out.look),
        CLI_PASSES_OPTION(&s),
        CLI_CHECK_OPTION(&s),
        {"json", 0, NULL, "one JSON object with every counter", NULL, NULL, &out.json},
        {"csv", 0, NULL, "one CSV line per kernel launch, with every counter", NULL, NULL,
         &out.csv},
        {"param", 'P', "NAME=VALUE", "a parameter of the workload (its README)", NULL,
         &out.params, NULL},
        {"db", 0, "FILE", "store the result there (see 'allot results')", &out.db, NULL,
         NULL},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    cli_sim_options(&s, sim);
    cli_own_options(&own, kernel);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, options, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (pos.n != 1)
        return cli_usage(&cmd, "give one workload or one file");
    if (out.json && out.csv)
        return cli_usage(&cmd, "--json or --csv, not both");
    if (!pass_names_check(&cmd, s.passes) || !cli_check(&cmd, &s))
        return EXIT_USAGE;
    if (out.db && s.functional)
        return cli_usage(&cmd, "--functional has no timing to store");
    if (!cli_sim_methods(&cmd, &s, 1))
        return EXIT_USAGE;
    if (out.db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (s.functional && (s.schedules.n || s.methods.n))
        return cli_usage(&cmd, "--schedule: an order of blocks needs the cycle model");
    struct allot_options o;
    if (!cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    o.threads = cli_sim_threads(&s);
    if (out.look.why && out.csv)
        return cli_usage(&cmd, "--why needs a table or --json to stand in");
    if (out.energy && s.functional)
        return cli_usage(&cmd, "--energy: the counters need the cycle model");
    o.per_sm = out.look.why;
    int status = cli_look_check(&cmd, &out.look, s.functional, &o);
    if (status)
        return status;
    if (!cli_store_ready(out.db))
        return EXIT_FAILED;
    const struct allot_workload *w = allot_workload_find(pos.v[0]);
    if (!w && !ends_in(pos.v[0], ".ptx") && strcmp(pos.v[0], "-") &&
        !strchr(pos.v[0], '/') && access(pos.v[0], F_OK))
        return cli_usage(&cmd,
                         "'%s' is neither a workload ('allot list workloads') nor "
                         "a file%s",
                         pos.v[0], cli_near_workload(pos.v[0]));
    if (w && cli_own_given(&own))
        return cli_own_misplaced(&cmd);
    status = w ? EXIT_OK : cli_own_ready(&cmd, &own);
    if (status)
        return status;
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_sim_machine(&s, d);
    status = EXIT_FAILED;
    if (m)
        status = w ? run_workload(w, &s, m, &o, &out, d)
                   : run_own(pos.v[0], &own, &s, m, &o, &out, d);
    cli_progress_end();
    cli_diag(d);
    allot_machine_free(m);
    allot_diag_free(d);
    return cli_interrupted() ? EXIT_INTERRUPTED : status;
}
