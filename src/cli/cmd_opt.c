/* cmd_opt.c: allot opt: PTX in, passes, PTX out. */
#include "cli/cli.h"

#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static int
list_passes(void)
{
    const char *name, *meaning;
    const char *key, *value;
    for (size_t i = 0; allot_pass(i, &name, &meaning); i++) {
        printf("%-24s %s\n", name, meaning);
        for (size_t k = 0; allot_pass_setting(i, k, &key, &value, &meaning); k++)
            printf("  :%s=%-*s %s\n", key, (int)(20 - strlen(key)), value, meaning);
    }
    return EXIT_OK;
}

int
cmd_opt(int argc, char **argv)
{
    const char *passes = "", *out = "-";
    bool list = false, strip = false, explain = false;
    const struct cli_opt options[] = {
        {"passes", 'p', "P[,P...]",
         "passes to run, in order; settings behind colons (default: none)", &passes, NULL,
         NULL},
        {"output", 'o', "FILE", "where to write (default: standard output)", &out, NULL,
         NULL},
        {"strip-extensions", 0, NULL,
         "take out invented instructions (relssp), so that ptxas reads the output", NULL,
         NULL, &strip},
        {"explain", 0, NULL, "say on standard error what each pass did and why", NULL,
         NULL, &explain},
        {"list-passes", 0, NULL, "names, meanings and settings of all passes", NULL, NULL,
         &list},
        {0}};
    const struct cli_cmd cmd = {
        "opt", "[OPTIONS] KERNEL.ptx",
        "Reads PTX, runs passes over it, writes PTX. With no passes it checks the file and\n"
        "prints it in a canonical form. '-' reads standard input.",
        "  allot opt kernel.ptx -o checked.ptx\n"
        "  allot opt kernel.ptx -p cleanup,register-allocate:max-registers=32\n"
        "  allot opt kernel.ptx -p scratchpad-layout,relssp:mode=postdom --explain\n"};
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
    char *report = NULL;
    bool ok = m && allot_module_opt(m, passes, explain ? &report : NULL, d) &&
              (!strip || allot_module_opt(m, "strip-extensions", NULL, d));
    if (report)
        fputs(report, stderr);
    free(report);
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
