/* exec.h: the functional machine. A kernel is decoded once (exec_decode); a resident
 * block (exec_cta) holds its warps, registers, scratchpad and barriers; exec_step runs
 * one warp instruction completely and tells what it did. The timing model calls exec_step
 * when it issues an instruction; exec_run_grid calls it in a plain loop (--functional).
 * Neither needs the other. Values are exact per the PTX ISA; see lane.h for those. */
#ifndef ALLOT_EXEC_EXEC_H
#define ALLOT_EXEC_EXEC_H

#include "allot/types.h"
#include "base/diag.h"
#include "exec/lanes/lane.h"
#include "exec/memory/memory.h"
#include "ptx/ir.h"

enum {
    EXEC_MAX_SRC = 26,
    EXEC_MAX_OPERANDS =
        320, /* a product of a warpgroup has 128 results, read and written */
    EXEC_MAX_DST = 8,
    EXEC_ROWS = 12,
    EXEC_INST_BYTES = 8,
    EXEC_BARRIERS = 16,
    EXEC_BARRIER_SCRATCH = EXEC_BARRIERS, /* where scratchalloc and scratchfree meet */
    EXEC_BARRIER_CLUSTER,                 /* barrier.cluster */
    EXEC_MAX_LIST = 256,
    EXEC_CLUSTER_BLOCKS = 16
};
#define EXEC_NO_PC UINT32_MAX

/* -- decoded program: immutable, shared by all warps -- */

/* What an instruction does with the warp's asynchronous copies. */
enum exec_copy {
    COPY_NONE,
    COPY_COMMIT,      /* the copies since the last commit are a group */
    COPY_WAIT,        /* until all groups but the last copy_n are there */
    COPY_WAIT_ALL,    /* until all copies are there */
    COPY_ARRIVE,      /* arrives at an mbarrier when all copies so far are there */
    COPY_BULK_COMMIT, /* the bulk stores since the last commit are a group */
    COPY_BULK_WAIT,   /* until all bulk groups but the last copy_n are complete */
    COPY_BULK_READ    /* until their sources have been read */
};

/* What an instruction has to do with products in flight (wgmma), or with the registers that the
 * block's warps share (setmaxnreg). */
enum exec_product {
    PRODUCT_NONE,
    PRODUCT_START,         /* of product_bytes from scratchpad */
    PRODUCT_FENCE,         /* the registers before it are written */
    PRODUCT_COMMIT,        /* the products since the last commit are a group */
    PRODUCT_WAIT,          /* until all groups but the last product_n are complete */
    PRODUCT_REGISTERS_DEC, /* the warp keeps product_bytes registers a thread */
    PRODUCT_REGISTERS_INC  /* it waits until the block has so many for it */
};

/* One register of an operand, as written: a register that comes twice has two, a 64-bit one
 * a record for each 32-bit register that it covers where registers are allocated. */
enum exec_role { EXEC_READS, EXEC_WRITES, EXEC_GUARD };
struct exec_operand {
    uint16_t reg;   /* number, as in exec_static.src and dst */
    uint16_t place; /* 1 + physical register; 0: predicate, or registers are virtual */
    uint8_t role;   /* enum exec_role */
    uint8_t
        power; /* note of the compiler: enum ptx_power; PTX_POWER_NONE: none written */
};

/* What the timing model knows of an instruction. Registers are the function's (for calls:
 * made unique over the program) virtual or physical numbers, the guard included. */
struct exec_static {
    uint8_t unit;      /* enum ptx_unit */
    uint8_t latency;   /* enum ptx_latency */
    uint8_t expansion; /* row of ptx_expansions */
    uint8_t nsrc, ndst;
    uint8_t nother; /* operands that are no registers */
    uint16_t src[EXEC_MAX_SRC], dst[EXEC_MAX_DST];
    const struct exec_operand *operand; /* noperands: reads first, unmerged */
    uint16_t noperands;
    uint8_t space; /* enum ptx_space as written; NONE: generic or no memory instruction */
    bool is_load, is_store, is_atomic, is_barrier, is_exit, is_jump, is_fence;
    bool orders;   /* synchronises memory: fence, atomic, mbarrier, cp.async, volatile and
                    * stronger accesses */
    bool guarded;  /* src[0] is the guard predicate (operand collectors do not read it) */
    uint8_t cache; /* enum ptx_mod of group CACHE, 0: default */
    uint8_t copy, copy_n;       /* enum exec_copy */
    uint8_t product, product_n; /* enum exec_product */
    uint16_t product_bytes;
    uint16_t
        work; /* of a matrix product, in sixteenths of m16n8k16 with 16-bit factors */
    /* Lines of 64 bytes of a warp's registers that it reads and writes: the first of
     * them, if there are more. */
    uint16_t rows[EXEC_ROWS];
    uint8_t nrows;
    uint32_t line, col; /* PTX source */
    uint16_t op;        /* enum ptx_op */
};

struct exec_orders;
struct exec_inst; /* the dense record with handler and resolved operands, private */

struct exec_prog {
    const struct ptx_func *entry;
    uint32_t ninst; /* instructions, pseudo ones left out; pc = index */
    struct exec_inst *inst;
    struct exec_static *st; /* st[pc] */
    uint32_t nregs;         /* registers numbered 0..nregs-1 for the scoreboard */
    uint32_t row_bytes;     /* register storage of one warp */
    uint32_t static_shared; /* scratchpad bytes declared by kernel and callees */
    uint32_t local_bytes;   /* local memory of a thread, call frames excluded */
    uint32_t dynamic_base;  /* scratchpad offset of extern .shared x[] arrays */
    uint32_t param_bytes;   /* kernel parameter block */
    uint32_t alloc_from,
        alloc_bytes;       /* that scratchalloc takes; 0 bytes: there is none */
    uint32_t alloc_pc;     /* of the first one */
    uint64_t code_address; /* where the code lies, for the instruction cache */
    bool in_order;         /* no exec_log: see there */
    bool in_turn;          /* its blocks run one after another: exec_blocks.c */
    bool bulk;             /* it has bulk or tensor copies, st.async or red.async */
    uint16_t reduction;    /* integer operation of all reductions, 0: none or several */
    struct exec_check *check; /* NULL: accesses are not held against the analyses */
    struct exec_image *image; /* module image: constant bank, globals, symbol addresses */
    void *priv;
};

/* 1 + the highest physical register that the instruction reads or writes; 0: none. */
static inline unsigned
exec_top_register(const struct exec_static *st)
{
    unsigned top = 0;
    for (unsigned i = 0; i < st->noperands; i++)
        top = st->operand[i].place > top ? st->operand[i].place : top;
    return top;
}

/* -- module image: globals and constants laid out in device memory -- */
struct exec_image;
/* Lays out and initialises the module's .global and .const variables in `mem`. NULL and a
 * diagnostic on failure. The module must outlive the image. */
struct exec_image *exec_image_new(struct ptx_module *m, struct dev_mem *mem,
                                  struct diag_sink *diag);
/* The same memory seen by `m`, a changed copy of the image's module: variables are found
 * by name; global ones that the copy alone has get memory of their own. NULL and
 * a diagnostic if there is none. `of` must outlive it. */
struct exec_image *exec_image_alias(const struct exec_image *of, struct ptx_module *m,
                                    struct diag_sink *diag);
/* How kernels that are decoded from now on add the products of matrices: an enum
 * machine_tensor_sums. A new image has SUMS_AMPERE, an alias what `of` has. */
void exec_image_sums(struct exec_image *im, unsigned sums);
void exec_image_free(struct exec_image *im);
/* Device address and size of a module variable; false if there is none of that name. */
bool exec_image_symbol(const struct exec_image *im, const char *name, uint64_t *addr,
                       uint64_t *size);

/* Handle of a module's texture, surface or sampler reference (texture.h). */
bool exec_image_ref(const struct exec_image *im, const char *name, uint64_t *handle);

/* Decodes kernel `f`. Refuses, with a diagnostic naming instruction and line, what it
 * cannot run: after this nothing is unsupported in mid-run. NULL on failure. */
struct exec_prog *exec_decode(struct exec_image *im, const struct ptx_func *f,
                              struct diag_sink *diag);
void exec_prog_free(struct exec_prog *p);

/* What a card's compiler makes of each instruction where it stands (analysis/fused.h). */
struct exec_fused {
    uint8_t operations; /* 0: an operand, or a part, of another instruction */
    uint8_t in_front;   /* that bring lanes together (analysis/convergence.h) */
    uint8_t part;       /* enum ptx_latency */
    bool moved;         /* a constant that a register has to hold */
    bool scaled;        /* a scratchpad access that shifts its address */
};
/* By pc, in mem. */
struct exec_fused *exec_fusions(const struct exec_prog *p, struct arena *mem);
/* A load that machine code of capability 1.x has as an operand (analysis/fused.h). */
struct exec_operand_load {
    uint32_t reader; /* pc of the instruction that has it; 0: it is no such load */
    bool address;    /* that one reads its address */
};
/* By pc, in mem. */
struct exec_operand_load *exec_operand_loads(const struct exec_prog *p,
                                             struct arena *mem);

/* -- launch -- */
struct exec_dim {
    uint32_t x, y, z;
};

/* Accesses by one instruction in the guard of an allocation (dev_set_guard), and the first
 * of them: of the lowest block, in it of the lowest thread. */
struct guard_read {
    uint32_t pc, block, thread, bytes;
    uint64_t addr, count;
    bool write; /* stores and atomics */
};
struct guard_reads {
    size_t n, cap;
    struct guard_read *v;
};

/* A lane that executed a .sync instruction whose mask, as the lane gave it, does not name
 * that lane: the first of the instruction, of the lowest block, in it of the lowest
 * thread (exec_members.c). */
struct exec_stranger {
    uint32_t pc, block, thread, mask;
};
struct exec_strangers {
    size_t n, cap;
    struct exec_stranger *v;
};

/* Two warps of a block that touched a word without a barrier between them, at least one
 * of them in a store: exec_races.c. The first access and the second. */
struct exec_race {
    bool found;
    uint32_t block;
    uint8_t space; /* enum ptx_space: GLOBAL or SHARED */
    uint64_t addr;
    uint32_t pc[2], warp[2];
    bool store[2];
};

/* Whether races are looked for, over the launches of a kernel. */
struct exec_races {
    bool all;                   /* in every block; else in a sample of them */
    bool found;                 /* one was: no more are looked for */
    uint64_t executed, watched; /* warp instructions so far */
};

/* Checks for kernels (src/exec/checks): what is looked for, and the findings over the
 * launches that share it. lockstep: lanes of a warp execute together (before Volta). */
enum exec_checked { EXEC_CHECK_RACE = 1, EXEC_CHECK_INIT = 2, EXEC_CHECK_SYNC = 4 };
struct exec_checks;
struct exec_checks *exec_checks_new(unsigned which, bool lockstep);
void exec_checks_free(struct exec_checks *k); /* NULL is allowed */
struct exec_grid;
/* They watch the launch (observer.h), and tell of findings as warnings when it is over. For
 * EXEC_CHECK_INIT its memory keeps what is written (dev_watch_writes). */
void exec_checks_watch(struct exec_checks *k, struct exec_grid *g);
/* Different findings so far. */
size_t exec_checks_found(const struct exec_checks *k);

/* An observer of launches, and whom it serves. */
struct exec_observer;
struct exec_watch {
    const struct exec_observer *on;
    void *user;
};
enum { EXEC_WATCHES = 8 };

struct exec_cta;
struct exec_step;
struct exec_grid {
    const struct exec_prog *prog;
    struct dev_mem *mem;
    struct exec_dim grid, block;
    uint32_t dynamic_shared;
    uint8_t *params;        /* parameter block, prog->entry->param_bytes */
    uint32_t warps_per_cta; /* ceil(threads / 32) */
    uint32_t nsm;           /* what %nsmid says */
    uint32_t tex_line; /* tex_fetch_address by lines of so many bytes; 0: tex_address */
    uint64_t grid_id;
    const uint64_t *clock; /* what %clock reads; NULL: instructions executed */
    uint64_t *nanoseconds; /* what %globaltimer reads; NULL: clock */
    uint64_t n_warp_inst, n_thread_inst; /* of the launch, when it is over */
    uint64_t limit; /* warp instructions after which exec_run_grid stops; 0: none */
    /* Asked by exec_run_grid every millisecond or so; false stops the grid with an error
     * "interrupted". May be NULL. */
    bool (*keep_going)(void *user, uint64_t blocks_done, uint64_t blocks);
    void *user;
    /* The block under way, for keep_going; NULL: blocks run in several host threads. */
    const struct exec_cta *at;
    uint64_t ask_at; /* n_warp_inst of the next question; exec_run_grid's own */
    /* Cooperative launch: blocks wait for each other, so all must run in turns. */
    bool cooperative;
    struct exec_dim
        cluster;        /* blocks of a cluster, as the launch or the kernel says; x is 0:
                              * neither does, and each block is one */
    uint64_t workspace; /* what %envreg1 (high) and %envreg2 (low) say: where the blocks
                         * of a cooperative launch meet; 0: none */
    /* What printf and failed assertions print; NULL: to stdout. */
    void (*print)(void *user, const char *text, size_t n);
    void *print_user;
    struct exec_orders *orders; /* what its threads launch and copy; NULL: they can not */
    enum allot_failure failure; /* kind of the fault that ended the grid */
    struct diag_sink *diag;     /* faults */
    struct guard_reads guard;   /* once its blocks are freed */
    struct exec_strangers strangers; /* likewise */
    /* exec_run_grid: a warp runs so many instructions before the next one of its block
     * has its turn; 0: until it waits. */
    uint32_t quantum;
    struct exec_races *races;             /* NULL: none are looked for */
    struct exec_race race;                /* the one of the lowest block */
    uint64_t races_watched;               /* instructions in which they were looked for */
    struct exec_team *team;               /* NULL: one host thread */
    struct exec_speculation *speculation; /* with team */
    /* Who looks on in exec_run_grid (observer.h). */
    struct exec_watch watch[EXEC_WATCHES];
    unsigned nwatch;
};

/* -- host threads for exec_run_grid: same memory, counts and diagnostics -- */

/* Waves of blocks of a kernel that ran in several threads (exec_blocks.c). */
struct exec_speculation {
    uint64_t commits, rollbacks;
};
/* NULL: the host gives no threads or address space. */
struct exec_team *exec_team_new(struct dev_mem *mem, unsigned threads);
void exec_team_free(struct exec_team *t); /* NULL is allowed */

/* Warns of the accesses in guards, an instruction a warning, where `tell` says so; forgets
 * them. After the grid has run. */
void exec_guard_warnings(struct exec_grid *g,
                         bool (*tell)(void *user, const char *kernel,
                                      const struct diag_loc *loc),
                         void *user);

/* The same for lanes that their own member masks do not name. tell NULL: forgets only. */
void exec_stranger_warnings(struct exec_grid *g,
                            bool (*tell)(void *user, const char *kernel,
                                         const struct diag_loc *loc),
                            void *user);

/* The same for a race between warps. */
void exec_race_warning(struct exec_grid *g,
                       bool (*tell)(void *user, const char *kernel,
                                    const struct diag_loc *loc),
                       void *user);

static inline uint64_t
exec_block_threads(const struct exec_grid *g)
{
    return (uint64_t)g->block.x * g->block.y * g->block.z;
}

/* Is the size of clusters given? */
static inline bool
exec_explicit_cluster(const struct exec_grid *g)
{
    return g->cluster.x || g->prog->entry->explicit_cluster;
}

/* Blocks of a cluster. */
static inline uint32_t
exec_cluster_blocks(const struct exec_grid *g)
{
    return g->cluster.x ? g->cluster.x * g->cluster.y * g->cluster.z : 1;
}

/* Scratchpad of a block, static and dynamic. */
static inline uint32_t
exec_block_scratchpad(const struct exec_grid *g)
{
    return g->dynamic_shared ? g->prog->dynamic_base + g->dynamic_shared
                             : g->prog->static_shared;
}

/* Checks dims, parameter block and scratchpad against the ISA's limits. */
bool exec_grid_check(const struct exec_grid *g, struct diag_sink *diag);

/* -- resident block -- */
struct exec_warp;

/* What every step needs comes first: one cache line each of warp and block. */
struct exec_cta {
    _Alignas(64) struct exec_grid *grid;
    struct exec_cta_priv *ex; /* the executor's own: barriers, caches, storage */
    struct exec_log *log;     /* NULL: accesses to global memory take effect at once */
    uint8_t *shared;          /* scratchpad contents */
    uint32_t shared_bytes;    /* static + dynamic */
    uint32_t id; /* in the order of dispatch: x + y*nx + z*nx*ny; in clusters of
                               * several blocks the cluster's number times their number, plus
                               * the rank */
    /* Blocks share nothing that changes, so that different ones may run in different host
     * threads: each counts for itself (over all blocks this storage has held) and has a
     * clock and a place for faults, at first the grid's. */
    uint64_t n_warp_inst, n_thread_inst; /* counted by exec_step */
    const uint64_t *clock;
    struct diag_sink *diag;
    enum allot_failure failure; /* kind of its fault */
    struct exec_dim ctaid;
    uint32_t nwarps, nthreads;
    uint32_t live_warps; /* not yet ended */
    bool holds; /* all live threads have executed scratchalloc, and not yet scratchfree */
    struct exec_warp *warp;       /* nwarps of them */
    struct exec_cluster *cluster; /* NULL: of this block alone */
    uint32_t rank;                /* in it */
    struct exec_cluster
        *unit; /* exec_run_grid's own: the clusters that it leads, NULL: none */
    struct exec_patience {
        uint64_t changes, times;
    } patience; /* exec_run_grid's own: how often its warps were let go in vain */
    uint64_t mbarrier_changes; /* what happened to mbarriers in its scratchpad: a count */
    uint32_t slot, sm;         /* free for the timing model; %smid reads sm (set it before
                             * exec_cta_start) */
    void *priv;                /* free for the timing model */
};

/* Blocks that run at the same time and reach each other's scratchpads. */
struct exec_cluster {
    uint32_t n;
    struct exec_cta **cta; /* by rank; one that has ended stays until all have */
    /* barrier.cluster: warps that have not ended, and those of them whose threads have all
     * arrived in this phase. */
    uint32_t live, arrived;
    /* By rank: warps that an event of the cluster let go, a bit each. Whoever gives them
     * time clears them. */
    uint64_t *woken;
    bool any_woken;
};
struct exec_cluster *exec_cluster_new(uint32_t blocks);
void exec_cluster_free(struct exec_cluster *k); /* not the blocks; NULL is allowed */
/* The block, which has just been started, takes its place by its rank. All places are to be
 * taken before the first one runs. */
void exec_cluster_join(struct exec_cluster *k, struct exec_cta *c);

/* Storage for one resident block of this grid, reused for one block after another. */
struct exec_cta *exec_cta_new(struct exec_grid *g);
void exec_cta_start(struct exec_cta *c, uint32_t id); /* fresh state for block `id` */
/* Its %ctaid. */
struct exec_dim exec_block_place(const struct exec_grid *g, uint32_t id);
void exec_cta_free(struct exec_cta *c);

enum exec_warp_state {
    EXEC_READY,    /* next instruction at pc */
    EXEC_BARRIER,  /* waits at a barrier until the executor makes it READY again */
    EXEC_MBARRIER, /* waits for a phase of an mbarrier: exec_mbarrier_resume */
    EXEC_DONE,     /* all threads ended */
};

struct exec_warp {
    _Alignas(64) uint32_t pc; /* of the next instruction */
    uint32_t active;          /* lanes that execute it */
    uint32_t released;   /* lanes that have executed relssp: for exec_check_analyses */
    uint8_t state;       /* enum exec_warp_state */
    uint8_t barrier;     /* id it waits at */
    uint32_t index;      /* in its block */
    uint32_t dynamic_id; /* free for the timing model */
    struct exec_cta *cta;
    uint8_t *regs;         /* register rows, 64-byte aligned */
    const uint8_t *consts; /* the program's constant rows */
    void *priv;            /* free for the timing model */

    /* -- the executor's own -- */
    uint32_t rpc;   /* pc at which the current path meets its sibling; EXEC_NO_PC: none */
    uint32_t sp;    /* SIMT stack: paths that wait below the current one */
    uint32_t depth; /* calls under way */
    uint32_t local_base; /* where the current function's local variables start */
    uint32_t barrier_mask, barrier_pc; /* lanes and instruction that wait there */
    bool all_came;                     /* all its lanes are in `came` */
    uint32_t came, due; /* barrier.cluster: lanes that have arrived in this phase; that
                         * arrived in the one before and have not waited yet */
    uint32_t stack_cap, frame_cap, local_bytes; /* allocated (local: per thread) */
    struct exec_path *stack;
    struct exec_frame *frame;
    uint32_t *tops; /* ends of the lanes' stacks, LANES a frame; NULL: without alloca */
    uint32_t tops_cap;
    uint8_t *local; /* word-interleaved: word k of lane i at (k * 32 + i) * 4 */
};

/* One memory instruction's accesses. addr[] of lanes in `mask` only: device address for
 * GLOBAL, offset in the block's scratchpad for SHARED, offset in the thread's local
 * memory for LOCAL, address in the constant or parameter space for CONST and PARAM. */
struct exec_access {
    uint8_t space; /* enum ptx_space, generic addresses resolved. Lanes of one generic
                * instruction that fall in several spaces: NONE, and lane_space counts */
    uint8_t lane_space[LANES];
    uint8_t bytes; /* per lane, whole vector */
    bool load, store, atomic;
    bool async;    /* global to scratchpad: list[lane] is where to, list[LANES] the lanes
                    * written; `mask` may be fewer, or none */
    uint8_t cache; /* as in exec_static */
    uint32_t mask;
    uint32_t
        remote; /* lanes, not in `mask`, that access another block's scratchpad: addr is
                      * then its place in the window of the cluster (DEV_RANK) */
    uint64_t addr[LANES];
    /* space TEX: the 32-byte sectors of global memory that were read, each once, instead
     * of addr; NULL without timing. Valid until the block's next step. */
    uint16_t nlist;
    uint64_t *list;
};

/* An asynchronous transfer that an instruction began, one for each thread that executed it.
 * Its values are there at once; when it is complete is the timing model's affair. */
enum exec_job_kind {
    EXEC_JOB_LOAD,  /* global memory to scratchpads, completes at mbarriers */
    EXEC_JOB_STORE, /* scratchpad to global memory, part of a bulk group */
    EXEC_JOB_SHARED, /* scratchpad or registers to a scratchpad, completes at an mbarrier */
    EXEC_JOB_PREFETCH /* global memory to the L2 */
};
struct exec_span { /* of global memory */
    uint64_t addr;
    uint32_t bytes;
};
struct exec_job {
    uint8_t kind;      /* enum exec_job_kind */
    bool reduces;      /* what is there is combined with what comes */
    bool registers;    /* SHARED: from registers (st.async, red.async) */
    uint16_t ranks;    /* destinations by rank, a bit each */
    uint32_t bytes;    /* for each destination, as its mbarrier counts them */
    uint64_t mbarrier; /* its place in each destination's scratchpad */
    uint32_t first_span, nspans;
};

enum exec_result {
    EXEC_OK,
    EXEC_FAULT /* diagnostic in the block's sink; the launch is over */
};

struct exec_step {
    uint32_t pc;     /* instruction executed */
    uint32_t mask;   /* lanes that executed it: active and guard true */
    uint32_t active; /* lanes active before the guard */
    bool jumped;     /* next pc is not pc + 1, or the warp's active set changed */
    bool has_access; /* `access` is filled (mask not 0) */
    uint64_t woken;  /* warps of the block (bit = index) released from a barrier */
    bool warp_done, cta_done;
    uint32_t ended; /* lanes whose threads ended in this step */
    /* of a COPY_ARRIVE instruction under the timing model: arrivals to be made by
     * exec_mbarrier_arrive when the warp's copies so far are there; 0: none */
    uint32_t arrive_count;
    uint64_t arrive_addr;
    /* Under the timing model: transfers begun, to be completed by exec_job_complete. Valid
     * until the block's next step. */
    uint32_t njobs;
    const struct exec_job *jobs;
    const struct exec_span *spans;
    struct exec_access access;
};

/* Runs the warp's next instruction; the warp must be READY. An instruction that
 * synchronises lanes of a warp (bar, *.sync) may find that lanes it needs run in another
 * path: then it does nothing (mask 0, jumped), the other path comes first, and it is
 * executed again later.
 */
enum exec_result exec_step(struct exec_warp *w, struct exec_step *s);

/* The instruction at w->pc without running it: its pc, its executing lanes, its addresses
 * (for policies that must know where it would go: scratchpad sharing). Returns false if
 * it does not access memory. Changes nothing. */
bool exec_peek_access(const struct exec_warp *w, struct exec_access *a);

/* `count` arrivals at the mbarrier at this scratchpad offset; false: more than it
 * expects.
 */
bool exec_mbarrier_arrive(struct exec_cta *c, uint64_t addr, uint32_t count);
/* The transfer is complete at its destination in this block, which the mbarrier there learns;
 * false: it counts no more bytes. */
bool exec_job_complete(struct exec_cta *c, const struct exec_job *j);
/* So many bytes have come for the mbarrier; false: more than it counts. */
bool exec_mbarrier_complete(struct exec_cta *c, uint64_t addr, uint32_t bytes);
/* A warp that waits for a phase (EXEC_MBARRIER) goes on if the phase is over, or because its
 * time is: its predicate says which. */
void exec_mbarrier_resume(struct exec_warp *w, bool time_is_over);
/* Nanoseconds that its try_wait may take, as it says; 0: it does not. */
uint64_t exec_mbarrier_hint(const struct exec_warp *w);
/* What it waits for, in words: "waits at line 7 for phase 0 of the mbarrier in ...". */
void exec_mbarrier_explain(const struct exec_warp *w, struct strbuf *out);

/* -- global memory that waits --
 *
 * With a log in the block, an access to global memory is checked and reported by
 * exec_step but takes effect only in exec_log_apply: a store takes its values along, a
 * load or atomic writes its registers then. So blocks can run in several host threads,
 * and the order of all their accesses is decided afterwards. The caller sees to it that
 * nobody reads or writes those registers meanwhile (its scoreboard does).
 *
 * Not for programs marked in_order: those whose functions call themselves (a call would
 * save registers that are still to come), and those with instructions that use global
 * memory in other ways and take effect at once (cp.async, surfaces, 128-bit atomics,
 * printf, malloc). Texture reads see what has taken effect. */
struct exec_log {
    struct foot *foot; /* accesses are taken down here and do not wait; NULL: they wait */
    uint64_t now;      /* what exec_step stamps entries with; must not decrease */
    uint8_t *v;
    uint32_t n, at, cap; /* bytes: filled, applied, there */
};
/* Room for so many instructions between two times at which the log is empty. */
void exec_log_init(struct exec_log *l, struct arena *a, uint32_t instructions);
/* The oldest entries, as far as they are stamped `now`, take effect in order. */
void exec_log_apply(struct exec_log *l, uint64_t now);

/* Why no such instruction exists, whatever the target: its types and modifiers do not go
 * together (legal.def, and the lane functions' rules). NULL: it does, or it is one that is
 * known by name only. *x: what is known of opcodes; zeroed before the first call. */
struct exec_legal {
    bool pure[PTX_NOPS], known[PTX_NOPS];
};
const char *exec_illegal(const struct ptx_inst *in, struct exec_legal *x);

/* Runs the whole grid functionally, block after block. */
enum exec_result exec_run_grid(struct exec_grid *g);

/* From now on exec_run_grid holds every scratchpad access of this program against
 * analysis/scratchpad.h, and every thread that has executed relssp to its promise not to
 * touch what lies at shared_from and above (exec_check_promise): an access that breaks one
 * of them is a fault. A register that the code switches off (power states) loses its value.
 * Slow; for tests and for trying out a pass. */
void exec_check_analyses(struct exec_prog *p);
/* Scratchpad bytes from there on are shared with another block (001 section 2.2); 0: not
 * known, nothing is checked. Nothing happens to a program that is not checked. */
void exec_check_promise(const struct exec_prog *p, uint32_t shared_from);

/* Where the instruction stands in the PTX, for diagnostics; and notes where that was
 * compiled from, as .loc says it, with the calls it was inlined at. */
struct diag_loc exec_loc(const struct exec_prog *p, uint32_t pc);
void exec_note_source(const struct exec_prog *p, uint32_t pc, struct diag_sink *diag);
/* The place that .loc gives, of each instruction that has one; with calls that were inlined,
 * where the instruction itself was written. `file` is lent. */
void exec_sources(const struct exec_prog *p,
                  void (*take)(void *user, uint32_t pc, const char *file, unsigned line),
                  void *user);

/* Does the lane touch bytes that scratchalloc takes, which the block does not hold now? */
static inline bool
exec_not_held(const struct exec_cta *c, const struct exec_access *a, unsigned lane)
{
    const struct exec_prog *p = c->grid->prog;
    unsigned space = a->space ? a->space : a->lane_space[lane];
    return !c->holds && space == PTX_SPACE_SHARED &&
           a->addr[lane] + a->bytes > p->alloc_from &&
           a->addr[lane] < (uint64_t)p->alloc_from + p->alloc_bytes;
}

/* Where a warp that has not ended stands: "block (0,0,0), warp 3 at app.ptx:35, own.cu:12".
 * And one such warp of a block, best one that can run; NULL: all have ended. */
void exec_where(const struct exec_warp *w, struct strbuf *out);
const struct exec_warp *exec_some_warp(const struct exec_cta *c);

/* Why this block makes no progress, in words, into `out` (barrier counts and so on). */
void exec_explain_cta(const struct exec_cta *c, struct strbuf *out);

#endif
