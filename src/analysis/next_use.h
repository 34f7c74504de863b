/* next_use.h: how far the next access to a register is, and from it the power state that
 * the register file may keep it in (001 section 4.2.1).
 *
 * Registers are counted in units: after register allocation the 32-bit registers and
 * predicates of the register file, so that %D4 is two units that %R4 and %R5 share; before
 * it one unit a virtual register of any width. */
#ifndef ALLOT_ANALYSIS_NEXT_USE_H
#define ALLOT_ANALYSIS_NEXT_USE_H

#include "analysis/live.h"

enum {
    NEXT_USE_FAR = 255,   /* a distance beyond the window: the thesis' infinity */
    NEXT_USE_WINDOW = 254 /* the largest window */
};

/* Registers of a function as units. */
struct reg_units {
    uint32_t n;
    uint32_t *first; /* of register r: units first[r] .. first[r] + count[r]) */
    uint8_t *count;
    uint32_t *start, *reg; /* registers of unit u: reg[start[u] .. start[u + 1]) */
};

struct next_use;

/* Where instruction `inst` has been executed: OUT(inst) of the thesis. */
struct next_use_point {
    const struct next_use *x;
    uint32_t inst, block;
    const struct live_set *live; /* registers (not units) */
};

/* How to treat lanes of a warp that wait while others run (see next_use.c). */
enum next_use_lanes {
    LANES_SAFE,   /* a register that a waiting lane may still read is live */
    LANES_LITERAL /* 001 as written: liveness along the path of the lanes that run */
};

/* l must outlive it; window in [1, NEXT_USE_WINDOW]. operand_loads: loads may be operands of
 * the instruction that reads their value (analysis/fused.h). Then they are no instructions,
 * no register holds the value, and the reader reads the address. Free with
 * next_use_free. */
struct next_use *next_use_new(const struct live *l, unsigned window,
                              enum next_use_lanes lanes, bool operand_loads);
void next_use_free(struct next_use *x);
const struct reg_units *next_use_units(const struct next_use *x);

/* fn for each instruction (not pseudo ones, nor loads that are operands) of the reachable
 * blocks, backward within a block. */
void next_use_each(struct next_use *x,
                   void (*fn)(void *user, const struct next_use_point *p), void *user);

/* Dist(OUT, unit): 1 is the next instruction; NEXT_USE_FAR beyond the window. */
unsigned next_use_dist(const struct next_use_point *p, uint32_t unit);
/* Table 4.1 for a unit, and for a register: of its units the most awake. */
enum ptx_power next_use_unit_power(const struct next_use_point *p, uint32_t unit);
enum ptx_power next_use_power(const struct next_use_point *p, uint32_t reg);

/* May lanes of a warp take different ways at the end of the block? */
bool next_use_diverges(const struct next_use *x, uint32_t block);

#endif
