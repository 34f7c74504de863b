/* main.c: allot SUBCOMMAND. */
#include "cli/cli.h"

#include "base/near.h"

#include <string.h>

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CMD(name, summary) {#name, summary, cmd_##name},
#include "cli/commands.def"
#undef CMD
};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void
help(FILE *out)
{
    fprintf(out,
            "usage: allot COMMAND [ARGUMENTS]\n\n"
            "Who gets a GPU's on-chip resources, and what each decision is worth.\n\n"
            "commands:\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(
        out,
        "\n'allot COMMAND --help' tells the rest, --man as a manual page; 'allot --version' "
        "the version.\n"
        "A first thing to try: allot compare backprop srad_v2_24 "
        "--machine 000-table2 --quick\n");
}

const char *
cli_summary(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return commands[i].summary;
    return "";
}

static void
man(void)
{
    cli_man_head("",
                 "who gets a GPU's on\\-chip resources, and what each decision is worth");
    printf(".I COMMAND\n.RI [ ARGUMENTS ]\n.SH COMMANDS\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        printf(".TP\n.BR allot\\-%s (1)\n%s\n", commands[i].name, commands[i].summary);
    printf(".SH ENVIRONMENT\n.TP\n.B ALLOT_DB\nthe store of results, where --db does not "
           "say\n.TP\n.B ALLOT_MACHINES\nfolders of machine descriptions, joined by "
           "colons\n.TP\n.B ALLOT_PAPERS\nthe folder of experiment files\n");
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (argc == 3 && !strcmp(argv[1], "help")) { /* allot help COMMAND */
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        help(stdout);
        return cli_flush(EXIT_OK);
    }
    if (!strcmp(name, "--man")) {
        man();
        return cli_flush(EXIT_OK);
    }
    if (!strcmp(name, "--version")) {
        printf("allot %s\n", ALLOT_VERSION);
        return cli_flush(EXIT_OK);
    }
    if (!strcmp(name, "--completion")) {
        if (argc == 3 && cli_complete(argv[2])) {
            arena_free(cli_mem());
            return cli_flush(EXIT_OK);
        }
        fprintf(stderr, "allot: --completion needs a shell: bash, zsh or fish\n");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name)) {
            int status = commands[i].run(argc - 1, argv + 1);
            arena_free(cli_mem());
            return cli_flush(cli_status(status));
        }
    struct near near = {.word = name};
    for (size_t i = 0; i < NCOMMANDS; i++)
        near_offer(&near, commands[i].name);
    fprintf(stderr, "allot: unknown command '%s'%s\n(see 'allot --help')\n", name,
            cli_did_you_mean("", near.best));
    return EXIT_USAGE;
}
