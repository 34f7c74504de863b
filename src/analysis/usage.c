/* usage.c: walks the call graph from a kernel, sums what its functions declare and use.
 */
#include "analysis/usage.h"

#include "analysis/defuse.h"
#include "analysis/live.h"

static void
add_func(struct usage *u, const struct ptx_func *f)
{
    f = ptx_func_definition(f);
    if (!f || !f->has_body)
        return;
    for (size_t i = 0; i < u->funcs.n; i++)
        if (u->funcs.v[i] == f)
            return;
    *vec_push(&u->funcs) = f;
}

static void
add_var(struct usage *u, const struct ptx_var *v)
{
    if (!v || v->space != PTX_SPACE_SHARED)
        return;
    for (size_t i = 0; i < u->scratchpad_vars.n; i++)
        if (u->scratchpad_vars.v[i].var == v)
            return;
    vec_push(&u->scratchpad_vars)->var = v;
}

static void
operand(struct usage *u, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_SYM || o->kind == PTX_OPD_ADDR)
        add_var(u, o->var);
    else if (o->kind == PTX_OPD_FUNCSYM && !(o->func && o->func->is_entry))
        add_func(u, o->func); /* a kernel whose address is taken is launched, not called */
    else if (o->kind == PTX_OPD_VEC)
        for (unsigned i = 0; i < o->n; i++)
            operand(u, &o->vec[i]);
}

static void
mark(void *set, int32_t reg, bool write, bool partial)
{
    (void)write;
    (void)partial;
    bitset_add(set, (size_t)reg);
}

static void
one_func(struct usage *u, const struct ptx_func *f)
{
    struct arena mem = {0};
    uint64_t *seen = bitset_new(&mem, f->regs.n);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        u->instructions++;
        defuse_each(in, mark, seen);
        for (unsigned k = 0; k < in->nops; k++)
            operand(u, &in->ops[k]);
    }
    for (size_t i = 0; i < f->regs.n; i++) {
        if (!bitset_has(seen, i))
            continue;
        const struct ptx_reg *r = &f->regs.v[i];
        if (r->type == PTX_PRED)
            u->virtual_predicates++;
        else
            u->virtual_registers +=
                (ptx_type_bytes(r->type) + 3) / 4 * (r->vec ? r->vec : 1);
    }
    for (size_t i = 0; i < f->vars.n; i++) {
        const struct ptx_var *v = f->vars.v[i];
        if (v->space == PTX_SPACE_LOCAL)
            u->local_bytes =
                (u->local_bytes + v->align - 1) / v->align * v->align + (uint32_t)v->size;
        else
            add_var(u, v);
    }
    struct cfg *g = cfg_new(f);
    struct live *l = live_new(g);
    uint32_t regs, preds;
    live_max(l, &regs, &preds);
    u->live_registers = regs > u->live_registers ? regs : u->live_registers;
    u->live_predicates = preds > u->live_predicates ? preds : u->live_predicates;
    live_free(l);
    cfg_free(g);
    arena_free(&mem);
}

/* -- physical registers -- */

/* A call chain; `above` of it are registers that hold something across the calls. */
struct chain {
    const struct ptx_func *f;
    const struct chain *caller;
};

static uint32_t
live_top(const struct ptx_func *f, const uint64_t *live)
{
    uint32_t top = 0;
    for (size_t w = 0; w < BITSET_WORDS(f->regs.n); w++)
        FOR_BITS(b, live[w])
        {
            const struct ptx_reg *r = &f->regs.v[w * 64 + b];
            unsigned bytes = ptx_type_bytes(r->type);
            uint32_t end = r->place - 1u + (bytes <= 4 ? 1 : bytes / 4);
            if (r->type != PTX_PRED && r->place && end > top)
                top = end;
        }
    return top;
}

static void
kill_written(void *set, int32_t reg, bool write, bool partial)
{
    if (write && !partial)
        bitset_del(set, (size_t)reg);
}

static void
add_read(void *set, int32_t reg, bool write, bool partial)
{
    (void)partial;
    if (!write)
        bitset_add(set, (size_t)reg);
}

static uint32_t physical(const struct usage *u, const struct chain *c);

/* What the callees of this call need on top of what is live across it. Of an indirect
 * call: any function that the kernel may reach. */
static uint32_t
at_call(const struct usage *u, const struct chain *c, const struct ptx_inst *in,
        const uint64_t *live)
{
    uint32_t deepest = 0;
    bool direct = false;
    for (unsigned k = 0; k < in->nops; k++)
        direct |= in->ops[k].kind == PTX_OPD_FUNCSYM && in->ops[k].func &&
                  !in->ops[k].func->is_proto;
    for (size_t i = 1; i < u->funcs.n; i++) {
        const struct ptx_func *g = u->funcs.v[i];
        bool called = !direct;
        for (unsigned k = 0; k < in->nops; k++)
            called |= in->ops[k].kind == PTX_OPD_FUNCSYM && in->ops[k].func &&
                      !strcmp(in->ops[k].func->name, g->name);
        if (!called)
            continue;
        struct chain next = {g, c};
        uint32_t n = physical(u, &next);
        deepest = n > deepest ? n : deepest;
    }
    return deepest ? (live_top(c->f, live) + 1) / 2 * 2 + deepest : 0;
}

static uint32_t
physical(const struct usage *u, const struct chain *c)
{
    uint32_t most = c->f->registers, depth = 0;
    for (const struct chain *up = c->caller; up; up = up->caller)
        if (up->f == c->f || ++depth > 16)
            return most; /* recursion: one activation is counted */
    bool calls = false;
    for (size_t i = 0; i < c->f->body.n; i++)
        calls |= c->f->body.v[i].op == PTX_OP_CALL;
    if (!calls)
        return most;
    struct arena mem = {0};
    struct cfg *g = cfg_new(c->f);
    struct live *l = live_new(g);
    uint64_t *now = bitset_new(&mem, c->f->regs.n + 1);
    for (uint32_t b = 0; b < g->n; b++) {
        memcpy(now, l->out[b], BITSET_WORDS(c->f->regs.n) * 8);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            const struct ptx_inst *in = &c->f->body.v[i];
            defuse_each(in, kill_written, now);
            if (in->op == PTX_OP_CALL) {
                uint32_t n = at_call(u, c, in, now);
                most = n > most ? n : most;
            }
            defuse_each(in, add_read, now);
        }
    }
    live_free(l);
    cfg_free(g);
    arena_free(&mem);
    return most;
}

/* Functions whose address stands in a variable's initialiser may be called indirectly. */
static void
address_taken(struct usage *u, const struct ptx_module *m)
{
    for (size_t i = 0; i < m->vars.n; i++)
        for (size_t k = 0; k < m->vars.v[i]->relocs.n; k++)
            add_func(u, m->vars.v[i]->relocs.v[k].func);
}

void
usage_of(const struct ptx_func *f, struct usage *u)
{
    memset(u, 0, sizeof *u);
    add_func(u, f);
    bool indirect = false;
    for (size_t i = 0; i < u->funcs.n; i++) { /* grows while it is walked */
        const struct ptx_func *g = u->funcs.v[i];
        one_func(u, g);
        for (size_t k = 0; k < g->body.n && !indirect; k++) {
            const struct ptx_inst *in = &g->body.v[k];
            for (unsigned j = 0; in->op == PTX_OP_CALL && j < in->nops; j++)
                indirect |= in->ops[j].kind == PTX_OPD_REG;
            if (indirect)
                address_taken(u, f->module);
        }
    }
    scratch_place(f->module, u->scratchpad_vars.v, u->scratchpad_vars.n, &u->layout);
    u->scratchpad = (uint32_t)u->layout.bytes;
    for (size_t i = 0; i < u->scratchpad_vars.n; i++)
        u->dynamic_scratchpad |= u->scratchpad_vars.v[i].var->dynamic;
    struct chain top = {f, NULL};
    u->registers = physical(u, &top);
    for (size_t i = 0; i < u->funcs.n; i++)
        if (u->funcs.v[i]->predicates > u->predicates)
            u->predicates = u->funcs.v[i]->predicates;
}

void
usage_free(struct usage *u)
{
    vec_free(&u->scratchpad_vars);
    vec_free(&u->funcs);
}
