/* ir.h: a PTX module in memory. Text in: ptx/parse.h; text out: ptx/print.h.
 *
 * One function body is one flat array of instructions. Labels and in-body directives are
 * pseudo instructions in that array (flag PTX_PSEUDO), so a pass inserts and deletes
 * freely. The parser flattens nested scopes: a name that shadows another one is made
 * unique, as "%p" of the second nested block becomes "%p_s2", so parse(print(m)) equals
 * m. Everything lives in the module's arena. Indices are per function unless said
 * otherwise. */
#ifndef ALLOT_PTX_IR_H
#define ALLOT_PTX_IR_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "base/vec.h"
#include "ptx/opcode.h"

struct ptx_func;
struct ptx_var;
struct ptx_fault;

/* Where a variable lives or an address points. */
enum ptx_space {
    PTX_SPACE_NONE, /* generic, or not an address */
    PTX_SPACE_REG,
    PTX_SPACE_SREG,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM,
    PTX_SPACE_TEX
};

enum ptx_operand_kind {
    PTX_OPD_NONE,    /* optional operand left out */
    PTX_OPD_REG,     /* reg */
    PTX_OPD_SREG,    /* sreg (enum ptx_sreg), comp 0..3 for .x .y .z .w */
    PTX_OPD_IMM,     /* imm: integer, as 64 bits two's complement */
    PTX_OPD_F32,     /* imm: low 32 bits are the IEEE single (0f...) */
    PTX_OPD_F64,     /* imm: IEEE double (0d... or a decimal literal) */
    PTX_OPD_SYM,     /* address of var, + off */
    PTX_OPD_FUNCSYM, /* address of or call to func */
    PTX_OPD_ADDR,    /* [base + off]: base is reg (>= 0), var, or absolute (neither) */
    PTX_OPD_LABEL,   /* label */
    PTX_OPD_VEC,     /* vec[0..n): {a, b, ...}; also lists of a call, targets of brx */
    PTX_OPD_SINK,    /* _ */
};

struct ptx_operand {
    uint8_t kind;  /* enum ptx_operand_kind */
    bool neg;      /* !p; VEC: written in [] (only in instructions without a pattern) */
    uint8_t comp;  /* SREG: component; REG: component + 1 of a vector register, 0: none */
    bool joined;   /* written behind | (only in instructions without a pattern) */
    int32_t reg;   /* REG, ADDR: register index, -1: none */
    int32_t label; /* LABEL: index into func->labels */
    uint16_t sreg; /* SREG; REG of a video instruction: its selector, PTX_SEL_... */
    uint16_t n;    /* VEC: number of elements */
    uint64_t imm;
    int64_t off;             /* SYM, ADDR */
    struct ptx_var *var;     /* SYM, ADDR: variable or parameter; NULL: none */
    struct ptx_func *func;   /* FUNCSYM */
    struct ptx_operand *vec; /* VEC */
};

/* Selector behind a register of a video instruction: .b0 ... .b3, .h0, .h1, or a list of
 * halves (.h10) or bytes (.b7654), or a mask of them. Its digits, the last one lowest,
 * each in 4 bits, with the number of digits and b or h above them would not fit 16 bits:
 * digits are 0 to 7 and take 3 bits. */
#define PTX_SEL(n, is_half) ((unsigned)(n) << 12 | (unsigned)(is_half) << 15)
#define PTX_SEL_DIGITS(s) ((s) >> 12 & 7)
#define PTX_SEL_HALF(s) ((s) >> 15 & 1)
#define PTX_SEL_DIGIT(s, i) ((s) >> 3 * (i)&7) /* i-th from the right */

enum ptx_sreg {
    PTX_SREG_TID,
    PTX_SREG_NTID,
    PTX_SREG_CTAID,
    PTX_SREG_NCTAID,
    PTX_SREG_LANEID,
    PTX_SREG_WARPID,
    PTX_SREG_NWARPID,
    PTX_SREG_SMID,
    PTX_SREG_NSMID,
    PTX_SREG_GRIDID,
    PTX_SREG_LANEMASK_EQ,
    PTX_SREG_LANEMASK_LE,
    PTX_SREG_LANEMASK_LT,
    PTX_SREG_LANEMASK_GE,
    PTX_SREG_LANEMASK_GT,
    PTX_SREG_CLOCK,
    PTX_SREG_CLOCK_HI,
    PTX_SREG_CLOCK64,
    PTX_SREG_GLOBALTIMER,
    PTX_SREG_GLOBALTIMER_LO,
    PTX_SREG_GLOBALTIMER_HI,
    PTX_SREG_TOTAL_SMEM_SIZE,
    PTX_SREG_DYNAMIC_SMEM_SIZE,
    PTX_SREG_ENVREG, /* comp = n */
    PTX_SREG_PM,     /* comp = n */
    PTX_SREG_PM64,   /* comp = n */
    PTX_SREG_CLUSTERID,
    PTX_SREG_NCLUSTERID,
    PTX_SREG_CLUSTER_CTAID,
    PTX_SREG_CLUSTER_NCTAID,
    PTX_SREG_CLUSTER_CTARANK,
    PTX_SREG_CLUSTER_NCTARANK,
    PTX_SREG_IS_EXPLICIT_CLUSTER,
    PTX_SREG_AGGR_SMEM_SIZE,
    PTX_SREG_RESERVED_SMEM_BEGIN,
    PTX_SREG_RESERVED_SMEM_END,
    PTX_SREG_RESERVED_SMEM_CAP,
    PTX_SREG_RESERVED_SMEM, /* comp = n */
    PTX_SREG_GRAPH_EXEC,
    PTX_NSREGS
};

/* Name with its %, type and number of components of each special register. */
struct ptx_sreg_info {
    const char *name;
    uint8_t type;  /* enum ptx_type: .u32 or .u64 */
    uint8_t comps; /* 3: read as %tid.x; 0: a plain register */
    uint8_t count; /* %envreg0 ... : how many; 0: one without a number */
};
extern const struct ptx_sreg_info ptx_sregs[PTX_NSREGS];

/* What an instruction does with a register of its own once it has read or written it. */
enum ptx_power { PTX_POWER_NONE, PTX_POWER_ON, PTX_POWER_SLEEP, PTX_POWER_OFF };
enum { PTX_POWER_REGS = 3 }; /* so many have a state: 1 destination, 2 sources */
extern const char *const ptx_power_names[4];

struct ptx_inst {
    uint16_t op; /* enum ptx_op */
    uint8_t ntypes;
    uint8_t nops;
    uint8_t type[4]; /* enum ptx_type, in the order written */
    /* enum ptx_mod of each of the PTX_NMODGROUPS groups, 0: none. Never NULL; shared by
     * the instructions of a spelling: ptx_set_mod changes it. */
    const uint16_t *mod;
    int32_t guard; /* guard predicate register, -1: none */
    bool guard_neg;
    /* With a guard: nobody reads what its destinations held in the lanes that it leaves
     * out (analysis/guarded.h). False is always right. Not printed. */
    bool full_def;
    /* Power states behind the operands, an extension (001 section 4.2.2): bits 2i and
     * 2i + 1 are the enum ptx_power of register i of ptx_power_regs; 0: none written. */
    uint8_t power;
    uint32_t line, col;      /* of the mnemonic in the source; 0: made by a pass */
    struct ptx_operand *ops; /* destinations first, in the order of the row's pattern */
    /* DIRECTIVE: the raw text (.pragma, .loc), or NULL: ops[0] is the FUNCSYM of a
     * prototype or list of call targets declared here. Instructions whose row has no
     * pattern ("*"): the suffixes as written (types and mod are empty then);
     * PTX_VERBATIM: the same beside types and mod. */
    const char *text;
};

struct ptx_reg {
    const char *name; /* with its %, unique in the function */
    uint8_t type;     /* enum ptx_type */
    uint8_t vec;      /* 0, 2 or 4: vector register */
    uint16_t place;   /* after register allocation: number of the (first) physical 32-bit
                       * register, or of the predicate, + 1; 0: virtual */
};

/* One .reg line: count 0 declares the single name, else name0 .. name<count-1>. */
struct ptx_regdecl {
    const char *name;
    uint8_t type, vec;
    int32_t first, count;
};

struct ptx_label {
    const char *name;
};

/* Symbol whose address stands in an initialiser. Eight (four) bytes 0xff(s), 0xff00(s),
 * ... that make up a whole address are one of these with bytes 8 (4). */
struct ptx_reloc {
    uint64_t at;         /* byte offset in the variable */
    uint8_t bytes;       /* 4 or 8; 1: one byte of the address, see mask */
    bool generic;        /* generic(sym) */
    uint64_t mask;       /* bytes 1: which bits of the address, as 0xff00; else 0 */
    struct ptx_var *var; /* one of var, func */
    struct ptx_func *func;
    int64_t off;
};

enum ptx_linkage {
    PTX_LINK_NONE,
    PTX_LINK_EXTERN,
    PTX_LINK_VISIBLE,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON
};

struct ptx_var {
    const char *name; /* unique in its scope (module, or function) */
    uint8_t space;    /* enum ptx_space */
    uint8_t type;     /* element type */
    uint8_t vec;      /* 0, 2 or 4: element is a vector */
    uint8_t linkage;
    uint8_t ptr_space; /* .param .u64 .ptr .global: the pointee's space, else NONE */
    uint32_t ptr_align;
    uint32_t align; /* bytes, never 0 */
    uint64_t size;  /* bytes in all; 0 with `dynamic` */
    bool dynamic;   /* extern .shared x[]: size given at launch */
    bool is_param;  /* formal parameter (or return value) of `func` */
    int32_t ndims;  /* array dimensions as written, for printing */
    uint64_t *dims;
    uint8_t *init; /* `size` bytes, NULL: none */
    /* of a .texref, .samplerref or .surfref: raw text with braces */
    const char *opaque_init;
    const char *attribute; /* raw text of .attribute(...), NULL: none */
    VEC(struct ptx_reloc) relocs;
    struct ptx_func *func; /* NULL: module scope */
    uint32_t line, col;
    /* Space offset: of a parameter in its function's parameter block (natural alignment,
     * in order). For others set by whoever lays memory out. */
    uint64_t offset;
};

struct ptx_func {
    const char *name;
    struct ptx_module *module;
    bool is_entry, has_body, noreturn;
    bool is_proto; /* .callprototype inside a body */
    uint8_t linkage;
    VEC(struct ptx_var *) rets, params;
    VEC(struct ptx_var *) vars; /* .shared .local .param declared in the body */
    VEC(struct ptx_reg) regs;
    VEC(struct ptx_regdecl) regdecls;
    VEC(struct ptx_label) labels;
    VEC(struct ptx_inst) body;
    uint64_t param_bytes;            /* size of the parameter block */
    uint32_t maxntid[3], reqntid[3]; /* 0: not given */
    uint32_t minnctapersm, maxnctapersm, maxnreg;
    uint32_t cluster[3];  /* .reqnctapercluster, in blocks; 0: not given. In attrs too */
    uint32_t max_cluster; /* .maxclusterrank, in blocks; 0: not given. In attrs too */
    /* .explicitcluster: a launch must say its clusters; .blocksareclusters: its grid counts
     * them. In attrs too */
    bool explicit_cluster, blocks_are_clusters;
    VEC(const char *) pragmas; /* function-level .pragma strings, with their quotes */
    VEC(const char *) attrs;   /* the head's other directives, raw (.blocksareclusters) */
    VEC(struct ptx_func *) targets; /* is_proto: of .calltargets; empty: .callprototype */
    /* Physical 32-bit registers and predicates that its body uses; 0: not allocated. Set
     * by pass register-allocate, kept in no text. */
    uint32_t registers, predicates;
    uint32_t fresh; /* number in the name of the next register made by ptx_reg_new */
    uint32_t line, col;
    /* Errors in the body (fault.h): it is kept as text, and body, regs, vars and labels are
     * empty. The function cannot run, nor can what calls it. NULL: none. */
    const struct ptx_fault *fault;
};

struct ptx_module {
    struct arena mem;
    struct strtab names;
    const char *file; /* as given to the parser */
    char *text;       /* the source, kept for diagnostics (owned) */
    uint16_t version_major, version_minor;
    const char *target;         /* "sm_20" */
    const char *target_options; /* text after the first comma, NULL: none */
    uint16_t sm;                /* 20 */
    uint8_t address_size;       /* 32 or 64 */
    VEC(struct ptx_var *) vars;
    VEC(struct ptx_func *) funcs;  /* declarations and definitions in source order */
    VEC(struct ptx_func *) protos; /* prototypes and call target lists in bodies */
    VEC(const char *) directives;  /* .pragma, then .file, .section ... as raw text */
    VEC(struct ptx_module *)
    parts; /* of a linked module (link.h): what it was made of;
            * they own what stands in vars and funcs */
};

/* Bytes of a register of this type in the register file: 0 for .pred. */
static inline unsigned
ptx_type_bytes(unsigned type)
{
    return ptx_types[type].bytes;
}

static inline bool
ptx_has(const struct ptx_inst *in, enum ptx_mod_group g)
{
    return in->mod[g] != 0;
}

/* A label or directive: nothing is executed. */
static inline bool
ptx_is_pseudo(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_PSEUDO;
}

/* A fetch from a texture: no store of the kernel changes what it gets, and components that nobody
 * reads are not written. */
static inline bool
ptx_is_texture(const struct ptx_inst *in)
{
    return in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4;
}

/* What its destinations held is read: by lanes that the guard leaves out, or as the matrix that
 * a product is added to. */
static inline bool
ptx_keeps_old(const struct ptx_inst *in)
{
    return (in->guard >= 0 && !in->full_def) || in->op == PTX_OP_WGMMA;
}

/* Operands up to the last that was written. */
static inline unsigned
ptx_nops(const struct ptx_inst *in)
{
    unsigned n = in->nops;
    while (n && in->ops[n - 1].kind == PTX_OPD_NONE)
        n--;
    return n;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name);
/* What a declaration of a function stands for: the function of that name with a body, or
 * the one it is an .alias of; f itself if it has a body; NULL: not defined here. */
const struct ptx_func *ptx_definition(const struct ptx_module *m,
                                      const struct ptx_func *f);
/* The module whose text a module-scope variable stands in (m, or a part of it). */
const struct ptx_module *ptx_module_of(const struct ptx_module *m,
                                       const struct ptx_var *v);

/* The body of a function that is declared here and defined further on; f itself if it has
 * one, or if there is none. */
const struct ptx_func *ptx_func_definition(const struct ptx_func *f);
/* The state space that the instruction names; PTX_SPACE_NONE: generic, or none. */
enum ptx_space ptx_inst_space(const struct ptx_inst *in);

/* Bit i: operand i is a destination, by the row's pattern. */
uint64_t ptx_inst_dests(const struct ptx_inst *in);
/* Do both operands, of the same function, name the same registers, values and places? */
bool ptx_operand_same(const struct ptx_operand *a, const struct ptx_operand *b);
/* Do registers of a function share a place of the register file? Before allocation each has
 * its own. */
bool ptx_reg_overlaps(const struct ptx_reg *a, const struct ptx_reg *b);
/* A barrier of the block's threads (bar, barrier; not bar.warp). -1: it is none, else which
 * operand is its number; the count of threads follows it. Those with a result reduce
 * a predicate over the threads: number 1. */
int ptx_inst_barrier(const struct ptx_inst *in);
/* The registers that power states are written for: the first destination, then the first
 * two sources, in the order of the operands; a register may come twice. As in Figure 4.3
 * of 001, neither the guard nor the base of an address is among them. Calls and jumps have
 * none. Returns how many. */
unsigned ptx_power_regs(const struct ptx_inst *in, int32_t reg[PTX_POWER_REGS]);

/* New empty instruction with nops operands from the module's arena. */
struct ptx_inst ptx_inst_new(struct ptx_module *m, enum ptx_op op, unsigned nops);
/* A fresh register of that type; its index. */
int32_t ptx_reg_new(struct ptx_func *f, enum ptx_type type);
/* A fresh label; its index. The LABEL instruction is the caller's to insert. */
int32_t ptx_label_new(struct ptx_func *f);
/* Whether the suffixes, of an instruction that keeps them as text, have this word. */
bool ptx_inst_has(const struct ptx_inst *in, const char *word);
/* An instruction without modifiers has this. */
extern const uint16_t ptx_no_mods[PTX_NMODGROUPS];
/* Gives the instruction modifiers of its own that differ in one group. */
void ptx_set_mod(struct ptx_module *m, struct ptx_inst *in, unsigned group, unsigned mod);
/* Deep copy of n operands into the module's arena. */
struct ptx_operand *ptx_operands_dup(struct ptx_module *m, const struct ptx_operand *ops,
                                     size_t n);

/* Frees what a function keeps outside the arena: of its body but the registers, or all. */
void ptx_body_free(struct ptx_func *f);
void ptx_func_free(struct ptx_func *f);
void ptx_module_free(struct ptx_module *m);

#endif
