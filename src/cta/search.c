/* search.c: Algorithms 1 to 3 of 004.
 *
 *     k = the most blocks that the GPU holds           (static TLP: so many that any k fit)
 *     s = pack with at most k a step, steps sorted by TLP, rising as in Figure 4 (c)
 *     while k > 1:  k = k - 1, s' = the same with k;  s' dearer than s: stop;  s = s'
 *
 * Three things the paper leaves open:
 *   - Algorithm 2 decreases k once more after the test that found it; the text (section
 *     5.3) says "the largest acceptable k", which is taken here.
 *   - Under a static TLP the steps all have the TLP k, though the last may be less full:
 *     the hardware limits blocks, and no synchronisation takes place.
 *   - A k at or above the fullest step's number of blocks gives the same packing again,
 *     so k falls to one below that number at once.
 * With very many blocks k falls by a quarter at a time, and by less where that is dearer:
 * it still ends where k - 1 is. */
#include "cta/search.h"

#include "base/arena.h"
#include "base/splitmix.h"

#include <stdlib.h>
#include <string.h>

struct cta_schedule *
cta_schedule_new(uint32_t blocks, uint32_t steps)
{
    struct cta_schedule *s = xcalloc(1, sizeof *s);
    s->blocks = blocks;
    s->nsteps = steps;
    s->order = xcalloc(blocks + 1, sizeof *s->order);
    s->step = xcalloc(steps + 1, sizeof *s->step);
    return s;
}

void
cta_schedule_free(struct cta_schedule *s)
{
    if (!s)
        return;
    free(s->kernel);
    free(s->order);
    free(s->step);
    free(s);
}

struct cta_schedule *
cta_one_step(uint32_t blocks, uint32_t tlp)
{
    struct cta_schedule *s = cta_schedule_new(blocks, blocks ? 1 : 0);
    for (uint32_t i = 0; i < blocks; i++)
        s->order[i] = i;
    s->step[0] = (struct cta_step){0, blocks, tlp};
    return s;
}

/* Fisher and Yates: from the last place down, each takes one of those up to it. */
struct cta_schedule *
cta_random(uint32_t blocks, uint32_t tlp, uint64_t seed)
{
    struct cta_schedule *s = cta_one_step(blocks, tlp);
    for (uint32_t i = blocks; i > 1; i--) {
        uint32_t k = (uint32_t)((unsigned __int128)splitmix_next(&seed) * i >> 64);
        uint32_t last = s->order[i - 1];
        s->order[i - 1] = s->order[k];
        s->order[k] = last;
    }
    return s;
}

/* -- cost and constraints -- */

uint32_t
cta_syncs(const struct cta_schedule *s)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < s->nsteps; i++)
        n += s->step[i].tlp != s->step[i - 1].tlp;
    return n;
}

double
cta_cost(const struct cta_schedule *s, double cps)
{
    return s->nsteps + cps * cta_syncs(s);
}

static uint64_t
clamped(const struct cta_problem *p, uint32_t block)
{
    return p->size[block] < p->capacity ? p->size[block] : p->capacity;
}

const char *
cta_infeasible(const struct cta_problem *p, const struct cta_schedule *s)
{
    const char *wrong = NULL;
    uint8_t *seen = xcalloc(p->blocks + 1, 1);
    uint32_t at = 0;
    if (s->blocks != p->blocks)
        wrong = "it is for another number of blocks";
    for (uint32_t i = 0; i < s->nsteps && !wrong; i++) {
        const struct cta_step *t = &s->step[i];
        uint64_t sum = 0, most = 0;
        if (t->first != at || t->n > s->blocks - at)
            wrong = "a step has blocks of another";
        else if (t->n > t->tlp || t->tlp > p->max_tlp)
            wrong = "a step has too many blocks";
        else if (p->static_tlp && t->tlp != s->step[0].tlp)
            wrong = "the TLP is not static";
        for (uint32_t k = at; !wrong && k < at + t->n; k++) {
            uint32_t b = s->order[k];
            if (b >= p->blocks || seen[b]++) {
                wrong = "a block does not exist or is there twice";
                break;
            }
            sum += clamped(p, b);
            most = clamped(p, b) > most ? clamped(p, b) : most;
        }
        if (!wrong && sum - (p->relaxed ? most : 0) > p->capacity)
            wrong = "the working sets of a step exceed the capacity";
        at += t->n;
    }
    if (!wrong && at != p->blocks)
        wrong = "a block is missing";
    free(seen);
    return wrong;
}

/* -- the search -- */

struct search {
    const struct cta_problem *p;
    struct pack_items items; /* falling */
    uint64_t *size;
    uint32_t *block; /* of item i */
    uint32_t *bin;
};

struct sized {
    uint64_t size;
    uint32_t block;
};

/* Largest first; blocks of one size by number, so that the result is the same anywhere. */
static int
by_size(const void *va, const void *vb)
{
    const struct sized *a = va, *b = vb;
    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return a->block < b->block ? -1 : 1;
}

static void
sort_items(struct search *s)
{
    const struct cta_problem *p = s->p;
    struct sized *v = xmalloc((p->blocks + 1) * sizeof *v);
    for (uint32_t i = 0; i < p->blocks; i++)
        v[i] = (struct sized){p->size[i], i};
    qsort(v, p->blocks, sizeof *v, by_size);
    for (uint32_t i = 0; i < p->blocks; i++) {
        s->size[i] = v[i].size;
        s->block[i] = v[i].block;
    }
    free(v);
}

/* The most blocks any k of which fit (Algorithm 2, lines 2 to 5); 1 at least. Under the
 * relaxed constraint the largest does not count. */
static uint32_t
static_limit(const struct search *s)
{
    const struct cta_problem *p = s->p;
    uint64_t sum = 0;
    uint32_t k = 0;
    for (; k < p->blocks && k < p->max_tlp; k++) {
        uint64_t w = clamped(p, s->block[k]);
        if (!(p->relaxed && !k))
            sum += w;
        if (sum > p->capacity)
            break;
    }
    return k ? k : 1;
}

/* Bins, sorted by rising number of items (Lemma 3), as steps. Returns the number of items in the
 * fullest. */
static uint32_t
make_steps(const struct search *s, uint32_t bins, struct cta_schedule *out)
{
    const uint32_t n = s->items.n, k = s->items.k;
    uint32_t *count = xcalloc(bins + 1, sizeof *count);
    uint32_t *first = xcalloc(k + 2, sizeof *first); /* step, by number of items */
    uint32_t *at = xcalloc(bins + 1, sizeof *at);    /* next place, by bin */
    uint32_t fullest = 0;
    for (uint32_t i = 0; i < n; i++)
        count[s->bin[i]]++;
    for (uint32_t b = 0; b < bins; b++) {
        first[count[b]]++;
        fullest = count[b] > fullest ? count[b] : fullest;
    }
    out->nsteps = 0;
    for (uint32_t c = 1; c <= fullest; c++) {
        uint32_t here = first[c];
        first[c] = out->nsteps;
        out->nsteps += here;
    }
    for (uint32_t b = 0; b < bins; b++)
        if (count[b])
            out->step[at[b] = first[count[b]]++] =
                (struct cta_step){.n = count[b], .tlp = s->p->static_tlp ? k : count[b]};
    for (uint32_t i = 0, sum = 0; i < out->nsteps; i++) {
        out->step[i].first = sum;
        sum += out->step[i].n;
    }
    for (uint32_t b = 0; b < bins; b++)
        at[b] = out->step[at[b]].first;
    for (uint32_t i = 0; i < n; i++)
        out->order[at[s->bin[i]]++] = s->block[i];
    free(count);
    free(first);
    free(at);
    return fullest;
}

enum { MANY_BLOCKS = 10000 };

static struct cta_schedule *
search_with(struct search *s, const struct packer *packer, uint32_t k)
{
    const struct cta_problem *p = s->p;
    const uint32_t part = p->blocks > MANY_BLOCKS ? 4 : UINT32_MAX;
    struct cta_schedule *best = NULL;
    uint32_t down = 0; /* k is this far below that of the best */
    s->items.least = 0;
    while (k > down) {
        s->items.k = k - down;
        uint32_t bins = packer->pack(&s->items, s->bin);
        struct cta_schedule *now = cta_schedule_new(p->blocks, bins);
        uint32_t fullest = make_steps(s, bins, now);
        if (best && cta_cost(now, p->cps) > cta_cost(best, p->cps)) {
            cta_schedule_free(now);
            if (down == 1)
                break;
            down /= 2;
            continue;
        }
        cta_schedule_free(best);
        best = now;
        s->items.least = bins;
        k = fullest < k - down ? fullest : k - down;
        down = k / part + 1;
    }
    return best;
}

struct cta_schedule *
cta_search(const struct cta_problem *p)
{
    if (!p->blocks)
        return cta_schedule_new(0, 0);
    struct search s = {.p = p,
                       .size = xmalloc(p->blocks * sizeof *s.size),
                       .block = xmalloc(p->blocks * sizeof *s.block),
                       .bin = xmalloc(p->blocks * sizeof *s.bin)};
    sort_items(&s);
    s.items = (struct pack_items){p->blocks, s.size, p->capacity, p->max_tlp, 0};
    uint32_t k = p->static_tlp ? static_limit(&s) : p->max_tlp;
    struct cta_schedule *best = NULL;
    for (size_t i = 0; packer_at(i); i++) {
        const struct packer *packer = packer_at(i);
        if (p->packer ? packer != p->packer : packer->open_end != p->relaxed)
            continue;
        struct cta_schedule *now = search_with(&s, packer, k < p->blocks ? k : p->blocks);
        if (!best || cta_cost(now, p->cps) < cta_cost(best, p->cps)) {
            cta_schedule_free(best);
            best = now;
        } else {
            cta_schedule_free(now);
        }
    }
    free(s.size);
    free(s.block);
    free(s.bin);
    return best;
}
