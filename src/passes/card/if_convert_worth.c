/* if_convert_worth.c: when ptxas makes guards of a branch.
 *
 * Arms of at most PLAIN operations always become guards. A longer one does, up to MOST, if
 * there is a wait that something else can fill: the arm waits for a load, of its own or of the
 * block before, and meanwhile
 *     - the other arm waits for one too,
 *     - the block before waits for another load, which the branch does not need,
 *     - after the arms there is a load, before any barrier, there or in an arm that
 *       follows; or what waits for a load before; or LEAST_AFTER operations. Comparisons do
 *       not count, nor what leads to them only: ptxas moves these over the branch.
 * So also an arm that waits for nothing, where the block before does and the block after
 * loads. A short arm that waits for its own load keeps its branch where nothing fills the wait.
 * What an arm's results are read for after it is not looked at: then it becomes guards.
 *
 * Source: `ptxas -O3` of CUDA 13.0 on sm_75, 80 and 86, small kernels in which one of these
 * changes at a time, and the workloads (docs/passes.md). */
#include "passes/card/if_convert_int.h"

#include "analysis/defuse.h"
#include "analysis/motion.h"
#include "analysis/operands.h"

enum { PLAIN = 8, MOST = 20, LEAST_AFTER = 2 };

/* What is known of a register's value. */
enum {
    FOR_GUARD = 1, /* the branch needs it */
    LOADED = 2,    /* it waits for a load before that the branch does not need */
    AFTER = 4,     /* it is there after the arms only */
    COMPARED = 8   /* a comparison after the arms needs it */
};

struct worth_mark {
    uint32_t seen;
    uint8_t what;
};

struct worth
worth_new(struct arena *mem, const struct live *live, const uint8_t *operations,
          const bool *guarded)
{
    const struct cfg *g = live->cfg;
    return (struct worth){.f = g->func,
                          .g = g,
                          .live = live,
                          .operations = operations,
                          .guarded = guarded,
                          .mark =
                              ARENA_ARRAY(mem, struct worth_mark, g->func->regs.n + 1)};
}

/* -- marks -- */

struct visit {
    struct worth *w;
    bool writes;   /* look at what it writes, not at what it reads */
    uint8_t set;   /* marks to set */
    uint8_t found; /* marks that are set */
};

static void
look(void *user, int32_t reg, bool write, bool partial)
{
    struct visit *v = user;
    struct worth_mark *m = &v->w->mark[reg];
    if (v->writes ? !write : write && !partial)
        return;
    if (m->seen != v->w->seen)
        *m = (struct worth_mark){.seen = v->w->seen};
    v->found |= m->what;
    m->what |= v->set;
}

static uint8_t
of_reads(struct worth *w, const struct ptx_inst *in, uint8_t set)
{
    struct visit v = {.w = w, .set = set};
    defuse_each(in, look, &v);
    return v.found;
}

static uint8_t
of_writes(struct worth *w, const struct ptx_inst *in, uint8_t set)
{
    struct visit v = {.w = w, .writes = true, .set = set};
    defuse_each(in, look, &v);
    return v.found;
}

/* -- instructions -- */

/* NULL: nothing is executed, or it is a jump. */
static const struct ptx_inst *
inst_of(const struct worth *w, uint32_t i)
{
    const struct ptx_inst *in = &w->f->body.v[i];
    return ptx_is_pseudo(in) || ptx_ops[in->op].flags & PTX_JUMP ? NULL : in;
}

static bool
is_load(const struct worth *w, const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_LOAD && !operands_constant(w->f, in);
}

bool
worth_is_long_load(const struct worth *w, uint32_t inst)
{
    const struct ptx_inst *in = &w->f->body.v[inst];
    const enum ptx_space space = ptx_inst_space(in);
    return is_load(w, in) && w->operations[inst] && space != PTX_SPACE_SHARED &&
           space != PTX_SPACE_CONST;
}

/* What keeps a load after it from being issued before. */
static bool
keeps_loads(const struct worth *w, const struct ptx_inst *in)
{
    return motion_of(w->f, in) == MOTION_ACCESS ||
           (ptx_ops[in->op].flags & PTX_STORE && ptx_inst_space(in) != PTX_SPACE_SHARED);
}

static bool
writes_predicate(const struct worth *w, const struct ptx_inst *in)
{
    return in->nops && in->ops[0].kind == PTX_OPD_REG && ptx_inst_dests(in) & 1 &&
           w->f->regs.v[in->ops[0].reg].type == PTX_PRED;
}

struct ends {
    const struct worth *w;
    uint32_t block;
    bool lives;
};

static void
note_lives(void *user, int32_t reg, bool write, bool partial)
{
    struct ends *e = user;
    (void)partial;
    e->lives |= write && live_at_end(e->w->live, e->block, (uint32_t)reg);
}

/* A comparison in block b, or what leads to one only. */
static bool
is_compared(struct worth *w, uint32_t b, const struct ptx_inst *in)
{
    struct ends e = {w, b, false};
    if (writes_predicate(w, in))
        return true;
    defuse_each(in, note_lives, &e);
    return !e.lives && of_writes(w, in, 0) & COMPARED;
}

/* -- blocks -- */

static bool
loads_at_once(const struct worth *w, uint32_t b)
{
    for (uint32_t i = w->g->block[b].first; i < w->g->block[b].end; i++) {
        const struct ptx_inst *in = inst_of(w, i);
        if (in && motion_of(w->f, in) == MOTION_ACCESS)
            return false;
        if (in && worth_is_long_load(w, i))
            return true;
    }
    return false;
}

/* An arm before, which has become guards, loads. */
static bool
loads_before(const struct worth *w, uint32_t head)
{
    const struct cfg_block *b = &w->g->block[head];
    for (unsigned k = 0; k < b->npred; k++)
        if (b->pred[k] >= 0 && w->guarded[b->pred[k]] &&
            loads_at_once(w, (uint32_t)b->pred[k]))
            return true;
    return false;
}

/* The block of the branch waits for a load that the branch does not need, and an arm's load may
 * be issued before that. */
static bool
waits_before(struct worth *w, const struct diamond *d)
{
    const struct cfg_block *b = &w->g->block[d->head];
    bool waits = loads_before(w, d->head);
    of_reads(w, &w->f->body.v[b->end - 1], FOR_GUARD);
    for (uint32_t i = b->end; i-- > b->first;) {
        const struct ptx_inst *in = inst_of(w, i);
        if (in && of_writes(w, in, 0) & FOR_GUARD)
            of_reads(w, in, FOR_GUARD);
    }
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct ptx_inst *in = inst_of(w, i);
        if (!in)
            continue;
        const bool loaded = of_reads(w, in, 0) & LOADED;
        const bool for_guard = of_writes(w, in, 0) & FOR_GUARD;
        waits = (waits || loaded) && !keeps_loads(w, in);
        if (!for_guard && (loaded || worth_is_long_load(w, i)))
            of_writes(w, in, LOADED);
    }
    return waits;
}

/* Does an arm wait for what the block of the branch loads? */
static bool
mark_arms(struct worth *w, const struct diamond *d)
{
    bool waits = false;
    for (uint32_t k = 0; k < d->narms; k++) {
        const struct cfg_block *b = &w->g->block[d->arm[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = inst_of(w, i);
            if (!in)
                continue;
            waits |= of_reads(w, in, 0) & LOADED;
            of_writes(w, in, AFTER);
        }
    }
    return waits;
}

/* The block where the arms meet goes on to an arm that loads. */
static bool
another_loads(const struct worth *w, const struct diamond *d)
{
    const uint32_t next = d->meet + 1;
    const struct cfg_block *b = &w->g->block[d->meet];
    return b->nsucc == 2 && b->succ[1] == (int32_t)next && next < w->g->n &&
           w->g->block[next].npred == 1 && loads_at_once(w, next);
}

/* Is there anything after the arms to fill a wait with? */
static bool
works_behind(struct worth *w, const struct diamond *d)
{
    const struct cfg_block *b = &w->g->block[d->meet];
    unsigned operations = 0;
    bool barrier = false;
    for (uint32_t i = b->end; i-- > b->first;) {
        const struct ptx_inst *in = inst_of(w, i);
        if (in && is_compared(w, d->meet, in))
            of_reads(w, in, COMPARED);
    }
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct ptx_inst *in = inst_of(w, i);
        if (!in)
            continue;
        const uint8_t needs = of_reads(w, in, 0);
        if (motion_of(w->f, in) == MOTION_ACCESS) {
            barrier = true;
            continue;
        }
        if (worth_is_long_load(w, i) && !barrier && !(needs & AFTER))
            return true;
        if (is_load(w, in) || needs & AFTER)
            of_writes(w, in, AFTER);
        else if (needs & LOADED)
            return true;
        else if (!(ptx_ops[in->op].flags & PTX_STORE) && !is_compared(w, d->meet, in))
            operations += w->operations[i];
    }
    return operations >= LEAST_AFTER || (!barrier && another_loads(w, d));
}

bool
worth_is_short(uint32_t operations)
{
    return operations <= PLAIN;
}

bool
worth_guards(struct worth *w, const struct diamond *d)
{
    if (d->operations > MOST)
        return false;
    if (!d->loading && worth_is_short(d->operations))
        return true;
    w->seen++;
    const bool before = waits_before(w, d), waits = mark_arms(w, d);
    if (!d->loading && !waits)
        return before && loads_at_once(w, d->meet);
    return before || d->loading > 1 || (d->loading && d->lives_on) || works_behind(w, d);
}
