/* diag.h: diagnostics with file:line:column, the offending line, a caret and a hint.
 *
 * A failing function returns false (or NULL) and has added at least one diagnostic to the
 * sink it was given. Diagnostics are collected, in order, not printed: the command prints
 * them, a library user reads them. The sink owns all texts. */
#ifndef ALLOT_BASE_DIAG_H
#define ALLOT_BASE_DIAG_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag {
    enum diag_level level;
    const char *file;    /* NULL: no place */
    unsigned line, col;  /* from 1; 0: unknown */
    unsigned len;        /* length of the marked text, 0 or 1: only a caret */
    const char *message; /* one sentence, no final stop */
    const char *source;  /* the source line, NULL: not known */
    const char *hint;    /* what to do, NULL: none */
};

struct diag_sink {
    struct arena mem;
    struct diag **list;
    size_t n, cap;
    size_t errors;
    size_t max_errors; /* errors beyond this are counted, not kept; 0: 100 */
    /* Asked by long steps (parsing, passes, decoding): true cancels them. NULL: never. */
    bool (*cancelled)(void *user);
    void *cancel_user;
    bool told_cancelled; /* the error is there already */
};

/* Where something stands. `text` is the whole source (may be NULL), so that the line can
 * be shown. */
struct diag_loc {
    const char *file;
    const char *text;
    unsigned line, col, len;
};

/* Adds a diagnostic; returns it so that a hint can be attached (never NULL). */
struct diag *diag_add(struct diag_sink *s, enum diag_level level,
                      const struct diag_loc *loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void diag_hint(struct diag_sink *s, struct diag *d, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The source line of a diagnostic that was added without a text: `line` is where it begins. */
void diag_source(struct diag_sink *s, struct diag *d, const char *line);

/* Shorthand for an error without a place. Always returns false. */
bool diag_error(struct diag_sink *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For long steps, to be called at least every 100 ms: true if they are to stop now. The
 * first time it adds the error "interrupted", so the step returns failure as it is. */
bool diag_cancelled(struct diag_sink *s);
/* An empty sink that is cancelled as `s` is. */
struct diag_sink diag_child(const struct diag_sink *s);

/* All diagnostics as text, one after another, as a compiler prints them. */
void diag_print(const struct diag_sink *s, struct strbuf *out);
/* Copies of all of `from`, at the end. */
void diag_append(struct diag_sink *s, const struct diag_sink *from);
/* A copy of one of another sink. */
void diag_repeat(struct diag_sink *s, const struct diag *d);
void diag_free(struct diag_sink *s);

#endif
