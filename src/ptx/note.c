/* note.c: notes on functions, kept among their pragmas. */
#include "ptx/note.h"

#include <assert.h>
#include <string.h>

static const char head[] = "\"allot ";

/* The pragma that is the note of that key: its index, or the number of pragmas. */
static size_t
find(const struct ptx_func *f, const char *key)
{
    size_t n = strlen(key), h = sizeof head - 1, i = 0;
    for (; i < f->pragmas.n; i++) {
        const char *p = f->pragmas.v[i];
        if (!strncmp(p, head, h) && !strncmp(p + h, key, n) &&
            (p[h + n] == ' ' || p[h + n] == '"'))
            break;
    }
    return i;
}

char *
ptx_note(const struct ptx_func *f, const char *key)
{
    size_t i = find(f, key);
    if (i == f->pragmas.n)
        return NULL;
    const char *v = f->pragmas.v[i] + sizeof head - 1 + strlen(key);
    v += strspn(v, " ");
    size_t n = strlen(v);
    struct strbuf b = {0};
    strbuf_add(&b, v, n && v[n - 1] == '"' ? n - 1 : n);
    return strbuf_take(&b);
}

void
ptx_set_note(struct ptx_func *f, const char *key, const char *value)
{
    assert(!strpbrk(value, "\"\\\n") && !strpbrk(key, " \"\\\n"));
    size_t i = find(f, key);
    if (i == f->pragmas.n)
        *vec_push(&f->pragmas) = NULL;
    f->pragmas.v[i] = arena_printf(&f->module->mem, "%s%s %s\"", head, key, value);
}
