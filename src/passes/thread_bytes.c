/* thread_bytes.c: bytes of scratchpad by running a kernel's address arithmetic for each
 * thread of a block.
 *
 *   1  A register with one definition that is computed from %tid, %ntid, literals and
 *      addresses of variables alone holds one value a thread, for good. So whatever index
 *      pattern it is - affine, remainders, shuffled bits - the bytes of an access are the
 *      union over the threads. What depends on parameters, memory or a loop is not known.
 *   2  What a region of code writes as a whole: each thread walks from a point that all
 *      threads pass, to one that all pass after it, as the executor would. Loops count in
 *      this way: registers hold what the walk gave them.
 *
 *          for (k = tid; k < 1024; k += ntid)      64 threads walk 16 iterations each:
 *              s[k] = f(...);                      all of s is written
 *
 *      A branch whose way is not known is skipped to where its ways meet: what the code in
 *      between writes does not count, and registers that it writes are not known. Nothing
 *      that is read within the region counts as written again.
 *
 * Sound for kernels whose threads do not race: a byte that one thread writes in the region
 * is read by none before, as nothing orders the two. Symbols have the addresses of the
 * layout (analysis/scratchpad.h). Cost: threads times instructions, plus the steps of the
 * walks, at most MOST_STEPS in all; what is not walked is not known. */
#include "passes/thread_bytes.h"

#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/uniform.h"
#include "base/bitset.h"

#include <string.h>

enum { MOST_STEPS = 4000000, MOST_OF_A_THREAD = 100000 };

struct value {
    uint64_t bits;
    uint32_t epoch; /* of the walk that gave it */
    bool known;
};

/* How an instruction is evaluated: found once, for all threads and iterations. */
struct evaluation {
    bool tried, possible;
    struct rewrite_plan plan;
};

struct run {
    const struct cfg *g;
    const struct ptx_func *f;
    const struct scratch_use *use;
    struct defs *defs;
    struct thread_bytes *out;
    uint64_t n;               /* bytes of scratchpad */
    uint32_t threads, dim[3]; /* of a block */
    uint32_t grid[3];         /* 0: not known */
    uint64_t **fixed;         /* of each register: its value in each thread; NULL: none */
    struct value *now;        /* of each register, in the walk */
    struct evaluation *eval;  /* of each instruction */
    uint32_t epoch;
    bool walking;
    uint64_t **skipped; /* of each block of the flow graph: registers that are written
                         * between its end and where its ways meet */
    uint32_t thread, at;
    uint64_t steps;
};

struct thread_walk {
    struct run c;
};

/* -- values -- */

static bool
special_value(const struct run *c, const struct ptx_operand *o, uint64_t *bits)
{
    const unsigned d = o->comp;
    if (d > 2)
        return false;
    switch (o->sreg) {
    case PTX_SREG_TID:
        *bits = d == 0   ? c->thread % c->dim[0]
                : d == 1 ? c->thread / c->dim[0] % c->dim[1]
                         : c->thread / c->dim[0] / c->dim[1];
        return true;
    case PTX_SREG_NTID:
        *bits = c->dim[d];
        return true;
    case PTX_SREG_NCTAID:
        *bits = c->grid[d];
        return c->grid[d] != 0;
    default:
        return false;
    }
}

static bool
var_address(const struct run *c, const struct ptx_var *v, uint64_t *bits)
{
    for (size_t i = 0; v && i < c->use->var.n; i++)
        if (c->use->var.v[i].var == v) {
            *bits = c->use->var.v[i].at;
            return true;
        }
    return false;
}

static bool
reg_value(const void *user, int32_t reg, uint64_t *bits)
{
    const struct run *c = user;
    if (c->fixed[reg] && defs_reach(c->defs, reg, c->at)) {
        *bits = c->fixed[reg][c->thread];
        return true;
    }
    *bits = c->now[reg].bits;
    return c->walking && c->now[reg].epoch == c->epoch && c->now[reg].known;
}

static bool
source_value(void *user, const struct ptx_operand *o, enum ptx_type type, uint64_t *bits)
{
    const struct run *c = user;
    return rewrite_source_bits(c->f, o, type, reg_value, c, bits);
}

/* What the one destination of instruction c->at becomes. */
static bool
result(struct run *c, const struct ptx_inst *in, uint64_t *bits)
{
    if (in->op == PTX_OP_MOV && in->nops == 2 && in->ops[0].kind == PTX_OPD_REG &&
        !in->ops[0].comp) {
        const struct ptx_operand *o = &in->ops[1];
        const unsigned bytes = ptx_type_bytes(c->f->regs.v[in->ops[0].reg].type);
        if (o->kind == PTX_OPD_SREG)
            return bytes == 4 && special_value(c, o, bits);
        if (o->kind == PTX_OPD_SYM && bytes >= 4 && var_address(c, o->var, bits)) {
            *bits += (uint64_t)o->off;
            return true;
        }
    }
    struct evaluation *e = &c->eval[c->at];
    if (!e->tried) {
        e->tried = true;
        e->possible = rewrite_is_pure(in) && in->op != PTX_OP_CVTA &&
                      in->op != PTX_OP_ISSPACEP && rewrite_plan(c->f, in, &e->plan);
    }
    return e->possible && rewrite_evaluate(&e->plan, in, source_value, c, bits);
}

static void
find_fixed(struct run *c)
{
    uint64_t *values = xcalloc(c->threads, sizeof *values);
    for (uint32_t k = 0; k < c->g->nrpo; k++) {
        const struct cfg_block *b = &c->g->block[c->g->rpo[k]];
        for (c->at = b->first; c->at < b->end; c->at++) {
            const struct ptx_inst *in = &c->f->body.v[c->at];
            if (ptx_is_pseudo(in) || in->guard >= 0 || !in->nops ||
                in->ops[0].kind != PTX_OPD_REG || in->ops[0].reg < 0 ||
                c->defs->at[in->ops[0].reg] != (int32_t)c->at)
                continue;
            uint32_t t = 0;
            while (t < c->threads && (c->thread = t, result(c, in, &values[t])))
                t++;
            if (t < c->threads)
                continue;
            uint64_t **to = &c->fixed[in->ops[0].reg];
            *to = ARENA_ARRAY(&c->out->mem, uint64_t, c->threads);
            memcpy(*to, values, c->threads * sizeof *values);
        }
    }
    free(values);
}

/* -- accesses -- */

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
{
    for (unsigned i = 0; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_ADDR)
            return &in->ops[i];
    return NULL;
}

/* Where a load, store or atomic of the scratchpad goes in this thread, and how many bytes
 * it has. */
static bool
access_place(const struct run *c, const struct ptx_inst *in, uint64_t *at, uint64_t *size)
{
    const unsigned flags = ptx_ops[in->op].flags;
    const struct ptx_operand *o = address_of(in);
    uint64_t base = 0;
    if (ptx_inst_space(in) != PTX_SPACE_SHARED || !o || !in->ntypes ||
        !(flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC)))
        return false;
    if (o->reg >= 0 && !reg_value(c, o->reg, &base))
        return false;
    uint64_t symbol = 0;
    if (o->var && !var_address(c, o->var, &symbol))
        return false;
    const unsigned wide = in->mod[PTX_MG_VEC];
    *size = ptx_type_bytes(in->type[in->ntypes - 1]) * (wide == PTX_VEC_V2   ? 2u
                                                        : wide == PTX_VEC_V4 ? 4u
                                                        : wide               ? 8u
                                                                             : 1u);
    *at = base + symbol + (uint64_t)o->off;
    return *size && *at < c->n && *size <= c->n - *at;
}

/* 1: the thread runs it, 0: it does not, -1: not known. */
static int
guard_of(const struct run *c, const struct ptx_inst *in)
{
    uint64_t v;
    if (in->guard < 0)
        return 1;
    return reg_value(c, in->guard, &v) ? (v != 0) != in->guard_neg : -1;
}

static void
add_bytes(uint64_t *set, uint64_t at, uint64_t size)
{
    for (uint64_t k = at; k < at + size; k++)
        bitset_add(set, k);
}

static bool
only_writes(const struct ptx_inst *in)
{
    const unsigned flags = ptx_ops[in->op].flags;
    return flags & PTX_STORE && !(flags & (PTX_ATOMIC | PTX_LOAD));
}

static void
find_accesses(struct run *c)
{
    const scratch_set *touch = c->use->funcs.v[0].touch;
    uint64_t at, size;
    for (c->at = 0; c->at < c->f->body.n; c->at++) {
        const struct ptx_inst *in = &c->f->body.v[c->at];
        if (!touch[c->at] || ptx_is_pseudo(in) || in->op == PTX_OP_CALL)
            continue;
        uint64_t *may = bitset_new(&c->out->mem, c->n + 1),
                 *must = bitset_new(&c->out->mem, c->n + 1);
        bool exact = true;
        for (c->thread = 0; c->thread < c->threads; c->thread++) {
            int runs = guard_of(c, in);
            if (!runs)
                continue;
            if (!access_place(c, in, &at, &size)) {
                exact = false;
                continue;
            }
            add_bytes(may, at, size);
            if (runs > 0 && only_writes(in))
                add_bytes(must, at, size);
        }
        c->out->accesses++;
        c->out->exact += exact;
        c->out->inst[c->at].may = exact ? may : NULL;
        c->out->inst[c->at].must = must;
    }
}

/* -- walks -- */

struct writes {
    struct run *c;
    uint64_t *set;
};

static void
note_write(void *user, int32_t reg, bool write, bool partial)
{
    struct writes *w = user;
    (void)partial;
    if (write && w->set)
        bitset_add(w->set, (size_t)reg);
    else if (write)
        w->c->now[reg] = (struct value){.epoch = w->c->epoch};
}

static void
forget_skipped(struct run *c, uint32_t v)
{
    if (!c->skipped[v]) {
        uint64_t *blocks = xcalloc(BITSET_WORDS(c->g->n + 1), sizeof *blocks);
        c->skipped[v] = bitset_new(&c->out->mem, c->f->regs.n + 1);
        struct writes w = {c, c->skipped[v]};
        cfg_reach(c->g, v, c->g->block[v].ipdom, blocks);
        for (uint32_t k = 0; k < c->g->n; k++)
            for (uint32_t i = c->g->block[k].first;
                 bitset_has(blocks, k) && i < c->g->block[k].end; i++)
                if (!ptx_is_pseudo(&c->f->body.v[i]))
                    defuse_each(&c->f->body.v[i], note_write, &w);
        free(blocks);
    }
    for (size_t k = 0; k < BITSET_WORDS(c->f->regs.n + 1); k++)
        FOR_BITS(r, c->skipped[v][k])
    c->now[64 * k + r] = (struct value){.epoch = c->epoch};
}

/* One instruction; what it writes for certain goes to `written` (NULL: nothing). */
static void
step(struct run *c, const struct ptx_inst *in, uint64_t *written)
{
    const int runs = guard_of(c, in);
    uint64_t bits, at, size;
    if (ptx_is_pseudo(in) || !runs)
        return;
    if (written && runs > 0 && only_writes(in) && access_place(c, in, &at, &size))
        add_bytes(written, at, size);
    if (runs > 0 && result(c, in, &bits)) { /* nothing else is written */
        c->now[in->ops[0].reg] = (struct value){bits, c->epoch, true};
        return;
    }
    struct writes w = {c, NULL};
    defuse_each(in, note_write, &w);
}

/* Which way thread c->thread goes at the end of block v: index of the successor, -1: it is not
 * known. */
static int
way_from(const struct run *c, uint32_t v)
{
    const struct cfg_block *b = &c->g->block[v];
    const struct ptx_inst *last = &c->f->body.v[b->end - 1];
    if (b->nsucc == 1)
        return 0;
    const int runs = b->nsucc == 2 && !ptx_is_pseudo(last) && last->guard >= 0
                         ? guard_of(c, last)
                         : -1;
    return runs < 0 ? -1 : !runs;
}

/* The block that follows block v in this thread; CFG_EXIT: it leaves or is lost. */
static int32_t
next_block(struct run *c, uint32_t v)
{
    const struct cfg_block *b = &c->g->block[v];
    const int way = way_from(c, v);
    if (way >= 0)
        return b->succ[way];
    if (b->ipdom < 0)
        return CFG_EXIT;
    forget_skipped(c, v);
    return b->ipdom;
}

/* Thread c->thread goes from the start of block `from` to that of block `to`; what it
 * writes after `from` goes to `written`. */
static void
walk(struct run *c, uint32_t from, int32_t to, uint64_t *written)
{
    int32_t v = (int32_t)from;
    c->epoch++;
    for (uint64_t n = 0; v >= 0 && v != to;) {
        const struct cfg_block *b = &c->g->block[v];
        for (c->at = b->first; c->at < b->end; c->at++)
            step(c, &c->f->body.v[c->at], v == (int32_t)from && !n ? NULL : written);
        c->at = b->end - 1;
        n += b->end - b->first;
        c->steps += b->end - b->first;
        if (n > MOST_OF_A_THREAD || c->steps > MOST_STEPS)
            return;
        v = next_block(c, (uint32_t)v);
    }
}

/* Bytes that instruction i may touch. */
static void
add_touched(const struct run *c, uint32_t i, uint64_t *set)
{
    const scratch_set touch = c->use->funcs.v[0].touch[i];
    if (touch && c->out->inst[i].may) {
        bitset_or(set, c->out->inst[i].may, c->n);
        return;
    }
    for (size_t k = 0; touch && k < c->use->var.n; k++) {
        const struct scratch_var *v = &c->use->var.v[k];
        if (touch >> scratch_bit(c->use, k) & 1)
            add_bytes(set, v->at, v->var->dynamic ? c->n - v->at : v->var->size);
    }
}

/* Of `set`, what code between the end of block v and block `to` may read goes. */
static void
keep_unread(const struct run *c, uint32_t v, int32_t to, uint64_t *set)
{
    uint64_t *blocks = xcalloc(BITSET_WORDS(c->g->n + 1), sizeof *blocks);
    uint64_t *read = xcalloc(BITSET_WORDS(c->n + 1), sizeof *read);
    cfg_reach(c->g, v, to, blocks);
    for (uint32_t k = 0; k < c->g->n; k++)
        for (uint32_t i = c->g->block[k].first;
             bitset_has(blocks, k) && i < c->g->block[k].end; i++)
            if (!ptx_is_pseudo(&c->f->body.v[i]) && !only_writes(&c->f->body.v[i]))
                add_touched(c, i, read);
    for (size_t k = 0; k < BITSET_WORDS(c->n); k++)
        set[k] &= ~read[k];
    free(blocks);
    free(read);
}

static void
find_dead(struct run *c, uint32_t v, int32_t to)
{
    uint64_t *set = bitset_new(&c->out->mem, c->n + 1);
    c->walking = true;
    for (c->thread = 0; c->thread < c->threads; c->thread++)
        walk(c, v, to, set);
    c->walking = false;
    keep_unread(c, v, to, set);
    c->out->inst[c->g->block[v].end - 1].dead = set;
}

/* The block after the loop that all threads pass. */
static int32_t
behind_loop(const struct run *c, const struct loop *l)
{
    int32_t v = (int32_t)l->header;
    while (v >= 0 && bitset_has(l->blocks, (size_t)v))
        v = c->g->block[v].ipdom;
    return v;
}

static void
find_parts(struct run *c)
{
    struct uniform *u = uniform_new(c->g);
    struct loops *l = loops_new(c->g);
    for (uint32_t k = 0; k < c->g->nrpo; k++) {
        const uint32_t v = c->g->rpo[k];
        const struct cfg_block *b = &c->g->block[v];
        int32_t to = CFG_EXIT;
        if (u->block[v] == UNIFORM_NOT || b->end == b->first)
            continue;
        if (b->nsucc > 1)
            to = b->ipdom;
        else
            for (uint32_t i = 0; i < l->n; i++)
                if (b->succ[0] == (int32_t)l->loop[i].header &&
                    !bitset_has(l->loop[i].blocks, v))
                    to = behind_loop(c, &l->loop[i]);
        if (to >= 0)
            find_dead(c, v, to);
    }
    loops_free(l);
    uniform_free(u);
}

/* -- iterations of a loop -- */

/* Iterations of thread c->thread, if it goes on from the start of block `from`; 0: it does not
 * come to the loop, -1: not known. On the way to the loop every branch must be known: what
 * is skipped could hold it. But if `from` itself leads to the loop: threads that may take
 * that way count as if they did. */
static int64_t
trips_from(struct run *c, uint32_t from, const struct loop *l, uint32_t latch,
           uint32_t before)
{
    int32_t v = (int32_t)from;
    int64_t trips = 0;
    c->epoch++;
    for (uint64_t n = 0; v >= 0;) {
        const struct cfg_block *b = &c->g->block[v];
        const bool inside = bitset_has(l->blocks, (size_t)v);
        if (trips && !inside)
            return trips;
        trips += v == (int32_t)l->header;
        for (c->at = b->first; c->at < b->end; c->at++)
            step(c, &c->f->body.v[c->at], NULL);
        c->at = b->end - 1;
        n += b->end - b->first;
        c->steps += b->end - b->first;
        if (n > MOST_OF_A_THREAD || c->steps > MOST_STEPS)
            return -1;
        const bool known = way_from(c, (uint32_t)v) >= 0;
        if (!known && v == (int32_t)from && from == before && !inside)
            v = (int32_t)l->header;
        else if (!known && (!inside || v == (int32_t)latch))
            return -1;
        else
            v = next_block(c, (uint32_t)v);
    }
    return trips ? -1 : 0;
}

/* Whether a thread can come to the loop again without passing block `from`: a walk from there
 * sees the first time alone. `before` is the only way in. */
static bool
comes_again(const struct run *c, const struct loop *l, uint32_t before, int32_t from)
{
    uint64_t *reached = xcalloc(BITSET_WORDS(c->g->n + 1), sizeof *reached);
    cfg_reach(c->g, l->header, from, reached);
    const bool again = bitset_has(reached, before);
    free(reached);
    return again;
}

bool
thread_walk_trips(struct thread_walk *w, const struct loop *l, uint32_t latch,
                  uint32_t before, uint64_t *least, uint64_t *most)
{
    struct run *c = &w->c;
    bool known = false;
    c->walking = true;
    /* from as late as possible: what is computed on the way is known */
    for (int32_t from = (int32_t)before; from >= 0 && !known;
         from = c->g->block[from].idom) {
        if (comes_again(c, l, before, from))
            break;
        known = true;
        *least = UINT64_MAX;
        *most = 0;
        for (c->thread = 0; c->thread < c->threads && known; c->thread++) {
            int64_t n = trips_from(c, (uint32_t)from, l, latch, before);
            known = n >= 0;
            if (n > 0) {
                *least = (uint64_t)n < *least ? (uint64_t)n : *least;
                *most = (uint64_t)n > *most ? (uint64_t)n : *most;
            }
        }
    }
    c->walking = false;
    return known && *most;
}

uint32_t
thread_walk_threads(const struct thread_walk *w)
{
    return w->c.threads;
}

bool
thread_walk_places(struct thread_walk *w, uint32_t i, uint32_t *at)
{
    struct run *c = &w->c;
    uint64_t place, size;
    c->at = i;
    for (c->thread = 0; c->thread < c->threads; c->thread++) {
        if (!access_place(c, &c->f->body.v[i], &place, &size))
            return false;
        at[c->thread] = (uint32_t)place;
    }
    return true;
}

int
thread_walk_guard(struct thread_walk *w, uint32_t i)
{
    struct run *c = &w->c;
    int all = -1;
    c->at = i;
    for (c->thread = 0; c->thread < c->threads; c->thread++) {
        const int runs = guard_of(c, &c->f->body.v[i]);
        if (runs < 0 || (all >= 0 && runs != all))
            return -1;
        all = runs;
    }
    return all;
}

static bool
find_shape(struct run *c, const struct pass_launch *l)
{
    c->threads = 1;
    for (int d = 0; d < 3; d++) {
        c->dim[d] = l->kernel          ? l->block[d]
                    : c->f->reqntid[d] ? c->f->reqntid[d]
                                       : d && c->f->reqntid[0];
        c->grid[d] = l->kernel ? l->grid[d] : 0;
        c->threads *= c->dim[d];
    }
    return c->threads > 0;
}

static bool
begin(struct run *c, const struct cfg *g, const struct scratch_use *use,
      const struct pass_launch *l)
{
    *c = (struct run){.g = g, .f = g->func, .use = use};
    if (!find_shape(c, l) || !c->f->body.n) /* no instruction whose access could be noted */
        return false;
    c->out = xcalloc(1, sizeof *c->out);
    c->n = regions_cells(use, l->dynamic_scratchpad);
    c->defs = defs_new(g);
    c->out->inst = ARENA_ARRAY(&c->out->mem, struct region_bytes, c->f->body.n + 1);
    c->fixed = ARENA_ARRAY(&c->out->mem, uint64_t *, c->f->regs.n + 1);
    c->skipped = ARENA_ARRAY(&c->out->mem, uint64_t *, g->n + 1);
    c->now = xcalloc(c->f->regs.n + 1, sizeof *c->now);
    c->eval = xcalloc(c->f->body.n + 1, sizeof *c->eval);
    find_fixed(c);
    return true;
}

static struct thread_bytes *
finish(struct run *c)
{
    free(c->now);
    free(c->eval);
    defs_free(c->defs);
    return c->out;
}

struct thread_bytes *
thread_bytes_new(const struct cfg *g, const struct scratch_use *use,
                 const struct pass_launch *l)
{
    struct run c;
    if (!begin(&c, g, use, l))
        return NULL;
    find_accesses(&c);
    find_parts(&c);
    return finish(&c);
}

struct thread_walk *
thread_walk_new(const struct cfg *g, const struct scratch_use *use,
                const struct pass_launch *l)
{
    struct thread_walk *w = xcalloc(1, sizeof *w);
    if (begin(&w->c, g, use, l))
        return w;
    free(w);
    return NULL;
}

void
thread_walk_free(struct thread_walk *w)
{
    if (!w)
        return;
    thread_bytes_free(finish(&w->c));
    free(w);
}

void
thread_bytes_free(struct thread_bytes *t)
{
    if (!t)
        return;
    arena_free(&t->mem);
    free(t);
}
