/* memsys.h: everything beyond the SMs: the two crossbars, L2 slices, DRAM channels, and
 * their clocks. The SM side sees two operations per SM, inject and eject, and one clock.
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

/* Adds the counters of the launch to out. Lines a host copy leaves in the L2 (prefill). */
void memsys_stats(const struct memsys *ms, struct launch_stats *out);
void memsys_prefill(struct memsys *ms, uint64_t addr, uint64_t bytes);

/* Who waits for what, in words (for stuck simulations). */
void memsys_explain(const struct memsys *ms, struct strbuf *out);

#endif
