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
    size_t rule = 0;
    for (size_t r = 0; r < rows; r++) {
        while (rule < t->rules.n && t->rules.v[rule] <= r) {
            if (t->rules.v[rule++] == r)
                print_rule(t, width, out);
        }
        for (size_t c = 0; c < t->ncols; c++) {
            const char *s = t->cells.v[r * t->ncols + c];
            if (c + 1 == t->ncols && !right[c])
                strbuf_addz(out, s);
            else
                strbuf_printf(out, right[c] ? "%*s" : "%-*s", (int)width[c], s);
            strbuf_addz(out, c + 1 < t->ncols ? "  " : "\n");
        }
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
