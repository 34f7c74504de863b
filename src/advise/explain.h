/* explain.h: allot opt --explain: what limits a kernel's residency, where its scratchpad
 * variables lie, what the passes did, and what that buys when the kernel can be run. */
#ifndef ALLOT_CLI_EXPLAIN_H
#define ALLOT_CLI_EXPLAIN_H

#include "cli/own.h"

/* What is explained. `workload` or a PTX file, whose text (any form that
 * allot_module_read takes) is `data`. */
struct explain_of {
    const struct cli_cmd *cmd;
    const struct cli_sim *sim;
    const struct allot_machine *machine; /* sim's */
    const struct allot_workload *workload;
    struct cli_own *own; /* of a file */
    const char *name;    /* of the workload or file */
    const char *data;
    size_t len;
    const char *passes;
};

struct explain;
/* Looks at the kernels before the passes; where they can be run, runs them as they are.
 * NULL after saying why not. */
struct explain *explain_new(const struct explain_of *of);
void explain_free(struct explain *x);
/* Dynamic scratchpad that kernels are launched with (the most). */
uint32_t explain_dynamic(const struct explain *x);
/* Runs what the passes and sharing are worth and tells everything, in words on standard
 * error or as JSON on standard output: `mod` has gone through the passes, which said
 * `report` (NULL: nothing). False after saying why not. */
bool explain_tell(struct explain *x, struct allot_module *mod, const char *report,
                  bool json);

#endif
