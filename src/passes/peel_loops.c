/* peel_loops.c: turns of a loop that fills scratchpad become straight code (003 section 4.2:
 * "loop peeling is used to create such a task"). The loads of all turns can then stand
 * before the first store, outside of the region in which a block needs its scratchpad
 * (late-stores and region-shrink move them):
 *
 *     L: ld.global a, [p]             ld.global a1, [p]
 *        st.shared [s], a             ld.global a2, [p+512]
 *        p += 512; s += 512     ->    ...
 *        @q bra L                     st.shared [s], a1
 *                                     st.shared [s+512], a2 ...
 *
 * How many turns a loop has is found by running its address arithmetic for each thread of
 * a block (thread_bytes.h); so the code is for one launch. As many turns are peeled as
 * every thread runs that comes to the loop. What is left of it:
 *
 *     nothing         all threads run equally many
 *     guarded code    some run one more, and the turn is straight: its loads and stores get
 *                     the loop's predicate as a guard
 *     the loop        else
 *
 * Before that, %ntid becomes a number, and branches that all threads take alike go: for
 * arms around such loops no region could begin within.
 *
 * Registers. What a turn does not hand on to the next gets a new name in each copy. So
 * does what it hands on by one definition that every turn runs: a use is of the old value
 * where that definition does not dominate it, else of the new one.
 *
 * Loops: one way back, which is the only way out, and one way in; they store to
 * scratchpad and load from elsewhere; no barriers, atomics, calls or reads of scratchpad.
 * Cost: the walks, and instructions times turns, at most `most` for a loop. */
#include "passes/thread_bytes.h"

#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/live.h"
#include "analysis/loops.h"

#include <string.h>

enum { MOST_LOOPS = 32 };

typedef VEC(struct ptx_inst) body_t;

struct peel {
    struct ptx_func *f;
    const struct pass_args *a;
    const struct cfg *g;
    const struct loop *l;
    uint32_t before, latch, after; /* blocks: the one way in, the way back, behind it */
    uint64_t turns;                /* that are peeled */
    enum { LEFT_NONE, LEFT_GUARDED, LEFT_LOOP } left;
    uint32_t *order, n;            /* the loop's blocks, each behind those that lead to it */
    /* Of each register, within a copy: its name where the definition of this turn reaches,
     * and elsewhere; block of that definition, -1: it keeps its name. */
    int32_t *now, *was, *home;
    uint64_t *given;   /* registers whose definition of this turn has been copied */
    int32_t *label_of; /* of each block of the flow graph: label in this copy */
    int32_t *old_label; /* of header and the block behind: where they stand */
    body_t to;
    struct arena mem;
};

static struct ptx_operand
label_operand(int32_t label)
{
    struct ptx_operand o = {.kind = PTX_OPD_LABEL, .reg = -1};
    o.label = label;
    return o;
}

static void
put_label(struct peel *p, int32_t label)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_LABEL, 1);
    in.ops[0] = label_operand(label);
    *vec_push(&p->to) = in;
}

static void
put_jump(struct peel *p, int32_t label, int32_t guard, bool neg)
{
    struct ptx_inst in = ptx_inst_new(p->f->module, PTX_OP_BRA, 1);
    in.ops[0] = label_operand(label);
    in.guard = guard;
    in.guard_neg = neg;
    *vec_push(&p->to) = in;
}

/* -- what can be peeled -- */

static bool
in_loop(const struct peel *p, int32_t v)
{
    return v >= 0 && bitset_has(p->l->blocks, (size_t)v);
}

/* Finds the ways in, back and out; false: there are several. */
static bool
find_shape(struct peel *p)
{
    const struct cfg_block *h = &p->g->block[p->l->header];
    unsigned in = 0, back = 0, out = 0;
    for (uint32_t e = 0; e < h->npred; e++) {
        const uint32_t v = (uint32_t)h->pred[e];
        if (in_loop(p, (int32_t)v)) {
            p->latch = v;
            back++;
        } else if (p->g->block[v].rpo >= 0) {
            p->before = v;
            in++;
        }
    }
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (!in_loop(p, b->succ[e])) {
                out += p->l->list[k] == p->latch && b->succ[e] >= 0 ? 1 : 2;
                p->after = (uint32_t)b->succ[e];
            }
    }
    const struct cfg_block *latch = &p->g->block[p->latch];
    return in == 1 && back == 1 && out == 1 && p->g->block[p->before].nsucc == 1 &&
           p->f->body.v[latch->end - 1].op == PTX_OP_BRA;
}

static bool
fills(const struct peel *p, const struct scratch_use *use, uint64_t *instructions)
{
    const scratch_set *touch = use->funcs.v[0].touch;
    bool stores = false, loads = false;
    *instructions = 0;
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            const unsigned flags = ptx_ops[in->op].flags;
            if (ptx_is_pseudo(in))
                continue;
            if (flags & (PTX_ATOMIC | PTX_CROSSLANE | PTX_ENDS) ||
                in->op == PTX_OP_CALL || ptx_inst_barrier(in) >= 0 ||
                (flags & PTX_JUMP && in->op != PTX_OP_BRA) ||
                (touch[i] && !(flags & PTX_STORE)))
                return false;
            stores |= touch[i] != 0;
            loads |= (flags & PTX_LOAD) != 0;
            ++*instructions;
        }
    }
    return stores && loads;
}

/* Whether the last turn can run under a guard: straight code, of which only loads and
 * stores need it, and nothing that it computes is read behind the loop. */
static bool
can_guard(const struct peel *p, const struct live *live)
{
    const struct cfg_block *b = &p->g->block[p->latch];
    if (p->l->n != 1)
        return false;
    for (uint32_t i = b->first; i + 1 < b->end; i++) {
        const struct ptx_inst *in = &p->f->body.v[i];
        const bool memory = ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE);
        if (ptx_is_pseudo(in))
            continue;
        if (in->guard >= 0 || !(memory || rewrite_is_pure(in)))
            return false;
        for (unsigned k = 0; k < in->nops; k++)
            if (defuse_is_dest(in, k) && in->ops[k].kind != PTX_OPD_NONE &&
                (in->ops[k].kind != PTX_OPD_REG ||
                 live_at_start(live, p->after, (uint32_t)in->ops[k].reg)))
                return false;
    }
    return true;
}

/* -- names -- */

struct count {
    uint32_t *defs;
    int32_t *home;
    uint32_t block;
};

static void
count_def(void *user, int32_t reg, bool write, bool partial)
{
    struct count *c = user;
    if (!write)
        return;
    c->defs[reg] += partial ? 2 : 1;
    c->home[reg] = (int32_t)c->block;
}

/* Which registers get new names; was[r] = now[r] = r for all. */
static void
find_names(struct peel *p, const struct live *live, const struct loops *all)
{
    const uint32_t n = (uint32_t)p->f->regs.n;
    p->now = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->was = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->home = ARENA_ARRAY(&p->mem, int32_t, n + 1);
    p->given = bitset_new(&p->mem, n + 1);
    struct count c = {ARENA_ARRAY(&p->mem, uint32_t, n + 1), p->home, 0};
    for (uint32_t r = 0; r < n; r++)
        p->now[r] = p->was[r] = (int32_t)r;
    for (uint32_t k = 0; k < p->l->n; k++) {
        c.block = p->l->list[k];
        const struct cfg_block *b = &p->g->block[c.block];
        for (uint32_t i = b->first; i < b->end; i++)
            if (!ptx_is_pseudo(&p->f->body.v[i]))
                defuse_each(&p->f->body.v[i], count_def, &c);
    }
    for (uint32_t r = 0; r < n; r++) {
        const bool carried = live_at_end(live, p->latch, r);
        if (!c.defs[r] ||
            (carried && (c.defs[r] > 1 ||
                         &all->loop[all->innermost[p->home[r]]] != p->l ||
                         !cfg_dominates(p->g, p->home[r], (int32_t)p->latch))))
            p->home[r] = -1;
        else if (!carried)
            p->home[r] = -2;
    }
}

/* home: -2, it is this turn's alone. */
static int32_t
name_of(const struct peel *p, int32_t r, uint32_t block, bool dest)
{
    if (p->home[r] == -1)
        return r;
    if (p->home[r] == -2 || dest)
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
        o->reg = name_of(p, o->reg, block, dest && o->kind == PTX_OPD_REG);
}

static void
note_given(void *user, int32_t reg, bool write, bool partial)
{
    struct peel *p = user;
    (void)partial;
    if (write)
        bitset_add(p->given, (size_t)reg);
}

static struct ptx_inst
renamed(struct peel *p, uint32_t i)
{
    struct ptx_inst in = p->f->body.v[i];
    const uint32_t block = p->g->block_of[i];
    in.ops = ptx_operands_dup(p->f->module, in.ops, in.nops);
    if (in.guard >= 0)
        in.guard = name_of(p, in.guard, block, false);
    for (unsigned k = 0; k < in.nops; k++)
        rename_operand(p, &in.ops[k], block, defuse_is_dest(&in, k));
    defuse_each(&p->f->body.v[i], note_given, p);
    return in;
}

static void
new_names(struct peel *p, uint32_t n)
{
    memset(p->given, 0, BITSET_WORDS(n + 1) * sizeof *p->given);
    for (uint32_t r = 0; r < n; r++) {
        p->was[r] = p->now[r];
        if (p->home[r] != -1)
            p->now[r] = ptx_reg_new(p->f, (enum ptx_type)p->f->regs.v[r].type);
    }
}

/* -- copies -- */

/* The loop's blocks in reverse post-order: the header first, the way back last. */
static void
find_order(struct peel *p)
{
    p->order = ARENA_ARRAY(&p->mem, uint32_t, p->l->n + 1);
    for (uint32_t k = 0; k < p->g->nrpo; k++)
        if (in_loop(p, (int32_t)p->g->rpo[k]) && p->g->rpo[k] != p->latch)
            p->order[p->n++] = p->g->rpo[k];
    p->order[p->n++] = p->latch;
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
            put_jump(p, p->label_of[first], -1, false);
        return;
    }
    const int32_t guard = name_of(p, last->guard, p->order[k], false);
    if (first == next) {
        put_jump(p, p->label_of[second], guard, !last->guard_neg);
        return;
    }
    put_jump(p, p->label_of[first], guard, last->guard_neg);
    if (second != next)
        put_jump(p, p->label_of[second], -1, false);
}

/* One turn. guard: of its loads and stores, -1: none. */
static void
copy_turn(struct peel *p, int32_t guard, bool neg)
{
    for (uint32_t k = 0; k < p->n; k++)
        p->label_of[p->order[k]] = k ? ptx_label_new(p->f) : -1;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cfg_block *b = &p->g->block[p->order[k]];
        if (k)
            put_label(p, p->label_of[p->order[k]]);
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (ptx_is_pseudo(in) || cfg_targets(in, NULL, 0))
                continue;
            *vec_push(&p->to) = renamed(p, i);
            if (guard >= 0 && ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE)) {
                p->to.v[p->to.n - 1].guard = guard;
                p->to.v[p->to.n - 1].guard_neg = neg;
            }
        }
        if (k + 1 < p->n)
            copy_end(p, k);
    }
}

/* Registers that are read behind the copies get their names back. */
static void
names_back(struct peel *p, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
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
copies(struct peel *p, uint32_t n)
{
    const struct ptx_inst *last = &p->f->body.v[p->g->block[p->latch].end - 1];
    const bool to_header =
        p->g->block[p->latch].succ[0] == (int32_t)p->l->header;
    const bool neg = last->guard_neg == to_header; /* of going on */
    for (uint64_t t = 0; t < p->turns; t++) {
        new_names(p, n);
        copy_turn(p, -1, false);
    }
    const int32_t guard = name_of(p, last->guard, p->latch, false);
    if (p->left == LEFT_GUARDED) {
        new_names(p, n);
        copy_turn(p, guard, neg);
    } else {
        names_back(p, n);
    }
    if (p->left == LEFT_LOOP)
        put_jump(p, p->old_label[p->l->header], guard, neg);
    uint32_t next = p->before + 1; /* whose code stands behind the copies */
    while (p->left != LEFT_LOOP && next < p->g->n && in_loop(p, (int32_t)next))
        next++;
    if (next != p->after)
        put_jump(p, p->old_label[p->after], -1, false);
}

static int32_t
label_at(struct peel *p, uint32_t v)
{
    const struct ptx_inst *in = &p->f->body.v[p->g->block[v].first];
    if (in->op == PTX_OP_LABEL)
        return in->ops[0].label;
    return ptx_label_new(p->f);
}

/* The body with the copies behind the block before the loop. */
static void
rebuild(struct peel *p)
{
    struct ptx_func *f = p->f;
    const uint32_t n = (uint32_t)f->regs.n;
    const uint32_t blocks[] = {p->l->header, p->after};
    p->label_of = ARENA_ARRAY(&p->mem, int32_t, p->g->n + 1);
    p->old_label = ARENA_ARRAY(&p->mem, int32_t, p->g->n + 1);
    for (int k = 0; k < 2; k++)
        p->old_label[blocks[k]] = label_at(p, blocks[k]);
    find_order(p);
    for (uint32_t v = 0; v < p->g->n; v++) {
        const struct cfg_block *b = &p->g->block[v];
        const bool gone = p->left != LEFT_LOOP && in_loop(p, (int32_t)v);
        for (int k = 0; k < 2; k++)
            if (v == blocks[k] && f->body.v[b->first].op != PTX_OP_LABEL)
                put_label(p, p->old_label[v]);
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &f->body.v[i];
            if (gone ? in->op == PTX_OP_LABEL
                     : v != p->before || !cfg_targets(in, NULL, 0))
                *vec_push(&p->to) = *in;
        }
        if (v == p->before)
            copies(p, n);
    }
    vec_free(&f->body);
    f->body.v = p->to.v;
    f->body.n = p->to.n;
    f->body.cap = p->to.cap;
}

/* -- the kernel -- */

struct settings {
    uint64_t most; /* instructions that a loop may become */
};

/* Peels the first loop, innermost first, that can be; false: there is none. */
static bool
peel_one(struct ptx_func *f, const struct pass_args *a, const struct settings *s)
{
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    struct loops *all = loops_new(g);
    struct live *live = live_new(g);
    struct thread_walk *w = thread_walk_new(g, use, a->launch);
    bool done = false;
    for (uint32_t k = 0; k < all->n && w && !done; k++) {
        struct peel p = {.f = f, .a = a, .g = g, .l = &all->loop[k]};
        uint64_t size, least, most;
        if (g->block[p.l->header].rpo < 0 || !find_shape(&p) || !fills(&p, use, &size) ||
            !thread_walk_turns(w, p.l, p.latch, p.before, &least, &most))
            continue;
        const uint64_t turns = least + (most == least + 1 && can_guard(&p, live));
        if (turns < 2 || turns * size > s->most)
            continue;
        p.turns = least;
        p.left = most == least ? LEFT_NONE : turns == most ? LEFT_GUARDED : LEFT_LOOP;
        find_names(&p, live, all);
        const uint32_t line = f->body.v[g->block[p.latch].end - 1].line;
        rebuild(&p);
        done = true;
        if (a->report)
            strbuf_printf(a->report,
                          "%s: of the loop that ends in line %u, %llu turns are straight "
                          "code now%s\n",
                          f->name, line, (unsigned long long)least,
                          p.left == LEFT_NONE      ? ", all that it has"
                          : p.left == LEFT_GUARDED ? ", and one under a guard"
                                                   : "; the rest stays");
        arena_free(&p.mem);
    }
    thread_walk_free(w);
    live_free(live);
    loops_free(all);
    scratch_use_free(use);
    cfg_free(g);
    return done;
}

/* %ntid is a number in a known launch. */
static bool
know_sizes(struct ptx_func *f, const struct pass_launch *l)
{
    bool any = false;
    for (size_t i = 0; i < f->body.n && l->kernel; i++) {
        struct ptx_inst *in = &f->body.v[i];
        if (in->op != PTX_OP_MOV || in->nops != 2 || !rewrite_reads_word(in) ||
            in->ops[1].kind != PTX_OPD_SREG || in->ops[1].sreg != PTX_SREG_NTID ||
            in->ops[1].comp > 2)
            continue;
        const struct ptx_operand o = rewrite_literal(l->block[in->ops[1].comp]);
        rewrite_as_mov(f, in, &o);
        any = true;
    }
    return any;
}

/* Branches that all threads take alike. */
static bool
know_branches(struct ptx_func *f, const struct pass_launch *l)
{
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    struct thread_walk *w = thread_walk_new(g, use, l);
    uint64_t *gone = xcalloc(BITSET_WORDS(f->body.n + 1), sizeof *gone);
    bool any = false;
    for (uint32_t k = 0; k < g->nrpo && w; k++) {
        const uint32_t i = g->block[g->rpo[k]].end - 1;
        struct ptx_inst *in = &f->body.v[i];
        const int runs =
            in->op == PTX_OP_BRA && in->guard >= 0 ? thread_walk_guard(w, i) : -1;
        if (runs < 0)
            continue;
        any = true;
        if (!runs)
            bitset_add(gone, i);
        in->guard = -1;
        in->guard_neg = false;
    }
    thread_walk_free(w);
    scratch_use_free(use);
    cfg_free(g);
    if (any)
        rewrite_delete(f, gone);
    free(gone);
    return any;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    double most;
    (void)facts;
    if (!pass_arg_number(a, "most", 1, 1e6, &most, diag))
        return false;
    if (!f->is_entry || f->registers ||
        (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    const struct settings s = {(uint64_t)most};
    *changed = know_sizes(f, a->launch);
    *changed |= know_branches(f, a->launch);
    for (int n = 0; n < MOST_LOOPS && peel_one(f, a, &s); n++)
        *changed = true;
    return true;
}

const struct pass pass_peel_loops = {
    .name = "peel-loops",
    .meaning = "makes straight code of loops that fill scratchpad",
    .keys = (const struct pass_key[]){{"most", "1024",
                                       "instructions that a loop may become"},
                                      {0}},
    .run_func = run,
    .shapes = true,
};
