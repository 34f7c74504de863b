/* pack.c: what the packers share: first fit, worst fit, bounds, the search for the number
 * of bins, the registry.
 *
 * First fit looks for the first bin with room in a tree over the bins that holds the most
 * room below each node; worst fit keeps the bins in a heap by level. Both are O(n log n). */
#include "cta/pack.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define PACKER(v) extern const struct packer v;
#include "cta/packers.def"
#undef PACKER

static const struct packer *const packers[] = {
#define PACKER(v) &v,
#include "cta/packers.def"
#undef PACKER
    NULL};

const struct packer *
packer_at(size_t i)
{
    return i < sizeof packers / sizeof *packers ? packers[i] : NULL;
}

const struct packer *
packer_find(const char *name)
{
    for (size_t i = 0; packer_at(i); i++)
        if (!strcmp(packer_at(i)->name, name))
            return packer_at(i);
    return NULL;
}

static uint64_t
item(const struct pack_items *p, uint32_t i)
{
    return p->size[i] < p->capacity ? p->size[i] : p->capacity;
}

/* -- bounds -- */

static uint32_t
div_up(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

uint32_t
pack_lower_bound(const struct pack_items *p, bool open_end)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->n; i++)
        sum += item(p, i);
    uint32_t least = div_up(p->n, p->k);
    if (!open_end) {
        uint32_t by_sum = div_up(sum, p->capacity);
        return by_sum > least ? by_sum : least;
    }
    /* m bins hold at most their capacity and the m largest items. */
    uint32_t m = 0;
    for (; m < p->n && (m < least || sum > m * p->capacity); m++)
        sum -= item(p, m);
    return m;
}

/* -- first fit -- */

struct tree {
    uint32_t leaves; /* a power of two; node 1 is the root */
    int64_t *room;   /* the most below; -1: a bin is full by number */
};

static void
tree_set(struct tree *t, uint32_t leaf, int64_t room)
{
    uint32_t i = t->leaves + leaf;
    t->room[i] = room;
    for (i /= 2; i; i /= 2) {
        const int64_t a = t->room[2 * i], b = t->room[2 * i + 1], most = a > b ? a : b;
        if (t->room[i] == most) /* nothing changes above */
            return;
        t->room[i] = most;
    }
}

/* The first bin with so much room; there is one. */
static uint32_t
tree_first(const struct tree *t, int64_t want)
{
    uint32_t i = 1;
    while (i < t->leaves)
        i = 2 * i + (t->room[2 * i] < want);
    return i - t->leaves;
}

uint32_t
pack_first_fit(const struct pack_items *p, uint32_t first, uint32_t k, uint32_t bins,
               uint32_t *bin)
{
    if (first == p->n)
        return 0;
    if (!k || !bins)
        return UINT32_MAX;
    uint32_t most = bins < p->n - first ? bins : p->n - first;
    struct tree t = {.leaves = 1};
    while (t.leaves < most)
        t.leaves *= 2;
    t.room = xmalloc(2 * (size_t)t.leaves * sizeof *t.room);
    uint32_t *count = xcalloc(most, sizeof *count);
    for (uint32_t i = 0; i < t.leaves; i++)
        t.room[t.leaves + i] = i < most ? (int64_t)p->capacity : -1;
    for (uint32_t i = t.leaves - 1; i; i--) {
        int64_t a = t.room[2 * i], b = t.room[2 * i + 1];
        t.room[i] = a > b ? a : b;
    }
    uint32_t used = 0;
    for (uint32_t i = first; i < p->n; i++) {
        int64_t w = (int64_t)item(p, i);
        if (t.room[1] < w) {
            used = UINT32_MAX;
            break;
        }
        uint32_t b = tree_first(&t, w);
        bin[i] = b;
        used = b + 1 > used ? b + 1 : used;
        tree_set(&t, b, ++count[b] == k ? -1 : t.room[t.leaves + b] - w);
    }
    free(count);
    free(t.room);
    return used;
}

/* -- worst fit -- */

struct level {
    uint64_t sum;
    uint32_t bin, n;
};

static bool
lower(const struct level *a, const struct level *b)
{
    return a->sum != b->sum ? a->sum < b->sum : a->bin < b->bin;
}

static void
sift(struct level *heap, uint32_t n)
{
    struct level x = heap[0];
    uint32_t i = 0;
    for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && lower(&heap[c + 1], &heap[c]);
        if (!lower(&heap[c], &x))
            break;
        heap[i] = heap[c];
    }
    heap[i] = x;
}

bool
pack_worst_fit(const struct pack_items *p, uint32_t first, uint32_t k, uint32_t bins,
               uint32_t *bin)
{
    if (first == p->n)
        return true;
    if (!k || !bins)
        return false;
    uint32_t n = bins;
    struct level *heap = xmalloc(n * sizeof *heap);
    for (uint32_t i = 0; i < n; i++)
        heap[i] = (struct level){0, i, 0};
    uint32_t i = first;
    for (; i < p->n && n && heap[0].sum + item(p, i) <= p->capacity; i++) {
        bin[i] = heap[0].bin;
        heap[0].sum += item(p, i);
        if (++heap[0].n == k)
            heap[0] = heap[--n];
        if (n)
            sift(heap, n);
    }
    free(heap);
    return i == p->n;
}

/* -- the number of bins -- */

uint32_t
pack_search(const struct pack_items *p, uint32_t least, uint32_t most,
            bool (*fits)(const struct pack_items *p, uint32_t bins, uint32_t *bin),
            uint32_t *bin)
{
    uint32_t at = least > p->least ? least : p->least, tries = 1, bad = 0;
    bool found = fits(p, at, bin);
    if (found)
        return at;
    while (!found) { /* one more bin at first, then ever more */
        const uint32_t step = tries < 8 ? 1 : tries * tries / 32;
        bad = at;
        at = most - at > step ? at + step : most;
        found = at == most ? (fits(p, at, bin), true) : fits(p, at, bin);
        tries++;
    }
    uint32_t good = at;
    bool last = true; /* the last call was that of `good` */
    while (good - bad > 1) {
        uint32_t mid = bad + (good - bad) / 2;
        last = fits(p, mid, bin);
        if (last)
            good = mid;
        else
            bad = mid;
    }
    if (!last)
        fits(p, good, bin);
    return good;
}
