/* diag.c: collecting and printing diagnostics. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ERRORS = 100, MAX_SHOWN_LINE = 200 };

static const char *
vformat(struct arena *a, const char *fmt, va_list ap)
{
    va_list ap2;
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap2);
    va_end(ap2);
    char *s = arena_alloc_aligned(a, (size_t)n + 1, 1);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    return s;
}

/* Copy of line `line` of `text`, control characters as spaces, cut where too long. */
static const char *
source_line(struct arena *a, const char *text, unsigned line)
{
    if (!text || !line)
        return NULL;
    while (--line) {
        text = strchr(text, '\n');
        if (!text)
            return NULL;
        text++;
    }
    size_t n = strcspn(text, "\r\n");
    if (n > MAX_SHOWN_LINE)
        n = MAX_SHOWN_LINE;
    char *s = arena_strndup(a, text, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || (unsigned char)s[i] == 127)
            s[i] = ' ';
    return s;
}

static struct diag *
add(struct diag_sink *s, enum diag_level level, const struct diag_loc *loc)
{
    struct diag *d = ARENA_NEW(&s->mem, struct diag);
    d->level = level;
    size_t limit = s->max_errors ? s->max_errors : MAX_ERRORS;
    bool keep = level != DIAG_ERROR || s->errors < limit;
    if (level == DIAG_ERROR)
        s->errors++;
    if (loc) {
        d->file = loc->file ? arena_strdup(&s->mem, loc->file) : NULL;
        d->line = loc->line;
        d->col = loc->col;
        d->len = loc->len;
        if (keep)
            d->source = source_line(&s->mem, loc->text, loc->line);
    }
    if (!keep)
        return d;
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 16;
        s->list = xrealloc(s->list, s->cap * sizeof *s->list);
    }
    s->list[s->n++] = d;
    return d;
}

struct diag *
diag_add(struct diag_sink *s, enum diag_level level, const struct diag_loc *loc,
         const char *fmt, ...)
{
    struct diag *d = add(s, level, loc);
    va_list ap;
    va_start(ap, fmt);
    d->message = vformat(&s->mem, fmt, ap);
    va_end(ap);
    return d;
}

static const char *
copied(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

void
diag_repeat(struct diag_sink *s, const struct diag *f)
{
    struct diag_loc loc = {f->file, NULL, f->line, f->col, f->len};
    struct diag *d = add(s, f->level, &loc);
    d->message = copied(&s->mem, f->message);
    d->source = copied(&s->mem, f->source);
    d->hint = copied(&s->mem, f->hint);
}

void
diag_append(struct diag_sink *s, const struct diag_sink *from)
{
    for (size_t i = 0; i < from->n; i++)
        diag_repeat(s, from->list[i]);
}

void
diag_source(struct diag_sink *s, struct diag *d, const char *line)
{
    d->source = source_line(&s->mem, line, 1);
}

void
diag_hint(struct diag_sink *s, struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    d->hint = vformat(&s->mem, fmt, ap);
    va_end(ap);
}

bool
diag_error(struct diag_sink *s, const char *fmt, ...)
{
    struct diag *d = add(s, DIAG_ERROR, NULL);
    va_list ap;
    va_start(ap, fmt);
    d->message = vformat(&s->mem, fmt, ap);
    va_end(ap);
    return false;
}

bool
diag_cancelled(struct diag_sink *s)
{
    if (!s->cancelled || !s->cancelled(s->cancel_user))
        return false;
    if (!s->told_cancelled)
        diag_error(s, "interrupted");
    s->told_cancelled = true;
    return true;
}

struct diag_sink
diag_child(const struct diag_sink *s)
{
    return (struct diag_sink){.max_errors = s->max_errors,
                              .cancelled = s->cancelled,
                              .cancel_user = s->cancel_user};
}

static void
print_one(const struct diag *d, struct strbuf *out)
{
    static const char *const level[] = {"note", "warning", "error"};
    if (d->file && d->line)
        strbuf_printf(out, "%s:%u:%u: ", d->file, d->line, d->col ? d->col : 1);
    else if (d->file)
        strbuf_printf(out, "%s: ", d->file);
    strbuf_printf(out, "%s: %s\n", level[d->level], d->message);
    if (d->source && d->line) {
        strbuf_printf(out, "    %s\n", d->source);
        size_t n = strlen(d->source);
        if (d->col && d->col <= n + 1) {
            strbuf_printf(out, "    %*s^", (int)d->col - 1, "");
            for (unsigned i = 1; i < d->len && d->col - 1 + i < n; i++)
                strbuf_add(out, "~", 1);
            strbuf_add(out, "\n", 1);
        }
    }
    if (d->hint)
        strbuf_printf(out, "    hint: %s\n", d->hint);
}

/* Names in messages come from input; a terminal must not take them for commands. */
static void
hide_controls(char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
        if (c == 0xc2 && next >= 0x80 && next < 0xa0)
            s[0] = s[1] = ' ';
        else if ((c < 32 && c != '\n' && c != '\t') || c == 127)
            *s = ' ';
    }
}

void
diag_print(const struct diag_sink *s, struct strbuf *out)
{
    size_t kept = 0, before = out->n;
    for (size_t i = 0; i < s->n; i++) {
        print_one(s->list[i], out);
        kept += s->list[i]->level == DIAG_ERROR;
    }
    if (s->errors > kept)
        strbuf_printf(out, "error: %zu more errors not shown\n", s->errors - kept);
    if (out->s)
        hide_controls(out->s + before);
}

void
diag_free(struct diag_sink *s)
{
    free(s->list);
    arena_free(&s->mem);
    memset(s, 0, sizeof *s);
}
