/* fr_fcfs.c: first ready, first come first served (Rixner, Dally, Kapasi, Mattson, Owens,
 * "Memory access scheduling", ISCA 2000): of a bank's requests the oldest that hits the
 * open row, else the oldest. A request older than dram.age_limit goes before row hits, so
 * that a stream of hits starves nobody. Cost: the bank's list up to the first hit. */
#include "timing/policy/dram/dram_policy.h"

static uint16_t
pick(const struct dram_view *v, unsigned bank, bool open, uint64_t row)
{
    uint16_t oldest = v->first[bank];
    if (!open || v->now - v->entry[oldest].arrived > v->age_limit)
        return oldest;
    for (uint16_t i = oldest; i != DRAM_NONE; i = v->entry[i].next)
        if (v->entry[i].row == row)
            return i;
    return oldest;
}

const struct dram_policy dram_policy_fr_fcfs = {
    "fr-fcfs", "Oldest request to the open row of a bank first, else the oldest", pick};
