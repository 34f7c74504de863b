/* cmd_compare.c: allot compare: workloads under several variants; the first is the
 * reference. */
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/variants.h"

#include "report/chart.h"
#include "report/compare_report.h"
#include "report/program_report.h"

#include <string.h>

static const struct cli_cmd cmd = {
    "compare", "[OPTIONS] WORKLOAD... | KERNEL.ptx | [--] PROGRAM [ARGUMENTS]",
    "Simulates each workload under each variant, checks every result, and prints\n"
    "resident blocks, cycles, IPC and the speed-up (cycles) over the first variant.\n"
    "The same for a kernel of your own, described as for 'allot run', and for a CUDA\n"
    "program, run as by 'allot exec' (all its launches; what it prints is left out).\n"
    "--scheduler, --residency and --set hold for all variants, then the variant's own.",
    "  allot compare backprop srad_v2_24 -m 000-table2 --chart gain.svg\n"
    "  allot compare matmul --variants baseline,big:l1d.sets=64\n"
    "  allot compare saxpy.ptx --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32 \\\n"
    "      --arg buf:1024xf32 --arg 1024 --variants baseline,shared-lrr\n"
    "  allot compare -m a100 --variants baseline,big:l1d.sets=64 -- ./app 1000\n"
    "  allot compare euler -m 004-table1-fermi --schedule awss --schedule relax "
    "--opt-tlp\n"};

/* What is compared, how, and where results are stored. */
struct job {
    const struct cli_sim *sim;
    const char *db;
    struct cli_list params;
    const struct cli_own *own; /* a file's kernel */
    struct cli_list words;     /* a program with arguments, NULL at the end; n 0: none */
};

/* A program, all its launches; what it prints is left out. */
static bool
run_words(const struct job *j, const struct variant *v, struct compare_cell *c)
{
    const char *name = j->words.v[0];
    struct program_setup setup = cli_program_setup(j->sim, &(struct cli_look){0});
    struct program_result r;
    struct strbuf why = {0};
    setup.settings = variant_settings(j->sim, v, &setup.nsettings);
    setup.all = setup.discard = true;
    bool ran = program_run(&setup, (char *const *)j->words.v, &r, &why);
    if (!ran)
        fprintf(stderr, "allot compare: %s\n", why.s);
    else
        program_report_end(stderr, name, &r, false);
    c->ran = ran && !cli_interrupted();
    c->ok = ran && !program_failure(&r, cli_mem());
    compare_add_launches(c, r.all);
    if (ran && !json_array_size(r.all)) {
        fprintf(stderr, "allot compare: %s launched no kernel\n", name);
        c->ok = false;
    }
    program_result_free(&r);
    strbuf_free(&why);
    return c->ok;
}

/* A workload or a file's kernel, on the machine that the session has. */
static bool
run_session(const struct job *j, struct cli_session *x, const struct allot_options *o,
            const struct variant *v, struct compare_cell *c)
{
    const struct allot_workload *w = x->subject.workload;
    struct diag_sink diag = {0};
    size_t n;
    if (!cli_session_device(x, o))
        return false;
    c->ok = cli_session_run(x);
    c->refused = *x->why && !allot_results(x->dev);
    c->ran = !c->refused && (c->ok || !cli_interrupted());
    if (c->refused)
        fprintf(stderr, "allot compare: %s: %s\n", x->subject.name, x->why);
    else if (!c->ok && c->ran)
        fprintf(stderr, "allot: %s under %s: %s%s\n", x->subject.name, v->name,
                *x->why ? "check failed: " : "did not run to its end", x->why);
    c->ok &= compare_add_device(c, x->dev, w ? w->kernels : NULL, x->machine, &diag);
    cli_sink(&diag);
    const char *const *settings = variant_settings(j->sim, v, &n);
    return (!c->ran || cli_session_store(x, j->db, c->ok, n, settings)) && c->ok;
}

static bool
run_cell(const struct job *j, const char *name, const struct variant *v,
         struct compare_cell *c)
{
    struct cli_session x =
        cli_session_of(j->sim, name, allot_workload_find(name), j->own, &j->params);
    struct allot_options o;
    const char *label = arena_printf(cli_mem(), "%s %s", name, v->name);
    bool ok = cli_session_machine(&x) && variant_apply(x.machine, v, x.d) &&
              cli_sim_run_options(&cmd, j->sim, &o, label) &&
              (j->words.n ? run_words(j, v, c) : run_session(j, &x, &o, v, c));
    cli_session_close(&x);
    return ok;
}

/* Whether each workload takes the parameters, before any of them runs. The first is asked by
 * its run. */
static bool
params_taken(const struct job *j, const struct cli_list *pos)
{
    struct allot_options o;
    bool ok = true;
    for (size_t i = 1; j->params.n && i < pos->n && ok; i++) {
        struct cli_session x = cli_session_of(
            j->sim, pos->v[i], allot_workload_find(pos->v[i]), NULL, &j->params);
        ok = cli_session_machine(&x) && cli_sim_run_options(&cmd, j->sim, &o, "") &&
             cli_session_device(&x, &o) && cli_session_try(&x);
        if (*x.why)
            fprintf(stderr, "allot compare: %s: %s\n", pos->v[i], x.why);
        cli_session_close(&x);
    }
    return ok;
}

/* What the words of the command line are; of a program only the first is a subject. */
static int
subjects(struct job *j, struct cli_list *pos, struct cli_own *own, bool needs_device)
{
    const enum subject_kind kind = subject_kind(pos->v[0]);
    if (kind == SUBJECT_PROGRAM) {
        j->words = *pos;
        pos->n = 1;
        return cli_own_given(own) ? cli_own_misplaced(&cmd)
               : needs_device
                   ? cli_usage(&cmd,
                               "--db and --energy: not of programs; see 'allot exec'")
                   : EXIT_OK;
    }
    if (kind == SUBJECT_PTX) {
        j->own = own;
        return pos->n > 1 ? cli_usage(&cmd, "one kernel of your own at a time")
                          : cli_own_ready(&cmd, own);
    }
    for (size_t i = 0; i < pos->n; i++) {
        const char *name = pos->v[i];
        if (!allot_workload_find(name) && strchr(name, '/'))
            return cli_usage(&cmd, "there is no file '%s'", name);
        if (!allot_workload_find(name))
            return cli_usage(
                &cmd, "no workload is called '%s'%s\n('allot list workloads' names them)",
                name, cli_near_workload(name));
    }
    return cli_own_given(own) ? cli_own_misplaced(&cmd) : EXIT_OK;
}

int
cmd_compare(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct job j = {.sim = &s};
    const char *text = NULL, *chart = NULL;
    bool json = false, list = false, energy = false, values = false, opt_tlp = false;
    const struct cli_opt own[] = {
        {"variants", 'v', "A,B,...",
         "what to compare (default unshared-lrr,shared-lrr,shared-owf; with --schedule "
         "round-robin and what it names)",
         &text, NULL, NULL},
        {"opt-tlp", 0, NULL,
         "also round robin with 1, 2, ... blocks an SM at most, and which is best (004: "
         "OptTLP)",
         NULL, NULL, &opt_tlp},
        {"param", 'P', "NAME=VALUE", "a parameter of the workloads (their READMEs)", NULL,
         &j.params, NULL},
        {"list-variants", 0, NULL, "the named variants", NULL, NULL, &list},
        {"energy", 0, NULL, "energy by component too (docs/energy.md)", NULL, NULL,
         &energy},
        {"chart", 'c', "FILE", "chart of the speed-ups: .svg, .pdf, .png or .txt", &chart,
         NULL, NULL},
        {"values", 0, NULL, "... with the values on its bars", NULL, NULL, &values},
        {"db", 0, "FILE", "store the results there (see 'allot results')", &j.db, NULL,
         NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    struct cli_opt sim[CLI_SIM_OPTIONS], launch[CLI_OWN_OPTIONS];
    struct cli_own kernel = {0};
    cli_sim_options(&s, sim);
    cli_own_options(&kernel, launch);
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){sim, own, launch, NULL}, argc,
                   argv, &pos))
        return EXIT_USAGE;
    if (list) {
        variants_list();
        return EXIT_OK;
    }
    if (!pos.n)
        return cli_usage(&cmd, "name at least one workload ('allot list workloads')");
    if (s.functional)
        return cli_usage(&cmd, "--functional has no timing to compare");
    if (!cli_sim_methods(&cmd, &s, text ? 1 : MAX_VARIANTS - 2))
        return EXIT_USAGE;
    if (j.db && s.schedules.n)
        return cli_usage(&cmd, "--db: the store keeps methods of scheduling, no files");
    if (text && opt_tlp)
        return cli_usage(&cmd, "--opt-tlp or --variants, not both");
    struct variant v[MAX_VARIANTS];
    int nv = text ? variants_parse(text, v, &cmd)
             : s.schedules.n || s.methods.n || opt_tlp
                 ? variants_of_schedules(&s, opt_tlp, v, &cmd)
                 : variants_parse("unshared-lrr,shared-lrr,shared-owf", v, &cmd);
    if (nv < 0)
        return EXIT_USAGE;
    int status = subjects(&j, &pos, &kernel, j.db || energy);
    if (status)
        return status;
    if (j.params.n && (j.words.n || j.own))
        return cli_usage(&cmd, "--param: only workloads have parameters");
    if (!params_taken(&j, &pos))
        return EXIT_USAGE;
    struct allot_options checked;
    if (!cli_sim_run_options(&cmd, &s, &checked, "") || !variants_check(&s, v, nv))
        return EXIT_USAGE;
    if (chart && !chart_format(chart))
        return cli_usage(
            &cmd, "--chart %s: the name must end in .svg, .pdf, .png or .txt", chart);
    if (values && !chart)
        return cli_usage(&cmd, "--values: on the bars of which chart? (--chart)");
    if ((chart && !cli_writable(chart)) || !cli_store_ready(j.db))
        return EXIT_FAILED;
    const size_t n = pos.n * (size_t)nv;
    struct compare_cell *cells = ARENA_ARRAY(cli_mem(), struct compare_cell, n);
    const char **names = ARENA_ARRAY(cli_mem(), const char *, nv);
    bool ok = true;
    for (int k = 0; k < nv; k++)
        names[k] = v[k].name;
    for (size_t i = 0; i < n && !cli_interrupted(); i++) {
        ok &= run_cell(&j, pos.v[i / (size_t)nv], &v[i % (size_t)nv], &cells[i]);
        if (cells[i].refused)
            return EXIT_USAGE;
    }
    const struct compare t = {pos.n, (size_t)nv, pos.v,   names,
                              cells, s.machine,  s.quick, !j.own};
    compare_report(&t, json, opt_tlp, energy, stdout);
    if (chart && !cli_interrupted()) {
        struct diag_sink diag = {0};
        bool drawn = compare_report_chart(&t, chart, values, &diag);
        cli_sink(&diag);
        if (drawn)
            fprintf(stderr, "chart: %s\n", chart);
        ok &= drawn;
    }
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
