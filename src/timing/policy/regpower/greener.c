/* greener.c: the compiler's states, but a register stays ON if an instruction that is already
 * decoded uses it (001 sections 4.2.2 and 4.2.3). */
#include "timing/policy/regpower/regpower.h"

static enum ptx_power
after(enum ptx_power note)
{
    return note == PTX_POWER_NONE ? PTX_POWER_SLEEP : note;
}

const struct regpower_policy regpower_greener = {
    .name = "greener",
    .meaning = "the compiler's states, corrected by decoded instructions",
    .after = after,
    .states = true,
    .corrects = true,
};
