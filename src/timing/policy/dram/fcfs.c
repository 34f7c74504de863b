/* fcfs.c: first come, first served: requests leave the queue in the order of arrival,
 * whatever row is open. Banks work on those that left side by side. Cost: one look at
 * each bank. */
#include "timing/policy/dram/dram_policy.h"

static uint16_t
pick(const struct dram_view *v, unsigned bank, bool open, uint64_t row)
{
    (void)open, (void)row;
    uint64_t mine = v->entry[v->first[bank]].order;
    for (unsigned b = 0; b < v->banks; b++)
        if (v->first[b] != DRAM_NONE && v->entry[v->first[b]].order < mine)
            return DRAM_NONE;
    return v->first[bank];
}

const struct dram_policy dram_policy_fcfs = {"fcfs", "Requests in the order of arrival",
                                             pick};
