/* slurm.h: runs as Slurm job arrays.
 *
 * What is submitted lies in FILE.slurm/BATCH/ beside the database: plan.json (the runs,
 * by array index), job.sh, id (the job's number), records/ (where tasks leave their
 * records) and log/. The folder must be visible to the nodes; the database need not be. A
 * batch is removed when every run of it is in the store. So submitting, collecting and
 * cancelling can be different calls, and a call that was killed is gone on with by the
 * next. */
#ifndef ALLOT_EXPERIMENTS_SLURM_H
#define ALLOT_EXPERIMENTS_SLURM_H

#include "experiments/runner.h"

struct slurm {
    const char *name;      /* of the jobs */
    const char *partition; /* NULL: the default one */
    unsigned throttle;     /* tasks of an array at a time; 0: as many as can be */
    bool requeue;          /* tasks of failed nodes are started again */
    bool no_wait;          /* submit, collect what is there, return */
    struct runner limits;  /* time_limit, memory_limit, again, retry, and whom to tell */
};

/* Submits what the store misses and no job has under way, collects, and waits until all
 * is there (unless no_wait). *under_way: runs left to Slurm on return. False with
 * diagnostics where Slurm or the store fail, and on interruption (jobs then go on by
 * themselves). */
bool slurm_run(const struct slurm *o, struct store *s, const struct exp_run *runs,
               size_t n, struct runner_count *count, size_t *under_way,
               struct diag_sink *diag);
/* Cancels every job of this store and collects what they had finished. */
bool slurm_cancel(struct store *s, size_t *cancelled, struct diag_sink *diag);
/* One task of a batch, in a job: does plan.json's entry of that index. */
bool slurm_task(const struct runner *limits, const char *batch, size_t index,
                struct diag_sink *diag);

#endif
