/* own.h: a kernel of one's own on the command line: its options, its outputs. */
#ifndef ALLOT_CLI_OWN_H
#define ALLOT_CLI_OWN_H

#include "cli/cli.h"
#include "experiments/launch.h"

struct cli_own {
    struct launch_desc desc;
    struct cli_list args;
    const char *file; /* --launch */
};
enum { CLI_OWN_OPTIONS = 7 };
void cli_own_options(struct cli_own *o, struct cli_opt table[CLI_OWN_OPTIONS]);

/* Whether any of the options was given; the usage error of one given for a workload. */
bool cli_own_given(const struct cli_own *o);
int cli_own_misplaced(const struct cli_cmd *cmd);
/* Reads --launch and checks what was said, as far as that is possible without the kernel:
 * EXIT_OK, or the status after saying what is wrong. */
int cli_own_check(const struct cli_cmd *cmd, struct cli_own *o);
/* The same, and that enough was said to launch it. */
int cli_own_ready(const struct cli_cmd *cmd, struct cli_own *o);
/* Threads of the block that --block gives; 0: it is not given. */
uint32_t cli_own_threads(const struct cli_own *o);
/* Holds it against the module, and checks that output files can be written; false after
 * saying what is wrong. `path` names the module. */
bool cli_own_read(const struct cli_own *o, struct allot_module *mod, const char *path,
                  struct launch *l);
/* Runs it; false after saying why not. */
bool cli_own_run(struct launch *l, struct allot_device *dev, uint32_t seed);
/* Writes and prints (to `show`) what arguments ask for; false after saying why not. */
bool cli_own_finish(const struct launch *l, struct allot_device *dev, FILE *show);

#endif
