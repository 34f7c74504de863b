/* spill_check.c: symbolic data flow over the places of spilled words.
 *
 * A word of a spilled value is named by its place in the local memory of `before`. State:
 * of each word the one place that holds it. A store ends what its place held before; a
 * move of the stack takes along what the slot held. At a join, words that are not in the
 * same place on both paths are nowhere. A word that no path to here has stored has no
 * value that could be lost: it is anywhere.
 *
 * States only shrink while this is iterated, so what is wrong in one of them is wrong in
 * the end, and is reported immediately. Cost: O(instructions x spilled words) a round. */
#include "analysis/spill_check.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"

enum { NONE = -1, NOWHERE = -1, ANYWHERE = -2 };

/* Slots that a function and what it calls may write: [lo, hi). */
struct range {
    uint32_t lo, hi;
};

struct check {
    const struct spill_func *fn;
    size_t n;
    const struct ptx_var *area;
    uint64_t stride;
    struct range *touch; /* of each function */
    struct diag_sink *diag;
    /* the function at hand */
    const struct spill_func *s;
    uint32_t nwords, nslots;
    int32_t *where; /* of each word: place, NOWHERE or ANYWHERE. Slots come first, words
                     * of local memory after them */
    uint32_t at;    /* instruction of after */
    bool failed;
};

static bool
wrong(struct check *c, const char *why)
{
    if (c->failed)
        return false;
    c->failed = true;
    const struct ptx_func *f = c->s->after;
    const struct ptx_inst *in = c->at < f->body.n ? &f->body.v[c->at] : NULL;
    diag_error(c->diag, "spilled values of %s, instruction %u (%s): %s", f->name, c->at,
               in ? ptx_ops[in->op].mnemonic : "end", why);
    return false;
}

/* -- what an instruction is -- */

static bool
is_memory(const struct ptx_inst *in, enum ptx_op op, enum ptx_space space)
{
    return in->op == op && ptx_inst_space(in) == space && in->guard < 0;
}

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
{
    return &in->ops[in->op == PTX_OP_LD ? 1 : 0];
}

static int32_t
data_of(const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->ops[in->op == PTX_OP_LD ? 0 : 1];
    return o->kind == PTX_OPD_REG ? o->reg : NONE;
}

/* Is it an access to a value spilled to local memory? */
static bool
is_spill(const struct spill_func *s, const struct ptx_inst *in)
{
    return s->local && (in->op == PTX_OP_LD || in->op == PTX_OP_ST) &&
           address_of(in)->kind == PTX_OPD_ADDR && address_of(in)->var == s->local;
}

/* The slot that an access names; NONE: it is no access to one. */
static int32_t
slot_of(const struct check *c, const struct spill_func *s, const struct ptx_inst *in,
        enum ptx_op op)
{
    if (!is_memory(in, op, PTX_SPACE_SHARED) || s->base < 0)
        return NONE;
    const struct ptx_operand *m = address_of(in);
    if (m->kind != PTX_OPD_ADDR || m->reg != s->base || m->off < 0 ||
        (uint64_t)m->off % c->stride || (uint64_t)m->off + c->stride > c->area->size)
        return NONE;
    return (int32_t)((uint64_t)m->off / c->stride);
}

static bool
same_inst(const struct ptx_inst *a, const struct ptx_inst *b)
{
    if (a->op != b->op || a->nops != b->nops || a->guard != b->guard ||
        a->guard_neg != b->guard_neg || a->text != b->text || a->ntypes != b->ntypes ||
        memcmp(a->type, b->type, sizeof a->type) ||
        memcmp(a->mod, b->mod, PTX_NMODGROUPS * sizeof *a->mod))
        return false;
    for (unsigned k = 0; k < a->nops; k++)
        if (!ptx_operand_same(&a->ops[k], &b->ops[k]))
            return false;
    return true;
}

static unsigned
units(const struct ptx_func *f, int32_t reg)
{
    unsigned bytes = ptx_type_bytes(f->regs.v[reg].type);
    return bytes <= 4 ? 1 : bytes / 4;
}

struct writes {
    const struct ptx_func *f;
    int32_t reg; /* a physical register */
    bool found;
};

static void
note_write(void *user, int32_t reg, bool write, bool partial)
{
    struct writes *w = user;
    const struct ptx_reg *a = &w->f->regs.v[reg], *b = &w->f->regs.v[w->reg];
    (void)partial;
    if (write && a->type != PTX_PRED && a->place < b->place + units(w->f, w->reg) &&
        b->place < a->place + units(w->f, reg))
        w->found = true;
}

/* Does the instruction write (a part of) the register? */
static bool
writes(const struct ptx_func *f, const struct ptx_inst *in, int32_t reg)
{
    struct writes w = {f, reg, false};
    if (reg >= 0)
        defuse_each(in, note_write, &w);
    return w.found;
}

/* -- calls -- */

static size_t
function_named(const struct check *c, const char *name)
{
    size_t i = 0;
    while (i < c->n && strcmp(c->fn[i].after->name, name))
        i++;
    return i;
}

/* Adds the slots of what `in` calls; returns whether *r grew. */
static bool
add_callees(const struct check *c, const struct ptx_inst *in, struct range *r)
{
    const struct range old = *r;
    for (unsigned k = 0; in->op == PTX_OP_CALL && k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        size_t i = o->kind == PTX_OPD_FUNCSYM && o->func
                       ? function_named(c, o->func->name)
                       : c->n;
        if (i == c->n || c->touch[i].lo >= c->touch[i].hi)
            continue;
        r->lo = r->lo < c->touch[i].lo ? r->lo : c->touch[i].lo;
        r->hi = r->hi > c->touch[i].hi ? r->hi : c->touch[i].hi;
    }
    return r->lo != old.lo || r->hi != old.hi;
}

static void
find_touched(struct check *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct range *r = &c->touch[i];
        *r = (struct range){UINT32_MAX, 0};
        const struct ptx_func *f = c->fn[i].after;
        for (size_t k = 0; k < f->body.n; k++) {
            int32_t s = slot_of(c, &c->fn[i], &f->body.v[k], PTX_OP_ST);
            if (s >= 0 && (uint32_t)s < r->lo)
                r->lo = (uint32_t)s;
            if (s >= 0 && (uint32_t)s >= r->hi)
                r->hi = (uint32_t)s + 1;
        }
    }
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < c->n; i++)
            for (size_t k = 0; k < c->fn[i].after->body.n; k++)
                again |= add_callees(c, &c->fn[i].after->body.v[k], &c->touch[i]);
    }
}

/* -- steps over the state -- */

static void
lose(struct check *c, int32_t place)
{
    for (uint32_t w = 0; w < c->nwords; w++)
        if (c->where[w] == place)
            c->where[w] = NOWHERE;
}

static bool
reach(struct check *c, bool load, uint32_t word, int32_t place)
{
    if (load)
        return c->where[word] == place || c->where[word] == ANYWHERE ||
               wrong(c, "the place does not hold the value that is read");
    lose(c, place);
    c->where[word] = place;
    return true;
}

static void
call(struct check *c, const struct ptx_inst *in)
{
    struct range r = {UINT32_MAX, 0};
    add_callees(c, in, &r);
    for (uint32_t s = r.lo; s < r.hi; s++)
        lose(c, (int32_t)s);
}

/* Whether in is a mov between the pair `wide` and its two halves {lo, hi}. */
static bool
is_split(const struct check *c, const struct ptx_inst *in, bool pack, int32_t wide,
         const int32_t half[2])
{
    const struct ptx_func *f = c->s->after;
    if (in->op != PTX_OP_MOV || in->guard >= 0)
        return false;
    const struct ptx_operand *v = &in->ops[pack ? 1 : 0], *r = &in->ops[pack ? 0 : 1];
    return v->kind == PTX_OPD_VEC && v->n == 2 && v->vec[0].reg == half[0] &&
           v->vec[1].reg == half[1] && r->kind == PTX_OPD_REG && r->reg == wide &&
           f->regs.v[half[0]].place == f->regs.v[wide].place &&
           f->regs.v[half[1]].place == f->regs.v[wide].place + 1;
}

/* The accesses that stand for access `old` of before; moves c->at after them. */
static bool
spill_access(struct check *c, const struct ptx_inst *old)
{
    const struct ptx_inst *in = &c->s->after->body.v[c->at];
    const size_t left = c->s->after->body.n - c->at;
    const bool load = old->op == PTX_OP_LD;
    const uint32_t word = (uint32_t)(address_of(old)->off / 4);
    const unsigned n = ptx_type_bytes(old->type[0]) == 8 ? 2 : 1;
    if (is_spill(c->s, in)) { /* it stayed */
        if (in->op != old->op || in->type[0] != old->type[0] ||
            data_of(in) != data_of(old))
            return wrong(c, "another access than it was");
        for (unsigned k = 0; k < n; k++)
            if (!reach(c, load, word + k,
                       (int32_t)(c->nslots + (uint32_t)(address_of(in)->off / 4) + k)))
                return false;
        c->at++;
        return true;
    }
    if (n == 1) {
        int32_t s = slot_of(c, c->s, in, old->op);
        if (s < 0 || in->type[0] != old->type[0] || data_of(in) != data_of(old))
            return wrong(c, "no access to a slot in place of that to local memory");
        c->at++;
        return reach(c, load, word, s);
    }
    if (left < 3)
        return wrong(c, "a pair takes two accesses and a move");
    int32_t s[2], half[2];
    for (unsigned k = 0; k < 2; k++) {
        const struct ptx_inst *part = &in[load ? k : k + 1];
        s[k] = slot_of(c, c->s, part, old->op);
        half[k] = s[k] >= 0 ? data_of(part) : NONE;
        if (half[k] < 0 || ptx_type_bytes(part->type[0]) != 4)
            return wrong(c, "a pair takes two accesses to slots");
    }
    if (!is_split(c, &in[load ? 2 : 0], load, data_of(old), half))
        return wrong(c, "the halves of a pair are not those of its register");
    for (unsigned k = 0; k < 2; k++)
        if (!reach(c, load, word + k, s[k]))
            return false;
    c->at += 3;
    return true;
}

/* A slot's value moves to another: ld, st. */
static bool
move(struct check *c)
{
    const struct ptx_inst *in = &c->s->after->body.v[c->at];
    int32_t from = slot_of(c, c->s, in, PTX_OP_LD);
    int32_t to =
        c->at + 1 < c->s->after->body.n ? slot_of(c, c->s, in + 1, PTX_OP_ST) : NONE;
    if (from < 0 || to < 0 || c->s->mover < 0 || data_of(in) != c->s->mover ||
        data_of(in + 1) != c->s->mover)
        return wrong(c, "it was inserted, and is no move between slots");
    lose(c, to);
    for (uint32_t w = 0; w < c->nwords; w++)
        if (c->where[w] == from)
            c->where[w] = to;
    c->at += 2;
    return true;
}

static bool
walk(struct check *c, uint32_t end)
{
    const struct spill_func *s = c->s;
    while (c->at < end) {
        const struct ptx_inst *in = &s->after->body.v[c->at];
        int32_t o = s->origin[c->at];
        if (o < 0) {
            if (!move(c))
                return false;
            continue;
        }
        const struct ptx_inst *old = &s->before->body.v[o];
        if (is_spill(s, old)) {
            if (!spill_access(c, old))
                return false;
            continue;
        }
        if (!same_inst(in, old))
            return wrong(c, "it is not as it was");
        if (writes(s->after, in, s->base) || writes(s->after, in, s->mover))
            return wrong(c, "it writes the register that addresses slots");
        if (in->op == PTX_OP_CALL)
            call(c, in);
        c->at++;
    }
    return c->at == end || wrong(c, "an access crosses the end of its block");
}

/* The prologue: what stands before the first instruction of before. It computes in
 * registers and touches no memory. Returns its length. */
static uint32_t
prologue(struct check *c)
{
    const struct ptx_func *f = c->s->after;
    bool area = false;
    for (c->at = 0; c->at < f->body.n && c->s->origin[c->at] < 0; c->at++) {
        const struct ptx_inst *in = &f->body.v[c->at];
        if (in->op == PTX_OP_LD) /* a move before a call */
            break;
        if (in->op != PTX_OP_MOV && in->op != PTX_OP_ADD && in->op != PTX_OP_MUL &&
            in->op != PTX_OP_MAD && in->op != PTX_OP_SHL)
            wrong(c, "the prologue does more than compute an address");
        for (unsigned k = 0; k < in->nops; k++)
            area |= in->ops[k].kind == PTX_OPD_SYM && in->ops[k].var == c->area;
    }
    if (c->s->base >= 0 && !area)
        wrong(c, "the prologue does not take the address of the slots");
    return c->at;
}

/* All instructions of before are there, in order. */
static bool
complete(struct check *c)
{
    const struct spill_func *s = c->s;
    int32_t next = 0;
    for (c->at = 0; c->at < s->after->body.n; c->at++) {
        int32_t o = s->origin[c->at];
        if (o < 0 || o == next - 1)
            continue;
        if (o != next++)
            return wrong(c, "an instruction is missing before it");
    }
    return next == (int32_t)s->before->body.n || wrong(c, "the last one is missing");
}

/* Meets `to` with c->where; returns whether it shrank. */
static bool
meet(const struct check *c, int32_t *to)
{
    bool changed = false;
    for (uint32_t w = 0; w < c->nwords; w++) {
        int32_t now = to[w] == ANYWHERE         ? c->where[w]
                      : c->where[w] == ANYWHERE ? to[w]
                      : to[w] == c->where[w]    ? to[w]
                                                : NOWHERE;
        changed |= now != to[w];
        to[w] = now;
    }
    return changed;
}

static bool
check_func(struct check *c, const struct spill_func *s)
{
    struct arena mem = {0};
    c->s = s;
    c->nslots = (uint32_t)(c->area->size / c->stride);
    c->nwords = 0;
    for (size_t i = 0; i < s->before->body.n; i++)
        if (is_spill(s, &s->before->body.v[i])) {
            const struct ptx_inst *in = &s->before->body.v[i];
            uint32_t end =
                (uint32_t)(address_of(in)->off + ptx_type_bytes(in->type[0]) + 3) / 4;
            c->nwords = end > c->nwords ? end : c->nwords;
        }
    c->where = ARENA_ARRAY(&mem, int32_t, c->nwords + 1);
    const uint32_t begin = prologue(c);
    struct cfg *g = cfg_new(s->after);
    int32_t **entry = ARENA_ARRAY(&mem, int32_t *, g->n);
    bool *stale = ARENA_ARRAY(&mem, bool, g->n), again = complete(c);
    entry[0] = ARENA_ARRAY(&mem, int32_t, c->nwords + 1);
    for (uint32_t w = 0; w < c->nwords; w++)
        entry[0][w] = ANYWHERE;
    stale[0] = true;
    while (again && !c->failed) {
        again = false;
        for (uint32_t k = 0; k < g->nrpo && !c->failed; k++) {
            const struct cfg_block *b = &g->block[g->rpo[k]];
            if (!stale[g->rpo[k]])
                continue;
            stale[g->rpo[k]] = false;
            memcpy(c->where, entry[g->rpo[k]], c->nwords * sizeof *c->where);
            c->at = b->first > begin ? b->first : begin;
            if (!walk(c, b->end))
                break;
            for (uint32_t e = 0; e < b->nsucc; e++) {
                int32_t t = b->succ[e];
                if (t < 0)
                    continue;
                bool changed = !entry[t];
                if (changed) {
                    entry[t] = ARENA_ARRAY(&mem, int32_t, c->nwords + 1);
                    memcpy(entry[t], c->where, c->nwords * sizeof *c->where);
                } else {
                    changed = meet(c, entry[t]);
                }
                stale[t] |= changed;
                again |= changed;
            }
        }
    }
    cfg_free(g);
    arena_free(&mem);
    return !c->failed;
}

bool
spill_check(const struct spill_func *fn, size_t n, const struct ptx_var *area,
            uint64_t stride, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct check c = {.fn = fn, .n = n, .area = area, .stride = stride, .diag = diag};
    c.touch = ARENA_ARRAY(&mem, struct range, n + 1);
    find_touched(&c);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = !fn[i].before || check_func(&c, &fn[i]);
    arena_free(&mem);
    return ok;
}
