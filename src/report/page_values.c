/* page_values.c: see page_values.h. */
#include "report/page_values.h"

#include "base/vec.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 40 };

struct scan {
    struct page_values *p;
    struct diag_loc at;
    struct strbuf *out;
    struct diag_sink *diag;
    bool ok, fenced, in_block, table, comment;
    bool fixed[MAX_COLUMNS]; /* columns of the table that hold the papers' numbers */
};

/* -- what a number is -- */

static bool
starts(const char *at, const char *text)
{
    return !strncmp(at, text, strlen(text));
}

/* Length of the number at `at`: 3, 0.5, 12,345; 0: none. */
static size_t
number(const char *at)
{
    size_t n = strspn(at, "0123456789");
    while (n && at[n] == ',' && strspn(at + n + 1, "0123456789") == 3)
        n += 4;
    if (n && at[n] == '.' && isdigit((unsigned char)at[n + 1]))
        n += 1 + strspn(at + n + 1, "0123456789");
    return n;
}

/* A word behind which numbers are names: "Figures 2.13 and 2.14". */
static bool
names(const char *word, size_t n)
{
    static const char *const words[] = {
        "Figure",     "Figures",  "Table",    "Tables",  "section",   "Section",
        "sections",   "Sections", "chapter",  "Chapter", "Algorithm", "Algorithms",
        "Definition", "Example",  "Examples", "CUDA",    "PTX",       "GPGPU-Sim",
        "Set",        "version",  "commit",   "item"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !strncmp(words[i], word, n))
            return true;
    return false;
}

/* A word between two names: "Figures 2.13(b), 2.14 and 2.15 to 2.17". */
static bool
joins(const char *word, size_t n)
{
    return (n == 3 && !strncmp(word, "and", 3)) || (n == 2 && !strncmp(word, "to", 2)) ||
           (n == 2 && !strncmp(word, "or", 2)) ||
           (n == 1 && *word >= 'a' && *word <= 'd');
}

/* A document's name, a date, part of another word. */
static bool
is_name(const char *line, const char *at, size_t n)
{
    const char before = at > line ? at[-1] : ' ', after = at[n];
    if (isalpha((unsigned char)before) || strchr("_/#.", before) || before == '^')
        return true;
    if (before == '-' && at - 1 > line && isalnum((unsigned char)at[-2]))
        return true;
    if (isalpha((unsigned char)after) || after == '_' ||
        (after == '.' && isalpha((unsigned char)at[n + 1]))) /* 16K, 3.x */
        return true;
    if (n == 3 && starts(at, "00") && at[2] >= '0' && at[2] <= '4')
        return true;
    return n == 4 && after == '-' && isdigit((unsigned char)at[5]);
}

/* -- a reference -- */

/* The value with the digits of what stands there. */
static void
write_value(struct strbuf *out, double v, const char *was, size_t n, bool sign)
{
    const char *dot = memchr(was, '.', n);
    const int decimals = dot ? (int)(n - (size_t)(dot - was) - 1) : 0;
    char text[64];
    snprintf(text, sizeof text, sign ? "%+.*f" : "%.*f", decimals, v);
    if (strtod(text, NULL) == 0 && *text == '-') /* no -0.0 */
        snprintf(text, sizeof text, sign ? "%+.*f" : "%.*f", decimals, 0.0);
    if (!memchr(was, ',', n)) {
        strbuf_addz(out, text);
        return;
    }
    const size_t first = !isdigit((unsigned char)*text),
                 whole = strspn(text + first, "0123456789");
    for (size_t i = 0; text[i]; i++) {
        const size_t left = first + whole - i;
        if (i > first && i < first + whole && left % 3 == 0)
            strbuf_addz(out, ",");
        strbuf_add(out, text + i, 1);
    }
}

/* The number at `at` (n characters, a sign in front of it if `sign`) with the reference behind it, up
 * to its --> at `end`. */
static void
reference(struct scan *s, const char *at, size_t n, bool sign, const char *end)
{
    static const char open[] = "<!--=";
    const char *text = at + n + sizeof open - 1;
    char *what = arena_strndup(&s->p->mem, text, (size_t)(end - text));
    char *space = strchr(what, ' ');
    const char *of = "";
    double v = NAN;
    struct strbuf now = {0};
    s->p->references++;
    if (space) {
        *space = 0;
        of = space + 1;
    }
    const char *was = sign ? at - 1 : at;
    const size_t len = n + sign;
    if (s->p->value(s->p->user, what, of, &v, &s->at, s->diag) && isfinite(v)) {
        write_value(&now, v, at, n, sign);
        const bool same = now.n == len && !memcmp(now.s, was, len);
        if (!same && s->p->check)
            diag_add(s->diag, DIAG_ERROR, &s->at, "%.*s is %s by %s %s", (int)len, was,
                     now.s, what, of);
        s->p->stale += !same;
        s->out->n -= sign; /* the sign that is written already */
        strbuf_add(s->out, now.s, now.n);
    } else {
        s->ok = false;
        if (!s->diag->n || s->diag->list[s->diag->n - 1]->line != s->at.line)
            diag_add(s->diag, DIAG_ERROR, &s->at, "%s %s is not known", what, of);
        strbuf_add(s->out, at, n);
    }
    strbuf_free(&now);
}

/* -- lines -- */

static struct page_section *
section(struct scan *s)
{
    struct page_values *p = s->p;
    if (!p->sections.n)
        vec_push(&p->sections)->title = "";
    return &p->sections.v[p->sections.n - 1];
}

/* Which columns of a table, by its head, hold numbers of the papers, or names. */
static void
table_head(struct scan *s, const char *line, size_t n)
{
    static const char *const words[] = {"reference", "paper", "thesis", "claim",
                                        "document"};
    const char *end = line + n;
    memset(s->fixed, 0, sizeof s->fixed);
    for (size_t c = 0; line < end && c < MAX_COLUMNS; c++) {
        const size_t len = strcspn(line, "|\n");
        const char *cell = line, *last = line + len;
        while (last > cell && last[-1] == ' ')
            last--;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const size_t w = strlen(words[i]);
            s->fixed[c] |= (size_t)(last - cell) >= w && !strncmp(last - w, words[i], w);
        }
        line += len + 1;
    }
}

/* Copies a line of text and looks at its numbers. */
static void
text_line(struct scan *s, const char *line, size_t n)
{
    const char *end = line + n;
    bool code = false, naming = false;
    size_t column = 0;
    for (const char *at = line; at < end;) {
        size_t len = 1;
        const char *close = NULL;
        if (s->comment || starts(at, "<!--")) { /* comments may take several lines */
            close = strstr(at, "-->");
            s->comment = !close || close >= end;
            len = s->comment ? (size_t)(end - at) : (size_t)(close + 3 - at);
        } else if (*at == '`') {
            code = !code;
            naming = false;
        } else if (starts(at, "](")) {
            close = memchr(at, ')', (size_t)(end - at));
            len = close ? (size_t)(close - at) : 1;
        } else if (*at == '|') {
            column++;
            naming = false;
        } else if (!code && isalpha((unsigned char)*at)) {
            while (at + len < end &&
                   (isalnum((unsigned char)at[len]) || strchr("_-.", at[len])))
                len++;
            naming = names(at, len) || (naming && joins(at, len));
        } else if (!code && (len = number(at))) {
            static const char ref[] = "<!--=", fixed[] = "<!--fixed-->";
            const bool sign = at > line && (at[-1] == '+' || at[-1] == '-') &&
                              (at - 1 == line || strchr(" (|[", at[-2]));
            if (starts(at + len, ref) && (close = strstr(at, "-->")) && close < end) {
                reference(s, at, len, sign, close);
                at += len;
                len = (size_t)(close + 3 - at);
            } else if (!starts(at + len, fixed) && !naming && !is_name(line, at, len) &&
                       !(s->table && column < MAX_COLUMNS && s->fixed[column])) {
                section(s)->open++;
            }
        } else {
            len = 1;
        }
        strbuf_add(s->out, at, len);
        at += len;
    }
}

bool
page_values_fill(const char *path, const char *text, struct page_values *p,
                 struct strbuf *out, struct diag_sink *diag)
{
    struct scan s = {.p = p,
                     .at = {.file = path, .line = 0, .col = 1},
                     .out = out,
                     .diag = diag,
                     .ok = true};
    for (const char *line = text, *next; *line; line = next) {
        const size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        s.at.line++;
        const char *first = line + strspn(line, " ");
        const bool row = *first == '|' && !s.fenced && !s.in_block;
        s.fenced ^= starts(first, "```");
        s.in_block |= starts(line, "<!-- paper ");
        if (row && !s.table)
            table_head(&s, line, n);
        s.table = row;
        if (starts(line, "#") && !s.fenced && !s.in_block) {
            const char *title = line + strspn(line, "# ");
            vec_push(&p->sections)->title =
                arena_strndup(&p->mem, title, (size_t)(line + n - title));
        }
        if (s.fenced || s.in_block || starts(line, "#") || starts(line, "    "))
            strbuf_add(out, line, n);
        else
            text_line(&s, line, n);
        strbuf_add(out, line + n, (size_t)(next - line) - n);
        s.in_block &= !starts(line, "<!-- end -->");
    }
    return s.ok;
}

void
page_values_free(struct page_values *p)
{
    vec_free(&p->sections);
    arena_free(&p->mem);
}
