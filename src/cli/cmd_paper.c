/* cmd_paper.c: allot paper: a paper's figure or table again, ours beside the paper's. */
#include "cli/runs.h"

#include "report/figure_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    "A NAME is an experiment under papers/ ('001/fig2.13') or a file of your own (.yaml).",
    "  allot paper --list\n"
    "  allot paper 001/fig2.13 --out figures\n"
    "  allot paper --all --quick --db quick.db\n"};

struct paper {
    struct cli_runs runs;
    struct runner runner;
    const char *out;
    bool quick, list, all, markdown;
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
        path = out_path(p, name, f->e->nmetric > 1 ? f->e->metric[m].name : "", "svg");
        ok = figure_chart(f, m, path, diag);
        if (ok)
            fprintf(stderr, ", %s", path);
        free(path);
    }
    fprintf(stderr, "\n");
    return ok;
}

static bool
print(const struct paper *p, const char *name, const struct experiment *e,
      struct store *s)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    struct figure *f = figure_make(e, s, &diag);
    bool ok = f && figure_text(f, p->markdown, &text, &diag);
    if (ok) {
        printf("%s\n", text.s);
        fflush(stdout);
        ok = !p->out || write_out(p, name, f, &diag);
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
        return cli_usage(&cmd, "there is no experiment '%s' ('allot paper --list')",
                         name);
    struct experiment *e = experiment_load(path, p->quick, &diag);
    cli_sink(&diag);
    free(path);
    if (!e)
        return EXIT_FAILED;
    int status = cli_runs_do(&p->runner, s, e);
    if (status != EXIT_INTERRUPTED && !print(p, name, e, s))
        status = EXIT_FAILED;
    experiment_free(e);
    return status;
}

int
cmd_paper(int argc, char **argv)
{
    if (argc > 1)
        for (const struct special *s = specials; s->name; s++)
            if (!strcmp(s->name, argv[1]))
                return s->run(argc - 1, argv + 1);
    struct paper p = {0};
    const struct cli_opt own[] = {
        {"list", 'l', NULL, "the names there are", NULL, NULL, &p.list},
        {"all", 'a', NULL, "all of them", NULL, NULL, &p.all},
        {"quick", 'q', NULL, "the workloads' small inputs: far from the papers'", NULL,
         NULL, &p.quick},
        {"out", 'o', "DIR", "write NAME.svg and NAME.csv there (made if missing)", &p.out,
         NULL, NULL},
        {"markdown", 0, NULL, "print Markdown", NULL, NULL, &p.markdown},
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
    if (p.all == (pos.n > 0))
        return cli_usage(&cmd, "give names, or --all");
    if (p.out && mkdir(p.out, 0777) && errno != EEXIST) {
        fprintf(stderr, "allot: cannot make the folder %s: %s\n", p.out, strerror(errno));
        return EXIT_FAILED;
    }
    struct diag_sink diag = {0};
    struct store *s = store_open(p.runs.db, STORE_WRITE, &diag);
    cli_sink(&diag);
    if (!s)
        return EXIT_FAILED;
    int status = EXIT_OK;
    char **all = figure_names();
    for (size_t i = 0; status != EXIT_INTERRUPTED && store_good(s); i++) {
        const char *name = p.all ? all[i] : i < pos.n ? pos.v[i] : NULL;
        if (!name)
            break;
        int r = one(&p, name, s);
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
