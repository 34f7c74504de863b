/* csv.h: comma-separated tables with a header line. Plain: no quoting, so no commas in
 * cells; lines that start with '#' are comments; both line ends. */
#ifndef ALLOT_REPORT_CSV_H
#define ALLOT_REPORT_CSV_H

#include "base/diag.h"

struct csv {
    size_t ncols, nrows;
    char **cells;    /* header row, then nrows rows of ncols cells */
    unsigned *line;  /* line of row r in the file, from 1 */
    char **comments; /* lines that start with '#', without it and blanks behind it */
    size_t ncomments;
    struct arena mem;
};

/* NULL and a diagnostic if the file cannot be read or a row has not as many cells as the
 * header. */
struct csv *csv_read(const char *path, struct diag_sink *diag);
struct csv *csv_parse(const char *path, const char *text, struct diag_sink *diag);
void csv_free(struct csv *c);

/* Column of that name, -1: none. */
int csv_find(const struct csv *c, const char *column);
/* The column, or -1 and a diagnostic naming the file. */
int csv_need(const struct csv *c, const char *path, const char *column,
             struct diag_sink *diag);

static inline const char *
csv_cell(const struct csv *c, size_t row, int col)
{
    return c->cells[(row + 1) * c->ncols + (size_t)col];
}

#endif
