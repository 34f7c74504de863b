/* run.h: one simulation of a stored experiment: what it is, the key that says when two
 * are the same, and doing it.
 *
 * The key is a hash over everything that can change a counter: the machine with its
 * settings, the PTX after its passes, the workload's inputs and parameters, and the sources
 * of the simulator and of the workload's host part: a result is not used any more once one
 * of them has changed. */
#ifndef ALLOT_EXPERIMENTS_RUN_H
#define ALLOT_EXPERIMENTS_RUN_H

#include "allot/allot.h"
#include "allot/workload.h"
#include "base/diag.h"

#include <jansson.h>

struct exp_run {
    const char *workload, *machine; /* names; the machine may be a path */
    bool own; /* a kernel of one's own: workload is the path of its PTX, params are what
               * launch_texts makes */
    bool program; /* a CUDA program: workload is what a shell would start in `folder`,
                         * params are run_program.c's */
    const char *folder;          /* NULL: here */
    const char *const *settings; /* PATH=VALUE, in the order of application */
    size_t nsettings;
    const char *const *params; /* NAME=VALUE: parameters of the workload */
    size_t nparams;
    const char *passes, *compiler; /* pipeline, "" for none; "clang", "nvcc" */
    uint32_t seed;
    bool quick;
    uint64_t max_cycles; /* 0: no limit */
    /* filled in by run_prepare */
    char key[33], machine_hash[17], ptx_hash[33];
};

/* Checks machine, settings, workload, compiler and passes and computes the hashes.
 * Machines and PTX that were read once are kept in `c` (zero-initialise; freed by
 * run_cache_free). */
struct run_cache {
    struct run_cache_entry *list;
};
/* The first of a public diag's errors, with its hint, as one of diag's. */
void run_diag(struct allot_diag *d, struct diag_sink *diag);
bool run_prepare(struct exp_run *r, struct run_cache *c, struct diag_sink *diag);
void run_cache_free(struct run_cache *c);

/* The same for a machine and a module (after its passes) that are at hand: nothing to
 * check, but input files of a kernel of one's own are read. mod NULL: a program's
 * modules, whose hash (allot_module_hash) is ptx_hash. */
bool run_identify(struct exp_run *r, const struct allot_machine *m,
                  struct allot_module *mod, const char *ptx_hash, struct diag_sink *diag);

/* Hash over the sources that results depend on, as 12 hex digits; and of the version:
 * "0.1.0+0123456789ab". */
const char *run_version(void);
/* The same over what makes a workload's inputs and launches; "": there is no such one. */
const char *run_workload_id(const char *name);
/* Folder i of these sources, and the hash over it; NULL: past the last. "experiments" is what a
 * figure's values are computed with. */
const char *run_room(size_t i, const char **id);
/* The folder of a pass, n characters of its name: "passes/cleanup"; NULL: there is no such pass. */
const char *run_pass_room(const char *pass, size_t n);

/* Plans: a run as JSON and back (strings live in mem). */
json_t *run_json(const struct exp_run *r);
bool run_from_json(const json_t *j, struct exp_run *r, struct arena *mem);

/* Does it, in this process. The result is a record for the store (store.h), whether it
 * succeeded or failed; never NULL. `token` makes the record unique. */
json_t *run_execute(const struct exp_run *r, const char *token);
/* The record of a run that could not end by itself. */
json_t *run_failure(const struct exp_run *r, const char *token, const char *started,
                    double seconds, const char *message);
/* The record of a device's launches so far, made elsewhere (allot run --db). m: the
 * machine, NULL: it could not be made. */
json_t *run_record(const struct exp_run *r, const char *token, const char *started,
                   double seconds, const struct allot_machine *m,
                   const struct allot_device *dev, bool ok, const char *message);

/* The whole machine, every setting resolved: an object by the settings' paths, numbers
 * and booleans as such. A record has it as "machine_settings". */
json_t *run_machine(const struct allot_machine *m);

/* "2026-01-31T12:00:00Z" and a random token, each with room for its NUL. */
void run_now(char text[24]);
void run_token(char text[33]);

/* -- programs: run_program.c -- */

/* Parameters of a program are its arguments, "arg=TEXT", and files that it reads,
 * "file=PATH" (in `folder`). */
/* Hash over the program's file, its arguments and the files; false: one of them cannot be
 * read. */
bool run_program_hash(const struct exp_run *r, char out[33], struct diag_sink *diag);
/* Runs it; the record of its launches. m: the machine. */
json_t *run_program(const struct exp_run *r, const char *token,
                    const struct allot_machine *m);

#endif
