/* passes.h: looking into a pipeline of passes: --print-after, --time-passes, --verify-each. */
#ifndef ALLOT_CLI_PASSES_H
#define ALLOT_CLI_PASSES_H

#include "cli/cli.h"

struct pass_look {
    struct cli_list print_after; /* names of passes, or "all" */
    bool time, verify;
    const struct allot_pass_watch
        *watch; /* of allot_module_opt_watched; NULL: nothing is to be seen */
    /* the look's own */
    struct allot_pass_watch own;
    const struct allot_module *mod;
    struct table *times;
    double seconds, verify_seconds;
};

/* Rows of a command's options. */
#define PASS_LOOK_OPTIONS(l)                                                             \
    {                                                                                    \
        "print-after",                                                                   \
        0,                                                                               \
        "PASS",                                                                          \
        "print the PTX after this pass to standard error ('all': after each)",           \
        NULL,                                                                            \
        &(l)->print_after,                                                               \
        NULL},                                                                           \
        {"time-passes", 0,    NULL,      "host time of each pass, on standard error",    \
         NULL,          NULL, &(l)->time},                                               \
    {                                                                                    \
        "verify-each", 0, NULL,                                                          \
            "check after each pass that the PTX is valid and can be executed", NULL,     \
            NULL, &(l)->verify                                                           \
    }

/* Prints names, meanings and settings of all passes. */
void pass_list(void);
/* The machine shares what a pipeline was told (its :threshold=), unless it was told itself.
 * False after saying that they were told different things. */
bool pass_threshold(const struct cli_cmd *cmd, struct cli_sim *s, const char *passes);
/* Are a pipeline's passes and settings known (NULL: there is none)? Says so and returns false
 * where one is not. */
bool pass_names_check(const struct cli_cmd *cmd, const char *passes);
/* Are the names passes? Says so and returns false where one is not. */
bool pass_look_check(const struct cli_cmd *cmd, const struct pass_look *l);
/* Sets l->watch, over `mod`. */
void pass_look_begin(struct pass_look *l, const struct allot_module *mod);
/* Prints the table of times. */
void pass_look_end(struct pass_look *l);

#endif
