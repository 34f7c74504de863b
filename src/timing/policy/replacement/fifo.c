/* fifo.c: lines are replaced in the order in which they came, whatever is accessed. */
#include "timing/policy/replacement/replacement.h"

static unsigned
filled(unsigned ways, uint64_t *state)
{
    (void)ways, (void)state;
    return 0;
}

const struct replacement_policy replacement_fifo = {
    .name = "fifo",
    .meaning = "The line that came first is replaced",
    .filled = filled,
};
