/* passes.h: looking into a pipeline of passes: --print-after, --print-changed, --trace-pass,
 * --bisect-limit, --time-passes, --verify-each. */
#ifndef ALLOT_CLI_PASSES_H
#define ALLOT_CLI_PASSES_H

#include "cli/cli.h"

struct pass_look {
    struct cli_list print_after; /* names of passes, or "all" */
    struct cli_list trace;       /* names of passes */
    const char *limit;           /* passes that run, a number; NULL: all */
    bool time, verify, changed;
    const struct allot_pass_watch
        *watch; /* of allot_module_opt_watched; NULL: nothing is to be seen */
    /* the look's own */
    struct allot_pass_watch own;
    const struct allot_module *mod;
    struct table *times;
    char *before; /* the module before the pass that runs; --print-changed */
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
        {"print-changed",                                                                \
         0,                                                                              \
         NULL,                                                                           \
         "print the lines that each pass changed to standard error",                     \
         NULL,                                                                           \
         NULL,                                                                           \
         &(l)->changed},                                                                 \
        {"trace-pass",                                                                   \
         0,                                                                              \
         "PASS",                                                                         \
         "print each choice of this pass and why to standard error (schedule, "          \
         "post-schedule)",                                                               \
         NULL,                                                                           \
         &(l)->trace,                                                                    \
         NULL},                                                                          \
        {"bisect-limit",                                                                 \
         0,                                                                              \
         "N",                                                                            \
         "run the first N passes only, and say which is the next",                       \
         &(l)->limit,                                                                    \
         NULL,                                                                           \
         NULL},                                                                          \
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
/* The passes to run of `passes`: as many as the limit says, each pipeline written out, and those
 * that are traced with that setting. In cli_mem; NULL after saying which name or number is wrong. */
const char *pass_look_pipeline(const struct cli_cmd *cmd, const struct pass_look *l,
                               const char *passes);
/* Sets l->watch, over `mod`. */
void pass_look_begin(struct pass_look *l, const struct allot_module *mod);
/* Prints the table of times, and what the traced passes say; NULL: it is printed elsewhere. */
void pass_look_end(struct pass_look *l, const char *traces);

#endif
