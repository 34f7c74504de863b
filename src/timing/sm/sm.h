/* sm.h: one streaming multiprocessor. Private to the SM's files:
 *
 *   sm.c         cycle, blocks and warps, fetch, sleep, statistics
 *   sm_issue.c   warp schedulers
 *   sm_mechanism.c  mechanisms: events, questions
 *   sm_barrier.c barriers: when their warps go on
 *   sm_lines.c   counters by instruction
 *   collector.c  operand collectors and register banks
 *   sm_unit.c    pipelines, result buses, write-back
 *
 * Stages run in reverse order, so that an instruction moves one stage a cycle:
 *   write-back <- pipelines <- collectors <- issue <- decode <- fetch
 * docs/model.md states every rule with its parameter and source. */
#ifndef ALLOT_TIMING_SM_H
#define ALLOT_TIMING_SM_H

#include "timing/sm/ldst.h"
#include "timing/policy/policy.h"
#include "timing/sm/scoreboard.h"
#include "timing/sm/sm_lines.h"
#include "timing/trace.h"

enum {
    SM_MAX_WARPS = 128,
    SM_MAX_LATCH = 16,
    SM_MAX_SCHED = 4,
    SM_MAX_MECHANISMS = 5,
    SM_NO_INST = 0xffff,
};

/* Unit classes: an issue latch, collectors and pipelines each. */
enum sm_class {
    CLS_SP,
    CLS_SFU,
    CLS_DP,
    CLS_TENSOR,
    CLS_INT,
    CLS_MEM,
    SM_NCLS,
    SET_GENERAL = SM_NCLS,
    SM_NSETS
};

/* What the SM needs of an instruction; made once per launch. */
struct sm_inst {
    const uint16_t *reg; /* sources, destinations, addresses of operands that are loads */
    uint16_t latency, interval;
    uint8_t nsrc, ndst, naddr;
    uint8_t first_operand, late; /* reg[first_operand..late-1] are collected */
    uint8_t cls;
    uint8_t barrier, fence, mem, jump;
    uint8_t slots;        /* issue slots that it takes */
    bool folded;          /* none, nor a fetch: a part or an operand of another one */
    bool operand;         /* folded, and no instruction that counts (sm.operand_loads) */
    bool scaled;          /* a scratchpad access that shifts its address */
    uint32_t place;       /* number of instructions before it that are not folded */
    uint8_t concern;      /* mechanisms that must be asked for it: a bit each */
    uint8_t operation;    /* made for policies: PTX_EXTENSION */
    uint8_t copy, copy_n; /* enum exec_copy */
    uint8_t product, product_n; /* enum exec_product */
    uint16_t product_bytes;
    uint8_t nother, nrows;    /* nother: operands that are no registers */
    uint16_t ops;             /* offset of its counter of lanes in struct stat_sm */
    uint16_t rows[EXEC_ROWS]; /* as in exec_static; behind nrows the first again */
};

/* Registers of which it must know that nobody has yet to read them. */
static inline unsigned
sm_inst_registers(const struct sm_inst *in)
{
    return (unsigned)in->nsrc + in->ndst + in->naddr;
}

/* Where struct stat_sm counts the lanes of such an instruction (ops.def). */
uint16_t ops_counter(const struct exec_static *st);

struct sm_program { /* of a launch, shared by all SMs */
    struct exec_grid *grid;
    const struct sm_inst *inst;
    const struct exec_static *st; /* of the same instructions */
    uint32_t ninst, nregs, warps_per_cta;
    uint32_t thread_registers; /* that a warp begins with */
    bool registers_move;       /* setmaxnreg has an effect */
    unsigned longest;          /* latency or interval of its instructions */
    bool folds;                /* some of them are folded */
    uint64_t code_address;
};

/* An instruction under way, by index. */
struct sm_flight {
    uint32_t pc;
    uint16_t op;   /* ldst operation, LDST_NO_OP */
    uint16_t next; /* in its wheel slot or the free list */
    uint8_t warp, cls;
    bool returns; /* its token comes out of ldst_done */
    bool live;    /* each ends once */
};

struct sm_latch { /* first in, first out */
    uint16_t v[SM_MAX_LATCH];
    uint8_t head, n, cap;
};

struct sm_set {     /* collector units [first, first+n) of a part */
    uint64_t ready; /* all operands there; bit = unit in the set */
    uint64_t free;
    uint8_t first, n, last, ports;
};

struct sm_unit {
    uint64_t free_at;   /* first cycle in which it takes an instruction */
    uint64_t swept;     /* `complete` has no cycle up to this one */
    uint64_t *complete; /* ring of bits by cycle: a result comes out then */
};

struct sm_bank { /* read requests, first in, first out: collector units */
    uint16_t *v;
    uint16_t head, n;
};

/* Latches, collectors, banks and pipelines: one part for the SM, or one per scheduler. */
struct sm_part {
    uint8_t bit;              /* of the part, in masks of parts */
    uint8_t in_id, in_ex;     /* classes whose latch is not empty */
    uint8_t id_full, ex_full; /* classes whose latch is full */
    uint8_t complete, open;   /* `set`s with a complete unit, with a free one */
    struct sm_latch id[SM_NCLS], ex[SM_NCLS]; /* issue -> collector -> pipeline */
    uint8_t waits[SM_NCLS];                   /* schedulers that wait for room in id[] */
    struct sm_set set[SM_NSETS];
    uint16_t *cu_inst;
    uint8_t *cu_wait, *cu_cls, *cu_set; /* operands to come; class; its set */
    uint32_t ncu, busy;                 /* collector units; in use */
    struct sm_bank *bank;
    uint64_t bank_queued, bank_written; /* bit = bank */
    uint32_t nbanks, reads_waiting;
    struct sm_unit *unit[SM_NCLS];
    uint8_t nunits[SM_NCLS];
};

/* A warp scheduler: bit i of a mask is its warp at position i, warp slot i*nsched +
 * index. */
struct sm_sched {
    uint64_t live;         /* warps not ended */
    uint64_t head;         /* an instruction is in the buffer, on the warp's path */
    uint64_t bad;          /* what is in the buffer is not on the path */
    uint64_t folded;       /* the head instruction takes no slot */
    union sm_waits waits;  /* what keeps warps from issuing */
    uint64_t concern;      /* a mechanism must be asked for the head instruction */
    uint64_t eager;        /* one that is asked before the scheduler chooses */
    uint64_t cls[SM_NCLS]; /* class of the head instruction */
    struct sched_view view;
    uint32_t *dynamic_id;
    uint8_t *wcls;
    void *state;
    uint8_t index, part;
    uint8_t cause; /* of the cycles since the last accounted for, enum sm_cause */
    uint16_t busy; /* issue slots that instructions issued will still take */
};

struct sm_warp { /* a warp slot: one host cache line */
    struct exec_warp *ew;
    uint32_t buf_pc; /* oldest instruction in the buffer */
    uint32_t fetch_pc;
    uint16_t flight_n; /* instructions under way */
    uint16_t mem_n;    /* of them memory ones that ldst has not taken yet */
    uint8_t buf_n;
    uint8_t slot; /* of its block */
    uint8_t sched, pos;
    const uint8_t *regs; /* as in ew */
};
static_assert(sizeof(struct sm_warp) == 32, "two warps a line");

enum sm_cause {
#define CAUSE(id, word, meaning) CAUSE_##id,
    ISSUE_CAUSES(CAUSE, CAUSE)
#undef CAUSE
};

/* A mechanism at work in the SM. */
struct sm_mechanism {
    const struct mechanism *m;
    void *state;
    struct sm_view view;
    sm_handler *handler[SM_NEVENTS];
};

struct sm {
    _Alignas(64) const struct machine *m;
    const struct sched_policy *policy;
    const struct sm_program *prog;
    struct ldst *ldst;
    struct stat_sm *stats;
    struct trace_sm *trace; /* NULL: none */
    struct sm_lines *lines; /* counters by instruction, NULL: none */
    unsigned id, nwarps, nsched, nparts;
    bool split;

    /* time */
    uint64_t now;       /* cycle being stepped: what %clock reads */
    uint64_t stepped;   /* last cycle accounted for */
    uint64_t wake;      /* next cycle to step, NEVER */
    uint64_t pipe_wake; /* the same but for what the load/store unit does */
    bool worked;        /* something happened in this cycle */
    /* Parts whose pipelines, collectors may do something; whose load/store latch waits
     * for that unit; whose bank_written is not 0. */
    uint8_t units, collect, mem_waits, written;
    uint8_t sched_dirty; /* schedulers: what one sees may have changed, or it can issue */
    bool polled;         /* a warp may wait for a reason that ends by POLL (waits.def) */
    bool every; /* evaluated in every cycle: for traces, and timing_options.no_skip */
    bool fault;
    struct diag_sink diag; /* what it was */
    enum allot_failure failure;
    struct exec_log *log; /* global memory that waits (exec.h); NULL: none does */

    struct sm_sched sched[SM_MAX_SCHED];
    struct sm_part part[SM_MAX_SCHED];

    struct sm_warp warp[SM_MAX_WARPS]; /* by slot */
    struct scoreboard score;

    /* fetch: sets of warp slots */
    uint64_t want[SM_MAX_WARPS / 64];      /* empty buffer, nothing under way */
    uint64_t woken[SM_MAX_WARPS / 64];     /* their line came */
    uint64_t coming[SM_MAX_WARPS / 64];    /* a fetch is under way */
    uint64_t finishing[SM_MAX_WARPS / 64]; /* ended, something still under way */
    uint64_t quiet[SM_MAX_WARPS / 64];     /* their last instruction came through */
    uint64_t arriving[SM_MAX_WARPS / 64];  /* arrivals wait for copies */
    struct warp_copies *copies;            /* by warp slot (sm_copy.c) */
    struct warp_products *products;        /* likewise (sm_product.c) */
    uint32_t *spare_registers; /* by slot: of a thread, that its warps have given up */
    uint16_t fetched;          /* warp in the fetch buffer, SM_NO_INST */
    uint16_t last_fetch;

    /* instructions under way */
    struct sm_flight *flight;
    uint16_t free_flight, fresh_flight; /* list; those from here on were never used */
    uint16_t *wheel; /* ring by cycle: list of instructions written back then */
    uint64_t *wheel_used;
    uint8_t *bus_n; /* ring by cycle: results that come out then; 0 up to bus_swept */
    uint64_t bus_swept;
    uint32_t ring; /* size of the rings, a power of two */
    uint32_t on_wheel, nflight, in_flight;

    /* barriers that take time (sm_barrier.c) */
    uint64_t *arrived; /* by slot: first cycle in which its barriers take another warp */
    uint64_t opens[SM_MAX_WARPS];        /* cycle in which the warp goes on ... */
    uint64_t opening[SM_MAX_WARPS / 64]; /* ... if it is one of these */
    uint64_t opens_at;                   /* the first of those cycles, NEVER */

    /* blocks */
    uint32_t nslots;
    struct exec_cta **cta;   /* by slot, NULL: free */
    struct exec_cta **store; /* storage of the slot, kept */
    uint16_t *warps_left;    /* of the slot's block: not retired */
    uint32_t next_dynamic_id;
    uint32_t blocks, live_warps;
    uint64_t blocks_done;

    /* mechanisms (sm_mechanism.c) */
    struct sm_mechanism mechanism[SM_MAX_MECHANISMS];
    uint8_t nmechanisms;
    uint8_t listen[SM_NEVENTS]; /* mechanisms that have a handler: a bit each */
    struct sm_mechanism *only[SM_NEVENTS]; /* the one that has, if it is quiet; or NULL */
    uint64_t unread[SM_MAX_WARPS / 64]; /* the head waits only for registers to be read */
    uint8_t *asks;      /* by slot: mechanisms to be asked for its warps */
    uint8_t eager;      /* mechanisms that are asked early */
    uint8_t peeks;      /* mechanisms that are told of the access when asked */
    uint64_t start;     /* cycle before the launch's first */
    uint32_t always_on; /* registers of the file, where none changes its state */
    uint64_t timer;     /* first cycle with an event `timer`, NEVER */

    /* Not a power of two: else the same fields of many SMs fall into few sets of the host's
     * caches. */
    _Alignas(64) char padding[128];
};
static_assert(sizeof(struct sm) % 1024, "SMs must not lie a power of two apart");

/* Of a launch, the same for all SMs. */
struct sm_setup {
    unsigned blocks;    /* resident, at most */
    uint32_t always_on; /* registers of the file, where none changes its state; else 0 */
    unsigned nmechanisms;
    struct mechanism_use mechanism[SM_MAX_MECHANISMS];
};

/* Lives as long as the launch: everything from `a`. */
void sm_init(struct sm *s, struct arena *a, const struct machine *m,
             const struct sched_policy *policy, const struct sm_setup *setup,
             const struct sm_program *prog, struct ldst *ldst, struct stat_sm *stats,
             struct exec_log *log, unsigned id, uint64_t now);
void sm_free(struct sm *s); /* storage of blocks */

bool sm_has_room(const struct sm *s);
/* Starts block `id` in the lowest free slot, at the end of cycle `now`. */
void sm_start_block(struct sm *s, uint32_t id, uint64_t now);

/* One core cycle; before it, cycles slept through are accounted for. Sets s->wake. */
void sm_cycle(struct sm *s, uint64_t now);
/* Accounts for cycles up to and including `now` in which the SM slept. */
void sm_catch_up(struct sm *s, uint64_t now);
/* The plan's period has passed in all n SMs: before cycle `now`, with all that came before
 * accounted for. */
void sm_period(struct sm *sms, unsigned n, uint64_t now);
/* Does any SM have warps that only the next period can let go? */
bool sm_waits_for_period(const struct sm *sms, unsigned n);
/* The launch ended with cycle `now`, after which the SM had no block: its accounts too.
 */
void sm_end(struct sm *s, uint64_t now);
void sm_explain(const struct sm *s, struct strbuf *out);

/* -- between the SM's files -- */
void sm_barriers_init(struct sm *s, struct arena *a);
/* Warp w has issued a barrier instruction. */
void sm_barrier_arrives(struct sm *s, unsigned w, uint64_t now);
/* These warps of w's block are let go by the executor. */
void sm_barrier_opens(struct sm *s, unsigned w, uint64_t woken, uint64_t now);
/* Warp w has taken a branch: it waits for sm.branch_latency, which is not 0. */
void sm_branch_taken(struct sm *s, unsigned w, uint64_t now);
void sm_barriers_cycle(struct sm *s, uint64_t now); /* s->opens_at has come */
void sm_head_changed(struct sm *s, unsigned w);
void sm_issue_cycle(struct sm *s, uint64_t now);
void sm_issue_over(struct sm *s); /* its cycle is accounted for */
void collector_init(struct sm *s, struct arena *a);
void collector_cycle(struct sm *s);
void sm_unit_init(struct sm *s, struct arena *a);
void sm_unit_cycle(struct sm *s, uint64_t now);
void sm_hazard_look(struct sm *s, unsigned w);
void sm_writeback_cycle(struct sm *s, uint64_t now);
void sm_writeback_memory(struct sm *s);
uint64_t sm_unit_next_event(const struct sm *s, uint64_t now);
void sm_mechanisms_init(struct sm *s, struct arena *a, const struct sm_setup *setup,
                        uint64_t now);
/* Calls the handlers of an event (sm_tell below checks first whether there are any). True:
 * warps that were refused ask again. */
bool sm_tell_them(struct sm *s, enum sm_event_id id, const struct sm_event *e,
                  uint64_t now);
/* May all that these mechanisms (bits) guard be had by warp w's instruction? */
bool sm_ask(struct sm *s, unsigned mechanisms, unsigned w, uint64_t now);
/* Warps that were refused ask again, and what the mechanisms' views say takes effect. */
void sm_refused_again(struct sm *s);
/* The masks of warps for which a mechanism must be asked, for warp w at this instruction. */
static inline void
sm_note_concern(const struct sm *s, struct sm_sched *c, unsigned w,
                const struct sm_inst *in)
{
    unsigned who = in->concern & s->asks[s->warp[w].slot];
    c->concern |= (uint64_t)((who & ~(unsigned)s->eager) != 0) << s->warp[w].pos;
    c->eager |= (uint64_t)((who & s->eager) != 0) << s->warp[w].pos;
}
/* Counters of mechanisms are those up to cycle now. */
void sm_counted(struct sm *s, uint64_t now);
enum warp_class sm_class_of(const struct sm *s, unsigned slot);
void sm_timers(struct sm *s, uint64_t now);
void sm_copies_init(struct sm *s, struct arena *a);
void sm_copies_start(struct sm *s, unsigned w); /* a new warp in the slot */
/* An instruction with `copy` has been executed (st); true: the warp must wait until
 * copies_there. */
bool sm_copies_issue(struct sm *s, unsigned w, const struct sm_inst *in,
                     const struct exec_step *st);
bool sm_copies_there(const struct sm *s, unsigned w);
void sm_copies_cycle(struct sm *s); /* arrivals whose copies have come */

/* -- products of a warpgroup, and registers that change hands (sm_product.c) -- */

void sm_products_init(struct sm *s, struct arena *a);
void sm_products_start(struct sm *s, unsigned w); /* a new warp in the slot */
/* An instruction with `product` has been issued, executed by some lane; true: the warp must
 * wait until products_there, or registers_there. */
bool sm_products_issue(struct sm *s, unsigned w, const struct sm_inst *in, bool executed);
bool sm_registers_issue(struct sm *s, unsigned w, const struct sm_inst *in,
                        bool executed);
bool sm_products_there(const struct sm *s, unsigned w);
bool sm_registers_there(const struct sm *s, unsigned w);
void sm_products_done(struct sm *s, unsigned w); /* one of its products is complete */

/* Warps that a reason to wait holds whatever is in their buffers; and warps whose head
 * instruction may not issue, on account of any reason. */
static inline uint64_t
sm_waits_warp(const struct sm_sched *c)
{
    return 0
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    | (SM_WAIT_##holds == SM_WAIT_WARP ? c->waits.id : 0)
#include "timing/waits.def"
#undef WAIT
        ;
}

static inline uint64_t
sm_waits_any(const struct sm_sched *c)
{
    return 0
#define WAIT(id, cause, holds, ends, state, over, ...) | c->waits.id
#include "timing/waits.def"
#undef WAIT
        ;
}

/* The reason for which the warp at `bit` waits, its own before its head's; SM_NWAITS: for
 * none. */
static inline enum sm_wait
sm_wait_of(const struct sm_sched *c, uint64_t bit)
{
    enum sm_wait head = SM_NWAITS;
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    if (c->waits.id & bit) {                                                             \
        if (SM_WAIT_##holds == SM_WAIT_WARP)                                             \
            return WAIT_##id;                                                            \
        if (head == SM_NWAITS)                                                           \
            head = WAIT_##id;                                                            \
    }
#include "timing/waits.def"
#undef WAIT
    return head;
}

/* Registers of warp w are free: its head instruction may have waited for them. */
static inline void
sm_hazard_over(struct sm *s, unsigned w)
{
    const struct sm_sched *c = &s->sched[s->warp[w].sched];
    if ((c->waits.result | c->waits.memory) >> s->warp[w].pos & 1)
        sm_hazard_look(s, w);
}

/* Registers of warp w have been read: its head instruction may have waited for that alone.
 * The bit in `unread` may be an earlier head's. */
static inline void
sm_read_over(struct sm *s, unsigned w)
{
    if (bitset_has(s->unread, w))
        sm_hazard_over(s, w);
}

/* Sets a bit of one of c->waits' masks whose reason ends by POLL. */
static inline void
sm_poll(struct sm *s, uint64_t *mask, uint64_t bit)
{
    *mask |= bit;
    s->polled = true;
}

/* What happens to warp w, with its instruction at pc (SM_NO_PC: none). */
enum { SM_NO_PC = 0xffffffff };
static inline void
sm_tell(struct sm *s, enum sm_event_id id, unsigned w, uint32_t pc, uint32_t lanes,
        uint64_t now)
{
    if (s->listen[id]) {
        struct sm_event e = {.slot = s->warp[w].slot,
                             .warp = s->warp[w].ew->index,
                             .pc = pc,
                             .lanes = lanes};
        if (pc != SM_NO_PC)
            e.st = &s->prog->st[pc];
        struct sm_mechanism *x = s->only[id];
        if (x) {
            x->view.now = now;
            x->handler[id](x->state, &x->view, &e);
        } else {
            sm_tell_them(s, id, &e, now);
        }
    }
}

/* What one of `parts` gets of n. */
static inline unsigned
sm_share(unsigned n, unsigned parts)
{
    return n == 0 ? 0 : n / parts ? n / parts : 1;
}

/* Nothing of the warp's own keeps its next instruction from issuing: prefetches what that
 * needs. */
static inline void
warp_soon(const struct sm *s, unsigned w)
{
    const struct sm_warp *v = &s->warp[w];
    const struct sm_inst *in = &s->prog->inst[v->buf_pc];
    __builtin_prefetch(v->ew);
    __builtin_prefetch(s->cta[v->slot]);
    static_assert(EXEC_ROWS % 4 == 0, "four at a time");
    for (unsigned k = 0; k < in->nrows; k += 4)
        for (unsigned i = 0; i < 4; i++)
            __builtin_prefetch(v->regs + 64 * in->rows[k + i]);
}

static inline bool
flight_room(const struct sm *s)
{
    return s->free_flight != SM_NO_INST || s->fresh_flight < s->nflight;
}

static inline uint16_t
flight_new(struct sm *s)
{
    uint16_t i = s->free_flight;
    if (i != SM_NO_INST)
        s->free_flight = s->flight[i].next;
    else
        i = s->fresh_flight++;
    assert(!s->flight[i].live);
    s->flight[i].live = true;
    s->in_flight++;
    return i;
}

static inline void
flight_done(struct sm *s, uint16_t i)
{
    unsigned w = s->flight[i].warp;
    assert(s->flight[i].live); /* lists of them would have no end, else */
    s->flight[i].live = false;
    if (--s->warp[w].flight_n == 0)
        bitset_add(s->quiet, w);
    s->flight[i].next = s->free_flight;
    s->free_flight = i;
    s->in_flight--;
}

static inline void
latch_push(struct sm_latch *l, uint16_t v)
{
    assert(l->n < l->cap);
    l->v[(l->head + l->n++) % SM_MAX_LATCH] = v;
}

static inline void
push_id(struct sm_part *p, unsigned cls, uint16_t v)
{
    latch_push(&p->id[cls], v);
    p->in_id |= (uint8_t)(1u << cls);
    p->id_full |= (uint8_t)((unsigned)(p->id[cls].n == p->id[cls].cap) << cls);
}

static inline void
push_ex(struct sm_part *p, unsigned cls, uint16_t v)
{
    latch_push(&p->ex[cls], v);
    p->in_ex |= (uint8_t)(1u << cls);
    p->ex_full |= (uint8_t)((unsigned)(p->ex[cls].n == p->ex[cls].cap) << cls);
}

static inline uint16_t
latch_front(const struct sm_latch *l)
{
    return l->v[l->head];
}

static inline void
latch_pop(struct sm_latch *l)
{
    l->head = (l->head + 1) % SM_MAX_LATCH;
    l->n--;
}

static inline void
pop_id(struct sm_part *p, unsigned cls)
{
    latch_pop(&p->id[cls]);
    p->in_id &= (uint8_t) ~((unsigned)!p->id[cls].n << cls);
    p->id_full &= (uint8_t) ~(1u << cls);
}

static inline void
pop_ex(struct sm_part *p, unsigned cls)
{
    latch_pop(&p->ex[cls]);
    p->in_ex &= (uint8_t) ~((unsigned)!p->ex[cls].n << cls);
    p->ex_full &= (uint8_t) ~(1u << cls);
}

#endif
