/* defs.c: counts definitions; dominance is the control flow graph's. O(operands). */
#include "analysis/defs.h"

#include "analysis/defuse.h"

struct scan {
    int32_t *at, now;
};

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct scan *s = user;
    if (write)
        s->at[reg] = s->at[reg] == DEFS_NONE && !partial ? s->now : DEFS_MANY;
}

/* Parameters in registers (.func of old PTX) are written by the caller. */
static void
params(struct defs *d, const struct ptx_func *f)
{
    for (uint32_t r = 0; r < d->nregs; r++) {
        for (size_t i = 0; i < f->params.n; i++)
            if (!strcmp(f->params.v[i]->name, f->regs.v[r].name))
                d->at[r] = DEFS_MANY;
        for (size_t i = 0; i < f->rets.n; i++)
            if (!strcmp(f->rets.v[i]->name, f->regs.v[r].name))
                d->at[r] = DEFS_MANY;
    }
}

struct defs *
defs_new(const struct cfg *g)
{
    struct defs *d = xcalloc(1, sizeof *d);
    d->cfg = g;
    d->nregs = (uint32_t)g->func->regs.n;
    d->at = ARENA_ARRAY(&d->mem, int32_t, d->nregs + 1);
    for (uint32_t r = 0; r < d->nregs; r++)
        d->at[r] = g->func->regs.v[r].vec ? DEFS_MANY : DEFS_NONE;
    struct scan s = {d->at, 0};
    for (size_t i = 0; i < g->func->body.n; i++) {
        s.now = (int32_t)i;
        defuse_each(&g->func->body.v[i], note, &s);
    }
    if (!g->func->is_entry)
        params(d, g->func);
    return d;
}

void
defs_free(struct defs *d)
{
    if (!d)
        return;
    arena_free(&d->mem);
    free(d);
}

bool
defs_reach(const struct defs *d, int32_t reg, uint32_t i)
{
    int32_t at = d->at[reg];
    if (at < 0)
        return false;
    const struct cfg *g = d->cfg;
    uint32_t from = g->block_of[at], to = g->block_of[i];
    return from == to ? (uint32_t)at < i : cfg_dominates(g, (int32_t)from, (int32_t)to);
}

struct single {
    const struct defs *d;
    uint32_t at;
    bool ok;
};

static void
check_single(void *user, int32_t reg, bool write, bool partial)
{
    struct single *s = user;
    (void)partial;
    if (write ? s->d->at[reg] != (int32_t)s->at : !defs_reach(s->d, reg, s->at))
        s->ok = false;
}

bool
defs_single(const struct defs *d, uint32_t i)
{
    struct single s = {d, i, true};
    defuse_each(&d->cfg->func->body.v[i], check_single, &s);
    return s.ok;
}

/* -- writes -- */

enum { MOST_BLOCKS = 64 };

struct defs_writes {
    const struct cfg *cfg;
    uint32_t *first; /* of each register: its first in at; one more for the end */
    uint32_t *at;    /* instructions, ascending for each register */
    uint32_t *seen;  /* of each block: the search that looked at it last */
    uint32_t search;
    struct arena mem;
};

struct fill {
    struct defs_writes *w;
    uint32_t *last; /* of each register: after the instruction that was its last */
    uint32_t now;
    bool place; /* first[] are places; before, they count */
};

static void
fill(void *user, int32_t reg, bool write, bool partial)
{
    struct fill *x = user;
    (void)partial;
    if (!write || x->last[reg] == x->now + 1) /* twice in one instruction */
        return;
    x->last[reg] = x->now + 1;
    if (x->place)
        x->w->at[x->w->first[reg]] = x->now;
    x->w->first[reg]++;
}

struct defs_writes *
defs_writes_new(const struct cfg *g)
{
    const struct ptx_func *f = g->func;
    struct defs_writes *w = xcalloc(1, sizeof *w);
    w->cfg = g;
    w->seen = ARENA_ARRAY(&w->mem, uint32_t, g->n + 1);
    w->first = ARENA_ARRAY(&w->mem, uint32_t, f->regs.n + 2);
    uint32_t *count = ++w->first, sum = 0; /* once placed, first[-1] is where 0 begins */
    for (int place = 0; place < 2; place++) {
        struct fill x = {.w = w, .place = place};
        x.last = xcalloc(f->regs.n + 1, sizeof *x.last);
        for (; x.now < f->body.n; x.now++)
            defuse_each(&f->body.v[x.now], fill, &x);
        free(x.last);
        for (size_t r = 0; !place && r < f->regs.n; r++) {
            uint32_t n = count[r];
            count[r] = sum;
            sum += n;
        }
        if (!place)
            w->at = ARENA_ARRAY(&w->mem, uint32_t, sum + 1);
    }
    w->first--;
    return w;
}

void
defs_writes_free(struct defs_writes *w)
{
    if (!w)
        return;
    arena_free(&w->mem);
    free(w);
}

const uint32_t *
defs_writes_of(const struct defs_writes *w, int32_t reg, uint32_t *n)
{
    *n = w->first[reg + 1] - w->first[reg];
    return w->at + w->first[reg];
}

/* Is reg written in [begin, end)? */
static bool
written(const struct defs_writes *w, int32_t reg, uint32_t begin, uint32_t end)
{
    uint32_t lo = w->first[reg], hi = w->first[reg + 1], last = hi;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (w->at[mid] < begin)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < last && w->at[lo] < end;
}

bool
defs_writes_none_between(struct defs_writes *w, int32_t reg, uint32_t from, uint32_t to)
{
    const struct cfg *g = w->cfg;
    const uint32_t home = g->block_of[from];
    const struct cfg_block *b = &g->block[g->block_of[to]];
    uint32_t stack[MOST_BLOCKS], n = 0, met = 0;
    if (g->block_of[to] == home && from < to)
        return !written(w, reg, from + 1, to);
    if (written(w, reg, b->first, to))
        return false;
    w->search++;
    for (;;) {
        for (uint32_t i = 0; i < b->npred; i++) {
            uint32_t p = (uint32_t)b->pred[i];
            const struct cfg_block *x = &g->block[p];
            if (w->seen[p] == w->search)
                continue;
            w->seen[p] = w->search;
            if (++met > MOST_BLOCKS ||
                written(w, reg, p == home ? from + 1 : x->first, x->end))
                return false;
            if (p != home)
                stack[n++] = p;
        }
        if (!n)
            return true;
        b = &g->block[stack[--n]];
    }
}
