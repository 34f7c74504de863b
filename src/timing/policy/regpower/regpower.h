/* regpower.h: which registers of an SM are ON, SLEEP or OFF (001 chapter 4). A policy is a
 * constant struct, a file and a row in registry.def; what all have in common is regpower.c,
 * a mechanism of the SM (timing/policy/mechanism.h). */
#ifndef ALLOT_TIMING_REGPOWER_H
#define ALLOT_TIMING_REGPOWER_H

#include "timing/policy/policy.h"

struct regpower_policy {
    const char *name, *meaning; /* the value of regpower.policy */
    /* The state that a register gets once an instruction has read or written it; note: the
     * one that the compiler wrote, PTX_POWER_NONE: none. NULL: all are always ON. */
    enum ptx_power (*after)(enum ptx_power note);
    /* Optional: what it does in an SM itself, in place of regpower.c; `after` is not asked. */
    const struct mechanism *mechanism;
    bool states;   /* the code needs power states (pass power-states) */
    bool corrects; /* a register that a decoded instruction uses stays ON (4.2.3) */
};
const struct regpower_policy *regpower_find(const char *name); /* NULL: unknown */
const struct regpower_policy *regpower_at(size_t i);           /* NULL: past the last */

/* Registers of an SM's file: of a warp, 32 lanes wide. */
static inline uint64_t
regpower_file(const struct machine *m)
{
    return m->sm.registers / 32;
}

/* Bits of the look-up table of an SM: 001 section 4.2.4, item 6. */
uint64_t regpower_table_bits(const struct machine *m);

/* The mechanism of the machine's policy for the resident blocks `r` of kernel f, of `warps`
 * warps of threads with `registers` registers, before the machine rounds them; use->mechanism
 * is NULL where all registers are always ON. False and a diagnostic if the policy cannot work with the kernel. */
bool regpower_plan(const struct machine *m, const struct ptx_func *f,
                   const struct residency_plan *r, unsigned warps, unsigned registers,
                   struct mechanism_use *use, struct diag_sink *diag);

/* What counts the accesses to the registers of one warp (regpower.watch). */
struct mechanism_use regpower_watch(unsigned registers);

#endif
