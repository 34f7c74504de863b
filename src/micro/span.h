/* span.h: a kernel that tells how long it ran, on a GPU as in the simulation: each SM
 * keeps the first and the last reading of its own clock. Needs no clock that SMs share,
 * and nothing of launching counts. */
#ifndef ALLOT_MICRO_SPAN_H
#define ALLOT_MICRO_SPAN_H

#include <stddef.h>
#include <stdint.h>

enum { SPAN_SMS = 512, SPAN_BYTES = SPAN_SMS * 16 };
#define SPAN_SYMBOL "allot_span"

/* PTX text whose kernels end in `ret` or `exit` without a guard: the same for compute
 * capability cc (two digits; 75 for all later ones,
 * 80 of a text for sm_80), with a reading of the clock at each
 * kernel's start and ends, kept in the global variable SPAN_SYMBOL. malloc'd; NULL: not such
 * a text. */
char *span_instrument(const char *ptx, unsigned cc);

/* What the variable holds before a launch, and how many cycles it says after it: the
 * longest time between first start and last end on one SM. */
void span_init(uint64_t slots[2 * SPAN_SMS]);
uint64_t span_cycles(const uint64_t slots[2 * SPAN_SMS]);

#endif
