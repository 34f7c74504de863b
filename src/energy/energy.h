/* energy.h: the energy of a launch from its counters and its machine. Nothing here runs
 * while a kernel is simulated: a stored launch has the same energy as a fresh one. */
#ifndef ALLOT_ENERGY_ENERGY_H
#define ALLOT_ENERGY_ENERGY_H

#include "base/diag.h"
#include "machine/machine.h"
#include "stats/stats.h"

enum energy_component {
    ENERGY_SM,
    ENERGY_ICNT,
    ENERGY_L2,
    ENERGY_DRAM,
    ENERGY_COMPONENTS
};

enum energy_part {
#define PART(id, component, name, text) ENERGY_PART_##id,
#include "energy/events.def"
    ENERGY_PARTS
};

enum energy_row {
#define EVENT(model, setting, component, part, count) ENERGY_ROW_##setting,
#define POWER(model, setting, component, part, seconds) ENERGY_ROW_##setting,
#define LEAK(name, component, part, seconds, watts) ENERGY_ROW_##name,
#define WAKE(name, component, part, count, nanojoules) ENERGY_ROW_##name,
#include "energy/events.def"
    ENERGY_ROWS
};

/* Sums over launches (of one machine): energy_add. */
struct energy {
    double seconds; /* simulated, by core cycles */
    double warp_instructions, thread_instructions;
    double count[ENERGY_ROWS];  /* events; seconds for powers */
    double joules[ENERGY_ROWS]; /* count times coefficient; 0: of another model */
    double part[ENERGY_PARTS], component[ENERGY_COMPONENTS];
    double total;
};

void energy_of(const struct launch_stats *s, const struct machine *m, struct energy *e);
void energy_add(struct energy *sum, const struct energy *e);
/* Rows, parts and components each add up to the total (to 1 in 10^9), and no row is
 * negative. */
bool energy_check(const struct energy *e, struct diag_sink *diag);
/* The machine is the one that its coefficients were fitted to. */
bool energy_calibrated(const struct machine *m);

/* What a row is, and its coefficient in `unit` ("nJ", "W"). */
struct energy_row_info {
    const char *name, *unit;
    enum energy_part part;
    double coefficient;
};
struct energy_row_info energy_row(const struct machine *m, enum energy_row i);
const char *energy_part_name(enum energy_part p); /* as in values: "register_file" */
const char *energy_part_text(enum energy_part p); /* for people */
enum energy_component energy_part_component(enum energy_part p);
const char *energy_component_name(enum energy_component c);

/* Values by name: i from 0 while true is returned; e NULL: names only. "energy" (J),
 * "power" (W), "energy_per_instruction" (nJ a warp instruction), "energy_delay" (J s),
 * "register_leakage" (J; _power: W; _routed: with the wires'),
 * "energy_sm" and the like of each component and of each part of the SMs (J). */
struct energy_value {
    char name[48];
    const char *unit, *meaning;
    double value;
};
bool energy_value_at(size_t i, const struct energy *e, struct energy_value *v);
/* False: no such value. Either pointer may be NULL. */
bool energy_value(const struct energy *e, const char *name, double *value);

#endif
