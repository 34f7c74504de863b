/* window.c: the TLP at which blocks that follow each other fit the cache together, lines in
 * common counted once. 004 adds up working sets (Definition 1), which is right where blocks
 * share little. Bisection over the TLP; O(WINDOWS * sum of the sizes of a window * log TLP). */
#include "cta/search.h"

#include "base/arena.h"

#include <stdlib.h>

enum { WINDOWS = 32 };

/* Do k consecutive blocks fit, on average? */
static bool
fits(const struct cta_problem *p, uint32_t k, uint32_t *blocks)
{
    const uint32_t starts = p->blocks - k + 1;
    const uint32_t n = starts < WINDOWS ? starts : WINDOWS;
    uint64_t sum = 0;
    for (uint32_t w = 0; w < n; w++) {
        const uint32_t from =
            n > 1 ? (uint32_t)((uint64_t)(starts - 1) * w / (n - 1)) : 0;
        for (uint32_t i = 0; i < k; i++)
            blocks[i] = from + i;
        sum += p->together(p->user, blocks, k);
    }
    return sum <= p->capacity * n;
}

struct cta_schedule *
cta_window(const struct cta_problem *p)
{
    uint32_t most = p->max_tlp < p->blocks ? p->max_tlp : p->blocks;
    uint32_t *blocks = xcalloc(most + (size_t)1, sizeof *blocks);
    uint32_t low = 1, high = most; /* low fits, or is 1 */
    while (low < high) {
        uint32_t k = low + (high - low + 1) / 2;
        if (fits(p, k, blocks))
            low = k;
        else
            high = k - 1;
    }
    free(blocks);
    return cta_one_step(p->blocks, low < most ? low : p->max_tlp);
}
