/* live.c: the textbook backward data-flow problem, iterated in post-order to its end.
 *
 *   in(b) = use(b) | (out(b) & ~def(b)),  out(b) = union of in(s) over successors s.
 *
 * Cost: O(blocks x registers / 64) a round, rounds bounded by loop nesting + 2. */
#include "analysis/live.h"

#include "analysis/defuse.h"

void
live_free(struct live *l)
{
    if (!l)
        return;
    arena_free(&l->mem);
    free(l);
}

/* One step backward over an instruction: full writes kill, then reads make live. */
static void
kill_reg(void *live, int32_t r, bool write, bool partial)
{
    if (write && !partial)
        bitset_del(live, (size_t)r);
}

static void
gen_reg(void *live, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (!write)
        bitset_add(live, (size_t)r);
}

void
live_step_back(const struct ptx_inst *in, uint64_t *live)
{
    defuse_each(in, kill_reg, live);
    defuse_each(in, gen_reg, live);
}

static void
solve(struct live *l)
{
    const struct cfg *g = l->cfg;
    uint64_t *now = bitset_new(&l->mem, l->nregs);
    size_t words = BITSET_WORDS(l->nregs);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = g->n; i-- > 0;) { /* reverse of the text: nearly post-order */
            const struct cfg_block *b = &g->block[i];
            for (uint32_t s = 0; s < b->nsucc; s++)
                if (b->succ[s] >= 0)
                    bitset_or(l->out[i], l->in[b->succ[s]], l->nregs);
            memcpy(now, l->out[i], words * 8);
            for (uint32_t k = b->end; k-- > b->first;)
                live_step_back(&g->func->body.v[k], now);
            changed |= bitset_or(l->in[i], now, l->nregs);
        }
    }
}

struct live *
live_new(const struct cfg *g)
{
    struct live *l = xcalloc(1, sizeof *l);
    l->cfg = g;
    l->nregs = (uint32_t)g->func->regs.n;
    l->in = ARENA_ARRAY(&l->mem, uint64_t *, g->n);
    l->out = ARENA_ARRAY(&l->mem, uint64_t *, g->n);
    for (uint32_t b = 0; b < g->n; b++) {
        l->in[b] = bitset_new(&l->mem, l->nregs);
        l->out[b] = bitset_new(&l->mem, l->nregs);
    }
    solve(l);
    return l;
}

/* 32-bit registers of the set, and its predicates. */
static void
weigh(const struct ptx_func *f, const uint64_t *set, uint32_t *regs, uint32_t *preds)
{
    *regs = *preds = 0;
    for (size_t w = 0; w < BITSET_WORDS(f->regs.n); w++)
        FOR_BITS(b, set[w])
        {
            const struct ptx_reg *r = &f->regs.v[w * 64 + b];
            unsigned bytes = ptx_type_bytes(r->type);
            if (r->type == PTX_PRED)
                ++*preds;
            else
                *regs += (bytes + 3) / 4 * (r->vec ? r->vec : 1);
        }
}

static void
add_dest(void *set, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (write)
        bitset_add(set, (size_t)r);
}

void
live_add_written(const struct ptx_inst *in, uint64_t *set)
{
    defuse_each(in, add_dest, set);
}

void
live_max(const struct live *l, uint32_t *registers, uint32_t *predicates)
{
    const struct cfg *g = l->cfg;
    struct arena mem = {0};
    uint64_t *now = bitset_new(&mem, l->nregs), *at = bitset_new(&mem, l->nregs);
    size_t words = BITSET_WORDS(l->nregs);
    *registers = *predicates = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->block[i].rpo < 0)
            continue; /* unreachable */
        memcpy(now, l->out[i], words * 8);
        for (uint32_t k = g->block[i].end; k-- > g->block[i].first;) {
            const struct ptx_inst *in = &g->func->body.v[k];
            uint32_t r, p;
            /* Behind the instruction its destinations exist even if nothing reads them.
             */
            memcpy(at, now, words * 8);
            live_add_written(in, at);
            weigh(g->func, at, &r, &p);
            *registers = r > *registers ? r : *registers;
            *predicates = p > *predicates ? p : *predicates;
            live_step_back(in, now);
            weigh(g->func, now, &r, &p);
            *registers = r > *registers ? r : *registers;
            *predicates = p > *predicates ? p : *predicates;
        }
    }
    arena_free(&mem);
}
