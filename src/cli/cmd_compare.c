/* cmd_compare.c: allot compare: workloads under several variants; the first is the
 * reference. */
#include "cli/runs.h"
#include "cli/variants.h"

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

/* What the words of the command line are; of a program only the first is a subject. */
static int
subjects(struct variant_job *j, struct cli_list *pos, struct cli_own *own, bool stores)
{
    const enum subject_kind kind = subject_kind(pos->v[0]);
    if (kind == SUBJECT_PROGRAM) {
        j->words = *pos;
        pos->n = 1;
        if (stores && !cli_own_given(own))
            return cli_usage(&cmd,
                             "--db and --energy: not of programs; see 'allot exec'");
    } else if (kind == SUBJECT_PTX) {
        j->own = own;
        return pos->n > 1 ? cli_usage(&cmd, "one kernel of your own at a time")
                          : cli_own_ready(&cmd, own);
    } else if (kind == SUBJECT_NONE && strchr(pos->v[0], '/'))
        return cli_usage(&cmd, "there is no file '%s'", pos->v[0]);
    else if (!cli_known_workloads(&cmd, pos))
        return EXIT_USAGE;
    return cli_own_given(own) ? cli_own_misplaced(&cmd) : EXIT_OK;
}

int
cmd_compare(int argc, char **argv)
{
    struct cli_sim s = CLI_SIM_DEFAULTS;
    struct variant_job j = {.cmd = &cmd, .sim = &s};
    struct compare_show show = {0};
    const char *text = NULL, *style = NULL;
    bool list = false;
    const struct cli_opt own[] = {
        {"variants", 'v', "A,B,...",
         "what to compare (default unshared-lrr,shared-lrr,shared-owf; with --schedule "
         "round-robin and what it names)",
         &text, NULL, NULL},
        {"opt-tlp", 0, NULL,
         "also round robin with 1, 2, ... blocks an SM at most, and which is best (004: "
         "OptTLP)",
         NULL, NULL, &show.best},
        {"param", 'P', "NAME=VALUE", "a parameter of the workloads (their READMEs)", NULL,
         &j.params, NULL},
        {"list-variants", 0, NULL, "the named variants", NULL, NULL, &list},
        {"energy", 0, NULL, "energy by component too (docs/energy.md)", NULL, NULL,
         &show.energy},
        {"chart", 'c', "FILE", "chart of the speed-ups: .svg, .pdf, .png or .txt",
         &show.chart, NULL, NULL},
        {"values", 0, NULL, "... with the values on its bars", NULL, NULL,
         &show.look.values},
        CLI_CHART_STYLE(&style),
        {"db", 0, "FILE", "store the results there (see 'allot results')", &j.db, NULL,
         NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &show.json},
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
    struct variant v[MAX_VARIANTS];
    int nv = variants_choose(&s, text, show.best, v, &cmd);
    if (nv < 0)
        return EXIT_USAGE;
    int status = subjects(&j, &pos, &kernel, j.db || show.energy);
    if (status)
        return status;
    if (j.params.n && (j.words.n || j.own))
        return cli_usage(&cmd, "--param: only workloads have parameters");
    if (!cli_chart_named(&cmd, show.chart, style, &show.look))
        return EXIT_USAGE;
    if (show.look.values && !show.chart)
        return cli_usage(&cmd, "--values: on the bars of which chart? (--chart)");
    if ((show.chart && !cli_writable(show.chart)) || !cli_store_ready(j.db))
        return EXIT_FAILED;
    struct compare t = {.nsubject = pos.n,
                        .nvariant = (size_t)nv,
                        .subject = pos.v,
                        .machine = s.machine,
                        .quick = s.quick,
                        .checked = !j.own};
    struct diag_sink diag = {0};
    bool refused, ok = variants_run(&j, v, &t, &refused);
    if (refused)
        return EXIT_USAGE;
    show.chart = cli_interrupted() ? NULL : show.chart;
    ok &= compare_report(&t, &show, stdout, &diag);
    if (show.chart && !diag.errors)
        fprintf(stderr, "chart: %s\n", show.chart);
    cli_sink(&diag);
    return cli_interrupted() ? EXIT_INTERRUPTED : ok ? EXIT_OK : EXIT_FAILED;
}
