/* next_use.c: next-use distance and power states.
 *
 * Distance (001 section 4.2.1):
 *
 *     Dist(IN(S), R)  = 1 if S accesses R, else Dist(OUT(S), R) + 1, FAR beyond W
 *     Dist(OUT(S), R) = the maximum of Dist(IN(SS), R) over the successors SS of S;
 *                       FAR if S ends the thread
 *
 * All distances start as FAR and only shrink until nothing changes. The solution is the
 * only one: a cycle of control flow without an access would give x = x + length. A register
 * with a finite distance is accessed within W instructions on every path, so a block's list
 * of them has at most W x operands members. Cost: O(blocks x W x operands) a round, and
 * what happens more than W instructions ahead does not matter, so rounds are few.
 *
 * Lanes that wait. A register holds the values of all lanes of a warp. Lanes that run may
 * be done with it while others, which wait elsewhere, still need it:
 *
 *          @p bra ELSE          r1 is dead after A for the lanes that run there; those
 *          A: add r2, r1, 1     that wait at ELSE read it later. OFF at A would destroy
 *             bra JOIN          their value. 001 does not discuss this.
 *     ELSE:B: add r2, r1, 2
 *     JOIN:
 *
 * Where may lanes wait while others run at a block b? A warp parts at a branch d. Lanes sent
 * to successor s run from there up to the immediate post-dominator of d, where they meet
 * the rest; b is one of the blocks that s reaches without passing it. Meanwhile the rest
 * wait at the start of another successor of d, at the post-dominator, or at an instruction
 * that waits for lanes (a barrier, shfl.sync). What is live in one of these places is not
 * switched off in b. Nested branches add up. A branch on a value that is the same in all
 * lanes parts no warp: values computed from parameters, block indices and sizes, and
 * constants, outside all code that a part of a warp may run. Lanes that have left the
 * kernel need nothing. A callee's registers are its own.
 *
 * Loads that are operands (operand_loads). Where machine code has the load of
 *
 *     ld.shared.u32 %r2, [%r1];        add.u32 %r4, s[%r1], %r3;
 *     mov.u32 %r5, 7;
 *     add.u32 %r4, %r2, %r3;
 *
 * in the addition, %r2 holds nothing, the addition is 1 after the mov, and %r1 is read
 * there: after the mov it is live, whoever reads it next. If something between writes %r1,
 * the address is read with the instruction after the load. */
#include "analysis/next_use.h"

#include "analysis/defuse.h"
#include "analysis/fused.h"

#include <string.h>

struct near { /* a unit and its distance */
    uint32_t unit;
    uint8_t dist;
};

struct near_list {
    struct near *v;
    uint32_t n, cap;
};

struct wait_list {    /* blocks at whose start lanes may wait while this block runs */
    VEC(uint32_t) at; /* sorted by nothing; no duplicates */
    bool diverged;    /* part of a warp may run this block */
};

enum { LOADS = 2 }; /* operands of an instruction that may be loads */

struct folds {          /* of an instruction */
    uint32_t reader;    /* it is a load that is an operand of this one; 0: it is none */
    bool address;       /* which reads its address */
    uint32_t of[LOADS]; /* 1 + its operands that are loads */
};

struct next_use {
    const struct live *live;
    const struct cfg *g;
    unsigned window;
    enum next_use_lanes lanes;
    struct reg_units units;
    struct near_list *start; /* of each block */
    /* Walk: position of the next access of each unit, valid if stamp = that of the walk. */
    uint32_t *next, *stamp, walk, now;
    uint32_t *count; /* in how many successors it is near; with stamp */
    bool *diverges;  /* of each block's end */
    struct wait_list *wait;
    bool too_many;       /* waiting places were not all listed: nothing is off */
    uint64_t *sync_live; /* registers live where lanes wait for each other */
    struct folds *folds; /* of each instruction; NULL: loads are instructions */
    /* Of each unit: loads whose reader has yet to come, and reads it as their address;
     * whose value it would hold. */
    uint8_t *held, *values;
    struct arena mem;
};

/* -- units -- */

static void
make_units(struct next_use *x)
{
    const struct ptx_func *f = x->g->func;
    struct reg_units *u = &x->units;
    size_t n = f->regs.n;
    bool placed = f->registers || f->predicates;
    u->first = ARENA_ARRAY(&x->mem, uint32_t, n + 1);
    u->count = ARENA_ARRAY(&x->mem, uint8_t, n + 1);
    u->n = placed ? f->registers + f->predicates : (uint32_t)n;
    for (size_t r = 0; r < n; r++) {
        const struct ptx_reg *reg = &f->regs.v[r];
        u->first[r] = (uint32_t)r;
        u->count[r] = 1;
        if (!placed)
            continue;
        u->count[r] = 0; /* one without a place does not occur */
        if (!reg->place)
            continue;
        bool pred = reg->type == PTX_PRED;
        u->first[r] = reg->place - 1u + (pred ? f->registers : 0);
        u->count[r] = pred ? 1 : (uint8_t)((ptx_type_bytes(reg->type) + 3) / 4);
    }
    u->start = ARENA_ARRAY(&x->mem, uint32_t, u->n + 2);
    for (size_t r = 0; r < n; r++)
        for (unsigned k = 0; k < u->count[r]; k++)
            u->start[u->first[r] + k + 1]++;
    for (uint32_t k = 0; k < u->n; k++)
        u->start[k + 1] += u->start[k];
    u->reg = ARENA_ARRAY(&x->mem, uint32_t, u->start[u->n] + 1);
    uint32_t *fill = arena_dup(&x->mem, u->start, sizeof *fill * ((size_t)u->n + 1));
    for (size_t r = 0; r < n; r++)
        for (unsigned k = 0; k < u->count[r]; k++)
            u->reg[fill[u->first[r] + k]++] = (uint32_t)r;
}

const struct reg_units *
next_use_units(const struct next_use *x)
{
    return &x->units;
}

/* -- accesses -- */

static void
find_folds(struct next_use *x)
{
    const struct ptx_func *f = x->g->func;
    uint32_t *reader = xcalloc(f->body.n + 1, sizeof *reader);
    fused_operand_loads(x->live, reader);
    x->folds = ARENA_ARRAY(&x->mem, struct folds, f->body.n + 1);
    x->held = ARENA_ARRAY(&x->mem, uint8_t, x->units.n + 1);
    x->values = ARENA_ARRAY(&x->mem, uint8_t, x->units.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++) {
        if (!reader[i])
            continue;
        uint32_t *of = x->folds[reader[i]].of;
        x->folds[i].reader = reader[i];
        x->folds[i].address = fused_address_lasts(f, i, reader[i]);
        of[of[0] != 0] = i + 1;
    }
    free(reader);
}

/* Is instruction i in the machine's code? */
static bool
is_inst(const struct next_use *x, uint32_t i)
{
    return !ptx_is_pseudo(&x->g->func->body.v[i]) && !(x->folds && x->folds[i].reader);
}

typedef void access_fn(void *user, int32_t r, bool write, bool partial);

struct without {
    const struct ptx_func *f;
    const struct folds *folds;
    access_fn *fn;
    void *user;
    bool writes; /* are wanted */
};

static void
pass_on(void *user, int32_t r, bool write, bool partial)
{
    const struct without *w = user;
    bool value = false;
    for (unsigned k = 0; k < LOADS && !write && w->folds->of[k]; k++)
        value |= w->f->body.v[w->folds->of[k] - 1].ops[0].reg == r;
    if (!value && (w->writes || !write))
        w->fn(w->user, r, write, partial);
}

/* The registers that instruction i reads and writes, as the machine has it. */
static void
each_access(const struct next_use *x, uint32_t i, access_fn *fn, void *user)
{
    const struct ptx_func *f = x->g->func;
    if (!x->folds) {
        defuse_each(&f->body.v[i], fn, user);
        return;
    }
    const struct folds *own = &x->folds[i];
    struct without w = {f, own, fn, user, !own->reader};
    for (unsigned k = 0; k < LOADS && own->of[k]; k++) {
        uint32_t load = own->of[k] - 1;
        struct without address = {f, &x->folds[load], fn, user, false};
        if (x->folds[load].address)
            defuse_each(&f->body.v[load], pass_on, &address);
    }
    if (!own->address)
        defuse_each(&f->body.v[i], pass_on, &w);
}

/* -- distance -- */

static void
access_at(void *user, int32_t r, bool write, bool partial)
{
    struct next_use *x = user;
    (void)write;
    (void)partial;
    for (unsigned k = 0; k < x->units.count[r]; k++) {
        uint32_t u = x->units.first[r] + k;
        x->next[u] = x->now + 1;
        x->stamp[u] = x->walk;
    }
}

/* Positions count down towards the start of the block: an access at the point itself would
 * have distance 0. */
static unsigned
distance(const struct next_use *x, uint32_t u)
{
    if (x->stamp[u] != x->walk || x->next[u] - x->now > x->window)
        return NEXT_USE_FAR;
    return x->next[u] - x->now;
}

/* Begins a walk at the block's end: near there is what is near in all successors. */
static void
walk_end(struct next_use *x, uint32_t block)
{
    const struct cfg_block *b = &x->g->block[block];
    x->walk++;
    x->now = 1u << 31;
    for (uint32_t s = 0; s < b->nsucc; s++)
        if (b->succ[s] < 0)
            return;
    for (uint32_t s = 0; s < b->nsucc; s++) {
        const struct near_list *l = &x->start[b->succ[s]];
        for (uint32_t i = 0; i < l->n; i++) {
            uint32_t u = l->v[i].unit, at = x->now + l->v[i].dist;
            if (!s) {
                x->stamp[u] = x->walk;
                x->next[u] = at;
                x->count[u] = 1;
            } else if (x->stamp[u] == x->walk && x->count[u] == s) {
                x->next[u] = at > x->next[u] ? at : x->next[u];
                x->count[u]++;
            }
        }
    }
    for (uint32_t i = 0; b->nsucc && i < x->start[b->succ[0]].n; i++) {
        uint32_t u = x->start[b->succ[0]].v[i].unit;
        if (x->count[u] < b->nsucc)
            x->stamp[u] = 0; /* far on some path */
    }
}

/* What a load that is an operand accesses itself, the instruction after it does. */
static void
walk_step(struct next_use *x, uint32_t i)
{
    if (ptx_is_pseudo(&x->g->func->body.v[i]))
        return;
    x->now -= is_inst(x, i);
    each_access(x, i, access_at, x);
}

struct collect {
    struct next_use *x;
    struct near_list *to;
};

static void
collect_unit(struct collect *c, uint32_t u)
{
    struct next_use *x = c->x;
    unsigned d = distance(x, u);
    if (d == NEXT_USE_FAR)
        return;
    x->stamp[u] = 0; /* once */
    if (c->to->n == c->to->cap) {
        c->to->cap = c->to->cap ? 2 * c->to->cap : 8;
        c->to->v = xrealloc(c->to->v, c->to->cap * sizeof *c->to->v);
    }
    c->to->v[c->to->n++] = (struct near){u, (uint8_t)d};
}

static void
collect_reg(void *user, int32_t r, bool write, bool partial)
{
    struct collect *c = user;
    (void)write;
    (void)partial;
    for (unsigned k = 0; k < c->x->units.count[r]; k++)
        collect_unit(c, c->x->units.first[r] + k);
}

/* The block's list again; true if it differs. */
static bool
solve_block(struct next_use *x, uint32_t block)
{
    const struct cfg_block *b = &x->g->block[block];
    struct near_list *l = &x->start[block], old = *l;
    uint32_t sum = 0, new_sum = 0;
    walk_end(x, block);
    for (uint32_t i = b->end; i-- > b->first;)
        walk_step(x, i);
    *l = (struct near_list){0};
    struct collect c = {x, l};
    unsigned seen = 0;
    for (uint32_t i = b->first; i < b->end && seen < x->window; i++) {
        if (ptx_is_pseudo(&x->g->func->body.v[i]))
            continue;
        seen += is_inst(x, i);
        each_access(x, i, collect_reg, &c);
    }
    /* What is near after the block: it is in the list of the first successor. */
    if (seen < x->window && b->nsucc && b->succ[0] >= 0) {
        struct near_list s = (uint32_t)b->succ[0] == block ? old : x->start[b->succ[0]];
        for (uint32_t i = 0; i < s.n; i++)
            collect_unit(&c, s.v[i].unit);
    }
    for (uint32_t i = 0; i < old.n; i++)
        sum += old.v[i].dist;
    for (uint32_t i = 0; i < l->n; i++)
        new_sum += l->v[i].dist;
    bool differs = old.n != l->n || sum != new_sum; /* distances only shrink */
    free(old.v);
    return differs;
}

static void
solve(struct next_use *x)
{
    const struct cfg *g = x->g;
    struct arena tmp = {0};
    bool *todo = ARENA_ARRAY(&tmp, bool, g->n + 1), more = true;
    memset(todo, true, g->n);
    while (more) {
        more = false;
        for (uint32_t i = g->nrpo; i-- > 0;) {
            uint32_t b = g->rpo[i];
            if (!todo[b])
                continue;
            todo[b] = false;
            if (!solve_block(x, b))
                continue;
            for (uint32_t k = 0; k < g->block[b].npred; k++)
                todo[g->block[b].pred[k]] = true;
            more = true;
        }
    }
    arena_free(&tmp);
}

/* -- lanes that wait -- */

struct variance {
    struct next_use *x;
    bool *varies; /* of each register: lanes may hold different values */
    bool changed, source;
};

static void
read_varies(void *user, int32_t r, bool write, bool partial)
{
    struct variance *v = user;
    (void)partial;
    v->source |= !write && v->varies[r];
}

static void
write_varies(void *user, int32_t r, bool write, bool partial)
{
    struct variance *v = user;
    (void)partial;
    if (write && !v->varies[r])
        v->varies[r] = v->changed = true;
}

static bool
operand_varies(const struct ptx_operand *o, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (o[i].kind == PTX_OPD_SREG && o[i].sreg != PTX_SREG_CTAID &&
            o[i].sreg != PTX_SREG_NCTAID && o[i].sreg != PTX_SREG_NTID)
            return true;
        if (o[i].kind == PTX_OPD_VEC && operand_varies(o[i].vec, o[i].n))
            return true;
    }
    return false;
}

static bool
is_uniform_kind(const struct ptx_func *f, const struct ptx_inst *in)
{
    unsigned flags = ptx_ops[in->op].flags;
    if (flags & PTX_LOAD && !(flags & (PTX_STORE | PTX_ATOMIC)))
        return f->is_entry && ptx_inst_space(in) == PTX_SPACE_PARAM;
    return flags & PTX_PURE && !(flags & (PTX_CCIN | PTX_CROSSLANE));
}

static void
mark_writes(struct variance *v, uint32_t i)
{
    const struct ptx_func *f = v->x->g->func;
    const struct ptx_inst *in = &f->body.v[i];
    v->source = v->x->wait[v->x->g->block_of[i]].diverged || !is_uniform_kind(f, in) ||
                operand_varies(in->ops, in->nops);
    defuse_each(in, read_varies, v);
    if (v->source)
        defuse_each(in, write_varies, v);
}

/* Lanes sent to successor s of block d run the blocks that s reaches without passing the
 * post-dominator: calls fn for each. False: more than *budget of them. */
static bool
each_diverged(const struct next_use *x, uint32_t d, int32_t s, uint32_t *seen,
              uint32_t mark, uint32_t *stack, uint64_t *budget,
              void (*fn)(void *, uint32_t), void *user)
{
    const struct cfg *g = x->g;
    int32_t meet = g->block[d].ipdom;
    uint32_t sp = 0;
    if (s < 0 || s == meet)
        return true;
    seen[s] = mark;
    stack[sp++] = (uint32_t)s;
    while (sp) {
        uint32_t b = stack[--sp];
        if (!*budget)
            return false;
        --*budget;
        fn(user, b);
        for (uint32_t k = 0; k < g->block[b].nsucc; k++) {
            int32_t t = g->block[b].succ[k];
            if (t < 0 || t == meet || seen[t] == mark)
                continue;
            seen[t] = mark;
            stack[sp++] = (uint32_t)t;
        }
    }
    return true;
}

static void
mark_diverged(void *user, uint32_t b)
{
    struct next_use *x = user;
    x->wait[b].diverged = true;
}

struct waiting {
    struct next_use *x;
    uint32_t at;
};

static void
add_waiting(void *user, uint32_t b)
{
    struct waiting *w = user;
    struct wait_list *l = &w->x->wait[b];
    for (size_t i = l->at.n; i-- > 0;)
        if (l->at.v[i] == w->at)
            return;
    *vec_push(&l->at) = w->at;
}

/* Which branches part a warp, and what they send their lanes through. */
static void
find_divergence(struct next_use *x, uint32_t *seen, uint32_t *stack, uint64_t *budget)
{
    const struct cfg *g = x->g;
    const struct ptx_func *f = g->func;
    struct arena tmp = {0};
    struct variance v = {x, ARENA_ARRAY(&tmp, bool, f->regs.n + 1), true, false};
    uint32_t mark = 0;
    for (size_t r = 0; r < f->regs.n; r++) /* no value was ever written: anything */
        v.varies[r] = live_at_start(x->live, 0, (uint32_t)r);
    while (v.changed && !x->too_many) {
        v.changed = false;
        for (uint32_t i = 0; i < f->body.n; i++)
            if (!ptx_is_pseudo(&f->body.v[i]))
                mark_writes(&v, i);
        for (uint32_t k = 0; k < g->nrpo; k++) {
            uint32_t d = g->rpo[k];
            const struct cfg_block *b = &g->block[d];
            const struct ptx_inst *last = &f->body.v[b->end - 1];
            if (x->diverges[d] || b->nsucc < 2 || !cfg_targets(last, NULL, 0))
                continue;
            if (last->op == PTX_OP_BRA && last->guard >= 0 && !v.varies[last->guard])
                continue;
            x->diverges[d] = v.changed = true;
            for (uint32_t s = 0; s < b->nsucc; s++)
                if (!each_diverged(x, d, b->succ[s], seen, ++mark, stack, budget,
                                   mark_diverged, x))
                    x->too_many = true;
        }
    }
    arena_free(&tmp);
}

/* Of every block that part of a warp may run: where the rest may wait. */
static void
find_waiting(struct next_use *x, uint32_t *seen, uint32_t *stack, uint64_t *budget)
{
    const struct cfg *g = x->g;
    uint32_t mark = 1u << 30;
    for (uint32_t d = 0; d < g->n && !x->too_many; d++) {
        const struct cfg_block *b = &g->block[d];
        for (uint32_t s = 0; x->diverges[d] && s < b->nsucc; s++)
            for (uint32_t t = 0; t <= b->nsucc; t++) {
                int32_t at = t < b->nsucc ? b->succ[t] : b->ipdom;
                if (t == s || at < 0)
                    continue;
                struct waiting w = {x, (uint32_t)at};
                if (!each_diverged(x, d, b->succ[s], seen, ++mark, stack, budget,
                                   add_waiting, &w))
                    x->too_many = true;
            }
    }
}

/* Registers live before instructions that wait for other lanes, where a warp may be in
 * parts. */
static void
find_sync(struct next_use *x)
{
    const struct cfg *g = x->g;
    struct arena tmp = {0};
    struct live_set set = live_set_new(&tmp, x->live->nregs);
    x->sync_live = bitset_new(&x->mem, x->live->nregs + 1);
    for (uint32_t b = 0; b < g->n; b++) {
        if (!x->wait[b].diverged)
            continue;
        live_set_end(x->live, b, &set);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            const struct ptx_inst *in = &g->func->body.v[i];
            live_step_back(in, &set);
            if (!(ptx_ops[in->op].flags & PTX_CROSSLANE) &&
                ptx_ops[in->op].unit != PTX_UNIT_BARRIER)
                continue;
            for (uint32_t k = 0; k < set.n; k++)
                bitset_add(x->sync_live, set.reg[k]);
        }
    }
    arena_free(&tmp);
}

static void
find_lanes(struct next_use *x)
{
    struct arena tmp = {0};
    uint32_t *seen = ARENA_ARRAY(&tmp, uint32_t, x->g->n + 1);
    uint32_t *stack = ARENA_ARRAY(&tmp, uint32_t, x->g->n + 1);
    /* Beyond, OFF is given up altogether, so that the time stays proportional. */
    uint64_t budget = 1000000 + 256 * (uint64_t)x->g->n;
    find_divergence(x, seen, stack, &budget);
    find_waiting(x, seen, stack, &budget);
    find_sync(x);
    arena_free(&tmp);
}

static bool
may_wait_for(const struct next_use_point *p, uint32_t unit)
{
    const struct next_use *x = p->x;
    const struct wait_list *l = &x->wait[p->block];
    if (x->too_many)
        return true;
    if (!l->diverged)
        return false;
    for (uint32_t i = x->units.start[unit]; i < x->units.start[unit + 1]; i++) {
        uint32_t r = x->units.reg[i];
        if (bitset_has(x->sync_live, r))
            return true;
        for (size_t k = 0; k < l->at.n; k++)
            if (live_at_start(x->live, l->at.v[k], r))
                return true;
    }
    return false;
}

bool
next_use_diverges(const struct next_use *x, uint32_t block)
{
    return x->diverges[block];
}

/* -- between a load and its reader -- */

struct counting {
    struct next_use *x;
    uint8_t *of; /* each unit */
    int by;
};

static void
count_units(void *user, int32_t r, bool write, bool partial)
{
    const struct counting *c = user;
    (void)write;
    (void)partial;
    for (unsigned k = 0; k < c->x->units.count[r]; k++)
        c->of[c->x->units.first[r] + k] += (uint8_t)c->by;
}

/* The walk passes the reader of a load (by 1), or the load (-1), backward. */
static void
count_load(struct next_use *x, uint32_t load, int by)
{
    const struct ptx_func *f = x->g->func;
    struct counting held = {x, x->held, by}, values = {x, x->values, by};
    struct without address = {f, &x->folds[load], count_units, &held, false};
    count_units(&values, f->body.v[load].ops[0].reg, true, false);
    if (x->folds[load].address)
        defuse_each(&f->body.v[load], pass_on, &address);
}

static void
count_loads(struct next_use *x, uint32_t i)
{
    if (!x->folds)
        return;
    for (unsigned k = 0; k < LOADS && x->folds[i].of[k]; k++)
        count_load(x, x->folds[i].of[k] - 1, 1);
    if (x->folds[i].reader)
        count_load(x, i, -1);
}

/* -- results -- */

struct next_use *
next_use_new(const struct live *l, unsigned window, enum next_use_lanes lanes,
             bool operand_loads)
{
    struct next_use *x = xcalloc(1, sizeof *x);
    x->live = l;
    x->g = l->cfg;
    x->window = window;
    x->lanes = lanes;
    make_units(x);
    x->next = ARENA_ARRAY(&x->mem, uint32_t, x->units.n + 1);
    x->stamp = ARENA_ARRAY(&x->mem, uint32_t, x->units.n + 1);
    x->count = ARENA_ARRAY(&x->mem, uint32_t, x->units.n + 1);
    x->start = ARENA_ARRAY(&x->mem, struct near_list, x->g->n + 1);
    x->wait = ARENA_ARRAY(&x->mem, struct wait_list, x->g->n + 1);
    x->diverges = ARENA_ARRAY(&x->mem, bool, x->g->n + 1);
    if (operand_loads)
        find_folds(x);
    solve(x);
    if (lanes == LANES_SAFE)
        find_lanes(x);
    return x;
}

void
next_use_free(struct next_use *x)
{
    if (!x)
        return;
    for (uint32_t b = 0; b < x->g->n; b++) {
        free(x->start[b].v);
        vec_free(&x->wait[b].at);
    }
    arena_free(&x->mem);
    free(x);
}

void
next_use_each(struct next_use *x, void (*fn)(void *, const struct next_use_point *),
              void *user)
{
    const struct cfg *g = x->g;
    struct arena tmp = {0};
    struct live_set set = live_set_new(&tmp, x->live->nregs);
    for (uint32_t k = 0; k < g->nrpo; k++) {
        struct next_use_point p = {x, 0, g->rpo[k], &set};
        walk_end(x, p.block);
        live_set_end(x->live, p.block, &set);
        for (uint32_t i = g->block[p.block].end; i-- > g->block[p.block].first;) {
            const struct ptx_inst *in = &g->func->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            p.inst = i;
            if (is_inst(x, i))
                fn(user, &p);
            walk_step(x, i);
            count_loads(x, i);
            live_step_back(in, &set);
        }
    }
    arena_free(&tmp);
}

unsigned
next_use_dist(const struct next_use_point *p, uint32_t unit)
{
    return distance(p->x, unit);
}

enum ptx_power
next_use_unit_power(const struct next_use_point *p, uint32_t unit)
{
    const struct reg_units *u = &p->x->units;
    if (distance(p->x, unit) != NEXT_USE_FAR)
        return PTX_POWER_ON;
    bool folds = p->x->folds != NULL, value = folds && p->x->values[unit];
    if (folds && p->x->held[unit])
        return PTX_POWER_SLEEP;
    for (uint32_t i = u->start[unit]; i < u->start[unit + 1] && !value; i++)
        if (live_has(p->live, u->reg[i]))
            return PTX_POWER_SLEEP;
    return p->x->lanes == LANES_SAFE && may_wait_for(p, unit) ? PTX_POWER_SLEEP
                                                              : PTX_POWER_OFF;
}

enum ptx_power
next_use_power(const struct next_use_point *p, uint32_t reg)
{
    const struct reg_units *u = &p->x->units;
    enum ptx_power state = PTX_POWER_OFF;
    for (unsigned k = 0; k < u->count[reg]; k++) {
        enum ptx_power s = next_use_unit_power(p, u->first[reg] + k);
        state = s < state ? s : state;
    }
    return state;
}
