/* cmd_paper.c: allot paper: a paper's figure or table again, ours beside the paper's. */
#include "cli/paper_pages.h"
#include "cli/runs.h"

#include "base/file.h"
#include "report/chart.h"

#include <errno.h>
#include <string.h>

#define SPECIAL(name, function, meaning) int function(int argc, char **argv);
#include "cli/paper_specials.def"
#undef SPECIAL

static const struct special {
    const char *name, *meaning;
    int (*run)(int argc, char **argv);
} specials[] = {
#define SPECIAL(name, function, meaning) {name, meaning, function},
#include "cli/paper_specials.def"
#undef SPECIAL
    {0}};

static const struct cli_cmd cmd = {
    "paper", "[OPTIONS] NAME... | --all | --list",
    "A paper's figure or table again: runs what the store does not have yet, prints our\n"
    "values beside the paper's and how well they agree, writes a chart (SVG) and CSV.\n"
    "A NAME is an experiment under papers/ ('001/fig2.13') or a file of your own (.yaml).\n"
    "--write-docs keeps our values beside the experiment (papers/001/results/fig2.13.csv)\n"
    "and fills the page's blocks from what is kept there: from <!-- paper NAME --> to\n"
    "<!-- end -->. Without a NAME it fills the blocks only.\n"
    "--quick runs a figure's small version. Its values are kept too (papers/001/quick/):\n"
    "--quick --check fails where they are not today's, --quick --keep keeps today's.\n"
    "--stale lists the figures whose kept results are old, and what has changed since.",
    "  allot paper --list\n"
    "  allot paper 001/fig2.13 --out figures\n"
    "  allot paper --all --quick --db quick.db\n"
    "  allot paper --all --write-docs\n"
    "  allot paper --all --quick --check --db quick.db\n"
    "  allot paper --stale\n"};

static int
list(void)
{
    struct diag_sink diag = {0};
    figure_files_list(stdout, &diag);
    for (const struct special *s = specials; s->name; s++)
        printf("%-20s %s\n", s->name, s->meaning);
    cli_sink(&diag);
    return EXIT_OK;
}

int
cmd_paper(int argc, char **argv)
{
    if (argc > 1)
        for (const struct special *s = specials; s->name; s++)
            if (!strcmp(s->name, argv[1]))
                return s->run(argc - 1, argv + 1);
    struct cli_runs r = {0};
    struct runner runner;
    struct figure_files to = {.format = "svg", .spaced = true};
    const char *page = NULL, *style = NULL;
    bool quick = false, list_them = false, all = false, check = false, stale = false;
    const struct cli_opt own[] = {
        {"list", 'l', NULL, "the names there are", NULL, NULL, &list_them},
        {"all", 'a', NULL, "all of them", NULL, NULL, &all},
        {"quick", 'q', NULL, "the workloads' small inputs: far from the papers'", NULL,
         NULL, &quick},
        {"format", 0, "WHAT", "of the charts: svg (default), pdf, png or txt", &to.format,
         NULL, NULL},
        {"values", 0, NULL, "the values on the bars of the charts", NULL, NULL,
         &to.look.values},
        CLI_CHART_STYLE(&style),
        {"out", 'o', "DIR", "write NAME.svg and NAME.csv there (made if missing)",
         &to.folder, NULL, NULL},
        {"markdown", 0, NULL, "print Markdown", NULL, NULL, &to.markdown},
        {"write-docs", 0, NULL, "keep our values, and fill the page's blocks", NULL, NULL,
         &to.keep},
        {"check-docs", 0, NULL,
         "say which blocks and numbers of the pages are not what is kept", NULL, NULL,
         &check},
        {"stale", 0, NULL, "list the figures whose kept results are old", NULL, NULL,
         &stale},
        {"keep", 0, NULL, "with --quick: keep the values of the small versions", NULL,
         NULL, &to.keep_small},
        {"check", 0, NULL, "with --quick: hold them against what is kept", NULL, NULL,
         &to.check_small},
        {"page", 0, "FILE", "the page (default docs/fidelity.md, docs/results-*.md)",
         &page, NULL, NULL},
        {0}};
    struct cli_opt runs[CLI_RUNS_OPTIONS];
    struct cli_list pos;
    cli_runs_options(&r, runs);
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, runs, NULL}, argc, argv,
                   &pos) ||
        !cli_runs_runner(&cmd, &r, &runner))
        return EXIT_USAGE;
    if (list_them)
        return list();
    bool docs = to.keep || check, any = all || pos.n;
    if (!cli_known_experiments(&cmd, &pos))
        return EXIT_USAGE;
    if (stale)
        return cli_paper_stale(&pos);
    if ((to.keep_small || to.check_small) &&
        (!quick || (to.keep_small && to.check_small)))
        return cli_usage(&cmd, "--keep or --check is for --quick");
    if ((all && pos.n) || (!any && !docs))
        return cli_usage(&cmd, "give names, or --all");
    if (!chart_format(arena_printf(cli_mem(), "x.%s", to.format)))
        return cli_usage(&cmd, "--format %s: svg, pdf, png or txt", to.format);
    if (!cli_chart_named(&cmd, "x.svg", style, &to.look))
        return EXIT_USAGE;
    if (check && (any || to.keep))
        return cli_usage(&cmd, "--check-docs stands alone");
    if (to.keep && quick)
        return cli_usage(&cmd, "--write-docs keeps the papers' inputs: no --quick");
    if (to.folder && !file_folder(to.folder)) {
        fprintf(stderr, "allot: cannot make the folder %s: %s\n", to.folder,
                strerror(errno));
        return EXIT_FAILED;
    }
    int status = any ? cli_runs_figures(&r, &runner, pos.v, pos.n, quick, &to) : EXIT_OK;
    if (docs && status != EXIT_INTERRUPTED && cli_paper_fill(page, check) != EXIT_OK)
        status = EXIT_FAILED;
    return status;
}
