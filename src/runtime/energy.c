/* energy.c: joules of a launch, by the counters that it left. */
#include <stdio.h>

#include "allot/allot.h"
#include "runtime/result.h"

bool
rt_energy(const struct allot_result *r, const struct allot_machine *m, struct energy *e,
          struct diag_sink *diag)
{
    energy_of(&r->stats, m->m, e);
    return energy_check(e, diag);
}

bool
allot_result_energy(const struct allot_result *r, const struct allot_machine *m, size_t i,
                    struct allot_energy_value *v)
{
    struct energy e = {0};
    if (r)
        energy_of(&r->stats, m->m, &e);
    struct energy_value ev = {0};
    if (!energy_value_at(i, &e, &ev))
        return false;
    snprintf(v->name, sizeof v->name, "%s", ev.name);
    v->unit = ev.unit;
    v->meaning = ev.meaning;
    v->value = r ? ev.value : 0;
    return true;
}

bool
allot_energy_calibrated(const struct allot_machine *m)
{
    return energy_calibrated(m->m);
}
