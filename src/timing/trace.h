/* trace.h: what happened when: blocks, states of warps, what is under way in an SM,
 * traffic of L2 and DRAM channels, as events in buffers made before the simulation
 * starts. An SM writes only its own buffer. A full buffer takes no more; what it lost is
 * counted. */
#ifndef ALLOT_TIMING_TRACE_H
#define ALLOT_TIMING_TRACE_H

#include "base/arena.h"
#include "machine/machine.h"
#include "stats/stats.h"

struct sm;
struct memsys;

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
    TRACE_MEMORY,
    TRACE_RESULT,
    TRACE_BARRIER,
    TRACE_FENCE,
    TRACE_LOCK,
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
    uint32_t n, cap;
    uint64_t lost;
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
};

struct trace {
    uint64_t from, to; /* window, cycles of each launch; only what lies in it is kept */
    uint64_t start;    /* of the launch under way */
    uint32_t launches;
    unsigned nsm, nchannels;
    double dram_ratio; /* DRAM command clocks a core cycle */
    struct trace_sm *sm;
    struct trace_buffer gpu; /* launches, channels */
    uint64_t *l2_before, *dram_before;
    uint64_t channels_at; /* cycle of the last reading */
};

/* limit: events in all. */
struct trace *trace_new(struct arena *a, const struct machine *m, uint64_t from,
                        uint64_t to, uint64_t limit);
void trace_begin(struct trace *t, uint64_t now);
/* After an SM's cycle. */
void trace_cycle(struct trace_sm *t, const struct sm *s, uint64_t now);
/* Channels, up to and including cycle `now`. */
void trace_channels(struct trace *t, struct memsys *ms, uint64_t now);
/* The launch is over: what is open ends. */
void trace_end(struct trace *t, uint64_t now);

#endif
