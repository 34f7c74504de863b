/* icnt.h: one crossbar: input-queued, round-robin, with buffers counted in flits. */
#ifndef ALLOT_TIMING_ICNT_H
#define ALLOT_TIMING_ICNT_H

#include "base/bitset.h"
#include "timing/mem/timed_queue.h"

struct icnt_config {
    unsigned inputs, outputs;
    unsigned flit;          /* bytes */
    unsigned input_buffer;  /* flits */
    unsigned output_buffer; /* flits */
    unsigned latency;       /* cycles from the port in to the port out, unloaded */
    unsigned speedup;       /* switch steps a cycle */
    unsigned allocation;    /* switch steps of a packet before its first flit moves */
};

struct icnt;

struct icnt *icnt_new(struct arena *a, const struct icnt_config *c);
static inline unsigned
icnt_flits(unsigned bytes, unsigned flit)
{
    return bytes <= flit ? 1 : (bytes + flit - 1) / flit;
}

/* First cycle not stepped. icnt_skip: all before `cycle` count as stepped (nothing can move
 * in them: icnt_next). */
uint64_t icnt_cycle(const struct icnt *n);
void icnt_skip(struct icnt *n, uint64_t cycle);

/* Room before the crossbar in a cycle that is not stepped yet. Yes holds if nothing is
 * pushed before; no holds whatever comes. */
enum room icnt_room(struct icnt *n, unsigned in, unsigned flits, uint64_t cycle);
/* After ROOM_NO: the cycle that has room, if that is known; else NEVER. */
uint64_t icnt_room_at(const struct icnt *n, unsigned in);
/* Not ROOM_NO; changes nothing. */
bool icnt_may_have_room(const struct icnt *n, unsigned in, unsigned flits,
                        uint64_t cycle);
/* Precondition: icnt_room says ROOM_YES. */
void icnt_push(struct icnt *n, unsigned in, unsigned out, unsigned flits,
               const struct packet *p, uint64_t local, uint64_t cycle);

/* One cycle. Cycles in which nothing can move (icnt_next) may be left out. False: only
 * when detached. */
bool icnt_step(struct icnt *n, uint64_t cycle);
/* From icnt_detach to icnt_attach other host threads may use the outputs (icnt_front_at,
 * icnt_front, icnt_pop of this cycle and later ones) while one steps the crossbar: what
 * comes through is seen there only after icnt_attach, and icnt_step is false, with the
 * cycle done in part, when it depends on such pops: it is to be made again after
 * icnt_attach, and after all pops up to that cycle. */
void icnt_detach(struct icnt *n);
void icnt_attach(struct icnt *n);
/* Outputs that became non-empty since the caller last cleared their bits. */
uint64_t *icnt_fresh(struct icnt *n);

/* Cycle whose step brings the front packet of an output, NEVER: there is none. */
uint64_t icnt_front_at(const struct icnt *n, unsigned out);
/* Precondition: there is one. */
const struct timed_packet *icnt_front(const struct icnt *n, unsigned out);
/* Its room is free again from this cycle on (the first that has not been stepped, or a
 * later one). */
void icnt_pop(struct icnt *n, unsigned out, uint64_t cycle);

/* Inputs that got an output since the caller last cleared their bits. */
uint64_t *icnt_granted(struct icnt *n);

/* First cycle not stepped in which icnt_step would move anything, NEVER: none until a push
 * or a pop. */
uint64_t icnt_next(struct icnt *n);
bool icnt_busy(const struct icnt *n); /* a packet is before the switch */
/* Every packet that has not been popped. */
void icnt_each(const struct icnt *n, void (*f)(void *user, const struct timed_packet *m),
               void *user);
unsigned icnt_waiting(const struct icnt *n,
                      unsigned in); /* packets in the input buffer */
unsigned icnt_arrived(const struct icnt *n,
                      unsigned out); /* packets at or before the output */

#endif
