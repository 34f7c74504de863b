/* memsys.h: everything beyond the SMs: the two crossbars, L2 slices, DRAM channels, and
 * their clocks. The SM side sees two operations per SM, inject and eject, and one clock.
 *
 * Order within a core cycle c: memsys_step(c), memsys_eject (a port shows at most one
 * reply a cycle), the SMs' cycle, memsys_inject. A request makes one reply for each
 * 32-byte sector of `sectors` (one for each line if the L2 has no sectors), read, write
 * and atomic alike; the reply is the request with addr, bytes and sectors of its piece.
 *
 * Private parts: icnt.h (crossbar), partition.h (L2 slice, queues), dram.h (channel),
 * addrmap.h (address -> channel, slice, bank, row, column). */
#ifndef ALLOT_TIMING_MEMSYS_H
#define ALLOT_TIMING_MEMSYS_H

#include "base/diag.h"
#include "machine/machine.h"
#include "stats/stats.h"
#include "timing/packet.h"

struct memsys;

struct memsys *memsys_new(const struct machine *m, struct diag_sink *diag);
void memsys_free(struct memsys *ms);

/* Counters start anew (a launch begins); L2 contents stay. */
void memsys_begin(struct memsys *ms);

/* Hands a request to the SM's port of the request crossbar; false: no room, try again. */
bool memsys_inject(struct memsys *ms, const struct packet *p);

/* Takes the next reply for that SM; false: none. peek leaves it there. */
bool memsys_eject(struct memsys *ms, unsigned sm, struct packet *p);
bool memsys_has_reply(const struct memsys *ms, unsigned sm);
/* Bit set of SMs with a reply waiting, BITSET_WORDS(sm.count) words. */
const uint64_t *memsys_replies(const struct memsys *ms);

/* Advances interconnect, L2 and DRAM through core cycle `now`. Call once per core cycle
 * stepped; cycles left out are caught up inside (they must not lie beyond next_event). */
void memsys_step(struct memsys *ms, uint64_t now);

/* First core cycle > now in which a step would change anything, NEVER if it is empty. */
uint64_t memsys_next_event(const struct memsys *ms, uint64_t now);
bool memsys_idle(const struct memsys *ms); /* nothing under way anywhere */

/* Adds the counters of the launch to out. Lines a host copy leaves in the L2 (prefill).
 */
/* Counters of a channel and its slices so far in the launch. */
void memsys_channel_stats(const struct memsys *ms, unsigned channel, struct stat_mem *out);
void memsys_stats(const struct memsys *ms, struct launch_stats *out);
void memsys_prefill(struct memsys *ms, uint64_t addr, uint64_t bytes);

/* on: every part is stepped in every tick, whatever it says of its next event (for
 * timing_options.no_skip; results must not differ). */
void memsys_no_skip(struct memsys *ms, bool on);

/* Who waits for what, in words (for stuck simulations). */
void memsys_explain(const struct memsys *ms, struct strbuf *out);

#endif
