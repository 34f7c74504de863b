/* register_spill.c: where more is live than there is room for, some registers go to
 * memory.
 *
 * At every point where too much is live, a candidate is worth what it would free there;
 * it costs its loads and stores, ten times as much in a loop. The best ratio goes first,
 * until no point is over. A register whose only definition is a literal, an address, a
 * parameter or a special register that does not change is computed again where it is read
 * instead. The rest have a slot in local memory: a store behind each write, a load before
 * each read, through registers made for that one instruction.
 *
 * Slots are handed out by spill_home, so that another memory (free scratchpad) can come
 * before local memory there and nowhere else. */
#include "passes/register_allocate_int.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"

/* -- choice -- */

struct choice {
    const struct ra *a;
    const struct live *l;
    uint32_t n, limit;
    uint64_t *gone;    /* registers chosen */
    uint64_t *benefit; /* of each register, over points that are over the limit */
    uint64_t *cost;
    uint64_t *now, *here; /* live behind the instruction; read or written by it */
    uint32_t worst;
};

struct access {
    uint64_t *cost, *here;
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

static void
add_here(void *user, int32_t reg, bool write, bool partial)
{
    (void)write;
    (void)partial;
    bitset_add(user, (size_t)reg);
}

/* Weighs the point whose live registers are in `set`. */
static void
weigh(struct choice *c, const uint64_t *set, bool count)
{
    const struct ptx_func *f = c->a->f;
    uint32_t units = 0;
    for (int round = 0; round < 2; round++) {
        if (round) {
            c->worst = units > c->worst ? units : c->worst;
            if (units <= c->limit || !count)
                return;
        }
        for (size_t w = 0; w < BITSET_WORDS(c->n); w++)
            FOR_BITS(bit, set[w] & (~c->gone[w] | c->here[w]))
            {
                size_t r = w * 64 + bit;
                if (f->regs.v[r].type == PTX_PRED)
                    continue;
                if (!round)
                    units += ra_units(f, (int32_t)r);
                else if (!bitset_has(c->here, r))
                    c->benefit[r] += ra_units(f, (int32_t)r);
            }
    }
}

/* Walks the code once; fills benefit, sets worst. */
static void
pressure(struct choice *c)
{
    const struct cfg *g = c->l->cfg;
    size_t words = BITSET_WORDS(c->n);
    c->worst = 0;
    memset(c->benefit, 0, sizeof *c->benefit * c->n);
    for (uint32_t b = 0; b < g->n; b++) {
        if (g->block[b].rpo < 0)
            continue;
        memcpy(c->now, c->l->out[b], words * 8);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            const struct ptx_inst *in = &c->a->f->body.v[i];
            memset(c->here, 0, words * 8);
            defuse_each(in, add_here, c->here);
            live_add_written(in, c->now);
            weigh(c, c->now, true);
            live_step_back(in, c->now);
            weigh(c, c->now, true);
        }
    }
}

/* -- code -- */

struct spill {
    struct ra *a;
    const struct defs *defs;
    const uint64_t *gone;
    int64_t *slot;     /* of each register: offset in local memory, -1: computed again */
    int32_t *now;      /* temporary of each register in this instruction, RA_NONE */
    VEC(int32_t) used; /* registers that have one */
    bool *read, *written;
};

static bool
unchanging(unsigned s)
{
    return s == PTX_SREG_TID || s == PTX_SREG_NTID || s == PTX_SREG_CTAID ||
           s == PTX_SREG_NCTAID || s == PTX_SREG_LANEID;
}

/* Can the value of r be computed anywhere, from nothing? */
static bool
from_nothing(const struct ra *a, const struct defs *d, int32_t r)
{
    if (d->at[r] < 0)
        return false;
    const struct ptx_inst *in = &a->f->body.v[d->at[r]];
    if (ptx_nops(in) != 2 || in->ops[0].kind != PTX_OPD_REG || a->origin.v[d->at[r]] < 0)
        return false;
    const struct ptx_operand *s = &in->ops[1];
    if (in->op == PTX_OP_MOV)
        return s->kind == PTX_OPD_IMM || s->kind == PTX_OPD_F32 ||
               s->kind == PTX_OPD_F64 || s->kind == PTX_OPD_SYM ||
               (s->kind == PTX_OPD_SREG && unchanging(s->sreg));
    return in->op == PTX_OP_LD && a->f->is_entry &&
           in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_PARAM && s->kind == PTX_OPD_ADDR &&
           s->reg < 0 && s->var && s->var->is_param;
}

/* A place in memory for `bytes` bytes of every thread: offset in a->slots. */
static int64_t
spill_home(struct ra *a, unsigned bytes)
{
    struct ptx_func *f = a->f;
    if (!a->slots) {
        struct ptx_var *v = ARENA_NEW(&f->module->mem, struct ptx_var);
        v->name = arena_printf(&f->module->mem, "__allot_spill");
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
            const struct ptx_inst *like)
{
    struct ptx_func *f = b->a->f;
    unsigned bytes = ptx_type_bytes(f->regs.v[reg].type);
    struct ptx_inst in = ptx_inst_new(f->module, load ? PTX_OP_LD : PTX_OP_ST, 2);
    ptx_set_mod(f->module, &in, PTX_MG_SPACE, PTX_SPACE_SS_LOCAL);
    in.ntypes = 1;
    in.type[0] = (uint8_t)(bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : PTX_B16);
    in.line = like->line;
    in.col = like->col;
    struct ptx_operand *r = &in.ops[load ? 0 : 1], *m = &in.ops[load ? 1 : 0];
    r->kind = PTX_OPD_REG;
    r->reg = reg;
    m->kind = PTX_OPD_ADDR;
    m->var = b->a->slots;
    m->off = slot;
    ra_emit(b, in, RA_NONE);
}

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct spill *s = user;
    (void)partial;
    if (!bitset_has(s->gone, (size_t)reg))
        return;
    if (!s->read[reg] && !s->written[reg])
        *vec_push(&s->used) = reg;
    if (write)
        s->written[reg] = true;
    else
        s->read[reg] = true;
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
    s->used.n = 0;
    defuse_each(in, note, s);
    if (!s->used.n) {
        ra_emit(b, *in, a->origin.v[i]);
        return;
    }
    if (s->used.n == 1 && s->written[s->used.v[0]] && s->slot[s->used.v[0]] < 0) {
        s->written[s->used.v[0]] = s->read[s->used.v[0]] = false;
        return; /* its definition: computed again where it is read */
    }
    struct ptx_inst copy = *in;
    copy.ops = ptx_operands_dup(a->f->module, in->ops, in->nops);
    for (size_t k = 0; k < s->used.n; k++) {
        int32_t r = s->used.v[k];
        int32_t t = ra_temporary(a, a->f->regs.v[r].type, true);
        s->now[r] = t;
        if (s->slot[r] < 0) {
            const struct ptx_inst *def = &a->f->body.v[s->defs->at[r]];
            struct ptx_inst again = *def;
            again.ops = ptx_operands_dup(a->f->module, def->ops, def->nops);
            again.ops[0].reg = t;
            ra_emit(b, again, RA_NONE);
        } else if (s->read[r] || in->guard >= 0) {
            /* a guarded write adds to what was there */
            emit_memory(b, true, t, s->slot[r], in);
        }
    }
    for (unsigned k = 0; k < copy.nops; k++)
        rename_operand(s, &copy.ops[k]);
    ra_emit(b, copy, a->origin.v[i]);
    for (size_t k = 0; k < s->used.n; k++) {
        int32_t r = s->used.v[k];
        if (s->written[r])
            emit_memory(b, false, s->now[r], s->slot[r], in);
        s->read[r] = s->written[r] = false;
        s->now[r] = RA_NONE;
    }
}

static void
rewrite(struct ra *a, const struct cfg *g, const uint64_t *gone, uint32_t n)
{
    struct arena mem = {0};
    struct defs *d = defs_new(g);
    struct spill s = {.a = a, .defs = d, .gone = gone};
    s.slot = ARENA_ARRAY(&mem, int64_t, n + 1);
    s.now = ARENA_ARRAY(&mem, int32_t, n + 1);
    s.read = ARENA_ARRAY(&mem, bool, n + 1);
    s.written = ARENA_ARRAY(&mem, bool, n + 1);
    for (uint32_t r = 0; r < n; r++) {
        if (!bitset_has(gone, r))
            continue;
        bool again = from_nothing(a, d, (int32_t)r);
        s.slot[r] = again ? -1 : spill_home(a, ptx_type_bytes(a->f->regs.v[r].type));
        a->spilled += !again;
        a->rematerialised += again;
    }
    struct ra_body b = {.a = a};
    for (size_t i = 0; i < a->f->body.n; i++)
        spill_inst(&s, &b, i);
    ra_body_end(&b);
    vec_free(&s.used);
    defs_free(d);
    arena_free(&mem);
}

bool
ra_spill(struct ra *a, const struct live *l, uint32_t units)
{
    struct arena mem = {0};
    const struct cfg *g = l->cfg;
    struct choice c = {.a = a, .l = l, .n = (uint32_t)a->f->regs.n, .limit = units};
    c.gone = bitset_new(&mem, c.n + 1);
    c.benefit = ARENA_ARRAY(&mem, uint64_t, c.n + 1);
    c.cost = ARENA_ARRAY(&mem, uint64_t, c.n + 1);
    c.now = bitset_new(&mem, c.n + 1);
    c.here = bitset_new(&mem, c.n + 1);
    uint32_t *weight = ra_block_weights(g, &mem);
    for (size_t i = 0; i < a->f->body.n; i++) {
        struct access x = {c.cost, NULL, weight[g->block_of[i]]};
        defuse_each(&a->f->body.v[i], add_access, &x);
    }
    struct defs *d = defs_new(g);
    for (uint32_t r = 0; r < c.n; r++) /* computing again is cheaper than loading */
        if (from_nothing(a, d, (int32_t)r))
            c.cost[r] = c.cost[r] / 2 + 1;
    defs_free(d);
    bool any = false;
    for (;;) {
        pressure(&c);
        if (c.worst <= units)
            break;
        int32_t best = RA_NONE;
        for (uint32_t r = 0; r < c.n; r++)
            if (c.benefit[r] && !bitset_has(c.gone, r) &&
                !(r < a->temporary.n && a->temporary.v[r]) &&
                ptx_type_bytes(a->f->regs.v[r].type) >= 2 &&
                (best == RA_NONE || (double)c.benefit[r] / (double)c.cost[r] >
                                        (double)c.benefit[best] / (double)c.cost[best]))
                best = (int32_t)r;
        if (best == RA_NONE)
            break;
        bitset_add(c.gone, (size_t)best);
        any = true;
    }
    if (any)
        rewrite(a, g, c.gone, c.n);
    arena_free(&mem);
    return any;
}
