/* The tests of the crossbar once more, with so few steps sorted ahead and so few places
 * for unpublished packets that what lies beyond them is the rule. */
#define ICNT_STEPS 4
#define TQ_UNPUBLISHED 1
#include "timing/mem/icnt.c"
#include "unit/timing/mem/timing_icnt.c"
