/* compare.h: what a subject did under a variant: sums over its launches. */
#ifndef ALLOT_EXPERIMENTS_COMPARE_H
#define ALLOT_EXPERIMENTS_COMPARE_H

#include "allot/allot.h"
#include "base/diag.h"
#include "energy/energy.h"

#include <jansson.h>

/* Sums over the launches that count; blocks, pairs and baseline: the largest of them. ran: it
 * was simulated; ok: and its result is right. ipc: of the sums. */
struct compare_cell {
    bool ran, ok, refused; /* before its first launch */
    uint64_t cycles, warp, thread, blocks, pairs, baseline;
    double ipc, seconds;
    struct energy energy;
};

/* Whether a blank-separated list has the name; one that is empty or NULL has all. */
bool compare_counts(const char *kernels, const char *name);
/* Adds the launches of these kernels. False and diagnostics: the energies of one do not add
 * up. */
bool compare_add_device(struct compare_cell *c, const struct allot_device *dev,
                        const char *kernels, const struct allot_machine *m,
                        struct diag_sink *diag);
/* How a run on a device ended, and its launches of these kernels; refused: before the first. The
 * same. */
bool compare_add_run(struct compare_cell *c, const struct allot_device *dev,
                     const char *kernels, const struct allot_machine *m, bool passed,
                     bool refused, bool interrupted, struct diag_sink *diag);
/* Adds launches as a program's record has them: an array of objects by counter. */
void compare_add_launches(struct compare_cell *c, const json_t *launches);

#endif
