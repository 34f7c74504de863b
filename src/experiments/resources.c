/* resources.c: values that are known without a run: what the occupancy calculator says of
 * a kernel's resources, what a workload's kernel declares, access ranges, a machine's
 * settings, what power states of registers cost. */
#include "experiments/experiment.h"

#include "energy/tech.h"
#include "experiments/ranges.h"

#include <stdlib.h>
#include <string.h>

/* Of rows without a workload. */
static bool
occupancy(const struct exp_row *r, const struct allot_machine *m, const char *share,
          const char *stat, double *value)
{
    char t[64] = "1", whole[64] = "0";
    allot_machine_get(m, "residency.threshold", t, sizeof t);
    struct allot_occupancy_query q = {r->use.threads, r->use.registers, r->use.scratchpad,
                                      share, strtod(t, NULL)};
    struct allot_occupancy o;
    if (!allot_occupancy(m, &q, &o, NULL))
        return false;
    if (!strcmp(stat, "resident_blocks"))
        *value = o.resident_blocks;
    else if (!strcmp(stat, "baseline_blocks"))
        *value = o.baseline_blocks;
    else if (!strcmp(stat, "shared_pairs"))
        *value = o.shared_pairs;
    else if (!strcmp(stat, "registers_wasted_percent") &&
             allot_machine_get(m, "sm.registers", whole, sizeof whole))
        *value = 100.0 * o.registers_wasted / strtod(whole, NULL);
    else if (!strcmp(stat, "scratchpad_wasted_percent") &&
             allot_machine_get(m, "sm.scratchpad", whole, sizeof whole))
        *value = 100.0 * o.scratchpad_wasted / strtod(whole, NULL);
    else
        return false;
    return true;
}

/* Of rows that are one kernel of a workload. */
static bool
declared(const struct exp_row *r, const char *compiler, const char *stat, double *value)
{
    const struct allot_workload *w = r->own ? NULL : allot_workload_find(r->workload);
    const char *kernel = *r->kernels ? r->kernels : w && w->kernels ? w->kernels : "";
    size_t len;
    const char *text = r->own ? NULL : allot_workload_ptx(r->workload, compiler, &len);
    struct allot_module *m = r->own ? allot_module_load(r->workload, NULL)
                             : text ? allot_module_parse(r->workload, text, len, NULL)
                                    : NULL;
    const struct allot_kernel *k = !m        ? NULL
                                   : *kernel ? allot_module_find(m, kernel)
                                   : allot_module_kernel(m, 1)
                                       ? NULL
                                       : allot_module_kernel(m, 0);
    if (k)
        *value =
            !strcmp(stat, "scratchpad_bytes") ? k->scratchpad : (double)k->nvariables;
    allot_module_free(m);
    return k;
}

/* Of every machine: a product of settings. */
static const struct {
    const char *stat, *factors[6];
} products[] = {
    {"l1d_bytes", {"l1d.sets", "l1d.ways", "l1d.line"}},
    {"l2_bytes", {"l2.sets", "l2.ways", "l2.line", "partition.slices", "dram.channels"}}};

enum { NPRODUCTS = sizeof products / sizeof *products };

enum {
    WAKE_ROWS = 16,
    WAKE_COLUMNS = 72
}; /* of a register: 32 lanes of 32 bits and ECC */

/* What power states cost (001 section 4.3.5, Table 4.4): time and energy to wake a register
 * of 32 lanes; storage an SM of the look-up table, and of the scoreboard for 4 source
 * registers of each warp. */
static const char *const power_costs[] = {
    "register_wake_sleep_ps", "register_wake_off_ps", "register_wake_sleep_pj",
    "register_wake_off_pj",   "register_table_bytes", "register_scoreboard_bytes"};

enum { NPOWER_COSTS = sizeof power_costs / sizeof *power_costs };

static double
setting_of(const struct allot_machine *m, const char *path)
{
    char text[64] = "0";
    allot_machine_get(m, path, text, sizeof text);
    return strtod(text, NULL);
}

static unsigned
log2_of(double n)
{
    unsigned bits = 0;
    while (n > (double)(1ull << bits))
        bits++;
    return bits;
}

static bool
power_cost(const struct allot_machine *m, const char *stat, double *value)
{
    struct allot_sharing_cost cost;
    struct tech t;
    size_t i = 0;
    while (i < NPOWER_COSTS && strcmp(power_costs[i], stat) != 0)
        i++;
    if (i == NPOWER_COSTS || !tech_at((unsigned)setting_of(m, "energy.node"),
                                      setting_of(m, "energy.temperature"), &t))
        return false;
    enum sram_state from = i % 2 ? SRAM_OFF : SRAM_SLEEP;
    allot_sharing_cost(m, &cost);
    *value = i < 2   ? 1e3 * tech_wake_ns(&t, from, WAKE_ROWS)
             : i < 4 ? 1e12 * WAKE_COLUMNS * tech_wake_joules(&t, from, WAKE_ROWS)
             : i < 5 ? cost.power_table / 8.0
                     : 4 * setting_of(m, "sm.max_threads") / 32 *
                           log2_of(setting_of(m, "sm.max_registers")) / 8;
    return true;
}

/* One setting, or a product; those that are words have no value. */
static bool
of_machine(const struct allot_machine *m, const char *stat, double *value)
{
    const char *const one[] = {stat, NULL}, *const *factor = one;
    char text[64], *end;
    bool registers = !strcmp(stat, "register_sharing_bits");
    if (registers || !strcmp(stat, "scratchpad_sharing_bits")) {
        struct allot_sharing_cost cost;
        allot_sharing_cost(m, &cost);
        *value = registers ? cost.registers : cost.scratchpad;
        return true;
    }
    if (power_cost(m, stat, value))
        return true;
    for (size_t i = 0; i < NPRODUCTS; i++)
        if (!strcmp(products[i].stat, stat))
            factor = products[i].factors;
    for (*value = 1; *factor; factor++) {
        if (!allot_machine_get(m, *factor, text, sizeof text))
            return false;
        *value *= strtod(text, &end);
        if (end == text || *end)
            return false;
    }
    return true;
}

enum kind { NOTHING, OCCUPANCY, DECLARED, RANGE, MACHINE };

static enum kind
kind(const char *stat)
{
    static const struct {
        const char *stat;
        enum kind kind;
    } known[] = {{"resident_blocks", OCCUPANCY},
                 {"baseline_blocks", OCCUPANCY},
                 {"shared_pairs", OCCUPANCY},
                 {"registers_wasted_percent", OCCUPANCY},
                 {"scratchpad_wasted_percent", OCCUPANCY},
                 {"scratchpad_bytes", DECLARED},
                 {"scratchpad_variables", DECLARED},
                 {"register_sharing_bits", MACHINE},
                 {"scratchpad_sharing_bits", MACHINE}};
    struct allot_setting_info info;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].stat, stat))
            return known[i].kind;
    for (size_t i = 0; i < NPRODUCTS; i++)
        if (!strcmp(products[i].stat, stat))
            return MACHINE;
    for (size_t i = 0; i < NPOWER_COSTS; i++)
        if (!strcmp(power_costs[i], stat))
            return MACHINE;
    for (size_t i = 0; allot_setting(i, &info); i++)
        if (!strcmp(info.path, stat))
            return MACHINE;
    return ranges_knows(stat) ? RANGE : NOTHING;
}

bool
experiment_knows(const char *stat)
{
    return kind(stat) != NOTHING;
}

bool
experiment_asks_machine(const char *stat)
{
    return kind(stat) == MACHINE;
}

bool
experiment_value(const struct experiment *e, size_t row, size_t series, const char *stat,
                 double *value)
{
    const struct exp_row *r = &e->row[row];
    size_t cell = row * e->nseries + series;
    switch (kind(stat)) {
    case OCCUPANCY:
        return !r->workload &&
               occupancy(r, e->machine[cell], e->series[series].share, stat, value);
    case DECLARED:
        return r->workload && !r->program &&
               declared(r, e->run[e->cell[cell]].compiler, stat, value);
    case RANGE:
        return r->own && ranges_value(r->workload, r->label, stat, value);
    case MACHINE:
        return of_machine(e->machine[cell], stat, value);
    default:
        return false;
    }
}
