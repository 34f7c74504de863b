/* page.c: see page.h. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

/* "<!-- paper NAME -->": the name, NULL: another line. */
static char *
begins(const char *line, size_t n)
{
    static const char before[] = "<!-- paper ", after[] = " -->";
    size_t b = sizeof before - 1, a = sizeof after - 1;
    if (n <= a + b || strncmp(line, before, b) || strncmp(line + n - a, after, a))
        return NULL;
    char *name = xmalloc(n - a - b + 1);
    memcpy(name, line + b, n - a - b);
    name[n - a - b] = 0;
    return name;
}

static bool
ends(const char *line, size_t n)
{
    static const char end[] = "<!-- end -->";
    return n == sizeof end - 1 && !strncmp(line, end, n);
}

bool
page_fill(const char *path, const char *text, page_block *block, void *user,
          struct strbuf *out, struct diag_sink *diag)
{
    struct diag_loc at = {.file = path, .line = 0, .col = 1}, start = at;
    char *open = NULL; /* name of the block that the line stands in */
    const char *first = NULL;
    bool ok = true;
    for (const char *p = text, *next; ok && *p; p = next) {
        size_t n = strcspn(p, "\n");
        next = p + n + (p[n] == '\n');
        at.line++;
        char *name = begins(p, n);
        if (name && open) {
            diag_add(diag, DIAG_ERROR, &at,
                     "the block of %s begins before that of %s ends", name, open);
            free(name);
            ok = false;
            break;
        }
        if (open && ends(p, n)) {
            ok = block(user, open, first, (size_t)(p - first), &start, out, diag);
            free(open);
            open = NULL;
        }
        if (!open)
            strbuf_add(out, p, (size_t)(next - p));
        if (name) {
            open = name;
            first = next;
            start = at;
        }
    }
    if (ok && open) {
        diag_add(diag, DIAG_ERROR, &start, "the block of %s has no '<!-- end -->'", open);
        ok = false;
    }
    free(open);
    return ok;
}
