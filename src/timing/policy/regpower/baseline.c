/* baseline.c: nothing saves power: all registers of the file are always ON. */
#include "timing/policy/regpower/regpower.h"

const struct regpower_policy regpower_baseline = {
    .name = "baseline",
    .meaning = "all registers are always ON",
};
