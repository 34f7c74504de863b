/* demangle.c: see demangle.h. The Itanium ABI's names are understood by __cxa_demangle of
 * libstdc++, which is opened when the first such name is met: nothing here is linked to it. */
#define _GNU_SOURCE
#include "base/demangle.h"

#include "base/arena.h"
#include "base/str.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* characters of a name */

char *
demangle(const char *name)
{
    typedef char *fn(const char *, char *, size_t *, int *);
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MOST)
        return xstrdup(name);
    void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    fn *f = NULL;
    if (lib)
        *(void **)&f = dlsym(lib, "__cxa_demangle");
    int status = -1;
    char *s = f ? f(name, NULL, NULL, &status) : NULL;
    if (!s || status) {
        free(s);
        return xstrdup(name);
    }
    if (!strncmp(s, "void ", 5))
        memmove(s, s + 5, strlen(s + 5) + 1);
    return s;
}

/* Characters of the name that begins here; 0: none does. */
static size_t
name_at(const char *text, const char *s)
{
    size_t n = 0;
    if (strncmp(s, "_Z", 2) != 0 ||
        (s > text && (isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '$')))
        return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$' || s[n] == '.')
        n++;
    return n;
}

/* With a parameter's number behind it ("_Z1kPi_param_0") it is no C++ name. */
static void
add_name(const char *s, size_t n, struct strbuf *out)
{
    char *name = strndup(s, n), *tail = name ? strstr(name, "_param_") : NULL;
    if (tail)
        *tail = 0;
    char *plain = demangle(name ? name : "");
    strbuf_addz(out, plain);
    if (tail)
        strbuf_printf(out, "%s%.*s", "_", (int)(n - (size_t)(tail + 1 - name)),
                      s + (tail + 1 - name));
    free(plain);
    free(name);
}

char *
demangle_text(const char *text)
{
    struct strbuf b = {0};
    for (const char *s = text; *s;) {
        bool quoted = isblank((unsigned char)*s) && (s == text || s[-1] == '\n');
        size_t n = quoted ? strcspn(s, "\n") : name_at(text, s);
        if (quoted || !n)
            strbuf_add(&b, s, n ? n : 1);
        else
            add_name(s, n, &b);
        s += n ? n : 1;
    }
    return b.n ? strbuf_take(&b) : xstrdup("");
}

char *
demangle_bare(const char *plain)
{
    const char *from = plain, *s = plain;
    int depth = 0;
    for (; *s; s++) {
        static const char nobody[] = "(anonymous namespace)";
        if (!strncmp(s, nobody, sizeof nobody - 1))
            s += sizeof nobody - 2;
        else if (*s == '(' && !depth)
            break;
        else if (*s == '<')
            depth++;
        else if (*s == '>' && depth)
            depth--;
        else if (!depth && s[0] == ':' && s[1] == ':')
            from = s + 2;
    }
    char *bare = xstrdup(from);
    bare[strcspn(bare, "<(")] = 0;
    return bare;
}

void
demangle_cut(char *s, size_t width)
{
    size_t n = strlen(s), head = (width - 3) * 2 / 3, tail = width - 3 - head;
    if (n <= width || width < 8)
        return;
    memcpy(s + head, "...", 3);
    memmove(s + head + 3, s + n - tail, tail + 1);
}

char *
demangle_within(const char *name, size_t width)
{
    char *s = demangle(name);
    if (width)
        demangle_cut(s, width);
    return s;
}

bool
demangle_means(const char *name, const char *word)
{
    char *plain = demangle(name), *bare = demangle_bare(plain);
    bool yes = !strcmp(name, word) || !strcmp(plain, word) || !strcmp(bare, word);
    free(bare);
    plain[strcspn(plain, "(<")] = 0;
    yes |= !strcmp(plain, word);
    free(plain);
    return yes;
}
