/* register_check.c: symbolic data flow over places.
 *
 * A place is the first physical unit of a register, a predicate, or a word of the spill
 * slots. State: for each virtual register, the set of places that hold it whole. A write
 * of a place takes from every other register the places that overlap it. At a join sets
 * are intersected, until nothing changes. A register that no path to here has written
 * (forward may-analysis over `before`) has no value that could be lost. A guarded write
 * adds to the old value, so the place must have held that - unless there is none; if it
 * did not, no place holds the register afterwards.
 *
 * Cost: O(instructions x registers x places / 64) a round, a few rounds. */
#include "analysis/register_check.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"
#include "base/bitset.h"

struct check {
    const struct ptx_func *before, *after;
    const int32_t *origin;
    const struct ptx_var *slots;
    struct diag_sink *diag;
    const struct cfg *g, *h; /* control flow of before and after */
    uint32_t nregs;          /* virtual ones */
    uint32_t nunits, npreds, nplaces;
    size_t words;    /* of a set of places */
    uint64_t *state; /* nregs sets: places that hold the register */
    uint64_t *in;    /* the same, per block at its start */
    uint64_t *wrote; /* per block at its end: registers that may have been written */
    uint64_t *maybe; /* the same, at the present point */
    uint64_t *again; /* registers whose definition was left out, to be repeated */
    uint32_t at;     /* instruction of after */
    bool report, failed;
};

static bool
wrong(struct check *c, const char *why, int32_t reg)
{
    if (!c->report || c->failed)
        return false;
    c->failed = true;
    const struct ptx_func *f = c->after;
    const struct ptx_inst *in = &f->body.v[c->at < f->body.n ? c->at : f->body.n - 1];
    struct diag_loc loc = {f->module->file, f->module->text, in->line, in->col, 0};
    diag_add(c->diag, DIAG_ERROR, in->line ? &loc : NULL,
             "register allocation of %s, instruction %u (%s): %s%s%s", f->name, c->at,
             ptx_ops[in->op].mnemonic, why, reg >= 0 ? " " : "",
             reg >= 0 ? c->before->regs.v[reg].name : "");
    return false;
}

static unsigned
width(const struct ptx_func *f, int32_t reg)
{
    unsigned bytes = ptx_type_bytes(f->regs.v[reg].type);
    return bytes <= 4 ? 1 : bytes / 4;
}

/* Place of a physical register, -1: it has none. */
static int32_t
place_of(const struct check *c, int32_t reg)
{
    const struct ptx_reg *r = &c->after->regs.v[reg];
    if (!r->place)
        return -1;
    return (int32_t)(r->type == PTX_PRED ? c->nunits + r->place - 1u : r->place - 1u);
}

static uint64_t *
held(const struct check *c, int32_t reg)
{
    return c->state + (size_t)reg * c->words;
}

/* Places [at, at + n) get something new: whoever was there, even in part, is gone. */
static void
overwrite(struct check *c, uint32_t at, uint32_t n)
{
    for (size_t i = 0; i < BITSET_WORDS(c->nregs); i++)
        FOR_BITS(bit, c->maybe[i])
        {
            int32_t v = (int32_t)(64 * i + bit);
            uint32_t w = width(c->before, v);
            for (uint32_t p = at + 1 >= w ? at + 1 - w : 0; p < at + n; p++)
                bitset_del(held(c, v), p);
        }
}

/* -- an instruction that was there before -- */

static bool
same_but_registers(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a->op == b->op && a->nops == b->nops && a->ntypes == b->ntypes &&
           !memcmp(a->type, b->type, a->ntypes) &&
           !memcmp(a->mod, b->mod, PTX_NMODGROUPS) && (a->guard < 0) == (b->guard < 0) &&
           a->guard_neg == b->guard_neg && a->text == b->text;
}

static bool
is_dest(const struct ptx_inst *in, unsigned i)
{
    return in->op == PTX_OP_CALL ? i == 0 && in->ops[0].kind == PTX_OPD_VEC
                                 : defuse_is_dest(in, i);
}

/* v of before is p of after. */
static void
read_reg(struct check *c, int32_t v, int32_t p)
{
    int32_t at = place_of(c, p);
    if (at < 0 || width(c->before, v) != width(c->after, p) ||
        (c->before->regs.v[v].type == PTX_PRED) != (c->after->regs.v[p].type == PTX_PRED))
        wrong(c, "a register of another width or file stands for", v);
    else if (bitset_has(c->maybe, (size_t)v) && !bitset_has(held(c, v), (size_t)at))
        wrong(c, "its place does not hold the value of", v);
}

static void
write_reg(struct check *c, int32_t v, int32_t p, bool partial)
{
    int32_t at = place_of(c, p);
    if (at < 0 || width(c->before, v) != width(c->after, p) ||
        (c->before->regs.v[v].type == PTX_PRED) !=
            (c->after->regs.v[p].type == PTX_PRED)) {
        wrong(c, "a register of another width or file stands for", v);
        return;
    }
    bool whole = !partial || !bitset_has(c->maybe, (size_t)v) ||
                 bitset_has(held(c, v), (size_t)at);
    overwrite(c, (uint32_t)at, width(c->before, v));
    memset(held(c, v), 0, c->words * 8);
    if (whole) /* else no place has the value of all lanes: nobody may read it */
        bitset_add(held(c, v), (size_t)at);
    bitset_add(c->maybe, (size_t)v);
}

static void
operand(struct check *c, const struct ptx_operand *a, const struct ptx_operand *b,
        bool dest, bool write, bool partial)
{
    if (a->kind != b->kind || a->neg != b->neg || a->comp != b->comp ||
        a->joined != b->joined || a->label != b->label || a->sreg != b->sreg ||
        a->n != b->n || a->imm != b->imm || a->off != b->off || a->var != b->var ||
        a->func != b->func || (a->reg < 0) != (b->reg < 0)) {
        wrong(c, "an operand has changed", -1);
        return;
    }
    bool reads = a->kind == PTX_OPD_ADDR ? a->reg >= 0 : a->kind == PTX_OPD_REG && !dest;
    if (reads && !write)
        read_reg(c, a->reg, b->reg);
    if (a->kind == PTX_OPD_REG && dest && write)
        write_reg(c, a->reg, b->reg, partial);
    for (unsigned k = 0; a->kind == PTX_OPD_VEC && k < a->n; k++)
        operand(c, &a->vec[k], &b->vec[k], dest, write, partial);
}

static void
old_inst(struct check *c, const struct ptx_inst *a, const struct ptx_inst *b)
{
    if (!same_but_registers(a, b)) {
        wrong(c, "it is not the instruction it stands for", -1);
        return;
    }
    if (a->guard >= 0)
        read_reg(c, a->guard, b->guard);
    for (int write = 0; write < 2; write++) /* all reads come before all writes */
        for (unsigned i = 0; i < a->nops; i++)
            operand(c, &a->ops[i], &b->ops[i], is_dest(a, i), write, a->guard >= 0);
}

/* -- instructions left out -- */

static bool
is_move(const struct ptx_func *f, const struct ptx_inst *in)
{
    return (in->op == PTX_OP_MOV || in->op == PTX_OP_MOVP) && in->guard < 0 &&
           in->nops == 2 && in->ops[0].kind == PTX_OPD_REG &&
           in->ops[1].kind == PTX_OPD_REG && !in->ops[0].comp && !in->ops[1].comp &&
           !in->ops[1].neg &&
           ptx_type_bytes(f->regs.v[in->ops[0].reg].type) ==
               ptx_type_bytes(f->regs.v[in->ops[1].reg].type) &&
           ptx_type_bytes(in->type[0]) == ptx_type_bytes(f->regs.v[in->ops[0].reg].type);
}

static bool
reads_no_register(const struct ptx_inst *in)
{
    if (in->guard >= 0 || ptx_nops(in) != 2 || in->ops[0].kind != PTX_OPD_REG)
        return false;
    const struct ptx_operand *s = &in->ops[1];
    if (in->op == PTX_OP_MOV)
        return s->kind == PTX_OPD_IMM || s->kind == PTX_OPD_F32 ||
               s->kind == PTX_OPD_F64 || s->kind == PTX_OPD_SYM ||
               (s->kind == PTX_OPD_SREG &&
                (s->sreg == PTX_SREG_TID || s->sreg == PTX_SREG_NTID ||
                 s->sreg == PTX_SREG_CTAID || s->sreg == PTX_SREG_NCTAID ||
                 s->sreg == PTX_SREG_LANEID));
    return in->op == PTX_OP_LD && in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_PARAM &&
           s->kind == PTX_OPD_ADDR && s->reg < 0 && s->var && s->var->is_param;
}

struct writers {
    int32_t reg;
    unsigned n;
};

static void
count_writes(void *user, int32_t reg, bool write, bool partial)
{
    struct writers *w = user;
    (void)partial;
    w->n += write && reg == w->reg;
}

static bool
only_definition(const struct check *c, int32_t reg)
{
    struct writers w = {reg, 0};
    for (size_t i = 0; i < c->before->body.n; i++)
        defuse_each(&c->before->body.v[i], count_writes, &w);
    return w.n == 1;
}

static void
left_out(struct check *c, const struct ptx_inst *in)
{
    int32_t d = in->nops ? in->ops[0].reg : -1;
    if (is_move(c->before, in)) {
        int32_t s = in->ops[1].reg;
        memmove(held(c, d), held(c, s), c->words * 8);
        bitset_add(c->maybe, (size_t)d);
    } else if (reads_no_register(in)) {
        memset(held(c, d), 0, c->words * 8);
        bitset_add(c->maybe, (size_t)d);
        if (!bitset_has(c->again, (size_t)d) && !only_definition(c, d))
            wrong(c, "left out before it: one of several definitions of", d);
        bitset_add(c->again, (size_t)d);
    } else {
        wrong(c, "an instruction before it was left out that is no move", -1);
    }
}

/* -- instructions made by the allocator -- */

/* What was at place `from` is now also at `to`, n units. */
static void
copy_place(struct check *c, uint32_t to, uint32_t from, uint32_t n)
{
    if (to == from)
        return;
    for (uint32_t v = 0; v < c->nregs; v++) {
        uint32_t w = width(c->before, (int32_t)v);
        uint64_t *set = held(c, (int32_t)v);
        if (!bitset_has(c->maybe, v))
            continue;
        bool moves = w == n && bitset_has(set, from);
        for (uint32_t p = to + 1 >= w ? to + 1 - w : 0; p < to + n; p++)
            bitset_del(set, p);
        if (moves)
            bitset_add(set, to);
    }
}

static bool
new_inst(struct check *c, const struct ptx_inst *in)
{
    const struct ptx_func *f = c->after;
    if (is_move(f, in)) {
        int32_t to = place_of(c, in->ops[0].reg), from = place_of(c, in->ops[1].reg);
        if (to < 0 || from < 0)
            return wrong(c, "a move between registers without a place", -1);
        copy_place(c, (uint32_t)to, (uint32_t)from, width(f, in->ops[0].reg));
        return true;
    }
    bool load = in->op == PTX_OP_LD, store = in->op == PTX_OP_ST;
    const struct ptx_operand *m = ptx_nops(in) == 2 ? &in->ops[load ? 1 : 0] : NULL;
    if ((load || store) && c->slots && m && m->kind == PTX_OPD_ADDR &&
        m->var == c->slots) {
        const struct ptx_operand *r = &in->ops[load ? 0 : 1];
        uint32_t slot = c->nunits + c->npreds + (uint32_t)m->off / 4;
        int32_t at = r->kind == PTX_OPD_REG ? place_of(c, r->reg) : -1;
        unsigned bytes = at < 0 ? 0 : ptx_type_bytes(f->regs.v[r->reg].type);
        if (at < 0 || m->reg >= 0 || m->off < 0 || m->off % 4 || bytes < 2 ||
            (uint64_t)m->off + bytes > c->slots->size ||
            ptx_type_bytes(in->type[0]) != bytes ||
            in->mod[PTX_MG_SPACE] != PTX_SPACE_SS_LOCAL)
            return wrong(c, "a spill of the wrong size or place", -1);
        uint32_t n = width(f, r->reg);
        if (in->guard >= 0)
            return wrong(c, "a guarded spill", -1);
        copy_place(c, load ? (uint32_t)at : slot, load ? slot : (uint32_t)at, n);
        return true;
    }
    if (!reads_no_register(in))
        return wrong(c, "an instruction that was not there before", -1);
    int32_t at = place_of(c, in->ops[0].reg);
    bool found = false;
    if (at < 0)
        return wrong(c, "a register without a place", -1);
    overwrite(c, (uint32_t)at, width(f, in->ops[0].reg));
    for (size_t i = 0; i < c->before->body.n; i++) {
        const struct ptx_inst *d = &c->before->body.v[i];
        if (!reads_no_register(d) || !same_but_registers(d, in) ||
            !bitset_has(c->again, (size_t)d->ops[0].reg))
            continue;
        const struct ptx_operand *x = &d->ops[1], *y = &in->ops[1];
        if (x->kind != y->kind || x->imm != y->imm || x->off != y->off ||
            x->var != y->var || x->sreg != y->sreg || x->comp != y->comp)
            continue;
        bitset_add(held(c, d->ops[0].reg), (size_t)at);
        found = true;
    }
    return found || wrong(c, "it repeats nothing that was left out", -1);
}

/* -- blocks -- */

/* The next instruction of before that is still there, from instruction i of after on. */
static uint32_t
next_kept(const struct check *c, uint32_t i, const struct cfg_block *x,
          const struct cfg_block *y)
{
    while (i < y->end && c->origin[i] < 0)
        i++;
    return i < y->end ? (uint32_t)c->origin[i] : x->end;
}

/* Between two instructions that were kept, values change by what was left out only; where
 * among the inserted ones is not known. Definitions to be repeated come first, before
 * their repetitions; moves last, for what they move may have been repeated, reloaded or
 * stored before. */
static void
walk_block(struct check *c, uint32_t b)
{
    const struct cfg_block *x = &c->g->block[b], *y = &c->h->block[b];
    uint32_t next = x->first, ahead = x->first;
    for (c->at = y->first; c->at <= y->end && !c->failed; c->at++) {
        bool end = c->at == y->end;
        uint32_t kept = next_kept(c, c->at, x, y);
        if (kept < next || kept > x->end) {
            wrong(c, "it stands in another place than before", -1);
            return;
        }
        for (ahead = ahead > next ? ahead : next; ahead < kept; ahead++)
            if (!is_move(c->before, &c->before->body.v[ahead]))
                left_out(c, &c->before->body.v[ahead]);
        if (!end && c->origin[c->at] < 0) {
            new_inst(c, &c->after->body.v[c->at]);
            continue;
        }
        for (; next < kept; next++)
            if (is_move(c->before, &c->before->body.v[next]))
                left_out(c, &c->before->body.v[next]);
        if (end)
            break;
        old_inst(c, &c->before->body.v[next++], &c->after->body.v[c->at]);
    }
}

static void
mark_written(void *user, int32_t reg, bool write, bool partial)
{
    (void)partial;
    if (write)
        bitset_add(user, (size_t)reg);
}

static void
maybe_at(struct check *c, uint32_t b)
{
    size_t n = BITSET_WORDS(c->nregs);
    memset(c->maybe, 0, n * 8);
    for (uint32_t i = 0; i < c->g->block[b].npred; i++)
        bitset_or(c->maybe, c->wrote + (size_t)c->g->block[b].pred[i] * n, c->nregs);
}

static void
find_written(struct check *c)
{
    size_t n = BITSET_WORDS(c->nregs);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < c->g->nrpo; k++) {
            uint32_t b = c->g->rpo[k];
            maybe_at(c, b);
            for (uint32_t i = c->g->block[b].first; i < c->g->block[b].end; i++)
                defuse_each(&c->before->body.v[i], mark_written, c->maybe);
            changed |= bitset_or(c->wrote + b * n, c->maybe, c->nregs);
        }
    }
}

/* in of the successor becomes the intersection with the state; true if it changed. A
 * register that was not written on this path agrees with everything. */
static bool
meet(struct check *c, uint32_t to)
{
    bool changed = false;
    uint64_t *in = c->in + (size_t)to * c->nregs * c->words;
    for (uint32_t v = 0; v < c->nregs; v++) {
        if (!bitset_has(c->maybe, v))
            continue;
        for (size_t w = 0; w < c->words; w++) {
            uint64_t *d = &in[v * c->words + w], now = *d & held(c, (int32_t)v)[w];
            changed |= now != *d;
            *d = now;
        }
    }
    return changed;
}

static void
solve(struct check *c)
{
    size_t size = (size_t)c->nregs * c->words;
    memset(c->in, 0xff, (size_t)c->g->n * size * 8);
    for (int last = 0; last < 2; last++) {
        c->report = last;
        for (bool changed = true; changed && !c->failed;) {
            changed = false;
            for (uint32_t k = 0; k < c->g->nrpo; k++) {
                uint32_t b = c->g->rpo[k];
                memcpy(c->state, c->in + b * size, size * 8);
                maybe_at(c, b);
                walk_block(c, b);
                for (uint32_t s = 0; s < c->g->block[b].nsucc; s++)
                    if (c->g->block[b].succ[s] >= 0)
                        changed |= meet(c, (uint32_t)c->g->block[b].succ[s]);
            }
        }
    }
}

static bool
same_flow(struct check *c)
{
    if (c->g->n != c->h->n || c->g->nrpo != c->h->nrpo)
        return false;
    for (uint32_t b = 0; b < c->g->n; b++) {
        const struct cfg_block *x = &c->g->block[b], *y = &c->h->block[b];
        if (x->nsucc != y->nsucc)
            return false;
        for (uint32_t s = 0; s < x->nsucc; s++)
            if (x->succ[s] != y->succ[s])
                return false;
    }
    return true;
}

bool
register_check(const struct ptx_func *before, const struct ptx_func *after,
               const int32_t *origin, const struct ptx_var *slots, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct check c = {.before = before,
                      .after = after,
                      .origin = origin,
                      .slots = slots,
                      .diag = diag,
                      .nregs = (uint32_t)before->regs.n};
    struct cfg *g = cfg_new(before), *h = cfg_new(after);
    c.g = g;
    c.h = h;
    for (size_t r = 0; r < after->regs.n; r++) {
        const struct ptx_reg *p = &after->regs.v[r];
        uint32_t end = p->place ? p->place - 1u + width(after, (int32_t)r) : 0;
        uint32_t *most = p->type == PTX_PRED ? &c.npreds : &c.nunits;
        *most = end > *most ? end : *most;
    }
    c.nplaces = c.nunits + c.npreds + (slots ? (uint32_t)((slots->size + 3) / 4) : 0);
    c.words = BITSET_WORDS(c.nplaces + 1);
    c.state = ARENA_ARRAY(&mem, uint64_t, c.words * c.nregs + 1);
    c.in = ARENA_ARRAY(&mem, uint64_t, c.words * c.nregs * g->n + 1);
    c.wrote = ARENA_ARRAY(&mem, uint64_t, BITSET_WORDS(c.nregs) * g->n + 1);
    c.maybe = bitset_new(&mem, c.nregs + 1);
    c.again = bitset_new(&mem, c.nregs + 1);
    bool ok = true;
    if (!same_flow(&c)) {
        ok = diag_error(diag, "register allocation of %s changed its control flow",
                        after->name);
    } else {
        find_written(&c);
        solve(&c);
        ok = !c.failed;
    }
    cfg_free(g);
    cfg_free(h);
    arena_free(&mem);
    return ok;
}
