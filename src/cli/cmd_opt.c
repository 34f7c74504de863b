/* cmd_opt.c: allot opt: PTX in, passes, PTX out. */
#include "cli/cli.h"

#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static int
list_passes(void)
{
    const char *name, *meaning;
    size_t i = 0;
    for (; allot_pass(i, &name, &meaning); i++)
        printf("%-20s %s\n", name, meaning);
    if (!i)
        printf("this version has no passes yet: 'allot opt' checks and prints\n");
    return EXIT_OK;
}

int
cmd_opt(int argc, char **argv)
{
    const char *passes = "", *out = "-";
    bool list = false;
    const struct cli_opt options[] = {
        {"passes", 'p', "P[,P...]", "passes to run, in order (default: none)", &passes,
         NULL, NULL},
        {"output", 'o', "FILE", "where to write (default: standard output)", &out, NULL,
         NULL},
        {"list-passes", 0, NULL, "names and meanings of all passes", NULL, NULL, &list},
        {0}};
    const struct cli_cmd cmd = {
        "opt", "[OPTIONS] KERNEL.ptx",
        "Reads PTX, runs passes over it, writes PTX. With no passes it checks the file and\n"
        "prints it in a canonical form. '-' reads standard input.",
        "  allot opt kernel.ptx -o checked.ptx\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (list)
        return list_passes();
    if (pos.n != 1)
        return cli_usage(&cmd, "give one PTX file");
    struct allot_diag *d = allot_diag_new();
    struct allot_module *m = allot_module_load(pos.v[0], d);
    bool ok = m && allot_module_opt(m, passes, d);
    if (ok) {
        char *text = allot_module_print(m);
        ok = cli_write_file(out, text, strlen(text));
        free(text);
    }
    cli_diag(d);
    allot_module_free(m);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
