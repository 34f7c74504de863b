/* schedule_int.h: between the files of pass schedule.
 *
 *   schedule.c        the pass: regions of blocks, the order of each, settings
 *   schedule_graph.c  regions and their dependences
 *   schedule_units.c  what instructions cost: units, latencies
 *   schedule_back.c   an order of a region from its end, within a number of registers
 *   schedule_min_pressure.c   an order of a region that makes little live at the same time
 *   schedule_peak.c   how many registers an order takes
 *   schedule_trace.c  setting `trace`: each choice in words
 *   schedule_loads.c  when loads start, when they could, and what keeps them
 *   post_schedule.c   the pass that orders again, by the places of an allocation */
#ifndef ALLOT_PASSES_SCHEDULE_INT_H
#define ALLOT_PASSES_SCHEDULE_INT_H

#include "analysis/live.h"
#include "analysis/motion.h"
#include "passes/regalloc/register_step.h"
#include "passes/sched/schedule.h"
#include "ptx/ir.h"
#include "ptx/loc.h"

/* What an instruction keeps busy, as ptxas takes it. */
enum sched_unit {
    SCHED_UNIT_NONE, /* it is an operand, or a part of another */
    SCHED_UNIT_MEMORY,
    SCHED_UNIT_FMA,
    SCHED_UNIT_ALU,
    SCHED_UNIT_SFU,
    SCHED_UNIT_F64,
    SCHED_UNIT_TENSOR,
    SCHED_UNITS
};

/* Latencies in cycles by class: those of latencies.def, then memory by space. */
enum {
    SCHED_LAT_GLOBAL = PTX_NLATENCIES,
    SCHED_LAT_SHARED,
    SCHED_LAT_LOCAL,
    SCHED_LAT_CONST,
    SCHED_LAT_BARRIER, /* as taken: nothing issues meanwhile */
    SCHED_LAT_ACCESS,  /* as taken, second order: from an ALU result to an access by it */
    SCHED_LAT_GUARD,   /* as taken: from a predicate to what it guards, a branch too */
    SCHED_LAT_CROSS,   /* as taken: from one of the two ALU units to the other */
    SCHED_NLATS
};

enum { SCHED_PARTS = 4 };

/* Why one instruction stands after another. */
enum sched_why {
    SCHED_WHY_REGISTER, /* it reads or writes what the other wrote or read */
    SCHED_WHY_MEMORY,   /* both may touch the same bytes */
    SCHED_WHY_FENCE     /* the other keeps all accesses in order */
};

struct sched_edge {
    uint32_t from, to;
    int32_t latency; /* of the machine */
    int32_t taken;   /* as the order takes it */
    uint8_t why;     /* enum sched_why */
};

struct sched_node {
    uint32_t inst;
    uint8_t order;          /* enum motion */
    int32_t latency, taken; /* of the machine; as the order takes it */
    int32_t until;          /* ... to what stands after the region */
    uint8_t unit, slots;    /* enum sched_unit; issue slots */
    uint16_t busy;          /* cycles of the unit */
    int64_t height,
        depth;         /* longest path to the region's end, from its begin, of `taken` */
    uint64_t ready;    /* cycle in which it may issue */
    uint32_t waits;    /* neighbours not yet issued */
    uint32_t first;    /* its edges: succ[first .. first of the next node) */
    uint32_t first_in; /* edges to it: pred[first_in .. that of the next node) */
    uint32_t glued;    /* operands before it that go with it */
    uint32_t base_at;  /* node + 1 that wrote its address's base, 0: none of the region */
    uint8_t between;   /* registers that it needs in between (ptx/expansion.h) */
    bool operand; /* no operation of its own: it is a literal or in the constant bank */
    bool done;
};

/* What is known of a register within the region. */
struct sched_use {
    uint32_t writer;  /* node + 1 of its last write, 0: none */
    int32_t readers;  /* chain of reads since, -1: none */
    bool live, after; /* live now; after the region */
    /* While an order's registers are counted (schedule_peak.c): */
    int64_t first, last; /* when it is accessed */
    int64_t last_read,
        first_write; /* when its old value is read last, a new one is written first */
    int64_t gap;     /* end of the gap that it is in */
    bool before, begun, ended;
    bool seen;
};

struct sched_reader {
    uint32_t node;
    int32_t next;
};

struct sched {
    const struct ptx_func *f;
    const struct live *live;
    struct live_set set;          /* live after the region, then before it */
    int32_t latency[SCHED_NLATS]; /* of the machine */
    int32_t taken[SCHED_NLATS];   /* as the order takes loads; 0: as the machine */
    uint32_t limit;               /* 32-bit registers, UINT32_MAX: none */
    bool expanded;                /* instructions need registers in between */
    uint32_t maxlive; /* 32-bit registers live at the same time in the source's order */
    uint32_t least;   /* ... if each region has the leaner of its two orders */
    uint32_t carry;   /* the carry flag's number: after the registers */
    const int32_t *place; /* of each register, its first; NULL: registers by themselves */
    const uint64_t *diverged; /* uniform_diverged of the function */
    const uint8_t *slots;     /* of each instruction of the body; NULL: one each */
    struct sched_use *use;    /* of each register */
    const bool *operand;      /* of each: pass late-operands reads it where it is used */
    uint8_t *units;           /* 32-bit registers of each; 0: an operand */
    uint32_t *order;          /* of the body: instruction at each place */
    struct arena mem;         /* of the region */
    VEC(struct sched_node) node;
    VEC(struct sched_edge) edge;
    VEC(struct sched_edge) succ; /* sorted by `from` */
    VEC(struct sched_edge) pred; /* sorted by `to` */
    VEC(struct sched_reader) reader;
    VEC(uint32_t) touched;        /* registers of the region */
    VEC(uint32_t) loads, stores;  /* nodes since the last fence */
    uint32_t fence;               /* node + 1, 0: none */
    uint32_t at;                  /* node being looked at */
    int32_t early;                /* cycles before that it reads a register */
    bool guards;                  /* it reads it as its guard */
    uint32_t end, end_preds;      /* registers live at the region's end; predicates */
    uint32_t now_live, now_preds; /* while an order is tried */
    uint32_t most_preds;          /* that an order may take */
    uint64_t before, after;       /* cycles of all regions */
    uint64_t far_before, far_after, nloads; /* distance from load to first read, sums */
    uint32_t changed;                       /* regions */
    const struct register_room *given;      /* NULL: the limit is no step of it */
    bool hold;                              /* places are held from old value to new */
    bool filled; /* an order keeps to the limit since such places are taken */
    bool held;   /* the last order from the end waited for registers or predicates */
    uint32_t by_source; /* parts of SCHED_PARTS by which an order goes by the source's */
    uint32_t *rank;     /* of each node in falling depth, where by_source is set */
    bool as_it_is;      /* nothing is to be ordered */
    struct strbuf
        *trace;  /* setting `trace`: where each choice is written; NULL: nowhere */
    bool traced; /* the order that is being made is traced */
    struct schedule_loads *loads_of; /* NULL: they are not asked for */
};

/* Notes of each load of the region, in the order given, when it starts and when it could:
 * appends to s->loads_of. first: the region's first instruction in the body. */
void schedule_note_loads(struct sched *s, const uint32_t *order, uint32_t first);
/* Those on which a warp waits longest, in words. */
void schedule_report_loads(const struct schedule_loads *l, const struct ptx_func *f,
                           struct strbuf *report);

/* Whether instruction i of the body ends a region: it stays, or lanes come together at it. */
bool schedule_is_barrier(const struct sched *s, uint32_t i);
/* Appends instruction i of the body to the region: its node and the edges to it. */
void schedule_add(struct sched *s, uint32_t i);
/* Sorts the region's edges and finds the nodes' heights and depths. next: the instruction of the
 * body after the region. */
void schedule_finish_graph(struct sched *s, uint32_t next);
/* Past the last edge from node i, to node i. */
uint32_t schedule_edges_end(const struct sched *s, uint32_t i);
uint32_t schedule_edges_in_end(const struct sched *s, uint32_t i);
/* Where the region begins that ends before instruction `end` of block b; `end`: the instruction
 * before stays where it is. */
uint32_t schedule_region(const struct sched *s, const struct cfg_block *b, uint32_t end);
/* Forgets the region. */
void schedule_forget(struct sched *s);
/* Puts f's body into that order, each instruction after the .loc that it stood after. */
void schedule_reorder(struct ptx_func *f, const uint32_t *order);
/* Frees what s has beside its arenas. */
void schedule_free(struct sched *s);

/* Reads the settings `latencies` and `taken`: CLASS=CYCLES, joined by +. */
bool schedule_read_latencies(struct sched *s, const struct pass_args *a,
                             struct diag_sink *diag);
/* Unit, slots and latencies of a node. */
void schedule_cost(const struct sched *s, struct sched_node *n);
/* Cycles between the reads of a quotient's divisor and of its dividend; 0: no quotient. */
int32_t schedule_divisor_early(const struct sched *s, const struct ptx_inst *in);
/* Whether it is an access to scratchpad, during whose issue others may issue. */
bool schedule_is_scratch(const struct sched *s, const struct sched_node *n);
/* Whether it runs in one of the two ALU units, FMA and ALU. */
bool schedule_is_alu(const struct sched_node *n);

/* An order from the region's end, within that many registers where that can be done. base: another,
 * by which it goes where everything makes more live. */
void schedule_back(struct sched *s, uint32_t limit, const uint32_t *base,
                   uint32_t *order);
/* An order that makes little live at the same time, whatever it takes. */
void schedule_min_pressure(struct sched *s, uint32_t *order);
/* 32-bit registers that an order takes. */
uint32_t schedule_peak(struct sched *s, const uint32_t *order);
/* Writes a choice to s->trace: node i, one of `candidates` that might go, with that much live, at the end of a
 * path of that many cycles, and why. */
void schedule_trace(struct sched *s, uint32_t i, uint64_t cycle, uint32_t candidates,
                    uint32_t live, const char *why);
/* Writes which order the region gets, and why. */
void schedule_trace_region(struct sched *s, const char *why);
/* While an order is tried from the region's end: what is live there, then before node i
 * (s->now_live); and what would be before i, with what i needs in between. */
void schedule_back_start(struct sched *s);
void schedule_back_step(struct sched *s, uint32_t i);
uint32_t schedule_back_live(struct sched *s, uint32_t i);

/* Row of the setting that schedule_traces reads: whether choices are to be written to the report. */
#define SCHEDULE_TRACE_KEY                                                               \
    {                                                                                    \
        "trace", "no",                                                                   \
            "yes: the report has each choice: candidates, registers live, path, reason"  \
    }
struct strbuf *schedule_traces(const struct pass_args *a);

/* Rows of the settings that schedule_read_latencies reads. */
extern const char schedule_latencies_default[];
#define SCHEDULE_LATENCY_KEYS                                                            \
    {"latencies", schedule_latencies_default,                                            \
     "cycles by class, CLASS=CYCLES joined by +, 4 where not given; the machine's"},     \
    {                                                                                    \
        "taken", schedule_taken_default,                                                 \
            "cycles that the order takes loads for, as ptxas does; the machine's"        \
    }

#endif
