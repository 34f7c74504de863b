/* arena.c: chunks double up to 1 MiB (8 with huge pages); a larger request gets a chunk
 * of its own. Large chunks are pages of the system's, which come zeroed: what is never
 * used costs neither memory nor time. (calloc would clear again what an arena freed before
 * left in the heap: half the time of a program of many short launches.)
 * Huge pages: the state of a simulation lies in more common ones than the host's TLB
 * holds. */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    void *block;   /* what to give back */
    size_t mapped; /* bytes that were mapped, zeroed; 0: of the heap */
    _Alignas(64) char data[];
};

enum {
    CHUNK_MIN = 4096,
    CHUNK_MAX = 1 << 20,
    MAPPED_MIN = 1 << 17,
    HUGE_PAGE = 2 << 20,
    HUGE_MAX = 4 * HUGE_PAGE,
};

/* Out of memory is not an input error and nothing can be reported without memory. */
static _Noreturn void
out_of_memory(size_t n)
{
    fprintf(stderr, "allot: out of memory (asked for %zu bytes)\n", n);
    abort();
}

void *
xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

void *
xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        out_of_memory(n * size);
    return p;
}

void *
xrealloc(void *old, size_t n)
{
    void *p = realloc(old, n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

char *
xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

/* Tells ASan of a mapped chunk: nothing lies behind its data, and what it points to is in
 * use. Takes it back before the chunk is unmapped. */
static void
watch_chunk(const struct arena_chunk *c, bool on)
{
#ifdef __SANITIZE_ADDRESS__
    const char *end = c->data + c->size;
    size_t behind = (size_t)((const char *)c->block + c->mapped - end);
    if (on) {
        ASAN_POISON_MEMORY_REGION(end, behind);
        __lsan_register_root_region(c, sizeof *c + c->size);
    } else {
        ASAN_UNPOISON_MEMORY_REGION(end, behind);
        __lsan_unregister_root_region(c, sizeof *c + c->size);
    }
#else
    (void)c;
    (void)on;
#endif
}

static void
add_chunk(struct arena_pile *p, size_t need, bool huge)
{
    size_t size = p->chunk ? p->chunk->size * 2 : CHUNK_MIN;
    size_t most = huge ? HUGE_MAX : CHUNK_MAX;
    if (size > most)
        size = most;
    if (size < need)
        size = need;
    size_t align = huge && size >= HUGE_PAGE ? HUGE_PAGE : 64;
    size_t total = (sizeof(struct arena_chunk) + size + align - 1) & ~(align - 1);
    bool mapped = size >= MAPPED_MIN;
    void *block = mapped ? mmap(NULL, total + align, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                         : aligned_alloc(64, total);
    if (!block || block == MAP_FAILED)
        out_of_memory(total);
    struct arena_chunk *c =
        (struct arena_chunk *)(((uintptr_t)block + align - 1) & ~(uintptr_t)(align - 1));
    if (align == HUGE_PAGE)
        (void)madvise(c, total, MADV_HUGEPAGE); /* a wish */
    c->block = block;
    c->mapped = mapped ? total + align : 0;
    c->next = p->chunk;
    c->size = size;
    p->chunk = c;
    p->at = c->data;
    p->end = c->data + size;
    if (mapped)
        watch_chunk(c, true);
}

static void *
take(struct arena *a, struct arena_pile *p, size_t n, size_t align, bool huge)
{
    assert(align && (align & (align - 1)) == 0 && align <= 64);
    uintptr_t at = ((uintptr_t)p->at + align - 1) & ~(uintptr_t)(align - 1);
    if (!p->at || at + n > (uintptr_t)p->end || at + n < at) {
        add_chunk(p, n + align, huge);
        at = ((uintptr_t)p->at + align - 1) & ~(uintptr_t)(align - 1);
    }
    a->used += (size_t)(at + n - (uintptr_t)p->at);
    p->at = (char *)(at + n);
    return p->chunk->mapped ? (void *)at : memset((void *)at, 0, n);
}

void *
arena_alloc_aligned(struct arena *a, size_t n, size_t align)
{
    return take(a, &a->pile, n, align, a->huge);
}

void *
arena_alloc_sparse(struct arena *a, size_t n)
{
    return take(a, a->huge ? &a->sparse : &a->pile, n, 64, false);
}

void *
arena_alloc(struct arena *a, size_t n)
{
    return arena_alloc_aligned(a, n, 16);
}

void *
arena_dup(struct arena *a, const void *p, size_t n)
{
    void *q = arena_alloc(a, n);
    return n ? memcpy(q, p, n) : q;
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *q = arena_alloc_aligned(a, n + 1, 1);
    if (n)
        memcpy(q, s, n);
    return q;
}

char *
arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *q = arena_alloc_aligned(a, (size_t)n + 1, 1);
    vsnprintf(q, (size_t)n + 1, fmt, ap2);
    va_end(ap2);
    return q;
}

static void
free_chunks(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *next = c->next;
        if (c->mapped) {
            watch_chunk(c, false);
            munmap(c->block, c->mapped);
        } else {
            free(c->block);
        }
        c = next;
    }
}

void
arena_free(struct arena *a)
{
    free_chunks(a->pile.chunk);
    free_chunks(a->sparse.chunk);
    *a = (struct arena){.huge = a->huge};
}

/* The newest chunk, mostly the largest, is kept, and empty again; not of what is sparse:
 * to zero it would touch what nobody has. */
void
arena_reset(struct arena *a)
{
    struct arena_pile p = a->pile;
    free_chunks(a->sparse.chunk);
    if (p.chunk) {
        free_chunks(p.chunk->next);
        p.chunk->next = NULL;
        if (p.chunk->mapped)
            memset(p.chunk->data, 0, (size_t)(p.at - p.chunk->data));
        p.at = p.chunk->data;
    }
    *a = (struct arena){.pile = p, .huge = a->huge};
}
