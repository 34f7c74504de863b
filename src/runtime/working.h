/* working.h: the working sets of one launch as a JSON object: what `allot workingset` says of
 * it (docs/cta-scheduling.md). It is made in the process that executed the launch; programs
 * hand it to the command through their record (src/cuda/core/core_record.c). */
#ifndef ALLOT_RUNTIME_WORKING_H
#define ALLOT_RUNTIME_WORKING_H

#include "allot/allot.h"

#include <jansson.h>

/* What is wanted beside the figures. */
struct working_want {
    const char *method; /* `schedule`: the text of one made by it, `schedule_seconds`: of
                         * the host's processors, to make it; NULL: none */
    double cps;         /* its cost of a synchronisation; negative: by cta.sync_cycles */
};

/* kernel, blocks, line_bytes, capacity_lines, sum, distinct, cps; lines: of each block;
 * arrays: address, bytes, lines, distinct; overlap: distance, common; contention: tlp,
 * contention, contention_distinct, from one block an SM up to what the machine holds.
 * NULL and a diagnostic: the launch has no working sets, no block of it fits the machine, or
 * the method is none. Overlap and contention are means over evenly spaced samples of pairs
 * and steps. */
json_t *rt_working_json(const struct allot_result *r, const struct allot_machine *m,
                        const struct working_want *want, struct allot_diag *d);
/* Adds those of launch number nth, from 1, of each kernel on the device (only: of this kernel,
 * NULL: of all) to an array. False and a diagnostic. */
bool rt_working_launches(const struct allot_device *dev, const struct allot_machine *m,
                         uint64_t nth, const char *only, const struct working_want *want,
                         json_t *launches, struct allot_diag *d);

#endif
