/* memory.c: global memory of the simulated device.
 *
 * One host reservation (mmap, touched on use) stands for all of it. Allocations are taken
 * in ascending order and never move; space that was given back stays dead, so that a use
 * after free is recognised, until the reservation is used up: then the lowest dead range
 * that is large enough is used again (first fit, neighbours merged). All ranges, live and
 * dead, are one array sorted by address: look-up is a binary search, O(log n); allocation
 * and release O(n) in the number of ranges.
 *
 * A unified memory has two such regions in one reservation that lies at its own device
 * addresses: the device's, and one for host memory that kernels reach. Memory of the host
 * that lies elsewhere may be mapped; its range is forgotten when it is unmapped. */
#define _GNU_SOURCE
#include "exec/memory/memory.h"

#include "base/vec.h"
#include "exec/memory/heap.h"
#include "exec/memory/texture.h"
#include "exec/memory/written.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Code is no data: it has addresses of its own, above all of global memory. */
#define CODE_BASE 0xF000000000ull
#define CODE_ALIGN 256u
#define PAGE 4096u

struct region {
    uint64_t start, end, top; /* top: end of the part ever used */
    uint64_t used;            /* bytes in live allocations */
};

struct dev_mem {
    uint8_t *bias; /* host base minus device base; first, see dev_host() */
    uint8_t *host;
    uint64_t reserved; /* bytes from host on */
    struct region device,
        shared; /* shared: host memory of a unified memory, else empty */
    uint64_t generation;
    uint64_t guard; /* bytes around an allocation that can be read */
    uint64_t gap;   /* bytes between allocations, at least */
    uint64_t code_top;
    struct tex_table *textures;  /* made on first use */
    struct dev_heap *heap;       /* likewise */
    struct written *written;     /* NULL: not kept */
    VEC(struct dev_range) range; /* sorted by address */
};

static struct dev_mem *
make(uint8_t *host, uint64_t base, uint64_t capacity, uint64_t shared)
{
    struct dev_mem *m = xcalloc(1, sizeof *m);
    m->host = host;
    m->bias = (uint8_t *)((uintptr_t)host - base);
    m->reserved = capacity + shared;
    m->device = (struct region){base, base + capacity, base, 0};
    m->shared =
        (struct region){base + capacity, base + capacity + shared, base + capacity, 0};
    m->code_top = CODE_BASE;
    return m;
}

static uint64_t
whole_pages(uint64_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

struct dev_mem *
dev_mem_new(uint64_t capacity)
{
    if (!capacity || capacity > CODE_BASE - DEV_GLOBAL_BASE)
        return NULL;
    capacity = whole_pages(capacity);
    void *host = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return host == MAP_FAILED ? NULL : make(host, DEV_GLOBAL_BASE, capacity, 0);
}

struct dev_mem *
dev_mem_new_unified(uint64_t capacity, uint64_t shared)
{
    /* The first is where the device's memory always lies, and free in most processes; the
     * others are for those with something of their own there. */
    static const uint64_t bases[] = {DEV_GLOBAL_BASE, 0x200000000000ull,
                                     0x300000000000ull, 0x400000000000ull};
    if (!capacity || capacity > CODE_BASE - DEV_GLOBAL_BASE ||
        shared > CODE_BASE - DEV_GLOBAL_BASE - capacity)
        return NULL;
    capacity = whole_pages(capacity);
    shared = whole_pages(shared);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        void *want = (void *)(uintptr_t)bases[i];
        void *host = mmap(
            want, capacity + shared, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (host == want)
            return make(host, bases[i], capacity, shared);
        if (host != MAP_FAILED) /* a kernel that does not know the flag */
            munmap(host, capacity + shared);
    }
    return NULL;
}

void
dev_mem_free(struct dev_mem *m)
{
    if (!m)
        return;
    munmap(m->host, m->reserved);
    tex_table_free(m->textures);
    heap_free(m->heap);
    written_free(m->written);
    vec_free(&m->range);
    free(m);
}

/* Index of the last range that starts at or below addr, -1: none. */
static ptrdiff_t
find_at(const struct dev_mem *m, uint64_t addr)
{
    size_t lo = 0, hi = m->range.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (m->range.v[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (ptrdiff_t)lo - 1;
}

/* Bytes of address space a range of `size` occupies, with guard or gap behind it. */
static uint64_t
extent(const struct dev_mem *m, uint64_t size)
{
    uint64_t behind = m->guard > m->gap ? m->guard : m->gap;
    return (size + behind + DEV_ALIGN - 1) / DEV_ALIGN * DEV_ALIGN;
}

/* Where the address space of the region's range number i ends. */
static uint64_t
range_end(const struct dev_mem *m, const struct region *g, size_t i)
{
    return i + 1 < m->range.n && m->range.v[i + 1].addr < g->end ? m->range.v[i + 1].addr
                                                                 : g->top;
}

static void
insert_range(struct dev_mem *m, size_t at, struct dev_range r)
{
    vec_push(&m->range);
    memmove(&m->range.v[at + 1], &m->range.v[at],
            (m->range.n - 1 - at) * sizeof *m->range.v);
    m->range.v[at] = r;
}

static void
remove_ranges(struct dev_mem *m, size_t at, size_t n)
{
    memmove(&m->range.v[at], &m->range.v[at + n],
            (m->range.n - at - n) * sizeof *m->range.v);
    m->range.n -= n;
}

static bool
is_free(const struct dev_range *r)
{
    return r->dead && !r->reserved;
}

/* First run of the region's dead ranges that together hold `need` bytes becomes one live
 * range. */
static uint64_t
reuse(struct dev_mem *m, struct region *g, uint64_t size)
{
    uint64_t need = extent(m, size);
    for (size_t i = (size_t)(find_at(m, g->start - 1) + 1);
         i < m->range.n && m->range.v[i].addr < g->end; i++) {
        if (!is_free(&m->range.v[i]))
            continue;
        size_t j = i;
        uint64_t start = m->range.v[i].addr, end = start;
        while (j < m->range.n && is_free(&m->range.v[j]) && m->range.v[j].addr < g->end) {
            end = range_end(m, g, j);
            j++;
        }
        if (end == g->top && /* the run may grow into fresh space */
            g->end - start >= need && end - start < need) {
            g->top = start + need;
            end = g->top;
        }
        if (end - start >= need) {
            memset(dev_host(m, start), 0, size);
            remove_ranges(m, i, j - i);
            insert_range(m, i, (struct dev_range){.addr = start, .size = size});
            if (start + need < end)
                insert_range(m, i + 1,
                             (struct dev_range){.addr = start + need,
                                                .size = end - start - need,
                                                .dead = true});
            return start;
        }
        i = j - 1;
    }
    return 0;
}

static uint64_t
take(struct dev_mem *m, struct region *g, uint64_t size)
{
    if (!size || size > g->end - g->start)
        return 0;
    uint64_t addr = g->top;
    if (g->end - g->top >= extent(m, size)) {
        insert_range(m, (size_t)(find_at(m, addr) + 1),
                     (struct dev_range){.addr = addr, .size = size});
        g->top += extent(m, size);
    } else {
        addr = reuse(m, g, size);
        if (!addr)
            return 0;
    }
    g->used += size;
    m->generation++;
    if (g == &m->device)
        dev_mark_unwritten(m, addr, size);
    return addr;
}

uint64_t
dev_alloc(struct dev_mem *m, uint64_t size)
{
    return take(m, &m->device, size);
}

uint64_t
dev_alloc_shared(struct dev_mem *m, uint64_t size)
{
    return take(m, &m->shared, size);
}

/* The region that holds addr, NULL: none (mapped memory of the host). */
static struct region *
region_of(struct dev_mem *m, uint64_t addr)
{
    if (addr >= m->device.start && addr < m->device.end)
        return &m->device;
    return addr >= m->shared.start && addr < m->shared.end ? &m->shared : NULL;
}

bool
dev_release(struct dev_mem *m, uint64_t addr)
{
    ptrdiff_t i = find_at(m, addr);
    struct region *g = region_of(m, addr);
    if (i < 0 || !g || m->range.v[i].addr != addr || m->range.v[i].dead)
        return false;
    struct dev_range *r = &m->range.v[i];
    r->dead = true;
    g->used -= r->size;
    m->generation++;
    /* Give whole pages back to the host; they read as zero from now on. */
    uintptr_t first = ((uintptr_t)dev_host(m, addr) + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)dev_host(m, addr) + r->size) / PAGE * PAGE;
    if (first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
    return true;
}

/* The dead reservation that starts at addr, NULL: there is none. */
static struct dev_range *
reservation(struct dev_mem *m, uint64_t addr)
{
    ptrdiff_t i = find_at(m, addr);
    if (i < 0 || m->range.v[i].addr != addr || !m->range.v[i].reserved ||
        !m->range.v[i].dead)
        return NULL;
    return &m->range.v[i];
}

uint64_t
dev_reserve(struct dev_mem *m, uint64_t size)
{
    uint64_t addr = dev_alloc(m, size);
    if (!addr)
        return 0;
    m->range.v[find_at(m, addr)].reserved = true;
    dev_release(m, addr);
    return addr;
}

bool
dev_commit(struct dev_mem *m, uint64_t addr)
{
    struct dev_range *r = reservation(m, addr);
    struct region *g = r ? region_of(m, addr) : NULL;
    if (!g || g->used + r->size > g->end - g->start)
        return false;
    r->dead = false;
    g->used += r->size;
    m->generation++;
    return true;
}

bool
dev_unreserve(struct dev_mem *m, uint64_t addr)
{
    struct dev_range *r = reservation(m, addr);
    if (r)
        r->reserved = false;
    return r;
}

bool
dev_map(struct dev_mem *m, void *host, uint64_t size)
{
    uint64_t addr = (uintptr_t)host, end = addr + size;
    if (m->bias || !size || end < addr || addr < DEV_GLOBAL_BASE ||
        (addr < m->shared.end && end > m->device.start))
        return false;
    ptrdiff_t i = find_at(m, addr);
    if (i >= 0 && m->range.v[i].addr + m->range.v[i].size > addr)
        return false;
    if (i + 1 < (ptrdiff_t)m->range.n && m->range.v[i + 1].addr < end)
        return false;
    insert_range(m, (size_t)(i + 1), (struct dev_range){.addr = addr, .size = size});
    m->generation++;
    return true;
}

bool
dev_unmap(struct dev_mem *m, void *host)
{
    uint64_t addr = (uintptr_t)host;
    ptrdiff_t i = find_at(m, addr);
    if (i < 0 || m->range.v[i].addr != addr || region_of(m, addr))
        return false;
    remove_ranges(m, (size_t)i, 1);
    m->generation++;
    return true;
}

static bool
holds(const struct dev_range *r, uint64_t addr, uint64_t n)
{
    return addr >= r->addr && n <= r->size && addr - r->addr <= r->size - n;
}

bool
dev_find(const struct dev_mem *m, uint64_t addr, struct dev_range *r)
{
    ptrdiff_t i = find_at(m, addr);
    if (i < 0 || !holds(&m->range.v[i], addr, 1))
        return false;
    *r = m->range.v[i];
    return true;
}

bool
dev_nearest(const struct dev_mem *m, uint64_t addr, struct dev_range *r)
{
    ptrdiff_t at = find_at(m, addr), below = at, above = at + 1;
    while (below >= 0 && m->range.v[below].dead)
        below--;
    while (above < (ptrdiff_t)m->range.n && m->range.v[above].dead)
        above++;
    bool has_above = above < (ptrdiff_t)m->range.n;
    if (below < 0 && !has_above)
        return false;
    if (below >= 0 && has_above) {
        const struct dev_range *b = &m->range.v[below];
        uint64_t end = b->addr + b->size;
        uint64_t down = addr < end ? 0 : addr - end + 1;
        uint64_t up = m->range.v[above].addr - addr;
        *r = m->range.v[down <= up ? below : above];
    } else {
        *r = m->range.v[below >= 0 ? below : above];
    }
    return true;
}

static bool
live_range(const struct dev_mem *m, uint64_t addr, uint64_t n)
{
    ptrdiff_t i = find_at(m, addr);
    return i >= 0 && !m->range.v[i].dead && holds(&m->range.v[i], addr, n);
}

bool
dev_write(struct dev_mem *m, uint64_t addr, const void *src, uint64_t n)
{
    if (!live_range(m, addr, n))
        return false;
    if (n)
        memcpy(dev_host(m, addr), src, n);
    dev_mark_written(m, addr, n);
    return true;
}

bool
dev_read(const struct dev_mem *m, uint64_t addr, void *dst, uint64_t n)
{
    if (!live_range(m, addr, n))
        return false;
    if (n)
        memcpy(dst, m->bias + addr, n);
    return true;
}

bool
dev_set(struct dev_mem *m, uint64_t addr, int value, uint64_t n)
{
    if (!live_range(m, addr, n))
        return false;
    memset(dev_host(m, addr), value, n);
    dev_mark_written(m, addr, n);
    return true;
}

struct dev_copy {
    uint64_t generation;
    uint8_t *bytes; /* of the live ranges, one after the other */
};

struct dev_copy *
dev_save(const struct dev_mem *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->range.n; i++)
        n += m->range.v[i].dead ? 0 : m->range.v[i].size;
    struct dev_copy *c = malloc(sizeof *c);
    uint8_t *at = malloc(n + 1);
    if (!c || !at) {
        free(c);
        free(at);
        return NULL;
    }
    *c = (struct dev_copy){m->generation, at};
    for (size_t i = 0; i < m->range.n; i++) {
        const struct dev_range *r = &m->range.v[i];
        if (r->dead)
            continue;
        memcpy(at, m->bias + r->addr, r->size);
        at += r->size;
    }
    return c;
}

bool
dev_restore(struct dev_mem *m, struct dev_copy *c)
{
    const bool same = c->generation == m->generation;
    const uint8_t *at = c->bytes;
    for (size_t i = 0; same && i < m->range.n; i++) {
        const struct dev_range *r = &m->range.v[i];
        if (r->dead)
            continue;
        memcpy(m->bias + r->addr, at, r->size);
        at += r->size;
    }
    free(c->bytes);
    free(c);
    return same;
}

void
dev_set_guard(struct dev_mem *m, uint64_t bytes)
{
    m->guard = bytes;
}

void
dev_set_gap(struct dev_mem *m, uint64_t bytes)
{
    m->gap = bytes;
}

uint64_t
dev_gap(const struct dev_mem *m)
{
    return m->gap;
}

uint64_t
dev_guard(const struct dev_mem *m)
{
    return m->guard;
}

bool
dev_guarded(const struct dev_mem *m, uint64_t addr)
{
    struct dev_range r;
    if (!m->guard || !dev_nearest(m, addr, &r))
        return false;
    return addr < r.addr ? r.addr - addr <= m->guard
                         : addr >= r.addr + r.size && addr - (r.addr + r.size) < m->guard;
}

uint64_t
dev_reserved(const struct dev_mem *m, uint64_t *start)
{
    *start = m->device.start;
    return m->reserved;
}

uint64_t
dev_bytes_used(const struct dev_mem *m)
{
    return m->device.used;
}

uint64_t
dev_generation(const struct dev_mem *m)
{
    return m->generation;
}

uint64_t
dev_code_space(struct dev_mem *m, uint64_t bytes)
{
    uint64_t at = m->code_top;
    m->code_top += (bytes + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    return at;
}

struct tex_table *
dev_textures(struct dev_mem *m)
{
    if (!m->textures)
        m->textures = tex_table_new();
    return m->textures;
}

struct dev_heap *
dev_heap(struct dev_mem *m)
{
    if (!m->heap)
        m->heap = heap_new();
    return m->heap;
}

void
dev_watch_writes(struct dev_mem *m)
{
    if (!m->written)
        m->written = written_new(m->device.start, m->device.end - m->device.start);
}

void
dev_mark_written(struct dev_mem *m, uint64_t addr, uint64_t n)
{
    if (m->written)
        written_mark(m->written, addr, n, true);
}

void
dev_mark_unwritten(struct dev_mem *m, uint64_t addr, uint64_t n)
{
    if (m->written)
        written_mark(m->written, addr, n, false);
}

uint64_t
dev_written(const struct dev_mem *m, uint64_t addr, uint64_t n)
{
    return m->written ? written_bytes(m->written, addr, n) : n;
}
