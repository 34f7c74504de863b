/* baseline.c: blocks share nothing; as many reside as the resources hold. */
#include "timing/policy/policy.h"

static bool
plan(const struct machine *m, const struct occ_kernel *k, struct residency_plan *p,
     struct diag_sink *diag)
{
    struct allot_occupancy o;
    if (!occ_compute(m, k, OCC_SHARE_NONE, 1, &o, diag))
        return false;
    *p = (struct residency_plan){.blocks = o.resident_blocks,
                                 .baseline = o.resident_blocks};
    return true;
}

const struct residency_policy residency_baseline = {
    .name = "baseline",
    .meaning = "no sharing",
    .plan = plan,
};
