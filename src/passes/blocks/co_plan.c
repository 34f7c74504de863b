/* co_plan.c: co-vtb's own part: how each access comes to its address, and which size is worth
 * most.
 *
 * An access that may be in either part asks when it runs: for four instructions, or three
 * without an offset. It does as an earlier access of the same block of the flow graph does,
 * by the register that that one has, where both have one register as their base, and
 *
 *     the same offset, or
 *     in each thread the two are on the same side of the border,
 *
 * as where a row of the array belongs to a thread: the border then stands between rows.
 * The latter is proved by the places of all threads (passes/thread_bytes.h), so whatever
 * the index pattern. An access of the own part shares the register of any other one so.
 *
 *     st.shared [%r], ...          ask; %m = %r + v own, or %r + (K - 1) own
 *     ld.shared ..., [%r+4]        [%m+4]: the same row
 *
 * private=auto takes the size, or none, from which most is expected (vtb_gain.c), with the
 * instructions that the accesses cost; of equals the largest.
 * Sizes that are tried: none, the largest that costs no block of an SM, and where an access
 * begins, in all threads together or in one, of the lowest offset of a register. All
 * are whole rows of banks: else a thread of the own part and one of the rest, on different
 * banks before, could meet on one. Those that a larger one matches in cost are left out; the
 * regions of the others are found. Cost: pairs of accesses of a block of the flow graph, times threads, for each size. */
#include "passes/blocks/vtb_int.h"

#include "analysis/defuse.h"
#include "base/bitset.h"
#include "machine/machine.h"

#include <string.h>

enum { CANDIDATES = 24, MOST_SIZES = 512 };

struct co_places {
    uint32_t threads;
    uint32_t *
        *at; /* of each instruction: where it begins in each thread; NULL: not known */
};

bool
co_touches(const struct region_facts *x, const struct ptx_func *f, uint32_t i)
{
    const struct ptx_inst *in = &f->body.v[i];
    return x->use->funcs.v[0].touch[i] ||
           (ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC) &&
            ptx_inst_space(in) == PTX_SPACE_SHARED);
}

int
co_address(const struct ptx_inst *in)
{
    for (unsigned k = 0; k < in->nops; k++)
        if (in->ops[k].kind == PTX_OPD_ADDR)
            return (int)k;
    return -1;
}

static const struct ptx_operand *
address_of(const struct merge *m, uint32_t i)
{
    const struct ptx_inst *in = &m->f->body.v[i];
    return &in->ops[co_address(in)];
}

/* -- where threads access -- */

static void
find_places(const struct merge *m, const struct region_facts *x, struct arena *mem,
            struct co_places *p)
{
    struct thread_walk *w = thread_walk_new(x->cfg, x->use, m->a->launch);
    p->at = ARENA_ARRAY(mem, uint32_t *, m->f->body.n + 1);
    p->threads = w ? thread_walk_threads(w) : 0;
    for (uint32_t i = 0; w && i < m->f->body.n; i++) {
        if (ptx_is_pseudo(&m->f->body.v[i]) || !co_touches(x, m->f, i))
            continue;
        p->at[i] = ARENA_ARRAY(mem, uint32_t, p->threads);
        if (!thread_walk_places(w, i, p->at[i]))
            p->at[i] = NULL;
    }
    thread_walk_free(w);
}

static bool
same_side(const struct co_places *p, uint32_t i, uint32_t j, uint64_t own)
{
    if (!p->at[i] || !p->at[j])
        return false;
    for (uint32_t t = 0; t < p->threads; t++)
        if ((p->at[i][t] < own) != (p->at[j][t] < own))
            return false;
    return true;
}

/* -- the plan -- */

struct plan {
    const struct merge *m;
    const struct co_places *places;
    uint32_t *defined; /* of each register: after its last definition in this block */
    uint32_t at;
    uint64_t own;
};

static void
note_definition(void *user, int32_t reg, bool write, bool partial)
{
    struct plan *p = user;
    (void)partial;
    if (write)
        p->defined[reg] = p->at + 1;
}

static bool
alike(const struct plan *p, const struct co_access *to, uint32_t i, uint32_t j)
{
    const struct ptx_operand *a = address_of(p->m, i), *b = address_of(p->m, j);
    if (to[j].part != to[i].part || to[j].like >= 0 || a->reg != b->reg ||
        (a->reg >= 0 && j < p->defined[a->reg]))
        return false;
    if (to[i].part == PART_OWN)
        return true;
    /* without a register, offsets are from the start of the array */
    return (a->reg >= 0 && a->off == b->off) || same_side(p->places, i, j, p->own);
}

static void
plan_access(const struct plan *p, struct co_access *to, uint32_t first, uint32_t i)
{
    const struct ptx_operand *o = address_of(p->m, i);
    if (to[i].part == PART_REST)
        return;
    for (uint32_t j = i; j-- > first && to[i].like < 0;)
        if (to[j].part != PART_NONE && alike(p, to, i, j))
            to[i].like = (int32_t)j;
    if (to[i].like < 0)
        to[i].adds = to[i].part == PART_OWN ? 1 : o->off || o->reg < 0 ? 4 : 3;
}

/* to[]: of each instruction. x: facts with or without parts. */
static void
make_plan(const struct merge *m, const struct region_facts *x,
          const struct co_places *places, uint64_t own, struct co_access *to)
{
    struct plan p = {.m = m, .places = places, .own = own};
    p.defined = xcalloc(m->f->regs.n + 1, sizeof *p.defined);
    for (uint32_t v = 0; v < x->cfg->n; v++) {
        const struct cfg_block *b = &x->cfg->block[v];
        for (p.at = b->first; p.at < b->end; p.at++) {
            const uint32_t i = p.at;
            const struct ptx_inst *in = &m->f->body.v[i];
            to[i] = (struct co_access){.like = -1, .part = PART_NONE};
            if (ptx_is_pseudo(in))
                continue;
            if (co_touches(x, m->f, i)) {
                to[i].part = (uint8_t)(x->own ? x->part[i] : region_part(x, i, own));
                plan_access(&p, to, b->first, i);
            }
            defuse_each(in, note_definition, &p);
        }
        /* what other blocks define stands before any access of the next one */
        memset(p.defined, 0, (m->f->regs.n + 1) * sizeof *p.defined);
    }
    free(p.defined);
}

/* Instructions that accesses add: those that ask are in regions. */
static void
added(const struct merge *m, const struct region_facts *x, const struct co_access *plan,
      const uint64_t *weight, double *inside, double *outside)
{
    *inside = *outside = 0;
    for (uint32_t i = 0; i < m->f->body.n; i++) {
        const double n = (double)plan[i].adds * (double)weight[x->cfg->block_of[i]];
        *(plan[i].part == PART_BOTH ? inside : outside) += n;
    }
}

void
co_plan(struct merge *m, const struct region_facts *x, double *inside, double *outside)
{
    struct co_places places;
    uint64_t *weight = vtb_weights(x);
    find_places(m, x, &x->use->mem, &places);
    m->plan = ARENA_ARRAY(&x->use->mem, struct co_access, m->f->body.n + 1);
    make_plan(m, x, &places, m->own, m->plan);
    added(m, x, m->plan, weight, inside, outside);
    free(weight);
}

/* -- the size -- */

struct size {
    uint64_t own;
    double outside, inside; /* instructions that accesses add */
};

struct search {
    const struct merge *m;
    struct region_facts *x;
    struct co_places places;
    struct co_access *plan;
    uint64_t *weight;
    struct size size[MOST_SIZES];
    size_t n;
    uint64_t most;
    struct arena mem;
};

/* The largest that leaves an SM as many merged blocks as without own parts. */
static uint64_t
largest(const struct merge *m, const struct region_facts *x)
{
    const uint64_t bytes = region_block_bytes(x, m->a->launch);
    const uint32_t blocks = vtb_blocks_held(m, m->k, bytes);
    uint64_t own = (regions_cells(x->use, 0) - 1) / CO_UNIT * CO_UNIT;
    while (blocks && own && vtb_blocks_held(m, m->k, bytes + (m->k - 1) * own) < blocks)
        own -= CO_UNIT;
    return blocks ? own : 0;
}

static void
cost(struct search *s, struct size *z)
{
    make_plan(s->m, s->x, &s->places, z->own, s->plan);
    added(s->m, s->x, s->plan, s->weight, &z->inside, &z->outside);
}

/* Rounded down to whole rows of banks, so that all threads' banks shift by none. */
static void
add_size(struct search *s, uint64_t own)
{
    const uint64_t row = 4 * (uint64_t)s->m->a->launch->machine->scratchpad.banks;
    own -= own % (row % CO_UNIT ? CO_UNIT * row : row);
    if (!own || own > s->most || s->n == MOST_SIZES)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->size[i].own == own)
            return;
    s->size[s->n++] = (struct size){.own = own};
}

/* Whether no other access by the register of access i has a lower offset. */
static bool
lowest(const struct search *s, uint32_t i)
{
    const struct ptx_operand *o = address_of(s->m, i);
    for (uint32_t j = 0; j < s->m->f->body.n && o->reg >= 0; j++)
        if (j != i && s->places.at[j] && address_of(s->m, j)->reg == o->reg &&
            (address_of(s->m, j)->off < o->off ||
             (address_of(s->m, j)->off == o->off && j < i)))
            return false;
    return true;
}

static void
find_sizes(struct search *s)
{
    add_size(s, s->most);
    for (uint32_t i = 0; i < s->m->f->body.n; i++) {
        const uint64_t *may =
            s->x->bytes && co_touches(s->x, s->m->f, i) ? s->x->bytes->inst[i].may : NULL;
        uint64_t at = 0;
        while (may && at < s->x->cells && !bitset_has(may, at))
            at++;
        if (may)
            add_size(s, at);
    }
    for (uint32_t i = 0; i < s->m->f->body.n; i++)
        for (uint32_t t = 0; s->places.at[i] && lowest(s, i) && t < s->places.threads;
             t++)
            add_size(s, s->places.at[i][t]);
}

static int
by_size(const void *a, const void *b)
{
    const struct size *x = a, *y = b;
    return x->own > y->own ? -1 : x->own < y->own;
}

/* Keeps sizes that no larger one matches in cost, at most CANDIDATES of them, evenly. */
static void
keep_best(struct search *s)
{
    size_t n = 0;
    double least = 0;
    qsort(s->size, s->n, sizeof *s->size, by_size);
    for (size_t i = 0; i < s->n; i++) {
        const double c = s->size[i].inside + s->size[i].outside;
        if (n && c >= least)
            continue;
        least = c;
        s->size[n++] = s->size[i];
    }
    const size_t kept = n < CANDIDATES ? n : CANDIDATES;
    for (size_t i = 0; i < kept; i++)
        s->size[i] = s->size[i * n / kept];
    s->n = kept;
}

static double
worth(const struct search *s, const struct size *z)
{
    struct vtb_gain g = {0};
    struct regions *r = region_facts_divided(s->x, s->m->f, s->m->a->launch, z->own);
    if (!r->why)
        vtb_gain(s->m, s->x, r, z->own, z->inside, z->outside, &g);
    regions_free(r);
    return g.faster;
}

uint64_t
co_choose(struct merge *m, struct region_facts *x)
{
    const uint64_t size = regions_cells(x->use, 0);
    struct vtb_gain none;
    if (m->own_given >= 0)
        return (uint64_t)m->own_given < size ? (uint64_t)m->own_given / CO_UNIT * CO_UNIT
                                             : 0;
    if (size <= CO_UNIT || !vtb_gain(m, x, x->regions, 0, 0, 0, &none))
        return 0;
    struct search s = {.m = m, .x = x, .weight = vtb_weights(x), .most = largest(m, x)};
    find_places(m, x, &s.mem, &s.places);
    s.plan = ARENA_ARRAY(&s.mem, struct co_access, m->f->body.n + 1);
    find_sizes(&s);
    for (size_t i = 0; i < s.n; i++)
        cost(&s, &s.size[i]);
    keep_best(&s);
    uint64_t best = 0;
    m->divided[0] = none.faster;
    m->divided[1] = 0;
    for (size_t i = 0; i < s.n; i++) {
        const double g = worth(&s, &s.size[i]);
        if (g > m->divided[1]) {
            m->divided[1] = g;
            best = g > none.faster ? s.size[i].own : 0;
        }
    }
    free(s.weight);
    arena_free(&s.mem);
    return best;
}
