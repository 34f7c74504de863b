/* exec_int.h: what the executor's files share. Private to src/exec.
 *
 * A warp's storage is one block of memory: the register rows of every function of the
 * program, then its predicates, then its parameter words, then rows of special registers.
 * An operand is a 32-bit reference: an offset into that block, or, with REF_CONST, into
 * the program's block of constant rows. */
#ifndef ALLOT_EXEC_EXEC_INT_H
#define ALLOT_EXEC_EXEC_INT_H

#include "base/bitset.h"
#include "base/vec.h"
#include "analysis/scratchpad.h"
#include "base/inline.h"
#include "exec/exec.h"
#include "exec/threaded/threaded.h"

#define REF_CONST 0x80000000u
#define REF_NONE 0xffffffffu
#define FULL_MASK 0xffffffffu

/* Lanes in a mask; nearly always all of them. */
ALWAYS_INLINE uint32_t
lanes_in(uint32_t mask)
{
    return mask == FULL_MASK ? LANES : (uint32_t)__builtin_popcount(mask);
}

struct decoder;
struct exec_inst;
/* Executes one decoded instruction for the lanes of `mask` (never 0). w->pc is already
 * that of the next instruction. */
typedef enum exec_result exec_fn(struct exec_warp *w, const struct exec_inst *in,
                                 uint32_t mask, struct exec_step *s);

enum inst_flags {
    IF_GUARD = 1,
    IF_GUARD_NEG = 2,
    IF_SIGNED = 4,      /* loaded value is sign-extended */
    IF_ACCESS = 8,      /* reads or writes memory through an address */
    IF_BASE32 = 16,     /* base register has 32-bit lanes */
    IF_FRAME = 32,      /* address is relative to the current local frame */
    IF_FUNC_PARAM = 64, /* parameter words of a function: rows, not an address */
    IF_COPY = 128,      /* with IF_ACCESS: the plan begins with a record that has the
                         * address (cp.async: the scratchpad's) */
    IF_TILE = 256,      /* a matrix is accessed: exec_tile.c knows the addresses */
    IF_WRAP = 512,      /* addresses have 32 bits: base + offset is taken modulo 2^32 */
    IF_CLUSTER =
        1024, /* of space SHARED: the scratchpads of the cluster, not the own alone */
};

struct exec_inst { /* one cache line */
    exec_fn *fn;
    union {
        lane_fn *lane;
        int64_t off;      /* memory: added to the base */
        const void *plan; /* calls and other rare things */
        uint64_t value;
    };
    uint32_t guard; /* predicate's reference, with IF_GUARD */
    union {
        struct {
            uint32_t d[2], s[4];
        };
        struct {
            uint32_t base;    /* REF_NONE: no base register */
            uint32_t data[4]; /* vector elements; REF_NONE: sink. atom: dst, b, c */
            uint16_t dwide;   /* bit i: data[i] has 64-bit lanes */
            uint16_t dhalf;   /* bit i: data[i] is a 16-bit register */
        };
    };
    union {
        uint32_t aux;    /* for the lane function */
        uint32_t target; /* pc */
        uint32_t slot;   /* memory: range cache */
    };
    uint32_t reconv;
    uint16_t flags; /* enum inst_flags */
    uint8_t space;  /* memory: enum ptx_space, NONE: generic */
    uint8_t esize; /* memory: bytes of an element; others: row bytes of the destination */
    uint8_t nvec;  /* memory: elements; lane functions: sources */
    uint8_t sub;   /* which operation (atom, vote, shfl, ...) */
    uint8_t type;  /* enum ptx_type */
    uint8_t cache;
    uint8_t kind; /* memory: 1 load, 2 store, 3 atomic */
    uint8_t form; /* enum inst_form */
};
_Static_assert(sizeof(struct exec_inst) == 64, "one cache line");

enum { MEM_LOAD = 1, MEM_STORE = 2, MEM_ATOMIC = 3 };

/* What functional mode may do with an instruction (threaded.c). */
enum inst_form {
    FORM_STEP,   /* may change path, state or counts: by exec_step */
    FORM_PURE,   /* reads and writes registers and can do nothing else */
    FORM_LANE,   /* PURE: `lane`, one destination, at most three sources */
    FORM_MOV32,  /* PURE: a row of 32-bit lanes */
    FORM_MOV64,  /* PURE: a row of 64-bit lanes */
    FORM_SET,    /* PURE: `value` in all lanes of data[0]; base: 4 or 8 bytes */
    FORM_WARP,   /* PURE while no other path waits */
    FORM_MEMORY, /* accesses memory and may fault */
    FORM_BRA,    /* goes to `target` */
};

/* A path of the SIMT stack: lanes that go on at pc until rpc. */
struct exec_path {
    uint32_t pc, rpc, mask;
    bool blocked; /* waits at pc for sibling lanes (simt_gather) */
};

struct call_plan;
struct exec_frame {
    uint32_t base;       /* stack entries below belong to the callers */
    uint32_t mask;       /* lanes that were called */
    uint32_t local_base; /* the caller's */
    const struct call_plan *plan;
    const struct func_info *callee;
    uint8_t *saved; /* the callee's rows of an outer activation, NULL: there is none */
};

struct exec_barrier {
    uint32_t arrived;         /* warps */
    uint32_t expected;        /* warps; 0: all that live */
    uint64_t waiting;         /* warps, a bit each */
    uint32_t popc, and_, or_; /* bar.red so far */
    bool used;
};

struct mem_range {
    uint64_t lo, last; /* an access may start at [lo, last] of a live allocation; lo >
                        * last: none */
};

/* A warp's turn by quick records. The first part is the block's. */
struct quick_run {
    const struct quick *code;     /* the program's, by pc */
    const struct exec_inst *inst; /* likewise */
    quick_enter *enter;
    struct mem_range *range; /* of the block's priv */
    const uint8_t *params;
    uint8_t *shared, *global; /* plus address: the byte */
    uint64_t shared_bytes;
    struct foot *foot; /* accesses to global memory are taken down; NULL: they are not */
    struct exec_step *step;
    struct exec_warp *w;
    const struct quick *from; /* since the last jump */
    const struct quick *join; /* where the path ends */
    const struct quick *stop; /* where the records from `from` on end */
    uint64_t left;            /* instructions, from `from` on */
    uint64_t off; /* lanes that guards have turned off, over all instructions */
    enum exec_result result; /* of an instruction that faulted */
};

/* Virtual blocks (exec_turns.c) that wrote a byte: the last one, and a bit for each. */
struct byte_owner {
    uint8_t last, ever;
};

struct exec_cta_priv {
    struct exec_barrier bar[EXEC_BARRIERS + 1];
    struct guard_reads guard;     /* of all blocks this storage has held */
    struct mem_range *range;      /* one per memory instruction: where it last hit */
    uint64_t generation;          /* of the device memory when `range` was filled */
    uint8_t *rows;                /* all warps' rows */
    uint64_t list[EXEC_MAX_LIST]; /* of the last texture instruction */
    struct quick_run quick;
    struct byte_owner *owner;    /* of each byte of scratchpad; NULL: not looked at */
    VEC(struct exec_job) jobs;   /* of the last instruction */
    VEC(struct exec_span) spans; /* theirs */
    struct exec_cluster
        *alone;   /* a cluster of this block alone; NULL: not asked for yet */
    bool started; /* a block, so rows of special registers are filled */
    struct exec_strangers strangers; /* of all blocks this storage has held */
};

/* -- decoded program, private part -- */

struct var_place { /* where a .param or .local variable or a .reg parameter of a function
                      is */
    const struct ptx_var *var;
    uint64_t at; /* .local: frame offset; .param, .reg: row reference */
};

struct func_info {
    const struct ptx_func *f;
    uint32_t index; /* in the program */
    uint32_t entry_pc, end_pc;
    uint32_t reg_base;   /* scoreboard number of its register 0 */
    uint32_t *reg_ref;   /* row reference of each register */
    uint32_t stack_base; /* of a callee: physical registers of the kernel below its own */
    uint32_t region, region_bytes; /* its part of a warp's rows */
    uint32_t local_bytes;
    VEC(struct var_place) place;
    struct var_place *hash; /* the same by pointer, open addressing */
    uint32_t nhash;
    struct cfg *cfg;
    uint32_t cc; /* reference of its carry flag CC.CF */
    struct param_spill *spill;
    uint32_t nspill;
    uint32_t *pc_of; /* of each body instruction: first pc at or behind it */
};

struct sreg_row {
    uint32_t ref;
    uint16_t sreg;
    uint8_t comp;
};

/* A copy of a call: argument to formal parameter, or result back. */
enum {
    MOVE_PARAM, /* parameter words: rows of 32 lanes */
    MOVE_REG32,
    MOVE_REG64,
    MOVE_PRED
};

struct call_move {
    uint32_t from, to, bytes;
    uint8_t from_kind, to_kind;
};

struct call_plan {
    const struct func_info *callee, *caller;
    uint32_t nin, nout;
    struct call_move *in, *out;
    /* Call through a register: a plan for each function it may reach. */
    uint32_t target_ref;
    bool target_wide;
    uint32_t ncand;
    const struct call_plan **cand;
    uint64_t handle; /* function address that means this candidate */
};

struct param_spill { /* parameter whose address is taken: copied to local memory */
    const struct ptx_var *var;
    uint32_t row, local, bytes;
};

struct brx_plan {
    uint32_t n;
    uint32_t target[];
};

struct zero_row {
    uint32_t ref, bytes;
};

/* A row of constants. */
struct decode_const_row {
    uint32_t at, bytes, hash;
    uint32_t next; /* of the same slot: its number + 1, 0: none */
};

struct prog_priv {
    struct arena mem;
    VEC(struct func_info *) funcs;
    uint8_t *consts; /* constant rows */
    uint32_t const_bytes, const_cap;
    VEC(struct decode_const_row) const_rows; /* and a hash table over them: numbers + 1 */
    uint32_t *const_slots, const_nslots;
    uint32_t region_top; /* end of the functions' regions in a warp's rows */
    VEC(struct sreg_row) sregs;
    uint32_t nslots;     /* memory range caches */
    struct quick *quick; /* by pc */
    quick_enter *enter;
    VEC(struct scratch_var) shared_vars;
    bool shared_gaps; /* there are bytes between them that are no variable's */
    bool has_calls, has_dynamic, has_alloca;
    struct matrix_places *places;   /* of the fragments in use (exec_matrix.c) */
    VEC(struct zero_row) zero_rows; /* the kernel's, that may be read before written */
};

/* Which element of a matrix each place of a fragment holds: see struct fragment. */
struct matrix_places {
    uint64_t key;
    uint16_t *at;
    struct matrix_places *next;
};

/* -- clusters (exec_cluster.c) -- */

/* They take their places, all of them; NULL is allowed. */
void exec_cluster_start(struct exec_cluster *k);
/* The block in whose scratchpad an address of the window of shared memory lies as w sees it,
 * and the place there; NULL: no block of that rank. */
struct exec_cta *exec_shared_owner(const struct exec_warp *w, uint64_t addr,
                                   uint64_t *at);
/* Threads of w, whose block is in a cluster, have ended. */
void exec_cluster_exit(struct exec_warp *w, struct exec_step *s);
/* Who waits at barrier.cluster, in words; false: nobody. first: nothing was said before. */
bool exec_cluster_explain(const struct exec_cta *c, bool first, struct strbuf *out);
bool decode_cluster_barrier(struct decoder *d);
/* Rows with SUFFIXES (opcodes.def), whatever their mnemonic. */
bool decode_suffixed(struct decoder *d);

/* -- quick records (threaded.c) -- */

/* Makes them, with the handlers of an instruction set; NULL: the fastest. */
void quick_decode(struct exec_prog *p, const char *variant);
/* The block's part of its quick_run. */
void quick_start(struct exec_cta *c);
/* Runs a warp for at most n instructions, as exec_step would. */
enum exec_result quick_turn(struct exec_warp *w, struct exec_step *s, uint64_t n);

/* -- check -- */

/* The launch is held against the analyses, if its program is (observer.h). */
void exec_check_watch(struct exec_grid *g);
/* The block has got the part of its scratchpad that it allocates: it holds nothing yet. */
void exec_check_taken(struct exec_cta *c);
void exec_check_free(struct exec_check *k);

/* -- turns of virtual blocks (exec_turns.c) -- */

/* How deep a virtual block of the kernel is; 0: it has none. */
uint32_t exec_turns_depth(const struct ptx_func *f);
void exec_turns_start(struct exec_cta *c);
/* Notes what the lane writes. The virtual block that overwrote what it reads, -1: none. */
int exec_turns_access(struct exec_warp *w, const struct exec_access *a, unsigned lane,
                      uint32_t depth);

/* -- races between the warps of a block (exec_races.c) -- */

struct race_watch;
/* Are blocks of this launch to be watched? Once at its start. */
bool races_begin(const struct exec_grid *g);
/* Is this one? */
bool races_wanted(const struct exec_grid *g, uint32_t block);
/* For one block at a time; NULL is made, and returned. */
struct race_watch *race_watch_block(struct race_watch *r, const struct exec_cta *c);
void race_watch_free(struct race_watch *r); /* NULL is allowed */
/* The block being watched; NULL: none any more. */
const struct exec_cta *race_watched(const struct race_watch *r);
/* What the block that is watched has to show. */
extern const struct exec_observer race_watch_observer;
/* The block has ended, or its launch: what was found goes over to the grid, which counts
 * the instructions watched. */
void race_watch_end(struct race_watch *r, struct exec_grid *g);
/* The same, and it is forgotten. */
void race_watch_drop(struct race_watch *r); /* NULL is allowed */
/* What was found in a part of the blocks, that ran for `part`. */
void races_merge(struct exec_grid *g, const struct exec_grid *part);
/* The launch is over. */
void races_end(struct exec_grid *g);

/* -- observers (observer.c) -- */

void observer_launch_start(struct exec_grid *g);
void observer_launch_end(struct exec_grid *g);
void observer_block_start(struct exec_cta *c);
void observer_block_end(struct exec_cta *c);
/* exec_step before the eyes of the grid's watches and of the block's own, if any. */
enum exec_result observer_step(struct exec_warp *w, struct exec_step *s,
                               const struct exec_watch *own);

/* -- blocks in several host threads (exec_blocks.c) -- */

/* Is this grid to be run so? watching: as races_begin said. */
bool exec_team_begin(struct exec_grid *g, bool watching);
/* Runs some of the blocks from `done` on, which is not 0; returns how many, 0: those up
 * to exec_team_in_turn's answer have to run one after another. */
uint64_t exec_team_wave(struct exec_grid *g, uint64_t done, uint64_t blocks);
uint64_t exec_team_in_turn(const struct exec_grid *g, uint64_t done, uint64_t blocks);
void exec_team_end(struct exec_grid *g);
/* A block, or a cluster of them by its first one, that runs together. */
struct exec_cta *exec_unit_new(struct exec_grid *g, struct exec_log *log);
void exec_unit_free(struct exec_cta *c); /* NULL is allowed */
void exec_unit_start(struct exec_cta *c,
                     uint32_t id); /* number of the block or cluster */
bool exec_unit_lives(const struct exec_cta *c);
/* Runs such a unit in its turn; false: it faulted or has not ended. */
bool exec_run_block(struct exec_grid *g, struct exec_cta *c, uint32_t id,
                    struct exec_step *s, bool watching, struct race_watch **watch);

/* An access to global memory that takes effect at once is taken down before it does.
 * False: it cannot be, and must not be made. */
struct foot;
enum foot_kind { FOOT_READ = 1, FOOT_WRITE = 2, FOOT_REDUCE = 4 };
bool exec_foot_range(struct foot *f, uint64_t addr, uint64_t bytes, enum foot_kind kind);
bool exec_foot_lanes(struct foot *f, uint32_t mask, const uint64_t *a, unsigned bytes,
                     enum foot_kind kind);

/* -- image -- */

struct image_var { /* where a variable is (the module itself is shared and read only) */
    const struct ptx_var *var;
    uint64_t addr; /* .global: device address; .const: offset in the bank */
    bool own;      /* of an alias that borrows the others: its own memory */
};

struct exec_image {
    struct ptx_module *m;
    struct dev_mem *mem;
    uint64_t const_addr; /* device address of the constant bank, 0: none */
    uint64_t const_bytes;
    bool borrowed; /* the memory is another image's */
    uint8_t sums;  /* enum machine_tensor_sums */
    VEC(struct image_var) vars;
};

/* Address of a .global or .const variable in its space (image.c). */
bool image_address(const struct exec_image *im, const struct ptx_var *v, uint64_t *addr);
uint64_t image_function(const struct exec_image *im, const struct ptx_func *f);
/* The function that such a number stands for, NULL: none. */
const struct ptx_func *image_function_at(const struct exec_image *im, uint64_t handle);

static inline uint32_t
align_to(uint32_t n, uint32_t a)
{
    return (n + a - 1) / a * a;
}

/* -- access to operands -- */

ALWAYS_INLINE void *
row(const struct exec_warp *w, uint32_t ref)
{
    return (uint8_t *)(ref & REF_CONST ? w->consts : w->regs) + (ref & ~REF_CONST);
}

/* -- decoding: each file of handlers brings rows of these -- */

struct decoder {
    struct exec_image *im;
    struct exec_prog *p;
    struct prog_priv *pp;
    struct diag_sink *diag;
    bool failed;
    /* current function and instruction */
    struct func_info *fi;
    const struct ptx_inst *in;
    struct exec_inst *out;
    struct exec_static *st;
    uint32_t pc;
    struct { /* the operands noted so far (decode_inst) */
        struct exec_operand v[EXEC_MAX_OPERANDS];
        unsigned n, npower;
        int32_t power[PTX_POWER_REGS]; /* registers that power states are written for */
        bool stated[PTX_POWER_REGS];
    } note;
    uint16_t ret_op;                        /* enum ptx_op of ret */
    bool (*fn[PTX_NOPS])(struct decoder *); /* of each opcode met: who decodes it */
};

/* Fills d->out; false: refused (a diagnostic was given). */
typedef bool decode_fn(struct decoder *d);
struct decode_row {
    const char *mnemonic;
    decode_fn *fn;
};
extern const struct decode_row decode_memory[], decode_control[], decode_warp[],
    decode_texture[], decode_async[], decode_stack[], decode_video[], decode_tensor[],
    decode_tile[], decode_lop3[], decode_mbarrier[], decode_cluster[],
    decode_wgmma[];

/* Why the modifiers and types do not go together; NULL: they do, or a lane function's
 * rules (lanes.c) decide. */
const char *decode_illegal(const struct ptx_inst *in);
extern const char decode_no_form[]; /* what is said of those */
bool decode_refuse(struct decoder *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Elements of a list in braces or of a whole vector register (else 1), and each of them.
 */
unsigned decode_elements(const struct decoder *d, const struct ptx_operand *o);
struct ptx_operand decode_element(const struct decoder *d, const struct ptx_operand *o,
                                  unsigned e);
/* Reference of an operand used as `type` (0: a predicate). Constants become rows. Negated
 * predicates are allowed only for constants; others: see decode_pred. REF_NONE and a
 * diagnostic where it is not an operand for a row. */
uint32_t decode_operand(struct decoder *d, const struct ptx_operand *o, unsigned type);
/* The same for a register row whatever type it has; *wide: 64-bit lanes. */
uint32_t decode_row(struct decoder *d, const struct ptx_operand *o, unsigned type,
                    bool *wide);
uint32_t decode_const_row(struct decoder *d, uint64_t value, unsigned bytes);
uint32_t decode_const_pred(struct decoder *d, uint32_t mask);
/* Type of a register operand, 0: no register. */
unsigned decode_operand_type(const struct decoder *d, const struct ptx_operand *o);
/* The value of a constant operand as `type` sees it. */
bool decode_const_value(const struct decoder *d, const struct ptx_operand *o,
                        unsigned type, uint64_t *v);
bool decode_find_place(const struct func_info *fi, const struct ptx_var *v, uint64_t *at);
/* The scratchpad offset of v. */
bool decode_find_shared(const struct prog_priv *pp, const struct ptx_var *v,
                        uint64_t *at);
decode_fn decode_pure; /* an instruction that is a lane function (decode.c) */

/* The record of a function of the program; NULL: it has no body. */
const struct func_info *decode_func(struct decoder *d, const struct ptx_func *f);
/* Steps of exec_decode (decode_layout.c). */
void decode_collect(struct decoder *d);
bool decode_layout_shared(struct decoder *d);
bool decode_layout_func(struct decoder *d, struct func_info *fi);
/* Whether any modifier reads so. */
bool decode_has(const struct ptx_inst *in, const char *text);
decode_fn decode_warp_sync; /* bar.warp.sync (exec_warp.c) */

/* The address a symbol stands for, in its own space; *frame: add the local frame's start.
 */
bool decode_symbol(struct decoder *d, const struct ptx_operand *o, uint64_t *v,
                   bool *frame);
int decode_atom_op(const struct ptx_inst *in); /* AT_..., -1: none */

enum { AT_ADD, AT_AND, AT_OR, AT_XOR, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_EXCH, AT_CAS };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { MATCH_ANY, MATCH_ALL };
enum { SCRATCH_ALLOC, SCRATCH_FREE };
enum { BAR_SYNC, BAR_ARRIVE, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };

/* A value on one side of a call (exec_control.c). */
uint64_t exec_move_get(const struct exec_warp *w, const struct call_move *m,
                       unsigned lane);
void exec_move_put(struct exec_warp *w, const struct call_move *m, unsigned lane,
                   uint64_t v);
/* Operand o of a call, as what `formal` wants: where it is. */
bool decode_call_side(struct decoder *d, const struct ptx_operand *o,
                      const struct ptx_var *formal, uint32_t *ref, uint8_t *kind,
                      uint32_t *bytes);
/* -- textures and surfaces (exec_tex.c, exec_surf.c) -- */

struct tex_coords {
    uint8_t dims, ncoords; /* of the image; three coordinates find a place of a cube */
    bool cube;
    uint32_t layer, coord[3]; /* rows, REF_NONE: none */
};
/* A texture, sampler or surface: reference, register, or one of them in brackets. */
bool decode_handle(struct decoder *d, const struct ptx_operand *o, uint32_t *ref,
                   bool *wide);
/* Coordinates by the instruction's geometry. */
bool decode_geometry(struct decoder *d, struct tex_coords *c, const struct ptx_operand *o,
                     unsigned type);
decode_fn decode_surface;
/* The object behind a handle; NULL after a fault. */
struct tex_object;
const struct tex_object *tex_object_of(struct exec_warp *w, const struct exec_inst *in,
                                       unsigned lane, uint64_t handle, unsigned want);

/* -- 128 bits (exec_wide.c): both halves of a register -- */
bool decode_wide(struct decoder *d, const struct ptx_operand *o, uint32_t ref[2]);
bool decode_atom128(struct decoder *d, unsigned op);
decode_fn decode_mov128;
/* Row of a register of any size (of 128 bits the low half's). */
uint32_t decode_register(struct decoder *d, const struct ptx_operand *o);

/* A call of a function without a body (exec_builtin.c). */
bool decode_builtin(struct decoder *d, const struct ptx_func *f,
                    const struct ptx_operand *ins, unsigned nin,
                    const struct ptx_operand *outs, unsigned nout);

/* -- SIMT stack and warps (exec_control.c, exec.c) -- */

void simt_reconverge(struct exec_warp *w, struct exec_step *s);
void simt_exit(struct exec_warp *w, uint32_t lanes, struct exec_step *s);
void simt_ret(struct exec_warp *w, uint32_t lanes, struct exec_step *s);
bool simt_gather(struct exec_warp *w, const struct exec_inst *in, uint32_t want,
                 struct exec_step *s);
void exec_barrier_exit(struct exec_warp *w, struct exec_step *s);
/* The lanes of the warp that come to a barrier together, 0: others are still on their way. */
uint32_t exec_gather(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                     struct exec_step *s);

enum { MAX_LOCAL = 512 * 1024 }; /* bytes of local memory of a thread */
/* Makes room for at least that many bytes of local memory a thread. */
void exec_warp_local_grow(struct exec_warp *w, uint32_t bytes);
static inline uint32_t *
warp_tops(const struct exec_warp *w)
{
    return w->tops + (size_t)w->depth * LANES;
}

/* -- member masks (exec_members.c) -- */

/* The groups of lanes that name the same member mask, one after another. */
struct members {
    const uint32_t *mask_row; /* of each lane; NULL: all name all */
    uint32_t executing, rest; /* rest: lanes whose group is still to come */
    uint32_t lanes, who; /* of this group: who gets the answer, who it is made from */
};
/* The next group; false: there is none. What a group's lanes write may overwrite the row. */
bool members_next(struct members *g);
/* Notes lanes of `mask` that their own member masks m[] do not name. */
void members_check(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                   const uint32_t *m);
/* What the block noted goes to the grid; NULL: is forgotten. */
void members_hand_over(struct exec_cta *c, struct exec_grid *g);

/* -- faults (exec_fault.c): each returns EXEC_FAULT -- */

enum exec_result exec_fault(struct exec_warp *w, const struct exec_inst *in,
                            unsigned lane, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The access of `lane` at addr (in `space`) is not allowed: finds out why, and says so.
 */
enum exec_result exec_fault_memory(struct exec_warp *w, const struct exec_inst *in,
                                   unsigned lane, unsigned space, uint64_t addr);
/* "shared memory, byte 4 (x)", "global memory at 0x10000100 (parameter 1, 'out')". */
void exec_print_place(const struct exec_grid *g, unsigned space, uint64_t addr,
                      struct strbuf *out);
/* The instruction in the module; NULL: none is known. */
const struct ptx_inst *exec_ptx_inst(const struct exec_prog *p, uint32_t pc);
/* What is allocated near a global address, in words. */
void exec_fault_near(const struct exec_grid *g, uint64_t addr, uint64_t bytes,
                     struct strbuf *out);
/* pc of the instruction; records within a plan are not the program's: theirs was the
 * last. */
uint32_t exec_inst_pc(const struct exec_warp *w, const struct exec_inst *in);

#endif
