/* lanes_int.h: what lanes.c and the variants of the lane functions share, and what tests
 * look into. Private to src/exec. */
#ifndef ALLOT_EXEC_LANES_INT_H
#define ALLOT_EXEC_LANES_INT_H

#include "exec/lanes/lane.h"

/* The modifiers of an instruction as a lane function sees them: the bits of aux. */
enum {
    LM_RND = 0x3, /* enum fp_rnd; integral rounding the same */
    LM_FTZ = 0x4,
    LM_SAT = 0x8,
    LM_HI = 0x10,
    LM_PREC = 0x60, /* enum fp_prec */
    LM_NAN = 0x80,
    LM_XORSIGN = 0x100,
    LM_CC = 0x200,
    LM_WRAP = 0x400,
    LM_RIGHT = 0x800,
    LM_SHIFTAMT = 0x1000,
    LM_INTEGRAL = 0x2000, /* cvt.rni and so on */
    LM_RELU = 0x4000,
    LM_SATF = 0x8000,
    LM_RNA = 1 << 22,
    LM_ABS = 1 << 23,
    LM_CMP = 0xf << 16,   /* LC_...: which of less, equal, greater, unordered hold */
    LM_BOOL = 0x3 << 20,  /* 0 none, 1 and, 2 or, 3 xor */
    LM_PRMT = 0x7 << 24,  /* 0 none, then as in modifiers.def */
    LM_TESTP = 0x7 << 28, /* enum fp_test */
    LM_ANY = -1,          /* an entry for every aux */
};

enum { LC_LT = 1, LC_EQ = 2, LC_GT = 4, LC_UN = 8 };

struct lane_entry {
    uint16_t op;     /* enum ptx_op */
    uint8_t type[2]; /* written types; the second 0 where there is one */
    uint32_t mods;   /* aux without LM_BOOL for which it is made; LM_ANY: reads aux */
    lane_fn *fn;
};

struct lane_variant {
    const char *name;
    const struct lane_entry *entry; /* the same list in every variant, sorted by op */
    size_t n;
};

/* Variants this processor can run, the fastest last. The first is plain C. */
size_t lane_variants(const struct lane_variant *out[4]);
/* lane_select for one variant. */
lane_fn *lane_select_in(const struct lane_variant *v, const struct ptx_inst *in,
                        uint32_t *aux);

#endif
