/* vtb_int.h: between the files of the passes that merge blocks.
 *
 *   vtb.c          the passes: what is refused, the launch, settings
 *   vtb_votes.c    regions that virtual blocks pass unequally often
 *   vtb_gain.c     what merging is worth
 *   vtb_rebuild.c  the merged kernel's code
 *   co_plan.c      co-vtb: private and public part of the scratchpad: sizes, addresses
 *   co_vtb.c       the same: the code */
#ifndef ALLOT_PASSES_VTB_INT_H
#define ALLOT_PASSES_VTB_INT_H

#include "passes/blocks/region_shrink.h"

enum { MOST_BLOCKS = 8, BARRIERS = 16, MOST_DEPTH = 64 };
enum { CO_UNIT = 16 }; /* bytes of co-vtb: no access crosses a border between such */
enum scheme { VTB, PIPE, NAMED };

typedef VEC(struct ptx_inst) body_t;

/* What merging is expected to gain. */
struct vtb_gain {
    uint32_t held[2];  /* threads of an SM before and after; 0: not known */
    uint64_t turns[2]; /* of blocks, of all SMs; 0: the grid is not known */
    double share;      /* of the merged kernel's instructions in regions */
    double faster;     /* times as fast; 0: an SM holds no merged block */
};

/* How an access of co-vtb comes to its address. */
struct co_access {
    int32_t like; /* as this earlier one; -1: by instructions of its own */
    int32_t reg;  /* its base then; filled while the code is made */
    uint8_t part; /* enum region_part */
    uint8_t adds; /* instructions */
};

struct merge {
    struct ptx_func *f;
    const struct pass_args *a;
    enum scheme scheme;
    unsigned k;             /* virtual blocks of a block */
    unsigned dim;           /* of the grid, that shrinks */
    unsigned depth;         /* of a virtual block */
    unsigned pad;           /* virtual blocks past the grid's end */
    uint32_t ids[BARRIERS]; /* numbers of barriers in the original code */
    unsigned nids;
    double ahead;       /* instructions; below 0: by their cost */
    unsigned moved[2];  /* instructions before regions, and after them */
    bool known;         /* the grid, and the machine */
    uint32_t registers; /* of a thread */
    double alone;       /* cycles from one instruction of a warp to its next */
    struct vtb_gain gain;
    double divided[2]; /* co-vtb: expected without private parts, with the best */
    double tried[MOST_BLOCKS + 1]; /* merge=auto: expected of that many; 0: refused */
    double least;                  /* gain that is worth it */
    body_t to;
    struct {
        int32_t v, z, ctaid, id[BARRIERS], turn[MOST_BLOCKS], give, take, yes;
    } reg; /* v: number of the virtual block, z: %tid.z; -1: none */
    /* co-vtb: bytes that each virtual block has for itself, as asked for (-1: auto) and as
     * it is; the array of both parts, registers: its address, the address after one own
     * part, v times own */
    bool parts;
    int64_t own_given;
    uint64_t own;
    /* of each block of the flow graph: virtual blocks ask before they take a turn there;
     * they meet at its start, and take turns for nothing until none asks any more */
    uint8_t *asks, *meets;
    unsigned nasks; /* regions before which they ask */
    struct ptx_var *area;
    int32_t base, border, shift;
    struct co_access *plan; /* of each instruction */
    struct ptx_operand live, threads, all,
        pair; /* virtual blocks; threads of one, of all,
                                                    * of two */
};

/* Numbers of barriers that turns need. */
static inline unsigned
vtb_barriers(const struct merge *m)
{
    return (m->scheme == VTB ? 1 : m->k) + (m->nasks != 0);
}

/* Whether it is another value in the merged block. */
bool vtb_replaces(const struct merge *m, const struct ptx_operand *o);

/* Appends an instruction to m->to: its result, a new register. */
struct ptx_operand vtb_reg(int32_t r);
int32_t vtb_emit(struct merge *m, enum ptx_op op, enum ptx_type type,
                 struct ptx_operand a, struct ptx_operand b);
/* setp: a new predicate. */
int32_t vtb_compare(struct merge *m, unsigned cmp, struct ptx_operand a,
                    struct ptx_operand b);

/* -- vtb_votes.c -- */

/* Fills asks, meets, nasks from the facts; the scheme becomes vtb's where vtb-pipe would
 * have to ask. Why regions cannot stand as they do; NULL: they can. Free with
 * vtb_votes_free. */
const char *vtb_votes(struct merge *m, const struct region_facts *x);
void vtb_votes_free(struct merge *m);
/* The regions of fewest instructions: within code that virtual blocks run unequally often,
 * or around it. gap is the caller's. Why there are none; NULL: x and m have them. */
const char *vtb_regions(struct merge *m, struct region_facts *x, unsigned gap);

/* -- vtb_gain.c -- */

/* What an instruction takes of a warp alone, in cycles of the machine; 1 where that is not
 * known. */
double vtb_cost_of(const struct merge *m, const struct ptx_inst *in);
/* How often each block of the flow graph runs. To be freed. */
uint64_t *vtb_weights(const struct region_facts *x);
/* Fills known, registers, alone: before the others. */
void vtb_gain_begin(struct merge *m, const struct region_facts *x);
/* Blocks of k merged ones that an SM holds; 0: none. */
uint32_t vtb_blocks_held(const struct merge *m, uint32_t k, uint64_t scratchpad);
/* With regions r of x's code, `own` private bytes, and that many more instructions inside and
 * outside of regions, weighted as there. False: not known. */
bool vtb_gain(const struct merge *m, const struct region_facts *x,
              const struct regions *r, uint64_t own, double inside, double outside,
              struct vtb_gain *to);

/* -- co_plan.c -- */

bool co_touches(const struct region_facts *x, const struct ptx_func *f, uint32_t i);
/* Which operand is the address; -1: none. */
int co_address(const struct ptx_inst *in);
/* Bytes of the own part; 0: none that is worth it. x: facts without parts. Fills
 * m->divided. */
uint64_t co_choose(struct merge *m, struct region_facts *x);
/* Fills m->plan for m->own; instructions that it adds within regions, and outside. */
void co_plan(struct merge *m, const struct region_facts *x, double *inside,
             double *outside);

/* -- co_vtb.c -- */

/* Why the scratchpad cannot be in two parts; NULL: it can. */
const char *co_refuses(struct merge *m, const struct region_facts *x);
/* In the prologue; at instruction i of the original, which is now `in`. */
void co_begin(struct merge *m, const struct region_facts *x);
void co_rewrite(struct merge *m, const struct region_facts *x, uint32_t i,
                struct ptx_inst *in);

/* The merged kernel, from the facts. */
void vtb_rebuild(struct merge *m, const struct region_facts *x);

#endif
