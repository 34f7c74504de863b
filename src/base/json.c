/* json.c: texts as JSON strings. */
#include "base/json.h"

#include "base/arena.h"
#include "base/file.h"

json_t *
json_text(const char *s)
{
    json_t *j = json_string(s);
    if (j)
        return j;
    char *ascii = xstrdup(s);
    for (char *p = ascii; *p; p++)
        if (*p & 0x80)
            *p = '?';
    j = json_string(ascii);
    free(ascii);
    return j;
}

bool
json_put(const char *path, const json_t *o, size_t flags, FILE *f, struct diag_sink *diag)
{
    char *text = json_dumps(o, flags);
    struct strbuf b = {0};
    strbuf_printf(&b, "%s\n", text);
    bool ok = file_put(path, b.s, b.n, f, diag);
    strbuf_free(&b);
    free(text);
    return ok;
}
