/* csv.c: see csv.h. The text is cut in place; cells point into one copy of it. */
#include "report/csv.h"

#include "base/vec.h"

#include <errno.h>

/* Cuts the line into cells at its commas; returns how many. */
static size_t
cut(char *line, char **cell, size_t max)
{
    size_t n = 0;
    for (char *p = line; p;) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma++ = 0;
        if (n < max)
            cell[n] = p;
        n++;
        p = comma;
    }
    return n;
}

struct csv *
csv_parse(const char *path, const char *text, struct diag_sink *diag)
{
    struct csv *c = xcalloc(1, sizeof *c);
    VEC(char *) rows = {0};
    VEC(unsigned) lines = {0};
    VEC(char *) comments = {0};
    unsigned number = 0;
    for (char *p = arena_strdup(&c->mem, text); *p;) {
        size_t n = strcspn(p, "\n");
        char *next = p + n + (p[n] == '\n');
        p[n] = 0;
        if (n && p[n - 1] == '\r')
            p[n - 1] = 0;
        number++;
        if (*p == '#') {
            *vec_push(&comments) = p + 1 + strspn(p + 1, " ");
        } else if (*p) {
            *vec_push(&rows) = p;
            *vec_push(&lines) = number;
        }
        p = next;
    }
    bool ok = rows.n > 0;
    if (!ok)
        diag_error(diag, "%s: no header line", path);
    for (const char *p = ok ? rows.v[0] : ""; *p; p++)
        c->ncols += *p == ',';
    c->ncols++;
    c->nrows = ok ? rows.n - 1 : 0;
    c->cells = ARENA_ARRAY(&c->mem, char *, (c->nrows + 1) * c->ncols);
    c->line = ARENA_ARRAY(&c->mem, unsigned, c->nrows + 1);
    for (size_t r = 0; r < rows.n && ok; r++) {
        size_t n = cut(rows.v[r], c->cells + r * c->ncols, c->ncols);
        if (r)
            c->line[r - 1] = lines.v[r];
        if (n == c->ncols)
            continue;
        diag_add(diag, DIAG_ERROR, &(struct diag_loc){.file = path, .line = lines.v[r]},
                 "%zu cells where the header has %zu", n, c->ncols);
        ok = false;
    }
    c->ncomments = comments.n;
    c->comments = ARENA_ARRAY(&c->mem, char *, comments.n + 1);
    for (size_t i = 0; i < comments.n; i++)
        c->comments[i] = comments.v[i];
    vec_free(&rows);
    vec_free(&lines);
    vec_free(&comments);
    if (ok)
        return c;
    csv_free(c);
    return NULL;
}

struct csv *
csv_read(const char *path, struct diag_sink *diag)
{
    size_t n;
    char *text = file_read(path, &n);
    if (!text) {
        diag_error(diag, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    struct csv *c = csv_parse(path, text, diag);
    free(text);
    return c;
}

void
csv_free(struct csv *c)
{
    if (!c)
        return;
    arena_free(&c->mem);
    free(c);
}

int
csv_find(const struct csv *c, const char *column)
{
    for (size_t i = 0; i < c->ncols; i++)
        if (!strcmp(c->cells[i], column))
            return (int)i;
    return -1;
}

int
csv_need(const struct csv *c, const char *path, const char *column,
         struct diag_sink *diag)
{
    int i = csv_find(c, column);
    if (i < 0)
        diag_error(diag, "%s: there is no column '%s'", path, column);
    return i;
}
