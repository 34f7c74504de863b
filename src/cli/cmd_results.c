/* cmd_results.c: allot results: what the store holds. */
#include "cli/runs.h"

#include "report/run_report.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_cmd cmd = {
    "results", "[OPTIONS] list | show RUN... | diff RUN RUN | export",
    "What the store holds. A RUN is its number or the beginning of its key.\n"
    "list: the runs. show: everything about a run: the whole machine, every counter of every\n"
    "launch. diff: which settings differ between two runs, which counters moved, by how much.\n"
    "export: every launch with every counter and every setting, as CSV or JSON.",
    "  allot results list --workload 'nw%'\n"
    "  allot results diff 12 15\n"
    "  allot results export --csv all.csv\n"};

struct results {
    const char *db, *csv, *json, *workload, *machine, *state;
    bool all;
};

/* Ids of the runs that the options choose; NULL: the store is damaged. */
static int64_t *
chosen(const struct results *r, struct store *s, size_t *n)
{
    struct store_filter f = {r->workload, r->machine, r->state, !r->all};
    int64_t *ids = store_list(s, &f, n);
    if (store_good(s))
        return ids;
    free(ids);
    return NULL;
}

static int
list(const struct results *r, struct store *s)
{
    size_t n;
    int64_t *ids = chosen(r, s, &n);
    if (!ids)
        return EXIT_FAILED;
    run_report_list(s, ids, n, stdout);
    free(ids);
    return EXIT_OK;
}

/* The run that a user means, NULL after saying that there is none. */
static json_t *
find(struct store *s, const char *name)
{
    json_t *run = store_run_named(s, name);
    if (!run)
        fprintf(stderr, "allot: %s holds no run '%s' ('allot results list')\n",
                store_path(s), name);
    return run;
}

static int
show(const struct results *r, struct store *s, const struct cli_list *names)
{
    bool ok = true;
    for (size_t i = 1; ok && i < names->n; i++) {
        json_t *run = find(s, names->v[i]);
        ok = run != NULL;
        if (ok && r->json) {
            run_report_complete(s, run);
            ok = cli_write_json(r->json, run, JSON_INDENT(2));
        } else if (ok) {
            fputs(i > 1 ? "\n" : "", stdout);
            run_report_show(s, run, stdout);
        }
        json_decref(run);
    }
    return ok ? EXIT_OK : EXIT_FAILED;
}

static int
diff(struct store *s, const struct cli_list *names)
{
    json_t *a = find(s, names->v[1]), *b = a ? find(s, names->v[2]) : NULL;
    if (b)
        run_report_diff(s, a, b, stdout);
    json_decref(a);
    json_decref(b);
    return b ? EXIT_OK : EXIT_FAILED;
}

static int export(const struct results *r, struct store *s)
{
    size_t n;
    int64_t *ids = chosen(r, s, &n);
    if (!ids)
        return EXIT_FAILED;
    struct strbuf csv = {0};
    json_t *all = run_report_export(s, ids, n, &csv);
    bool ok = store_good(s); /* all of it or nothing */
    if (ok && r->json)
        ok = cli_write_json(r->json, all, JSON_INDENT(1));
    if (ok && (r->csv || !r->json))
        ok = cli_write_file(r->csv ? r->csv : "-", csv.s, csv.n);
    json_decref(all);
    strbuf_free(&csv);
    free(ids);
    return ok ? EXIT_OK : EXIT_FAILED;
}

int
cmd_results(int argc, char **argv)
{
    struct results r = {0};
    const struct cli_opt options[] = {
        {"db", 0, "FILE",
         "the store (default $ALLOT_DB or ~/.local/share/allot/results.db)", &r.db, NULL,
         NULL},
        {"workload", 'w', "PATTERN", "list, export: only these (% stands for anything)",
         &r.workload, NULL, NULL},
        {"machine", 'm', "PATTERN", "list, export: only these", &r.machine, NULL, NULL},
        {"state", 0, "STATE", "list, export: done or failed", &r.state, NULL, NULL},
        {"all", 'a', NULL, "list, export: also what was run again since", NULL, NULL,
         &r.all},
        {"csv", 0, "FILE", "export: write CSV there (default: standard output)", &r.csv,
         NULL, NULL},
        {"json", 0, "FILE", "show, export: write JSON there ('-': standard output)",
         &r.json, NULL, NULL},
        {0}};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    const char *what = pos.n ? pos.v[0] : "";
    bool is_show = !strcmp(what, "show"), is_diff = !strcmp(what, "diff"),
         is_list = !strcmp(what, "list"), is_export = !strcmp(what, "export");
    if (!is_show && !is_diff && !is_list && !is_export)
        return cli_usage(
            &cmd, "say list, show, diff or export%s",
            cli_near_word(what, (const char *const[]){"list", "show", "diff", "export"},
                          4));
    if ((is_show && pos.n < 2) || (is_diff && pos.n != 3) ||
        ((is_list || is_export) && pos.n > 1))
        return cli_usage(&cmd,
                         is_show   ? "show: name at least one run"
                         : is_diff ? "diff: name two runs"
                                   : "%s takes no names",
                         what);
    if (r.state && strcmp(r.state, "done") && strcmp(r.state, "failed"))
        return cli_usage(&cmd, "--state %s: done or failed", r.state);
    struct diag_sink diag = {0};
    struct store *s = store_open(r.db, STORE_READ, &diag);
    const char *spool = s ? store_spool(s, &diag) : NULL;
    bool ok = spool && store_collect(s, spool, NULL, &diag);
    cli_sink(&diag);
    int status = !ok       ? EXIT_FAILED
                 : is_list ? list(&r, s)
                 : is_show ? show(&r, s, &pos)
                 : is_diff ? diff(s, &pos)
                           : export(&r, s);
    if (s && !store_good(s))
        status = EXIT_FAILED;
    cli_sink(&diag);
    store_close(s);
    return status;
}
