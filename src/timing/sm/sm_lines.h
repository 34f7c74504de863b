/* sm_lines.h: an SM's counters by instruction (stats/lines.def).
 *
 * Each issue slot goes to one instruction. A used one: to the instruction that takes it. A lost
 * one: to an instruction that a warp of the slot's cause waits with: its next one, where that
 * lacks something (an operand, a unit, a lock, the code itself), and its last one, where that
 * holds the warp (a barrier, a fence, a branch). Of several such warps, cycle t goes to number
 * t modulo their count, as a sampling profiler would look at one after the other; so it does not
 * matter in what spans an SM accounts for its cycles. Slots of schedulers without a warp go to
 * no instruction. */
#ifndef ALLOT_TIMING_SM_LINES_H
#define ALLOT_TIMING_SM_LINES_H

#include "base/arena.h"
#include "stats/stats.h"

enum { SM_LINES_SCHEDULERS = 4, SM_LINES_WARPS = 128 };

/* Whose the slots of a scheduler are at present: warps by position, which stay where they are as
 * long as they wait. */
struct sm_lines_share {
    uint64_t next, last; /* they wait with their next instruction, with their last one */
    uint32_t pc;         /* both 0: this instruction's */
};

struct sm_lines {
    struct line_counts *at; /* by instruction; the last: of none */
    uint32_t ninst;
    uint32_t issuing; /* instruction at issue */
    uint32_t *op;     /* by operation of the load/store unit: its instruction */
    uint32_t used[SM_LINES_SCHEDULERS]; /* issued last, by scheduler */
    uint32_t last[SM_LINES_WARPS];      /* ... by warp slot */
    struct sm_lines_share share[SM_LINES_SCHEDULERS];
};

struct sm;
struct sm_sched;

/* For a program of ninst instructions and a load/store unit of nops operations. */
struct sm_lines *sm_lines_new(struct arena *a, uint32_t ninst, uint32_t nops);
/* Warp w issues, or executes without a slot, the instruction. */
void sm_lines_issue(struct sm_lines *l, const struct sm_sched *c, unsigned w,
                    uint32_t pc);
/* The scheduler's cause is known: finds whose its slots are. */
void sm_lines_share(struct sm *s, const struct sm_sched *c);
/* The cycles (from, to], in which each scheduler had its present cause. */
void sm_lines_account(struct sm *s, uint64_t from, uint64_t to);
/* Takes back n slots in which a scheduler had no warp. */
void sm_lines_take_back(struct sm_lines *l, uint64_t n);

#endif
