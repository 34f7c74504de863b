/* peel.h: copies of a loop's iterations (peel_copies.c), between the choice of the loop (peel_loops.c,
 * unroll.c) and the new body. Private to src/passes. */
#ifndef ALLOT_PASSES_PEEL_H
#define ALLOT_PASSES_PEEL_H

#include "analysis/live.h"
#include "analysis/loops.h"

struct peel {
    struct ptx_func *f;
    const struct cfg *g;
    const struct loop *l;
    uint32_t before, latch, after; /* blocks: the one way in, the way back, after it */
    uint32_t back;  /* a block of a jump back alone, after the latch; or the latch */
    uint64_t trips; /* that are peeled */
    enum { LEFT_NONE, LEFT_GUARDED, LEFT_LOOP } left;
    uint32_t *order, n; /* the loop's blocks, each after those that lead to it */
    /* Of each register, within a copy: its name where the definition of this iteration reaches,
     * and elsewhere; block of that definition, or PEEL_... */
    int32_t *now, *was, *home;
    uint32_t *written, nwritten; /* registers that the loop writes */
    uint32_t *defs;              /* of each: how often, twice under a guard */
    uint64_t *given;    /* registers whose definition of this iteration has been copied */
    uint64_t *own;      /* registers that keep their names in the next copy */
    int32_t *label_of;  /* of each block of the flow graph: label in this copy */
    int32_t *old_label; /* of header and the block after: where they stand */
    bool labels;        /* the next copy holds the loop's own labels too */
    /* Called for each instruction of a copy, body.v[i] but for the names; NULL: nobody. */
    void (*edit)(void *user, uint32_t i, struct ptx_inst *in);
    void *user;
    VEC(struct ptx_inst) to;
    struct arena mem;
};

enum {
    PEEL_KEEPS = -1,    /* the register has one name in all copies */
    PEEL_ITERATION = -2 /* it is this iteration's alone */
};

/* Whether block v is in the loop. */
static inline bool
peel_has(const struct peel *p, int32_t v)
{
    return v >= 0 && bitset_has(p->l->blocks, (size_t)v);
}

/* Arrays for the loops of function p->f with flow graph p->g, one after the other. They lie in
 * p->mem. */
void peel_start(struct peel *p);
/* Whether every cycle within the loop is entered at one block: what a use reads would else
 * depend on the way there. */
bool peel_is_reducible(const struct peel *p);
/* Which registers get new names in each copy of loop p->l, left at the end of p->latch. */
void peel_find_names(struct peel *p, const struct live *live, const struct loops *all);

/* The loop's blocks in reverse post-order: the header first, the latch last. */
void peel_find_order(struct peel *p);
/* Fresh names for the next copy. */
void peel_new_names(struct peel *p);
/* All registers have their own names again. */
void peel_names_end(struct peel *p);
/* Name of register r as the instructions of `block` read it (dest: write it). */
int32_t peel_name_of(const struct peel *p, int32_t r, uint32_t block, bool dest);
/* The definitions of this instruction of the loop are those of the copy from now on. */
void peel_note_given(struct peel *p, const struct ptx_inst *in);
/* Appends one iteration to p->to, without the branch back. guard: of its loads and stores, -1:
 * none. */
void peel_copy_iteration(struct peel *p, int32_t guard, bool neg);
/* Whether it is a .loc, which copies keep. */
bool peel_is_line(const struct ptx_inst *in);
void peel_put_label(struct peel *p, int32_t label);
void peel_put_jump(struct peel *p, int32_t label, int32_t guard, bool neg);

/* Puts the copies after the block before the loop, and takes the loop away unless some of it
 * is left. The flow graph is void then. */
void peel_rebuild(struct peel *p);

#endif
