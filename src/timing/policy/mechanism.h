/* mechanism.h: the seam behind which resource policies stand in an SM. A mechanism is a
 * constant struct of optional handlers, told of what happens (sm_events.def), and asked two
 * questions: may this instruction issue, and may the SM take a block now. It keeps its state
 * and its plan to itself. What the SM has to know of it it writes into its view. Several
 * mechanisms work in an SM at once: an instruction issues if none objects. */
#ifndef ALLOT_TIMING_MECHANISM_H
#define ALLOT_TIMING_MECHANISM_H

#include "exec/exec.h"
#include "machine/machine.h"
#include "stats/stats.h"
#include "timing/cycles.h"
#include "timing/waits.h"

enum warp_class { WARP_OWNER, WARP_UNSHARED, WARP_NON_OWNER }; /* order = OWF priority */

/* One mechanism's view of one SM. */
struct sm_view {
    unsigned nslots;             /* of blocks */
    struct exec_cta *const *cta; /* by slot, NULL: empty */
    struct stat_sm *stats;       /* of this SM */
    uint64_t now;
    unsigned sm;      /* number of this SM */
    const void *code; /* what `prepare` made of the launch's program */

    /* -- written by the mechanism -- */
    uint8_t *cls;  /* by slot: enum warp_class of its warps; at first WARP_UNSHARED */
    uint8_t *asks; /* by slot: may_issue must be asked for its warps; at first 1 */
    /* cls, asks or the answers of may_issue have changed: who was refused asks again. The
     * SM sees to it when the handler returns, and takes it back. */
    bool changed;
    /* Only these warps of it ask again (bits: slot * warps of a block + warp); likewise
     * taken back. */
    uint64_t again[2];
    /* These warps have got registers that they did not start with: all are told
     * (registers_got); likewise taken back. */
    uint64_t got[2];
    bool waits;        /* warps of this SM wait for the next period alone */
    uint64_t timer;    /* first cycle in which `timer` shall be told; NEVER */
    const char *fault; /* by may_issue: the program breaks a rule, in words; the launch
                        * fails with them */
};

struct sm_event {
    unsigned slot; /* of the block */
    unsigned warp; /* in its block */
    uint32_t pc;   /* of the instruction, its static description: */
    uint32_t lanes;
    const struct exec_static *st;
    /* may_issue, if it peeks; NULL: it touches no memory */
    const struct exec_access *access;
    const struct stat_sm *first; /* period: what SM 0 has counted so far */
};

enum sm_event_id {
#define EVENT(id, when, holds) SM_EVENT_##id,
#include "timing/sm_events.def"
#undef EVENT
    SM_NEVENTS
};
#define MECHANISM_QUIET(id) ((uint32_t)1 << SM_EVENT_##id)
#define MECHANISM_YES ((uint32_t)1 << SM_NEVENTS)

typedef void sm_handler(void *state, struct sm_view *v, const struct sm_event *e);

struct mechanism {
    enum sm_wait wait; /* what a warp waits for that it has refused; HEAD, EVENT */
    bool
        eager; /* may_issue is asked as soon as nothing else keeps the warp, and again each
                 * time it changes what it says, before a scheduler chooses; otherwise when
                 * the scheduler has chosen the warp */
    bool peeks; /* may_issue wants to know what memory the instruction touches */
    bool reads; /* the scoreboard tracks reads too (RAR, WAR), to `operands_read` */
    bool once;  /* eager: who is in `again` may issue; no second question */
    /* It stops all warps of a block, whatever they issue: of what a card's compiler makes a
     * part of another instruction (sm.fusions) it is not asked. */
    bool whole;
    /* Handlers that write nothing into the view: 1 << SM_EVENT_...; MECHANISM_YES: nor does
     * may_issue when it says yes. The SM need not look there. */
    uint32_t quiet;
    /* Optional: what all SMs shall know of the program, n instructions as they issue them;
     * once per launch, as long as it. */
    const void *(*prepare)(struct arena *a, const struct exec_static *st, uint32_t n,
                           const struct machine *m, const void *plan);
    size_t (*state_size)(const void *plan); /* of one SM's state, zeroed; NULL: none */
    void (*init)(void *state, struct sm_view *v, const struct machine *m,
                 const void *plan);
#define EVENT(id, when, holds) sm_handler *id;
#include "timing/sm_events.def"
#undef EVENT
    /* May the warp issue this instruction now? Asked only when everything else allows it;
     * the mechanism may take what it guards. Who was refused is asked again once the
     * mechanism says that it has changed, or a block of the SM has ended. */
    bool (*may_issue)(void *state, struct sm_view *v, const struct sm_event *e);
    /* Of which instructions it must be asked, once per launch. NULL: of all. */
    bool (*concerns)(const struct exec_static *st, const void *plan);
    /* May the SM take a block now, where a slot is free? */
    bool (*may_start)(const void *state, const struct sm_view *v);
    /* How the block in slot s stands, in words, for a launch that is stuck. */
    void (*explain)(const void *state, unsigned s, struct strbuf *out);
};

/* A mechanism at work in a launch. */
struct mechanism_use {
    const struct mechanism *mechanism;
    const void *plan;                   /* its own, as long as the launch; NULL: */
    _Alignas(16) unsigned char own[48]; /* this one */
    const void *code;                   /* set by the launch: of `prepare` */
};

static inline const void *
mechanism_plan(const struct mechanism_use *u)
{
    return u->plan ? u->plan : u->own;
}

#endif
