/* commands.c: the table of commands. */
#include "cli/cli.h"

#include <string.h>

const struct cli_command cli_commands[] = {
#define CMD(name, summary) {#name, summary, cmd_##name},
#include "cli/commands.def"
#undef CMD
    {0},
};

const struct cli_command *
cli_command_find(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

const char *
cli_summary(const char *name)
{
    const struct cli_command *c = cli_command_find(name);
    return c ? c->summary : "";
}
