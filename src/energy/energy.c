/* energy.c: see energy.h. Every row of events.def becomes an element of an array; what a
 * row counts is an expression over counters, as in stats.def. */
#include "energy/energy.h"

#include "energy/tech.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_GPUWATTCH = 1, MODEL_ACCELWATTCH = 2, MODEL_PHYSICAL = 4 };
enum {
    MODEL_FITTED = MODEL_GPUWATTCH | MODEL_ACCELWATTCH,
    MODEL_ALL = MODEL_FITTED | MODEL_PHYSICAL
};

static const struct {
    const char *name, *text;
    enum energy_component component;
} parts[ENERGY_PARTS] = {
#define PART(id, component, name, text) {name, text, ENERGY_##component},
#include "energy/events.def"
};

static const char *const components[ENERGY_COMPONENTS] = {"sm", "icnt", "l2", "dram"};

static const struct {
    const char *name, *unit;
    uint8_t models, part, component;
} rows[ENERGY_ROWS] = {
#define EVENT(model, setting, component, part, count)                                    \
    {"event." #setting, "nJ", MODEL_##model, ENERGY_PART_##part, ENERGY_##component},
#define POWER(model, setting, component, part, seconds)                                  \
    {"power." #setting, "W", MODEL_##model, ENERGY_PART_##part, ENERGY_##component},
#define LEAK(name, component, part, seconds, watts)                                      \
    {#name, "W", MODEL_PHYSICAL, ENERGY_PART_##part, ENERGY_##component},
#define WAKE(name, component, part, count, nanojoules)                                   \
    {#name, "nJ", MODEL_PHYSICAL, ENERGY_PART_##part, ENERGY_##component},
#include "energy/events.def"
};

static unsigned
model_of(const struct machine *m)
{
    switch (m->energy.model) {
    case ENERGY_MODEL_GPUWATTCH:
        return MODEL_GPUWATTCH;
    case ENERGY_MODEL_ACCELWATTCH:
        return MODEL_ACCELWATTCH;
    case ENERGY_MODEL_PHYSICAL:
        break;
    }
    return MODEL_PHYSICAL;
}

static struct tech
tech_of(const struct machine *m)
{
    static const unsigned nm[] = {
        [NODE_45NM] = 45, [NODE_40NM] = 40, [NODE_32NM] = 32, [NODE_22NM] = 22};
    struct tech t = {0};
    tech_at(nm[m->energy.node], m->energy.temperature, &t);
    return t;
}

/* -- coefficients -- */

/* Leakage of the cells of an array in W. `share`: of itself, by long channels. */
static double
array(const struct tech *t, double bytes, unsigned read_write, unsigned read,
      unsigned write, double share)
{
    struct sram_ports p = {read_write, read, write};
    return share * tech_cells(bytes) * tech_cell(t, p, SRAM_ON);
}

/* nJ to wake the register of a warp: 32 lanes of 32 bits and ECC are 1152 cells, in subarrays
 * of 16 rows 72 columns. */
static double
register_wake(const struct tech *t, enum sram_state from)
{
    return 1e9 * 72 * tech_wake_joules(t, from, 16);
}

/* Leakage of a register file in parts of that with all registers ON, by the states of its
 * registers; 1: they are not known. */
static double
register_leakage(const struct machine *m, double all, double on, double asleep)
{
    struct tech t = tech_of(m);
    struct sram_ports p = {0, 1, 1};
    double sleep = tech_cell(&t, p, SRAM_SLEEP) / tech_cell(&t, p, SRAM_ON);
    return all > 0 ? (on + sleep * asleep) / all : 1;
}

/* Coefficients of all rows, in their units. */
static void
coefficients(const struct machine *m, double out[ENERGY_ROWS])
{
    struct tech t = tech_of(m);
    /* transistors with long channels: 80 % in an SM, all in a last-level cache */
    double core = m->energy.long_channel ? tech_long(&t, 0.8) : 1;
    double llc = m->energy.long_channel ? tech_long(&t, 1) : 1;
#define BYTES(cache) ((double)m->cache.sets * m->cache.ways * m->cache.line)
#define EVENT(model, setting, component, part, count)                                    \
    out[ENERGY_ROW_##setting] = m->event.setting;
#define POWER(model, setting, component, part, seconds)                                  \
    out[ENERGY_ROW_##setting] = m->power.setting;
#define LEAK(name, component, part, seconds, watts) out[ENERGY_ROW_##name] = (watts);
#define WAKE(name, component, part, count, nanojoules)                                   \
    out[ENERGY_ROW_##name] = (nanojoules);
#include "energy/events.def"
#undef BYTES
}

/* Leakage of logic in parts of that at 40 nm, 380 K with long channels. */
static double
logic_factor(const struct machine *m)
{
    struct tech t = tech_of(m), ref;
    tech_at(40, 380, &ref);
    return tech_inverter(&t) * (m->energy.long_channel ? tech_long(&t, 0.8) : 1) /
           (tech_inverter(&ref) * tech_long(&ref, 0.8));
}

bool
energy_calibrated(const struct machine *m)
{
    size_t n = strlen(m->energy.calibrated_on);
    return n && !strncmp(m->gpu.name, m->energy.calibrated_on, n);
}

/* -- counts -- */

enum mix { MIX_LIGHT, MIX_INT, MIX_FP, MIX_SFU, MIX_DP };

/* The most demanding unit that the launch used. */
static enum mix
mix_of(const struct stat_sm *s)
{
    if (s->ops_f64 + s->ops_f64_mul + s->ops_f64_div)
        return MIX_DP;
    if (s->ops_root + s->ops_sin + s->ops_log + s->ops_exp + s->ops_f32_div)
        return MIX_SFU;
    if (s->ops_f32 + s->ops_f32_mul + s->ops_tensor)
        return MIX_FP;
    return s->ops_int + s->ops_int_mul + s->ops_int_div ? MIX_INT : MIX_LIGHT;
}

static void
counts(const struct launch_stats *s, const struct machine *m, double out[ENERGY_ROWS])
{
#define STAT(owner, id, kind, unit, meaning)                                             \
    const double id __attribute__((unused)) = (double)s->owner.id;
#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)
#include "stats/stats.def"
#undef STAT
#undef DERIVED
#undef IDENTITY
    double cycle = 1e-6 / m->clock.core, seconds = cycles * cycle;
    enum mix mix = mix_of(&s->sm);
    double occupied = sm_cycles > 0 ? seconds * occupied_cycles / sm_cycles : 0;
    double lanes = warp_instructions > 0 ? thread_instructions / warp_instructions : 1;
    double logic = logic_factor(m);
    double awake =
        register_leakage(m, register_cycles, regpower_on_cycles, regpower_sleep_cycles);
    bool held = m->energy.routing_of == ROUTING_OF_WARPS && register_cycles > 0;
    double wired = held ? regpower_held_cycles / register_cycles : 1;
    /* GPUWattch's duty cycle: instructions written back by width, at most 0.8 */
    double duty_cycles = fmin(warp_instructions / m->unit.writeback, 0.8 * sm_cycles);
#define EVENT(model, setting, component, part, count) out[ENERGY_ROW_##setting] = (count);
#define POWER(model, setting, component, part, on) out[ENERGY_ROW_##setting] = (on);
#define LEAK(name, component, part, seconds, watts) out[ENERGY_ROW_##name] = (seconds);
#define WAKE(name, component, part, count, nanojoules) out[ENERGY_ROW_##name] = (count);
#include "energy/events.def"
}

void
energy_of(const struct launch_stats *s, const struct machine *m, struct energy *e)
{
    double coefficient[ENERGY_ROWS];
    *e = (struct energy){
        .seconds = (double)s->gpu.cycles * 1e-6 / m->clock.core,
        .warp_instructions = (double)s->sm.warp_instructions,
        .thread_instructions = (double)s->sm.thread_instructions,
    };
    coefficients(m, coefficient);
    counts(s, m, e->count);
    for (size_t i = 0; i < ENERGY_ROWS; i++) {
        if (!(rows[i].models & model_of(m)))
            e->count[i] = 0;
        double unit = rows[i].unit[0] == 'n' ? 1e-9 : 1;
        e->joules[i] = e->count[i] * coefficient[i] * unit;
        e->part[rows[i].part] += e->joules[i];
        e->component[rows[i].component] += e->joules[i];
        e->total += e->joules[i];
    }
}

void
energy_add(struct energy *sum, const struct energy *e)
{
    _Static_assert(sizeof *sum % sizeof(double) == 0, "doubles, nothing else");
    double *to = (double *)sum;
    const double *from = (const double *)e;
    for (size_t i = 0; i < sizeof *sum / sizeof(double); i++)
        to[i] += from[i];
}

/* -- identities -- */

static bool
adds_up(const char *what, const double *v, size_t n, double total, struct diag_sink *diag)
{
    double sum = 0;
    bool ok = isfinite(total);
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        ok &= v[i] >= 0;
    }
    ok &= fabs(sum - total) <= 1e-9 * total;
    if (!ok)
        diag_error(diag, "energies do not add up: %s make %.12g J of %.12g J", what, sum,
                   total);
    return ok;
}

bool
energy_check(const struct energy *e, struct diag_sink *diag)
{
    bool ok = adds_up("events", e->joules, ENERGY_ROWS, e->total, diag);
    ok &= adds_up("parts", e->part, ENERGY_PARTS, e->total, diag);
    ok &= adds_up("components", e->component, ENERGY_COMPONENTS, e->total, diag);
    return ok;
}

/* -- names -- */

struct energy_row_info
energy_row(const struct machine *m, enum energy_row i)
{
    double c[ENERGY_ROWS];
    coefficients(m, c);
    return (struct energy_row_info){rows[i].name, rows[i].unit, rows[i].part, c[i]};
}

const char *
energy_part_name(enum energy_part p)
{
    return parts[p].name;
}

const char *
energy_part_text(enum energy_part p)
{
    return parts[p].text;
}

enum energy_component
energy_part_component(enum energy_part p)
{
    return parts[p].component;
}

const char *
energy_component_name(enum energy_component c)
{
    return components[c];
}

static double
ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Value i: sums, then components, then those parts that are no whole component.
 * NULL: past the last. */
static const char *
value_at(size_t i, const struct energy *e, double *value, const char **unit,
         const char **meaning, char name[48])
{
    const struct energy none = {0};
    e = e ? e : &none;
    double registers = e->joules[ENERGY_ROW_leak_registers] +
                       e->joules[ENERGY_ROW_wake_sleep] + e->joules[ENERGY_ROW_wake_off];
    const struct {
        const char *name, *unit, *meaning;
        double value;
    } first[] = {
        {"energy", "J", "Energy of the launches", e->total},
        {"power", "W", "Average power", ratio(e->total, e->seconds)},
        {"energy_per_instruction", "nJ", "Energy of a warp instruction",
         1e9 * ratio(e->total, e->warp_instructions)},
        {"energy_delay", "J s", "Energy-delay product", e->total * e->seconds},
        {"register_leakage", "J",
         "Leakage of registers and their wake-ups, model physical", registers},
        {"register_leakage_power", "W", "The same, average",
         ratio(registers, e->seconds)},
        {"register_leakage_routed", "J", "Leakage with that of the register file's wires",
         registers + e->joules[ENERGY_ROW_leak_routing]},
    };
    size_t n = sizeof first / sizeof *first;
    if (i < n) {
        *value = first[i].value;
        *unit = first[i].unit;
        *meaning = first[i].meaning;
        return first[i].name;
    }
    i -= n;
    *unit = "J";
    if (i < ENERGY_COMPONENTS) {
        *value = e->component[i];
        *meaning = "Energy of a component";
        snprintf(name, 48, "energy_%s", components[i]);
        return name;
    }
    i -= ENERGY_COMPONENTS;
    for (size_t p = 0; p < ENERGY_PARTS; p++)
        if (parts[p].component == ENERGY_SM && i-- == 0) {
            *value = e->part[p];
            *meaning = "Energy of a part of the SMs";
            snprintf(name, 48, "energy_%s", parts[p].name);
            return name;
        }
    return NULL;
}

bool
energy_value_at(size_t i, const struct energy *e, struct energy_value *v)
{
    const char *name = value_at(i, e, &v->value, &v->unit, &v->meaning, v->name);
    if (name && name != v->name)
        snprintf(v->name, sizeof v->name, "%s", name);
    return name != NULL;
}

bool
energy_value(const struct energy *e, const char *name, double *value)
{
    struct energy_value v;
    for (size_t i = 0; energy_value_at(i, e, &v); i++)
        if (!strcmp(v.name, name)) {
            if (value)
                *value = v.value;
            return true;
        }
    return false;
}
