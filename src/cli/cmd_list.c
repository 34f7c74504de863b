/* cmd_list.c: allot list: what there is to choose from. */
#include "cli/cli.h"

#include "report/reference_report.h"

#include <stdlib.h>
#include <string.h>

static int
list_machine(const char *name)
{
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_machine(name, d);
    cli_diag(d);
    allot_diag_free(d);
    if (m)
        reference_report_machine(m, stdout);
    allot_machine_free(m);
    return m ? EXIT_OK : EXIT_FAILED;
}

int
cmd_list(int argc, char **argv)
{
    bool markdown = false;
    const struct cli_opt options[] = {
        {"markdown", 0, NULL, "settings, counters, ptx: the reference as Markdown", NULL,
         NULL, &markdown},
        {0}};
    const struct cli_cmd cmd = {
        "list", "[--markdown] WHAT | machine NAME",
        "What there is to choose from. WHAT: machines, workloads, policies, passes, pipelines,\n"
        "settings, counters, ptx. machine: every setting of one, by name or file. pipelines:\n"
        "what names of several passes stand for, and why each pass is there. Settings\n"
        "are what a machine file and --set may say; counters are what --json and --stats give;\n"
        "ptx is every instruction, done or refused.",
        "  allot list machines\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (markdown) {
        char *text = pos.n == 1 ? allot_reference(pos.v[0]) : NULL;
        if (!text)
            return cli_usage(&cmd, "--markdown is for settings, counters and ptx");
        fputs(text, stdout);
        free(text);
        return EXIT_OK;
    }
    if (pos.n == 2 && !strcmp(pos.v[0], "machine"))
        return list_machine(pos.v[1]);
    if (pos.n == 1 && reference_report(pos.v[0], stdout))
        return EXIT_OK;
    size_t n = 0;
    while (reference_report_kinds[n])
        n++;
    return cli_usage(&cmd,
                     "say what to list: machines, machine NAME, workloads, "
                     "policies, passes, pipelines, settings, counters or ptx%s",
                     pos.n == 1 ? cli_near_word(pos.v[0], reference_report_kinds, n)
                                : "");
}
