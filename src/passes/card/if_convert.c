/* if_convert.c: short branches become guarded instructions, as in ptxas' code.
 *
 *     @%p1 bra L;                     @!%p1 shl.b64 %rd2, %rd1, 2;
 *     shl.b64 %rd2, %rd1, 2;          @!%p1 st.global.u32 [%rd2], %r1;
 *     st.global.u32 [%rd2], %r1;
 * L:
 *
 * An arm is a basic block that the branch alone reaches. With one arm the branch jumps over
 * it; with two the first ends by a jump over the second. Where they join may stand elsewhere:
 * the last arm then keeps its jump, but one arm alone stays a branch unless it goes back. Where
 * only the first of two is short it gets the guard, with its jump over the second. All of an
 * arm gets the guard, but for what is an operand of the arm's instructions only (literals,
 * parameters). Lanes of a warp then stay together, and `schedule` moves instructions over what
 * was a branch. Registers of the arm do not live in the other lanes: analysis/guarded.h.
 *
 * Which branches: if_convert_worth.c, read off `ptxas -O3`. Left alone, as by ptxas: atomics,
 * barriers, calls, IEEE quotients, and arms that only the kernel's end follows.
 *
 * Rounds go on while branches within arms become guards; what was refused once stays a branch,
 * as the code after it then was. O(body) a round. Huge kernels: the round also makes their
 * flow and liveness again. */
#include "passes/card/if_convert_int.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/fused.h"
#include "analysis/guarded.h"
#include "analysis/motion.h"
#include "ptx/expansion.h"
#include "ptx/loc.h"

enum {
    MOST_CONDITION = 5, /* operations of a second condition */
    MOST_ROUNDS = 8
};

/* A branch, by what stays the same from round to round. */
struct refused {
    const char *label;
    int32_t guard;
};

struct convert {
    struct ptx_func *f;
    const struct cfg *g;
    const struct live *live;
    uint8_t *operations;  /* of each instruction, where it is no part of another */
    uint64_t *dead;       /* instructions */
    bool *taken;          /* of each block: part of a diamond of this round */
    bool *guarded_arm;    /* ... and an arm of it */
    uint32_t *guarded_in; /* of each register: the last arm where a guarded write is */
    uint32_t arms;        /* converted */
    bool reads_guarded;
    size_t diamonds, guarded;
    struct worth worth;          /* of this round */
    VEC(struct refused) refused; /* branches that stay */
};

/* -- an arm -- */

struct outside {
    const struct convert *c;
    const struct diamond *d;
    uint32_t arm;
    bool read, guard;
};

/* Is what it writes read after the arm, or by the other arm? */
static void
note_outside(void *user, int32_t reg, bool write, bool partial)
{
    struct outside *o = user;
    (void)partial;
    if (!write)
        return;
    o->guard |= reg == o->d->guard;
    o->read |= live_at_start(o->c->live, o->d->meet, (uint32_t)reg);
    for (uint32_t k = 0; k < o->d->narms; k++)
        o->read |= o->d->arm[k] != o->arm &&
                   live_at_start(o->c->live, o->d->arm[k], (uint32_t)reg);
}

static struct outside
find_outside(const struct convert *c, const struct diamond *d, uint32_t arm,
             const struct ptx_inst *in)
{
    struct outside o = {.c = c, .d = d, .arm = arm};
    defuse_each(in, note_outside, &o);
    return o;
}

/* May all lanes run it? */
static bool
is_harmless(const struct ptx_func *f, const struct ptx_inst *in)
{
    if (in->mod[PTX_MG_CC] || ptx_ops[in->op].flags & PTX_CCIN)
        return false;
    const bool operand = in->op == PTX_OP_LD && !ptx_machine_operations(in);
    return operand || (!(ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE)) &&
                       motion_of(f, in) == MOTION_FREE &&
                       !(ptx_ops[in->op].flags & (PTX_SIDE | PTX_CROSSLANE)));
}

static bool
is_jump(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BRA && in->guard < 0;
}

/* Can it stand under a guard? */
static bool
takes_guard(const struct convert *c, const struct diamond *d, uint32_t arm,
            const struct ptx_inst *in)
{
    const unsigned flags = ptx_ops[in->op].flags;
    const enum motion order = motion_of(c->f, in);
    if (in->guard >= 0 || in->power || flags & (PTX_ATOMIC | PTX_CROSSLANE) ||
        ptx_machine_branches(in) || order == MOTION_FIXED || order == MOTION_ACCESS ||
        in->mod[PTX_MG_CC] || flags & PTX_CCIN)
        return false;
    const struct outside o = find_outside(c, d, arm, in);
    const bool load = flags & PTX_LOAD && !is_harmless(c->f, in);
    return !o.guard && (!load || in->op == PTX_OP_LD);
}

/* Can the arm become guarded instructions? Counts its machine operations, and tells whether one
 * of them is a long load. */
static bool
is_arm(const struct convert *c, struct diamond *d, uint32_t arm, uint32_t *operations,
       bool *loads)
{
    const struct cfg_block *b = &c->g->block[arm];
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct ptx_inst *in = &c->f->body.v[i];
        const bool jump = i + 1 == b->end && is_jump(in);
        if (jump && arm == d->arm[d->narms - 1])
            continue;
        *operations += c->operations[i];
        if (ptx_is_loc(in) || in->op == PTX_OP_LABEL || jump)
            continue;
        if (ptx_is_pseudo(in) || !takes_guard(c, d, arm, in))
            return false;
        *loads |= worth_is_long_load(&c->worth, i);
        d->lives_on |= find_outside(c, d, arm, in).read;
    }
    return true;
}

/* Are both arms? Notes what they are like. */
static bool
are_arms(const struct convert *c, struct diamond *d)
{
    for (uint32_t k = 0; k < d->narms; k++) {
        uint32_t operations = 0;
        bool loads = false;
        if (c->taken[d->arm[k]] || !is_arm(c, d, d->arm[k], &operations, &loads))
            return false;
        d->operations = operations > d->operations ? operations : d->operations;
        d->loading += loads;
    }
    return true;
}

/* -- diamonds -- */

static const char *
label_of(const struct convert *c, const struct ptx_inst *branch)
{
    return c->f->labels.v[branch->ops[0].label].name;
}

static bool
is_refused(const struct convert *c, const struct ptx_inst *branch)
{
    for (size_t i = 0; i < c->refused.n; i++)
        if (c->refused.v[i].label == label_of(c, branch) &&
            c->refused.v[i].guard == branch->guard)
            return true;
    return false;
}

/* The only way in is from `from`, the only way out to *to. */
static bool
is_between(const struct cfg *g, uint32_t b, uint32_t from, uint32_t *to)
{
    const struct cfg_block *x = &g->block[b];
    if (b >= g->n || x->npred != 1 || x->pred[0] != (int32_t)from || x->nsucc != 1 ||
        x->succ[0] < 0)
        return false;
    *to = (uint32_t)x->succ[0];
    return true;
}

/* Nothing but the kernel's end: ptxas guards the exit instead (@P0 EXIT). */
static bool
only_ends(const struct convert *c, uint32_t b)
{
    for (uint32_t i = c->g->block[b].first; i < c->g->block[b].end; i++)
        if (!ptx_is_pseudo(&c->f->body.v[i]))
            return c->f->body.v[i].guard < 0 &&
                   ptx_ops[c->f->body.v[i].op].flags & PTX_ENDS;
    return c->g->block[b].nsucc == 1 && c->g->block[b].succ[0] == CFG_EXIT;
}

/* Block b ends by a branch on a condition, and goes on to the next. */
static bool
branches_on(const struct convert *c, uint32_t b)
{
    const struct cfg_block *x = &c->g->block[b];
    return cfg_condition(c->g, b) && x->nsucc == 2 && x->rpo >= 0 &&
           x->succ[1] == (int32_t)b + 1 && x->succ[0] >= 0;
}

/* Does its one arm jump over code that is not its own? ptxas guards an arm that the code after it
 * follows, or that goes back. */
static bool
jumps_on(const struct diamond *d)
{
    return d->meet > d->arm[0] + 1;
}

/* The diamond below the branch that ends block a. Blocks stand in the order of the code. */
static bool
find_diamond(struct convert *c, uint32_t a, struct diamond *d)
{
    const struct cfg_block *x = &c->g->block[a];
    uint32_t meet;
    if (!branches_on(c, a) || !is_between(c->g, a + 1, a, &d->meet))
        return false;
    const struct ptx_inst *in = &c->f->body.v[x->end - 1];
    d->head = a;
    d->arm[0] = a + 1;
    d->narms = 1;
    d->guard = in->guard;
    d->neg = !in->guard_neg;
    const uint32_t target = (uint32_t)x->succ[0];
    if (target != d->meet) {
        if (target != a + 2 || !is_between(c->g, target, a, &meet) || meet != d->meet)
            return false;
        d->arm[d->narms++] = target;
    }
    if (d->narms == 1 && (only_ends(c, d->meet) || jumps_on(d)))
        return false;
    if (c->taken[a] || is_refused(c, in) || !are_arms(c, d))
        return false;
    if (worth_guards(&c->worth, d))
        return true;
    *vec_push(&c->refused) = (struct refused){label_of(c, in), in->guard};
    return false;
}

/* The first of two arms where it alone is short: it goes with the jump over the second. */
static bool
find_first_arm(struct convert *c, uint32_t a, struct diamond *d)
{
    const struct cfg_block *x = &c->g->block[a];
    bool loads = false;
    if (!branches_on(c, a) || c->taken[a] || c->taken[a + 1] ||
        x->succ[0] != (int32_t)a + 2 || !is_between(c->g, a + 1, a, &d->meet) ||
        !is_jump(&c->f->body.v[c->g->block[a + 1].end - 1]) || only_ends(c, d->meet))
        return false;
    const struct ptx_inst *in = &c->f->body.v[x->end - 1];
    d->head = a;
    d->arm[0] = a + 1;
    d->arm[1] = a + 2;
    d->narms = 2;
    d->guard = in->guard;
    d->neg = !in->guard_neg;
    return is_arm(c, d, d->arm[0], &d->operations, &loads) && !loads &&
           worth_is_short(d->operations);
}

/* -- two conditions of one arm -- */

/* Block a, by its branch, goes to the arm or around it; the next block decides the same:
 * `a || b` jumps into the arm, `a && b` around it. */
struct pair {
    uint32_t a, b, arm, meet; /* blocks */
    bool any;                 /* one of the two conditions is enough */
};

struct computed {
    const struct convert *c;
    const struct pair *p;
    int32_t guard;
    bool bad;
};

static void
note_computed(void *user, int32_t reg, bool write, bool partial)
{
    struct computed *x = user;
    (void)partial;
    if (write)
        x->bad |= reg == x->guard ||
                  live_at_start(x->c->live, x->p->meet, (uint32_t)reg) ||
                  (x->p->any && live_at_start(x->c->live, x->p->arm, (uint32_t)reg));
}

/* May all lanes compute the second condition? */
static bool
is_computed_by_all(const struct convert *c, const struct pair *p)
{
    const struct cfg_block *b = &c->g->block[p->b];
    struct computed x = {
        .c = c, .p = p, .guard = c->f->body.v[c->g->block[p->a].end - 1].guard};
    uint32_t operations = 0;
    for (uint32_t i = b->first; i + 1 < b->end; i++) {
        const struct ptx_inst *in = &c->f->body.v[i];
        if (ptx_is_loc(in) || in->op == PTX_OP_LABEL)
            continue;
        if (ptx_is_pseudo(in) || in->guard >= 0 || in->power || !is_harmless(c->f, in))
            return false;
        operations += c->operations[i];
        defuse_each(in, note_computed, &x);
    }
    return !x.bad && operations <= MOST_CONDITION;
}

static bool
find_pair(struct convert *c, uint32_t a, struct pair *p)
{
    *p = (struct pair){.a = a, .b = a + 1, .arm = a + 2};
    if (p->arm >= c->g->n || !branches_on(c, a) || !branches_on(c, p->b) || c->taken[a] ||
        c->taken[p->b] || c->taken[p->arm])
        return false;
    const struct cfg_block *b = &c->g->block[p->b], *arm = &c->g->block[p->arm];
    const uint32_t to = (uint32_t)c->g->block[a].succ[0];
    p->meet = (uint32_t)b->succ[0];
    p->any = to == p->arm;
    if (b->npred != 1 || arm->nsucc != 1 || arm->succ[0] != (int32_t)p->meet ||
        (!p->any && to != p->meet) || arm->npred != (p->any ? 2u : 1u))
        return false;
    struct diamond d = {.head = p->b,
                        .arm = {p->arm},
                        .narms = 1,
                        .meet = p->meet,
                        .guard = c->f->body.v[b->end - 1].guard};
    return is_computed_by_all(c, p) && !only_ends(c, p->meet) && are_arms(c, &d) &&
           worth_guards(&c->worth, &d);
}

static struct ptx_operand
predicate(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = reg};
}

static struct ptx_inst *
push(struct ptx_func *f, enum ptx_op op, unsigned n, int32_t to)
{
    struct ptx_inst *in = vec_push(&f->body);
    *in = ptx_inst_new(f->module, op, n);
    in->ntypes = 1;
    in->type[0] = PTX_PRED;
    in->ops[0] = predicate(to);
    return in;
}

/* The register, or one that holds what is negated. */
static int32_t
plain(struct ptx_func *f, int32_t reg, bool neg)
{
    if (!neg)
        return reg;
    const int32_t to = ptx_reg_new(f, PTX_PRED);
    push(f, PTX_OP_NOTP, 2, to)->ops[1] = predicate(reg);
    return to;
}

/* Both conditions in one predicate, and the branch by it: around the arm. first: the branch of
 * block a; second: that of block b. */
static void
emit_pair(struct ptx_func *f, const struct pair *p, struct ptx_inst first,
          struct ptx_inst second)
{
    const bool neg1 = p->any ? first.guard_neg : !first.guard_neg;
    const bool neg2 = !second.guard_neg;
    const bool both = neg1 && neg2; /* !x || !y is !(x && y) */
    const int32_t x = plain(f, first.guard, neg1 && !both);
    const int32_t y = plain(f, second.guard, neg2 && !both);
    const int32_t to = ptx_reg_new(f, PTX_PRED);
    struct ptx_inst *in = push(f, p->any != both ? PTX_OP_ORP : PTX_OP_ANDP, 3, to);
    in->ops[1] = predicate(x);
    in->ops[2] = predicate(y);
    second.guard = to;
    second.guard_neg = !both;
    *vec_push(&f->body) = second;
}

/* Joins the conditions of arms that could become guards; whether there were any. */
static bool
join_conditions(struct convert *c, struct arena *mem)
{
    struct ptx_func *f = c->f;
    const uint32_t n = (uint32_t)f->body.n;
    struct pair *pair = ARENA_ARRAY(mem, struct pair, c->g->n + 1);
    size_t found = 0, done = 0;
    for (uint32_t a = 0; a < c->g->n; a++)
        if (find_pair(c, a, &pair[found])) {
            c->taken[a] = c->taken[a + 1] = c->taken[a + 2] = true;
            found++;
        }
    if (!found)
        return false;
    struct ptx_inst *was = arena_dup(mem, f->body.v, n * sizeof *was);
    f->body.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pair *p = done < found ? &pair[done] : NULL;
        if (p && i + 1 == c->g->block[p->a].end)
            continue;
        if (p && i + 1 == c->g->block[p->b].end) {
            emit_pair(f, p, was[c->g->block[p->a].end - 1], was[i]);
            done++;
        } else {
            *vec_push(&f->body) = was[i];
        }
    }
    rewrite_drop_labels(f);
    guarded_mark(f);
    return true;
}

static void
ask_guarded(void *user, int32_t reg, bool write, bool partial)
{
    struct convert *c = user;
    (void)partial;
    c->reads_guarded |= !write && c->guarded_in[reg] == c->arms;
}

/* Only the lanes that run the arm have what it reads? */
static bool
reads_guarded(struct convert *c, const struct ptx_inst *in)
{
    c->reads_guarded = false;
    defuse_each(in, ask_guarded, c);
    return c->reads_guarded;
}

static void
note_guarded(void *user, int32_t reg, bool write, bool partial)
{
    struct convert *c = user;
    (void)partial;
    if (write)
        c->guarded_in[reg] = c->arms;
}

static void
set_guard(struct convert *c, struct ptx_inst *in, int32_t guard, bool neg)
{
    in->guard = guard;
    in->guard_neg = neg;
    defuse_each(in, note_guarded, c);
    c->guarded++;
}

/* Guards what stands in arm k, but for operands and a jump. */
static void
guard_arm(struct convert *c, const struct diamond *d, uint32_t k)
{
    const struct cfg_block *b = &c->g->block[d->arm[k]];
    c->taken[d->arm[k]] = c->guarded_arm[d->arm[k]] = true;
    c->arms++;
    for (uint32_t i = b->first; i < b->end; i++) {
        struct ptx_inst *in = &c->f->body.v[i];
        if (ptx_is_pseudo(in) || is_jump(in) ||
            (!ptx_machine_operations(in) && is_harmless(c->f, in) &&
             !find_outside(c, d, d->arm[k], in).read && !reads_guarded(c, in)))
            continue;
        set_guard(c, in, d->guard, d->neg != (k == 1));
    }
}

static void
convert(struct convert *c, const struct diamond *d)
{
    bitset_add(c->dead, c->g->block[d->head].end - 1);
    c->taken[d->head] = true;
    for (uint32_t k = 0; k < d->narms; k++) {
        const uint32_t last = c->g->block[d->arm[k]].end - 1;
        if (is_jump(&c->f->body.v[last]) &&
            (k + 1 < d->narms || d->meet == d->arm[k] + 1))
            bitset_add(c->dead, last);
        guard_arm(c, d, k);
    }
    c->diamonds++;
}

static void
convert_first_arm(struct convert *c, const struct diamond *d)
{
    struct ptx_inst *jump = &c->f->body.v[c->g->block[d->arm[0]].end - 1];
    bitset_add(c->dead, c->g->block[d->head].end - 1);
    c->taken[d->head] = true;
    guard_arm(c, d, 0);
    jump->guard = d->guard;
    jump->guard_neg = d->neg;
    c->diamonds++;
}

/* One round; false: nothing to convert. */
static bool
run_once(struct convert *c)
{
    struct arena mem = {0};
    struct cfg *g = cfg_new(c->f);
    struct live *live = live_new(g);
    const size_t before = c->diamonds;
    c->g = g;
    c->live = live;
    c->operations = ARENA_ARRAY(&mem, uint8_t, c->f->body.n + 1);
    c->dead = bitset_new(&mem, c->f->body.n + 1);
    c->taken = ARENA_ARRAY(&mem, bool, g->n + 1);
    c->guarded_arm = ARENA_ARRAY(&mem, bool, g->n + 1);
    c->guarded_in = ARENA_ARRAY(&mem, uint32_t, c->f->regs.n + 1);
    fused_operations(live, c->operations, NULL);
    c->worth = worth_new(&mem, live, c->operations, c->guarded_arm);
    if (join_conditions(c, &mem)) {
        live_free(live);
        cfg_free(g);
        arena_free(&mem);
        return true;
    }
    for (uint32_t a = 0; a < g->n; a++) {
        struct diamond d = {0};
        if (find_diamond(c, a, &d))
            convert(c, &d);
    }
    const bool none = c->diamonds == before;
    for (uint32_t a = 0; a + 2 < g->n && none; a++) {
        struct diamond d = {0};
        if (find_first_arm(c, a, &d))
            convert_first_arm(c, &d);
    }
    live_free(live);
    cfg_free(g);
    if (c->diamonds > before) {
        rewrite_delete(c->f, c->dead);
        rewrite_drop_labels(c->f);
        guarded_mark(c->f);
    }
    arena_free(&mem);
    return c->diamonds > before;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)x; /* facts are made per round */
    (void)diag;
    struct convert c = {.f = f};
    for (int k = 0; k < MOST_ROUNDS && run_once(&c); k++)
        *changed = true;
    vec_free(&c.refused);
    if (a->report && c.diamonds)
        strbuf_printf(a->report,
                      "%s: %zu branches have become guards of %zu instructions\n",
                      f->name, c.diamonds, c.guarded);
    return true;
}

const struct pass pass_if_convert = {
    .name = "if-convert",
    .meaning = "makes guarded instructions of short branches",
    .run_func = run,
};
