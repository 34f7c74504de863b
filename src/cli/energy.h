/* energy.h: the energy of simulated launches, as text, JSON and CSV. */
#ifndef ALLOT_CLI_ENERGY_H
#define ALLOT_CLI_ENERGY_H

#include "allot/allot.h"
#include "base/json.h"
#include "base/str.h"
#include "energy/energy.h"

/* Of one launch. False, after saying so: the energies do not add up. */
bool cli_energy(const struct allot_result *r, const struct allot_machine *m,
                struct energy *e);
/* "model gpuwattch, fitted to NVIDIA GeForce GTX 480", or that there is no calibration. */
void cli_energy_source(const struct allot_machine *m, struct strbuf *out);
/* A table by part, the sums, and a table by kernel where there are several launches. */
bool cli_energy_print(const struct allot_device *dev, const struct allot_machine *m);
/* Model, values and events; the caller owns the reference. */
json_t *cli_energy_json(const struct energy *e, const struct allot_machine *m);
/* ",energy,power,..." and ",0.1,2.3,..." */
void cli_energy_csv_header(struct strbuf *out);
void cli_energy_csv(const struct energy *e, struct strbuf *out);

#endif
