/* live.h: liveness of virtual registers, and from it how many are live at the same time. */
#ifndef ALLOT_ANALYSIS_LIVE_H
#define ALLOT_ANALYSIS_LIVE_H

#include "analysis/cfg.h"
#include "base/bitset.h"

/* Registers live at the start of each block, as lists: what a block does not touch costs
 * nothing, so the size is that of the live ranges and not blocks x registers. */
struct live {
    const struct cfg *cfg;
    uint32_t nregs;
    uint32_t *start; /* block b's list is reg[start[b]] .. reg[start[b + 1]), ascending */
    uint32_t *reg;
    struct arena mem;
};

/* Backward may-analysis over g's function (a guarded write does not end a life, since
 * other lanes keep the old value, unless nobody reads that: guarded.h). Free with live_free; g must outlive it. */
struct live *live_new(const struct cfg *g);
void live_free(struct live *l);

/* Is the register live at the start (the end) of the block? O(log registers). */
bool live_at_start(const struct live *l, uint32_t block, uint32_t reg);
bool live_at_end(const struct live *l, uint32_t block, uint32_t reg);

/* A set of registers that a walk over the code changes: adding, deleting and asking cost
 * O(1), clearing and visiting all of reg[0 .. n) the number of its members. */
struct live_set {
    uint32_t n, *reg;
    uint32_t *at; /* of a member: its index in reg; else anything */
};

struct live_set live_set_new(struct arena *mem, uint32_t nregs);

static inline bool
live_has(const struct live_set *s, uint32_t r)
{
    return s->at[r] < s->n && s->reg[s->at[r]] == r;
}

static inline void
live_add(struct live_set *s, uint32_t r)
{
    if (live_has(s, r))
        return;
    s->at[r] = s->n;
    s->reg[s->n++] = r;
}

static inline void
live_del(struct live_set *s, uint32_t r)
{
    if (!live_has(s, r))
        return;
    uint32_t last = s->reg[--s->n];
    s->reg[s->at[r]] = last;
    s->at[last] = s->at[r];
}

/* The set becomes what is live at the block's end. */
void live_set_end(const struct live *l, uint32_t block, struct live_set *s);
/* Over one instruction: from the registers live after it to those live before it. */
void live_step_back(const struct ptx_inst *in, struct live_set *s);

/* A walk backward through all reachable code that counts what is live: 32-bit registers
 * (a 64-bit register counts as two, a narrower one as one) and predicates. `after`: the
 * point is after the instruction, where its destinations exist even if nothing reads
 * them; else before it. Sources and destinations count together only if the source lives
 * on. `set` holds what is counted. */
void live_each_point(const struct live *l,
                     void (*fn)(void *user, uint32_t inst, bool after,
                                const struct live_set *set, uint32_t registers,
                                uint32_t predicates),
                     void *user);

/* The same if registers of `without` took none: they count with the predicates. NULL: none. */
void live_each_point_without(const struct live *l, const bool *without,
                             void (*fn)(void *user, uint32_t inst, bool after,
                                        const struct live_set *set, uint32_t registers,
                                        uint32_t predicates),
                             void *user);

/* Most 32-bit registers, and most predicates, live at one point: MAXLIVE. */
void live_max(const struct live *l, uint32_t *registers, uint32_t *predicates);

#endif
