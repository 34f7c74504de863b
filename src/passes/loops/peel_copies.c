/* peel_copies.c: the copies of a loop's iterations that peel_loops.c and unroll.c ask for, and the
 * names of registers in them. What an iteration does not hand on to the next gets a new name in each copy.
 * So does what it hands on by one definition that every iteration runs: a use is of the old value
 * where that definition does not dominate it, else of the new one. After the last copy the
 * registers that are handed on get their own names back. Cost: instructions times iterations. */
#include "passes/loops/peel.h"

#include "passes/rewrite.h"

#include "analysis/defuse.h"

#include <string.h>

static struct ptx_operand
label_operand(int32_t label)
{
    struct ptx_operand o = {.kind = PTX_OPD_LABEL, .reg = -1};
    o.label = label;
    return o;
}

void
peel_put_label(struct peel *p, int32_t label)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_LABEL, 1);
    in.ops[0] = label_operand(label);
    *vec_push(&p->to) = in;
}

void
peel_put_jump(struct peel *p, int32_t label, int32_t guard, bool neg)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_BRA, 1);
    in.ops[0] = label_operand(label);
    in.guard = guard;
    in.guard_neg = neg;
    *vec_push(&p->to) = in;
}

/* -- names -- */

void
peel_start(struct peel *p)
{
    const uint32_t n = (uint32_t)p->f->regs.n;
    p->now = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->was = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->home = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->written = ARENA_ARRAY(&p->mem, uint32_t, n + 1);
    p->defs = ARENA_ARRAY(&p->mem, uint32_t, n + 1);
    p->given = bitset_new(&p->mem, n + 1);
    p->own = bitset_new(&p->mem, n + 1);
    p->label_of = ARENA_ARRAY(&p->mem, int32_t, p->g->n + 1);
    p->order = ARENA_ARRAY(&p->mem, uint32_t, p->g->n + 1);
    for (uint32_t r = 0; r < n; r++) {
        p->now[r] = p->was[r] = (int32_t)r;
        p->home[r] = PEEL_KEEPS;
    }
}

bool
peel_is_reducible(const struct peel *p)
{
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (peel_has(p, b->succ[e]) && p->g->block[b->succ[e]].rpo <= b->rpo &&
                !cfg_dominates(p->g, b->succ[e], (int32_t)p->l->list[k]))
                return false;
    }
    return true;
}

struct count {
    struct peel *p;
    uint32_t block;
};

static void
count_def(void *user, int32_t reg, bool write, bool partial)
{
    struct count *c = user;
    if (!write)
        return;
    if (!c->p->defs[reg])
        c->p->written[c->p->nwritten++] = (uint32_t)reg;
    c->p->defs[reg] += partial ? 2 : 1;
    c->p->home[reg] = (int32_t)c->block;
}

void
peel_find_names(struct peel *p, const struct live *live, const struct loops *all)
{
    for (uint32_t k = 0; k < p->nwritten; k++) { /* of the loop before */
        p->home[p->written[k]] = PEEL_KEEPS;
        p->defs[p->written[k]] = 0;
    }
    p->nwritten = 0;
    struct count c = {.p = p};
    for (uint32_t k = 0; k < p->l->n; k++) {
        c.block = p->l->list[k];
        const struct cfg_block *b = &p->g->block[c.block];
        for (uint32_t i = b->first; i < b->end; i++)
            if (!ptx_is_pseudo(&p->f->body.v[i]))
                defuse_each(&p->f->body.v[i], count_def, &c);
    }
    for (uint32_t k = 0; k < p->nwritten; k++) {
        const uint32_t r = p->written[k];
        const int32_t home = p->home[r];
        if (!live_at_end(live, p->latch, r))
            p->home[r] = PEEL_ITERATION;
        else if (p->defs[r] > 1 || &all->loop[all->innermost[home]] != p->l ||
                 !cfg_dominates(p->g, home, (int32_t)p->latch))
            p->home[r] = PEEL_KEEPS;
    }
}

int32_t
peel_name_of(const struct peel *p, int32_t r, uint32_t block, bool dest)
{
    if (p->home[r] == PEEL_KEEPS)
        return r;
    if (p->home[r] == PEEL_ITERATION || dest)
        return p->now[r];
    if (p->home[r] == (int32_t)block)
        return bitset_has(p->given, (size_t)r) ? p->now[r] : p->was[r];
    return cfg_dominates(p->g, p->home[r], (int32_t)block) ? p->now[r] : p->was[r];
}

static void
rename_operand(const struct peel *p, struct ptx_operand *o, uint32_t block, bool dest)
{
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        rename_operand(p, &o->vec[k], block, dest);
    if ((o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR) && o->reg >= 0)
        o->reg = peel_name_of(p, o->reg, block, dest && o->kind == PTX_OPD_REG);
}

static void
note_given(void *user, int32_t reg, bool write, bool partial)
{
    struct peel *p = user;
    (void)partial;
    if (write)
        bitset_add(p->given, (size_t)reg);
}

void
peel_note_given(struct peel *p, const struct ptx_inst *in)
{
    defuse_each(in, note_given, p);
}

static struct ptx_inst
renamed(struct peel *p, uint32_t i)
{
    struct ptx_inst in = p->f->body.v[i];
    const uint32_t block = p->g->block_of[i];
    in.ops = ptx_operands_dup(p->f->module, in.ops, in.nops);
    if (in.guard >= 0)
        in.guard = peel_name_of(p, in.guard, block, false);
    for (unsigned k = 0; k < in.nops; k++)
        rename_operand(p, &in.ops[k], block, defuse_is_dest(&in, k));
    peel_note_given(p, &p->f->body.v[i]);
    return in;
}

void
peel_new_names(struct peel *p)
{
    for (uint32_t k = 0; k < p->nwritten; k++) {
        const uint32_t r = p->written[k];
        bitset_del(p->given, r);
        p->was[r] = p->now[r];
        if (bitset_has(p->own, r))
            p->now[r] = (int32_t)r;
        else if (p->home[r] != PEEL_KEEPS)
            p->now[r] = ptx_reg_new(p->f, (enum ptx_type)p->f->regs.v[r].type);
    }
}

void
peel_names_end(struct peel *p)
{
    for (uint32_t k = 0; k < p->nwritten; k++)
        p->now[p->written[k]] = p->was[p->written[k]] = (int32_t)p->written[k];
}

/* -- copies -- */

static int
by_rpo(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

void
peel_find_order(struct peel *p)
{
    struct arena mem = {0};
    int64_t *key = ARENA_ARRAY(&mem, int64_t, p->l->n);
    p->n = 0;
    for (uint32_t k = 0; k < p->l->n; k++)
        if (p->l->list[k] != p->latch && p->l->list[k] != p->back)
            key[p->n++] = (int64_t)p->g->block[p->l->list[k]].rpo << 32 | p->l->list[k];
    qsort(key, p->n, sizeof *key, by_rpo);
    for (uint32_t k = 0; k < p->n; k++)
        p->order[k] = (uint32_t)key[k];
    p->order[p->n++] = p->latch;
    arena_free(&mem);
}

/* The end of block order[k] in this copy: on to where it went. */
static void
copy_end(struct peel *p, uint32_t k)
{
    const struct cfg_block *b = &p->g->block[p->order[k]];
    const struct ptx_inst *last = &p->f->body.v[b->end - 1];
    const bool jumps = cfg_targets(last, NULL, 0) != 0;
    const int32_t next = (int32_t)p->order[k + 1], first = b->succ[0],
                  second = b->nsucc > 1 ? b->succ[1] : first;
    if (!jumps || b->nsucc < 2) { /* one way */
        if (first != next)
            peel_put_jump(p, p->label_of[first], -1, false);
        return;
    }
    const int32_t guard = peel_name_of(p, last->guard, p->order[k], false);
    if (first == next) {
        peel_put_jump(p, p->label_of[second], guard, !last->guard_neg);
        return;
    }
    peel_put_jump(p, p->label_of[first], guard, last->guard_neg);
    if (second != next)
        peel_put_jump(p, p->label_of[second], -1, false);
}

bool
peel_is_line(const struct ptx_inst *in)
{
    return in->op == PTX_OP_DIRECTIVE && in->text && !strncmp(in->text, ".loc", 4);
}

void
peel_copy_iteration(struct peel *p, int32_t guard, bool neg)
{
    for (uint32_t k = 0; k < p->n; k++) {
        const struct ptx_inst *in = &p->f->body.v[p->g->block[p->order[k]].first];
        p->label_of[p->order[k]] = !k ? -1
                                   : p->labels && in->op == PTX_OP_LABEL
                                       ? in->ops[0].label
                                       : ptx_label_new(p->f);
    }
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cfg_block *b = &p->g->block[p->order[k]];
        if (k && !(p->labels && p->f->body.v[b->first].op == PTX_OP_LABEL))
            peel_put_label(p, p->label_of[p->order[k]]);
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (peel_is_line(in) || (in->op == PTX_OP_LABEL && p->labels && k))
                *vec_push(&p->to) = *in;
            if (ptx_is_pseudo(in) || cfg_targets(in, NULL, 0))
                continue;
            *vec_push(&p->to) = renamed(p, i);
            if (p->edit)
                p->edit(p->user, i, &p->to.v[p->to.n - 1]);
            if (guard >= 0 && ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE)) {
                p->to.v[p->to.n - 1].guard = guard;
                p->to.v[p->to.n - 1].guard_neg = neg;
            }
        }
        if (k + 1 < p->n)
            copy_end(p, k);
    }
    p->labels = false;
}

/* Registers that are read after the copies get their names back. */
static void
names_back(struct peel *p)
{
    for (uint32_t k = 0; k < p->nwritten; k++) {
        const uint32_t r = p->written[k];
        if (p->home[r] < 0 || p->now[r] == (int32_t)r)
            continue;
        struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_MOV, 2);
        struct ptx_operand to = {.kind = PTX_OPD_REG, .label = -1}, from = to;
        to.reg = (int32_t)r;
        from.reg = p->now[r];
        in.ops[0] = to;
        rewrite_as_mov(p->f, &in, &from);
        *vec_push(&p->to) = in;
    }
}

static void
copies(struct peel *p)
{
    const struct ptx_inst *last = &p->f->body.v[p->g->block[p->latch].end - 1];
    const bool to_header = p->g->block[p->latch].succ[0] == (int32_t)p->l->header;
    const bool neg = last->guard_neg == to_header; /* of going on */
    for (uint64_t t = 0; t < p->trips; t++) {
        peel_new_names(p);
        peel_copy_iteration(p, -1, false);
    }
    const int32_t guard = peel_name_of(p, last->guard, p->latch, false);
    if (p->left == LEFT_GUARDED) {
        peel_new_names(p);
        peel_copy_iteration(p, guard, neg);
    } else {
        names_back(p);
    }
    if (p->left == LEFT_LOOP)
        peel_put_jump(p, p->old_label[p->l->header], guard, neg);
    uint32_t next = p->before + 1; /* whose code stands after the copies */
    while (p->left != LEFT_LOOP && next < p->g->n && peel_has(p, (int32_t)next))
        next++;
    if (next != p->after)
        peel_put_jump(p, p->old_label[p->after], -1, false);
}

static int32_t
label_at(struct peel *p, uint32_t v)
{
    const struct ptx_inst *in = &p->f->body.v[p->g->block[v].first];
    if (in->op == PTX_OP_LABEL)
        return in->ops[0].label;
    return ptx_label_new(p->f);
}

/* The body with the copies after the block before the loop. */
void
peel_rebuild(struct peel *p)
{
    struct ptx_func *f = p->f;
    const uint32_t blocks[] = {p->l->header, p->after};
    p->old_label = ARENA_ARRAY(&p->mem, int32_t, p->g->n + 1);
    for (int k = 0; k < 2; k++)
        p->old_label[blocks[k]] = label_at(p, blocks[k]);
    peel_find_order(p);
    for (uint32_t v = 0; v < p->g->n; v++) {
        const struct cfg_block *b = &p->g->block[v];
        const bool gone = p->left != LEFT_LOOP && peel_has(p, (int32_t)v);
        for (int k = 0; k < 2; k++)
            if (v == blocks[k] && f->body.v[b->first].op != PTX_OP_LABEL)
                peel_put_label(p, p->old_label[v]);
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &f->body.v[i];
            if (gone ? in->op == PTX_OP_LABEL
                     : v != p->before || b->nsucc > 1 || !cfg_targets(in, NULL, 0))
                *vec_push(&p->to) = *in;
        }
        if (v == p->before)
            copies(p);
    }
    vec_take(&f->body, &p->to);
}
