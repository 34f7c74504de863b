/* tech.h: leakage of SRAM and what it costs to switch it off and on again.
 *
 * The mathematics of CACTI-P (Li et al., ICCAD 2011) for cells whose supply passes a sleep
 * transistor, one a column of a subarray. Subthreshold leakage only. The leakage current
 * of a cell does not fall with its voltage there, so that power falls linearly:
 *
 *   P(V, Vbl) = Ioff(T) * (V * (wn + wp) + Vbl * wa * ports)
 *   ON:    V = Vbl = Vdd     SLEEP: V = 0.6 Vdd, Vbl = 0.7 Vdd     OFF: 0
 *
 * wn, wp, wa: widths of a cell's transistors, 2.08, 1.23 and 1.31 times the feature size. */
#ifndef ALLOT_ENERGY_TECH_H
#define ALLOT_ENERGY_TECH_H

#include <stdbool.h>

enum sram_state { SRAM_ON, SRAM_SLEEP, SRAM_OFF };

/* Ports of a cell. */
struct sram_ports {
    unsigned read_write, read, write;
};

struct tech {
    double vdd;          /* V */
    double ioff;         /* A/um */
    double wn, wp, wa;   /* um */
    double long_channel; /* what leakage is of itself with long channels */
    double wake_ion, wake_width, wake_np, wake_cell, wake_column; /* as in nodes.def */
    double bitline, bitline_row;                                  /* ns */
};

/* nm: 45, 40, 32 or 22; kelvin: 300 to 400, linear between the multiples of ten. False:
 * out of range, *t is unchanged. */
bool tech_at(unsigned nm, double kelvin, struct tech *t);

/* Share of leakage that is left if a part `p` of all transistors has long channels: 0.8 in
 * an SM, 1 in a last-level cache. */
double tech_long(const struct tech *t, double p);

/* Leakage of a cell in W. */
double tech_cell(const struct tech *t, struct sram_ports ports, enum sram_state state);
/* Cells of so many bytes, with the bit of ECC for each eight that CACTI adds. */
double tech_cells(double bytes);
/* Leakage of an inverter of the cell's widths per um of feature size in W: what logic is
 * scaled by. */
double tech_inverter(const struct tech *t);

/* From `from` to ON in an array with subarrays of so many rows, bitlines not multiplexed:
 * ns, and J a column (both ways). The longer of cells and bitlines. ON: 0. */
double tech_wake_ns(const struct tech *t, enum sram_state from, unsigned rows);
double tech_wake_joules(const struct tech *t, enum sram_state from, unsigned rows);

#endif
