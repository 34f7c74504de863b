/* subject.h: what is simulated: a workload, or one kernel of a file and its launch. */
#ifndef ALLOT_EXPERIMENTS_SUBJECT_H
#define ALLOT_EXPERIMENTS_SUBJECT_H

#include "allot/workload.h"
#include "experiments/launch.h"

struct subject {
    const char *name;                      /* of the workload; or the file's path */
    const struct allot_workload *workload; /* NULL: the file's kernel */
    const char *data; /* the file's contents, len bytes; NULL: not read yet */
    size_t len;
    const struct launch_desc *desc; /* of the file's kernel */
    const char *compiler;           /* of a workload's PTX */
    bool quick;
    uint32_t seed;
    const char *const *params; /* NAME=VALUE, of a workload */
    size_t nparams;
    struct launch launch; /* by subject_ready, of a file's kernel */
};

/* What a word of a command line is. */
enum subject_kind {
    SUBJECT_WORKLOAD,
    SUBJECT_PTX,     /* a file, or one that would end in .ptx */
    SUBJECT_PROGRAM, /* a file that may be executed */
    SUBJECT_NONE
};
enum subject_kind subject_kind(const char *word);

/* Its module; NULL and diagnostics. m: what a fatbin's PTX is chosen for. */
struct allot_module *subject_module(const struct subject *s,
                                    const struct allot_machine *m, struct allot_diag *d);
/* Holds the launch of a file's kernel against its module; what was understood lives in mem.
 * False and diagnostics. */
bool subject_ready(struct subject *s, struct allot_module *mod, struct arena *mem,
                   struct diag_sink *diag);
/* Runs it, all its launches. False: it failed; a workload says why, where its results are
 * wrong. What is wrong with a file's launch goes to `diag`. */
bool subject_run(struct subject *s, struct allot_device *dev, struct allot_module *mod,
                 char why[256], struct diag_sink *diag, struct allot_diag *d);
/* Comes to a workload's first launch and stops there: false and `why` if it does not take
 * its parameters. dev is for nothing else afterwards. */
bool subject_try(const struct subject *s, struct allot_device *dev,
                 struct allot_module *mod, char why[256], struct allot_diag *d);

#endif
