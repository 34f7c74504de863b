/* cmd_results.c: allot results: what the store holds. */
#include "cli/runs.h"

#include "report/run_report.h"

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

/* What is asked for, and how many runs it names. */
static const struct verb {
    const char *name;
    size_t least, most;
    const char *wrong;
} verbs[] = {{"list", 0, 0, "list takes no names"},
             {"show", 1, SIZE_MAX, "show: name at least one run"},
             {"diff", 2, 2, "diff: name two runs"},
             {"export", 0, 0, "export takes no names"}};
enum { LIST, SHOW, DIFF, EXPORT, VERBS };

int
cmd_results(int argc, char **argv)
{
    const char *db = NULL, *csv = NULL, *json = NULL;
    struct store_filter filter = {0};
    bool all = false;
    const struct cli_opt options[] = {
        {"db", 0, "FILE",
         "the store (default $ALLOT_DB or ~/.local/share/allot/results.db)", &db, NULL,
         NULL},
        {"workload", 'w', "PATTERN", "list, export: only these (% stands for anything)",
         &filter.workload, NULL, NULL},
        {"machine", 'm', "PATTERN", "list, export: only these", &filter.machine, NULL,
         NULL},
        {"state", 0, "STATE", "list, export: done or failed", &filter.state, NULL, NULL},
        {"all", 'a', NULL, "list, export: also what was run again since", NULL, NULL,
         &all},
        {"csv", 0, "FILE", "export: write CSV there (default: standard output)", &csv,
         NULL, NULL},
        {"json", 0, "FILE", "show, export: write JSON there ('-': standard output)",
         &json, NULL, NULL},
        {0}};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    const char *words[VERBS];
    int what = VERBS;
    for (int i = 0; i < VERBS; i++) {
        words[i] = verbs[i].name;
        if (pos.n && !strcmp(pos.v[0], verbs[i].name))
            what = i;
    }
    if (what == VERBS)
        return cli_usage(&cmd, "say list, show, diff or export%s",
                         cli_near_word(pos.n ? pos.v[0] : "", words, VERBS));
    const size_t n = pos.n - 1;
    if (n < verbs[what].least || n > verbs[what].most)
        return cli_usage(&cmd, "%s", verbs[what].wrong);
    if (filter.state && strcmp(filter.state, "done") && strcmp(filter.state, "failed"))
        return cli_usage(&cmd, "--state %s: done or failed", filter.state);
    filter.newest = !all;
    struct diag_sink diag = {0};
    struct store *s = store_open_current(db, &diag);
    bool ok =
        s && (what == LIST   ? run_report_list(s, &filter, stdout)
              : what == SHOW ? run_report_show(s, pos.v + 1, n, json, stdout, &diag)
              : what == DIFF ? run_report_diff(s, pos.v + 1, stdout, &diag)
                             : run_report_export(s, &filter, csv, json, stdout, &diag));
    ok = ok && store_good(s);
    cli_sink(&diag);
    store_close(s);
    return ok ? EXIT_OK : EXIT_FAILED;
}
