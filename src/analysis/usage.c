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
    else if (o->kind == PTX_OPD_FUNCSYM)
        add_func(u, o->func);
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
        if (ptx_ops[in->op].flags & PTX_PSEUDO)
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
}

void
usage_free(struct usage *u)
{
    vec_free(&u->scratchpad_vars);
    vec_free(&u->funcs);
}
