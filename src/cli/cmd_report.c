/* cmd_report.c: allot report: what the store holds, as a page, Markdown or CSV. */
#include "cli/runs.h"

#include "report/figure_set.h"

static const struct cli_cmd cmd = {
    "report", "[OPTIONS] [FILE.yaml | NAME]...",
    "What the store holds, as a page to look at (--html), Markdown or CSV. Nothing is run.\n"
    "Figures are those named, else all under papers/ that have a value; a page also lists\n"
    "every run. The page needs no network and no other file: send it, print it, keep it.\n"
    "An experiment that cannot run here is left out, with a line that says why; the exit\n"
    "status is 1 if it was named.",
    "  allot report --html out && xdg-open out/index.html\n"
    "  allot report mine.yaml --markdown report.md --db mine.db\n"};

int
cmd_report(int argc, char **argv)
{
    const char *db = NULL;
    struct figure_set_files to = {0};
    bool quick = false;
    const struct cli_opt options[] = {
        {"html", 0, "DIR", "write DIR/index.html (the folder is made if missing)",
         &to.html, NULL, NULL},
        {"markdown", 0, "FILE", "write Markdown ('-': standard output)", &to.markdown,
         NULL, NULL},
        {"csv", 0, "FILE", "write every value of the figures as CSV", &to.csv, NULL,
         NULL},
        {"db", 0, "FILE",
         "the store (default $ALLOT_DB or ~/.local/share/allot/results.db)", &db, NULL,
         NULL},
        {"quick", 'q', NULL, "the figures on small inputs", NULL, NULL, &quick},
        {0}};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (!to.html && !to.markdown && !to.csv)
        return cli_usage(&cmd, "say what to write: --html, --markdown or --csv");
    if (!cli_known_experiments(&cmd, &pos))
        return EXIT_USAGE;
    struct diag_sink diag = {0};
    struct figure_set x = {0};
    struct strbuf wrote = {0};
    struct store *s = store_open_current(db, &diag);
    bool ok = s && figure_set_read(&x, s, pos.v, pos.n, quick, &diag) &&
              (!pos.n || x.figures.n) && // nothing is left of what was named
              figure_set_write(&x, s, &to, stdout, &wrote, &diag) &&
              (!pos.n || !x.left_out);
    if (wrote.n)
        fprintf(stderr, "wrote %s\n", wrote.s);
    cli_sink(&diag);
    strbuf_free(&wrote);
    figure_set_free(&x);
    store_close(s);
    return ok ? EXIT_OK : EXIT_FAILED;
}
