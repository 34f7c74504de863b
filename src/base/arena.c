/* arena.c: chunks double up to 1 MiB; a larger request gets a chunk of its own. Large
 * chunks come zeroed, from the system where it can, so that what is never used costs no
 * memory. */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    void *block; /* what to free */
    bool zeroed;
    _Alignas(64) char data[];
};

enum { CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20, ZEROED_MIN = 1 << 17 };

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

static void
add_chunk(struct arena *a, size_t need)
{
    size_t size = a->chunk ? a->chunk->size * 2 : CHUNK_MIN;
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (size < need)
        size = need;
    size_t total = (sizeof(struct arena_chunk) + size + 63) & ~(size_t)63;
    bool zeroed = size >= ZEROED_MIN;
    void *block = zeroed ? calloc(1, total + 64) : aligned_alloc(64, total);
    if (!block)
        out_of_memory(total);
    struct arena_chunk *c =
        (struct arena_chunk *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
    c->block = block;
    c->zeroed = zeroed;
    c->next = a->chunk;
    c->size = size;
    a->chunk = c;
    a->at = c->data;
    a->end = c->data + size;
}

void *
arena_alloc_aligned(struct arena *a, size_t n, size_t align)
{
    assert(align && (align & (align - 1)) == 0 && align <= 64);
    uintptr_t at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    if (!a->at || at + n > (uintptr_t)a->end || at + n < at) {
        add_chunk(a, n + align);
        at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    }
    a->used += (size_t)(at + n - (uintptr_t)a->at);
    a->at = (char *)(at + n);
    return a->chunk->zeroed ? (void *)at : memset((void *)at, 0, n);
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

void
arena_free(struct arena *a)
{
    while (a->chunk) {
        struct arena_chunk *next = a->chunk->next;
        free(a->chunk->block);
        a->chunk = next;
    }
    memset(a, 0, sizeof *a);
}
