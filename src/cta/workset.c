/* workset.c: distinct lines by block.
 *
 * Each block has a list of the lines that it touched. A table over device memory holds, by
 * line, the block that was last to touch it, so a line enters a block's list once while the
 * block runs alone - as blocks do, except in cooperative launches; there the list has
 * repeats, which sorting at the end takes out. Memory: 4 bytes a line of the table, in pages
 * made when touched, and 4 bytes an entry. */
#include "cta/workset.h"
#include "exec/observer.h"

#include "base/vec.h"

enum { PAGE = 4096 /* lines */ };

struct lines {
    uint32_t *v; /* number of a line; sorted once finished */
    uint32_t n, cap;
};

struct workset {
    const struct dev_mem *mem;
    unsigned shift;
    uint64_t base, npages, blocks;
    uint32_t **page; /* by line: 1 + the last block that touched it */
    struct lines *block;
    /* -- finished -- */
    uint64_t *size, sum, distinct;
    VEC(struct workset_array) arrays;
};

struct workset *
workset_new(uint64_t blocks, uint32_t line, const struct dev_mem *mem)
{
    struct workset *w = xcalloc(1, sizeof *w);
    w->mem = mem;
    w->shift = (unsigned)__builtin_ctz(line);
    w->blocks = blocks;
    uint64_t bytes = dev_reserved(mem, &w->base);
    w->base = w->base >> w->shift << w->shift;
    w->npages = (bytes >> w->shift) / PAGE + 2;
    w->page = xcalloc(w->npages, sizeof *w->page);
    w->block = xcalloc(blocks + 1, sizeof *w->block);
    return w;
}

void
workset_free(struct workset *w)
{
    if (!w)
        return;
    for (uint64_t i = 0; i < w->npages; i++)
        free(w->page[i]);
    for (uint64_t i = 0; i < w->blocks; i++)
        free(w->block[i].v);
    free(w->page);
    free(w->block);
    free(w->size);
    vec_free(&w->arrays);
    free(w);
}

static void
touch(struct workset *w, uint32_t block, uint64_t line)
{
    if (line / PAGE >= w->npages)
        return; /* memory of the host, which the cache does not hold */
    uint32_t **p = &w->page[line / PAGE];
    if (!*p)
        *p = xcalloc(PAGE, sizeof **p);
    uint32_t *last = &(*p)[line % PAGE];
    if (*last == block + 1)
        return;
    *last = block + 1;
    struct lines *l = &w->block[block];
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->v = xrealloc(l->v, l->cap * sizeof *l->v);
    }
    l->v[l->n++] = (uint32_t)line;
}

static void
observe(void *user, struct exec_warp *warp, const struct exec_step *s)
{
    const struct exec_cta *c = warp->cta;
    struct workset *w = user;
    const struct exec_access *a = &s->access;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        uint8_t space = a->space == PTX_SPACE_NONE ? a->lane_space[lane] : a->space;
        if (space != PTX_SPACE_GLOBAL || a->addr[lane] < w->base)
            continue;
        uint64_t first = (a->addr[lane] - w->base) >> w->shift;
        uint64_t last = (a->addr[lane] + a->bytes - 1 - w->base) >> w->shift;
        for (uint64_t line = first; line <= last; line++)
            touch(w, c->id, line);
    }
}

void
workset_watch(struct workset *w, struct exec_grid *g)
{
    static const struct exec_observer on = {.access = observe};
    exec_observe(g, &on, w);
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The array that a line lies in. Lines come in rising order: it is the last one, or new. */
static size_t
array_of(struct workset *w, uint64_t line)
{
    const uint64_t at = w->base + (line << w->shift),
                   end = at + (UINT64_C(1) << w->shift);
    const size_t n = w->arrays.n;
    if (n && at < w->arrays.v[n - 1].addr + w->arrays.v[n - 1].bytes)
        return n - 1;
    struct dev_range r = {.addr = at, .size = end - at}, found;
    for (uint64_t a = at; a < end; a++)
        if (dev_find(w->mem, a, &found) && !found.dead) {
            r = found;
            break;
        }
    *vec_push(&w->arrays) = (struct workset_array){.addr = r.addr, .bytes = r.size};
    return n;
}

void
workset_finish(struct workset *w)
{
    w->size = xcalloc(w->blocks + 1, sizeof *w->size);
    for (uint64_t p = 0; p < w->npages; p++)
        for (uint32_t k = 0; w->page[p] && k < PAGE; k++)
            if (w->page[p][k]) {
                size_t i = array_of(w, p * PAGE + k);
                w->arrays.v[i].distinct++;
                w->distinct++;
            }
    for (uint64_t b = 0; b < w->blocks; b++) {
        struct lines *l = &w->block[b];
        uint32_t n = 0;
        if (l->n) /* a block may touch nothing */
            qsort(l->v, l->n, sizeof *l->v, by_number);
        for (uint32_t i = 0; i < l->n; i++)
            if (!i || l->v[i] != l->v[i - 1])
                l->v[n++] = l->v[i];
        l->n = n;
        w->size[b] = n;
        w->sum += n;
        size_t at = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t addr = w->base + ((uint64_t)l->v[i] << w->shift);
            while (at + 1 < w->arrays.n &&
                   addr >= w->arrays.v[at].addr + w->arrays.v[at].bytes)
                at++;
            w->arrays.v[at].lines++;
        }
    }
}

uint32_t
workset_line(const struct workset *w)
{
    return UINT32_C(1) << w->shift;
}

uint64_t
workset_blocks(const struct workset *w)
{
    return w->blocks;
}

const uint64_t *
workset_sizes(const struct workset *w)
{
    return w->size;
}

uint64_t
workset_sum(const struct workset *w)
{
    return w->sum;
}

uint64_t
workset_distinct(const struct workset *w)
{
    return w->distinct;
}

size_t
workset_arrays(const struct workset *w)
{
    return w->arrays.n;
}

struct workset_array
workset_array_at(const struct workset *w, size_t i)
{
    return w->arrays.v[i];
}

uint64_t
workset_common(const struct workset *w, uint64_t a, uint64_t b)
{
    const struct lines *x = &w->block[a], *y = &w->block[b];
    uint64_t n = 0;
    for (uint32_t i = 0, k = 0; i < x->n && k < y->n;) {
        n += x->v[i] == y->v[k];
        uint32_t u = x->v[i], v = y->v[k];
        i += u <= v;
        k += v <= u;
    }
    return n;
}

uint64_t
workset_union(const struct workset *w, const uint32_t *blocks, size_t n)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        all += w->block[blocks[i]].n;
    uint32_t *v = xmalloc((all + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        const struct lines *l = &w->block[blocks[i]];
        if (l->n)
            memcpy(v + at, l->v, l->n * sizeof *v);
        at += l->n;
    }
    qsort(v, all, sizeof *v, by_number);
    uint64_t distinct = 0;
    for (size_t i = 0; i < all; i++)
        distinct += !i || v[i] != v[i - 1];
    free(v);
    return distinct;
}

uint64_t
workset_together(void *user, const uint32_t *blocks, size_t n)
{
    return workset_union(user, blocks, n);
}
