/* table.c: see table.h. Widths are found at the end, over all rows. */
#include "report/table.h"

#include "base/vec.h"

#include <ctype.h>
#include <stdarg.h>

struct table {
    struct arena mem;
    size_t ncols;
    VEC(const char *) cells; /* header row first */
    VEC(size_t) rules;       /* row numbers a rule stands before */
    size_t wrapped, wide;    /* table_wrap; wide 0: none */
};

enum { MAX_CELL = 512 };

/* A cell is one line, whatever its text is. */
static void
add(struct table *t, const char *text)
{
    struct strbuf b = {0};
    strbuf_visible(&b, text, MAX_CELL);
    *vec_push(&t->cells) = arena_strdup(&t->mem, b.s);
    strbuf_free(&b);
}

struct table *
table_new(size_t ncols, const char *const *headers)
{
    struct table *t = xcalloc(1, sizeof *t);
    t->ncols = ncols;
    for (size_t i = 0; i < ncols; i++)
        add(t, headers[i]);
    return t;
}

void
table_cell(struct table *t, const char *fmt, ...)
{
    char buf[MAX_CELL];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    add(t, buf);
}

void
table_rule(struct table *t)
{
    *vec_push(&t->rules) = t->cells.n / t->ncols;
}

/* Empty cells and dashes count as numbers: a gap does not turn a column around. */
static bool
is_number(const char *s)
{
    if (!*s || !strcmp(s, "-"))
        return true;
    bool digit = false;
    for (; *s; s++) {
        if (isdigit((unsigned char)*s))
            digit = true;
        else if (!strchr("+-.,%xe ", *s))
            return false;
    }
    return digit;
}

static void
print_rule(const struct table *t, const size_t *width, struct strbuf *out)
{
    for (size_t c = 0; c < t->ncols; c++) {
        for (size_t i = 0; i < width[c]; i++)
            strbuf_add(out, "-", 1);
        strbuf_addz(out, c + 1 < t->ncols ? "  " : "\n");
    }
}

void
table_wrap(struct table *t, size_t column, size_t width)
{
    t->wrapped = column;
    t->wide = width;
}

/* The wrapped column's width, so that all have room. */
static void
wrap_width(const struct table *t, size_t *width)
{
    enum { LEAST = 20, GAP = 2 };
    size_t all = GAP * (t->ncols - 1), *own = &width[t->wrapped];
    for (size_t c = 0; c < t->ncols; c++)
        all += width[c];
    size_t over = t->wide && all > t->wide ? all - t->wide : 0;
    if (over && *own > LEAST)
        *own = *own > LEAST + over ? *own - over : LEAST;
}

/* Characters of the first line of a text in `width` columns, and where the next begins. */
static size_t
wrap_line(const char *s, size_t width, const char **next)
{
    size_t n = strlen(s), at = width;
    *next = s + n;
    if (n <= width)
        return n;
    while (at && s[at] != ' ')
        at--;
    if (at)
        return *next = s + at + 1, at;
    for (at = width; at && !strchr(".:=,", s[at - 1]); at--)
        ;
    at = at ? at : width;
    *next = s + at;
    return at;
}

/* A row; what its wrapped cell has no room for follows on lines of its own. */
static void
print_row(const struct table *t, size_t row, const size_t *width, const bool *right,
          struct strbuf *out)
{
    const char *const *cell = &t->cells.v[row * t->ncols], *rest = "";
    for (size_t c = 0; c < t->ncols; c++) {
        const char *s = cell[c], *next;
        size_t n = strlen(s);
        if (t->wide && c == t->wrapped) {
            n = wrap_line(s, width[c], &next);
            rest = next;
        }
        if (c + 1 == t->ncols && !right[c])
            strbuf_printf(out, "%.*s", (int)n, s);
        else
            strbuf_printf(out, right[c] ? "%*.*s" : "%-*.*s", (int)width[c], (int)n, s);
        strbuf_addz(out, c + 1 < t->ncols ? "  " : "\n");
    }
    size_t left = 0;
    for (size_t c = 0; c < t->wrapped; c++)
        left += width[c] + 2;
    while (*rest) {
        const char *line = rest;
        size_t n = wrap_line(line, width[t->wrapped], &rest);
        strbuf_printf(out, "%*s%.*s\n", (int)left, "", (int)n, line);
    }
}

void
table_print(const struct table *t, struct strbuf *out)
{
    size_t rows = t->cells.n / t->ncols;
    size_t *width = xcalloc(t->ncols, sizeof *width);
    bool *right = xcalloc(t->ncols, sizeof *right);
    for (size_t c = 0; c < t->ncols; c++) {
        right[c] = rows > 1;
        for (size_t r = 0; r < rows; r++) {
            const char *s = t->cells.v[r * t->ncols + c];
            if (strlen(s) > width[c])
                width[c] = strlen(s);
            if (r && !is_number(s))
                right[c] = false;
        }
    }
    wrap_width(t, width);
    size_t rule = 0;
    for (size_t r = 0; r < rows; r++) {
        while (rule < t->rules.n && t->rules.v[rule] <= r) {
            if (t->rules.v[rule++] == r)
                print_rule(t, width, out);
        }
        print_row(t, r, width, right, out);
        if (r == 0)
            print_rule(t, width, out);
    }
    free(width);
    free(right);
}

void
table_show(const struct table *t, FILE *f)
{
    struct strbuf b = {0};
    table_print(t, &b);
    fputs(b.s, f);
    strbuf_free(&b);
}

void
table_free(struct table *t)
{
    if (!t)
        return;
    vec_free(&t->cells);
    vec_free(&t->rules);
    arena_free(&t->mem);
    free(t);
}

char *
table_thousands(char *buf, uint64_t v)
{
    char raw[24];
    int n = snprintf(raw, sizeof raw, "%llu", (unsigned long long)v), k = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            buf[k++] = ',';
        buf[k++] = raw[i];
    }
    buf[k] = 0;
    return buf;
}
