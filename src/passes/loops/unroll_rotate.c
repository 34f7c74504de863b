/* unroll_rotate.c: a loop that leaves in its middle becomes one that leaves at its end.
 *
 *     L: A; @q bra END       L: A; @q bra END
 *        B; bra L        ->  M: B; A; @!q bra M
 *     END:                   END:
 *
 * ptxas does so with every such loop of straight code (CUDA 13.0: A and B of 2 to 300
 * operations), whether it then copies the new loop or not. It copies none that compares what
 * A computes from the counter, as i + 1, in place of a value that iterations hand on. A stands
 * twice, with the same registers. O(body), and liveness. */
#include "passes/loops/unroll_int.h"

#include "analysis/defuse.h"

/* The loop's blocks A and B, and the block after it. */
struct middle {
    uint32_t a, b, after;
    bool stays; /* no more than one copy of the new loop */
};

static bool
can_stand_twice(const struct ptx_func *f, const struct cfg_block *b)
{
    for (uint32_t i = b->first; i < b->end; i++)
        if (!unroll_can_copy(&f->body.v[i]))
            return false;
    return true;
}

static bool
find_middle(const struct cfg *g, const struct loop *l, struct middle *m)
{
    if (l->n != 2)
        return false;
    const struct ptx_func *f = g->func;
    m->a = l->header;
    m->b = l->list[l->list[0] == m->a];
    const struct cfg_block *a = &g->block[m->a], *b = &g->block[m->b];
    if (a->nsucc != 2 || b->nsucc != 1 || b->npred != 1 || b->succ[0] != (int32_t)m->a ||
        f->body.v[a->end - 1].op != PTX_OP_BRA)
        return false;
    const int32_t out = a->succ[a->succ[0] == (int32_t)m->b];
    if (out < 0)
        return false;
    m->after = (uint32_t)out;
    uint32_t work = 0; /* a block that only jumps is no B */
    for (uint32_t i = b->first; i < b->end; i++)
        work += !ptx_is_pseudo(&f->body.v[i]) && f->body.v[i].op != PTX_OP_BRA;
    return work && can_stand_twice(f, a) && can_stand_twice(f, b);
}

struct tested {
    const struct live *live;
    uint32_t a;
    bool handed; /* whether all registers that were read come from before A */
};

static void
note_read(void *user, int32_t reg, bool write, bool partial)
{
    struct tested *t = user;
    (void)partial;
    if (!write && !live_at_start(t->live, t->a, (uint32_t)reg))
        t->handed = false;
}

/* Whether the comparison that leaves reads only what is there at the iteration's start, or what
 * takes its place. */
static bool
tests_counter(const struct cfg *g, const struct live *live, const struct middle *m)
{
    const struct ptx_func *f = g->func;
    const struct cfg_block *a = &g->block[m->a];
    const int32_t guard = f->body.v[a->end - 1].guard;
    struct tested t = {.live = live, .a = m->a, .handed = true};
    for (uint32_t i = a->first; i < a->end; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (!ptx_is_pseudo(in) && in->nops && in->ops[0].kind == PTX_OPD_REG &&
            in->ops[0].reg == guard && defuse_is_dest(in, 0))
            defuse_each(in, note_read, &t);
    }
    return t.handed;
}

/* Block v without its labels (`labels`: with them) and without a branch at its end. */
static void
put_block(struct peel *p, uint32_t v, bool labels)
{
    const struct cfg_block *b = &p->g->block[v];
    for (uint32_t i = b->first; i < b->end; i++) {
        struct ptx_inst in = p->f->body.v[i];
        if (cfg_targets(&in, NULL, 0) || (in.op == PTX_OP_LABEL && !labels))
            continue;
        in.ops = ptx_operands_dup(p->f->module, in.ops, in.nops);
        *vec_push(&p->to) = in;
    }
}

static void
put_rotated(struct peel *p, const struct middle *m)
{
    const struct cfg_block *a = &p->g->block[m->a];
    const struct ptx_inst *br = &p->f->body.v[a->end - 1];
    const bool leaves = a->succ[0] == (int32_t)m->after; /* where the branch is taken */
    const int32_t again = ptx_label_new(p->f),
                  out = leaves ? br->ops[0].label : ptx_label_new(p->f);
    put_block(p, m->a, true);
    peel_put_jump(p, out, br->guard, leaves ? br->guard_neg : !br->guard_neg);
    m->stays ? unroll_put_head(p, again) : peel_put_label(p, again);
    put_block(p, m->b, true);
    put_block(p, m->a, false);
    peel_put_jump(p, again, br->guard, leaves ? !br->guard_neg : br->guard_neg);
    p->to.v[p->to.n - 1].line = br->line;
    if (!leaves)
        peel_put_label(p, out);
    else if (m->after != m->b + 1) /* B followed A */
        peel_put_jump(p, out, -1, false);
}

uint32_t
unroll_rotate(struct ptx_func *f)
{
    struct cfg *g = cfg_new(f);
    struct loops *all = loops_new(g);
    struct live *live = all->n ? live_new(g) : NULL;
    struct peel p = {.f = f, .g = g};
    struct middle *at = ARENA_ARRAY(&p.mem, struct middle, g->n + 1);
    uint8_t *what = ARENA_ARRAY(&p.mem, uint8_t, g->n + 1); /* 1: an A, 2: a B */
    uint32_t n = 0;
    for (uint32_t k = 0; k < all->n; k++) {
        struct middle m = {0};
        if (find_middle(g, &all->loop[k], &m)) {
            m.stays = !tests_counter(g, live, &m);
            at[m.a] = m;
            what[m.a] = 1;
            what[m.b] = 2;
            n++;
        }
    }
    for (uint32_t v = 0; v < g->n && n; v++) {
        const struct cfg_block *b = &g->block[v];
        if (what[v] == 1)
            put_rotated(&p, &at[v]);
        else if (!what[v])
            for (uint32_t i = b->first; i < b->end; i++)
                *vec_push(&p.to) = f->body.v[i];
    }
    if (n) {
        vec_take(&f->body, &p.to);
    }
    arena_free(&p.mem);
    live_free(live);
    loops_free(all);
    cfg_free(g);
    return n;
}
