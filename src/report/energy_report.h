/* energy_report.h: the energy of simulated launches, as text, JSON and CSV. */
#ifndef ALLOT_REPORT_ENERGY_REPORT_H
#define ALLOT_REPORT_ENERGY_REPORT_H

#include "allot/allot.h"
#include "base/json.h"
#include "base/str.h"
#include "energy/energy.h"

#include <stdio.h>

/* "model gpuwattch, fitted to NVIDIA GeForce GTX 480", or that there is no calibration. */
void energy_report_source(const struct allot_machine *m, struct strbuf *out);
/* A table by part, the sums, and a table by kernel where there are several launches. False
 * and diagnostics: the energies of a launch do not add up. */
bool energy_report_text(FILE *f, const struct allot_device *dev,
                        const struct allot_machine *m, struct diag_sink *diag);
/* Model, values and events; the caller owns the reference. */
json_t *energy_report_json(const struct energy *e, const struct allot_machine *m);
/* ",energy,power,..." and ",0.1,2.3,..." */
void energy_report_csv_header(struct strbuf *out);
void energy_report_csv(const struct energy *e, struct strbuf *out);

#endif
