/* explain.h: what limits a kernel's residency, where its scratchpad variables lie, what the
 * passes did, and what that buys when the kernel can be run (allot opt --explain). */
#ifndef ALLOT_ADVISE_EXPLAIN_H
#define ALLOT_ADVISE_EXPLAIN_H

#include "allot/allot.h"
#include "base/arena.h"

#include <jansson.h>

/* Who asks: how the kernel is read and run, and where words go. */
struct explain_host {
    void *user;
    struct arena *mem; /* of everything that is kept until explain_free */
    struct allot_diag *(*diag)(void);
    int (*show)(struct allot_diag *d); /* what was diagnosed; the answer is not used */
    bool (*stopped)(void);             /* by the user */
    /* The kernel's module as it is before the passes. */
    struct allot_module *(*load)(void *user, struct allot_diag *d);
    /* Options of a run that progress calls `label`; false after saying why not. */
    bool (*options)(void *user, const char *label, struct allot_options *o);
    /* Holds the launch that was asked for against the module, once before all runs. */
    bool (*ready)(void *user, struct allot_module *mod);
    /* All launches; false after saying why not. */
    bool (*run)(void *user, struct allot_device *dev, struct allot_module *mod,
                struct allot_diag *d);
    json_t *(*settings)(void *user); /* of the runs, for the JSON object */
};

/* What is explained. */
struct explain_of {
    struct explain_host host;
    const struct allot_machine *machine;
    const char *name; /* of the workload or file */
    const char *passes;
    const char *residency, *scheduler; /* that were asked for, NULL: none */
    bool runnable;                     /* the launch is known */
    /* Of a file's kernels; NULL: not said. */
    const char *kernel, *block;
    uint32_t dynamic_scratchpad;
};

struct explain;
/* Looks at the kernels before the passes; where they can be run, runs them as they are.
 * NULL after saying why not. */
struct explain *explain_new(const struct explain_of *of);
void explain_free(struct explain *x);
/* Dynamic scratchpad that kernels are launched with (the most). */
uint32_t explain_dynamic(const struct explain *x);
/* Threads of their blocks (the most); 0: nothing says how many. */
uint32_t explain_threads(const struct explain *x);
/* Runs what the passes and sharing are worth and tells everything, in words on standard
 * error or as JSON on standard output: `mod` has gone through the passes, which said
 * `report` (NULL: nothing). False after saying why not. */
bool explain_tell(struct explain *x, struct allot_module *mod, const char *report,
                  bool json);

#endif
