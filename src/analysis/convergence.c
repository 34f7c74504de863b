/* convergence.c: the blocks in which BSSY and BSYNC stand.
 *
 * Which values may differ between the lanes that are at an instruction is followed through the
 * code: a register may hold one that differs here and one that does not there, as after an
 * allocation. Where the ways of a branch meet on which lanes differ, what one of them has written
 * differs: of an arm, or of a loop that some lanes leave before others. In bits of 32-bit
 * registers and predicates, a set a block; before an allocation, where registers are many and
 * hold one value each, one set for all blocks.
 *
 * Cost: a few sweeps over the body, and for each such branch a walk over the code between. A loop
 * that the walk enters and that the way's end does not lie in is a single step of it: all its
 * blocks are reached, and it goes on at the loop's exits. So loops within loops cost no more
 * than loops in a row. Where control flow is irreducible a walk goes from block to block. */
#include "analysis/convergence.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "analysis/uniform.h"
#include "base/bitset.h"

enum { NONE = -1 };

/* -- where in a block -- */

struct loaded {
    uint32_t *by; /* of each register: the last block whose loads write it, + 1 */
    uint32_t block;
    bool load, reads;
};

static void
note_load(void *user, int32_t reg, bool write, bool partial)
{
    struct loaded *l = user;
    (void)partial;
    if (!write)
        l->reads |= l->by[reg] == l->block + 1;
    else if (l->load)
        l->by[reg] = l->block + 1;
}

/* The first instruction of the block that reads what a load of the block delivers, else its last;
 * UINT32_MAX: it has none. */
static uint32_t
first_wait(const struct cfg *g, uint32_t b, uint32_t *by)
{
    const struct ptx_func *f = g->func;
    struct loaded l = {.by = by, .block = b};
    uint32_t at = UINT32_MAX;
    for (uint32_t i = g->block[b].first; i < g->block[b].end && !l.reads; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        at = i;
        l.load = ptx_ops[in->op].flags & PTX_LOAD && !operands_constant(f, in);
        defuse_each(in, note_load, &l);
    }
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

/* -- loops within loops -- */

/* The natural loops of reducible code, by their headers. A loop's blocks, those of loops within it
 * included, are order[enter .. leave) of its header. */
struct forest {
    const struct cfg *g;
    bool reducible; /* else there are no loops here */
    int32_t
        *in; /* of each block: header of the innermost loop around it, its own if it is
                       * one; NONE */
    int32_t *around; /* of each header: that of the next loop around it; NONE */
    uint32_t *enter, *leave, *order;
    uint32_t *first_exit, *exit; /* of each header: where its loop is left to */
    uint32_t *seen, mark, *stack;
};

static bool
loop_has(const struct forest *t, int32_t head, int32_t b)
{
    return b >= 0 && t->enter[b] >= t->enter[head] && t->enter[b] < t->leave[head];
}

static uint32_t
found_root(uint32_t *root, uint32_t b)
{
    while (root[b] != b)
        b = root[b] = root[root[b]];
    return b;
}

/* Tarjan, "Testing flow graph reducibility", 1974: inner loops first, each then a single node. */
static void
find_loops(struct forest *t, struct arena *mem)
{
    const struct cfg *g = t->g;
    uint32_t *root = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    for (uint32_t b = 0; b < g->n; b++)
        root[b] = b;
    for (uint32_t k = g->nrpo; k-- > 0 && t->reducible;) {
        const uint32_t head = g->rpo[k];
        uint32_t sp = 0;
        for (uint32_t from = head, first = 1; first || sp; first = 0) {
            if (!first)
                from = t->stack[--sp];
            for (uint32_t i = 0; i < g->block[from].npred; i++) {
                const int32_t p = g->block[from].pred[i];
                if (g->block[p].rpo < 0 || (first && !cfg_dominates(g, (int32_t)head, p)))
                    continue;
                t->in[head] = (int32_t)head;
                const uint32_t r = found_root(root, (uint32_t)p);
                if (r == head)
                    continue;
                root[r] = head;
                if (t->in[r] == (int32_t)r)
                    t->around[r] = (int32_t)head;
                else
                    t->in[r] = (int32_t)head;
                t->stack[sp++] = r;
            }
        }
    }
}

/* A header comes before its loop, in reverse post-order; sizes and then places are sums. */
static void
order_blocks(struct forest *t, struct arena *mem)
{
    const struct cfg *g = t->g;
    uint32_t *size = ARENA_ARRAY(mem, uint32_t, g->n + 1), at = 0;
    for (uint32_t k = g->nrpo; k-- > 0;) {
        const uint32_t b = g->rpo[k];
        const int32_t up = t->in[b] == (int32_t)b ? t->around[b] : t->in[b];
        size[b]++;
        if (up >= 0)
            size[up] += size[b];
    }
    for (uint32_t k = 0; k < g->nrpo; k++) {
        const uint32_t b = g->rpo[k];
        const int32_t up = t->in[b] == (int32_t)b ? t->around[b] : t->in[b];
        uint32_t *next = up >= 0 ? &t->stack[up] : &at;
        t->enter[b] = *next;
        *next += size[b];
        t->leave[b] = *next;
        t->stack[b] = t->enter[b] + 1;
        t->order[t->enter[b]] = b;
    }
}

/* Counts (fill NULL) or notes where loops are left to. */
static void
note_exits(struct forest *t, uint32_t *fill)
{
    for (uint32_t k = 0; k < t->g->nrpo; k++) {
        const struct cfg_block *b = &t->g->block[t->g->rpo[k]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            for (int32_t l = t->in [t->g->rpo[k]];
                 l >= 0 && b->succ[e] >= 0 && !loop_has(t, l, b->succ[e]);
                 l = t->around[l])
                if (fill)
                    t->exit[fill[l]++] = (uint32_t)b->succ[e];
                else
                    t->first_exit[l + 1]++;
    }
}

static void
forest_new(struct forest *t, const struct cfg *g, struct arena *mem)
{
    *t = (struct forest){.g = g, .reducible = cfg_is_reducible(g)};
    t->in = ARENA_ARRAY(mem, int32_t, g->n + 1);
    t->around = ARENA_ARRAY(mem, int32_t, g->n + 1);
    t->enter = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    t->leave = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    t->order = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    t->seen = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    t->stack = ARENA_ARRAY(mem, uint32_t, g->n + 1);
    t->first_exit = ARENA_ARRAY(mem, uint32_t, g->n + 2);
    for (uint32_t b = 0; b < g->n; b++)
        t->in[b] = t->around[b] = NONE;
    find_loops(t, mem);
    order_blocks(t, mem);
    note_exits(t, NULL);
    for (uint32_t b = 0; b < g->n; b++)
        t->first_exit[b + 1] += t->first_exit[b];
    t->exit = ARENA_ARRAY(mem, uint32_t, t->first_exit[g->n] + 1);
    note_exits(t, arena_dup(mem, t->first_exit, sizeof *t->exit * ((size_t)g->n + 1)));
}

/* The header of the largest loop that has block b and not block `stop`; NONE: there is none. All of
 * it is reached from b without passing `stop`. */
static int32_t
loop_without(const struct forest *t, uint32_t b, int32_t stop)
{
    int32_t found = NONE;
    for (int32_t l = t->in[b]; l >= 0 && !loop_has(t, l, stop); l = t->around[l])
        found = l;
    return found;
}

/* A step of a walk: a loop, or a block. */
struct step {
    uint32_t at; /* the block, or the header */
    bool loop;
};

/* Notes the step that block b is in, unless it is the walk's end or was noted. */
static void
go_to(struct forest *t, int32_t b, int32_t stop, uint32_t *sp)
{
    if (b < 0 || b == stop)
        return;
    const int32_t l = loop_without(t, (uint32_t)b, stop);
    const uint32_t at = l >= 0 ? (uint32_t)l : (uint32_t)b;
    if (t->seen[at] == t->mark)
        return;
    t->seen[at] = t->mark;
    t->stack[(*sp)++] = at;
}

/* Takes a step off the stack and notes those after it. */
static struct step
next_step(struct forest *t, int32_t stop, uint32_t *sp)
{
    const uint32_t b = t->stack[--*sp];
    const struct step s = {b, loop_without(t, b, stop) >= 0};
    for (uint32_t e = 0; !s.loop && e < t->g->block[b].nsucc; e++)
        go_to(t, t->g->block[b].succ[e], stop, sp);
    for (uint32_t e = t->first_exit[b]; s.loop && e < t->first_exit[b + 1]; e++)
        go_to(t, (int32_t)t->exit[e], stop, sp);
    return s;
}

/* -- which values differ between lanes -- */

/* What of a block, or of the loop that it heads, has joined the one set. */
enum { NOT_YET, ALONE, WITH_LOOP };

struct lanes {
    const struct cfg *g;
    struct forest loops;
    bool allocated;
    size_t bits;
    uint32_t *first;   /* of each register that an allocation has no place for: its bit */
    size_t predicates; /* after the bits of registers of an allocation */
    uint64_t *now;     /* that differ */
    uint64_t **at_begin,
        **met;   /* of each block: that differ at its begin; where ways meet there */
    bool *parts; /* lanes part at its end */
    bool differ, write; /* of the instruction: sources; what is written */
    bool grew;          /* more differ than before */
    uint64_t *written, **loop_writes;
    uint8_t *joined;          /* of each block: whether `now` has what it writes */
    uint32_t *reached, round; /* of each step: the last branch from which it was */
    uint8_t *ways;            /* from there: 2 for more */
    struct step *step;
    struct arena mem;
};

/* The register's bits: *n from the one returned. */
static size_t
bits_of(const struct lanes *x, int32_t reg, unsigned *n)
{
    const struct ptx_reg *r = &x->g->func->regs.v[reg];
    *n = 1;
    if (!x->allocated || !r->place)
        return x->allocated ? x->first[reg] : (size_t)reg;
    if (r->type == PTX_PRED)
        return x->predicates + r->place - 1u;
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

static void
block_writes(const struct lanes *x, uint32_t b, uint64_t *to)
{
    struct meeting m = {x, to};
    for (uint32_t i = x->g->block[b].first; i < x->g->block[b].end; i++)
        if (!ptx_is_pseudo(&x->g->func->body.v[i]))
            defuse_each(&x->g->func->body.v[i], note_written, &m);
}

/* Adds what the step writes. Of an allocation each loop keeps its set; else there is one set for
 * all, which each block and each loop joins once. */
static void
step_writes(struct lanes *x, struct step s, uint64_t *to)
{
    const struct forest *t = &x->loops;
    const size_t words = BITSET_WORDS(x->bits);
    if (!x->allocated) {
        const uint32_t end = s.loop ? t->leave[s.at] : t->enter[s.at] + 1;
        for (uint32_t k = t->enter[s.at]; k < end;) {
            const uint32_t b = t->order[k];
            const bool whole = x->joined[b] == WITH_LOOP && t->leave[b] <= end;
            if (!x->joined[b])
                block_writes(x, b, to);
            x->joined[b] = x->joined[b] ? x->joined[b] : ALONE;
            k = whole ? t->leave[b] : k + 1;
        }
        if (s.loop)
            x->joined[s.at] = WITH_LOOP;
        return;
    }
    if (!s.loop) {
        block_writes(x, s.at, to);
        return;
    }
    for (size_t w = 0; w < words; w++)
        to[w] |= x->loop_writes[s.at][w];
}

/* Inner loops come later in reverse post-order than those around them. */
static void
find_loop_writes(struct lanes *x)
{
    const struct cfg *g = x->g;
    struct forest *t = &x->loops;
    x->loop_writes = ARENA_ARRAY(&x->mem, uint64_t *, g->n + 1);
    for (uint32_t k = g->nrpo; k-- > 0;) {
        const uint32_t b = g->rpo[k];
        const int32_t l = t->in[b], up = l == (int32_t)b ? t->around[b] : NONE;
        if (l < 0)
            continue;
        if (!x->loop_writes[l])
            x->loop_writes[l] = bitset_new(&x->mem, x->bits);
        if (up >= 0 && !x->loop_writes[up])
            x->loop_writes[up] = bitset_new(&x->mem, x->bits);
        block_writes(x, b, x->loop_writes[l]);
        for (size_t w = 0; up >= 0 && w < BITSET_WORDS(x->bits); w++)
            x->loop_writes[up][w] |= x->loop_writes[b][w];
    }
}

/* What a branch wrote differs where its ways meet. */
static void
add_met(struct lanes *x, uint32_t b, const uint64_t *written)
{
    for (size_t w = 0; w < BITSET_WORDS(x->bits); w++)
        x->met[b][w] |= written[w];
}

/* Lanes part at the end of block v. */
static void
part(struct lanes *x, uint32_t v)
{
    const struct cfg_block *b = &x->g->block[v];
    struct forest *t = &x->loops;
    uint32_t n = 0;
    x->round++;
    for (uint32_t e = 0; e < b->nsucc; e++) {
        uint32_t sp = 0;
        if (b->succ[e] < 0 || b->succ[e] == b->ipdom)
            continue;
        t->mark++;
        go_to(t, b->succ[e], b->ipdom, &sp);
        while (sp) {
            const struct step s = next_step(t, b->ipdom, &sp);
            if (x->reached[s.at] != x->round) {
                x->reached[s.at] = x->round;
                x->ways[s.at] = 0;
                x->step[n++] = s;
            }
            x->ways[s.at] = (uint8_t)(x->ways[s.at] + (x->ways[s.at] < 2));
        }
    }
    bool meet = b->ipdom >= 0;
    for (uint32_t k = 0; k < n; k++)
        meet |= x->ways[x->step[k].at] > 1;
    uint64_t *written = x->allocated ? x->written : x->now;
    if (x->allocated)
        memset(written, 0, BITSET_WORDS(x->bits) * sizeof *written);
    for (uint32_t k = 0; k < n && meet; k++)
        if (x->ways[x->step[k].at] == 1)
            step_writes(x, x->step[k], written);
    /* What is dead where ways meet is written again before it is read. */
    for (uint32_t k = 0; k < n && x->allocated; k++) {
        const struct step s = x->step[k];
        const uint32_t end = s.loop ? t->leave[s.at] : t->enter[s.at] + 1;
        for (uint32_t i = t->enter[s.at]; x->ways[s.at] > 1 && i < end; i++)
            add_met(x, t->order[i], written);
    }
    if (b->ipdom >= 0 && x->allocated)
        add_met(x, (uint32_t)b->ipdom, written);
    x->parts[v] = true;
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

struct occurs {
    struct lanes *x;
    uint32_t n;
};

static void
note_occurs(void *user, int32_t reg, bool write, bool partial)
{
    struct occurs *o = user;
    (void)write;
    (void)partial;
    if (!o->x->g->func->regs.v[reg].place && !o->x->first[reg])
        o->x->first[reg] = o->n++;
}

/* Of an allocation: registers, predicates, then what has no place but occurs. */
static void
number_bits(struct lanes *x)
{
    const struct ptx_func *f = x->g->func;
    size_t end[2] = {1, 0}; /* 0 of `first` is none */
    x->bits = f->regs.n;
    if (!x->allocated)
        return;
    for (size_t r = 0; r < f->regs.n; r++) {
        const struct ptx_reg *p = &f->regs.v[r];
        unsigned n;
        const size_t to =
            p->place && p->type != PTX_PRED ? bits_of(x, (int32_t)r, &n) + n : p->place;
        size_t *most = &end[p->type == PTX_PRED];
        *most = to > *most ? to : *most;
    }
    x->predicates = end[0];
    x->first = ARENA_ARRAY(&x->mem, uint32_t, f->regs.n + 1);
    struct occurs o = {x, (uint32_t)(end[0] + end[1])};
    for (size_t i = 0; i < f->body.n; i++)
        if (!ptx_is_pseudo(&f->body.v[i]))
            defuse_each(&f->body.v[i], note_occurs, &o);
    x->bits = o.n;
}

static struct lanes *
lanes_new(const struct cfg *g)
{
    struct lanes *x = xcalloc(1, sizeof *x);
    x->g = g;
    for (size_t r = 0; r < g->func->regs.n; r++)
        x->allocated |= g->func->regs.v[r].place != 0;
    number_bits(x);
    forest_new(&x->loops, g, &x->mem);
    x->now = bitset_new(&x->mem, x->bits);
    x->parts = ARENA_ARRAY(&x->mem, bool, g->n + 1);
    x->at_begin = ARENA_ARRAY(&x->mem, uint64_t *, g->n + 1);
    x->met = ARENA_ARRAY(&x->mem, uint64_t *, g->n + 1);
    for (uint32_t b = 0; b < g->n; b++) {
        x->at_begin[b] = x->allocated ? bitset_new(&x->mem, x->bits) : x->now;
        x->met[b] = x->allocated ? bitset_new(&x->mem, x->bits) : x->now;
    }
    x->written = bitset_new(&x->mem, x->bits);
    x->joined = ARENA_ARRAY(&x->mem, uint8_t, g->n + 1);
    x->reached = ARENA_ARRAY(&x->mem, uint32_t, g->n + 1);
    x->ways = ARENA_ARRAY(&x->mem, uint8_t, g->n + 1);
    x->step = ARENA_ARRAY(&x->mem, struct step, g->n + 1);
    if (x->allocated)
        find_loop_writes(x);
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

/* Does block b come again without passing `join`? */
static bool
comes_again(struct forest *t, uint32_t b, int32_t join)
{
    uint32_t sp = 0;
    if (t->reducible && t->in[b] < 0)
        return false;
    t->mark++;
    for (uint32_t e = 0; e < t->g->block[b].nsucc; e++)
        go_to(t, t->g->block[b].succ[e], join, &sp);
    while (sp && t->seen[b] != t->mark)
        next_step(t, join, &sp);
    return t->seen[b] == t->mark;
}

/* The block, or one before it that is in no loop which `join` is not in. */
static int32_t
out_of_loops(struct forest *t, int32_t b, int32_t join)
{
    while (b >= 0) {
        const int32_t l = loop_without(t, (uint32_t)b, join);
        if (l < 0 && !comes_again(t, (uint32_t)b, join))
            break;
        b = t->g->block[l >= 0 ? l : b].idom; /* all between are in that loop */
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
    uint32_t *by = ARENA_ARRAY(&mem, uint32_t, g->func->regs.n + 1);
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
                              : out_of_loops(&x->loops, from[join], (int32_t)join);
        const uint32_t begin = b < 0 ? UINT32_MAX : first_wait(g, (uint32_t)b, by);
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
