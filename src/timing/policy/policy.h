/* policy.h: the interfaces behind which policies stand, one file each in schedulers/,
 * residency/, cta_order/, dram/. A policy is a constant struct and a row in that folder's
 * registry.def; nothing else changes when one is added. */
#ifndef ALLOT_TIMING_POLICY_H
#define ALLOT_TIMING_POLICY_H

#include "exec/exec.h"
#include "machine/machine.h"
#include "machine/occupancy.h"
#include "stats/stats.h"

/* -- warp schedulers -- */
enum warp_class { WARP_OWNER, WARP_UNSHARED, WARP_NON_OWNER }; /* order = OWF priority */

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
    unsigned blocks;        /* resident blocks M = U + 2S */
    unsigned baseline;      /* B */
    unsigned pairs;         /* S */
    unsigned private_units; /* of the shared resource: below this a location is private */
    /* -- for policies that look at warps; 0 with others -- */
    unsigned warps;         /* of a block */
    unsigned private_bytes; /* of scratchpad, where registers are shared too */
    unsigned tokens;        /* warps that have registers at once */
    unsigned period;        /* core cycles between two calls of tick; 0: never */
    bool shares_scratchpad; /* pairs share it: passes are told residency.threshold */
};

/* One SM's state of the policy; slots 0..blocks-1 hold resident blocks. */
struct residency_view {
    unsigned nslots;
    struct exec_cta *const *cta; /* by slot, NULL: empty */
    struct stat_sm *stats;       /* of this SM */
    uint64_t now;
    unsigned sm;   /* number of this SM */
    unsigned warp; /* may_issue, warp_ended: index in its block of the warp in question */
    const char *fault; /* set by may_issue: the program breaks a rule, in words; the
                        * launch fails with them */
};

/* What pairs of blocks share under a policy. */
enum { SHARES_REGISTERS = 1, SHARES_SCRATCHPAD = 2 };

struct residency_policy {
    const char *name, *meaning;
    unsigned shares; /* SHARES_...; 0: blocks are not paired */
    bool physical;   /* needs physical register numbers (compiler.registers: allocated) */
    bool (*plan)(const struct machine *m, const struct occ_kernel *k,
                 struct residency_plan *p, struct diag_sink *diag);
    size_t (*state_size)(const struct residency_plan *p);
    void (*init)(void *state, const struct machine *m, const struct residency_plan *p);
    /* A block starts in / has left slot s. */
    void (*started)(void *state, const struct residency_view *v, unsigned s);
    void (*ended)(void *state, const struct residency_view *v, unsigned s);
    /* Optional: the last live thread of slot s executed relssp (000 section 6.2). Classes
     * and locks may change. */
    void (*released)(void *state, const struct residency_view *v, unsigned s);
    /* Optional: warp v->warp of slot s has ended and everything it began is done. True if
     * classes or locks changed. Comes before `ended` of its block. */
    bool (*warp_ended)(void *state, struct residency_view *v, unsigned s);
    /* Optional: plan.period cycles have passed, `first` is what SM 0 has counted so far.
     * Called for SM after SM, all accounted up to v->now. True if refused warps shall ask
     * again. */
    bool (*tick)(void *state, struct residency_view *v, const struct stat_sm *first);
    /* Optional: warps of this SM wait for the next tick alone. */
    bool (*waits_for_tick)(const void *state);
    /* Optional: does the warp hold what its slot shares? Without it: a slot that is not
     * watched does. */
    bool (*holds)(const void *state, unsigned s, unsigned warp);
    /* May the warp of slot s issue this instruction now? Called only when everything else
     * allows it; takes locks. A refused warp is asked again after a block of the SM ended
     * or classes changed. access is NULL for instructions that touch no memory. Sets
     * *changed if classes of warps changed. NULL function: always. */
    bool (*may_issue)(void *state, struct residency_view *v, unsigned s,
                      const struct exec_static *st, const struct exec_access *access,
                      bool *changed);
    /* Whether may_issue has to be asked for this instruction (cheap static filter). */
    bool (*concerns)(const struct exec_static *st, const struct residency_plan *p);
    /* Whether it has to be asked for warps of slot s at all, as long as classes do not
     * change. */
    bool (*watches)(const void *state, unsigned s);
    enum warp_class (*cls)(const void *state, unsigned s);
    /* Why slot s waits, in words. */
    void (*explain)(const void *state, unsigned s, struct strbuf *out);
};
const struct residency_policy *residency_find(const char *name);
const struct residency_policy *residency_at(size_t i);
/* The plan of the machine's policy (residency.policy). False and a diagnostic if not even
 * one block fits. Who wants to know of a launch asks the launch plan (runtime/plan.h). */
bool residency_plan_of(const struct machine *m, const struct occ_kernel *k,
                       struct residency_plan *p, struct diag_sink *diag);

/* -- order of blocks -- */
struct cta_order_policy {
    const char *name, *meaning;
    size_t state_size;
    void (*init)(void *state, const struct machine *m, uint64_t blocks);
    /* SM `sm` has room: id of the block it gets, or -1 (none now). */
    int64_t (*next)(void *state, unsigned sm);
};
const struct cta_order_policy *cta_order_find(const char *name);
const struct cta_order_policy *cta_order_at(size_t i);

#endif
