/* str.c: open-addressing intern table (FNV-1a, doubling at 3/4), text buffer, files. */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct strtab_entry {
    uint64_t hash;
    size_t n;
    char s[];
};

static uint64_t
hash_bytes(const char *s, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return h;
}

static void
rehash(struct strtab *t)
{
    size_t n = t->nslot ? t->nslot * 2 : 64;
    struct strtab_entry **slot = xcalloc(n, sizeof *slot);
    for (size_t i = 0; i < t->nslot; i++) {
        if (!t->slot[i])
            continue;
        size_t j = t->slot[i]->hash & (n - 1);
        while (slot[j])
            j = (j + 1) & (n - 1);
        slot[j] = t->slot[i];
    }
    free(t->slot);
    t->slot = slot;
    t->nslot = n;
}

const char *
str_intern(struct strtab *t, const char *s, size_t n)
{
    if (t->n * 4 >= t->nslot * 3)
        rehash(t);
    uint64_t h = hash_bytes(s, n);
    size_t j = h & (t->nslot - 1);
    for (; t->slot[j]; j = (j + 1) & (t->nslot - 1)) {
        struct strtab_entry *e = t->slot[j];
        if (e->hash == h && e->n == n && !memcmp(e->s, s, n))
            return e->s;
    }
    struct strtab_entry *e = arena_alloc(&t->mem, sizeof *e + n + 1);
    e->hash = h;
    e->n = n;
    memcpy(e->s, s, n);
    t->slot[j] = e;
    t->n++;
    return e->s;
}

const char *
str_intern_z(struct strtab *t, const char *s)
{
    return str_intern(t, s, strlen(s));
}

void
strtab_free(struct strtab *t)
{
    free(t->slot);
    arena_free(&t->mem);
    memset(t, 0, sizeof *t);
}

static void
strbuf_room(struct strbuf *b, size_t n)
{
    if (b->n + n + 1 <= b->cap)
        return;
    b->cap = b->cap ? b->cap * 2 : 256;
    if (b->cap < b->n + n + 1)
        b->cap = b->n + n + 1;
    b->s = xrealloc(b->s, b->cap);
}

void
strbuf_add(struct strbuf *b, const char *s, size_t n)
{
    strbuf_room(b, n);
    if (n)
        memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void
strbuf_addz(struct strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void
strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    strbuf_room(b, (size_t)n);
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap2);
    va_end(ap2);
    b->n += (size_t)n;
}

/* Length of the UTF-8 character at s, its code in *code; 0: there is none. */
static unsigned
utf8_char(const char *s, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    unsigned n = *p < 0x80   ? 1
                 : *p < 0xc0 ? 0
                 : *p < 0xe0 ? 2
                 : *p < 0xf0 ? 3
                 : *p < 0xf8 ? 4
                             : 0;
    *code = n < 2 ? *p : *p & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    return n && *code >= least[n] && *code <= 0x10ffff &&
                   (*code < 0xd800 || *code > 0xdfff)
               ? n
               : 0;
}

void
strbuf_visible(struct strbuf *b, const char *s, size_t max)
{
    strbuf_add(b, "", 0);
    for (size_t i = 0; *s; i++) {
        uint32_t code;
        unsigned n = utf8_char(s, &code);
        if (i == max) {
            strbuf_addz(b, "\xe2\x80\xa6"); /* ... */
            return;
        }
        if (!n || code == 0xfffe || code == 0xffff)
            strbuf_addz(b, "\xef\xbf\xbd");
        else if (code < 32 || (code >= 127 && code < 160))
            strbuf_addz(b, " ");
        else
            strbuf_add(b, s, n);
        s += n ? n : 1;
    }
}

char *
strbuf_take(struct strbuf *b)
{
    if (!b->s)
        strbuf_addz(b, "");
    char *s = b->s;
    memset(b, 0, sizeof *b);
    return s;
}

void
strbuf_free(struct strbuf *b)
{
    free(b->s);
    memset(b, 0, sizeof *b);
}

char *
file_read(const char *path, size_t *len)
{
    bool own = strcmp(path, "-") != 0;
    FILE *f = own ? fopen(path, "rb") : stdin;
    if (!f)
        return NULL;
    struct strbuf b = {0};
    char block[65536];
    size_t n;
    struct stat st;
    bool regular = !fstat(fileno(f), &st) && S_ISREG(st.st_mode);
    size_t limit = regular ? FILE_MAX_BYTES : STREAM_MAX_BYTES;
    errno = 0;
    while (b.n <= limit && (n = fread(block, 1, sizeof block, f)) > 0)
        strbuf_add(&b, block, n);
    int bad = b.n > limit ? EFBIG : ferror(f) ? (errno ? errno : EIO) : 0;
    if (own)
        fclose(f);
    if (bad) {
        strbuf_free(&b);
        errno = bad;
        return NULL;
    }
    if (len)
        *len = b.n;
    return strbuf_take(&b);
}

bool
file_is(int fd, const char *path)
{
    struct stat a, b;
    return !fstat(fd, &a) && !stat(path, &b) && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

int
str_distance(const char *a, const char *b, int max)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > 63 || lb > 63 || (la > lb ? la - lb : lb - la) > (size_t)max)
        return max + 1;
    int rows[3][64], *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= lb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        int *oldest = before;
        before = above, above = row, row = oldest;
        row[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            int best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}
