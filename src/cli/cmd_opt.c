/* cmd_opt.c: allot opt: PTX in, passes, PTX out. */
#include "cli/passes.h"
#include "cli/runs.h"
#include "cli/session.h"

#include "advise/transform.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_cmd cmd = {
    "opt", "[OPTIONS] KERNEL.ptx | WORKLOAD",
    "Reads PTX (a file as for 'allot run', or a workload's), runs passes over it, writes\n"
    "PTX. With no passes it checks the file and prints it in a canonical form. '-' reads\n"
    "standard input. A kernel whose body has errors is warned of and printed as it is.\n"
    "--explain says on standard error what limits the blocks of an SM, which scratchpad\n"
    "variables a pair of blocks would share, and what each pass did and why. Of a workload,\n"
    "or of a kernel whose launch is described (--grid, --block, --arg or --launch, as for\n"
    "'allot run'), it also says what sharing and the passes buy: it runs them.",
    "  allot opt kernel.ptx -o checked.ptx\n"
    "  allot opt kernel.ptx -p cleanup,register-allocate:max-registers=32\n"
    "  allot opt kernel.ptx -p cleanup --time-passes --print-after address-fold\n"
    "  allot opt kernel.ptx -p cleanup --dot-cfg cfg.dot -o out.ptx\n"
    "  allot opt kernel.ptx -p card --bisect-limit 12 --print-changed -o out.ptx\n"
    "  allot opt kernel.ptx -p scratchpad-layout,relssp:mode=postdom --explain\n"
    "  allot opt kernel.ptx -p scratchpad-layout,relssp --explain -m 000-table2 \\\n"
    "      --launch launch.yaml -o better.ptx\n"
    "  allot opt backprop -p scratchpad-layout,relssp --explain --json -m 000-table2\n"};

struct job {
    const char *passes, *out, *dot;
    bool strip, explain, json;
    struct pass_look look;
};

/* Passes over mod and the output, with what they did told in between (t->x). */
static bool
transform(struct job *j, struct transform *t, struct allot_module *mod,
          const struct allot_machine *m, struct allot_diag *d)
{
    char *report = NULL;
    struct diag_sink diag = {0};
    allot_module_unread(mod, d);
    pass_look_begin(&j->look, mod);
    char **says = t->x || j->look.trace.n ? &report : NULL;
    bool ok = transform_passes(t, mod, m, j->look.watch, says, d);
    pass_look_end(&j->look, t->x ? NULL : report);
    cli_diag(d);
    allot_diag_clear(d);
    bool told = !ok || !t->x || explain_tell(t->x, mod, report, j->json);
    free(report);
    ok = ok && transform_write(mod, j->out, j->dot, stdout, &diag, d);
    cli_sink(&diag);
    return ok && told;
}

static bool
opt(struct job *j, const struct cli_sim *s, struct cli_own *own, const char *name)
{
    struct cli_session x = cli_session_of(s, name, allot_workload_find(name), own, NULL);
    struct explain *told = NULL;
    bool ok = cli_session_machine(&x) && cli_session_read(&x) && cli_session_module(&x);
    if (ok && j->explain) {
        const struct explain_of of = cli_session_explain(&x, &cmd, j->passes);
        ok = (told = explain_new(&of));
    }
    struct transform t = {j->passes, j->strip, cli_own_threads(x.own), told};
    t.threads = told ? explain_threads(told) : t.threads;
    ok = ok && transform(j, &t, x.mod, x.machine, x.d);
    explain_free(told);
    cli_session_close(&x);
    return ok;
}

int
cmd_opt(int argc, char **argv)
{
    struct job j = {.passes = ""};
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    bool list = false;
    const struct cli_opt options[] = {
        {"passes", 'p', "P[,P...]",
         "passes to run, in order; settings behind colons (default: none)", &j.passes,
         NULL, NULL},
        {"output", 'o', "FILE", "where to write (default: standard output)", &j.out, NULL,
         NULL},
        {"strip-extensions", 0, NULL,
         "take out invented instructions (relssp) and power states, so that ptxas reads the output",
         NULL, NULL, &j.strip},
        {"explain", 0, NULL,
         "say on standard error what limits the kernel, what was done "
         "and what it buys",
         NULL, NULL, &j.explain},
        {"json", 0, NULL, "--explain as one JSON object; PTX only with --output", NULL,
         NULL, &j.json},
        PASS_LOOK_OPTIONS(&j.look),
        {"dot-cfg", 0, "FILE",
         "control-flow graphs after the passes, for Graphviz (dot -Tsvg)", &j.dot, NULL,
         NULL},
        {"list-passes", 0, NULL, "names, meanings and settings of all passes", NULL, NULL,
         &list},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], kernel[CLI_OWN_OPTIONS];
    cli_sim_options(&s, sim);
    cli_leave_out(sim, (const char *const[]){"functional", "check-analyses", "no-skip"},
                  3);
    cli_own_options(&own, kernel);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, sim, kernel, NULL},
                   argc, argv, &pos))
        return EXIT_USAGE;
    if (list)
        return pass_list(), EXIT_OK;
    if (pos.n != 1)
        return cli_usage(&cmd, "give one PTX file or workload");
    if (!(j.passes = pass_look_pipeline(&cmd, &j.look, j.passes)))
        return EXIT_USAGE;
    if (j.json && !j.explain)
        return cli_usage(&cmd, "--json needs --explain");
    if (!j.out && !j.json && !(j.dot && !strcmp(j.dot, "-")))
        j.out = "-";
    if (j.dot && j.out && !strcmp(j.dot, j.out))
        return cli_usage(&cmd, "--dot-cfg and --output are the same file");
    if (j.json && j.out && !strcmp(j.out, "-"))
        return cli_usage(&cmd, "--json and the PTX cannot both go to standard output");
    struct allot_options o;
    if ((j.explain && !pass_threshold(&cmd, &s, j.passes)) ||
        !cli_sim_run_options(&cmd, &s, &o, pos.v[0]))
        return EXIT_USAGE;
    bool given = cli_own_given(&own);
    if (given && allot_workload_find(pos.v[0]))
        return cli_own_misplaced(&cmd);
    int status = given ? cli_own_check(&cmd, &own) : EXIT_OK;
    if (status)
        return status;
    bool ok = opt(&j, &s, &own, pos.v[0]);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
