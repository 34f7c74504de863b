/* ldst.h: the memory side of one SM: load/store pipeline, coalescer, scratchpad
 * conflicts, L1 data, constant, texture and instruction caches, and the queue of packets
 * to the interconnect.
 *
 * The SM core executes an instruction at issue, so addresses are known then: ldst_prepare
 * turns them into the few accesses the hardware makes. The operation goes through the
 * operand collector as a handle and enters the pipeline with ldst_issue. When the last
 * datum of a load is written back, its token comes out of ldst_done.
 *
 * Order within a core cycle: ldst_receive; ldst_cycle; ldst_done_peek/pop (a register
 * freed here can be used by the issue stage of the same cycle); ldst_issue; ldst_prepare
 * and ldst_fetch. An operation handed over in cycle t is first worked on in
 * ldst_cycle(t + 1). With that order, from ldst_issue in cycle t to the token's
 * ldst_done:
 *     scratchpad load, d-way conflict   t + d + scratchpad.latency + 1
 *     constant or parameter hit         t + number of lines
 *     texture hit                       t + number of lines + 3
 *     L1 hit                            t + number of accesses + l1d.latency
 *     reply received in cycle r         r + 2 (L1 miss, bypass, atomic)
 * Rules and sources: docs/model-memory.md. */
#ifndef ALLOT_TIMING_LDST_H
#define ALLOT_TIMING_LDST_H

#include "exec/exec.h"
#include "machine/machine.h"
#include "stats/stats.h"
#include "timing/mem/packet.h"

struct ldst;

struct ldst *ldst_new(struct arena *a, const struct machine *m, unsigned sm,
                      struct stat_sm *stats);
/* A launch begins: L1s are emptied (as GPUs do between kernels). local_stride: threads an
 * SM can hold, for the interleaving of local memory. */
void ldst_begin(struct ldst *l, uint64_t now);

/* -- memory instructions -- */
enum { LDST_NO_OP = 0xffff };
/* Handle of an operation for this instruction: coalesced accesses, conflict degree. warp:
 * warp slot of the SM. token: given back by ldst_done. LDST_NO_OP: all handles are in use
 * (the issue stage must wait; ldst_can_prepare asks before). */
bool ldst_can_prepare(const struct ldst *l);
uint16_t ldst_prepare(struct ldst *l, const struct exec_access *a, unsigned warp,
                      uint32_t token, uint64_t now);
/* It shifts its address, which takes scratchpad.scaled_latency more (sm.fusions). */
void ldst_scaled(struct ldst *l, uint16_t op);
/* The pipeline's first latch is free this cycle; hand the operation over. */
bool ldst_can_issue(const struct ldst *l);
void ldst_issue(struct ldst *l, uint16_t op, uint64_t now);

/* One core cycle: caches, scratchpad, replies handed in with ldst_receive, misses into
 * `out`. */
void ldst_cycle(struct ldst *l, uint64_t now);

/* Since the last call, has anything changed that the SM can see: tokens, warps with
 * nothing outstanding any more, room for operations, warps whose instructions came? With
 * ldst_no_skip always. */
bool ldst_touched(struct ldst *l);

/* Next operation whose results are complete (a load, an atomic with result): its token.
 * The caller takes as many a cycle as the register file's write ports allow. */
bool ldst_done_peek(const struct ldst *l, uint32_t *token);
void ldst_done_pop(struct ldst *l);

/* Stores (and reductions) of this warp not yet acknowledged, loads not yet returned. */
unsigned ldst_outstanding(const struct ldst *l, unsigned warp);
/* Warp slots for which ldst_outstanding has become 0; the caller clears what it has seen.
 */
uint64_t *ldst_quiet(struct ldst *l);
/* Atomics of this warp not yet performed (the last datum has reached the write-back
 * latch, a cycle before the token comes), scratchpad's included. A machine whose warps
 * wait for their atomics (as GPGPU-Sim's do) issues nothing from the warp while this is
 * not 0. Atomics always give their token back, reductions too. */
unsigned ldst_atomics(const struct ldst *l, unsigned warp);

/* Asynchronous copies of a warp lie in segments, counted over the SM's life.
 * ldst_copies_close ends the current one, if copies of it are under way; the copies so
 * far are there when ldst_copies_done is at least what it returns. */
uint64_t ldst_copies_close(struct ldst *l, unsigned warp);
uint64_t ldst_copies_done(const struct ldst *l, unsigned warp);

/* -- instruction fetch -- */
enum ldst_fetch { FETCH_HIT, FETCH_MISS, FETCH_RETRY };
/* FETCH_MISS: the warp sleeps until ldst_fetch_woken has its bit. Bit sets are of warp
 * slots, BITSET_WORDS(64 * 2) words at most. */
enum ldst_fetch ldst_fetch(struct ldst *l, uint64_t addr, unsigned warp, uint64_t now);
uint64_t *ldst_fetch_woken(struct ldst *l); /* the caller clears bits it has seen */

/* -- the SM's port -- */
/* Packets for the interconnect; the GPU loop moves them out when there is room. */
struct packet *ldst_out_front(struct ldst *l); /* NULL: none */
void ldst_out_pop(struct ldst *l);
bool ldst_can_receive(const struct ldst *l);
/* False: it changes nothing that anything in the SM waits for, so that this is no cycle
 * of the SM. */
bool ldst_receive(struct ldst *l, const struct packet *reply, uint64_t now);

/* First core cycle > now in which ldst_cycle would change anything without input (issue,
 * fetch, receive, packets or tokens taken), or NEVER. Packets and tokens that wait to be
 * taken are the caller's business. */
uint64_t ldst_next_event(const struct ldst *l, uint64_t now);
/* Ways of the L1 data cache for the launch that began (sm.scratchpad_from_l1). */
void ldst_set_l1_ways(struct ldst *l, uint32_t ways);
/* Counters of each instruction for the launch that began, of ldst_operations() operations;
 * NULL: none. */
struct sm_lines;
void ldst_count_lines(struct ldst *l, struct sm_lines *lines);
unsigned ldst_operations(void);
/* on: ldst_cycle looks at everything every time, never trusting its own next event (for
 * timing_options.no_skip; results must not differ). */
void ldst_no_skip(struct ldst *l, bool on);
bool ldst_idle(const struct ldst *l);
void ldst_explain(const struct ldst *l, struct strbuf *out);

#endif
