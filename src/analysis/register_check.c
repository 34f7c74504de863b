/* register_check.c: symbolic data flow over places.
 *
 * A place is the first physical unit of a register, a predicate, or a word of the spill
 * slots. State: which virtual registers each place holds whole, as pairs (place,
 * register) that can be listed by place and by register. A write of a place ends the
 * pairs whose place overlaps it. At a join the states are intersected, until nothing
 * changes. A register that no path to here has written has no value that could be lost:
 * it is held anywhere. A guarded write adds to the old value, so the place must have held
 * that - unless there is none; if it did not, no place holds the register afterwards. Where
 * the original's registers are physical, a write ends the values of those that overlap.
 *
 * States only shrink while this is iterated, so what is wrong in one of them is wrong in
 * the end, and is reported immediately.
 *
 * An inserted instruction may repeat a definition of the original: a register written by
 * that instruction alone is a function of its sources until one of them is written again.
 * That it is so at some point is a pair too, with a place of its own (EQUATION), and meets
 * at joins like the others. So the repetition needs the sources' values in its operands
 * and this pair, and no dominance is asked for. Without sources it always holds.
 *
 * Instructions that were left out change nothing in a machine, so each may be taken to
 * happen anywhere between its neighbours; origin[] of an inserted instruction says which
 * have happened. Were that wrong, a read would not find its value.
 *
 * At the start of a block only registers that may be read from there on are kept, and the
 * sources of what is repeated; any other is held nowhere but in its equation. For this the
 * liveness of the original is computed here, and nothing is trusted to it: were it wrong,
 * a read would not find its value.
 *
 * Cost: O(instructions x pairs of the places they touch), a few rounds. */
#include "analysis/register_check.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"
#include "analysis/live.h"
#include "base/bitset.h"

enum { NONE = -1, WIDEST = 4 /* units of a register */, ANYWHERE = INT32_MAX };

/* Place p holds register v. */
struct pair {
    int32_t v, p;
};

/* The same in two lists. */
struct node {
    struct pair is;
    int32_t next_v, prev_v; /* of the same register; NONE: the last, the first */
    int32_t next_p, prev_p; /* of the same place */
};

/* State at the start of a block: pairs, by register; p is ANYWHERE for one that is held
 * anywhere. Registers that are not here are held nowhere. */
struct entry {
    VEC(struct pair) pair;
    bool reached, stale; /* by a path; changed since the block was walked */
};

struct use {
    int32_t of, next; /* what the equation defines; of the same source, NONE */
};

struct check {
    const struct ptx_func *before, *after;
    const int32_t *origin;
    const struct ptx_var *slots;
    struct diag_sink *diag;
    const struct cfg *g, *h; /* control flow of before and after */
    const struct live *live; /* of before */
    uint32_t nregs;          /* virtual ones */
    uint32_t nunits, npreds, nplaces;
    VEC(struct node) node;  /* those in use, and free ones */
    int32_t free;           /* the first free one, chained by next_v */
    int32_t *of_v, *of_p;   /* of each register and place: its first node */
    uint64_t *anywhere;     /* registers that are held anywhere */
    VEC(int32_t) anywheres; /* them, and some that no longer are */
    VEC(int32_t) moved;
    struct entry *entry;      /* per block */
    int32_t *repeats, nslots; /* hash of definitions that may be repeated */
    int32_t *next_repeat;     /* of an instruction of before: the next of its slot */
    bool *equation;           /* of one: it is in the hash and reads registers */
    int32_t *user;            /* of a register: first of `uses`, NONE */
    VEC(struct use) uses;     /* equations that read it */
    VEC(int32_t) sources;     /* registers that equations read */
    uint32_t *writers;        /* of each register: instructions that write it */
    uint32_t at;              /* instruction of after */
    bool failed;
};

static bool
wrong(struct check *c, const char *why, int32_t reg)
{
    if (c->failed)
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

/* -- pairs -- */

static void
add(struct check *c, int32_t v, int32_t p)
{
    int32_t n = c->free;
    if (n >= 0) {
        c->free = c->node.v[n].next_v;
    } else {
        n = (int32_t)c->node.n;
        vec_push(&c->node);
    }
    c->node.v[n] = (struct node){{v, p}, c->of_v[v], NONE, c->of_p[p], NONE};
    if (c->of_v[v] >= 0)
        c->node.v[c->of_v[v]].prev_v = n;
    if (c->of_p[p] >= 0)
        c->node.v[c->of_p[p]].prev_p = n;
    c->of_v[v] = c->of_p[p] = n;
}

static void
drop(struct check *c, int32_t n)
{
    struct node *x = &c->node.v[n];
    *(x->prev_v >= 0 ? &c->node.v[x->prev_v].next_v : &c->of_v[x->is.v]) = x->next_v;
    *(x->prev_p >= 0 ? &c->node.v[x->prev_p].next_p : &c->of_p[x->is.p]) = x->next_p;
    if (x->next_v >= 0)
        c->node.v[x->next_v].prev_v = x->prev_v;
    if (x->next_p >= 0)
        c->node.v[x->next_p].prev_p = x->prev_p;
    x->next_v = c->free;
    c->free = n;
}

/* Nothing is held. */
static void
clear(struct check *c)
{
    for (size_t i = 0; i < c->node.n; i++)
        c->of_v[c->node.v[i].is.v] = c->of_p[c->node.v[i].is.p] = NONE;
    c->node.n = 0;
    c->free = NONE;
    while (c->anywheres.n)
        bitset_del(c->anywhere, (size_t)c->anywheres.v[--c->anywheres.n]);
}

static bool
is_anywhere(const struct check *c, int32_t v)
{
    return bitset_has(c->anywhere, (size_t)v);
}

static bool
holds(const struct check *c, int32_t v, int32_t p)
{
    if (is_anywhere(c, v))
        return true;
    for (int32_t n = c->of_v[v]; n >= 0; n = c->node.v[n].next_v)
        if (c->node.v[n].is.p == p)
            return true;
    return false;
}

/* The place of a register that is the function of its sources which defines it. */
static int32_t
place_of_equation(const struct check *c)
{
    return (int32_t)c->nplaces;
}

/* v gets another value, which no place holds yet. */
static void
lose(struct check *c, int32_t v)
{
    bitset_del(c->anywhere, (size_t)v);
    while (c->of_v[v] >= 0)
        drop(c, c->of_v[v]);
    for (int32_t u = c->user[v]; u >= 0; u = c->uses.v[u].next)
        for (int32_t n = c->of_v[c->uses.v[u].of], next; n >= 0; n = next) {
            next = c->node.v[n].next_v;
            if (c->node.v[n].is.p == place_of_equation(c))
                drop(c, n);
        }
}

static void
set_anywhere(struct check *c, int32_t v)
{
    lose(c, v);
    bitset_add(c->anywhere, (size_t)v);
    *vec_push(&c->anywheres) = v;
}

/* Places [at, at + n) get something new: whoever was there, even in part, is gone. */
static void
overwrite(struct check *c, uint32_t at, uint32_t n)
{
    for (uint32_t p = at >= WIDEST ? at - WIDEST + 1 : 0; p < at + n; p++)
        for (int32_t k = c->of_p[p], next; k >= 0; k = next) {
            next = c->node.v[k].next_p;
            if (p + width(c->before, c->node.v[k].is.v) > at)
                drop(c, k);
        }
}

/* What was at place `from` is now also at `to`, n units. */
static void
copy_place(struct check *c, uint32_t to, uint32_t from, uint32_t n)
{
    if (to == from)
        return;
    c->moved.n = 0;
    for (int32_t k = c->of_p[from]; k >= 0; k = c->node.v[k].next_p)
        if (width(c->before, c->node.v[k].is.v) == n)
            *vec_push(&c->moved) = c->node.v[k].is.v;
    overwrite(c, to, n);
    for (size_t i = 0; i < c->moved.n; i++)
        add(c, c->moved.v[i], (int32_t)to);
}

/* d gets the value of s, wherever that is. */
static void
same_value(struct check *c, int32_t d, int32_t s)
{
    if (d == s)
        return;
    if (is_anywhere(c, s)) {
        set_anywhere(c, d);
        return;
    }
    lose(c, d);
    for (int32_t n = c->of_v[s]; n >= 0; n = c->node.v[n].next_v)
        if (c->node.v[n].is.p != place_of_equation(c))
            add(c, d, c->node.v[n].is.p);
}

/* -- an instruction that was there before -- */

static bool
same_but_registers(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a->op == b->op && a->nops == b->nops && a->ntypes == b->ntypes &&
           !memcmp(a->type, b->type, a->ntypes) &&
           !memcmp(a->mod, b->mod, PTX_NMODGROUPS * sizeof *a->mod) && (a->guard < 0) == (b->guard < 0) &&
           a->guard_neg == b->guard_neg && a->text == b->text;
}

static bool
is_dest(const struct ptx_inst *in, unsigned i)
{
    return in->op == PTX_OP_CALL ? i == 0 && in->ops[0].kind == PTX_OPD_VEC
                                 : defuse_is_dest(in, i);
}

/* Place of p of after, which stands for v of before; -1: it cannot. */
static int32_t
place_for(struct check *c, int32_t v, int32_t p)
{
    int32_t at = place_of(c, p);
    if (at >= 0 && width(c->before, v) == width(c->after, p) &&
        (c->before->regs.v[v].type == PTX_PRED) == (c->after->regs.v[p].type == PTX_PRED))
        return at;
    wrong(c, "a register of another width or file stands for", v);
    return -1;
}

static void
read_reg(struct check *c, int32_t v, int32_t p)
{
    int32_t at = place_for(c, v, p);
    if (at >= 0 && !holds(c, v, at))
        wrong(c, "its place does not hold the value of", v);
}

/* Where registers of the original are physical: what others on v's place held is lost in the
 * original too, so that nobody may read it. */
static void
end_others(struct check *c, int32_t v)
{
    const struct ptx_reg *r = c->before->regs.v;
    for (uint32_t k = 0; r[v].place && k < c->nregs; k++)
        if (k != (uint32_t)v && ptx_reg_overlaps(&r[k], &r[v]))
            set_anywhere(c, (int32_t)k);
}

static void
write_reg(struct check *c, int32_t v, int32_t p, bool partial)
{
    int32_t at = place_for(c, v, p);
    if (at < 0)
        return;
    bool whole = !partial || holds(c, v, at);
    overwrite(c, (uint32_t)at, width(c->before, v));
    lose(c, v);
    end_others(c, v);
    if (whole) /* else no place has the value of all lanes: nobody may read it */
        add(c, v, at);
}

/* The same but for the names of registers? */
static bool
same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->kind == b->kind && a->neg == b->neg && a->comp == b->comp &&
           a->joined == b->joined && a->label == b->label && a->sreg == b->sreg &&
           a->n == b->n && a->imm == b->imm && a->off == b->off && a->var == b->var &&
           a->func == b->func && (a->reg < 0) == (b->reg < 0);
}

static void
operand(struct check *c, const struct ptx_operand *a, const struct ptx_operand *b,
        bool dest, bool write, bool partial)
{
    if (!same_operand(a, b)) {
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

/* A move that is still there: the value is then in both places, which may be one. */
static void
old_move(struct check *c, const struct ptx_inst *a, const struct ptx_inst *b)
{
    int32_t d = a->ops[0].reg, s = a->ops[1].reg;
    read_reg(c, s, b->ops[1].reg);
    int32_t to = place_for(c, d, b->ops[0].reg), from = place_of(c, b->ops[1].reg);
    if (c->failed)
        return;
    if (is_anywhere(c, s)) {
        write_reg(c, d, b->ops[0].reg, false);
        return;
    }
    copy_place(c, (uint32_t)to, (uint32_t)from, width(c->before, s));
    same_value(c, d, s);
}

static void
old_inst(struct check *c, uint32_t i, const struct ptx_inst *b)
{
    const struct ptx_inst *a = &c->before->body.v[i];
    if (!same_but_registers(a, b)) {
        wrong(c, "it is not the instruction it stands for", -1);
        return;
    }
    if (is_move(c->before, a) && is_move(c->after, b)) {
        old_move(c, a, b);
        return;
    }
    if (a->guard >= 0)
        read_reg(c, a->guard, b->guard);
    for (int write = 0; write < 2; write++) /* all reads come before all writes */
        for (unsigned k = 0; k < a->nops; k++)
            operand(c, &a->ops[k], &b->ops[k], is_dest(a, k), write, ptx_keeps_old(a));
    if (c->equation[i])
        add(c, a->ops[0].reg, place_of_equation(c));
}

/* -- definitions that may be repeated -- */

static bool
reads_no_register(const struct ptx_inst *in)
{
    if (ptx_nops(in) != 2)
        return false;
    const struct ptx_operand *s = &in->ops[1];
    if (in->op == PTX_OP_MOV)
        return s->kind == PTX_OPD_IMM || s->kind == PTX_OPD_F32 ||
               s->kind == PTX_OPD_F64 || s->kind == PTX_OPD_SYM ||
               (s->kind == PTX_OPD_SREG &&
                (s->sreg == PTX_SREG_TID || s->sreg == PTX_SREG_NTID ||
                 s->sreg == PTX_SREG_CTAID || s->sreg == PTX_SREG_NCTAID ||
                 s->sreg == PTX_SREG_LANEID));
    if (in->op != PTX_OP_LD || s->kind != PTX_OPD_ADDR || s->reg >= 0 || !s->var)
        return false;
    enum ptx_space space = ptx_inst_space(in); /* neither changes while a kernel runs */
    return space == PTX_SPACE_CONST || (space == PTX_SPACE_PARAM && s->var->is_param);
}

/* A function of registers and literals, and of nothing else. */
static bool
reads_registers(const struct ptx_inst *in)
{
    const struct ptx_op_info *info = &ptx_ops[in->op];
    if (!(info->flags & PTX_PURE) || info->flags & PTX_CCIN || in->mod[PTX_MG_CC])
        return false;
    for (unsigned i = 1; i < in->nops; i++) {
        const struct ptx_operand *o = &in->ops[i];
        bool literal =
            o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_F32 || o->kind == PTX_OPD_F64;
        if (o->kind != PTX_OPD_NONE &&
            (is_dest(in, i) || o->joined || !(literal || o->kind == PTX_OPD_REG)))
            return false;
    }
    return true;
}

/* Can it be repeated, as far as its form says? */
static bool
is_definition(const struct ptx_func *f, const struct ptx_inst *in)
{
    return in->guard < 0 && in->nops >= 2 && in->ops[0].kind == PTX_OPD_REG &&
           !in->ops[0].comp && f->regs.v[in->ops[0].reg].type != PTX_PRED &&
           (reads_no_register(in) || reads_registers(in));
}

static void
count_writes(void *user, int32_t reg, bool write, bool partial)
{
    uint32_t *writers = user;
    (void)partial;
    writers[reg] += write;
}

static size_t
hash_definition(const struct check *c, const struct ptx_inst *in)
{
    uint64_t h = in->op;
    for (unsigned k = 1; k < in->nops; k++) {
        const struct ptx_operand *s = &in->ops[k];
        h ^= ((uint64_t)s->kind << 16) + ((uint64_t)s->sreg << 24) +
             ((uint64_t)s->comp << 40);
        h = (h ^ s->imm ^ (uint64_t)s->off << 7) * 0x9e3779b97f4a7c15u;
    }
    return (size_t)(h >> 32) & (size_t)(c->nslots - 1);
}

/* Finds the definitions that inserted instructions may repeat. */
static void
find_definitions(struct check *c, struct arena *mem)
{
    const struct ptx_func *f = c->before;
    for (size_t i = 0; i < f->body.n; i++)
        defuse_each(&f->body.v[i], count_writes, c->writers);
    uint64_t *wanted = bitset_new(mem, (size_t)c->nslots);
    for (size_t i = 0; i < c->after->body.n; i++)
        if (c->origin[i] < 0 && is_definition(c->after, &c->after->body.v[i]))
            bitset_add(wanted, hash_definition(c, &c->after->body.v[i]));
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (!is_definition(f, in) || c->writers[in->ops[0].reg] != 1)
            continue;
        size_t slot = hash_definition(c, in);
        bool itself = false;
        for (unsigned k = 1; k < in->nops; k++)
            itself |= in->ops[k].kind == PTX_OPD_REG && in->ops[k].reg == in->ops[0].reg;
        if (itself || !bitset_has(wanted, slot))
            continue;
        c->next_repeat[i] = c->repeats[slot];
        c->repeats[slot] = (int32_t)i;
        for (unsigned k = 1; k < in->nops; k++)
            if (in->ops[k].kind == PTX_OPD_REG) {
                c->equation[i] = true;
                if (c->user[in->ops[k].reg] == NONE)
                    *vec_push(&c->sources) = in->ops[k].reg;
                *vec_push(&c->uses) =
                    (struct use){in->ops[0].reg, c->user[in->ops[k].reg]};
                c->user[in->ops[k].reg] = (int32_t)c->uses.n - 1;
            }
    }
}

/* Does `in` of after compute what definition i of before does, from the same values? */
static bool
repeats(const struct check *c, const struct ptx_inst *in, int32_t i)
{
    const struct ptx_inst *d = &c->before->body.v[i];
    if (!same_but_registers(d, in) ||
        width(c->before, d->ops[0].reg) != width(c->after, in->ops[0].reg))
        return false;
    for (unsigned k = 1; k < in->nops; k++) {
        const struct ptx_operand *x = &d->ops[k], *y = &in->ops[k];
        if (!same_operand(x, y))
            return false;
        if (x->kind != PTX_OPD_REG)
            continue;
        int32_t at = place_of(c, y->reg);
        if (at < 0 || width(c->before, x->reg) != width(c->after, y->reg) ||
            !holds(c, x->reg, at))
            return false;
    }
    return !c->equation[i] || holds(c, d->ops[0].reg, place_of_equation(c));
}

/* -- instructions left out -- */

/* Instruction i of before was left out. */
static void
left_out(struct check *c, uint32_t i)
{
    const struct ptx_inst *in = &c->before->body.v[i];
    if (is_move(c->before, in)) {
        same_value(c, in->ops[0].reg, in->ops[1].reg);
    } else if (is_definition(c->before, in)) {
        int32_t d = in->ops[0].reg;
        lose(c, d);
        if (c->writers[d] != 1)
            wrong(c, "left out before it: one of several definitions of", d);
        if (c->equation[i])
            add(c, d, place_of_equation(c));
    } else {
        wrong(c, "an instruction before it was left out that is no move", -1);
    }
}

/* -- instructions made by the allocator -- */

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
    if (!is_definition(f, in))
        return wrong(c, "an instruction that was not there before", -1);
    int32_t at = place_of(c, in->ops[0].reg);
    if (at < 0)
        return wrong(c, "a register without a place", -1);
    c->moved.n = 0;
    for (int32_t i = c->repeats[hash_definition(c, in)]; i >= 0; i = c->next_repeat[i])
        if (repeats(c, in, i))
            *vec_push(&c->moved) = c->before->body.v[i].ops[0].reg;
    overwrite(c, (uint32_t)at, width(f, in->ops[0].reg));
    for (size_t i = 0; i < c->moved.n; i++)
        if (!holds(c, c->moved.v[i], at))
            add(c, c->moved.v[i], at);
    return c->moved.n || wrong(c, "it repeats no definition of these values", -1);
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

static void
walk_block(struct check *c, uint32_t b)
{
    const struct cfg_block *x = &c->g->block[b], *y = &c->h->block[b];
    uint32_t next = x->first;
    for (c->at = y->first; c->at <= y->end && !c->failed; c->at++) {
        bool end = c->at == y->end;
        uint32_t kept = next_kept(c, c->at, x, y), ahead = kept;
        if (kept < next || kept > x->end) {
            wrong(c, "it stands in another place than before", -1);
            return;
        }
        if (!end && c->origin[c->at] < REGISTER_CHECK_INSERTED)
            ahead = (uint32_t)(REGISTER_CHECK_INSERTED - 1 - c->origin[c->at]);
        for (; next < kept && next < ahead; next++)
            left_out(c, next);
        if (end)
            break;
        if (c->origin[c->at] < 0)
            new_inst(c, &c->after->body.v[c->at]);
        else
            old_inst(c, next++, &c->after->body.v[c->at]);
    }
}

/* Where v is now is where it is at the start of the block. */
static void
keep(const struct check *c, struct entry *e, int32_t v)
{
    if (is_anywhere(c, v))
        *vec_push(&e->pair) = (struct pair){v, ANYWHERE};
    for (int32_t n = c->of_v[v]; n >= 0; n = c->node.v[n].next_v)
        if (c->node.v[n].is.p != place_of_equation(c))
            *vec_push(&e->pair) = c->node.v[n].is;
}

/* The state at the end of a block reaches the start of another: what holds there is what
 * holds on all paths. */
static void
meet(struct check *c, uint32_t to)
{
    struct entry *e = &c->entry[to];
    if (!e->reached) {
        e->reached = e->stale = true;
        for (uint32_t i = c->live->start[to]; i < c->live->start[to + 1]; i++)
            keep(c, e, (int32_t)c->live->reg[i]);
        for (size_t i = 0; i < c->sources.n; i++)
            if (!live_at_start(c->live, to, (uint32_t)c->sources.v[i]))
                keep(c, e, c->sources.v[i]);
        for (int32_t n = c->of_p[c->nplaces]; n >= 0; n = c->node.v[n].next_p)
            *vec_push(&e->pair) = c->node.v[n].is; /* of dead ones too */
        return;
    }
    size_t kept = 0, n = e->pair.n;
    for (size_t i = 0; i < n; i++) {
        struct pair x = e->pair.v[i];
        if (x.p != ANYWHERE ? holds(c, x.v, x.p) : is_anywhere(c, x.v)) {
            e->pair.v[kept++] = x;
            continue;
        }
        e->stale = true;
        for (int32_t k = c->of_v[x.v]; x.p == ANYWHERE && k >= 0; k = c->node.v[k].next_v)
            *vec_push(&e->pair) = c->node.v[k].is; /* in place of anywhere */
    }
    if (kept < n) /* else nothing moves, and there may be no pairs at all */
        memmove(e->pair.v + kept, e->pair.v + n, (e->pair.n - n) * sizeof *e->pair.v);
    e->pair.n -= n - kept;
}

static void
start_block(struct check *c, uint32_t b)
{
    struct entry *e = &c->entry[b];
    clear(c);
    for (size_t i = 0; i < e->pair.n; i++)
        if (e->pair.v[i].p == ANYWHERE)
            set_anywhere(c, e->pair.v[i].v);
        else
            add(c, e->pair.v[i].v, e->pair.v[i].p);
    e->stale = false;
}

static void
solve(struct check *c)
{
    for (uint32_t i = c->live->start[0]; i < c->live->start[1]; i++)
        *vec_push(&c->entry[0].pair) = (struct pair){(int32_t)c->live->reg[i], ANYWHERE};
    c->entry[0].reached = c->entry[0].stale = true;
    for (bool again = true; again && !c->failed;) {
        again = false;
        for (uint32_t k = 0; k < c->g->nrpo && !c->failed; k++) {
            uint32_t b = c->g->rpo[k];
            if (!c->entry[b].stale)
                continue;
            again = true;
            start_block(c, b);
            walk_block(c, b);
            for (uint32_t s = 0; s < c->g->block[b].nsucc; s++)
                if (c->g->block[b].succ[s] >= 0)
                    meet(c, (uint32_t)c->g->block[b].succ[s]);
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
    struct live *live = live_new(g);
    c.live = live;
    c.of_v = ARENA_ARRAY(&mem, int32_t, c.nregs + 1);
    c.of_p = ARENA_ARRAY(&mem, int32_t, c.nplaces + WIDEST);
    memset(c.of_v, 0xff, sizeof *c.of_v * c.nregs);
    memset(c.of_p, 0xff, sizeof *c.of_p * (c.nplaces + WIDEST));
    c.free = NONE;
    c.anywhere = bitset_new(&mem, c.nregs + 1);
    c.entry = ARENA_ARRAY(&mem, struct entry, g->n);
    c.writers = ARENA_ARRAY(&mem, uint32_t, c.nregs + 1);
    for (c.nslots = 64; (uint32_t)c.nslots < before->body.n;)
        c.nslots *= 2;
    c.repeats = ARENA_ARRAY(&mem, int32_t, c.nslots);
    c.next_repeat = ARENA_ARRAY(&mem, int32_t, before->body.n + 1);
    memset(c.repeats, 0xff, sizeof *c.repeats * (size_t)c.nslots);
    c.equation = ARENA_ARRAY(&mem, bool, before->body.n + 1);
    c.user = ARENA_ARRAY(&mem, int32_t, c.nregs + 1);
    memset(c.user, 0xff, sizeof *c.user * (c.nregs + 1));
    find_definitions(&c, &mem);
    bool ok = true;
    if (!same_flow(&c)) {
        ok = diag_error(diag, "register allocation of %s changed its control flow",
                        after->name);
    } else {
        solve(&c);
        ok = !c.failed;
    }
    for (uint32_t b = 0; b < g->n; b++)
        vec_free(&c.entry[b].pair);
    vec_free(&c.node);
    vec_free(&c.anywheres);
    vec_free(&c.moved);
    vec_free(&c.uses);
    vec_free(&c.sources);
    live_free(live);
    cfg_free(g);
    cfg_free(h);
    arena_free(&mem);
    return ok;
}

struct misplaced {
    const struct ptx_func *f;
    int32_t reg; /* NONE: all have a place */
};

static void
note_place(void *user, int32_t reg, bool write, bool partial)
{
    struct misplaced *m = user;
    const struct ptx_reg *r = &m->f->regs.v[reg];
    (void)write;
    (void)partial;
    uint32_t most = r->type == PTX_PRED ? m->f->predicates : m->f->registers;
    if (!r->place || r->place - 1u + width(m->f, reg) > most)
        m->reg = reg;
}

bool
register_check_places(const struct ptx_func *f, struct diag_sink *diag)
{
    struct misplaced m = {f, NONE};
    size_t i = 0;
    if (!f->registers && !f->predicates)
        return true;
    for (; i < f->body.n && m.reg < 0; i++)
        defuse_each(&f->body.v[i], note_place, &m);
    if (m.reg < 0)
        return true;
    if (diag) {
        const struct ptx_inst *in = &f->body.v[i - 1];
        struct diag_loc loc = {f->module->file, f->module->text, in->line, in->col, 0};
        diag_add(diag, DIAG_ERROR, in->line ? &loc : NULL,
                 "%s: register %s of '%s' has no place in the %u registers and %u "
                 "predicates of the allocation",
                 f->name, f->regs.v[m.reg].name, ptx_ops[in->op].mnemonic, f->registers,
                 f->predicates);
    }
    return false;
}
