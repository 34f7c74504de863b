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
