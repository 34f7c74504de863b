/* program.h: a CUDA program on the simulated GPU: found, checked, run, and what it launched.
 *
 * The program finds our libraries in place of CUDA's (src/cuda/core/core.h tells the rest):
 * its environment says where they are and which machine to simulate. They keep a record
 * file of what runs (src/cuda/core/core_record.c), which is read when the program has ended.
 * `allot exec`, `allot compare` and rows of experiments (run.h) run programs by it. */
#ifndef ALLOT_PROGRAM_PROGRAM_H
#define ALLOT_PROGRAM_PROGRAM_H

#include "allot/allot.h"
#include "base/arena.h"
#include "base/str.h"
#include "runtime/working.h"

#include <jansson.h>

/* What is simulated and what is to be seen of it. Texts are as on the command line of
 * `allot exec`; NULL: not said. */
struct program_setup {
    const char *machine;         /* a preset or a file */
    const char *const *settings; /* PATH=VALUE, in the order of application */
    size_t nsettings;
    const char *const *schedules; /* files */
    size_t nschedules;
    unsigned threads, checks; /* checks: ALLOT_CHECK_*, or-ed */
    bool functional, no_skip;
    const char *max_cycles, *max_instructions, *guard;
    const char *kernel, *skip, *count; /* which launches have timing */
    const char *trace, *trace_from, *trace_to, *trace_limit;
    const char *timeline, *timeline_cycles;
    bool timeline_sms;
    bool by_line; /* of launches with timing: counters by instruction, in `all` */
    /* Without timing: the working sets of each kernel's launch of that number from 1, and a
     * schedule made from them; 0: none. */
    uint64_t working_nth;
    struct working_want working;
    bool per_kernel; /* the program's process tells of each launch */
    bool all;        /* keep every launch, not only a row a kernel */
    /* Signals to this process are passed on to the program. */
    bool pass_signals;
    bool discard;       /* its standard output is; it ends with this process */
    bool capture;       /* the end of its standard error is kept as `said`, not shown */
    const char *folder; /* it runs there; NULL: here */
};

/* What came of it. */
struct program_result {
    int status;         /* exit status, or 128 + signal */
    int signal;         /* that ended it; 0: none */
    double seconds;     /* of the host */
    unsigned lowest;    /* least compute capability of its PTX, 0: unknown */
    json_t *all;        /* array: an object a launch; NULL: not wanted */
    json_t *rows;       /* array: an object a kernel, in the order of first launches */
    json_t *running;    /* array: rows of kernels that had not ended */
    json_t *failures;   /* array: launches that failed or were refused */
    json_t *overlooked; /* the first of them that the program took no notice of, NULL */
    json_t *working;    /* array: working sets that were asked for, a launch each */
    uint64_t findings;  /* of the checks */
    bool lost;    /* a trace or timeline could not be written; its process said so */
    bool cut;     /* the record of launches is not complete, nor is what it fills */
    char *said;   /* with `capture`; NULL: nothing */
    json_t *rank; /* row of each name */
};

/* The file that a shell would run for this word in `folder` (NULL: here): whatever has a
 * slash as it stands, other words in PATH. In mem; NULL and `why` if there is none. */
const char *program_find(const char *word, const char *folder, struct arena *mem,
                         struct strbuf *why);

/* Runs argv[0] with the arguments behind it (NULL at the end) to its end. False and `why`:
 * it was not started, since there is no such program or it cannot be simulated. A program
 * that fails is a result. */
bool program_run(const struct program_setup *s, char *const *argv,
                 struct program_result *r, struct strbuf *why);
void program_result_free(struct program_result *r);

/* Why the run counts as failed: a status other than 0, or a launch that failed without the
 * program's notice. In mem; NULL: it does not. */
const char *program_failure(const struct program_result *r, struct arena *mem);

/* Its launches (r->all) as those of other runs: their `kernel` is their name. */
json_t *program_launches(const struct program_result *r);

/* What identifies the PTX of its launches (r->all): the hash of its one module; of several,
 * a hash of theirs, in the order of their first launches; "": there was no launch. In mem. */
const char *program_ptx_hash(const struct program_result *r, struct arena *mem);

#endif
