/* main.c: allot SUBCOMMAND. */
#include "cli/cli.h"

#include "base/near.h"

#include <string.h>

static void
help(FILE *out)
{
    fprintf(out,
            "usage: allot COMMAND [ARGUMENTS]\n\n"
            "Who gets a GPU's on-chip resources, and what each decision is worth.\n\n"
            "commands:\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->summary);
    fprintf(
        out,
        "\n'allot COMMAND --help' tells the rest, --man as a manual page; 'allot --version' "
        "the version.\n"
        "A first thing to try: allot compare backprop srad_v2_24 "
        "--machine 000-table2 --quick\n");
}

static void
man(void)
{
    cli_man_head("",
                 "who gets a GPU's on\\-chip resources, and what each decision is worth");
    printf(".I COMMAND\n.RI [ ARGUMENTS ]\n.SH COMMANDS\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        printf(".TP\n.BR allot\\-%s (1)\n%s\n", c->name, c->summary);
    printf(".SH ENVIRONMENT\n.TP\n.B ALLOT_DB\nthe store of results, where --db does not "
           "say\n.TP\n.B ALLOT_MACHINES\nfolders of machine descriptions, joined by "
           "colons\n.TP\n.B ALLOT_PAPERS\nthe folder of experiment files\n.TP\n.B "
           "ALLOT_POLICIES\nplug-ins of policies, joined by colons\n");
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
    const struct cli_command *command = cli_command_find(name);
    if (command) {
        int status = command->run(argc - 1, argv + 1);
        arena_free(cli_mem());
        return cli_flush(cli_status(status));
    }
    struct near near = {.word = name};
    for (const struct cli_command *c = cli_commands; c->name; c++)
        near_offer(&near, c->name);
    fprintf(stderr, "allot: unknown command '%s'%s\n(see 'allot --help')\n", name,
            cli_did_you_mean("", near.best));
    return EXIT_USAGE;
}
