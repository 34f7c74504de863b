/* unallocated_off.c: registers of no warp are OFF, those of warps always ON: what switching
 * off alone saves, and what the leakage of warps' registers is measured against. */
#include "timing/policy/regpower/regpower.h"

static enum ptx_power
after(enum ptx_power note)
{
    (void)note;
    return PTX_POWER_ON;
}

const struct regpower_policy regpower_unallocated_off = {
    .name = "unallocated-off",
    .meaning = "registers of no warp are OFF, those of warps always ON",
    .after = after,
};
