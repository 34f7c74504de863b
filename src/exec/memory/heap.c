/* heap.c: blocks are cut from the front of the heap, one behind the other, so the array
 * of blocks is sorted by address and a block is found by bisection. A freed block goes to
 * the list of its size class; from there it is taken again by a request that it holds.
 * When neither gives room, neighbouring free blocks are merged and the first that is
 * large enough is cut: O(blocks), rare. */
#include "exec/memory/heap.h"

#include "base/bitset.h"
#include "base/vec.h"

enum { GRAIN = 16, SMALL = 64, NCLASSES = SMALL + 48, NONE = -1 };

struct block {
    uint64_t addr, size;
    int32_t next; /* free: the next of its class */
    bool used;
};

struct dev_heap {
    uint64_t base, size, top; /* base 0: not made yet */
    VEC(struct block) block;
    int32_t list[NCLASSES];
};

/* Multiples of 16 up to 1 KiB have a class each, then powers of two. */
static unsigned
class_of(uint64_t size)
{
    if (size <= GRAIN * SMALL)
        return (unsigned)(size / GRAIN) - 1;
    return SMALL + 53 - (unsigned)__builtin_clzll(size - 1);
}

/* Requests are rounded up to what their class holds. */
static uint64_t
rounded(uint64_t bytes)
{
    if (bytes <= GRAIN * SMALL)
        return (bytes + GRAIN - 1) / GRAIN * GRAIN;
    return (uint64_t)1 << (64 - __builtin_clzll(bytes - 1));
}

struct dev_heap *
heap_new(void)
{
    struct dev_heap *h = xcalloc(1, sizeof *h);
    h->size = HEAP_DEFAULT;
    for (unsigned i = 0; i < NCLASSES; i++)
        h->list[i] = NONE;
    return h;
}

void
heap_free(struct dev_heap *h)
{
    if (!h)
        return;
    vec_free(&h->block);
    free(h);
}

bool
heap_limit(struct dev_heap *h, uint64_t bytes)
{
    if (h->base)
        return false;
    h->size = bytes;
    return true;
}

uint64_t
heap_size(const struct dev_heap *h)
{
    return h->size;
}

static void
push_free(struct dev_heap *h, int32_t i)
{
    /* The class whose requests it surely holds: of odd sizes (merged) the one below. */
    uint64_t size = h->block.v[i].size;
    unsigned k = class_of(size);
    if (rounded(size) != size)
        k--;
    h->block.v[i].next = h->list[k];
    h->list[k] = i;
}

/* Merges free neighbours; what is free at the end goes back to `top`. */
static void
merge(struct dev_heap *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->block.n; i++) {
        struct block *b = &h->block.v[i], *last = n ? &h->block.v[n - 1] : NULL;
        if (!b->used && last && !last->used)
            last->size += b->size;
        else
            h->block.v[n++] = *b;
    }
    if (n && !h->block.v[n - 1].used)
        h->top = h->block.v[--n].addr;
    h->block.n = n;
    for (unsigned i = 0; i < NCLASSES; i++)
        h->list[i] = NONE;
    for (size_t i = 0; i < n; i++)
        if (!h->block.v[i].used)
            push_free(h, (int32_t)i);
}

/* First merged block that holds `size`; the rest of it stays free. */
static uint64_t
first_fit(struct dev_heap *h, uint64_t size)
{
    for (size_t i = 0; i < h->block.n; i++) {
        struct block *b = &h->block.v[i];
        if (b->used || b->size < size)
            continue;
        uint64_t rest = b->size - size, addr = b->addr;
        b->size = size;
        b->used = true;
        if (rest) {
            vec_push(&h->block);
            memmove(&h->block.v[i + 2], &h->block.v[i + 1],
                    (h->block.n - i - 2) * sizeof *h->block.v);
            h->block.v[i + 1] = (struct block){addr + size, rest, NONE, false};
        }
        merge(h); /* indices moved: the lists anew */
        return addr;
    }
    return 0;
}

static uint64_t
take(struct dev_heap *h, struct dev_mem *mem, uint64_t bytes)
{
    if (!bytes || bytes > h->size)
        return 0;
    if (!h->base) {
        h->base = h->top = dev_alloc(mem, h->size);
        if (!h->base)
            return 0;
    }
    uint64_t size = rounded(bytes);
    int32_t *list = &h->list[class_of(size)], i = *list;
    if (i != NONE) {
        *list = h->block.v[i].next;
        h->block.v[i].used = true;
        return h->block.v[i].addr;
    }
    for (int turn = 0; turn < 2; turn++) {
        uint64_t room = h->base + h->size - h->top;
        if (room < size && room >= bytes) /* the last block need not be rounded */
            size = (bytes + GRAIN - 1) / GRAIN * GRAIN;
        if (room >= size && h->block.n < INT32_MAX) {
            *vec_push(&h->block) = (struct block){h->top, size, NONE, true};
            h->top += size;
            return h->top - size;
        }
        if (!turn)
            merge(h);
    }
    return first_fit(h, size);
}

uint64_t
heap_alloc(struct dev_heap *h, struct dev_mem *mem, uint64_t bytes)
{
    uint64_t addr = take(h, mem, bytes);
    if (addr)
        dev_mark_unwritten(mem, addr, bytes);
    return addr;
}

bool
heap_release(struct dev_heap *h, uint64_t addr)
{
    size_t lo = 0, hi = h->block.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (h->block.v[mid].addr < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == h->block.n || h->block.v[lo].addr != addr || !h->block.v[lo].used)
        return false;
    h->block.v[lo].used = false;
    push_free(h, (int32_t)lo);
    return true;
}
