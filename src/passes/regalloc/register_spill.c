/* register_spill.c: where more is live than there is room for, some registers go to
 * memory.
 *
 * At every point where too much is live, a candidate is worth what it would free there;
 * it costs its loads and stores, ten times as much in a loop. What can be rematerialised where
 * it is read (register_remat.c) costs a quarter for each instruction of its chain, a 32nd if
 * it is an operand that takes no slot (literals, addresses of variables, parameters, constant
 * memory; `operands-free`).
 * One that is rematerialised from a narrower register, which lives longer for it, frees the
 * difference. The best ratio goes first, until no point is over; then the costliest choices
 * that later ones made needless are taken back. Where registers live longer nothing goes to
 * memory yet: the next round may choose them.
 * The rest have a slot in local memory: a store after each write, a load
 * before each read, through registers made for that; register_keep.c says for how long.
 *
 * The points that are over the limit are numbered. A register is live without being used
 * over ranges of them; what it is worth is its width times the points in its ranges that
 * are over still. A choice takes its width from all points of its ranges at the same time, in a
 * tree over the points that finds those that are no longer over: each leaves once. Ratios
 * only fall, so the queue holds old ones, and the first is weighed again until it stays
 * first. O((points + ranges + choices) log points), if that does not happen too often:
 * beyond some number of times a ratio that has fallen by less than an eighth will do.
 *
 * Slots are handed out by spill_home, so that another memory (free scratchpad) can come
 * before local memory there and nowhere else. */
#include "passes/regalloc/register_allocate_int.h"
#include "passes/rewrite.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "base/pqueue.h"

/* -- points over the limit -- */

enum { SATISFIED = INT32_MAX / 2 };

/* A range of numbers of points, [from, to). */
struct range {
    uint32_t from, to;
    int32_t next; /* of the same register, RA_NONE: none */
};

struct over {
    const struct ra *a;
    const struct cfg *g;
    uint32_t limit, n;   /* points over the limit */
    VEC(int32_t) excess; /* of each: units above the limit */
    VEC(struct range) range;
    int32_t *ranges; /* of each register: its first */
    int32_t *open;   /* its present range began here; RA_NONE: none */
    uint8_t *frees;  /* of each register: units that choosing it frees */
    int32_t *source; /* of each register: ra_remat.source if it is chosen */
    uint64_t *cost;  /* of each register: what choosing it costs */
    uint64_t *remat; /* registers that are rematerialised, from what is there anyway */
    /* A complete binary tree over the points, root 1, leaves from `leaves`: the least
     * excess below each node (SATISFIED: no point is over), without what is to be added
     * to all below it, and points over. */
    uint32_t leaves;
    int32_t *least, *add;
    uint32_t *left;
};

static void
begin_range(struct over *o, uint32_t r)
{
    if (o->a->f->regs.v[r].type != PTX_PRED)
        o->open[r] = (int32_t)o->n;
}

static void
end_range(struct over *o, uint32_t r)
{
    int32_t from = o->open[r], last = o->ranges[r];
    o->open[r] = RA_NONE;
    if (from < 0 || (uint32_t)from == o->n)
        return;
    if (last >= 0 && o->range.v[last].to == (uint32_t)from) {
        o->range.v[last].to = o->n;
        return;
    }
    o->ranges[r] = (int32_t)o->range.n;
    *vec_push(&o->range) = (struct range){(uint32_t)from, o->n, last};
}

static void
used_here(void *user, int32_t reg, bool write, bool partial)
{
    (void)write;
    (void)partial;
    end_range(user, (uint32_t)reg);
}

/* A use, and what is live before it. */
struct use {
    struct over *o;
    const struct live_set *before;
};

static void
used_behind(void *user, int32_t reg, bool write, bool partial)
{
    struct use *u = user;
    (void)write;
    (void)partial;
    if (live_has(u->before, (uint32_t)reg))
        begin_range(u->o, (uint32_t)reg);
}

/* Ranges go backward like the walk: from a block's end, or from before a use, to after a
 * use or to the block's start. Where an instruction uses a register that is spilled, it
 * is in a register all the same. */
static void
note_point(void *user, uint32_t inst, bool after, const struct live_set *set,
           uint32_t registers, uint32_t predicates)
{
    struct over *o = user;
    const struct ptx_inst *in = &o->a->f->body.v[inst];
    const struct cfg_block *b = &o->g->block[o->g->block_of[inst]];
    (void)predicates;
    if (after) {
        for (uint32_t i = 0; inst + 1 == b->end && i < set->n; i++)
            begin_range(o, set->reg[i]);
        defuse_each(in, used_here, o);
    }
    if (registers > o->limit) {
        *vec_push(&o->excess) = (int32_t)(registers - o->limit);
        o->n++;
    }
    if (after)
        return;
    if (inst == b->first)
        for (uint32_t i = 0; i < set->n; i++)
            end_range(o, set->reg[i]);
    else
        defuse_each(in, used_behind, &(struct use){o, set});
}

static void
build_tree(struct over *o, struct arena *mem)
{
    for (o->leaves = 1; o->leaves < o->n;)
        o->leaves *= 2;
    o->least = ARENA_ARRAY(mem, int32_t, 2 * o->leaves);
    o->add = ARENA_ARRAY(mem, int32_t, 2 * o->leaves);
    o->left = ARENA_ARRAY(mem, uint32_t, 2 * o->leaves);
    for (uint32_t i = 0; i < o->leaves; i++) {
        o->least[o->leaves + i] = i < o->n ? o->excess.v[i] : SATISFIED;
        o->left[o->leaves + i] = i < o->n;
    }
    for (uint32_t k = o->leaves; --k;) {
        int32_t a = o->least[2 * k], b = o->least[2 * k + 1];
        o->least[k] = a < b ? a : b;
        o->left[k] = o->left[2 * k] + o->left[2 * k + 1];
    }
}

/* Takes `units` from the points [from, to), below node k, which has [lo, lo + n). */
static void
relieve(struct over *o, uint32_t k, uint32_t lo, uint32_t n, uint32_t from, uint32_t to,
        int32_t units)
{
    if (to <= lo || lo + n <= from || !o->left[k])
        return;
    bool whole = from <= lo && lo + n <= to;
    if (whole && o->least[k] > units) { /* all of them are over still */
        o->least[k] -= units;
        o->add[k] -= units;
        return;
    }
    if (n == 1) {
        o->least[k] = SATISFIED;
        o->left[k] = 0;
        return;
    }
    for (uint32_t c = 2 * k; c < 2 * k + 2; c++)
        if (o->left[c]) {
            o->least[c] += o->add[k];
            o->add[c] += o->add[k];
        }
    o->add[k] = 0;
    relieve(o, 2 * k, lo, n / 2, from, to, units);
    relieve(o, 2 * k + 1, lo + n / 2, n / 2, from, to, units);
    int32_t a = o->least[2 * k], b = o->least[2 * k + 1];
    o->least[k] = a < b ? a : b;
    o->left[k] = o->left[2 * k] + o->left[2 * k + 1];
}

/* Points over the limit below number `to`. */
static uint32_t
count_below(const struct over *o, uint32_t to)
{
    uint32_t n = 0;
    if (to >= o->leaves)
        return o->left[1];
    for (uint32_t k = to + o->leaves; k > 1; k /= 2)
        if (k & 1)
            n += o->left[k - 1];
    return n;
}

/* -- choice -- */

struct access {
    uint64_t *cost;
    uint32_t weight;
};

static void
add_access(void *user, int32_t reg, bool write, bool partial)
{
    struct access *x = user;
    (void)write;
    (void)partial;
    x->cost[reg] += x->weight;
}

static uint64_t
benefit(const struct over *o, uint32_t r)
{
    uint64_t points = 0;
    for (int32_t k = o->ranges[r]; k >= 0; k = o->range.v[k].next)
        points += count_below(o, o->range.v[k].to) - count_below(o, o->range.v[k].from);
    return points * o->frees[r];
}

/* The greatest ratio has the least key: the bits of floats above 0 order as they do. */
static uint64_t
key_of(double ratio)
{
    uint64_t bits;
    memcpy(&bits, &ratio, sizeof bits);
    return ~bits;
}

static double
ratio_of(uint64_t key)
{
    double ratio;
    key = ~key;
    memcpy(&ratio, &key, sizeof ratio);
    return ratio;
}

/* What choosing a register costs and frees. */
static void
weigh(struct over *o, struct ra_remat *x)
{
    uint32_t n = (uint32_t)o->a->f->regs.n;
    struct arena mem = {0};
    const uint64_t *remat = o->remat;
    ra_remat_everywhere(x, o->remat, &mem);
    for (uint32_t r = 0; r < n; r++) {
        o->frees[r] = (uint8_t)ra_units(o->a->f, (int32_t)r);
        o->source[r] = bitset_has(remat, r) ? RA_NONE : ra_remat_source(x, (int32_t)r);
        if (o->source[r] >= 0)
            bitset_add(x->longer, (size_t)o->source[r]);
    }
    uint64_t *longer = bitset_new(&mem, n + 1);
    ra_remat_everywhere(x, longer, &mem);
    for (uint32_t r = 0; r < n; r++) {
        if (!bitset_has(longer, r))
            o->source[r] = RA_NONE;
        if (o->source[r] >= 0)
            o->frees[r] -= (uint8_t)ra_units(o->a->f, o->source[r]);
        /* Cheaper than loading. steps is the longest chain; 1 to that many are needed. */
        if (o->source[r] >= 0 || bitset_has(remat, r))
            o->cost[r] =
                o->cost[r] * ((x->steps[r] + 1u) / 2) /
                (o->a->operands_free && ra_is_operand(o->a, x->defs, (int32_t)r) ? 32
                                                                                 : 4);
        o->cost[r]++; /* never 0 */
    }
    arena_free(&mem);
}

/* -- choices that later ones made needless -- */

/* The tree holds, of each point, how many units less than now would have to leave it: below 0
 * where it is over still. Node k, which has [lo, lo + n); add is included in least. */
static void
slack_add(struct over *o, uint32_t k, uint32_t lo, uint32_t n, const struct range *x,
          int32_t units)
{
    if (x->to <= lo || lo + n <= x->from)
        return;
    if (x->from <= lo && lo + n <= x->to) {
        o->least[k] += units;
        o->add[k] += units;
        return;
    }
    slack_add(o, 2 * k, lo, n / 2, x, units);
    slack_add(o, 2 * k + 1, lo + n / 2, n / 2, x, units);
    int32_t a = o->least[2 * k], b = o->least[2 * k + 1];
    o->least[k] = (a < b ? a : b) + o->add[k];
}

static int32_t
slack_min(const struct over *o, uint32_t k, uint32_t lo, uint32_t n,
          const struct range *x)
{
    if (x->to <= lo || lo + n <= x->from)
        return SATISFIED;
    if (x->from <= lo && lo + n <= x->to)
        return o->least[k];
    int32_t a = slack_min(o, 2 * k, lo, n / 2, x);
    int32_t b = slack_min(o, 2 * k + 1, lo + n / 2, n / 2, x);
    return (a < b ? a : b) + o->add[k];
}

static void
slack_all(struct over *o, uint32_t r, int32_t units)
{
    for (int32_t k = o->ranges[r]; k >= 0; k = o->range.v[k].next)
        slack_add(o, 1, 0, o->leaves, &o->range.v[k], units);
}

struct choice {
    uint64_t cost;
    uint32_t r;
};

static int
by_cost(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return (x->r > y->r) - (x->r < y->r);
}

/* Takes back choices, the costliest first, without which no point gets over the limit. */
static void
take_back(struct over *o, uint64_t *gone, struct choice *chosen, uint32_t n)
{
    for (uint32_t i = 0; i < 2 * o->leaves; i++)
        o->least[i] = o->add[i] = 0;
    for (uint32_t i = 0; i < o->leaves; i++)
        o->least[o->leaves + i] = i < o->n ? -o->excess.v[i] : SATISFIED;
    for (uint32_t k = o->leaves; --k;) {
        int32_t a = o->least[2 * k], b = o->least[2 * k + 1];
        o->least[k] = a < b ? a : b;
    }
    for (uint32_t i = 0; i < n; i++)
        slack_all(o, chosen[i].r, o->frees[chosen[i].r]);
    qsort(chosen, n, sizeof *chosen, by_cost);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t r = chosen[i].r;
        int32_t least = SATISFIED;
        for (int32_t k = o->ranges[r]; k >= 0; k = o->range.v[k].next) {
            int32_t m = slack_min(o, 1, 0, o->leaves, &o->range.v[k]);
            least = m < least ? m : least;
        }
        if (least < o->frees[r])
            continue;
        slack_all(o, r, -(int32_t)o->frees[r]);
        bitset_del(gone, r);
    }
}

/* Chooses registers until no point is over the limit or nothing is left to choose. */
static bool
choose(struct over *o, uint64_t *gone, struct arena *mem)
{
    const struct ra *a = o->a;
    uint32_t nregs = (uint32_t)a->f->regs.n;
    struct pqueue best = pqueue_new(mem, nregs);
    uint64_t weighed = 0, patience = 200000 + 32 * (uint64_t)nregs;
    uint64_t *longer = bitset_new(mem, nregs + 1); /* sources of what is chosen */
    struct choice *chosen = ARENA_ARRAY(mem, struct choice, nregs + 1);
    uint32_t n = 0;
    bool narrowed = false;
    for (uint32_t r = 0; r < nregs; r++) {
        uint64_t worth = benefit(o, r);
        if (!worth || (r < a->temporary.n && a->temporary.v[r]) ||
            ptx_type_bytes(a->f->regs.v[r].type) < 2)
            continue;
        best.key[r] = key_of((double)worth / (double)o->cost[r]);
        pqueue_add(&best, r);
    }
    while (o->left[1] && best.n) {
        uint32_t r = best.v[0];
        double now = (double)benefit(o, r) / (double)o->cost[r];
        bool enough = ++weighed > patience && now > ratio_of(best.key[r]) * 7 / 8;
        if (key_of(now) != best.key[r] && !enough) {
            best.key[r] = key_of(now);
            pqueue_down(&best, r);
            continue;
        }
        if (now <= 0)
            break;
        pqueue_take(&best);
        if (bitset_has(longer, r) ||
            (o->source[r] >= 0 && bitset_has(gone, (size_t)o->source[r])))
            continue; /* perhaps in the next round */
        bitset_add(gone, r);
        chosen[n++] = (struct choice){o->cost[r], r};
        for (int32_t k = o->ranges[r]; k >= 0; k = o->range.v[k].next)
            relieve(o, 1, 0, o->leaves, o->range.v[k].from, o->range.v[k].to,
                    o->frees[r]);
        if (o->source[r] >= 0)
            bitset_add(longer, (size_t)o->source[r]);
    }
    take_back(o, gone, chosen, n);
    for (uint32_t i = 0; i < n; i++)
        narrowed |= bitset_has(gone, chosen[i].r) && o->source[chosen[i].r] >= 0;
    /* What lives longer now may be the better choice for memory: the next round sees it. */
    for (uint32_t r = 0; narrowed && r < nregs; r++)
        if (o->source[r] < 0 && !bitset_has(o->remat, r))
            bitset_del(gone, r);
    return n > 0;
}

/* -- code -- */

struct spill {
    struct ra *a;
    struct ra_remat *remat;
    const uint64_t *gone;
    int64_t *slot; /* of each register: offset in local memory, -1: rematerialised */
    int32_t *now;  /* temporary of each register, RA_NONE */
    struct ra_uses uses;
};

/* A place in memory for `bytes` bytes of every thread: offset in a->slots. */
static int64_t
spill_home(struct ra *a, unsigned bytes)
{
    struct ptx_func *f = a->f;
    if (!a->slots) {
        struct ptx_var *v = ARENA_NEW(&f->module->mem, struct ptx_var);
        v->name = rewrite_new_name(f, "__allot_spill", false);
        v->space = PTX_SPACE_LOCAL;
        v->type = PTX_B8;
        v->align = 16;
        v->ndims = 1;
        v->dims = ARENA_NEW(&f->module->mem, uint64_t);
        v->func = f;
        *vec_push(&f->vars) = v;
        a->slots = v;
    }
    uint64_t at = (a->slots->size + bytes - 1) / bytes * bytes;
    a->slots->size = a->slots->dims[0] = at + (bytes < 4 ? 4 : bytes);
    return (int64_t)at;
}

static void
emit_memory(struct ra_body *b, bool load, int32_t reg, int64_t slot,
            const struct ptx_inst *like, int32_t origin)
{
    struct ptx_func *f = b->a->f;
    unsigned bytes = ptx_type_bytes(f->regs.v[reg].type);
    struct ptx_inst in = ptx_inst_new(f->module, load ? PTX_OP_LD : PTX_OP_ST, 2);
    ptx_set_mod(f->module, &in, PTX_MG_SPACE, PTX_SPACE_SS_LOCAL);
    in.ntypes = 1;
    in.type[0] = (uint8_t)(bytes == 16  ? PTX_B128
                           : bytes == 8 ? PTX_B64
                           : bytes == 4 ? PTX_B32
                                        : PTX_B16);
    in.line = like->line;
    in.col = like->col;
    struct ptx_operand *r = &in.ops[load ? 0 : 1], *m = &in.ops[load ? 1 : 0];
    r->kind = PTX_OPD_REG;
    r->reg = reg;
    m->kind = PTX_OPD_ADDR;
    m->var = b->a->slots;
    m->off = slot;
    ra_emit(b, in, origin);
}

static void
rename_operand(struct spill *s, struct ptx_operand *o)
{
    if ((o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR) && o->reg >= 0 &&
        bitset_has(s->gone, (size_t)o->reg))
        o->reg = s->now[o->reg];
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        rename_operand(s, &o->vec[k]);
}

static void
spill_inst(struct spill *s, struct ra_body *b, size_t i)
{
    struct ra *a = s->a;
    const struct ptx_inst *in = &a->f->body.v[i];
    const uint32_t first = s->uses.first[i], end = s->uses.first[i + 1];
    if (first == end) {
        ra_emit(b, *in, a->origin.v[i]);
        return;
    }
    if (s->uses.use.v[first].dropped)
        return;
    struct ptx_inst copy = *in;
    copy.ops = ptx_operands_dup(a->f->module, in->ops, in->nops);
    const int32_t front = ra_beside(a->origin.v[i], false);
    for (uint32_t n = first; n < end; n++) {
        const struct ra_use *u = &s->uses.use.v[n];
        int32_t r = u->reg;
        if (s->now[r] < 0)
            s->now[r] = ra_temporary(a, a->f->regs.v[r].type, true);
        if (!u->load)
            continue;
        if (u->remat)
            ra_emit_remat(s->remat, b, u, s->now[r], front);
        else if (s->slot[r] >= 0)
            emit_memory(b, true, s->now[r], s->slot[r], in, front);
        /* else the code is unreachable */
    }
    for (unsigned k = 0; k < copy.nops; k++)
        rename_operand(s, &copy.ops[k]);
    ra_emit(b, copy, a->origin.v[i]);
    for (uint32_t n = first; n < end; n++) {
        const struct ra_use *u = &s->uses.use.v[n];
        if (u->store)
            emit_memory(b, false, s->now[u->reg], s->slot[u->reg], in,
                        ra_beside(a->origin.v[i], true));
        if (!u->kept)
            s->now[u->reg] = RA_NONE;
    }
}

/* Places for what is loaded or stored; the rest is rematerialised wherever it is read. */
static void
find_homes(struct spill *s, uint32_t n, struct arena *mem)
{
    struct ra *a = s->a;
    uint64_t *used = bitset_new(mem, n + 1);
    for (size_t i = 0; i < s->uses.use.n; i++) {
        const struct ra_use *u = &s->uses.use.v[i];
        if (u->store || (u->load && !u->remat))
            bitset_add(used, (size_t)u->reg);
    }
    for (uint32_t r = 0; r < n; r++) {
        bool home = s->slot[r] >= 0 && bitset_has(used, r);
        if (!bitset_has(s->gone, r))
            continue;
        s->slot[r] = home ? spill_home(a, ptx_type_bytes(a->f->regs.v[r].type)) : -1;
        a->spilled += home;
        a->rematerialised += !home;
    }
}

static void
rewrite(struct ra *a, const struct live *l, const uint64_t *gone, const int32_t *source,
        uint32_t n, uint32_t limit)
{
    struct arena mem = {0};
    struct defs *d = defs_new(l->cfg);
    struct defs_writes *w = defs_writes_new(l->cfg);
    struct spill s = {.a = a, .gone = gone};
    uint64_t *everywhere = bitset_new(&mem, n + 1);
    s.remat = ra_remat_new(a, l, d, w, gone, source, limit, &mem);
    ra_remat_everywhere(s.remat, everywhere, &mem);
    s.slot = ARENA_ARRAY(&mem, int64_t, n + 1);
    s.now = ARENA_ARRAY(&mem, int32_t, n + 1);
    for (uint32_t r = 0; r < n; r++) {
        s.now[r] = RA_NONE;
        s.slot[r] = bitset_has(everywhere, r) ? -1 : 0;
    }
    ra_keep(a, s.remat, s.slot, limit, &s.uses, &mem);
    find_homes(&s, n, &mem);
    struct ra_body b = {.a = a};
    for (size_t i = 0; i < a->f->body.n; i++)
        spill_inst(&s, &b, i);
    ra_body_end(&b);
    vec_free(&s.uses.use);
    defs_writes_free(w);
    defs_free(d);
    arena_free(&mem);
}

bool
ra_spill(struct ra *a, const struct live *l, uint32_t units)
{
    struct arena mem = {0};
    const struct cfg *g = l->cfg;
    uint32_t n = (uint32_t)a->f->regs.n;
    struct over o = {.a = a, .g = g, .limit = units};
    uint64_t *gone = bitset_new(&mem, n + 1);
    o.remat = bitset_new(&mem, n + 1);
    o.cost = ARENA_ARRAY(&mem, uint64_t, n + 1);
    o.ranges = ARENA_ARRAY(&mem, int32_t, n + 1);
    o.open = ARENA_ARRAY(&mem, int32_t, n + 1);
    o.frees = ARENA_ARRAY(&mem, uint8_t, n + 1);
    o.source = ARENA_ARRAY(&mem, int32_t, n + 1);
    for (uint32_t r = 0; r < n; r++)
        o.ranges[r] = o.open[r] = RA_NONE;
    live_each_point(l, note_point, &o);
    bool any = false;
    if (o.n) {
        uint32_t *weight = ra_block_weights(g, &mem);
        for (size_t i = 0; i < a->f->body.n; i++)
            defuse_each(&a->f->body.v[i], add_access,
                        &(struct access){o.cost, weight[g->block_of[i]]});
        struct defs *d = defs_new(g);
        struct defs_writes *w = defs_writes_new(g);
        weigh(&o, ra_remat_new(a, l, d, w, NULL, NULL, units, &mem));
        defs_writes_free(w);
        defs_free(d);
        build_tree(&o, &mem);
        any = choose(&o, gone, &mem);
    }
    if (any)
        rewrite(a, l, gone, o.source, n, units);
    vec_free(&o.excess);
    vec_free(&o.range);
    arena_free(&mem);
    return any;
}
