/* cmd_paper.c: allot paper: a paper's figure or table again, ours beside the paper's. */
#include "cli/runs.h"

#include "base/file.h"
#include "report/chart.h"
#include "report/figure_files.h"
#include "report/figure_report.h"

#include <errno.h>
#include <stdlib.h>
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
    "<!-- end -->. Without a NAME it fills the blocks only.",
    "  allot paper --list\n"
    "  allot paper 001/fig2.13 --out figures\n"
    "  allot paper --all --quick --db quick.db\n"
    "  allot paper --all --write-docs\n"};

struct paper {
    struct cli_runs runs;
    struct runner runner;
    const char *out, *page, *format;
    bool values, quick, list, all, markdown, write_docs, check_docs;
};

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

/* Prints a figure and writes the files that are asked for. */
static bool
print(const struct paper *p, const char *name, const char *path,
      const struct experiment *e, struct store *s)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0}, wrote = {0};
    struct figure *f = figure_make(e, s, &diag);
    char *kept = NULL;
    bool ok = f && figure_text(f, p->markdown, &text, &diag);
    if (ok) {
        printf("%s\n", text.s);
        fflush(stdout);
        ok = !p->out ||
             figure_files_write(f, p->out, name, p->format, p->values, &wrote, &diag);
        if (wrote.n)
            fprintf(stderr, "wrote %s\n", wrote.s);
        bool keeps = p->write_docs && figure_files_keep(f, name, path, &kept, &diag);
        if (keeps)
            fprintf(stderr, "wrote %s\n", kept);
        ok &= keeps || !p->write_docs;
    }
    cli_sink(&diag);
    free(kept);
    strbuf_free(&wrote);
    strbuf_free(&text);
    figure_free(f);
    return ok;
}

static int
one(struct paper *p, const char *name, struct store *s)
{
    struct diag_sink diag = {0};
    char *path = figure_find(name);
    struct experiment *e = path ? experiment_load(path, p->quick, &diag) : NULL;
    cli_sink(&diag);
    bool allowed = e && cli_runs_allowed(&p->runs, e);
    int status = allowed ? cli_runs_do(&p->runner, s, e) : EXIT_FAILED;
    if (allowed && status != EXIT_INTERRUPTED && !print(p, name, path, e, s))
        status = EXIT_FAILED;
    experiment_free(e);
    free(path);
    return status;
}

static int
fill_page(const struct paper *p)
{
    struct figure_blocks b = {.check = p->check_docs};
    struct diag_sink diag = {0};
    bool ok = figure_files_page(p->page, &b, &diag);
    cli_sink(&diag);
    if (ok && b.check && b.stale)
        fprintf(stderr, "allot: 'allot paper --write-docs' fills the blocks\n");
    else if (ok && b.stale)
        fprintf(stderr, "wrote %zu blocks of %s\n", b.stale, p->page);
    return ok && !b.missing && !(b.check && b.stale) ? EXIT_OK : EXIT_FAILED;
}

/* Runs and prints what is asked for. */
static int
do_all(struct paper *p, const struct cli_list *pos)
{
    struct diag_sink diag = {0};
    struct store *s = store_open(p->runs.db, STORE_WRITE, &diag);
    cli_sink(&diag);
    if (!s)
        return EXIT_FAILED;
    int status = EXIT_OK;
    char **all = figure_names();
    for (size_t i = 0; status != EXIT_INTERRUPTED && store_good(s); i++) {
        const char *name = p->all ? all[i] : i < pos->n ? pos->v[i] : NULL;
        if (!name)
            break;
        int r = one(p, name, s);
        if (r != EXIT_OK)
            status = r;
    }
    allot_names_free(all);
    if (!store_good(s))
        status = EXIT_FAILED;
    cli_sink(&diag);
    store_close(s);
    return status;
}

int
cmd_paper(int argc, char **argv)
{
    if (argc > 1)
        for (const struct special *s = specials; s->name; s++)
            if (!strcmp(s->name, argv[1]))
                return s->run(argc - 1, argv + 1);
    struct paper p = {.page = "docs/fidelity.md", .format = "svg"};
    const struct cli_opt own[] = {
        {"list", 'l', NULL, "the names there are", NULL, NULL, &p.list},
        {"all", 'a', NULL, "all of them", NULL, NULL, &p.all},
        {"quick", 'q', NULL, "the workloads' small inputs: far from the papers'", NULL,
         NULL, &p.quick},
        {"format", 0, "WHAT", "of the charts: svg (default), pdf, png or txt", &p.format,
         NULL, NULL},
        {"values", 0, NULL, "the values on the bars of the charts", NULL, NULL,
         &p.values},
        {"out", 'o', "DIR", "write NAME.svg and NAME.csv there (made if missing)", &p.out,
         NULL, NULL},
        {"markdown", 0, NULL, "print Markdown", NULL, NULL, &p.markdown},
        {"write-docs", 0, NULL, "keep our values, and fill the page's blocks", NULL, NULL,
         &p.write_docs},
        {"check-docs", 0, NULL, "say which blocks of the page are not what is kept", NULL,
         NULL, &p.check_docs},
        {"page", 0, "FILE", "the page (default docs/fidelity.md)", &p.page, NULL, NULL},
        {0}};
    struct cli_opt runs[CLI_RUNS_OPTIONS];
    struct cli_list pos;
    cli_runs_options(&p.runs, runs);
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){own, runs, NULL}, argc, argv,
                   &pos) ||
        !cli_runs_runner(&cmd, &p.runs, &p.runner))
        return EXIT_USAGE;
    if (p.list)
        return list();
    bool docs = p.write_docs || p.check_docs, any = p.all || pos.n;
    if ((p.all && pos.n) || (!any && !docs))
        return cli_usage(&cmd, "give names, or --all");
    if (!chart_format(arena_printf(cli_mem(), "x.%s", p.format)))
        return cli_usage(&cmd, "--format %s: svg, pdf, png or txt", p.format);
    if (!cli_known_experiments(&cmd, &pos))
        return EXIT_USAGE;
    if (p.check_docs && (any || p.write_docs))
        return cli_usage(&cmd, "--check-docs stands alone");
    if (p.write_docs && p.quick)
        return cli_usage(&cmd, "--write-docs keeps the papers' inputs: no --quick");
    if (p.out && !file_folder(p.out)) {
        fprintf(stderr, "allot: cannot make the folder %s: %s\n", p.out, strerror(errno));
        return EXIT_FAILED;
    }
    int status = any ? do_all(&p, &pos) : EXIT_OK;
    if (docs && status != EXIT_INTERRUPTED && fill_page(&p) != EXIT_OK)
        status = EXIT_FAILED;
    return status;
}
