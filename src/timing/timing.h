/* timing.h: the cycle model's front door. Pipeline, rules, parameters: docs/model.md. */
#ifndef ALLOT_TIMING_TIMING_H
#define ALLOT_TIMING_TIMING_H

#include "exec/exec.h"
#include "machine/machine.h"
#include "machine/occupancy.h"
#include "stats/stats.h"
#include "timing/policy/policy.h"

struct timing_gpu;

struct timing_options {
    bool no_skip;     /* step every component every cycle */
    unsigned threads; /* host threads; 0: 1 */
    /* Core cycles that parts go on by themselves, at most (a power of two; 0: as many as
     * can be; 1: all are in the same cycle); counters are the same. */
    unsigned quantum;
    uint64_t max_cycles; /* 0: none */
    uint64_t max_instructions;
    bool (*progress)(void *user, uint64_t cycles, uint64_t thread_instructions,
                     uint64_t done, uint64_t blocks);
    void *user; /* of progress and sample */
    /* Called at the end of every sample_cycles-th core cycle of a launch with the
     * counters so far; 0: never. */
    uint64_t sample_cycles;
    bool lines; /* count for each instruction too: timing_lines */
    /* A trace of at most so many events, of the cycles [trace_from, trace_to) of each
     * launch; 0: none. */
    uint64_t trace_limit, trace_from, trace_to;
    void (*sample)(void *user, uint64_t cycle, const struct launch_stats *so_far);
};

/* A GPU that lives over several launches (the L2 keeps its contents, L1s do not). NULL
 * and a diagnostic if the description asks for a policy that does not exist. */
struct timing_gpu *timing_gpu_new(const struct machine *m, const struct timing_options *o,
                                  struct diag_sink *diag);
void timing_gpu_free(struct timing_gpu *g);

/* Within options.progress: a warp of the launch that has not ended; NULL: none is known. */
const struct exec_warp *timing_at(const struct timing_gpu *g);

/* For a thread that looks for endless loops: a number that changes with every quantum of
 * cycles (the last core cycle done), and, when it has stopped, who waits for what, in words. */
uint64_t timing_beat(const struct timing_gpu *g);
void timing_explain(const struct timing_gpu *g, struct strbuf *out);

/* What the SMs are set up for in one launch (a part of runtime/plan.h). */
struct timing_plan {
    struct occ_kernel demand;        /* of the kernel */
    struct residency_plan residency; /* of the machine's residency policy */
    uint32_t l1_ways;                /* of L1D, beside the resident blocks' scratchpad */
    struct mechanism_use registers;  /* their power states; mechanism NULL: always ON */
    unsigned nmechanisms;            /* at work beside these and the residency policy's */
    struct mechanism_use mechanism[3];
    const struct cta_order_policy *order; /* the machine's */
    const struct cta_schedule *schedule;  /* for it; NULL: none */
};
/* Fills it for blocks of kernel f that ask for k. False and a diagnostic if not even one
 * block fits, or if the policy cannot work with the kernel. */
bool timing_plan(const struct machine *m, const struct ptx_func *f,
                 const struct occ_kernel *k, struct timing_plan *out,
                 struct diag_sink *diag);

/* Runs the grid to its end as planned; fills `out`; checks every identity of stats.def.
 * False and a diagnostic on fault, limit, interruption, or if nothing can ever move again
 * (said who waits for what). */
bool timing_launch(struct timing_gpu *g, struct exec_grid *grid,
                   const struct timing_plan *plan, struct launch_stats *out,
                   struct diag_sink *diag);

/* Quanta of the last launch, overlapped ones included: how often SMs waited for each other
 * (tests). */
uint64_t timing_quanta(const struct timing_gpu *g);

/* NULL: none. */
struct trace;
const struct trace *timing_trace(const struct timing_gpu *g);

/* Counters of SM i in the last launch, until the next. */
const struct stat_sm *timing_sm_stats(const struct timing_gpu *g, unsigned i);

/* Counters of each of the program's instructions in the last launch, which was simulated to
 * its end, summed over SMs, then those of no instruction; until the next. NULL without
 * options.lines. */
const struct line_counts *timing_lines(const struct timing_gpu *g);

/* A host copy of these bytes went by (partition.prefill). */
void timing_host_copy(struct timing_gpu *g, uint64_t addr, uint64_t bytes);

#endif
