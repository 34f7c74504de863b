/* vec.h: growable typed arrays.
 *
 *     VEC(struct ptx_inst) body;      zero-initialise
 *     *vec_push(&body) = inst;        amortised O(1); pointers into it move
 *     for (size_t i = 0; i < body.n; i++) use(&body.v[i]);
 *     vec_free(&body);
 */
#ifndef ALLOT_BASE_VEC_H
#define ALLOT_BASE_VEC_H

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define VEC(T)                                                                           \
    struct {                                                                             \
        T *v;                                                                            \
        size_t n, cap;                                                                   \
    }

/* Grows by one zeroed element and yields a pointer to it. */
#define vec_push(vec)                                                                    \
    ((vec)->n == (vec)->cap                                                              \
         ? ((vec)->v = vec_grow((vec)->v, &(vec)->cap, (vec)->n + 1, sizeof *(vec)->v))  \
         : (vec)->v,                                                                     \
     memset(&(vec)->v[(vec)->n], 0, sizeof *(vec)->v), &(vec)->v[(vec)->n++])

/* Makes room for at least `want` elements without changing n. */
#define vec_reserve(vec, want)                                                           \
    ((vec)->cap < (want)                                                                 \
         ? (void)((vec)->v = vec_grow((vec)->v, &(vec)->cap, (want), sizeof *(vec)->v))  \
         : (void)0)

#define vec_free(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

/* Frees what `to` has and gives it the elements of `from`, which is empty then. */
#define vec_take(to, from)                                                               \
    (free((to)->v), (to)->v = (from)->v, (to)->n = (from)->n, (to)->cap = (from)->cap,   \
     (from)->v = NULL, (from)->n = (from)->cap = 0)

static inline void *
vec_grow(void *v, size_t *cap, size_t want, size_t size)
{
    size_t c = *cap ? *cap * 2 : 8;
    if (c < want)
        c = want;
    *cap = c;
    return xrealloc(v, c * size);
}

#endif
