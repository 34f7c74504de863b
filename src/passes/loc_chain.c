/* loc_chain.c: see loc_chain.h.
 *
 * A position is file, line, column. The chain remembers of each text of an inlined .loc the
 * text of the last directive before it that has the position it refers to, as the function
 * came. After a pass the body is walked once: where the last directive of that position is
 * another one, or there is none, the remembered one is written first, with what it refers
 * to in turn. O(body), and the number of different texts squared at worst by hash clashes. */
#include "passes/loc_chain.h"
#include "ptx/loc.h"

#include <stdlib.h>
#include <string.h>

struct position {
    unsigned long file, line, column;
};

enum { DEEPEST = 64 /* levels of inlining that are followed */ };

struct link {
    const char *text, *parent; /* parent NULL: there was none */
    struct position is, at;    /* at: that of the parent */
};

struct loc_chain {
    VEC(struct link) link;
    int32_t *slot;
    size_t nslots;
};

/* Reads three numbers. */
static const char *
read_position(const char *s, struct position *p)
{
    char *end;
    p->file = strtoul(s, &end, 10);
    p->line = strtoul(end, &end, 10);
    p->column = strtoul(end, &end, 10);
    return end;
}

/* Whether the .loc is of inlined code: then *at is where that stands. */
static bool
read_loc(const char *text, struct position *is, struct position *at)
{
    const char *s = strstr(read_position(text + strlen(".loc"), is), "inlined_at");
    if (s)
        read_position(s + strlen("inlined_at"), at);
    return s;
}

static bool
same(const struct position *a, const struct position *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static size_t
mix(size_t h, unsigned long x)
{
    return (h ^ x) * 0x9e3779b97f4a7c15ull;
}

static size_t
hash_text_of(const char *s)
{
    size_t h = 1;
    for (; *s; s++)
        h = mix(h, (unsigned char)*s);
    return h ^ h >> 29;
}

/* The last .loc of each position, while a body is walked. */
struct last {
    struct position at;
    const char *text;
};
struct lasts {
    struct last *v;
    size_t n; /* a power of two, more than there are directives */
};

static struct last *
last_of(const struct lasts *l, const struct position *p)
{
    size_t h = mix(mix(mix(1, p->file), p->line), p->column);
    for (h ^= h >> 29;; h++) {
        struct last *x = &l->v[h & (l->n - 1)];
        if (!x->text || same(&x->at, p))
            return x;
    }
}

static void
set_last(const struct lasts *l, const struct position *p, const char *text)
{
    *last_of(l, p) = (struct last){*p, text};
}

static size_t
count_locs(const struct ptx_func *f, bool *inlined)
{
    size_t n = 0;
    for (size_t i = 0; i < f->body.n; i++)
        if (ptx_is_loc(&f->body.v[i])) {
            n++;
            *inlined |= strstr(f->body.v[i].text, "inlined_at") != NULL;
        }
    return n;
}

static size_t
slots_for(size_t n)
{
    size_t slots = 16;
    while (slots < 2 * n + 2)
        slots *= 2;
    return slots;
}

/* The link of a text; NULL: none. */
static const struct link *
find(const struct loc_chain *c, const char *text, size_t *at)
{
    size_t h = hash_text_of(text);
    for (;; h++) {
        int32_t i = c->slot[h & (c->nslots - 1)];
        *at = h & (c->nslots - 1);
        if (i < 0 || !strcmp(c->link.v[i].text, text))
            return i < 0 ? NULL : &c->link.v[i];
    }
}

struct loc_chain *
loc_chain_new(const struct ptx_func *f)
{
    bool inlined = false;
    const size_t n = count_locs(f, &inlined);
    if (!inlined)
        return NULL;
    struct loc_chain *c = xcalloc(1, sizeof *c);
    struct lasts last = {.n = slots_for(n)};
    c->nslots = slots_for(n);
    c->slot = xmalloc(c->nslots * sizeof *c->slot);
    memset(c->slot, 0xff, c->nslots * sizeof *c->slot);
    last.v = xcalloc(last.n, sizeof *last.v);
    for (size_t i = 0; i < f->body.n; i++) {
        const char *text = f->body.v[i].text;
        struct link x = {.text = text};
        size_t at;
        if (!ptx_is_loc(&f->body.v[i]))
            continue;
        if (read_loc(text, &x.is, &x.at))
            x.parent = last_of(&last, &x.at)->text;
        if (!find(c, text, &at)) {
            c->slot[at] = (int32_t)c->link.n;
            *vec_push(&c->link) = x;
        }
        set_last(&last, &x.is, text);
    }
    free(last.v);
    return c;
}

void
loc_chain_free(struct loc_chain *c)
{
    if (!c)
        return;
    vec_free(&c->link);
    free(c->slot);
    free(c);
}

struct mending {
    const struct loc_chain *c;
    struct lasts last;
    VEC(struct ptx_inst) body;
    bool added;
};

/* Writes before a .loc what it refers to, unless that is the last of its position. */
static void
add_parents(struct mending *m, const struct ptx_inst *loc, int depth)
{
    size_t at;
    const struct link *x = find(m->c, loc->text, &at);
    if (!x || !x->parent || depth == DEEPEST)
        return;
    const char *last = last_of(&m->last, &x->at)->text;
    if (last && !strcmp(last, x->parent))
        return;
    struct ptx_inst parent = *loc;
    parent.text = x->parent;
    add_parents(m, &parent, depth + 1);
    *vec_push(&m->body) = parent;
    set_last(&m->last, &x->at, x->parent);
    m->added = true;
}

bool
loc_chain_mend(const struct loc_chain *c, struct ptx_func *f)
{
    bool inlined = false;
    if (!c)
        return false;
    struct mending m = {.c = c};
    m.last.n = slots_for(count_locs(f, &inlined) + c->link.n);
    m.last.v = xcalloc(m.last.n, sizeof *m.last.v);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        struct position is, at;
        if (ptx_is_loc(in)) {
            add_parents(&m, in, 0);
            read_loc(in->text, &is, &at);
            set_last(&m.last, &is, in->text);
        }
        *vec_push(&m.body) = *in;
    }
    if (m.added)
        vec_take(&f->body, &m.body);
    vec_free(&m.body);
    free(m.last.v);
    return m.added;
}

const struct ptx_inst *
loc_chain_broken(const struct ptx_func *f)
{
    bool inlined = false;
    struct lasts last = {.n = slots_for(count_locs(f, &inlined))};
    const struct ptx_inst *broken = NULL;
    if (!inlined)
        return NULL;
    last.v = xcalloc(last.n, sizeof *last.v);
    for (size_t i = 0; i < f->body.n && !broken; i++) {
        struct position is, at;
        if (!ptx_is_loc(&f->body.v[i]))
            continue;
        if (read_loc(f->body.v[i].text, &is, &at) && !last_of(&last, &at)->text)
            broken = &f->body.v[i];
        set_last(&last, &is, f->body.v[i].text);
    }
    free(last.v);
    return broken;
}
