/* hoist.c: loads after an arm of a branch start before the branch, as by ptxas.
 *
 *     @%p1 bra L;                         ld.global.f32 %f3, [%rd1];
 *     ..  (no store to global memory)     @%p1 bra L;
 * L:                               ->     ..
 *     ld.global.f32 %f3, [%rd1];      L:
 *     add.f32 %f4, %f3, %f2;              add.f32 %f4, %f3, %f2;
 *
 * An arm is what lies between a branch on which lanes of a warp may differ and the block where
 * its ways meet, if one of them leads there straight: blocks without a loop, barrier, fence, exchange
 * between lanes, call or IEEE quotient. Of what stands where they meet weak loads go, which no
 * store or atomic in the arm or before them may touch (ld.global.nc: none does), with what
 * computes their addresses, while registers leave an SM all its warps. All threads at the
 * branch come there, so no address is read that was not read before.
 *
 * So does ptxas (CUDA 13.0, sm_80) with small kernels: a load, or as many as registers allow,
 * goes over an arm of 8 to 130 operations, over one with branches of its own and in loops, a
 * computation without a load stays. Nothing goes over two arms (if, else), nor over a branch on
 * which no lanes differ.
 *
 * O(instructions + loads x instructions of their arms), both bounded. */
#include "passes/pass.h"
#include "passes/regalloc/register_step.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/loops.h"
#include "analysis/motion.h"
#include "analysis/operands.h"
#include "analysis/uniform.h"
#include "ptx/expansion.h"

enum { MOST_BLOCKS = 32, MOST_LOADS = 256, MOST_CHAIN = 16 };

struct hoister {
    struct ptx_func *f;
    const struct cfg *g;
    const struct live *live;
    const struct defs *defs;
    const struct loops *loops;
    const struct uniform *uniform;
    const bool *operand; /* of each register: it takes none of a card's */
    uint32_t *into;      /* of each instruction: block + 1 at whose end it goes */
    uint32_t *most_live; /* of each block, in 32-bit registers */
    uint32_t limit;
    /* of the arm looked at: */
    uint32_t head, meet; /* blocks: of the branch, where its ways meet */
    uint32_t arm[MOST_BLOCKS], narm;
    uint32_t
        *written; /* of each register: meet + 1 if the arm, or what stays, writes it */
    uint32_t chain[MOST_CHAIN], nchain;
    bool ok;
    uint32_t n; /* loads that went */
    struct arena mem;
};

/* -- arms -- */

static bool
in_arm(const struct hoister *h, uint32_t b)
{
    for (uint32_t k = 0; k < h->narm; k++)
        if (h->arm[k] == b)
            return true;
    return false;
}

/* Whether block b ends in a branch on which lanes may differ. */
static bool
lanes_differ(const struct hoister *h, uint32_t b)
{
    const struct ptx_inst *in = cfg_condition(h->g, b);
    return in && h->uniform->reg[in->guard] == UNIFORM_NOT;
}

/* Adds block b to the arm, which goes from the head to where the ways meet; false: it is none. */
static bool
add_block(struct hoister *h, uint32_t b)
{
    const struct cfg_block *v = &h->g->block[b];
    if (h->narm == MOST_BLOCKS || !cfg_dominates(h->g, (int32_t)h->head, (int32_t)b))
        return false;
    h->arm[h->narm++] = b;
    for (uint32_t e = 0; e < v->nsucc; e++)
        if (v->succ[e] < 0 || h->g->block[v->succ[e]].rpo <= v->rpo)
            return false;
    return true;
}

static bool
find_arm(struct hoister *h)
{
    const struct cfg_block *b = &h->g->block[h->head], *to;
    if (b->nsucc != 2 || b->ipdom < 0 || !lanes_differ(h, h->head))
        return false;
    h->meet = (uint32_t)b->ipdom;
    to = &h->g->block[h->meet];
    if ((b->succ[0] != b->ipdom && b->succ[1] != b->ipdom) || to->rpo <= b->rpo ||
        h->loops->innermost[h->head] != h->loops->innermost[h->meet])
        return false;
    h->narm = 0;
    if (!add_block(h, (uint32_t)b->succ[b->succ[0] == b->ipdom]))
        return false;
    for (uint32_t k = 0; k < h->narm; k++) {
        const struct cfg_block *v = &h->g->block[h->arm[k]];
        for (uint32_t e = 0; e < v->nsucc; e++)
            if (v->succ[e] != b->ipdom && !in_arm(h, (uint32_t)v->succ[e]) &&
                !add_block(h, (uint32_t)v->succ[e]))
                return false;
    }
    for (uint32_t e = 0; e < to->npred; e++)
        if ((uint32_t)to->pred[e] != h->head && !in_arm(h, (uint32_t)to->pred[e]))
            return false;
    return true;
}

static void
note_written(void *user, int32_t r, bool write, bool partial)
{
    struct hoister *h = user;
    (void)partial;
    if (write)
        h->written[r] = h->meet + 1;
}

/* Notes what the arm writes; false: loads do not go over it. */
static bool
look_at_arm(struct hoister *h)
{
    for (uint32_t k = 0; k < h->narm; k++)
        for (uint32_t i = h->g->block[h->arm[k]].first; i < h->g->block[h->arm[k]].end;
             i++) {
            const struct ptx_inst *in = &h->f->body.v[i];
            const struct ptx_op_info *op = &ptx_ops[in->op];
            const enum motion order = motion_of(h->f, in);
            if (ptx_is_pseudo(in) || in->op == PTX_OP_BRA)
                continue;
            if (order == MOTION_FIXED || ptx_machine_branches(in) ||
                op->unit == PTX_UNIT_BARRIER || op->flags & PTX_CROSSLANE)
                return false;
            defuse_each(in, note_written, h);
        }
    return true;
}

/* -- loads -- */

static bool
goes_over(const struct hoister *h, const struct ptx_inst *load, uint32_t first,
          uint32_t end)
{
    if (motion_of(h->f, load) == MOTION_FREE)
        return true;
    for (uint32_t i = first; i < end; i++)
        if (!h->into[i] && motion_stops_load(h->f, load, &h->f->body.v[i]))
            return false;
    return true;
}

static bool
goes_over_arm(const struct hoister *h, const struct ptx_inst *load)
{
    for (uint32_t k = 0; k < h->narm; k++)
        if (!goes_over(h, load, h->g->block[h->arm[k]].first, h->g->block[h->arm[k]].end))
            return false;
    return true;
}

/* The last of the chain must write what nothing else writes and nobody reads before it. */
static void
note_result(void *user, int32_t r, bool write, bool partial)
{
    struct hoister *h = user;
    (void)partial;
    if (write)
        h->ok &= h->defs->at[r] == (int32_t)h->chain[h->nchain - 1] &&
                 !live_at_end(h->live, h->head, (uint32_t)r);
}

static void add_source(void *user, int32_t r, bool write, bool partial);

/* Adds instruction i of the meeting block, and what it reads of that block, to the chain. */
static void
add_to_chain(struct hoister *h, uint32_t i)
{
    const struct ptx_inst *in = &h->f->body.v[i];
    h->ok &= h->nchain < MOST_CHAIN && in->guard < 0 && !in->power;
    if (!h->ok)
        return;
    h->chain[h->nchain++] = i;
    defuse_each(in, note_result, h);
    defuse_each(in, add_source, h);
}

static void
add_source(void *user, int32_t r, bool write, bool partial)
{
    struct hoister *h = user;
    (void)partial;
    if (write || h->written[r] != h->meet + 1)
        return;
    const int32_t at = h->defs->at[r];
    const struct cfg_block *b = &h->g->block[h->meet];
    if (at < (int32_t)b->first || at >= (int32_t)b->end) {
        h->ok = false;
        return;
    }
    for (uint32_t k = 0; k < h->nchain; k++)
        if (h->chain[k] == (uint32_t)at)
            return;
    const struct ptx_inst *in = &h->f->body.v[at];
    if (rewrite_is_pure(in) || operands_constant(h->f, in))
        add_to_chain(h, (uint32_t)at);
    else
        h->ok = false;
}

struct size {
    const struct hoister *h;
    uint32_t units;
};

static void
note_size(void *user, int32_t r, bool write, bool partial)
{
    struct size *s = user;
    (void)partial;
    if (write && !s->h->operand[r])
        s->units += (ptx_type_bytes(s->h->f->regs.v[r].type) + 3u) / 4;
}

/* Whether registers allow that many more are live over the arm. */
static bool
has_room(const struct hoister *h, uint32_t units)
{
    for (uint32_t k = 0; k < h->narm; k++)
        if (h->most_live[h->arm[k]] + units > h->limit)
            return false;
    return true;
}

static void
move_load(struct hoister *h, uint32_t i)
{
    struct size s = {.h = h};
    h->nchain = 0;
    h->ok = true;
    add_to_chain(h, i);
    defuse_each(&h->f->body.v[i], note_size, &s);
    if (!h->ok || !has_room(h, s.units))
        return;
    for (uint32_t k = 0; k < h->nchain; k++)
        h->into[h->chain[k]] = h->head + 1;
    for (uint32_t k = 0; k < h->narm; k++)
        h->most_live[h->arm[k]] += s.units;
    h->n++;
}

static bool
is_load(const struct hoister *h, const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_LOAD && !operands_constant(h->f, in) &&
           (motion_of(h->f, in) == MOTION_LOAD ||
            (in->op == PTX_OP_LD && in->mod[PTX_MG_NC]));
}

static void
move_loads(struct hoister *h)
{
    const struct cfg_block *b = &h->g->block[h->meet];
    uint32_t loads = 0;
    for (uint32_t i = b->first; i < b->end && loads < MOST_LOADS; i++) {
        const struct ptx_inst *in = &h->f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        if (is_load(h, in) && ++loads && goes_over_arm(h, in) &&
            goes_over(h, in, b->first, i))
            move_load(h, i);
        defuse_each(in, note_written, h);
    }
}

/* -- code -- */

static void
write_code(struct hoister *h)
{
    const struct cfg *g = h->g;
    VEC(struct ptx_inst) to = {0};
    uint32_t *next = ARENA_ARRAY(&h->mem, uint32_t, h->f->body.n + 1);
    uint32_t *list = ARENA_ARRAY(&h->mem, uint32_t, g->n + 1);
    for (uint32_t i = (uint32_t)h->f->body.n; i-- > 0;)
        if (h->into[i]) {
            next[i] = list[h->into[i] - 1];
            list[h->into[i] - 1] = i + 1;
        }
    for (uint32_t b = 0; b < g->n; b++) {
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++) {
            if (i + 1 == g->block[b].end)
                for (uint32_t k = list[b]; k; k = next[k - 1])
                    *vec_push(&to) = h->f->body.v[k - 1];
            if (!h->into[i])
                *vec_push(&to) = h->f->body.v[i];
        }
    }
    vec_take(&h->f->body, &to);
}

/* -- the function -- */

static void
note_most(void *user, uint32_t inst, bool after, const struct live_set *set,
          uint32_t registers, uint32_t predicates)
{
    struct hoister *h = user;
    uint32_t *most = &h->most_live[h->g->block_of[inst]];
    (void)after;
    (void)set;
    (void)predicates;
    *most = registers > *most ? registers : *most;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct register_room given;
    if (!register_room_read(a, &given, diag))
        return false;
    struct hoister h = {.f = f, .g = x->cfg, .live = x->live, .defs = x->defs};
    struct loops *loops = loops_new(x->cfg);
    struct uniform *uniform = uniform_new(x->cfg);
    h.loops = loops;
    h.uniform = uniform;
    h.into = ARENA_ARRAY(&h.mem, uint32_t, f->body.n + 1);
    h.most_live = ARENA_ARRAY(&h.mem, uint32_t, x->cfg->n + 1);
    h.written = ARENA_ARRAY(&h.mem, uint32_t, f->regs.n + 1);
    h.operand = operands_late(f, x->defs, &h.mem);
    live_each_point_without(x->live, h.operand, note_most, &h);
    h.limit = register_room_for_values(register_step(f, 1, &given));
    for (uint32_t k = 0; k < x->cfg->nrpo; k++) {
        h.head = x->cfg->rpo[k];
        if (find_arm(&h) && look_at_arm(&h))
            move_loads(&h);
    }
    if (h.n) {
        write_code(&h);
        *changed = true;
        if (a->report)
            strbuf_printf(a->report, "%s: %u loads go before branches\n", f->name, h.n);
    }
    uniform_free(uniform);
    loops_free(loops);
    arena_free(&h.mem);
    return true;
}

static const struct pass_key keys[] = {REGISTER_ROOM_KEYS, {0}};

const struct pass pass_hoist = {
    .name = "hoist",
    .meaning = "starts loads after an arm of a branch before the branch",
    .keys = keys,
    .run_func = run,
    .needs = AN_CFG | AN_DEFS | AN_LIVE,
};
