/* trace.h: what happened when: blocks, states of warps, what is under way in an SM,
 * traffic of L2 and DRAM channels, as events in buffers that grow. An SM writes only its
 * own buffer.
 *
 * A trace of more events than its limit ends at the latest cycle before which no more
 * than that begin: `cut`. What begins later is dropped, what goes on beyond ends there.
 * The cut depends on the events alone, not on the order in which they come: events that
 * are not known yet can only make it earlier, so what lies behind the cut of those known
 * can go at any time. It is looked for between windows. */
#ifndef ALLOT_TIMING_TRACE_H
#define ALLOT_TIMING_TRACE_H

#include "base/arena.h"
#include "machine/machine.h"
#include "stats/stats.h"

struct sm;
struct memory;

enum trace_kind {
    TRACE_BLOCK,   /* track: slot; value: number of the block */
    TRACE_WARP,    /* track: warp slot; value: enum trace_state */
    TRACE_LEVEL,   /* track: enum trace_level; value: average, in TRACE_PARTS */
    TRACE_CHANNEL, /* track: 2 * channel for L2 accesses, + 1 for DRAM bus clocks */
    TRACE_LAUNCH,  /* value: number of the launch, from 0 */
};

enum { TRACE_PARTS = 32 /* of 1 in which levels are told */ };

enum trace_state {
    TRACE_NO_WARP,
    TRACE_READY, /* issues, or could but for its unit or another warp */
#define WAIT(id, cause, holds, ends, state, over, ...) TRACE_##id,
#include "timing/waits.def"
#undef WAIT
    TRACE_FETCH,
    TRACE_ENDED, /* its last instructions or stores are under way */
    TRACE_NSTATES
};

enum trace_level {
    TRACE_COLLECTORS, /* collector units in use */
    TRACE_PIPELINES,  /* instructions in pipelines */
    TRACE_UNDER_WAY,  /* issued and not written back, memory ones included */
    TRACE_NLEVELS
};

struct trace_event {
    uint64_t from, to; /* core cycles since the device was made: [from, to) */
    uint32_t value;
    uint16_t track;
    uint8_t kind;
};

struct trace_buffer {
    struct trace_event *v;
    size_t n, cap;
};

struct trace_sm { /* of one SM */
    struct trace_buffer events;
    struct trace *trace;
    uint64_t *since; /* by warp slot, then by block slot */
    uint8_t *state;  /* by warp slot, enum trace_state */
    uint32_t *block; /* by slot: number + 1, 0: free */
    uint32_t level[TRACE_NLEVELS];
    uint64_t level_sum[TRACE_NLEVELS]; /* over the cycles [level_from, level_at) */
    uint64_t level_from, level_at;
    size_t level_event[TRACE_NLEVELS]; /* the last one kept, + 1; 0: none */
};

struct trace_launch {
    const char *kernel;
    uint64_t start; /* last cycle before it */
};

struct trace {
    uint64_t from, to; /* window, cycles of each launch; only what lies in it is kept */
    uint64_t start;    /* of the launch under way */
    uint64_t limit;    /* events */
    uint64_t cut;      /* nothing is kept from this cycle on; NEVER: not full so far */
    uint32_t launches; /* so far; those from the cut on are not in `launch` */
    size_t nlaunch, cap_launch;
    struct trace_launch *launch;
    struct arena arena; /* of what does not grow */
    unsigned nsm, nchannels;
    double dram_ratio; /* DRAM command clocks a core cycle */
    struct trace_sm *sm;
    struct trace_buffer gpu; /* launches, channels */
    uint64_t *l2_before, *dram_before;
    uint64_t channels_at; /* cycle of the last reading */
};

/* limit: events in all. */
struct trace *trace_new(const struct machine *m, uint64_t from, uint64_t to,
                        uint64_t limit);
void trace_free(struct trace *t); /* may be NULL */
void trace_begin(struct trace *t, const char *kernel, uint64_t now);
/* After an SM's cycle. */
void trace_cycle(struct trace_sm *t, const struct sm *s, uint64_t now);
/* Channels, up to and including cycle `now`. */
void trace_channels(struct trace *t, const struct memory *mem, uint64_t now);
/* Between windows: the buffers hold no more than 1.5 times the limit. */
void trace_bound(struct trace *t);
/* The launch ended in cycle `end`, and SMs are done up to `now`: what is open ends, and
 * no more than the limit is kept. */
void trace_end(struct trace *t, uint64_t end, uint64_t now);

#endif
