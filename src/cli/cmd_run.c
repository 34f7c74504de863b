/* cmd_run.c: allot run: one simulation of a workload or of a user's own kernel. */
#include "cli/look.h"
#include "cli/runs.h"
#include "cli/session.h"

#include "report/launch_report.h"

static const struct cli_cmd cmd = {
    "run", "[OPTIONS] WORKLOAD | FILE",
    "Simulates a workload ('allot list workloads'), whose results are checked, or a kernel\n"
    "of your own: say which (--kernel, unless there is one only), its --grid and --block,\n"
    "and one --arg per parameter, or put these in a YAML file (--launch).\n"
    "FILE holds PTX: text, a fatbin, or a CUDA program, object or library built with it.\n"
    "An argument is a number, or a buffer: buf:COUNTxTYPE or buf:BYTES, with options behind\n"
    "commas: init=zero|iota|random|self|NUMBER  in=FILE  out=FILE  show=N",
    "  allot run matmul --machine titan --scheduler lrr\n"
    "  allot run lavaMD -m 001-table2.3-scratchpad -r scratchpad-sharing -s owf --stats\n"
    "  allot run saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32,init=iota \\\n"
    "      --arg buf:1024xf32,show=8 --arg 1024\n"};

struct out {
    struct launch_report r;
    const char *db; /* NULL: not stored */
    struct cli_list params;
    struct cli_look look;
};

static bool
tell(const struct out *out, struct cli_session *x, bool passed)
{
    struct diag_sink diag = {0};
    struct launch_report r = out->r;
    r.dev = x->dev;
    r.machine = x->machine;
    r.name = x->subject.name;
    r.check = x->own              ? ""
              : passed            ? "passed"
              : cli_interrupted() ? "interrupted"
                                  : "failed";
    r.why = x->why;
    r.functional = x->sim->functional;
    r.slots = out->look.why;
    json_t *o = r.form == LAUNCH_JSON ? cli_sim_json(x->machine, x->sim) : NULL;
    bool ok = launch_report(stdout, &r, o, &diag);
    cli_sink(&diag);
    return ok;
}

/* The status. Nothing checks a user's results; a workload's are told of if they are wrong. */
static int
simulate(struct cli_session *x, const struct allot_options *o, const struct out *out)
{
    bool there = cli_session_machine(x) && cli_session_device(x, o);
    bool ok = there && cli_session_run(x), ended = ok || (!x->own && !cli_interrupted());
    if (cli_session_refused(x))
        return cli_session_why(&cmd, x);
    if (there && (ended || (!x->own && out->r.form == LAUNCH_TEXT)))
        ok &= tell(out, x, ok);
    if (there && ended) {
        ok &= cli_session_store(x, out->db, ok, 0, NULL);
        FILE *show = out->r.form == LAUNCH_TEXT ? stdout : stderr;
        ok &= !x->own || cli_own_finish(&x->subject.launch, x->dev, show);
        ok &= cli_look_write(&out->look, x->dev, show); /* a full disk loses these */
    }
    cli_progress_end();
    cli_diag(x->d);
    allot_diag_clear(x->d);
    ok &= !there || cli_check_end(x->sim, allot_device_findings(x->dev),
                                  allot_launch_failure(x->dev) == ALLOT_OK);
    return ok ? EXIT_OK : EXIT_FAILED;
}

int
cmd_run(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct cli_own own = {0};
    struct out out = {.look = CLI_LOOK_DEFAULTS};
    bool json = false, csv = false;
    const struct cli_opt options[] = {
        {"stats", 0, NULL, "every counter, not only the summary", NULL, NULL,
         &out.r.stats},
        {"energy", 0, NULL, "energy by component (docs/energy.md)", NULL, NULL,
         &out.r.energy},
        CLI_LOOK_OPTIONS(&out.look),
        CLI_PASSES_OPTION(&s),
        CLI_CHECK_OPTION(&s),
        {"json", 0, NULL, "one JSON object with every counter", NULL, NULL, &json},
        {"csv", 0, NULL, "one CSV line per kernel launch, with every counter", NULL, NULL,
         &csv},
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
    if (json && csv)
        return cli_usage(&cmd, "--json or --csv, not both");
    out.r.form = json ? LAUNCH_JSON : csv ? LAUNCH_CSV : LAUNCH_TEXT;
    struct allot_options o;
    if (!cli_sim_check(&cmd, &s, out.db, pos.v[0], &o))
        return EXIT_USAGE;
    if (out.look.why && csv)
        return cli_usage(&cmd, "--why needs a table or --json to stand in");
    if (out.r.energy && s.functional)
        return cli_usage(&cmd, "--energy: the counters need the cycle model");
    int status = cli_look_check(&cmd, &out.look, s.functional, &o);
    if (status)
        return status;
    if (!cli_store_ready(out.db))
        return EXIT_FAILED;
    struct cli_session x;
    status = cli_session_find(&cmd, &s, pos.v[0], &own, &out.params, &x);
    if (status)
        return status;
    status = simulate(&x, &o, &out);
    cli_session_close(&x);
    return cli_interrupted() ? EXIT_INTERRUPTED : status;
}
