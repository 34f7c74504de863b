/* memsys.h: how the memory system (mem/memory.h) goes through simulated time.
 *
 * Time goes on in quanta of a few core cycles, in which ports and memory partitions do
 * not depend on each other: what passes a crossbar takes longer, or partitions are a
 * quantum ahead of the ports and what is asked does not concern them so soon. So, for the
 * quantum [from, to):
 *   memsys_open, memsys_open_far
 *   in any order, in any host threads: memsys_part of each partition, and after all of
 *     these memsys_replies, which may be left out; and of each port, for its cycles c in
 *     order: memsys_port(c), memory_reply (a port shows at most one reply a cycle), the
 *     cycle of its SMs, memory_inject
 *   memsys_parts_done
 *   in one thread, for the cycles c of the quantum in order: memsys_cross(c), and what
 *     could not go on without it
 *   memsys_close
 * or, where memsys_may_go_on allows it, that of the ports beside the partitions' next:
 *   after memsys_replies of the quantum, memsys_parts_go_on in place of memsys_parts_done,
 *     memsys_close and memsys_open_far; ports may be in the quantum still
 *   from then on, in any host threads: memsys_part of each
 *   after the ports' quantum, in one: memsys_publish_replies, memsys_cross, what could not go
 *     on without it, memsys_close, memsys_open of the next quantum, and then in any the
 *     ports' part of that
 *   after memsys_part of each and memsys_publish_replies: memsys_replies
 * Whether a packet finds room before a crossbar may depend on what the crossbar does in
 * the same quantum. memory_inject then answers ROOM_UNKNOWN (timed_queue.h): the port must
 * stop there, and try again after memsys_cross of that cycle (partitions do the like
 * inside). So the result does not depend on quanta.
 * memsys_step(c) is a quantum of one cycle, but for the SMs' part of it. */
#ifndef ALLOT_TIMING_MEMSYS_H
#define ALLOT_TIMING_MEMSYS_H

#include "timing/mem/memory.h"

struct memsys;

struct memsys *memsys_new(const struct machine *m, struct diag_sink *diag);
void memsys_free(struct memsys *ms);

/* The hardware: ports, counters. */
struct memory *memsys_memory(struct memsys *ms);

/* Counters start anew (a launch begins); L2 contents stay. threads: of the following,
 * partitions and ports go on in several, or memsys_may_go_on is called. no_skip: every part
 * is stepped in every tick, whatever it says of its next event (results do not differ). */
void memsys_begin(struct memsys *ms, bool threads, bool no_skip);
/* Adds the counters of the launch to out. */
void memsys_stats(struct memsys *ms, struct launch_stats *out);

/* Longest quantum in core cycles: a power of two, at most MEMSYS_QUANTUM. */
enum { MEMSYS_QUANTUM = 32 };
unsigned memsys_quantum(const struct memsys *ms);
/* Whether partitions and replies may be ahead of ports and requests: since what is asked
 * in a quantum reaches an L2 slice much later, they go through the next one meanwhile. */
bool memsys_ahead(const struct memsys *ms);
/* A quantum that begins with core cycle `from` ends before this one. */
uint64_t memsys_reach(const struct memsys *ms, uint64_t from);
void memsys_open(struct memsys *ms, uint64_t from, uint64_t to);
/* Partitions and replies go up to cycle `to`, where they may be ahead of the ports: by
 * two of the longest quanta at most, counted from where the one that begins with `from`
 * would begin. threads: memsys_replies may come before or beside what the ports do. */
void memsys_open_far(struct memsys *ms, uint64_t from, uint64_t to, bool threads);
/* Whether partitions may go on to cycle `to` before what follows the present quantum. */
bool memsys_may_go_on(const struct memsys *ms, uint64_t to);
/* The same when ports are through the quantum: first replies that waited for them follow
 * as far as need be. */
bool memsys_catch_up(struct memsys *ms, uint64_t to);
/* They go on; the present quantum ends with `from`. */
void memsys_parts_go_on(struct memsys *ms, uint64_t from, uint64_t to);
/* What has come through the reply crossbar is there for the ports from their next quantum
 * on, and what they took makes room in it. */
void memsys_publish_replies(struct memsys *ms);
/* What partitions and memsys_replies have done is known to the requests. */
void memsys_parts_done(struct memsys *ms);
void memsys_close(struct memsys *ms);

/* Partitions: their number; one for the open quantum; the core cycle in which it next has
 * something to do (NEVER: none). */
unsigned memsys_parts(const struct memsys *ms);
void memsys_part(struct memsys *ms, unsigned i);
bool memsys_part_due(const struct memsys *ms, unsigned i); /* in the open quantum */
uint64_t memsys_part_next(const struct memsys *ms, unsigned i);

/* After those: the reply crossbar follows, and partitions that waited for it, as far as
 * that does not depend on the ports. */
void memsys_replies(struct memsys *ms);

/* Ports: memsys_port takes one to core cycle `now` of the quantum (memory_port). Ports (a
 * bit set) that have something to do sooner than memory_port_next told in the quantum; the
 * cycle, after memsys_close. */
unsigned memsys_port(struct memsys *ms, unsigned port, uint64_t now);
const uint64_t *memsys_noticed(const struct memsys *ms);
uint64_t memsys_port_next(const struct memsys *ms, unsigned port);
/* Core cycle in which something moves in the crossbars (after memsys_close). */
uint64_t memsys_cross_next(const struct memsys *ms);

/* The crossbars follow up to core cycle `now` of the quantum, and partitions that waited
 * for them. Ports (a bit set) that were refused, did not try again before `now`, and may
 * have room now or in the next cycles. */
const uint64_t *memsys_cross(struct memsys *ms, uint64_t now);

/* The port was refused in the last cycle it was taken to: could a try in cycle `now`, or
 * between, succeed, as far as is known without the crossbars of this quantum? */
bool memsys_may_have_room(const struct memsys *ms, unsigned port, uint64_t now);

/* Advances ports, interconnect, L2 and DRAM through core cycle `now`. Call once per core
 * cycle stepped; cycles left out are caught up inside (they must not lie beyond
 * next_event). */
void memsys_step(struct memsys *ms, uint64_t now);

/* First core cycle > now in which a step would change anything, NEVER if it is empty. */
uint64_t memsys_next_event(const struct memsys *ms, uint64_t now);

#endif
