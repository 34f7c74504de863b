/* register_allocate_int.h: between the files of the register allocator.
 *
 *   register_allocate.c  the pass: limits, the loop of colouring and spilling, new names
 *   register_graph.c     vector operands, interference, colouring
 *   register_banks.c     which registers should lie in different banks
 *   register_spill.c     what to spill, and the code for it
 *   register_remat.c     what is rematerialised instead of loaded
 *   register_keep.c      where a spilled register stays in a register between two uses
 *
 * Everything is in units: one unit is one 32-bit physical register. */
#ifndef ALLOT_PASSES_REGISTER_ALLOCATE_INT_H
#define ALLOT_PASSES_REGISTER_ALLOCATE_INT_H

#include "analysis/live.h"
#include "passes/pass.h"
#include "passes/regalloc/register_step.h"
#include "ptx/ir.h"

enum { RA_MAX_GROUP = 8, RA_MAX_UNITS = 1024, RA_CHAIN = 6, RA_NONE = -1 };

struct defs;
struct defs_writes;
struct ra_body;

/* The function under allocation. */
struct ra {
    struct ptx_func *f;
    /* Of each instruction: its place in the original body; below 0: made here
     * (register_check_inserted). */
    VEC(int32_t) origin;
    VEC(uint8_t) temporary; /* of each register: made for a spill, never spilled itself */
    struct ptx_var *slots;  /* local memory of what was spilled, NULL: nothing yet */
    uint32_t spilled, rematerialised; /* registers */
    bool load_always;   /* spilled registers do not stay in registers between uses */
    bool operands_free; /* what ra_is_operand says costs next to nothing to read again */
};

/* Registers that lie at fixed distances from each other: a register of its own, or the
 * elements of a vector operand. */
struct ra_group {
    int32_t reg[RA_MAX_GROUP]; /* RA_NONE: a hole */
    uint8_t off[RA_MAX_GROUP]; /* units from the group's first */
    uint8_t n, units, align;
    bool pred;
};

struct ra_copy {
    int32_t a, b;
    uint32_t weight;
};

/* What colouring looks at of a register that is no predicate. A row is a set of units: each
 * register has one, numbered from 1 in the order of the code; four in a row, from a multiple
 * of four, have one of the units of all. Neighbours are near in the code, so half of the rows
 * say what all would. */
struct ra_near {
    uint32_t *rows;      /* of the neighbours; then zeros, a row that stays empty */
    uint32_t nrows, row; /* 0: a predicate */
};

struct ra_graph {
    uint32_t n;     /* registers of the function */
    uint8_t *units; /* of each; 0: not in the code. A predicate has 1 */
    uint32_t **adj; /* neighbours in the same file */
    uint32_t *nadj;
    struct ra_near *near;
    uint32_t fours, nrows; /* the first row of four registers; all rows */
    struct ra_group *group;
    uint32_t ngroups;
    int32_t *group_of; /* of each register, RA_NONE: not in the code */
    VEC(struct ra_copy) copies;
    uint32_t live_units, live_preds; /* MAXLIVE */
    int32_t *colour; /* result: first unit, or predicate, of each register */
    uint32_t nunits, npreds;
    /* How far ra_colour has come; it goes on there. rounds 0: it has not begun. */
    struct {
        int rounds;
        uint64_t random;
        uint32_t *order; /* of the groups, that of the best colouring */
        int32_t *colour; /* that colouring, before copies are brought together */
        uint32_t best[2];
    } search;
    struct arena mem;
};

/* 10^depth of the loops around each block, at most 10^4. */
uint32_t *ra_block_weights(const struct cfg *g, struct arena *mem);

/* Puts copies around vector operands whose registers are already bound to another place,
 * so that ra_graph_new finds a place for each. */
void ra_split_vectors(struct ra *a);

/* Interference of the function as it stands. */
struct ra_graph *ra_graph_new(const struct ra *a, const struct live *l);
void ra_graph_free(struct ra_graph *g);
/* Colours with as few units as it finds; does not try hard where MAXLIVE is above the
 * limit, for then something must be spilled. False: it ended early, with `enough` units or
 * fewer, and might find a colouring of fewer units or predicates. */
bool ra_colour(struct ra_graph *g, const struct ptx_func *f, uint32_t limit,
               uint32_t enough);

/* What a register should not lie with. */
struct ra_conflict {
    int32_t other;
    uint32_t weight;
};

/* Those of each register: with[first[r] .. first[r + 1]). */
struct ra_conflict_list {
    uint32_t *first;
    struct ra_conflict *with;
};

struct ra_banks {
    unsigned n;                          /* register r is in bank r mod n */
    struct ra_conflict_list bank, place; /* not in one bank; not in one place */
};

struct ra_banks *ra_banks_new(const struct ra_graph *g, const struct ptx_func *f,
                              const struct cfg *cfg, unsigned n, struct arena *mem);
/* Colours by banks; false: `limit` units are not enough for that, and nothing has changed. */
bool ra_spread(struct ra_graph *g, const struct ptx_func *f, const struct cfg *cfg,
               unsigned banks, uint32_t limit);

/* Changes the code so that at most `units` (32-bit units) should be live anywhere. False:
 * nothing is left to spill. */
bool ra_spill(struct ra *a, const struct live *l, uint32_t units);

/* A spilled register used by an instruction, through a register made for that. */
struct ra_use {
    int32_t reg;
    int32_t next; /* the next use in the block, an index of ra_uses; RA_NONE: none */
    bool read, written;
    bool dropped;            /* the definition of a value that is rematerialised */
    bool load;               /* or rematerialised, before */
    bool store;              /* after */
    bool kept;               /* the register made for it is the next use's too */
    uint8_t remat;           /* instructions that compute it again; 0: it is loaded */
    int32_t chain[RA_CHAIN]; /* what they compute, sources first, reg last */
};

struct ra_uses {
    VEC(struct ra_use) use; /* in the order of the code */
    uint32_t *first;        /* of each instruction; one more for the end */
};

/* What can be rematerialised (register_remat.c). */
struct ra_remat {
    const struct ra *a;
    const struct live *l;
    const struct defs *defs;
    struct defs_writes *writes;
    const uint64_t *gone; /* registers that are spilled; NULL: none yet */
    uint32_t limit;       /* units that there are */
    uint8_t *form;        /* of each register: whether its definition can be repeated */
    int32_t *source;      /* of each register that is chosen to be rematerialised from a
                           * narrower one: that, which lives longer for it; RA_NONE */
    uint64_t *longer;     /* those sources */
    uint32_t *units[2];   /* [after][instruction]: units in registers without the spilled
                           * ones; NULL: as liveness says */
    uint32_t *read;       /* of each instruction: units of spilled ones that it reads */
    uint8_t *steps;       /* of each register that ra_remat_everywhere found: the most
                           * instructions for a read */
};

/* Can the value of r be computed anywhere, from nothing? */
bool ra_from_nothing(const struct ra *a, const struct defs *d, int32_t r);
/* ... and is it what a card's instructions take as an operand, from no register? */
bool ra_is_operand(const struct ra *a, const struct defs *d, int32_t r);
/* source: of each register of gone, see there. Both NULL: nothing is chosen yet. */
struct ra_remat *ra_remat_new(const struct ra *a, const struct live *l,
                              const struct defs *d, struct defs_writes *w,
                              const uint64_t *gone, const int32_t *source, uint32_t limit,
                              struct arena *mem);
/* The one narrower register from which, with what needs none, the value of r is computed,
 * RA_NONE: there is not one such. */
int32_t ra_remat_source(struct ra_remat *x, int32_t r);
/* How many instructions compute r again before instruction i, where `before` is live
 * in that many registers, and what (ra_use.chain); 0: it cannot be. */
unsigned ra_remat_here(struct ra_remat *x, const struct live_set *before,
                       uint32_t registers, int32_t r, uint32_t i,
                       int32_t chain[RA_CHAIN]);
/* Adds to `yes` the registers (of gone) that can be rematerialised at all their reads. */
void ra_remat_everywhere(struct ra_remat *x, uint64_t *yes, struct arena *mem);
/* The code for u, whose value goes to register `to`. */
void ra_emit_remat(const struct ra_remat *x, struct ra_body *b, const struct ra_use *u,
                   int32_t to, int32_t origin);

/* Finds the uses of the registers in x->gone (slot < 0: rematerialised) and what to load and
 * store at each, so that at most `limit` units are live. u->first is mem's. */
void ra_keep(struct ra *a, struct ra_remat *x, const int64_t *slot, uint32_t limit,
             struct ra_uses *u, struct arena *mem);

/* What allocation did. */
struct ra_result {
    struct ptx_var *slots; /* local memory of what was spilled, NULL: nothing was */
    uint32_t spilled, rematerialised; /* registers */
};

/* Where banks are looked at: up to as many registers as cost no warp. */
struct ra_spreading {
    unsigned banks; /* 0: they are not */
    struct register_room room;
};

/* The most registers that f may have: room->most, or what its directives leave of theirs. */
uint32_t ra_limit(const struct ptx_func *f, const struct register_room *room);
/* What the settings of a pass say (RA_ROOM_KEYS). */
bool ra_read_room(const struct pass_args *a, struct ra_spreading *out,
                  struct diag_sink *diag);
/* Where an allocation of f would put each of its registers: its first unit, or predicate;
 * RA_NONE: it is not in the code. NULL: registers would be spilled. In mem. */
int32_t *ra_places(const struct ptx_func *f, const struct ra_spreading *spread,
                   struct arena *mem);

/* 32-bit registers that an allocation of f would give out, were there as many as it wants, but for those
 * registers, which get none. */
uint32_t ra_needed(const struct ptx_func *f, const bool *without);

#define RA_ROOM_KEYS                                                                     \
    {"max-registers", "255", "32-bit registers a thread may have"},                      \
        {"sm-registers", "65536", "registers of an SM, for .minnctapersm and banks"},    \
        {"sm-warps", "64", "warps of an SM; the machine's"},                             \
        {"banks", "0",                                                                   \
         "register banks to spread an instruction's sources over, where registers cost " \
         "no warp; 0: places as low as they come; the machine's"},                       \
    {                                                                                    \
        "reserved", "0",                                                                 \
            "registers beside them that a thread takes, for .maxnreg; the machine's"     \
    }

/* Gives f's registers physical names, at most `limit` units of them, and has the result
 * checked. False and a diagnostic: that cannot be done; f is then of no use. */
bool ra_allocate(struct ptx_func *f, uint32_t limit, bool operands_free,
                 const struct ra_spreading *spread, struct ra_result *out,
                 struct diag_sink *diag);

/* Units of a register in its file. */
static inline unsigned
ra_units(const struct ptx_func *f, int32_t reg)
{
    unsigned bytes = ptx_type_bytes(f->regs.v[reg].type);
    return bytes <= 4 ? 1 : bytes / 4;
}

/* Names a register by its type and place. */
void ra_name(struct arena *mem, struct ptx_reg *r);
/* qsort: by type, then place. */
int ra_by_name(const void *a, const void *b);
/* Makes f's declarations again from its registers, which are sorted by ra_by_name. */
void ra_declare(struct ptx_func *f);
/* A copy of what register_check needs of a function, with its own body and registers. */
struct ptx_func *ra_snapshot(const struct ptx_func *f);
void ra_snapshot_free(struct ptx_func *s);
/* Makes f what it was when s was taken; s stays. */
void ra_restore(struct ptx_func *f, const struct ptx_func *s);

/* The vector operand of a wide load or store whose elements lie side by side, or NULL. */
struct ptx_operand *ra_wide_list(const struct ptx_inst *in);

/* The source of an unguarded copy of a whole register, RA_NONE: `in` is none. */
int32_t ra_copied(const struct ptx_func *f, const struct ptx_inst *in);

/* -- building a body again -- */
struct ra_body {
    struct ra *a;
    VEC(struct ptx_inst) inst;
    VEC(int32_t) origin;
};
void ra_emit(struct ra_body *b, struct ptx_inst in, int32_t origin);
/* origin of what is made before (after) an instruction of that origin */
int32_t ra_beside(int32_t origin, bool after);
void ra_emit_copy(struct ra_body *b, int32_t dst, int32_t src,
                  const struct ptx_inst *like, int32_t origin);
/* Puts the new body in place of the old one. */
void ra_body_end(struct ra_body *b);
int32_t ra_temporary(struct ra *a, enum ptx_type type, bool spill);

#endif
