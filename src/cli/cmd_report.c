/* cmd_report.c: allot report: what the store holds, as a page, Markdown or CSV. */
#include "cli/runs.h"

#include "base/file.h"
#include "base/vec.h"
#include "report/figure_files.h"
#include "report/html_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_cmd cmd = {
    "report", "[OPTIONS] [FILE.yaml | NAME]...",
    "What the store holds, as a page to look at (--html), Markdown or CSV. Nothing is run.\n"
    "Figures are those named, else all under papers/ that have a value; a page also lists\n"
    "every run. The page needs no network and no other file: send it, print it, keep it.",
    "  allot report --html out && xdg-open out/index.html\n"
    "  allot report mine.yaml --markdown report.md --db mine.db\n"};

struct report {
    const char *db, *html, *markdown, *csv;
    bool quick;
    struct diag_sink diag;
    VEC(struct experiment *) experiments;
    VEC(struct figure *) figures;
    VEC(const char *) names;
};

static bool
add(struct report *r, struct store *s, const char *name, bool named)
{
    char *path = figure_find(name);
    struct experiment *e = path ? experiment_load(path, r->quick, &r->diag) : NULL;
    struct figure *f = e ? figure_make(e, s, &r->diag) : NULL;
    free(path);
    if (!f) {
        experiment_free(e);
        return false;
    }
    *vec_push(&r->experiments) = e;
    if (named || figure_known(f)) {
        *vec_push(&r->figures) = f;
        *vec_push(&r->names) = arena_strdup(cli_mem(), name);
    } else
        figure_free(f);
    return true;
}

static bool
write_html(struct report *r, struct store *s)
{
    struct strbuf out = {0};
    if (!file_folder(r->html)) {
        fprintf(stderr, "allot: cannot make the folder %s: %s\n", r->html,
                strerror(errno));
        return false;
    }
    const char *path = arena_printf(cli_mem(), "%s/index.html", r->html);
    bool ok = html_report((const struct figure *const *)r->figures.v, r->names.v,
                          r->figures.n, s, &out, &r->diag) &&
              cli_write_file(path, out.s, out.n);
    if (ok)
        fprintf(stderr, "wrote %s: %zu figures\n", path, r->figures.n);
    strbuf_free(&out);
    return ok;
}

static bool
write_text(struct report *r)
{
    const struct figure *const *f = (const struct figure *const *)r->figures.v;
    struct strbuf md = {0}, csv = {0};
    bool ok = figure_files_markdown(f, r->figures.n, &md, &r->diag);
    figure_files_csv(f, r->names.v, r->figures.n, &csv);
    if (ok && r->markdown)
        ok = cli_write_file(r->markdown, md.s, md.n);
    if (ok && r->csv)
        ok = cli_write_file(r->csv, csv.s ? csv.s : "", csv.n);
    strbuf_free(&md);
    strbuf_free(&csv);
    return ok;
}

int
cmd_report(int argc, char **argv)
{
    struct report r = {0};
    const struct cli_opt options[] = {
        {"html", 0, "DIR", "write DIR/index.html (the folder is made if missing)",
         &r.html, NULL, NULL},
        {"markdown", 0, "FILE", "write Markdown ('-': standard output)", &r.markdown,
         NULL, NULL},
        {"csv", 0, "FILE", "write every value of the figures as CSV", &r.csv, NULL, NULL},
        {"db", 0, "FILE",
         "the store (default $ALLOT_DB or ~/.local/share/allot/results.db)", &r.db, NULL,
         NULL},
        {"quick", 'q', NULL, "the figures on small inputs", NULL, NULL, &r.quick},
        {0}};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (!r.html && !r.markdown && !r.csv)
        return cli_usage(&cmd, "say what to write: --html, --markdown or --csv");
    if (!cli_known_experiments(&cmd, &pos))
        return EXIT_USAGE;
    struct store *s = store_open(r.db, STORE_READ, &r.diag);
    const char *spool = s ? store_spool(s, &r.diag) : NULL;
    bool ok = spool && store_collect(s, spool, NULL, &r.diag);
    char **names = ok && !pos.n ? figure_names() : NULL;
    for (size_t i = 0; ok && (names ? names[i] != NULL : i < pos.n); i++)
        ok = add(&r, s, names ? names[i] : pos.v[i], !names);
    ok = ok && store_good(s);
    if (ok && r.html)
        ok = write_html(&r, s) && store_good(s);
    if (ok && (r.markdown || r.csv))
        ok = write_text(&r);
    cli_sink(&r.diag);
    allot_names_free(names);
    for (size_t i = 0; i < r.figures.n; i++)
        figure_free(r.figures.v[i]);
    for (size_t i = 0; i < r.experiments.n; i++)
        experiment_free(r.experiments.v[i]);
    vec_free(&r.figures);
    vec_free(&r.experiments);
    vec_free(&r.names);
    store_close(s);
    return ok ? EXIT_OK : EXIT_FAILED;
}
