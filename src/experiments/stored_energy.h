/* stored_energy.h: the energy of stored launches, from their counters and the machine that
 * is kept beside them. */
#ifndef ALLOT_EXPERIMENTS_STORED_ENERGY_H
#define ALLOT_EXPERIMENTS_STORED_ENERGY_H

#include "energy/energy.h"
#include "experiments/store.h"

/* The machine of a stored run; NULL: it is not kept, or has no settings of energy (an older
 * allot stored it). Free with machine_free. */
struct machine *stored_machine(struct store *s, const json_t *run);
/* Of one stored launch. False: m is NULL, or an older allot did not count all that is
 * needed. */
bool stored_energy(const json_t *launch, const struct machine *m, struct energy *e);

#endif
