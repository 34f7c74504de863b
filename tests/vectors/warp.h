/* warp.h: every instruction between the lanes of a warp that takes a member mask, and
 * activemask: its forms, made from the opcode table; kernels that execute them where lanes
 * are together, apart or gone; and what each lane must get, by the words of the PTX ISA
 * (9.7.9.6, 9.7.13). The reference shares no code with the executor. */
#ifndef TESTS_VECTORS_WARP_H
#define TESTS_VECTORS_WARP_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { WARP_LANES = 32, WARP_FORMS = 64, WARP_TRIPS = 4 };

struct warp_form {
    char name[48];     /* "vote.sync.any.pred" */
    char mnemonic[16]; /* "vote" */
    char how[8];       /* "any"; of redux the operation; "" */
    char type[8];      /* "pred", "b64", "s32"; "" */
    unsigned sm;       /* least target */
};
/* At most WARP_FORMS; how many. Fails (abort) at a row of the table that it does not know. */
unsigned warp_forms(struct warp_form *f);

/* What a lane gives; a word each in the input, WARP_WORDS * 32 of a warp. */
enum {
    WARP_MASK,
    WARP_V,
    WARP_HI, /* with V: a value of 64 bits */
    WARP_B,  /* of shfl: lane or distance; of bar.warp: whose store is read */
    WARP_C,  /* of shfl: clamp and segments */
    WARP_P,
    WARP_ODD,   /* 0 or 1, the same in a group: which way it goes */
    WARP_TIMES, /* 1 to WARP_TRIPS, the same in a group: trips of its loop */
    WARP_SIDE,  /* 0 or 1: by which way the lane comes */
    WARP_GONE,  /* 1: the lane ends first */
    WARP_WORDS
};
struct warp_input {
    uint32_t word[WARP_WORDS][WARP_LANES];
};

/* Where the instructions stand. */
enum warp_place {
    WARP_STRAIGHT,
    WARP_BRANCH,      /* groups go two ways, each with the instructions */
    WARP_LOOP,        /* groups have different trip counts */
    WARP_LOOP_BRANCH, /* a branch in that loop */
    WARP_APART,       /* lanes of a group come by two ways that meet only at the end */
    WARP_ENDED,       /* some lanes have ended, whom masks name or do not */
    WARP_GUARD,       /* groups are predicated off */
    WARP_PLACES
};
extern const char *const warp_places[WARP_PLACES];

/* How groups are drawn: all equal, tiles of 16, 8, 4, 2 and 1 lanes, odd and even, then at
 * random. */
enum { WARP_PARTITIONS = 12 };
/* live: lanes that exist. */
void warp_draw(struct warp_input *in, unsigned partition, enum warp_place place,
               uint32_t live, uint64_t *rng);

/* A module with .entry k(.param .u64 in, .param .u64 out) that executes n forms. A warp
 * reads WARP_WORDS * 32 words, and writes for each trip of WARP_TRIPS, each form, the
 * result and the predicate (0 or 1), 32 words each; what it does not execute is untouched.
 * Warps are numbered through all blocks. */
void warp_kernel(struct strbuf *b, const struct warp_form *f, unsigned n,
                 enum warp_place place, unsigned sm);
enum { WARP_UNWRITTEN = 0xee }; /* result of an instruction predicated off */

/* What lane gets in that trip: result and predicate. False: nothing is written, or the ISA
 * leaves it open (*open). live: lanes that exist. */
bool warp_reference(const struct warp_form *f, const struct warp_input *in,
                    enum warp_place place, uint32_t live, unsigned trip, unsigned lane,
                    uint32_t out[2], bool *open);

#endif
