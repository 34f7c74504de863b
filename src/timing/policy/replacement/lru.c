/* lru.c: the line that was accessed least recently is replaced. */
#include "timing/policy/replacement/replacement.h"

static unsigned
filled(unsigned ways, uint64_t *state)
{
    (void)ways, (void)state;
    return 0;
}

static unsigned
accessed(unsigned place, unsigned ways, uint64_t *state)
{
    (void)place, (void)ways, (void)state;
    return 0;
}

const struct replacement_policy replacement_lru = {
    .name = "lru",
    .meaning = "The line accessed least recently is replaced",
    .filled = filled,
    .accessed = accessed,
};
