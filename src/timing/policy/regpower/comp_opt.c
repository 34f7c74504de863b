/* comp_opt.c: the states that the compiler wrote (pass power-states); SLEEP for registers
 * that have none (001 section 4.2.2). GREENER without its run-time correction. */
#include "timing/policy/regpower/regpower.h"

static enum ptx_power
after(enum ptx_power note)
{
    return note == PTX_POWER_NONE ? PTX_POWER_SLEEP : note;
}

const struct regpower_policy regpower_comp_opt = {
    .name = "comp-opt",
    .meaning = "the compiler's states, unallocated registers OFF",
    .after = after,
    .states = true,
};
