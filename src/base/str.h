/* str.h: interned strings and a growing text buffer. */
#ifndef ALLOT_BASE_STR_H
#define ALLOT_BASE_STR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* A set of strings. str_intern gives one pointer per distinct text, so that equality is
 * pointer equality. Zero-initialise; the strings live until strtab_free. */
struct strtab {
    struct arena mem;
    struct strtab_entry **slot;
    size_t nslot, n;
};

const char *str_intern(struct strtab *t, const char *s, size_t n);
const char *str_intern_z(struct strtab *t, const char *s);
void strtab_free(struct strtab *t);

/* Text under construction. Zero-initialise; `s` is NUL-terminated once anything was added
 * (NULL before). strbuf_take hands the malloc'd text over and empties the buffer. */
struct strbuf {
    char *s;
    size_t n, cap;
};

void strbuf_add(struct strbuf *b, const char *s, size_t n);
void strbuf_addz(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a text as people may see it: control characters become blanks, what is no UTF-8
 * (or no character of XML) U+FFFD; the end is cut off after `max` characters. The text is
 * not NULL afterwards. */
void strbuf_visible(struct strbuf *b, const char *s, size_t max);
char *strbuf_take(struct strbuf *b);
void strbuf_free(struct strbuf *b);

/* Whole file (or stdin for "-") as malloc'd text with a NUL behind it; NULL and errno on
 * failure: EFBIG beyond FILE_MAX_BYTES, or, where it is no regular file and might have no
 * end (/dev/zero, a pipe), beyond STREAM_MAX_BYTES. *len may be NULL. */
#define FILE_MAX_BYTES ((size_t)16 << 30)
#define STREAM_MAX_BYTES ((size_t)1 << 30)
char *file_read(const char *path, size_t *len);

/* The file at `path` is still the one that fd is open on. */
bool file_is(int fd, const char *path);

/* Edit distance capped at `max`, for "did you mean" hints. Two neighbours in the wrong order
 * are one edit (optimal string alignment). */
int str_distance(const char *a, const char *b, int max);

#endif
