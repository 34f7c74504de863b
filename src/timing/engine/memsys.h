/* memsys.h: how the memory system (mem/memory.h) goes through simulated time.
 *
 * Time advances in quanta of a few core cycles, at most the lookahead: within one, ports and
 * memory partitions do not depend on each other. Either what passes a crossbar takes longer,
 * or partitions are ahead of the ports, since requests reach their L2 slice much later. The
 * calls for the quantum [from, to), of which those of one step may be in any order and in
 * any host threads:
 *   1  memsys_next_quantum, memsys_open                                  one thread
 *   2  memsys_part of each partition that is due; then memsys_replies, which may be left out
 *      of each port, for its cycles c in order: memory_port(c), memory_reply (a port
 *      publishes at most one reply a cycle), the cycle of its SMs, memory_inject
 *   3  for the cycles c in order: memsys_cross(c), and the ports that stopped   one thread
 *   4  memsys_close                                                      one thread
 * Where memsys_overlap allows it, the partitions' next quantum overlaps steps 3 and 4:
 *   - after memsys_replies: memsys_overlap, even while ports are still in the quantum; then
 *     memsys_part of each partition, in any thread
 *   - after the ports' quantum, in one thread: memsys_next_quantum, steps 3 and 4, and
 *     memsys_open of the ports alone; then the ports' part of step 2
 *   - after memsys_part of each and memsys_next_quantum: memsys_replies
 * Whether a packet finds room before a crossbar may depend on what the crossbar does in
 * the same quantum. memory_inject then answers ROOM_UNKNOWN (credits.h): the port must stop
 * there, and try again after memsys_cross of that cycle (partitions do the like inside). So
 * the result does not depend on quanta.
 * memsys_step(c) is a quantum of one cycle, but for the SMs' part of it. */
#ifndef ALLOT_TIMING_MEMSYS_H
#define ALLOT_TIMING_MEMSYS_H

#include "timing/mem/memory.h"

struct memsys;

/* Longest quantum in core cycles; a power of two. */
enum { MEMSYS_QUANTUM = MEMORY_CYCLES };

/* What does not change of it. */
struct memsys_facts {
    struct memory *memory; /* the hardware: ports, counters */
    unsigned quantum;      /* the longest: a power of two, at most MEMSYS_QUANTUM */
    unsigned parts;        /* partitions */
    /* Partitions and replies may be ahead of ports and requests: a request reaches its L2
     * slice much later, so they go through the next quantum meanwhile. */
    bool ahead;
    /* Partitions that have something to do in what was opened for them last: a bit set,
     * written by memsys_open and memsys_overlap. */
    const uint64_t *due;
};

struct memsys *memsys_new(const struct machine *m, struct memsys_facts *facts,
                          struct diag_sink *diag);
void memsys_free(struct memsys *ms);

/* Counters start anew (a launch begins); L2 contents stay. threads: of the following,
 * partitions and ports go on in several, or memsys_overlap is called. no_skip: every part
 * is stepped in every tick, whatever it says of its next event (results do not differ). */
void memsys_begin(struct memsys *ms, bool threads, bool no_skip);
/* Adds the counters of the launch to out. */
void memsys_stats(struct memsys *ms, struct launch_stats *out);

/* -- a quantum -- */

/* A quantum that begins with core cycle `from` is next; it ends before the cycle returned.
 * What has come through the reply crossbar is there for the ports from it on. */
uint64_t memsys_next_quantum(struct memsys *ms, uint64_t from);
/* It is [from, to). Partitions and replies go up to cycle `far`, where they may be ahead of
 * the ports: by two of the longest quanta at most, counted from where the one that begins
 * with `from` would begin. far 0: they are on their way already (memsys_overlap). */
void memsys_open(struct memsys *ms, uint64_t from, uint64_t to, uint64_t far);

/* Partition i, one of facts.due, goes through what is open for it. */
void memsys_part(struct memsys *ms, unsigned i);
/* After all of those: the reply crossbar follows, and partitions that waited for it, as
 * far as that does not depend on the ports. */
void memsys_replies(struct memsys *ms);

/* Before the serial phase of the quantum that ends with `from`: partitions go on up to
 * cycle `far`, if they may. ports_done: ports are through the quantum, so replies that
 * waited for them first follow as far as need be. */
bool memsys_overlap(struct memsys *ms, uint64_t from, uint64_t far, bool ports_done);

/* The crossbars follow up to core cycle `now` of the quantum, and partitions that waited
 * for them. Ports (a bit set) that were refused, did not try again before `now`, and may
 * have room now or in the next cycles. */
const uint64_t *memsys_cross(struct memsys *ms, uint64_t now);
/* After the last cycle. next: by port, the cycle in which it next has something to do
 * (memory_port_next); lowered where the crossbars have changed it. */
void memsys_close(struct memsys *ms, uint64_t *next);

/* First core cycle after the quantum in which a partition or a crossbar does anything,
 * NEVER; of ports: memory_port_next. */
uint64_t memsys_next_event(const struct memsys *ms);

/* Advances ports, interconnect, L2 and DRAM through core cycle `now`. Call once per core
 * cycle stepped; cycles left out are caught up inside (they must not lie beyond the next
 * event). */
void memsys_step(struct memsys *ms, uint64_t now);

#endif
