/* late_stores.c: writes to the scratchpad move down, to where a barrier, another access to
 * it or a change of one of their registers stops them. Loads whose values they store then
 * stand before the first of them: the region in which a block needs its scratchpad
 * (analysis/regions.h) begins after the latencies of those loads, as in 003's Figure 2,
 * where loadFromGlobal stands before saveToSM.
 *
 *     ld.global a         ld.global a
 *     st.shared a         ld.global b
 *     ld.global b    ->   st.shared a     the region
 *     st.shared b         st.shared b     begins here
 *     bar.sync            bar.sync
 *
 * Two steps in turn, until nothing moves: within a block of the flow graph, and from its end
 * to the start of the block where all its threads meet again, if the blocks between touch
 * no scratchpad; loops there are passed as a whole. The order of accesses to the scratchpad
 * stays. Values are kept in registers for longer: a kernel in which more would then be live
 * at a point than a thread may have stays as it was; what can be rematerialised there does
 * not count. Cost: instructions squared, within a
 * block. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"
#include "analysis/defs.h"
#include "analysis/live.h"
#include "analysis/motion.h"
#include "analysis/scratchpad.h"

#include <string.h>

enum { MOST_ROUNDS = 256, MOST_REGS = 16 };

struct late {
    struct ptx_func *f;
    struct cfg *g;
    struct scratch_use *use;
    const scratch_set *touch; /* per instruction of the body as it was */
    size_t moved;
};

/* Registers of an instruction. */
struct regs {
    int32_t v[MOST_REGS];
    unsigned n;
    bool written; /* note those written, else those read */
    bool full;
};

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct regs *r = user;
    (void)partial;
    if (write != r->written)
        return;
    if (r->n == MOST_REGS)
        r->full = true;
    else
        r->v[r->n++] = reg;
}

static bool
writes_any(const struct ptx_inst *in, const struct regs *reads)
{
    struct regs w = {.written = true};
    defuse_each(in, note, &w);
    for (unsigned i = 0; i < w.n; i++)
        for (unsigned k = 0; k < reads->n; k++)
            if (w.v[i] == reads->v[k])
                return true;
    return w.full;
}

static bool
is_store(const struct late *l, const struct ptx_inst *in)
{
    return ptx_inst_space(in) == PTX_SPACE_SHARED && motion_of(l->f, in) == MOTION_STORE;
}

/* Whether a store that reads these registers may pass instruction i. */
static bool
may_pass(const struct late *l, uint32_t i, const struct regs *reads)
{
    const struct ptx_inst *in = &l->f->body.v[i];
    enum motion o = motion_of(l->f, in);
    return !l->touch[i] && (o == MOTION_FREE || o == MOTION_LOAD || o == MOTION_STORE) &&
           !writes_any(in, reads);
}

/* The same of a whole block but for its branch, whose guard is only read. */
static bool
may_pass_block(const struct late *l, uint32_t v, const struct regs *reads)
{
    const struct cfg_block *b = &l->g->block[v];
    for (uint32_t i = b->first; i < b->end; i++)
        if (!ptx_is_pseudo(&l->f->body.v[i]) && l->f->body.v[i].op != PTX_OP_BRA &&
            !may_pass(l, i, reads))
            return false;
    return true;
}

/* Moves instruction `from` after those up to `to`, exclusive. */
static void
move(struct late *l, uint32_t from, uint32_t to)
{
    struct ptx_inst *v = l->f->body.v, in = v[from];
    scratch_set *touch = l->use->funcs.v[0].touch, t = touch[from];
    memmove(&v[from], &v[from + 1], (to - from - 1) * sizeof *v);
    memmove(&touch[from], &touch[from + 1], (to - from - 1) * sizeof *touch);
    v[to - 1] = in;
    touch[to - 1] = t;
    l->moved++;
}

static bool
within_block(struct late *l, const struct cfg_block *b)
{
    bool any = false;
    for (uint32_t i = b->end; i-- > b->first;) {
        struct regs r = {0};
        uint32_t to = i + 1, last = i + 1;
        if (!is_store(l, &l->f->body.v[i]))
            continue;
        defuse_each(&l->f->body.v[i], note, &r);
        for (; to < b->end && !r.full; to++) {
            if (ptx_is_pseudo(&l->f->body.v[to]))
                continue;
            if (!may_pass(l, to, &r))
                break;
            last = to + 1;
        }
        if (last > i + 1) {
            move(l, i, last);
            any = true;
        }
    }
    return any;
}

/* Blocks on ways from `from` to `to`, both left out, let the store pass. */
static bool
between_pass(const struct late *l, uint32_t from, uint32_t to, const struct regs *r)
{
    for (uint32_t v = 0; v < l->g->n; v++)
        if (v != from && v != to && cfg_dominates(l->g, (int32_t)from, (int32_t)v) &&
            !cfg_dominates(l->g, (int32_t)to, (int32_t)v) && l->g->block[v].rpo >= 0 &&
            !may_pass_block(l, v, r))
            return false;
    return true;
}

/* Whether block `to` is in a loop that block `from`, which dominates it, is not in. */
static bool
comes_again(const struct cfg *g, uint32_t from, uint32_t to)
{
    uint64_t *reached = xcalloc(BITSET_WORDS(g->n + 1), sizeof *reached);
    cfg_reach(g, to, (int32_t)from, reached);
    const bool again = bitset_has(reached, to);
    free(reached);
    return again;
}

/* Where all threads of block v meet again; loops that begin there are passed as a whole.
 * -1: nowhere after it. */
static int32_t
meeting(const struct cfg *g, uint32_t v)
{
    int32_t to = g->block[v].ipdom;
    while (to >= 0 && comes_again(g, v, (uint32_t)to))
        to = g->block[to].ipdom;
    return to > (int32_t)v && g->block[v].rpo >= 0 && cfg_dominates(g, (int32_t)v, to)
               ? to
               : -1;
}

/* Whether `from` is in a loop that `to` is not in. Loops between them are passed as a
 * whole. */
static bool
leaves_loop(const struct cfg *g, uint32_t from, uint32_t to)
{
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t e = 0; e < g->block[v].nsucc; e++)
            if (g->block[v].succ[e] >= 0 && g->block[v].rpo >= 0 &&
                cfg_dominates(g, (int32_t)from, (int32_t)v) &&
                !cfg_dominates(g, (int32_t)to, (int32_t)v) &&
                g->block[g->block[v].succ[e]].rpo <= g->block[v].rpo &&
                (g->block[v].succ[e] == (int32_t)from ||
                 !cfg_dominates(g, (int32_t)from, g->block[v].succ[e])))
                return true;
    return false;
}

/* Moves the last instruction of block v before its branch, a store, to the start of the
 * block where its threads meet. The flow graph is void then. */
static bool
past_branch(struct late *l, uint32_t v)
{
    const struct cfg_block *b = &l->g->block[v];
    struct regs r = {0};
    uint32_t i = b->end;
    const int32_t meet = meeting(l->g, v);
    if (meet < 0)
        return false;
    const struct cfg_block *to = &l->g->block[meet];
    while (i > b->first &&
           (ptx_is_pseudo(&l->f->body.v[i - 1]) || l->f->body.v[i - 1].op == PTX_OP_BRA))
        i--;
    if (i == b->first || !is_store(l, &l->f->body.v[i - 1]))
        return false;
    defuse_each(&l->f->body.v[i - 1], note, &r);
    if (r.full || leaves_loop(l->g, v, (uint32_t)meet) ||
        !between_pass(l, v, (uint32_t)meet, &r))
        return false;
    uint32_t at = to->first;
    while (at < to->end && ptx_is_pseudo(&l->f->body.v[at]))
        at++;
    if (at == to->end)
        return false;
    move(l, i - 1, at);
    return true;
}

static bool
one_round(struct late *l)
{
    for (uint32_t v = 0; v < l->g->n; v++)
        within_block(l, &l->g->block[v]);
    for (uint32_t v = 0; v < l->g->n; v++)
        if (past_branch(l, v))
            return true;
    return false;
}

/* -- registers -- */

struct room {
    const struct ptx_func *f;
    const struct defs *d;
    uint32_t most;
};

/* Is r's only definition an operation of the ALU on registers, which can be repeated? */
static bool
computed(const struct room *m, int32_t r)
{
    const int32_t at = m->d->at[r];
    const struct ptx_inst *in = at < 0 ? NULL : &m->f->body.v[at];
    return in && in->guard < 0 && ptx_ops[in->op].unit == PTX_UNIT_ALU &&
           rewrite_is_pure(in) && in->op != PTX_OP_MOV;
}

/* Can allocation compute r again at this point, from registers that are live anyway? */
static bool
again(const struct room *m, const struct live_set *set, int32_t r)
{
    if (!computed(m, r))
        return false;
    const struct ptx_inst *in = &m->f->body.v[m->d->at[r]];
    for (unsigned k = 1; k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        if (o->kind == PTX_OPD_REG &&
            (o->joined || m->d->at[o->reg] < 0 || !live_has(set, (uint32_t)o->reg) ||
             computed(m, o->reg)))
            return false;
        if (o->kind != PTX_OPD_REG && o->kind != PTX_OPD_IMM && o->kind != PTX_OPD_NONE)
            return false;
    }
    return true;
}

static void
count_live(void *user, uint32_t inst, bool after, const struct live_set *set,
           uint32_t registers, uint32_t predicates)
{
    struct room *m = user;
    (void)inst;
    (void)after;
    (void)predicates;
    for (uint32_t i = 0; i < set->n && registers > m->most; i++)
        if (again(m, set, (int32_t)set->reg[i]))
            registers -= ptx_type_bytes(m->f->regs.v[set->reg[i]].type) == 8 ? 2 : 1;
    m->most = registers > m->most ? registers : m->most;
}

/* Most registers that are live at a point, but for those that allocation can rematerialise
 * where they are read (register_again.c): offsets that a compiler took out of a loop. */
static uint32_t
live(const struct ptx_func *f)
{
    struct cfg *g = cfg_new(f);
    struct defs *d = defs_new(g);
    struct live *l = live_new(g);
    struct room m = {.f = f, .d = d};
    live_each_point(l, count_live, &m);
    live_free(l);
    defs_free(d);
    cfg_free(g);
    return m.most;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    double most;
    (void)facts;
    if (!pass_arg_number(a, "max-registers", 1, 1024, &most, diag))
        return false;
    if (!f->is_entry || f->registers)
        return true;
    const size_t bytes = f->body.n * sizeof *f->body.v;
    struct ptx_inst *was = xcalloc(f->body.n + 1, sizeof *was);
    memcpy(was, f->body.v, bytes);
    struct late l = {.f = f, .use = scratch_use_new(f)};
    l.touch = l.use->funcs.v[0].touch;
    bool more = true;
    for (unsigned n = 0; more && n < MOST_ROUNDS; n++) {
        l.g = cfg_new(f);
        more = one_round(&l);
        cfg_free(l.g);
    }
    const uint32_t now = l.moved ? live(f) : 0;
    const bool back = now > (uint32_t)most;
    if (back)
        memcpy(f->body.v, was, bytes);
    *changed = l.moved && !back;
    if (a->report && back)
        strbuf_printf(a->report,
                      "%s: writes to the scratchpad stay: after what is loaded for them "
                      "%u registers would be live, of %u\n",
                      f->name, now, (unsigned)most);
    else if (a->report && l.moved)
        strbuf_printf(a->report, "%s: writes to the scratchpad moved down, %zu times\n",
                      f->name, l.moved);
    free(was);
    scratch_use_free(l.use);
    return true;
}

const struct pass pass_late_stores = {
    .name = "late-stores",
    .meaning = "moves writes to the scratchpad down, after the loads of what they write",
    .keys =
        (const struct pass_key[]){
            {"max-registers", "255", "most registers live at a point"}, {0}},
    .run_func = run,
};
