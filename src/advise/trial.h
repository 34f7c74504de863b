/* trial.h: simulations of one kernel or workload under several candidates, each in a process of
 * its own. */
#ifndef ALLOT_ADVISE_TRIAL_H
#define ALLOT_ADVISE_TRIAL_H

#include "advise/candidates.h"
#include "energy/energy.h"
#include "experiments/subject.h"

enum {
    TRIAL_KERNELS = 32 /* kernels with counters of their own; others count in the sums */
};

enum trial_state {
    TRIAL_NOT_TRIED, /* no time was left */
    TRIAL_DONE,      /* simulated, results right */
    TRIAL_NOTHING,   /* ... and nothing has changed */
    TRIAL_SLOWER,    /* stopped: it took more cycles than it may */
    TRIAL_REFUSED,   /* before its first launch */
    TRIAL_FAILED,    /* a launch failed */
    TRIAL_WRONG      /* other results than the original: a fault */
};
/* "done", "slower", ... */
const char *trial_state_word(enum trial_state s);

/* One kernel, its launches together. */
struct trial_kernel {
    struct launch_stats stats;
    double joules;
};
struct trial {
    enum trial_state state;
    char why[240];        /* what is wrong; "": nothing */
    uint64_t cycles, all; /* of the launches that count, and of all */
    double joules;        /* of those that count */
    double seconds;       /* of the host */
    char memory[33];      /* hash over the buffers of a file's kernel; "": a workload's */
    struct trial_kernel kernel[TRIAL_KERNELS]; /* in the order of trials.name */
};

/* What is simulated. */
struct trials {
    struct subject *subject;
    struct allot_module *mod;
    const struct allot_machine *machine;
    struct allot_options options; /* of the run of the original */
    /* Kernels in the order in which they ran: of the first run, that of the original. */
    const char *name[TRIAL_KERNELS];
    size_t nname;
    unsigned jobs;         /* processes at a time */
    double until;          /* clock_seconds(CLOCK_MONOTONIC) at which to stop; 0: never */
    bool (*stopped)(void); /* by the user */
    void (*progress)(size_t done, size_t n,
                     const char *last); /* after each; may be NULL */
    struct arena *mem;
};

/* Runs the original in this process: t, and the names of its kernels. Its device is given
 * back through *dev, which is the caller's, also where it failed. False and diagnostics. */
bool trial_original(struct trials *x, struct trial *t, struct allot_device **dev,
                    struct allot_diag *d);
/* Runs each candidate, several at a time; t[i] is that of c[i]. limit[i]: cycles of all its
 * launches beyond which it is stopped, 0: none. original: what results and counters are held
 * against. False: stopped by the user or by time; those that did not end are
 * TRIAL_NOT_TRIED. */
bool trial_all(const struct trials *x, const struct candidate *const *c,
               const uint64_t *limit, const struct trial *original, struct trial *t,
               size_t n);

#endif
