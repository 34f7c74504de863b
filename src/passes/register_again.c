/* register_again.c: which spilled registers are computed again where they are read, and
 * the code for it (002 section 3 asks for few spills; rematerialisation).
 *
 * A register whose only definition is a literal, an address, a parameter or a special
 * register that does not change can be computed anywhere. One that is an ordinary
 * computation of registers with one definition each can be computed again behind its
 * definition wherever these are still in registers: they hold what they held then
 * (analysis/defs.h). So nothing lives longer for it. A source that is in no register may be
 * computed again itself; where that takes more room than the result, there must be room.
 * Only operations of the ALU, at most RA_CHAIN of them.
 *
 * Where all reads of a register can do so its definition is dropped. O(reads x RA_CHAIN). */
#include "passes/register_allocate_int.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "passes/rewrite.h"

enum { UNKNOWN, YES, NO };

static bool
unchanging(unsigned s)
{
    return s == PTX_SREG_TID || s == PTX_SREG_NTID || s == PTX_SREG_CTAID ||
           s == PTX_SREG_NCTAID || s == PTX_SREG_LANEID;
}

/* Was it made for a spill? Then it stands for another, which may have more definitions. */
static bool
is_temporary(const struct ra *a, int32_t r)
{
    return (size_t)r < a->temporary.n && a->temporary.v[r];
}

bool
ra_from_nothing(const struct ra *a, const struct defs *d, int32_t r)
{
    if (d->at[r] < 0 || is_temporary(a, r))
        return false;
    const struct ptx_inst *in = &a->f->body.v[d->at[r]];
    if (ptx_nops(in) != 2 || in->ops[0].kind != PTX_OPD_REG || a->origin.v[d->at[r]] < 0)
        return false;
    const struct ptx_operand *s = &in->ops[1];
    if (in->op == PTX_OP_MOV)
        return s->kind == PTX_OPD_IMM || s->kind == PTX_OPD_F32 ||
               s->kind == PTX_OPD_F64 || s->kind == PTX_OPD_SYM ||
               (s->kind == PTX_OPD_SREG && unchanging(s->sreg));
    if (in->op != PTX_OP_LD || s->kind != PTX_OPD_ADDR || s->reg >= 0 || !s->var ||
        in->guard >= 0)
        return false;
    enum ptx_space space = ptx_inst_space(in);
    return space == PTX_SPACE_CONST ||
           (space == PTX_SPACE_PARAM && a->f->is_entry && s->var->is_param);
}

/* Is r's only definition a computation that can be repeated behind it? Copies are left to
 * colouring. */
static bool
from_registers(const struct ra *a, const struct defs *d, int32_t r)
{
    int32_t at = d->at[r];
    if (at < 0 || a->origin.v[at] < 0 || a->f->regs.v[r].type == PTX_PRED ||
        is_temporary(a, r))
        return false;
    const struct ptx_inst *in = &a->f->body.v[at];
    if (in->guard >= 0 || ptx_ops[in->op].unit != PTX_UNIT_ALU || !rewrite_is_pure(in) ||
        ra_copied(a->f, in) != RA_NONE)
        return false;
    for (unsigned k = 1; k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        bool literal = o->kind == PTX_OPD_NONE || o->kind == PTX_OPD_IMM ||
                       o->kind == PTX_OPD_F32 || o->kind == PTX_OPD_F64;
        if (!literal &&
            !(o->kind == PTX_OPD_REG && !o->joined && o->reg != r &&
              !is_temporary(a, o->reg) && defs_reach(d, o->reg, (uint32_t)at)))
            return false;
    }
    return true;
}

struct ra_again *
ra_again_new(const struct ra *a, const struct live *l, const struct defs *d,
             const uint64_t *gone, uint32_t limit, struct arena *mem)
{
    struct ra_again *x = ARENA_NEW(mem, struct ra_again);
    *x = (struct ra_again){.a = a, .l = l, .defs = d, .gone = gone, .limit = limit};
    x->form = ARENA_ARRAY(mem, uint8_t, a->f->regs.n + 1);
    return x;
}

/* Is it in a register, in front of an instruction? */
static bool
at_hand(const struct ra_again *x, const struct live_set *before, int32_t r)
{
    return live_has(before, (uint32_t)r) && !(x->gone && bitset_has(x->gone, (size_t)r));
}

/* Computing a register again, in front of an instruction. */
struct attempt {
    struct ra_again *x;
    const struct live_set *before;
    uint32_t inst;
    int32_t *chain;
    unsigned n;
};

/* Appends what computes r, sources first. Returns the most units that this needs at once,
 * 0: it cannot be done. */
static uint32_t
attempt(struct attempt *t, int32_t r, unsigned depth)
{
    struct ra_again *x = t->x;
    const struct ra *a = x->a;
    const uint32_t width = ra_units(a->f, r);
    uint32_t held = 0, most = width;
    if (depth == RA_CHAIN || a->f->regs.v[r].type == PTX_PRED)
        return 0;
    if (!ra_from_nothing(a, x->defs, r)) {
        if (x->form[r] == UNKNOWN)
            x->form[r] = from_registers(a, x->defs, r) ? YES : NO;
        if (x->form[r] == NO || a->load_always || !defs_reach(x->defs, r, t->inst))
            return 0;
        const struct ptx_inst *in = &a->f->body.v[x->defs->at[r]];
        for (unsigned k = 1; k < in->nops; k++) {
            int32_t s = in->ops[k].kind == PTX_OPD_REG ? in->ops[k].reg : RA_NONE;
            bool made = s < 0 || at_hand(x, t->before, s);
            for (unsigned n = 0; n < t->n; n++)
                made |= t->chain[n] == s;
            if (made)
                continue;
            uint32_t units = attempt(t, s, depth + 1);
            if (!units)
                return 0;
            most = held + units > most ? held + units : most;
            held += ra_units(a->f, s);
        }
    }
    if (t->n == RA_CHAIN)
        return 0;
    t->chain[t->n++] = r;
    return most;
}

unsigned
ra_again_here(struct ra_again *x, const struct live_set *before, uint32_t registers,
              int32_t r, uint32_t i, int32_t chain[RA_CHAIN])
{
    struct attempt t = {x, before, i, chain, 0};
    uint32_t units = attempt(&t, r, 0), width = ra_units(x->a->f, r);
    bool fits = units && (units <= width || registers + units - width <= x->limit);
    return fits ? t.n : 0;
}

/* -- registers that need no memory -- */

struct everywhere {
    struct ra_again *x;
    uint64_t *yes, *read;
    const uint64_t *dropped; /* definitions of these are dropped */
    const struct live_set *set;
    uint32_t inst, registers;
};

static void
check_read(void *user, int32_t reg, bool write, bool partial)
{
    struct everywhere *e = user;
    (void)partial;
    if (write || !bitset_has(e->yes, (size_t)reg))
        return;
    int32_t chain[RA_CHAIN];
    bitset_add(e->read, (size_t)reg);
    if (!ra_again_here(e->x, e->set, e->registers, reg, e->inst, chain))
        bitset_del(e->yes, (size_t)reg);
}

static void
check_point(void *user, uint32_t inst, bool behind, const struct live_set *set,
            uint32_t registers, uint32_t predicates)
{
    struct everywhere *e = user;
    const struct ptx_inst *in = &e->x->a->f->body.v[inst];
    (void)predicates;
    if (behind || (e->dropped && in->nops && in->ops[0].kind == PTX_OPD_REG &&
                   bitset_has(e->dropped, (size_t)in->ops[0].reg) &&
                   e->x->defs->at[in->ops[0].reg] == (int32_t)inst))
        return;
    e->set = set;
    e->inst = inst;
    e->registers = registers;
    defuse_each(in, check_read, e);
}

void
ra_again_everywhere(struct ra_again *x, uint64_t *yes, struct arena *mem)
{
    uint32_t n = (uint32_t)x->a->f->regs.n;
    uint64_t *dropped = NULL;
    for (unsigned pass = 0; pass < 2;
         pass++) { /* then without what is read for nothing */
        struct everywhere e = {x, yes, bitset_new(mem, n + 1), dropped, NULL, 0, 0};
        for (uint32_t r = 0; r < n; r++)
            if ((!x->gone || bitset_has(x->gone, r)) && !is_temporary(x->a, (int32_t)r) &&
                x->defs->at[r] >= 0 && x->a->f->regs.v[r].type != PTX_PRED)
                bitset_add(yes, r);
        live_each_point(x->l, check_point, &e);
        for (uint32_t r = 0; r < n; r++) /* what nothing reads proves nothing */
            if (bitset_has(yes, r) && !bitset_has(e.read, r) &&
                !(dropped && bitset_has(dropped, r)))
                bitset_del(yes, r);
        if (!pass) {
            dropped = bitset_new(mem, n + 1);
            for (uint32_t r = 0; r < n; r++)
                if (bitset_has(yes, r))
                    bitset_add(dropped, r);
        }
    }
}

/* -- code -- */

void
ra_emit_again(const struct ra_again *x, struct ra_body *b, const struct ra_use *u,
              int32_t to, int32_t origin)
{
    struct ptx_func *f = b->a->f;
    int32_t made[RA_CHAIN];
    for (unsigned n = 0; n < u->again; n++) {
        struct ptx_inst in = f->body.v[x->defs->at[u->chain[n]]];
        in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
        for (unsigned k = 1; k < in.nops; k++)
            for (unsigned p = 0; in.ops[k].kind == PTX_OPD_REG && p < n; p++)
                if (in.ops[k].reg == u->chain[p]) {
                    in.ops[k].reg = made[p];
                    break;
                }
        bool last = n + 1 == u->again;
        made[n] = last ? to : ra_temporary(b->a, f->regs.v[u->chain[n]].type, true);
        in.ops[0].reg = made[n];
        ra_emit(b, in, origin);
    }
}
