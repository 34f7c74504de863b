/* cmd_paper.c: allot paper: a paper's figure or table again, ours beside the paper's. */
#include "cli/runs.h"

#include "report/figure_report.h"
#include "report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char **names = figure_names();
    for (size_t i = 0; names[i]; i++) {
        char *path = figure_find(names[i]);
        struct diag_sink diag = {0};
        char *title = path ? experiment_title(path, &diag) : NULL;
        printf("%-20s %s\n", names[i], title ? title : "(cannot be read)");
        free(title);
        cli_sink(&diag);
        free(path);
    }
    allot_names_free(names);
    for (const struct special *s = specials; s->name; s++)
        printf("%-20s %s\n", s->name, s->meaning);
    return EXIT_OK;
}

/* OUT/001-fig2.13[-METRIC].ENDING */
static char *
out_path(const struct paper *p, const char *name, const char *metric, const char *ending)
{
    struct strbuf b = {0};
    const char *slash = strrchr(name, '/');
    size_t n = strlen(name);
    bool file = n > 5 && !strcmp(name + n - 5, ".yaml");
    const char *stem = file && slash ? slash + 1 : name;
    strbuf_printf(&b, "%s/%.*s%s%s.%s", p->out, (int)(strlen(stem) - (file ? 5 : 0)),
                  stem, *metric ? "-" : "", metric, ending);
    for (char *c = b.s + strlen(p->out) + 1; *c; c++)
        if (*c == '/')
            *c = '-';
    return strbuf_take(&b);
}

static bool
write_out(const struct paper *p, const char *name, const struct figure *f,
          struct diag_sink *diag)
{
    struct strbuf csv = {0};
    figure_csv(f, &csv);
    char *path = out_path(p, name, "", "csv");
    bool ok = cli_write_file(path, csv.s, csv.n);
    strbuf_free(&csv);
    if (ok)
        fprintf(stderr, "wrote %s", path);
    free(path);
    for (size_t m = 0; ok && m < f->e->nmetric; m++) {
        path =
            out_path(p, name, f->e->nmetric > 1 ? f->e->metric[m].name : "", p->format);
        ok = figure_chart(f, m, path, p->values, diag);
        if (ok)
            fprintf(stderr, ", %s", path);
        free(path);
    }
    fprintf(stderr, "\n");
    return ok;
}

/* papers/001/results/fig2.13.csv of papers/001/fig2.13.yaml, malloc'd. */
static char *
results_path(const char *experiment)
{
    struct strbuf b = {0};
    const char *slash = strrchr(experiment, '/'), *stem = slash ? slash + 1 : experiment;
    strbuf_printf(&b, "%.*sresults/%.*s.csv", (int)(stem - experiment), experiment,
                  (int)strlen(stem) - 5, stem);
    return strbuf_take(&b);
}

static bool
make_folder(const char *path)
{
    if (!mkdir(path, 0777) || errno == EEXIST)
        return true;
    fprintf(stderr, "allot: cannot make the folder %s: %s\n", path, strerror(errno));
    return false;
}

/* Keeps a figure's values beside its experiment, all of them or none. */
static bool
keep_results(const char *name, const char *experiment, const struct figure *f)
{
    if (f->missing || f->failed) {
        fprintf(stderr, "allot: the results of %s stay as they were: runs are missing\n",
                name);
        return false;
    }
    char *path = results_path(experiment), *slash = strrchr(path, '/');
    struct strbuf b = {0};
    *slash = 0;
    bool ok = make_folder(path);
    *slash = '/';
    strbuf_printf(&b, "# allot paper %s, allot %s\n", name, run_version());
    figure_results(f, &b);
    ok = ok && cli_write_file(path, b.s, b.n);
    if (ok)
        fprintf(stderr, "wrote %s\n", path);
    strbuf_free(&b);
    free(path);
    return ok;
}

static bool
print(const struct paper *p, const char *name, const char *path,
      const struct experiment *e, struct store *s)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    struct figure *f = figure_make(e, s, &diag);
    bool ok = f && figure_text(f, p->markdown, &text, &diag);
    if (ok) {
        printf("%s\n", text.s);
        fflush(stdout);
        ok = !p->out || write_out(p, name, f, &diag);
        ok = (!p->write_docs || keep_results(name, path, f)) && ok;
    }
    cli_sink(&diag);
    strbuf_free(&text);
    figure_free(f);
    return ok;
}

static int
one(struct paper *p, const char *name, struct store *s)
{
    struct diag_sink diag = {0};
    char *path = figure_find(name);
    if (!path)
        return cli_usage(
            &cmd, "there is no experiment '%s'%s\n('allot paper --list' names them)",
            name, cli_near_experiment(name));
    struct experiment *e = experiment_load(path, p->quick, &diag);
    cli_sink(&diag);
    bool allowed = e && cli_runs_allowed(&p->runs, e);
    int status = allowed ? cli_runs_do(&p->runner, s, e) : EXIT_FAILED;
    if (allowed && status != EXIT_INTERRUPTED && !print(p, name, path, e, s))
        status = EXIT_FAILED;
    experiment_free(e);
    free(path);
    return status;
}

/* -- the page -- */

struct filler {
    const char *page;
    size_t stale, missing; /* blocks that are not what the results give, that have none */
    bool check;
};

/* A block from the values kept beside its experiment. */
static bool
fill(void *user, const char *name, const char *was, size_t n,
     const struct diag_loc *where, struct strbuf *out, struct diag_sink *diag)
{
    struct filler *fl = user;
    char *path = figure_find(name), *results = path ? results_path(path) : NULL;
    struct experiment *e = NULL;
    struct figure *f = NULL;
    struct strbuf text = {0};
    if (!path)
        diag_add(diag, DIAG_ERROR, where, "there is no experiment '%s'%s", name,
                 cli_near_experiment(name));
    else if (access(results, R_OK)) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, where,
                     "no results are kept for %s: cannot read %s", name, results);
        diag_hint(diag, d, "allot paper %s --write-docs", name);
    } else if ((e = experiment_load(path, false, diag)))
        f = figure_read(e, results, diag);
    bool ok = f && figure_block(f, &text, diag);
    bool same = ok && text.n == n && !memcmp(text.s, was, n);
    if (ok && !same && fl->check)
        diag_add(diag, DIAG_ERROR, where, "the block of %s is not what its results give",
                 name);
    fl->missing += !ok;
    fl->stale += ok && !same;
    strbuf_add(out, ok ? text.s : was, ok ? text.n : n);
    strbuf_free(&text);
    figure_free(f);
    experiment_free(e);
    free(results);
    free(path);
    return true; /* a block without results stays as it is */
}

static int
fill_page(const struct paper *p)
{
    struct filler fl = {.page = p->page, .check = p->check_docs};
    struct diag_sink diag = {0};
    struct strbuf out = {0};
    char *text = file_read(p->page, NULL);
    if (!text) {
        fprintf(stderr, "allot: cannot read the page %s: %s\n", p->page, strerror(errno));
        return EXIT_FAILED;
    }
    bool ok = page_fill(p->page, text, fill, &fl, &out, &diag);
    cli_sink(&diag);
    if (ok && fl.check) {
        ok = !fl.stale;
        if (fl.stale)
            fprintf(stderr, "allot: 'allot paper --write-docs' fills the blocks\n");
    } else if (ok && fl.stale) {
        ok = cli_write_file(p->page, out.s, out.n);
        if (ok)
            fprintf(stderr, "wrote %zu blocks of %s\n", fl.stale, p->page);
    }
    strbuf_free(&out);
    free(text);
    return ok && !fl.missing ? EXIT_OK : EXIT_FAILED;
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
    if (p.check_docs && (any || p.write_docs))
        return cli_usage(&cmd, "--check-docs stands alone");
    if (p.write_docs && p.quick)
        return cli_usage(&cmd, "--write-docs keeps the papers' inputs: no --quick");
    if (p.out && !make_folder(p.out))
        return EXIT_FAILED;
    int status = any ? do_all(&p, &pos) : EXIT_OK;
    if (docs && status != EXIT_INTERRUPTED && fill_page(&p) != EXIT_OK)
        status = EXIT_FAILED;
    return status;
}
