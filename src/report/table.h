/* table.h: aligned text tables. Cells are added row by row; columns whose cells all are
 * numbers are aligned right. */
#ifndef ALLOT_REPORT_TABLE_H
#define ALLOT_REPORT_TABLE_H

#include "base/str.h"
#include <stdio.h>

struct table; /* opaque */

/* Headers: ncols column titles, copied. */
struct table *table_new(size_t ncols, const char *const *headers);
/* Adds a cell; the row is complete after ncols cells. */
void table_cell(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A thin rule before the next row. */
void table_rule(struct table *t);
/* The table is to be at most `width` characters wide: the cells of `column` continue on lines of
 * their own, of at least 20 characters, broken at blanks, else behind
 * punctuation. */
void table_wrap(struct table *t, size_t column, size_t width);
void table_print(const struct table *t, struct strbuf *out);
void table_show(const struct table *t, FILE *f);
void table_free(struct table *t);

/* 1234567 -> "1,234,567" into buf (at least 28 bytes); returns buf. */
char *table_thousands(char *buf, uint64_t v);

#endif
