/* register_remat.c: which spilled registers are rematerialised where they are read, and
 * the code for it (002 section 3 asks for few spills; rematerialisation).
 *
 * A register whose only definition is a literal, an address, a parameter or a special
 * register that does not change can be computed anywhere. One that is an ordinary
 * computation of registers can be rematerialised after its definition wherever these are
 * still in registers and hold what they held then: they have one definition each, or no path
 * from there writes them (analysis/defs.h). So nothing lives longer for it. A source that is in no register may be
 * rematerialised itself; where that takes more room than the result, there must be room.
 * Only operations of the ALU, at most RA_CHAIN of them.
 *
 * A wide value that comes from one narrower register (an index that is extended to 64 bits,
 * an offset from a parameter) can be rematerialised from that where it no longer lives: it
 * then lives longer, in half of the room (ra_remat_source, ra_remat.longer).
 *
 * Where all reads of a register can do so its definition is dropped. O(reads x RA_CHAIN). */
#include "passes/regalloc/register_allocate_int.h"

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

bool
ra_is_operand(const struct ra *a, const struct defs *d, int32_t r)
{
    return ra_from_nothing(a, d, r) && a->f->body.v[d->at[r]].ops[1].kind != PTX_OPD_SREG;
}

/* Is r's only definition a computation that can be repeated after it, as long as no source
 * is written again (unchanged)? Copies are left to colouring. */
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
              !is_temporary(a, o->reg) &&
              (d->at[o->reg] == DEFS_MANY || defs_reach(d, o->reg, (uint32_t)at))))
            return false;
    }
    return true;
}

/* Units in registers once the spilled ones are gone. */
struct room {
    struct ra_remat *x;
    const struct live_set *set;
    bool *counted; /* of each register: spilled, and live at the walk's point */
    VEC(uint32_t) members;
    uint32_t spilled, read; /* units of what is counted; of what the instruction reads */
};

static void
count(struct room *m, uint32_t r, bool live)
{
    const struct ptx_func *f = m->x->a->f;
    if (live == m->counted[r] || f->regs.v[r].type == PTX_PRED)
        return;
    unsigned units = ra_units(f, (int32_t)r);
    if (m->x->source[r] >= 0) /* which lives instead of it */
        units -= ra_units(f, m->x->source[r]);
    m->counted[r] = live;
    m->spilled += live ? units : -units;
    if (live)
        *vec_push(&m->members) = r;
}

static void
count_use(void *user, int32_t reg, bool write, bool partial)
{
    struct room *m = user;
    (void)partial;
    if (!bitset_has(m->x->gone, (size_t)reg))
        return;
    count(m, (uint32_t)reg, live_has(m->set, (uint32_t)reg));
    if (!write)
        m->read += ra_units(m->x->a->f, reg);
}

static void
count_point(void *user, uint32_t inst, bool after, const struct live_set *set,
            uint32_t registers, uint32_t predicates)
{
    struct room *m = user;
    const struct cfg *g = m->x->l->cfg;
    (void)predicates;
    m->set = set;
    m->read = 0;
    if (after && inst + 1 == g->block[g->block_of[inst]].end) {
        for (size_t i = 0; i < m->members.n; i++)
            count(m, m->members.v[i], false);
        m->members.n = 0;
        for (uint32_t i = 0; i < set->n; i++)
            if (bitset_has(m->x->gone, set->reg[i]))
                count(m, set->reg[i], true);
    }
    defuse_each(&m->x->a->f->body.v[inst], count_use, m);
    m->x->units[after][inst] = registers - m->spilled;
    m->x->read[inst] = m->read;
}

struct ra_remat *
ra_remat_new(const struct ra *a, const struct live *l, const struct defs *d,
             struct defs_writes *w, const uint64_t *gone, const int32_t *source,
             uint32_t limit, struct arena *mem)
{
    const size_t n = a->f->regs.n;
    struct ra_remat *x = ARENA_NEW(mem, struct ra_remat);
    *x = (struct ra_remat){
        .a = a, .l = l, .defs = d, .writes = w, .gone = gone, .limit = limit};
    x->form = ARENA_ARRAY(mem, uint8_t, n + 1);
    x->source = ARENA_ARRAY(mem, int32_t, n + 1);
    x->longer = bitset_new(mem, n + 1);
    x->steps = ARENA_ARRAY(mem, uint8_t, n + 1);
    for (size_t r = 0; r < n; r++) {
        x->source[r] = gone && bitset_has(gone, r) ? source[r] : RA_NONE;
        if (x->source[r] >= 0)
            bitset_add(x->longer, (size_t)x->source[r]);
    }
    if (!gone)
        return x;
    struct room m = {.x = x, .counted = ARENA_ARRAY(mem, bool, n + 1)};
    x->read = ARENA_ARRAY(mem, uint32_t, a->f->body.n + 1);
    for (int k = 0; k < 2; k++) {
        x->units[k] = ARENA_ARRAY(mem, uint32_t, a->f->body.n + 1);
        for (size_t i = 0; i < a->f->body.n; i++) /* unreachable code: there is no room */
            x->units[k][i] = UINT32_MAX / 2;
    }
    live_each_point(l, count_point, &m);
    vec_free(&m.members);
    return x;
}

/* Is it in a register, before instruction i? */
static bool
at_hand(const struct ra_remat *x, const struct live_set *before, int32_t r, uint32_t i)
{
    bool there = live_has(before, (uint32_t)r) ||
                 (bitset_has(x->longer, (size_t)r) && defs_reach(x->defs, r, i));
    return there && !(x->gone && bitset_has(x->gone, (size_t)r));
}

/* Does source s of r hold before instruction i what r was computed from? One with one
 * definition does (from_registers). */
static bool
unchanged(struct ra_remat *x, int32_t r, int32_t s, uint32_t i)
{
    return x->defs->at[s] != DEFS_MANY ||
           defs_writes_none_between(x->writes, s, (uint32_t)x->defs->at[r], i);
}

/* Can r be rematerialised from its sources? */
static bool
repeatable(struct ra_remat *x, int32_t r)
{
    if (x->form[r] == UNKNOWN)
        x->form[r] = from_registers(x->a, x->defs, r) ? YES : NO;
    return x->form[r] == YES;
}

/* Goes to the sources of r; *one: the narrower one so far. False: there is another. */
static bool
find_source(struct ra_remat *x, int32_t r, unsigned width, unsigned depth, int32_t *one)
{
    const struct ra *a = x->a;
    if (ra_from_nothing(a, x->defs, r))
        return true;
    if (ra_units(a->f, r) < width) {
        bool other = *one != RA_NONE && *one != r;
        *one = r;
        return !other && x->defs->at[r] >= 0 && !is_temporary(a, r);
    }
    if (depth == RA_CHAIN || !repeatable(x, r))
        return false;
    const struct ptx_inst *in = &a->f->body.v[x->defs->at[r]];
    for (unsigned k = 1; k < in->nops; k++)
        if (in->ops[k].kind == PTX_OPD_REG &&
            !find_source(x, in->ops[k].reg, width, depth + 1, one))
            return false;
    return true;
}

int32_t
ra_remat_source(struct ra_remat *x, int32_t r)
{
    int32_t one = RA_NONE;
    unsigned width = ra_units(x->a->f, r);
    if (width < 2 || x->a->load_always || is_temporary(x->a, r) || x->defs->at[r] < 0 ||
        !repeatable(x, r) || !find_source(x, r, width, 0, &one))
        return RA_NONE;
    return one;
}

/* Computing a register again, before an instruction. */
struct attempt {
    struct ra_remat *x;
    const struct live_set *before;
    uint32_t inst;
    int32_t *chain;
    unsigned n;
};

/* Appends what computes r, sources first. Returns the most units that this needs at the same time,
 * 0: it cannot be done. */
static uint32_t
attempt(struct attempt *t, int32_t r, unsigned depth)
{
    struct ra_remat *x = t->x;
    const struct ra *a = x->a;
    const uint32_t width = ra_units(a->f, r);
    uint32_t held = 0, most = width;
    if (depth == RA_CHAIN || a->f->regs.v[r].type == PTX_PRED)
        return 0;
    if (!ra_from_nothing(a, x->defs, r)) {
        if (!repeatable(x, r) || a->load_always || !defs_reach(x->defs, r, t->inst))
            return 0;
        const struct ptx_inst *in = &a->f->body.v[x->defs->at[r]];
        for (unsigned k = 1; k < in->nops; k++) {
            int32_t s = in->ops[k].kind == PTX_OPD_REG ? in->ops[k].reg : RA_NONE;
            bool made = s < 0 || at_hand(x, t->before, s, t->inst);
            if (s >= 0 && !unchanged(x, r, s, t->inst))
                return 0;
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
ra_remat_here(struct ra_remat *x, const struct live_set *before, uint32_t registers,
              int32_t r, uint32_t i, int32_t chain[RA_CHAIN])
{
    struct attempt t = {x, before, i, chain, 0};
    uint32_t units = attempt(&t, r, 0), width = ra_units(x->a->f, r);
    uint32_t now = x->limit - 1; /* there will be room */
    if (x->read)
        now = x->units[0][i] + x->read[i];
    else if (registers < x->limit)
        now = registers;
    bool fits = units && (units <= width || now + units - width <= x->limit);
    return fits ? t.n : 0;
}

/* -- registers that need no memory -- */

struct everywhere {
    struct ra_remat *x;
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
    unsigned n = ra_remat_here(e->x, e->set, e->registers, reg, e->inst, chain);
    if (!n)
        bitset_del(e->yes, (size_t)reg);
    if (n > e->x->steps[reg])
        e->x->steps[reg] = (uint8_t)n;
}

static void
check_point(void *user, uint32_t inst, bool after, const struct live_set *set,
            uint32_t registers, uint32_t predicates)
{
    struct everywhere *e = user;
    const struct ptx_inst *in = &e->x->a->f->body.v[inst];
    (void)predicates;
    if (after || (e->dropped && in->nops && in->ops[0].kind == PTX_OPD_REG &&
                  bitset_has(e->dropped, (size_t)in->ops[0].reg) &&
                  e->x->defs->at[in->ops[0].reg] == (int32_t)inst))
        return;
    e->set = set;
    e->inst = inst;
    e->registers = registers;
    defuse_each(in, check_read, e);
}

/* Whether its block might be empty, and gone, without the definition at i: it is the last, and
 * all others might be dropped too. */
static bool
may_empty(const struct ra_remat *x, uint32_t i)
{
    const struct cfg *g = x->defs->cfg;
    const struct cfg_block *b = &g->block[g->block_of[i]];
    for (uint32_t k = b->end; k-- > b->first;) {
        const struct ptx_inst *in = &g->func->body.v[k];
        if (ptx_is_pseudo(in))
            continue;
        if (k > i || !in->nops || in->ops[0].kind != PTX_OPD_REG ||
            !bitset_has(x->gone, (size_t)in->ops[0].reg) ||
            x->defs->at[in->ops[0].reg] != (int32_t)k)
            return false;
    }
    return true;
}

void
ra_remat_everywhere(struct ra_remat *x, uint64_t *yes, struct arena *mem)
{
    uint32_t n = (uint32_t)x->a->f->regs.n;
    uint64_t *dropped = NULL;
    for (unsigned pass = 0; pass < 2;
         pass++) { /* then without what is read for nothing */
        struct everywhere e = {x, yes, bitset_new(mem, n + 1), dropped, NULL, 0, 0};
        for (uint32_t r = 0; r < n; r++)
            if ((!x->gone || bitset_has(x->gone, r)) && !is_temporary(x->a, (int32_t)r) &&
                x->defs->at[r] >= 0 && x->a->f->regs.v[r].type != PTX_PRED &&
                !(x->gone && may_empty(x, (uint32_t)x->defs->at[r])))
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
ra_emit_remat(const struct ra_remat *x, struct ra_body *b, const struct ra_use *u,
              int32_t to, int32_t origin)
{
    struct ptx_func *f = b->a->f;
    int32_t made[RA_CHAIN];
    for (unsigned n = 0; n < u->remat; n++) {
        struct ptx_inst in = f->body.v[x->defs->at[u->chain[n]]];
        in.ops = ptx_operands_dup(f->module, in.ops, in.nops);
        for (unsigned k = 1; k < in.nops; k++)
            for (unsigned p = 0; in.ops[k].kind == PTX_OPD_REG && p < n; p++)
                if (in.ops[k].reg == u->chain[p]) {
                    in.ops[k].reg = made[p];
                    break;
                }
        bool last = n + 1 == u->remat;
        made[n] = last ? to : ra_temporary(b->a, f->regs.v[u->chain[n]].type, true);
        in.ops[0].reg = made[n];
        ra_emit(b, in, origin);
    }
}
