/* exec_json.h: a CUDA program run by `allot exec` in a process of its own. */
#ifndef ALLOT_CLI_EXEC_JSON_H
#define ALLOT_CLI_EXEC_JSON_H

#include "cli/cli.h"

#include <jansson.h>

/* Runs words (the program and its arguments, until NULL) on s's machine with the settings;
 * what `--json` says of it. What the program prints to standard output is left out. NULL
 * after saying why not. */
json_t *cli_exec_json(const struct cli_sim *s, const char *const *words,
                      const char *const *settings, size_t nsettings);

#endif
