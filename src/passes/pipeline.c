/* pipeline.c: see pipeline.h. A pipeline names earlier ones only, so writing it out ends. */
#include "passes/pipeline.h"

#include "base/str.h"

#include <string.h>

static const struct pipeline_row rows[] = {
#define PIPELINE(name, meaning) {true, name, meaning},
#define STEP(text, reason) {false, text, reason},
#include "passes/pipelines.def"
#undef PIPELINE
#undef STEP
};

enum { ROWS = sizeof rows / sizeof *rows };

const struct pipeline_row *
pipeline_row(size_t i)
{
    return i < ROWS ? &rows[i] : NULL;
}

/* Row at which a pipeline begins, of those before `end`; `end`: none is called so. */
static size_t
find(const char *name, size_t n, size_t end)
{
    for (size_t i = 0; i < end; i++)
        if (rows[i].begins && strlen(rows[i].text) == n &&
            !strncmp(rows[i].text, name, n))
            return i;
    return end;
}

bool
pipeline_is(const char *name, size_t n)
{
    return find(name, n, ROWS) < ROWS;
}

/* Appends a step: itself, or the steps of a pipeline that begins before row `end`. */
static void
add(struct strbuf *b, const char *step, size_t n, size_t end)
{
    const size_t at = find(step, n, end);
    if (at == end) {
        strbuf_add(b, step, n);
        return;
    }
    for (size_t i = at + 1; i < ROWS && !rows[i].begins; i++) {
        if (i > at + 1)
            strbuf_addz(b, ",");
        add(b, rows[i].text, strlen(rows[i].text), at);
    }
}

char *
pipeline_expand(const char *list)
{
    struct strbuf b = {0};
    strbuf_addz(&b, "");
    for (const char *p = list; *p;) {
        const size_t n = strcspn(p, ",");
        add(&b, p, n, ROWS);
        p += n;
        if (*p)
            strbuf_add(&b, p++, 1);
    }
    return strbuf_take(&b);
}
