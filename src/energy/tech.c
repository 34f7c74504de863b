/* tech.c: see tech.h. */
#include "energy/tech.h"

#include <stddef.h>

static const struct node {
    unsigned nm;
    double vdd, reduction, wake[7], ioff[11];
} nodes[] = {
#define NODE(nm, vdd, r, ion, width, np, cell, column, bl, row, ...)                     \
    {nm, vdd, r, {ion, width, np, cell, column, bl, row}, {__VA_ARGS__}},
#include "energy/nodes.def"
#undef NODE
};

/* Voltages in parts of Vdd: of sleeping cells, of bitlines that float. */
static const double sleep_cell = 0.6, sleep_bitline = 0.7;

static const struct node *
find(unsigned nm)
{
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (nodes[i].nm == nm)
            return &nodes[i];
    return NULL;
}

static double
ioff_at(const struct node *n, double kelvin)
{
    size_t i = (size_t)((kelvin - 300) / 10);
    double part = (kelvin - 300) / 10 - (double)i;
    return i >= 10 ? n->ioff[10] : n->ioff[i] + part * (n->ioff[i + 1] - n->ioff[i]);
}

bool
tech_at(unsigned nm, double kelvin, struct tech *t)
{
    bool mixed = nm == 40;
    const struct node *a = find(mixed ? 45 : nm), *b = find(mixed ? 32 : nm);
    if (!a || !b || !(kelvin >= 300 && kelvin <= 400))
        return false;
    double x = mixed ? 8.0 / 13 : 1, f = nm * 1e-3;
#define MIX(field) (x * a->field + (1 - x) * b->field)
    *t = (struct tech){.vdd = MIX(vdd),
                       .ioff = x * ioff_at(a, kelvin) + (1 - x) * ioff_at(b, kelvin),
                       .wn = 2.08 * f,
                       .wp = 1.23 * f,
                       .wa = 1.31 * f,
                       .long_channel = MIX(reduction),
                       .wake_ion = MIX(wake[0]),
                       .wake_width = MIX(wake[1]),
                       .wake_np = MIX(wake[2]),
                       .wake_cell = MIX(wake[3]),
                       .wake_column = MIX(wake[4]),
                       .bitline = MIX(wake[5]),
                       .bitline_row = MIX(wake[6])};
#undef MIX
    return true;
}

double
tech_long(const struct tech *t, double p)
{
    return 1 - p + p * t->long_channel;
}

double
tech_cell(const struct tech *t, struct sram_ports ports, enum sram_state state)
{
    if (state == SRAM_OFF)
        return 0;
    /* An access transistor is off half of the time; two of them in series, a read port,
     * leak 0.8225 of one, the mean over their four states as CACTI takes it. */
    double access =
        t->wa * (0.5 * (ports.read_write + ports.write) + 0.8225 * ports.read);
    double cell = state == SRAM_SLEEP ? sleep_cell : 1;
    double bitline = state == SRAM_SLEEP ? sleep_bitline : 1;
    return t->ioff * t->vdd * (cell * (t->wn + t->wp) + bitline * access);
}

double
tech_cells(double bytes)
{
    return bytes * 8 * 9 / 8;
}

double
tech_inverter(const struct tech *t)
{
    return t->ioff * t->vdd * (t->wn + t->wp) / 2;
}

/* Volts that a cell, or a bitline, has to rise. */
static double
rise(const struct tech *t, enum sram_state from, double asleep)
{
    return from == SRAM_ON ? 0 : t->vdd * (from == SRAM_SLEEP ? 1 - asleep : 1);
}

static double
column_farads(const struct tech *t, unsigned rows)
{
    return rows * t->wake_cell + t->wake_column;
}

double
tech_wake_ns(const struct tech *t, enum sram_state from, unsigned rows)
{
    double amps = t->wake_ion * t->wake_width / t->wake_np / 2;
    double cells = 1e9 * column_farads(t, rows) * rise(t, from, sleep_cell) / amps;
    /* nodes.def has the bitline's time from SLEEP */
    double bitline = (t->bitline + t->bitline_row * rows) * rise(t, from, sleep_bitline) /
                     rise(t, SRAM_SLEEP, sleep_bitline);
    return cells > bitline ? cells : bitline;
}

double
tech_wake_joules(const struct tech *t, enum sram_state from, unsigned rows)
{
    return column_farads(t, rows) * t->vdd * rise(t, from, sleep_cell);
}
