/* runner.h: many runs on this machine, each in a process of its own. */
#ifndef ALLOT_EXPERIMENTS_RUNNER_H
#define ALLOT_EXPERIMENTS_RUNNER_H

#include "experiments/run.h"
#include "experiments/store.h"

struct runner_count;

struct runner {
    unsigned jobs;         /* at a time; 0: as many as there are cores */
    double time_limit;     /* seconds of a run; 0: none */
    uint64_t memory_limit; /* bytes that a run may have in memory; 0: none */
    bool again, retry;     /* also what is stored; also what has failed */
    /* Told after every change, and about five times a second. left: seconds to the end,
     * negative while unknown. May be NULL. */
    void (*progress)(void *user, const struct runner_count *c, double left,
                     const char *last);
    /* A run is in the store (or has failed, with its message). May be NULL. */
    void (*finished)(void *user, const struct exp_run *r, bool ok, const char *message);
    bool (*interrupted)(void *user); /* may be NULL */
    void *user;
};

struct runner_count {
    size_t runs;      /* asked for, each once */
    size_t stored;    /* of them in the store, not by this call */
    size_t elsewhere; /* of these (or of failed_before) by another process meanwhile */
    size_t failed_before; /* of them failed before and not tried again */
    size_t done, failed;  /* now */
};

/* Runs what is missing in the store, and waits for what other processes of this host do
 * of it (claims.h). False on interruption and on failures of the store (with
 * diagnostics), not because runs fail: *count tells. Children end with this process. */
bool runner_run(const struct runner *o, struct store *s, const struct exp_run *runs,
                size_t n, struct runner_count *count, struct diag_sink *diag);

/* One run without a store, in a process of its own under the same limits; its record goes
 * to the folder. False if nothing could be written. */
bool runner_one(const struct runner *o, const struct exp_run *r, const char *token,
                const char *folder);

#endif
