/* power_states.c: writes the power states of GREENER (001 section 4.2) after the operands:
 * what the register file does with a register once an instruction has read or written it.
 * The states are those of analysis/next_use.h; the first destination and two sources have
 * one (Figure 4.3), any further register sleeps. Runs last: a later change of the code
 * takes the states out again. */
#include "passes/pass.h"

#include "analysis/loops.h"
#include "analysis/next_use.h"

#include <string.h>

/* Up to that many registers are looked at after every instruction: allocated code. */
enum { UNITS_REPORTED = 4096 };

/* Trips of a loop whose number is not a constant, as in 000 section 5.2. */
enum { UNKNOWN_TRIPS = 1024 };

/* Register-points (a register after an instruction) in each state. An instruction counts as
 * often as it runs when all loops around it run; branches are not distinguished. */
struct counts {
    uint64_t state[4];
};

struct job {
    struct ptx_func *f;
    uint64_t written[4]; /* encoded states */
    struct counts *of;   /* of each unit, if reported; NULL */
    uint64_t *weight;    /* of each block, if reported */
    uint64_t points;
    uint32_t units;
};

static void
write_states(void *user, const struct next_use_point *p)
{
    struct job *j = user;
    struct ptx_inst *in = &j->f->body.v[p->inst];
    int32_t reg[PTX_POWER_REGS];
    unsigned n = ptx_power_regs(in, reg);
    in->power = 0;
    for (unsigned i = 0; i < n; i++) {
        enum ptx_power s = next_use_power(p, (uint32_t)reg[i]);
        in->power |= (uint8_t)(s << 2 * i);
        j->written[s]++;
    }
    uint64_t w = j->weight ? j->weight[p->block] : 1;
    j->points += w;
    for (uint32_t u = 0; j->of && u < j->units; u++)
        j->of[u].state[next_use_unit_power(p, u)] += w;
}

static double
percent(uint64_t n, uint64_t of)
{
    return of ? 100.0 * (double)n / (double)of : 0;
}

/* A register of the file, from which something is ever read? Predicates lie outside. */
static bool
in_use(const struct job *j, const struct reg_units *u, uint32_t unit)
{
    if (u->start[unit] < u->start[unit + 1] &&
        j->f->regs.v[u->reg[u->start[unit]]].type == PTX_PRED)
        return false;
    return j->of[unit].state[PTX_POWER_OFF] < j->points;
}

static void
report_unit(const struct job *j, const struct reg_units *u, uint32_t unit,
            struct strbuf *b)
{
    const char *name = NULL;
    for (uint32_t i = u->start[unit]; i < u->start[unit + 1] && !name; i++)
        name = j->f->regs.v[u->reg[i]].name;
    if (!name)
        return;
    const uint64_t *s = j->of[unit].state;
    strbuf_printf(b, "  %-8s on %5.1f %%, sleep %5.1f %%, off %5.1f %%\n", name,
                  percent(s[PTX_POWER_ON], j->points),
                  percent(s[PTX_POWER_SLEEP], j->points),
                  percent(s[PTX_POWER_OFF], j->points));
}

static void
write_report(const struct job *j, const struct reg_units *u, uint64_t off_lost,
             struct strbuf *b)
{
    enum { MOST = 64 }; /* registers listed */
    strbuf_printf(b,
                  "%s: states written: %llu on, %llu sleep, %llu off; %llu more would be "
                  "off if no lanes waited\n",
                  j->f->name, (unsigned long long)j->written[PTX_POWER_ON],
                  (unsigned long long)j->written[PTX_POWER_SLEEP],
                  (unsigned long long)j->written[PTX_POWER_OFF],
                  (unsigned long long)off_lost);
    if (!j->of)
        return;
    uint64_t all[4] = {0};
    uint32_t used = 0, reported = 0;
    for (uint32_t k = 0; k < u->n; k++) {
        used += in_use(j, u, k);
        for (unsigned s = 0; s < 4 && in_use(j, u, k); s++)
            all[s] += j->of[k].state[s];
    }
    uint64_t total = j->points * used;
    strbuf_printf(b,
                  "%s: %u registers over the instructions that run (estimate: loops by "
                  "their trips, %d where unknown): on %.1f %%, sleep %.1f %%, off %.1f "
                  "%%\n",
                  j->f->name, used, UNKNOWN_TRIPS, percent(all[PTX_POWER_ON], total),
                  percent(all[PTX_POWER_SLEEP], total),
                  percent(all[PTX_POWER_OFF], total));
    for (uint32_t k = 0; k < u->n && reported < MOST; k++)
        if (in_use(j, u, k)) {
            report_unit(j, u, k, b);
            reported++;
        }
    if (used > reported)
        strbuf_printf(b, "  and %u more (after register-allocate there are fewer)\n",
                      used - reported);
}

static bool
run_func(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
         bool *changed, struct diag_sink *diag)
{
    double window;
    if (!pass_arg_number(a, "window", 1, NEXT_USE_WINDOW, &window, diag))
        return false;
    const char *lanes = pass_arg(a, "divergence");
    bool literal = !strcmp(lanes, "literal");
    if (!literal && strcmp(lanes, "safe") != 0)
        return diag_error(diag, "pass power-states: divergence=%s: give safe or literal",
                          lanes);
    if (window != (unsigned)window)
        return diag_error(diag, "pass power-states: window=%s: give a whole number",
                          pass_arg(a, "window"));
    bool operands = !strcmp(pass_arg(a, "operand-loads"), "yes");
    struct job j = {.f = f};
    if (a->report) { /* how many would be off by the thesis' rule */
        struct next_use *x =
            next_use_new(facts->live, (unsigned)window, LANES_LITERAL, operands);
        next_use_each(x, write_states, &j);
        next_use_free(x);
    }
    uint64_t off = j.written[PTX_POWER_OFF];
    struct next_use *x = next_use_new(facts->live, (unsigned)window,
                                      literal ? LANES_LITERAL : LANES_SAFE, operands);
    const struct reg_units *u = next_use_units(x);
    j = (struct job){.f = f, .units = u->n};
    if (a->report && u->n <= UNITS_REPORTED) {
        struct loops *l = loops_new(facts->cfg);
        j.of = xcalloc(u->n + 1, sizeof *j.of);
        j.weight = xcalloc(facts->cfg->n + 1, sizeof *j.weight);
        loops_weights(l, UNKNOWN_TRIPS, j.weight);
        loops_free(l);
    }
    next_use_each(x, write_states, &j);
    if (a->report)
        write_report(&j, u, off - j.written[PTX_POWER_OFF], a->report);
    *changed = true;
    free(j.of);
    free(j.weight);
    next_use_free(x);
    return true;
}

static const struct pass_key keys[] = {
    {"window", "3", "W: a register stays on if its next access is within W instructions"},
    {"divergence", "safe",
     "safe: off only if no waiting lane may need the value; literal: as the thesis says"},
    {"operand-loads", "no",
     "yes: loads may be operands of what reads their value (the machine's "
     "sm.operand_loads)"},
    {0}};

const struct pass pass_power_states = {
    .name = "power-states",
    .meaning = "writes ON, SLEEP, OFF after operands (001 section 4.2); runs last",
    .keys = keys,
    .run_func = run_func,
    .needs = AN_CFG | AN_LIVE,
    .keeps = AN_CFG | AN_DEFS | AN_LIVE | AN_POWER,
};
