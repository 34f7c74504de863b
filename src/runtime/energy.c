/* energy.c: joules of a launch, by the counters that it left. */
#include "runtime/result.h"

bool
rt_energy(const struct allot_result *r, const struct allot_machine *m, struct energy *e,
          struct diag_sink *diag)
{
    energy_of(&r->stats, m->m, e);
    return energy_check(e, diag);
}
