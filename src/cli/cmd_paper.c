/* cmd_paper.c: allot paper: a paper's figure or table again, ours beside the paper's. */
#include "cli/cli.h"

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

int
cmd_paper(int argc, char **argv)
{
    if (argc > 1)
        for (const struct special *s = specials; s->name; s++)
            if (!strcmp(s->name, argv[1]))
                return s->run(argc - 1, argv + 1);
    bool list = false;
    const struct cli_opt options[] = {
        {"list", 0, NULL, "what there is", NULL, NULL, &list}, {0}};
    const struct cli_cmd cmd = {
        "paper", "--list | NAME",
        "A paper's figure or table again, ours beside the paper's.",
        "  allot paper --list\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (!list)
        return cli_usage(&cmd, "nothing is called '%s'", pos.n ? pos.v[0] : "");
    for (const struct special *s = specials; s->name; s++)
        printf("%-24s %s\n", s->name, s->meaning);
    return EXIT_OK;
}
