/* line_diff.c: see line_diff.h.
 *
 * The shortest script by Myers' greedy search ("An O(ND) Difference Algorithm and Its Variations",
 * 1986) between the equal begin and the equal end: how far each diagonal reaches with d lines that
 * differ, for d = 0, 1, 2 ... Where more than MOST_EDITS lines differ, all lines between are replaced.
 * Cost: O((lines + d) d), memory O(d squared). */
#include "report/line_diff.h"

#include "base/arena.h"
#include "base/vec.h"

#include <string.h>

enum { MOST_EDITS = 2000 };

struct line {
    const char *s;
    size_t n;
};

struct lines {
    VEC(struct line) line;
};

static void
split(const char *text, struct lines *to)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        *vec_push(&to->line) = (struct line){text, n};
        text += n + (text[n] == '\n');
    }
}

static bool
equal(const struct line *a, const struct line *b)
{
    return a->n == b->n && !memcmp(a->s, b->s, a->n);
}

/* Signs of the lines of both texts, in the order in which they are shown. */
struct script {
    const struct line *a, *b; /* between the equal begin and end */
    size_t na, nb;
    char *sign; /* na + nb at most, written from its end */
    size_t at;
};

/* reach[d][k + d]: line of a that d edits reach on diagonal k. Goes back from the end to the begin. */
static void
trace_back(struct script *x, int **reach, int d)
{
    int i = (int)x->na, k = (int)x->na - (int)x->nb;
    for (; d > 0; d--) {
        const int *v = reach[d - 1] + d - 1;
        const bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
        const int from = down ? k + 1 : k - 1, start = v[from] + !down;
        for (; i > start; i--)
            x->sign[--x->at] = ' ';
        x->sign[--x->at] = down ? '+' : '-';
        i = v[from];
        k = from;
    }
    for (; i > 0; i--)
        x->sign[--x->at] = ' ';
}

/* False: too many lines differ. */
static bool
search(struct script *x, struct arena *mem)
{
    const int na = (int)x->na, nb = (int)x->nb;
    const int most = na + nb < MOST_EDITS ? na + nb : MOST_EDITS;
    int **reach = ARENA_ARRAY(mem, int *, most + 1);
    for (int d = 0; d <= most; d++) {
        int *now = ARENA_ARRAY(mem, int, 2 * d + 1) + d;
        const int *was = d ? reach[d - 1] + d - 1 : NULL;
        reach[d] = now - d;
        for (int k = -d; k <= d; k += 2) {
            const bool down = k == -d || (k != d && was[k - 1] < was[k + 1]);
            int i = !d ? 0 : down ? was[k + 1] : was[k - 1] + 1;
            while (i < na && i - k < nb && i - k >= 0 && equal(&x->a[i], &x->b[i - k]))
                i++;
            now[k] = i;
            if (i >= na && i - k >= nb) {
                trace_back(x, reach, d);
                return true;
            }
        }
    }
    return false;
}

/* Writes the lines with signs and those around them. */
static size_t
show(const struct lines *a, const struct lines *b, const char *sign, size_t n,
     size_t context, struct strbuf *out)
{
    size_t i = 0, j = 0, changed = 0,
           next = 0; /* next: first row at or after this with a sign */
    size_t last = n; /* the last row with a sign; n: none yet */
    bool gap = false;
    for (size_t k = 0; k < n; k++) {
        const bool is = sign[k] != ' ';
        const struct line *l = sign[k] == '+' ? &b->line.v[j] : &a->line.v[i];
        while (next < n && (next < k || sign[next] == ' '))
            next++;
        last = is ? k : last;
        if (is || (next < n && next - k <= context) ||
            (last < n && k - last <= context)) {
            if (gap)
                strbuf_addz(out, "...\n");
            gap = false;
            strbuf_printf(out, "%c%.*s\n", sign[k], (int)l->n, l->s);
        } else {
            gap = true;
        }
        changed += is;
        i += sign[k] != '+';
        j += sign[k] != '-';
    }
    return changed;
}

size_t
line_diff(const char *before, const char *after, size_t context, struct strbuf *out)
{
    struct lines a = {0}, b = {0};
    struct arena mem = {0};
    size_t first = 0, end = 0;
    split(before, &a);
    split(after, &b);
    while (first < a.line.n && first < b.line.n &&
           equal(&a.line.v[first], &b.line.v[first]))
        first++;
    while (end < a.line.n - first && end < b.line.n - first &&
           equal(&a.line.v[a.line.n - 1 - end], &b.line.v[b.line.n - 1 - end]))
        end++;
    struct script x = {.na = a.line.n - first - end, .nb = b.line.n - first - end};
    const size_t room = a.line.n + b.line.n + 1;
    x.a = a.line.v ? a.line.v + first : NULL;
    x.b = b.line.v ? b.line.v + first : NULL;
    x.sign = ARENA_ARRAY(&mem, char, room);
    x.at = room - end;
    memset(x.sign, ' ', room);
    if (!search(&x, &mem)) {
        x.at -= x.nb;
        memset(x.sign + x.at, '+', x.nb);
        x.at -= x.na;
        memset(x.sign + x.at, '-', x.na);
    }
    x.at -= first;
    const size_t n = room - x.at, changed = show(&a, &b, x.sign + x.at, n, context, out);
    arena_free(&mem);
    vec_free(&a.line);
    vec_free(&b.line);
    return changed;
}
