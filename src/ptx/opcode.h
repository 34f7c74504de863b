/* opcode.h: types, modifiers and opcodes as enums and tables, made from types.def,
 * modifiers.def and opcodes.def, the only places that list them. */
#ifndef ALLOT_PTX_OPCODE_H
#define ALLOT_PTX_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- types -- */
enum ptx_type {
    PTX_NOTYPE,
#define TYPE(id, text, bytes, kind) PTX_##id,
#include "ptx/types.def"
#undef TYPE
    PTX_NTYPES
};

enum ptx_type_kind {
    PTX_K_NONE,
    PTX_K_PRED,
    PTX_K_BITS,
    PTX_K_UINT,
    PTX_K_SINT,
    PTX_K_FLT,
    PTX_K_FORMAT, /* only in instructions: held by registers of .bN as wide */
    PTX_K_OPAQUE
};

struct ptx_type_info {
    const char *text; /* without the dot */
    uint8_t bytes;    /* 0 for .pred */
    uint8_t kind;     /* enum ptx_type_kind */
};
extern const struct ptx_type_info ptx_types[PTX_NTYPES];
/* Type named by n characters without dot, 0: none. */
unsigned ptx_type_find(const char *s, size_t n);

/* -- modifiers: PTX_MG_<group>, and PTX_<group>_<id> from 1 within each group -- */
enum ptx_mod_group {
#define MODGROUP(g) PTX_MG_##g,
#include "ptx/modifiers.def"
#undef MODGROUP
    PTX_NMODGROUPS
};

/* Every modifier has one number over all groups (0: none); inst->mod[group] holds it. */
enum ptx_mod {
    PTX_NOMOD,
#define MOD(g, id, text) PTX_##g##_##id,
#include "ptx/modifiers.def"
#undef MOD
    PTX_NMODS
};

struct ptx_mod_info {
    const char *text; /* without the dot */
    uint8_t group;    /* enum ptx_mod_group */
};
extern const struct ptx_mod_info ptx_mods[PTX_NMODS];

/* A set of modifier groups: bit g. */
typedef unsigned __int128 ptx_groups;

/* -- opcodes -- */

/* Function unit class that runs an instruction (which pipeline of the SM). */
enum ptx_unit {
    PTX_UNIT_ALU,
    PTX_UNIT_SFU,
    PTX_UNIT_DP,
    PTX_UNIT_TENSOR,
    PTX_UNIT_MEM,
    PTX_UNIT_BRANCH,
    PTX_UNIT_BARRIER,
    PTX_UNIT_NONE
};

/* Latency class: the row of a machine file's latency table. */
enum ptx_latency {
#define LATENCY(id, text, cycles, interval, meaning) PTX_LAT_##id,
#include "ptx/latencies.def"
#undef LATENCY
    PTX_NLATENCIES
};
extern const char *const ptx_latency_names[PTX_NLATENCIES];

enum ptx_op_flags {
    PTX_PURE = 1,    /* result depends on register operands alone */
    PTX_COMM = 2,    /* operands a and b commute */
    PTX_LOAD = 4,    /* reads memory */
    PTX_STORE = 8,   /* writes memory */
    PTX_ATOMIC = 16, /* both, at once */
    PTX_JUMP = 32,   /* may change the pc */
    PTX_ENDS = 64,   /* ends a basic block even without a taken jump (ret, exit, trap) */
    PTX_CROSSLANE = 128, /* reads other lanes' registers */
    PTX_SIDE = 256,     /* has an effect beside its destination: never deleted or moved */
    PTX_PSEUDO = 512,   /* label or directive in a body: nothing is executed */
    PTX_REFUSED = 1024, /* known, but not executable: refused by name */
    PTX_CCIN = 2048,    /* reads the carry flag CC.CF; modifier .cc: writes it */
    PTX_EXTENSION = 4096, /* no instruction of the PTX ISA: invented by a paper */
    PTX_VERBATIM =
        32768,          /* suffixes are kept and printed as written: their order varies */
    PTX_TOONEW = 8192,  /* refused because it needs a later target: ptx_first_target */
    PTX_SELECT = 16384, /* registers may have a selector, %r1.b0, or a minus sign */
};

enum ptx_op {
#define OP(id, mnemonic, operands, types, groups, unit, lat, flags, value) PTX_OP_##id,
#include "ptx/opcodes.def"
#undef OP
    PTX_NOPS
};

struct ptx_op_info {
    const char *mnemonic;
    const char *operands; /* pattern, see opcodes.def */
    const char *types;    /* admissible types, see opcodes.def */
    ptx_groups groups;    /* bit g: takes modifier group g */
    uint8_t unit;         /* enum ptx_unit */
    uint8_t latency;      /* enum ptx_latency */
    uint16_t flags;       /* enum ptx_op_flags */
};
extern const struct ptx_op_info ptx_ops[PTX_NOPS];
/* Of those with PTX_TOONEW: the first target that has them, "sm_100a". Later targets have them too
 * unless the name ends in a letter: then those of its family may. NULL: others. */
extern const char *const ptx_first_target[PTX_NOPS];
/* Pattern of the suffixes of a row without groups (opcodes.def); NULL: others. */
extern const char *const ptx_suffixes[PTX_NOPS];
/* Does it end in a letter? */
bool ptx_only_target(unsigned op);

/* The numbers of "m64n256k16", of len characters (WGSHAPE); false: it is no such word. */
bool ptx_wgmma_shape(const char *s, size_t len, unsigned *n, unsigned *k);

#endif
