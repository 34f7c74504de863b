/* run.h: a launch under way. Private to the engine:
 *
 *   gpu.c       the GPU over its launches: programs, limits, counters, begin and end
 *   quantum.c   a quantum of core cycles: its nodes, and its serial phase
 *   threads.c   quanta in several host threads
 *   dispatch.c  which block goes to which SM
 *
 * A quantum is at most the lookahead: what happens in it reaches no other component before
 * its end (memsys.h). In a quantum each node - the SMs of one interconnect port - goes
 * through its cycles by itself, and so does each memory partition, which may be a quantum
 * ahead; in any order, on any host threads. The serial phase follows in one thread: the
 * crossbars, the effects of global accesses (exec_log: in the order of cycle, SM, and issue
 * in the SM), and block dispatch. Other threads go on with the partitions' next quantum
 * meanwhile, where the memory system allows it. So every thread count gives the same
 * counters and memory. */
#ifndef ALLOT_TIMING_RUN_H
#define ALLOT_TIMING_RUN_H

#include "base/pool.h"
#include "timing/engine/dispatch.h"
#include "timing/engine/memsys.h"
#include "timing/timing.h"

#include <stdatomic.h>

struct own_stats { /* a cache line of their own */
    _Alignas(64) struct stat_sm s;
};

struct timing_gpu {
    struct machine *m;
    struct timing_options opt;
    const struct sched_policy *sched;
    const struct residency_policy *residency;
    struct arena arena;  /* load/store units */
    struct arena launch; /* of a launch: emptied at its end */
    struct ldst **ldst;
    struct own_stats *stats;
    struct memsys *mem;
    struct memsys_facts facts;
    struct memory *memory;      /* its hardware */
    struct trace *trace;        /* NULL: none */
    struct line_counts *lines;  /* of the last launch, with options.lines */
    struct pool *pool;          /* NULL: one thread */
    const struct exec_warp *at; /* while options.progress is asked: timing_at */
    const struct run *running;  /* the launch under way, NULL: none */
    atomic_uint_least64_t beat; /* `now` for other threads: timing_beat */
    uint64_t now;               /* last core cycle done */
    uint64_t quanta;            /* of the last launch */
    unsigned last_sm; /* that got a block: the next launch's dispatch begins behind it */
};

/* Where a node stops in a quantum. */
enum stop {
    STOP_NO,    /* at its end */
    STOP_CYCLE, /* before cycle `at`: a packet may have found room before it */
    STOP_SEND,  /* in cycle `at`, with a packet for which there may be room */
    STOP_BLOCK, /* after cycle `at`: it has room for a block */
};

/* The SMs of one interconnect port. */
struct node {
    _Alignas(64) uint64_t next; /* first cycle with something to do, as of the quantum */
    uint64_t at, last;          /* last: cycle of the quantum it has done */
    uint64_t done, ended; /* blocks that ended in the quantum; cycle of the last one */
    uint64_t fault_at;    /* cycle, NEVER */
    struct sm *sm, *end;
    struct sm *sending, *faulty;
    uint8_t stop; /* enum stop */
};

struct own_log {
    _Alignas(64) struct exec_log log;
};

enum outcome { GO_ON, OVER, FAILED };

/* The launch: what it runs, how far it is. Owner: gpu.c. */
struct run_launch {
    struct exec_grid *grid;
    const struct occ_kernel *kernel;
    struct sm_program prog;
    struct residency_plan plan;
    struct sm_setup setup;
    struct dispatch dispatch;
    uint64_t tick;                       /* end of the plan's period, if it has one */
    uint64_t start, first_dispatch, end; /* cycles; end: of the last block so far */
    uint64_t blocks, done;
    uint64_t issued;        /* warp instructions, if there is a limit to them */
    uint64_t next_sample;   /* cycle, NEVER: none */
    uint64_t next_channels; /* of the trace; the same */
    double progress_shown;  /* when progress was last told, seconds */
    unsigned untold;        /* quanta since the clock was last read */
    uint64_t moved;    /* warp instructions issued when that was last looked at ... */
    uint64_t moved_at; /* ... and the cycle since which they are so many */
    uint64_t patience; /* cycles after which a launch that issues none is stuck */
};

/* The present quantum. Owner: quantum.c; between quanta, the serial phase. */
struct run_quantum {
    unsigned most;     /* cycles of the longest */
    uint64_t from, to; /* cycles of this one */
    uint64_t reach;    /* it ends before, on account of the memory system */
    unsigned nodes, parts;
    struct node *node;
    uint64_t *next;      /* by node: first cycle with something to do */
    uint64_t *ran;       /* nodes that did something in this quantum */
    uint64_t *stopped;   /* of those: stop is not STOP_NO */
    uint64_t *takers;    /* SMs that may get a block */
    struct own_log *log; /* by SM; NULL: accesses take effect at once */
    struct sm **writers; /* SMs whose log is not empty, or that have a fault */
    unsigned nwriters;
};

/* Host threads. Owner: threads.c. */
struct run_team {
    unsigned threads;
    struct queue *queue; /* by thread */
    /* What threads without tasks poll. */
    _Alignas(64) atomic_uint far; /* enum far and, times FAR_STATES, the quantum's number:
                                   * changed when something new has been offered;
                                   * FAR_LAST where quanta do not overlap */
    atomic_uint goes_on; /* quantum in which a block was seen that is sure to run on */
    atomic_bool replies_free; /* the replies are a task that any thread may take */
    atomic_bool replied;      /* memsys_replies is done */
    atomic_bool round_over;   /* of the pool */
    /* Tasks left of the quantum: nodes, replies, and the serial phase of the one before. */
    _Alignas(64) atomic_uint left;
    /* Countdown to the replies: partitions left, and memsys_next_quantum. */
    _Alignas(64) atomic_uint replies_wait;
    _Alignas(64) unsigned round_left; /* quanta of the round */
    bool no_overlap;                  /* the serial phase must run alone */
    atomic_bool faulty;               /* an SM has a fault */
    enum outcome outcome;             /* of the last serial phase */
};

/* A launch under way. */
struct run {
    struct timing_gpu *g;
    struct arena *arena;
    struct diag_sink *diag;
    struct sm *sm;
    struct run_launch launch;
    struct run_quantum quantum;
    struct run_team team;
};

/* -- quantum.c -- */

/* First part of a quantum: as far as the node gets by itself. */
void run_node(struct run *r, unsigned k);
/* The quantum [from, to): its nodes and partitions, these up to cycle `far`. */
void run_do(struct run *r, uint64_t from, uint64_t to, uint64_t far);
/* After the nodes of a quantum. */
enum outcome run_serial_phase(struct run *r);
/* From the last block's end to the cycle in which the memory system's counters are read. */
void run_follow_alone(struct run *r);
/* Instruction lines that a warp asked for and no longer needs may still be on their way.
 * After them, the next launch starts in the same cycle whatever the quanta were. */
void run_drain(struct run *r);
/* Sends blocks to SMs at the end of the quantum. */
void run_start_blocks(struct run *r, uint64_t now);
/* Where a quantum that begins with cycle `from` ends. */
uint64_t run_quantum_end(const struct run *r, uint64_t from);
/* How far the memory side goes in a quantum from `from` to `end`. */
uint64_t run_memory_end(const struct run *r, uint64_t from, uint64_t end);
/* First cycle from the quantum's end on in which anything happens, or NEVER. */
uint64_t run_next_cycle(const struct run *r);

/* -- threads.c -- */

/* Makes what threads share. */
void run_threads(struct run *r);
/* Runs the tasks of the open quantum: nodes and partitions. */
void run_quantum(struct run *r);
/* Quanta from the one whose nodes have run to the next whose serial phase must run alone. */
enum outcome run_overlapped(struct run *r);

/* -- gpu.c -- */

/* The launch has come as far as this cycle (timing_beat). */
static inline void
run_beat(struct timing_gpu *g, uint64_t now)
{
    atomic_store_explicit(&g->beat, now, memory_order_relaxed);
}

/* Whether the launch is within its limits; false: it is over. */
bool run_go_on(struct run *r);
/* After so many quanta, now and then: whether the launch gets on, and its progress; false: it
 * is over. */
bool run_tell(struct run *r, unsigned quanta);

#endif
