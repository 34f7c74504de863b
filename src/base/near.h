/* near.h: the nearest of some words, for "did you mean". */
#ifndef ALLOT_BASE_NEAR_H
#define ALLOT_BASE_NEAR_H

#include "base/str.h"

#include <stdbool.h>
#include <string.h>

/* The candidate of least edit distance to `word`, the first of equals. Set `word`, offer
 * candidates, read `best`: NULL if none is within `most` edits; without `most`, within 3,
 * or within a third of the word (one edit of a word of three characters, none of a shorter
 * one). */
struct near {
    const char *word, *best;
    int distance;
    int most;    /* 0: see above */
    bool sorted; /* candidates come in no order: of equals the first by strcmp */
};

static inline void
near_offer(struct near *n, const char *candidate)
{
    int length = (int)strlen(n->word), third = length == 2 ? 1 : length / 3;
    int most = n->most ? n->most : third < 3 ? third : 3;
    int d = str_distance(n->word, candidate, most);
    bool first = !n->best || d < n->distance ||
                 (n->sorted && d == n->distance && strcmp(candidate, n->best) < 0);
    if (d <= most && first) {
        n->best = candidate;
        n->distance = d;
    }
}

#endif
