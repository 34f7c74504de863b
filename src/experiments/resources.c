/* resources.c: rows that are a kernel's resources alone: what the occupancy calculator
 * says of them. */
#include "experiments/experiment.h"

#include <stdlib.h>
#include <string.h>

bool
experiment_occupancy(const struct experiment *e, size_t row, size_t series,
                     const char *stat, double *value)
{
    const struct exp_row *r = &e->row[row];
    const struct allot_machine *m = e->machine[row * e->nseries + series];
    char t[64] = "1", whole[64] = "0";
    allot_machine_get(m, "residency.threshold", t, sizeof t);
    struct allot_occupancy_query q = {r->use.threads, r->use.registers, r->use.scratchpad,
                                      e->series[series].share, strtod(t, NULL)};
    struct allot_occupancy o;
    if (!allot_occupancy(m, &q, &o, NULL))
        return false;
    if (!strcmp(stat, "resident_blocks"))
        *value = o.resident_blocks;
    else if (!strcmp(stat, "baseline_blocks"))
        *value = o.baseline_blocks;
    else if (!strcmp(stat, "shared_pairs"))
        *value = o.shared_pairs;
    else if (!strcmp(stat, "registers_wasted_percent") &&
             allot_machine_get(m, "sm.registers", whole, sizeof whole))
        *value = 100.0 * o.registers_wasted / strtod(whole, NULL);
    else if (!strcmp(stat, "scratchpad_wasted_percent") &&
             allot_machine_get(m, "sm.scratchpad", whole, sizeof whole))
        *value = 100.0 * o.scratchpad_wasted / strtod(whole, NULL);
    else
        return false;
    return true;
}
