/* exec_members.c: member masks of .sync instructions (PTX ISA 9.7.9.6, 9.7.13): the groups
 * that they divide the executing lanes into, and lanes that their own mask does not name.
 *
 * Each lane gives a mask of its own. Lanes that give the same one are a group, whose answer
 * comes from the executing lanes that the mask names. Four tiles of eight lanes are four
 * groups in one instruction:
 *
 *     lanes   0..7        8..15       16..23      24..31
 *     mask    0x000000ff  0x0000ff00  0x00ff0000  0xff000000
 *
 * A lane outside its own mask is undefined behaviour (ISA). It gets the answer of the lanes
 * that it names, and a warning, once an instruction, of the lowest block and thread. */
#include "exec/exec_int.h"

#include <stdlib.h>

/* Lanes of `among` that give the mask v. */
static uint32_t
members_equal(const uint32_t *m, uint32_t v, uint32_t among)
{
    uint32_t eq = 0;
    for (int i = 0; i < LANES; i++)
        eq |= (uint32_t)(m[i] == v) << i;
    return eq & among;
}

bool
members_next(struct members *g)
{
    if (!g->rest)
        return false;
    uint32_t named = FULL_MASK;
    g->lanes = g->rest;
    if (g->mask_row) {
        named = g->mask_row[bit_lowest(g->rest)];
        g->lanes = members_equal(g->mask_row, named, g->rest);
    }
    g->who = g->executing & named;
    g->rest &= ~g->lanes;
    return true;
}

static bool
earlier(const struct exec_stranger *a, const struct exec_stranger *b)
{
    return a->block != b->block ? a->block < b->block : a->thread < b->thread;
}

static void
add(struct exec_strangers *all, const struct exec_stranger *x)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->v[i].pc != x->pc)
            continue;
        if (earlier(x, &all->v[i]))
            all->v[i] = *x;
        return;
    }
    *vec_push(all) = *x;
}

void
members_check(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
              const uint32_t *m)
{
    uint32_t self = 0;
    for (uint32_t i = 0; i < LANES; i++)
        self |= m[i] & 1u << i;
    uint32_t strange = mask & ~self;
    if (__builtin_expect(!strange, 1))
        return;
    uint32_t lane = (uint32_t)bit_lowest(strange);
    struct exec_stranger x = {.pc = (uint32_t)(in - w->cta->grid->prog->inst),
                              .block = w->cta->id,
                              .thread = w->index * LANES + lane,
                              .mask = m[lane]};
    add(&w->cta->ex->strangers, &x);
}

void
members_hand_over(struct exec_cta *c, struct exec_grid *g)
{
    struct exec_strangers *own = &c->ex->strangers;
    for (size_t i = 0; g && i < own->n; i++)
        add(&g->strangers, &own->v[i]);
    vec_free(own);
}

static int
by_pc(const void *a, const void *b)
{
    const struct exec_stranger *x = a, *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

void
exec_stranger_warnings(struct exec_grid *g,
                       bool (*tell)(void *user, const char *kernel,
                                    const struct diag_loc *loc),
                       void *user)
{
    const struct exec_prog *p = g->prog;
    struct exec_dim b = g->block;
    if (g->strangers.n)
        qsort(g->strangers.v, g->strangers.n, sizeof *g->strangers.v, by_pc);
    for (size_t i = 0; tell && i < g->strangers.n; i++) {
        const struct exec_stranger *x = &g->strangers.v[i];
        struct diag_loc loc = exec_loc(p, x->pc);
        if (!tell(user, p->entry->name, &loc))
            continue;
        const struct exec_dim at = exec_block_place(g, x->block);
        struct diag *d = diag_add(
            g->diag, DIAG_WARNING, &loc,
            "kernel '%s': block (%u,%u,%u), thread (%u,%u,%u), lane %u executes this with "
            "the member mask 0x%08x, which does not name it: undefined on a card",
            p->entry->name, at.x, at.y, at.z, x->thread % b.x, x->thread / b.x % b.y,
            x->thread / b.x / b.y, x->thread % LANES, x->mask);
        diag_hint(g->diag, d,
                  "the mask must be that of the threads that come here, such as what "
                  "__ballot_sync gave for the same condition");
        exec_note_source(p, x->pc, g->diag);
    }
    vec_free(&g->strangers);
}
