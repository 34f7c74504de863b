/* policy.h: the interfaces behind which policies stand, one file each in schedulers/,
 * residency/, cta_order/, dram/. A policy is a constant struct and a row in that folder's
 * registry.def; nothing else changes when one is added. */
#ifndef ALLOT_TIMING_POLICY_H
#define ALLOT_TIMING_POLICY_H

#include "exec/exec.h"
#include "machine/machine.h"
#include "machine/occupancy.h"
#include "stats/stats.h"
#include "timing/policy/mechanism.h"

/* -- warp schedulers -- */
/* What a scheduler may see of its warps (index = position in this scheduler, 0..n-1). */
struct sched_view {
    unsigned n;                 /* warp positions */
    const uint32_t *dynamic_id; /* launch order over the SM's life: smaller is older */
    const uint8_t *cls;         /* enum warp_class */
    uint64_t now;
    const struct machine *machine;
};

struct sched_policy {
    const char *name, *meaning; /* the value of sm.scheduler */
    size_t state_size;          /* per scheduler; zeroed by the caller */
    void (*init)(void *state, unsigned n, const struct machine *m);
    /* ready: bit i is set if warp i can issue now; never 0. Returns a set bit. Called
     * again with that bit gone if the warp turns out to be held by a lock: what an issue
     * changes belongs into `issued`. */
    int (*pick)(void *state, const struct sched_view *v, uint64_t ready);
    /* Optional: after warp i issued `count` instructions; long_latency: one of them waits
     * for memory (two-level moves it out of the active set). */
    void (*issued)(void *state, const struct sched_view *v, int i, int count,
                   bool long_latency);
    /* Optional: a warp entered (started = true) or left position i. */
    void (*warp)(void *state, const struct sched_view *v, int i, bool started);
};
const struct sched_policy *sched_find(const char *name); /* NULL: unknown */
const struct sched_policy *sched_at(size_t i);           /* NULL: past the last */

/* -- residency: how many blocks live in an SM, and what they share -- */
struct residency_plan {     /* per launch, the same for every SM */
    unsigned blocks;        /* resident blocks */
    unsigned baseline;      /* of these, without sharing */
    unsigned period;        /* core cycles between two events `period`; 0: none */
    bool shares_scratchpad; /* passes are told residency.threshold */
    /* Warps of the last `late` slots start with their first `start` registers; the others
     * they get later (view->got), until they end. */
    unsigned late, start;
    _Alignas(16) unsigned char own[32]; /* the plan of the policy's mechanism */
};

/* What pairs of blocks share under a policy. */
enum { SHARES_REGISTERS = 1, SHARES_SCRATCHPAD = 2 };

struct residency_policy {
    const char *name, *meaning;
    unsigned shares; /* SHARES_...; 0: blocks are not paired */
    bool physical;   /* needs physical register numbers (compiler.registers: allocated) */
    bool (*plan)(const struct machine *m, const struct occ_kernel *k,
                 struct residency_plan *p, struct diag_sink *diag);
    unsigned (*pairs)(const struct residency_plan *p); /* for reports; NULL: 0 */
    struct mechanism
        mechanism; /* what it does in an SM; its plan is residency_plan.own */
};
const struct residency_policy *residency_find(const char *name);
const struct residency_policy *residency_at(size_t i);
/* The plan of the machine's policy (residency.policy). False and a diagnostic if not even
 * one block fits. Who wants to know of a launch asks the launch plan (runtime/plan.h). */
bool residency_plan_of(const struct machine *m, const struct occ_kernel *k,
                       struct residency_plan *p, struct diag_sink *diag);
/* Pairs of blocks that share something under that plan. */
unsigned residency_pairs(const struct machine *m, const struct residency_plan *p);

/* -- order of blocks -- */
struct cta_schedule; /* schedule.h */

/* A launch, as an order policy sees it. */
struct cta_launch {
    const struct machine *machine;
    const char *kernel;
    uint32_t grid[3];
    uint64_t blocks;                     /* of the grid; numbered from 0, x first */
    unsigned resident;                   /* blocks that an SM holds at most */
    const struct cta_schedule *schedule; /* NULL: none */
};

/* SMs are simulated up to different times. So an answer for SM k in cycle t may turn from
 * "none" or "not open" to a block for three reasons only: a block of SM k has ended; all
 * blocks have (`drained`); or t is the cycle that `again` told. What the policy learns of
 * one SM therefore concerns another from such a cycle on, which lies cta.sync_cycles at
 * least behind the call by which it learned it. Calls come in the order of cycles. */
struct cta_order_policy {
    const char *name, *meaning;
    size_t state_size; /* zeroed by the caller */
    bool follows;      /* a schedule: where no file gives one, cta.schedule makes it */
    /* Optional: false and a diagnostic refuse the launch. Asked by the launch plan, if the
     * grid is known. */
    bool (*accepts)(const struct cta_launch *l, struct diag_sink *diag);
    /* What it needs beside its state it takes from the arena, which lasts as long. */
    void (*init)(void *state, struct arena *a, const struct cta_launch *l);
    /* SM `sm` has room in cycle `now`: id of the block it gets, or -1: none now. */
    int64_t (*next)(void *state, unsigned sm, uint64_t now);
    /* Optional: whether SM `sm` with so many resident blocks may get one in cycle `now`: so
     * it caps them. Only reads: many threads ask. Without it: always. */
    bool (*open)(const void *state, unsigned sm, unsigned resident, uint64_t now);
    /* Optional: n blocks of SM `sm` ended in cycle `now`. Told while blocks are left. */
    void (*ended)(void *state, unsigned sm, unsigned n, uint64_t now);
    /* Optional: first cycle after `now` at whose end SMs without a block are asked again;
     * NEVER. */
    uint64_t (*again)(const void *state, uint64_t now);
    /* Optional: no block is resident, the last one ended in cycle `end`. Returns the cycle
     * at whose end blocks may start again, at least end + cta.sync_cycles, or 0: the
     * policy did not wait for this. */
    uint64_t (*drained)(void *state, uint64_t end);
    /* Optional: synchronisations between steps so far (counter schedule_syncs). */
    uint64_t (*syncs)(const void *state);
};
const struct cta_order_policy *cta_order_find(const char *name);
const struct cta_order_policy *cta_order_at(size_t i);

#endif
