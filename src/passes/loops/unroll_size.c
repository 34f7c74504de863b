/* unroll_size.c: how large an iteration of a loop is for ptxas, and how many it makes straight code
 * of. Numbers read off the code that ptxas -O3 of CUDA 13.0 makes of small loops (unroll.c;
 * docs/passes.md has the table). */
#include "passes/loops/unroll_int.h"

#include "analysis/defuse.h"

#include "ptx/expansion.h"

#include <math.h>

/* ptxas', in operations */
enum {
    UNKNOWN_BODY =
        19, /* largest iteration where iterations are not known, no load waited for */
    UNKNOWN_MEMORY = 47,  /* ... with loads from global or local memory */
    UNKNOWN_SHARED = 5,   /* ... more for each load from scratchpad, */
    UNKNOWN_HIGHEST = 97, /* ... up to this */
    SHARED = 2,           /* of an iteration: what straight code needs once */
    FOLDED = 16           /* times sqrt(n): room for each operation it does not need */
};

/* What accesses at addresses that become literals take off an iteration's size. */
static uint64_t
saved(uint64_t accesses)
{
    return accesses ? 9 + 4 * accesses : 0;
}

static double
full_size(uint64_t trips, uint64_t folded)
{
    const double root = sqrt((double)trips), size = 165 + 105 * root;
    return (size < 1280 ? size : 1280) + FOLDED * root * (double)folded;
}

/* Whether it counts once although it is two or three machine operations. */
static bool
is_wide_integer(const struct ptx_inst *in)
{
    return ptx_type_bytes(in->type[0]) == 8 && ptx_types[in->type[0]].kind != PTX_K_FLT &&
           in->op != PTX_OP_DIV && in->op != PTX_OP_REM;
}

/* The loop's registers with accesses at them become members of u->address, or none of them. */
static void
note_addresses(struct unroll *u, bool are)
{
    const struct peel *p = &u->p;
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t i = b->first; i < b->end; i++)
            for (unsigned o = 0; o < p->f->body.v[i].nops; o++) {
                const struct ptx_operand *x = &p->f->body.v[i].ops[o];
                if (x->kind == PTX_OPD_ADDR && x->reg >= 0 && are)
                    bitset_add(u->address, (size_t)x->reg);
                else if (x->kind == PTX_OPD_ADDR && x->reg >= 0)
                    bitset_del(u->address, (size_t)x->reg);
            }
    }
}

/* Whether straight code has an address and an offset in place of the sum. */
static bool
becomes_offset(const struct unroll *u, const struct ptx_inst *in)
{
    if (in->op != PTX_OP_ADD || in->guard >= 0 || in->ops[0].kind != PTX_OPD_REG ||
        in->ops[1].kind != PTX_OPD_REG || in->ops[2].kind != PTX_OPD_REG)
        return false;
    const bool first = bitset_has(u->known, (size_t)in->ops[1].reg);
    const int32_t other = in->ops[first ? 2 : 1].reg;
    return bitset_has(u->known, (size_t)in->ops[first ? 1 : 2].reg) &&
           !u->p.defs[other] && u->p.home[in->ops[0].reg] == PEEL_ITERATION &&
           bitset_has(u->address, (size_t)in->ops[0].reg);
}

/* Whether straight code does not need the operation. */
static bool
folds(const struct unroll *u, const struct ptx_inst *in)
{
    const int32_t d = in->nops && in->ops[0].kind == PTX_OPD_REG ? in->ops[0].reg : -1;
    return d >= 0 && u->p.home[d] != PEEL_KEEPS && u->line[d].base < 0 &&
           u->p.f->regs.v[d].type != PTX_PRED &&
           (bitset_has(u->known, (size_t)d) || becomes_offset(u, in));
}

/* A branch is an operation, with the jump after it one; the loop's own is none. */
static uint64_t
cost_of_jump(const struct unroll *u, const struct ptx_inst *in)
{
    const struct ptx_inst *first = u->p.f->body.v;
    if (in == &first[u->branch] ||
        (in > first && in[-1].op == PTX_OP_BRA && in->guard < 0))
        return 0;
    return 1;
}

/* Operations of a copy, as ptxas counts them, one more under a guard; what steps is folded away. */
static uint64_t
cost(const struct unroll *u, const struct ptx_inst *in)
{
    const int32_t d = in->nops && in->ops[0].kind == PTX_OPD_REG ? in->ops[0].reg : -1;
    const bool twice = ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC) ||
                       ptx_inst_barrier(in) >= 0;
    if (cfg_targets(in, NULL, 0))
        return cost_of_jump(u, in);
    if (folds(u, in) || (d >= 0 && u->p.home[d] != PEEL_KEEPS &&
                         (u->line[d].base >= 0 || bitset_has(u->known, (size_t)d))))
        return 0;
    const bool guarded = in->guard >= 0;
    const unsigned n = ptx_machine_operations(in);
    if (in->op == PTX_OP_MOV && in->ops[1].kind == PTX_OPD_REG)
        return guarded;
    if (!n) /* a literal that another write may replace is a move */
        return guarded || (in->op == PTX_OP_MOV && d >= 0 && u->p.defs[d] > 1);
    return (n > 1 && in->ntypes && is_wide_integer(in) ? 1 : n) + twice + guarded;
}

/* Whether straight code has a literal in place of its address. */
static bool
at_literal(const struct unroll *u, const struct ptx_inst *in)
{
    for (unsigned k = 0; k < in->nops; k++)
        if (in->ops[k].kind == PTX_OPD_ADDR && in->ops[k].reg >= 0 &&
            u->p.defs[in->ops[k].reg] && bitset_has(u->known, (size_t)in->ops[k].reg))
            return true;
    return false;
}

static void
note_access(const struct unroll *u, struct unroll_size *x, const struct ptx_inst *in)
{
    const unsigned space = ptx_inst_space(in);
    if (in->op == PTX_OP_ST && in->ops[0].kind == PTX_OPD_ADDR && in->ops[0].reg >= 0 &&
        !u->p.defs[in->ops[0].reg])
        x->fixed |= 1u << space;
    if (!(ptx_ops[in->op].flags & PTX_LOAD))
        return;
    x->loads |= 1u << space;
    x->scratch += space == PTX_SPACE_SHARED;
    x->memory |=
        space == PTX_SPACE_GLOBAL || space == PTX_SPACE_NONE || space == PTX_SPACE_LOCAL;
}

uint64_t
unroll_unknown_size(const struct unroll_size *x)
{
    const uint64_t scratch = UNKNOWN_BODY + UNKNOWN_SHARED * x->scratch,
                   most = scratch < UNKNOWN_HIGHEST ? scratch : UNKNOWN_HIGHEST;
    return x->memory && most < UNKNOWN_MEMORY ? UNKNOWN_MEMORY : most;
}

struct tracing {
    struct unroll *u;
    bool from_memory;
};

static void
trace_read(void *user, int32_t r, bool write, bool partial)
{
    struct tracing *t = user;
    (void)partial;
    t->from_memory |= !write && bitset_has(t->u->loaded, (size_t)r);
}

static void
trace_write(void *user, int32_t r, bool write, bool partial)
{
    struct tracing *t = user;
    (void)partial;
    if (write && t->from_memory)
        bitset_add(t->u->loaded, (size_t)r);
}

/* Follows what comes from global memory within an iteration to the branches. */
static void
note_branch(struct unroll *u, struct unroll_size *x, uint32_t i)
{
    const struct ptx_inst *in = &u->p.f->body.v[i];
    struct tracing t = {.u = u};
    const bool global = ptx_inst_space(in) == PTX_SPACE_GLOBAL;
    if (in->op == PTX_OP_LD)
        t.from_memory = global;
    else
        defuse_each(in, trace_read, &t);
    defuse_each(in, trace_write, &t);
    x->on_loaded += in->op == PTX_OP_BRA && in->guard >= 0 && i != u->branch &&
                    bitset_has(u->loaded, (size_t)in->guard);
    if (in->op == PTX_OP_ST && global) {
        x->stores = true;
        x->stores_in_arm |=
            !cfg_dominates(u->p.g, (int32_t)u->p.g->block_of[i], (int32_t)u->p.latch);
    }
}

static bool
measure(struct unroll *u, struct unroll_size *x)
{
    const struct peel *p = &u->p;
    *x = (struct unroll_size){0};
    for (uint32_t k = 0; k < p->nwritten; k++)
        bitset_del(u->loaded, p->written[k]);
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (!unroll_can_copy(in))
                return false;
            if (ptx_is_pseudo(in))
                continue;
            x->barrier |= ptx_inst_barrier(in) >= 0;
            x->atomic |= (ptx_ops[in->op].flags & PTX_ATOMIC) == PTX_ATOMIC;
            x->size += cost(u, in);
            x->literal += at_literal(u, in);
            x->folded += folds(u, in);
            note_access(u, x, in);
            note_branch(u, x, i);
        }
    }
    return true;
}

bool
unroll_measure(struct unroll *u, struct unroll_size *x)
{
    note_addresses(u, true);
    const bool can = measure(u, x);
    note_addresses(u, false);
    return can;
}

bool
unroll_fits(uint64_t trips, const struct unroll_size *x)
{
    const uint64_t less = SHARED + saved(x->literal);
    const uint64_t alone = x->size > less ? x->size - less : 1;
    return (double)(trips * alone) <= full_size(trips, x->folded);
}
