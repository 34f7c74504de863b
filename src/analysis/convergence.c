/* convergence.c: the blocks in which BSSY and BSYNC stand.
 *
 * Which values may differ between the lanes that are at an instruction is followed through the
 * code: a register may hold one that differs here and one that does not there, as after an
 * allocation. Where the ways of a branch meet on which lanes differ, what one of them has written
 * differs: of an arm, or of a loop that some lanes leave before others. In bits of 32-bit
 * registers and predicates, a set a block; before an allocation, where registers are many and
 * hold one value each, one set for all blocks. Cost: a few sweeps over the body, for each such branch a
 * walk over the code between. */
#include "analysis/convergence.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "analysis/uniform.h"
#include "base/bitset.h"

enum { NONE = -1 };

/* -- where in a block -- */

struct loaded {
    uint64_t *by; /* registers that loads of the block have written */
    bool load, reads;
};

static void
note_load(void *user, int32_t reg, bool write, bool partial)
{
    struct loaded *l = user;
    (void)partial;
    if (!write)
        l->reads |= bitset_has(l->by, (size_t)reg);
    else if (l->load)
        bitset_add(l->by, (size_t)reg);
}

/* The first instruction of the block that reads what a load of the block delivers, else its last;
 * UINT32_MAX: it has none. */
static uint32_t
first_wait(const struct cfg *g, uint32_t b)
{
    const struct ptx_func *f = g->func;
    struct arena mem = {0};
    struct loaded l = {.by = bitset_new(&mem, f->regs.n + 1)};
    uint32_t at = UINT32_MAX;
    for (uint32_t i = g->block[b].first; i < g->block[b].end && !l.reads; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        at = i;
        l.load = ptx_ops[in->op].flags & PTX_LOAD && !operands_constant(f, in);
        defuse_each(in, note_load, &l);
    }
    arena_free(&mem);
    return at;
}

static uint32_t
first_of(const struct cfg *g, uint32_t b)
{
    for (uint32_t i = g->block[b].first; i < g->block[b].end; i++)
        if (!ptx_is_pseudo(&g->func->body.v[i]))
            return i;
    return UINT32_MAX;
}

/* -- which values differ between lanes -- */

enum { PREDICATES = 1 << 12 }; /* bits of the registers of an allocation end below */

struct lanes {
    const struct cfg *g;
    bool allocated;
    size_t bits;
    uint64_t *now; /* that differ */
    uint64_t **at_begin,
        **met;   /* of each block: that differ at its begin; where ways meet there */
    bool *parts; /* lanes part at its end */
    bool differ, write; /* of the instruction: sources; what is written */
    bool grew;          /* more differ than before */
    struct arena mem;
};

/* The register's bits: *n from the one returned. */
static size_t
bits_of(const struct lanes *x, int32_t reg, unsigned *n)
{
    const struct ptx_reg *r = &x->g->func->regs.v[reg];
    *n = 1;
    if (!x->allocated || !r->place)
        return (size_t)reg + (x->allocated ? 2 * PREDICATES : 0);
    if (r->type == PTX_PRED)
        return PREDICATES + r->place;
    *n = (ptx_type_bytes(r->type) + 3) / 4;
    return r->place - 1u;
}

static void
note_source(void *user, int32_t reg, bool write, bool partial)
{
    struct lanes *x = user;
    unsigned n;
    const size_t at = bits_of(x, reg, &n);
    (void)partial;
    for (unsigned k = 0; k < n && !write; k++)
        x->differ |= bitset_has(x->now, at + k);
}

static void
note_result(void *user, int32_t reg, bool write, bool partial)
{
    struct lanes *x = user;
    unsigned n;
    const size_t at = bits_of(x, reg, &n);
    for (unsigned k = 0; k < n && write; k++)
        if (x->write) {
            x->grew |= !bitset_has(x->now, at + k);
            bitset_add(x->now, at + k);
        } else if (!partial && x->allocated)
            bitset_del(x->now, at + k);
}

/* Goes over the block; x->differ: of its last instruction. */
static void
follow(struct lanes *x, uint32_t b)
{
    const struct cfg_block *blk = &x->g->block[b];
    x->differ = false;
    for (uint32_t i = blk->first; i < blk->end; i++) {
        const struct ptx_inst *in = &x->g->func->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        const struct ptx_operand *m = uniform_members(in);
        x->differ = false;
        if (m && m->kind == PTX_OPD_REG)
            note_source(x, m->reg, false, false);
        const bool masks_differ = x->differ;
        defuse_each(in, note_source, x);
        x->write = !uniform_of_lanes(x->g->func, in, x->differ, masks_differ);
        defuse_each(in, note_result, x);
    }
}

struct meeting {
    const struct lanes *x;
    uint64_t *written;
};

static void
note_written(void *user, int32_t reg, bool write, bool partial)
{
    const struct meeting *m = user;
    unsigned n;
    const size_t at = bits_of(m->x, reg, &n);
    (void)partial;
    for (unsigned k = 0; k < n && write; k++)
        bitset_add(m->written, at + k);
}

/* Lanes part at the end of block v. */
static void
part(struct lanes *x, uint32_t v)
{
    const struct cfg *g = x->g;
    const size_t words = BITSET_WORDS(x->bits);
    const struct cfg_block *b = &g->block[v];
    struct arena mem = {0};
    uint8_t *ways = ARENA_ARRAY(&mem, uint8_t, g->n + 1);
    uint64_t *behind = bitset_new(&mem, g->n + 1);
    for (uint32_t e = 0; e < b->nsucc; e++) {
        if (b->succ[e] < 0 || b->succ[e] == b->ipdom)
            continue;
        memset(behind, 0, BITSET_WORDS(g->n + 1) * sizeof *behind);
        cfg_reach(g, (uint32_t)b->succ[e], b->ipdom, behind);
        bitset_add(behind, (size_t)b->succ[e]);
        for (uint32_t k = 0; k < g->n; k++)
            ways[k] = (uint8_t)(ways[k] + (ways[k] < 2 && bitset_has(behind, k)));
    }
    struct meeting m = {x, bitset_new(&mem, x->bits)};
    for (uint32_t k = 0; k < g->n; k++)
        for (uint32_t i = g->block[k].first; ways[k] == 1 && i < g->block[k].end; i++)
            if (!ptx_is_pseudo(&g->func->body.v[i]))
                defuse_each(&g->func->body.v[i], note_written, &m);
    /* What is dead where ways meet is written anew before it is read. */
    for (uint32_t k = 0; k < g->n; k++)
        for (size_t w = 0; (ways[k] > 1 || (int32_t)k == b->ipdom) && w < words; w++)
            x->met[k][w] |= m.written[w];
    x->parts[v] = true;
    arena_free(&mem);
}

static void
find_parting(struct lanes *x)
{
    const struct cfg *g = x->g;
    const size_t words = BITSET_WORDS(x->bits);
    bool changed = true;
    while (changed) {
        changed = x->grew = false;
        for (uint32_t k = 0; k < g->nrpo; k++) {
            const uint32_t v = g->rpo[k];
            for (size_t w = 0; x->allocated && w < words; w++)
                x->now[w] = x->at_begin[v][w] |= x->met[v][w];
            follow(x, v);
            const struct cfg_block *b = &g->block[v];
            if (b->nsucc > 1 && x->differ && !x->parts[v]) {
                part(x, v);
                changed = true;
            }
            for (uint32_t e = 0; e < b->nsucc; e++)
                for (size_t w = 0; x->allocated && b->succ[e] >= 0 && w < words; w++) {
                    const uint64_t more = x->now[w] & ~x->at_begin[b->succ[e]][w];
                    x->at_begin[b->succ[e]][w] |= more;
                    changed |= more != 0;
                }
        }
        changed |= !x->allocated && x->grew;
    }
}

static struct lanes *
lanes_new(const struct cfg *g)
{
    struct lanes *x = xcalloc(1, sizeof *x);
    x->g = g;
    for (size_t r = 0; r < g->func->regs.n; r++)
        x->allocated |= g->func->regs.v[r].place != 0;
    for (size_t r = 0; r < g->func->regs.n; r++) {
        unsigned n;
        const size_t end = bits_of(x, (int32_t)r, &n) + n;
        x->bits = end > x->bits ? end : x->bits;
    }
    x->now = bitset_new(&x->mem, x->bits);
    x->parts = ARENA_ARRAY(&x->mem, bool, g->n + 1);
    x->at_begin = ARENA_ARRAY(&x->mem, uint64_t *, g->n + 1);
    x->met = ARENA_ARRAY(&x->mem, uint64_t *, g->n + 1);
    for (uint32_t b = 0; b < g->n; b++) {
        x->at_begin[b] = x->allocated ? bitset_new(&x->mem, x->bits) : x->now;
        x->met[b] = x->allocated ? bitset_new(&x->mem, x->bits) : x->now;
    }
    find_parting(x);
    return x;
}

/* -- which block -- */

static int32_t
common_dominator(const struct cfg *g, int32_t a, int32_t b)
{
    while (a >= 0 && !cfg_dominates(g, a, b))
        a = g->block[a].idom;
    return a;
}

/* The block, or one in front of it that is in no loop which `join` is not in. */
static int32_t
out_of_loops(const struct cfg *g, int32_t b, int32_t join, uint64_t *behind)
{
    for (; b >= 0; b = g->block[b].idom) {
        memset(behind, 0, BITSET_WORDS(g->n + 1) * sizeof *behind);
        cfg_reach(g, (uint32_t)b, join, behind);
        if (!bitset_has(behind, (size_t)b))
            break;
    }
    return b;
}

void
convergence_operations(const struct cfg *g, uint8_t *in_front)
{
    struct arena mem = {0};
    struct lanes *x = lanes_new(g);
    int32_t *from =
        ARENA_ARRAY(&mem, int32_t, g->n + 1); /* of each block that is a join */
    uint64_t *behind = bitset_new(&mem, g->n + 1);
    for (uint32_t b = 0; b < g->n; b++)
        from[b] = NONE;
    for (uint32_t b = 0; b < g->n; b++) {
        const int32_t join = g->block[b].ipdom;
        if (join < 0 || !x->parts[b] || cfg_leaves(g, (uint32_t)join))
            continue;
        from[join] =
            from[join] == NONE ? (int32_t)b : common_dominator(g, from[join], (int32_t)b);
    }
    for (uint32_t join = 0; join < g->n; join++) {
        const int32_t b = from[join] == NONE
                              ? NONE
                              : out_of_loops(g, from[join], (int32_t)join, behind);
        const uint32_t begin = b < 0 ? UINT32_MAX : first_wait(g, (uint32_t)b);
        const uint32_t end = first_of(g, join);
        if (begin == UINT32_MAX || end == UINT32_MAX)
            continue;
        in_front[begin]++;
        in_front[end]++;
    }
    arena_free(&x->mem);
    free(x);
    arena_free(&mem);
}
