/* uniform.c: levels of registers and blocks, raised together until nothing changes. */
#include "analysis/uniform.h"

#include "analysis/defuse.h"

#include "base/bitset.h"

struct sweep {
    const struct cfg *g;
    struct uniform *u;
    uint8_t level; /* of the instruction's sources */
    bool changed;
    bool
        lanes; /* lanes of a warp are looked at (uniform_diverged), not threads of a block */
};

static uint8_t
sreg_level(unsigned sreg)
{
    switch (sreg) {
    case PTX_SREG_NTID:
    case PTX_SREG_NCTAID:
    case PTX_SREG_GRIDID:
    case PTX_SREG_DYNAMIC_SMEM_SIZE:
        return UNIFORM_GRID;
    case PTX_SREG_CTAID:
        return UNIFORM_BLOCK;
    default: /* %tid and what distinguishes lanes, warps and moments */
        return UNIFORM_NOT;
    }
}

static void
special(struct sweep *s, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_SREG && sreg_level(o->sreg) > s->level)
        s->level = sreg_level(o->sreg);
    for (unsigned i = 0; o->kind == PTX_OPD_VEC && i < o->n; i++)
        special(s, &o->vec[i]);
}

static void
read_reg(void *user, int32_t reg, bool write, bool partial)
{
    struct sweep *s = user;
    (void)partial;
    if (!write && s->u->reg[reg] > s->level)
        s->level = s->u->reg[reg];
}

static void
write_reg(void *user, int32_t reg, bool write, bool partial)
{
    struct sweep *s = user;
    (void)partial;
    if (write && s->level > s->u->reg[reg]) {
        s->u->reg[reg] = s->level;
        s->changed = true;
    }
}

const struct ptx_operand *
uniform_members(const struct ptx_inst *in)
{
    const bool masked = ptx_ops[in->op].flags & PTX_CROSSLANE && in->mod[PTX_MG_SYNC] &&
                        !in->mod[PTX_MG_ALIGNED];
    return masked && in->nops ? &in->ops[in->nops - 1] : NULL;
}

/* A reduction over the block: all threads get one value, whatever theirs were. Of lanes: one
 * over the warp, or over each group of lanes that give the same member mask. */
static bool
reduces(const struct sweep *s, const struct ptx_inst *in)
{
    if (!s->lanes)
        return ptx_inst_barrier(in) == 1;
    return in->op == PTX_OP_VOTEP || in->op == PTX_OP_VOTEB || in->op == PTX_OP_REDUX ||
           in->op == PTX_OP_REDUXF || in->op == PTX_OP_ACTIVEMASK ||
           (in->op == PTX_OP_SHFL && in->mod[PTX_MG_SHFL] == PTX_SHFL_IDX);
}

/* What the result is at best, whatever the operands are. */
static uint8_t
own_level(const struct sweep *s, const struct ptx_inst *in)
{
    const unsigned flags = ptx_ops[in->op].flags;
    if (reduces(s, in))
        return UNIFORM_BLOCK;
    if (flags & (PTX_ATOMIC | PTX_CROSSLANE | PTX_CCIN) || in->op == PTX_OP_CALL)
        return UNIFORM_NOT;
    if (!(flags & PTX_LOAD))
        return flags & PTX_PURE || in->op == PTX_OP_CVTA || in->op == PTX_OP_MOV ||
                       in->op == PTX_OP_MOVP || flags & (PTX_JUMP | PTX_STORE)
                   ? UNIFORM_GRID
                   : UNIFORM_NOT;
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_PARAM:
        return s->g->func->is_entry ? UNIFORM_GRID : UNIFORM_NOT;
    case PTX_SPACE_CONST:
        return UNIFORM_GRID;
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_SHARED:
        return UNIFORM_BLOCK;
    default: /* a generic address may be a thread's own memory */
        return UNIFORM_NOT;
    }
}

static void
operand(struct sweep *s, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_REG)
        read_reg(s, o->reg, false, false);
    special(s, o);
}

static uint8_t
source_level(struct sweep *s, const struct ptx_inst *in)
{
    s->level = UNIFORM_GRID;
    if (reduces(s, in)) {
        const struct ptx_operand *m = uniform_members(in);
        if (in->op == PTX_OP_SHFL) /* the lane that is read */
            operand(s, &in->ops[in->nops - (m ? 3 : 2)]);
        if (m && s->lanes) /* lanes with another mask get another answer */
            operand(s, m);
        if (in->guard >= 0)
            read_reg(s, in->guard, false, false);
        return s->level;
    }
    defuse_each(in, read_reg, s);
    for (unsigned i = 0; i < in->nops; i++)
        special(s, &in->ops[i]);
    return s->level;
}

static void
raise(struct sweep *s, uint32_t v, uint8_t level, uint32_t cause)
{
    if (s->u->block[v] >= level)
        return;
    s->u->block[v] = level;
    s->u->cause[v] = cause;
    s->changed = true;
}

/* The blocks that threads reach through the branch at the end of block v, up to where all
 * of its ways meet. */
static void
branch(struct sweep *s, uint32_t v, uint8_t level, uint32_t cause, uint32_t *stack,
       bool *seen)
{
    const struct cfg_block *b = &s->g->block[v];
    uint32_t n = 0;
    for (uint32_t e = 0; s->lanes && e < b->nsucc; e++)
        if (b->succ[e] < 0 || cfg_leaves(s->g, (uint32_t)b->succ[e]))
            return;
    memset(seen, 0, s->g->n * sizeof *seen);
    for (uint32_t e = 0; e <= b->nsucc; e++) {
        while (n) {
            const struct cfg_block *at = &s->g->block[stack[--n]];
            for (uint32_t k = 0; k < at->nsucc; k++)
                if (at->succ[k] >= 0 && at->succ[k] != b->ipdom && !seen[at->succ[k]]) {
                    seen[at->succ[k]] = true;
                    stack[n++] = (uint32_t)at->succ[k];
                }
        }
        if (e < b->nsucc && b->succ[e] >= 0 && b->succ[e] != b->ipdom &&
            !seen[b->succ[e]]) {
            seen[b->succ[e]] = true;
            stack[n++] = (uint32_t)b->succ[e];
        }
    }
    for (uint32_t k = 0; k < s->g->n; k++)
        if (seen[k])
            raise(s, k, level, cause);
}

static struct uniform *
find_levels(const struct cfg *g, bool lanes)
{
    const struct ptx_func *f = g->func;
    struct uniform *u = xcalloc(1, sizeof *u);
    struct sweep s = {.g = g, .u = u, .lanes = lanes};
    u->reg = ARENA_ARRAY(&u->mem, uint8_t, f->regs.n + 1);
    u->block = ARENA_ARRAY(&u->mem, uint8_t, g->n + 1);
    u->cause = ARENA_ARRAY(&u->mem, uint32_t, g->n + 1);
    uint32_t *stack = xcalloc(g->n + 1, sizeof *stack);
    bool *seen = xcalloc(g->n + 1, sizeof *seen);
    uint8_t *walked = xcalloc(g->n + 1, sizeof *walked);
    do {
        s.changed = false;
        for (uint32_t k = 0; k < g->nrpo; k++) {
            const uint32_t v = g->rpo[k];
            const struct cfg_block *b = &g->block[v];
            for (uint32_t i = b->first; i < b->end; i++) {
                const struct ptx_inst *in = &f->body.v[i];
                if (ptx_is_pseudo(in))
                    continue;
                uint8_t level = source_level(&s, in), own = own_level(&s, in);
                if (i + 1 == b->end && b->nsucc > 1 && level > walked[v]) {
                    walked[v] = level;
                    branch(&s, v, level, i, stack, seen);
                }
                level = own > level ? own : level;
                s.level = u->block[v] > level ? u->block[v] : level;
                defuse_each(in, write_reg, &s);
            }
        }
    } while (s.changed);
    free(stack);
    free(seen);
    free(walked);
    return u;
}

struct uniform *
uniform_new(const struct cfg *g)
{
    return find_levels(g, false);
}

bool
uniform_of_lanes(const struct ptx_func *f, const struct ptx_inst *in, bool differ,
                 bool masks_differ)
{
    const struct cfg g = {.func = f};
    struct sweep s = {.g = &g, .lanes = true};
    if (reduces(&s, in))
        return in->op == PTX_OP_SHFL ? !differ : !masks_differ;
    for (unsigned i = 0; i < in->nops; i++)
        special(&s, &in->ops[i]);
    return !differ && s.level < UNIFORM_NOT && own_level(&s, in) < UNIFORM_NOT;
}

static bool
exchanges(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_CROSSLANE && in->op != PTX_OP_ACTIVEMASK;
}

uint64_t *
uniform_diverged(const struct cfg *g, struct arena *mem)
{
    const struct ptx_func *f = g->func;
    uint32_t i = 0;
    while (i < f->body.n && !exchanges(&f->body.v[i]))
        i++;
    if (i == f->body.n)
        return NULL;
    uint64_t *diverged = bitset_new(mem, f->body.n + 1);
    struct uniform *u = find_levels(g, true);
    for (uint32_t v = 0; v < g->n; v++) {
        int32_t last = -1;
        for (i = g->block[v].first; i < g->block[v].end && u->block[v] == UNIFORM_NOT;
             i++) {
            if (!exchanges(&f->body.v[i]))
                continue;
            if (last < 0)
                bitset_add(diverged, i);
            last = (int32_t)i;
        }
        if (last >= 0)
            bitset_add(diverged, (size_t)last);
    }
    uniform_free(u);
    return diverged;
}

void
uniform_free(struct uniform *u)
{
    if (!u)
        return;
    arena_free(&u->mem);
    free(u);
}
