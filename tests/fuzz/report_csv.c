/* report_csv.c: fuzz target of CSV files: any bytes give a table or messages, and every
 * cell of it can be read. Seeds: corpus-report_csv/. */
#define _GNU_SOURCE
#include "report/csv.h"

#include "kit.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    struct strbuf text = {0};
    strbuf_add(&text, (const char *)data, size);
    struct csv *c = csv_parse("fuzz.csv", text.s, &diag);
    if (!c == !diag.errors)
        abort();
    size_t n = 0;
    for (size_t i = 0; c && i < c->nrows * c->ncols; i++)
        n += strlen(c->cells[c->ncols + i]);
    for (size_t i = 0; c && i < c->ncomments; i++)
        n += strlen(c->comments[i]);
    if (n > size)
        abort();
    if (c)
        csv_need(c, "fuzz.csv", "value", &diag);
    csv_free(c);
    text.n = 0;
    diag_print(&diag, &text);
    strbuf_free(&text);
    diag_free(&diag);
    return 0;
}
