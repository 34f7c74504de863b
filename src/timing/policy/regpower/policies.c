/* policies.c: the register power policies there are (registry.def), and what the look-up
 * table of one that corrects costs. */
#include "timing/policy/regpower/regpower.h"

#include <string.h>

#define POLICY(p) extern const struct regpower_policy p;
#include "timing/policy/regpower/registry.def"
#undef POLICY

static const struct regpower_policy *const policies[] = {
#define POLICY(p) &p,
#include "timing/policy/regpower/registry.def"
#undef POLICY
};

const struct regpower_policy *
regpower_at(size_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const struct regpower_policy *
regpower_find(const char *name)
{
    for (size_t i = 0; regpower_at(i); i++)
        if (!strcmp(policies[i]->name, name))
            return policies[i];
    return NULL;
}

uint64_t
regpower_table_bits(const struct machine *m)
{
    enum { PC_BITS = 32, OPERANDS = 8 }; /* 4 sources, 4 destinations: 4.2.2, 4.3.5 */
    unsigned bits = 0;
    while ((1u << bits) < m->sm.max_registers)
        bits++;
    return (uint64_t)(m->sm.max_threads / 32) * m->regpower.table_entries *
           (PC_BITS + bits * OPERANDS);
}
