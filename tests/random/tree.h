/* tree.h: what the generator makes, the printer prints and the evaluator runs. */
#ifndef TESTS_RANDOM_TREE_H
#define TESTS_RANDOM_TREE_H

#include "random.h"

#include "base/arena.h"
#include "base/splitmix.h"

#include <stdio.h>
#include <stdlib.h>

/* A mistake of the generator; checked in every build. */
#define RK_MUST(x)                                                                       \
    do {                                                                                 \
        if (!(x)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x);        \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* Classes of registers: predicates, 16, 32, 64 bits, f32, f64. */
enum rk_class { RK_P, RK_H, RK_W, RK_D, RK_F, RK_G, RK_CLASSES };

/* -- tables -- */

/* One row of ops.def. */
struct rk_op {
    const char *text;    /* mnemonic, or a template with $d $e $a $b $c */
    const char *classes; /* "D:AB" as in ops.def */
};
extern const struct rk_op rk_ops[];
extern const unsigned rk_nops;
unsigned rk_op_find(const char *text, const char *classes);

/* A type in memory and the register that holds it. */
struct rk_type {
    const char *name;
    uint8_t bytes, cls;
    bool is_signed; /* wider registers are sign-extended */
};
extern const struct rk_type rk_types[];
extern const unsigned rk_ntypes;

struct rk_atom {
    const char *name;
    uint8_t bytes, cls, sources;
    bool commutes; /* with itself, if the second source is the same for all (inc) */
};
extern const struct rk_atom rk_atoms[];
extern const unsigned rk_natoms, rk_ncommuting; /* those that commute come first */
enum { RK_INC_LIMIT = 1000 };

enum rk_warp {
    RK_SHFL_UP,
    RK_SHFL_DOWN,
    RK_SHFL_BFLY,
    RK_SHFL_IDX,
    RK_ALL,
    RK_ANY,
    RK_UNI,
    RK_BALLOT,
    RK_MATCH_ANY32,
    RK_MATCH_ANY64,
    RK_MATCH_ALL32,
    RK_REDUX_ADD,
    RK_REDUX_MIN,
    RK_REDUX_MAX,
    RK_REDUX_UMIN,
    RK_REDUX_UMAX,
    RK_REDUX_AND,
    RK_REDUX_OR,
    RK_REDUX_XOR,
    RK_WARP_BARRIER,
    RK_WARPS
};

enum rk_barrier {
    RK_BAR_SYNC,
    RK_BARRIER_SYNC,
    RK_BAR_ID,
    RK_BAR_POPC,
    RK_BAR_AND,
    RK_BAR_OR,
    RK_BARRIERS
};

/* -- statements -- */

struct rk_src {
    bool literal;
    uint32_t var;
    uint64_t value;
};

enum rk_space { RK_IN, RK_SLOT, RK_LOCAL, RK_CONST, RK_TABLE, RK_SHARED, RK_ACC };

/* Access number i of a region is i * unit bytes from its start: i is index modulo half of
 * the number of units in the region, plus that half if `upper`. */
struct rk_addr {
    uint8_t space;
    uint8_t shared; /* which .shared variable; RK_ACC: which accumulators */
    bool whole;     /* RK_SHARED: any thread's part, not only one's own */
    bool upper;
    uint8_t unit;
    uint8_t form;
    uint32_t span; /* bytes of the region, a power of two */
    struct rk_src index;
};

enum rk_kind {
    RK_OP,     /* row: ops */
    RK_LOAD,   /* row: types; n elements */
    RK_STORE,  /* the same */
    RK_ATOM,   /* row: atoms; n == 0: red, with form 1 or 2 a loop of compare and swap */
    RK_GATHER, /* dst[0]: sum of a row of input words; src[0] & n: how many, src[1]: the
                * first index; form 1: each word is the next index */
    RK_WARP,   /* row: enum rk_warp */
    RK_BARRIER,
    RK_IF,     /* guard; body[0], body[1] */
    RK_LOOP,   /* dst[0]: counter from 0 to src[0]; body[0]; form 1: at least once */
    RK_SWITCH, /* src[0] modulo n; body[0..n); form bit i: body i goes on in i + 1 */
    RK_TANGLE, /* a loop of two bodies that lanes of the guard enter at the second:
                * dst[0]: counter, to src[0], at least one trip */
    RK_DEAD,   /* body[0]: code that nothing reaches */
    RK_BREAK,
    RK_CONTINUE,
    RK_CALL,   /* row: function; dst: results, src: arguments */
    RK_RETURN, /* src: results */
    RK_EXIT
};

struct rk_list {
    struct rk_stmt *first, **end;
};

struct rk_stmt {
    struct rk_stmt *next;
    enum rk_kind kind;
    uint16_t row;
    uint8_t n, form;
    bool guard_not;
    int32_t guard; /* a predicate, -1: none */
    uint32_t dst[4];
    int ndst;
    struct rk_src src[4], mask;
    struct rk_addr addr;
    struct rk_list body[4];
};

/* -- functions, kernel -- */

/* Registers of the kernel that it begins with; parameters follow. */
enum { RK_TID, RK_LANE, RK_CTAID, RK_NTID, RK_GTID, RK_MASK, RK_SPECIALS };

enum {
    RK_MAX_VARS = 600,
    RK_MAX_PARAMS = 6,
    RK_MAX_FUNCS = 4,
    RK_MAX_SHARED = 3,
    RK_REGION = 64, /* bytes: of a slot beside its registers, of .local variables */
    RK_TABLE_BYTES = 256,
    RK_GATHER_STEP = 37, /* words */
    RK_ACC_BYTES = 128   /* of each commuting atomic operation */
};

struct rk_func {
    uint8_t cls[RK_MAX_VARS], decl[RK_MAX_VARS]; /* decl: which of the class's types */
    uint32_t nvars;
    uint32_t params[RK_MAX_PARAMS], nparams; /* registers that hold them */
    uint8_t result[2], nresults;             /* classes */
    bool in_struct; /* results are two 8-byte elements of one array */
    uint32_t local_fill;
    struct rk_list body;
    uint64_t cost; /* statements run, about */
};

struct rk_kernel {
    struct arena mem;
    uint32_t blocks, threads;
    struct rk_func *funcs[RK_MAX_FUNCS]; /* [0]: the kernel; i calls only j > i */
    unsigned nfuncs;
    struct {
        uint32_t part, span; /* bytes of a thread's part; power of two <= all parts */
        bool dynamic;
    } shared[RK_MAX_SHARED];
    unsigned nshared;
    uint32_t shared_fill;
    uint64_t scalars[RK_MAX_PARAMS];
    uint32_t *dump, ndump; /* registers that the kernel stores at its end */
    uint32_t slot;         /* bytes of a thread's slot */
    uint64_t data;         /* what memory is filled from */
    bool lines;            /* printed with .loc, as nvcc -lineinfo does */
    uint8_t input[RK_INPUT_BYTES];
    uint8_t constants[RK_TABLE_BYTES], table[RK_TABLE_BYTES];
};

/* Bits of a class; a predicate has one. */
static inline unsigned
rk_bits(unsigned cls)
{
    static const uint8_t bits[] = {1, 16, 32, 64, 32, 64};
    return bits[cls];
}

static inline uint64_t
rk_cut(uint64_t v, unsigned bits)
{
    return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static inline unsigned
rk_class_of(char letter)
{
    static const char letters[] = "PHWDFG";
    for (unsigned c = 0; c < RK_CLASSES; c++)
        if (letters[c] == (letter & ~0x20))
            return c;
    return RK_W; /* B */
}

/* Value of a row of ops.def for one thread; *e: the second destination. */
struct rk_thread {
    uint32_t tid, ctaid, ntid, nctaid;
};
uint64_t rk_op_value(unsigned row, uint64_t a, uint64_t b, uint64_t c, uint64_t *e,
                     const struct rk_thread *t);
/* Value that memory has after an atomic operation on `old`. */
uint64_t rk_atom_value(unsigned row, uint64_t old, uint64_t b, uint64_t c);

#endif
