/* arena.h: bump allocation with one owner and one release.
 *
 * An arena belongs to a module, a launch or a simulation. Everything taken from it lives
 * until arena_free; nothing is freed singly. Memory comes back zeroed. Allocation fails
 * only when the system is out of memory, in which case the process ends with a message
 * (the one place in the library that may: see base/arena.c). */
#ifndef ALLOT_BASE_ARENA_H
#define ALLOT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena_pile {
    struct arena_chunk *chunk; /* newest chunk, linked to older ones */
    char *at, *end;            /* free part of the newest chunk */
};

/* Zero-initialise to make an empty arena. */
struct arena {
    struct arena_pile pile, sparse;
    size_t used; /* bytes handed out, padding included */
    bool huge;   /* large chunks ask for huge pages: for what is used often and whole */
};

/* n zeroed bytes aligned to `align` (a power of two, at most 64). */
void *arena_alloc_aligned(struct arena *a, size_t n, size_t align);

/* n zeroed bytes aligned for any scalar (16 bytes). */
void *arena_alloc(struct arena *a, size_t n);

/* The same in an arena of huge pages for what may stay untouched for the most part: it
 * gets common pages. */
void *arena_alloc_sparse(struct arena *a, size_t n);

/* Copies n bytes, respectively a string of length n (adds the final NUL). */
void *arena_dup(struct arena *a, const void *p, size_t n);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Releases everything; the arena is empty and usable again. arena_reset keeps some of the
 * memory for what comes next: for arenas that are filled again and again. */
void arena_free(struct arena *a);
void arena_reset(struct arena *a);

#define ARENA_NEW(a, T) ((T *)arena_alloc_aligned((a), sizeof(T), _Alignof(T)))
#define ARENA_ARRAY(a, T, n)                                                             \
    ((T *)arena_alloc_aligned((a), sizeof(T) * (size_t)(n), _Alignof(T)))
#define ARENA_SPARSE(a, T, n) ((T *)arena_alloc_sparse((a), sizeof(T) * (size_t)(n)))

/* malloc family that ends the process with a message when memory is out. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);

#endif
