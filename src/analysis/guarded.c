/* guarded.c: guarded writes that begin a life.
 *
 *     @%p ld.global.u32 %r1, [%rd1];      full: %r1 is read under %p alone
 *     @%p st.global.u32 [%rd2], %r1;
 *     @%p mov.u32 %r2, 1;                 full: the other lanes are written below
 *     @!%p mov.u32 %r2, 2;                not: it keeps the 1
 *     st.global.u32 [%rd3], %r2;
 *
 * A walk backward over each block. Of each register it knows which lanes read it below:
 * none, those where a predicate is (not) set, or any. A guarded write by which those lanes
 * are served is a full definition. A guarded write that is not leaves only the other lanes to be served.
 * What one side of a branch on a predicate reads is read by the lanes that go there.
 * A predicate that is written is another one above.
 *
 * What is read after a block is liveness, which asks which writes are full definitions: first it is
 * taken that nothing is read there, then marks fall until liveness no longer changes. Such
 * an end is sound: followed backward from any read, liveness stops only at a write that
 * serves all lanes that read.
 *
 * Cost: O(operands), and liveness, a few rounds. Without guarded writes: O(instructions). */
#include "analysis/guarded.h"

#include "analysis/defuse.h"
#include "analysis/live.h"

enum lanes { NONE, SOME, ANY };

/* The lanes that read a register below. */
struct need {
    enum lanes lanes;
    int32_t guard; /* SOME: its predicate, which of its values, */
    bool neg;
    uint32_t version; /* and its version */
    uint32_t block;   /* that this was found in, + 1 */
};

struct marks {
    struct ptx_func *f;
    const struct live *live; /* NULL: nothing is read after a block */
    struct need *need;       /* of each register */
    uint32_t *version;       /* of each predicate: writes below */
    const struct cfg *g;
    uint32_t block;
    const struct ptx_inst *branch; /* the condition that ends the block, or NULL */
    uint32_t branch_version;       /* of its predicate */
    const struct ptx_inst *in;
    VEC(int32_t) read, written; /* by it */
};

/* What is read after the block; after a branch on one of its sides, by the lanes that go there. */
static struct need
need_behind(const struct marks *m, int32_t reg)
{
    const struct cfg_block *b = &m->g->block[m->block];
    struct need n = {.block = m->block + 1, .lanes = NONE};
    if (!m->live || !live_at_end(m->live, m->block, (uint32_t)reg))
        return n;
    n.lanes = ANY;
    if (!m->branch)
        return n;
    const bool there = live_at_start(m->live, (uint32_t)b->succ[0], (uint32_t)reg);
    const bool here = live_at_start(m->live, (uint32_t)b->succ[1], (uint32_t)reg);
    if (there && here)
        return n;
    n.lanes = SOME;
    n.guard = m->branch->guard;
    n.neg = m->branch->guard_neg == there;
    n.version = m->branch_version;
    return n;
}

static struct need *
need_of(struct marks *m, int32_t reg)
{
    struct need *n = &m->need[reg];
    if (n->block != m->block + 1)
        *n = need_behind(m, reg);
    if (n->lanes == SOME && n->version != m->version[n->guard])
        n->lanes = ANY;
    return n;
}

static bool
is_under(const struct need *n, const struct ptx_inst *in)
{
    return n->lanes == SOME && n->guard == in->guard && n->neg == in->guard_neg;
}

static void
set_under(struct marks *m, struct need *n, bool neg)
{
    n->lanes = SOME;
    n->guard = m->in->guard;
    n->neg = neg;
    n->version = m->version[m->in->guard];
}

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct marks *m = user;
    (void)partial;
    if (write)
        *vec_push(&m->written) = reg;
    else
        *vec_push(&m->read) = reg;
}

static bool
is_full_def(struct marks *m)
{
    bool full_def = true;
    for (size_t i = 0; i < m->written.n; i++) {
        const struct need *n = need_of(m, m->written.v[i]);
        full_def &= n->lanes == NONE || is_under(n, m->in);
    }
    return m->written.n && full_def;
}

static void
serve(struct marks *m, int32_t reg)
{
    struct need *n = need_of(m, reg);
    if (!ptx_keeps_old(m->in))
        n->lanes = NONE;
    else if (n->lanes == ANY)
        set_under(m, n, !m->in->guard_neg);
}

static void
add_read(struct marks *m, int32_t reg)
{
    struct need *n = need_of(m, reg);
    if (m->in->guard < 0 || ptx_ops[m->in->op].flags & PTX_CROSSLANE)
        n->lanes = ANY;
    else if (n->lanes == NONE)
        set_under(m, n, m->in->guard_neg);
    else if (!is_under(n, m->in))
        n->lanes = ANY;
}

/* Over one instruction; true: its mark has changed. */
static bool
step_back(struct marks *m, struct ptx_inst *in)
{
    const bool was = in->full_def;
    m->in = in;
    m->read.n = m->written.n = 0;
    defuse_each(in, note, m);
    for (size_t i = 0; i < m->written.n; i++)
        m->version[m->written.v[i]]++;
    if (in->guard >= 0)
        in->full_def = is_full_def(m) && (was || !m->live);
    for (size_t i = 0; i < m->written.n; i++)
        serve(m, m->written.v[i]);
    for (size_t i = 0; i < m->read.n; i++)
        add_read(m, m->read.v[i]);
    return in->full_def != was;
}

static bool
walk(struct marks *m, const struct cfg *g)
{
    bool changed = false;
    memset(m->need, 0, m->f->regs.n * sizeof *m->need);
    for (m->block = 0; m->block < g->n; m->block++) {
        const struct cfg_block *b = &g->block[m->block];
        m->branch = b->nsucc == 2 && b->succ[0] >= 0 && b->succ[1] >= 0
                        ? cfg_condition(g, m->block)
                        : NULL;
        m->branch_version = m->branch ? m->version[m->branch->guard] : 0;
        for (uint32_t i = b->end; i-- > b->first;)
            if (!ptx_is_pseudo(&m->f->body.v[i]))
                changed |= step_back(m, &m->f->body.v[i]);
    }
    return changed;
}

static bool
writes_guarded(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].guard >= 0 && ptx_inst_dests(&f->body.v[i]))
            return true;
    return false;
}

void
guarded_mark(struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        f->body.v[i].full_def = false;
    if (!writes_guarded(f))
        return;
    struct arena mem = {0};
    struct cfg *g = cfg_new(f);
    struct marks m = {.f = f, .g = g};
    m.need = ARENA_ARRAY(&mem, struct need, f->regs.n + 1);
    m.version = ARENA_ARRAY(&mem, uint32_t, f->regs.n + 1);
    for (bool changed = walk(&m, g); changed;) {
        struct live *live = live_new(g);
        m.live = live;
        changed = walk(&m, g);
        live_free(live);
    }
    vec_free(&m.read);
    vec_free(&m.written);
    cfg_free(g);
    arena_free(&mem);
}

bool
guarded_any(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].full_def)
            return true;
    return false;
}
