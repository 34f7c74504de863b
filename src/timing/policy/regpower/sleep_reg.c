/* sleep_reg.c: a register sleeps as soon as it has been read or written; unallocated ones are
 * OFF. As 001 section 4.3 describes Warped Register File, which it compares with. */
#include "timing/policy/regpower/regpower.h"

static enum ptx_power
after(enum ptx_power note)
{
    (void)note;
    return PTX_POWER_SLEEP;
}

const struct regpower_policy regpower_sleep_reg = {
    .name = "sleep-reg",
    .meaning = "a register sleeps after each access, unallocated ones are OFF",
    .after = after,
};
