/* near.h: the nearest of some words, for "did you mean". */
#ifndef ALLOT_BASE_NEAR_H
#define ALLOT_BASE_NEAR_H

#include "base/str.h"

#include <string.h>

/* The candidate of least edit distance to `word`, the first of equals. Set `word`, offer
 * candidates, read `best`: NULL if none is within 3 edits, or within a third of the word
 * (one edit of a word of three characters, none of a shorter one). */
struct near {
    const char *word, *best;
    int distance;
};

static inline void
near_offer(struct near *n, const char *candidate)
{
    int most = (int)strlen(n->word) / 3;
    most = most < 3 ? most : 3;
    int d = str_distance(n->word, candidate, most);
    if (d <= most && (!n->best || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}

#endif
