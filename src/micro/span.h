/* span.h: a kernel that tells how long it ran, on a GPU as in the simulation: each SM
 * keeps the first and the last reading of its own clock. Needs no clock that SMs share,
 * and nothing of launching counts. */
#ifndef ALLOT_MICRO_SPAN_H
#define ALLOT_MICRO_SPAN_H

#include <stddef.h>
#include <stdint.h>

/* An SM's blocks take SPAN_SLOTS slots in turn: atomics to one sector follow each other, and
 * with one slot an SM they were half of the time of a kernel of many short blocks. */
enum {
    SPAN_SMS = 256,
    SPAN_SLOTS = 16,
    SPAN_SLOT_WORDS = 4, /* of 8 bytes: first, last, two unused: a sector */
    SPAN_WORDS = SPAN_SMS * SPAN_SLOTS * SPAN_SLOT_WORDS,
    SPAN_BYTES = SPAN_WORDS * 8
};
#define SPAN_SYMBOL "allot_span"

/* PTX text whose kernels end in `ret` or `exit` without a guard: the same for compute
 * capability cc (two digits; 75 for all later ones,
 * 80 of a text for sm_80), with a reading of the clock at each
 * kernel's start and ends, kept in the global variable SPAN_SYMBOL. malloc'd; NULL: not such
 * a text. */
char *span_instrument(const char *ptx, unsigned cc);

/* The text of span_instrument, malloc'd (it is freed, and a new one returned), with the readings
 * kept at an address of the GPU's memory, SPAN_BYTES, in place of the variable. A card's code has
 * the address of a variable in a constant bank, which a kernel finds in no cache when it starts:
 * it would wait some 800 cycles for what is no part of it. */
char *span_place(char *text, uint64_t address);

/* What the variable holds before a launch, and how many cycles it says after it: the
 * longest time between first start and last end on one SM. */
void span_init(uint64_t slots[SPAN_WORDS]);
uint64_t span_cycles(const uint64_t slots[SPAN_WORDS]);

#endif
