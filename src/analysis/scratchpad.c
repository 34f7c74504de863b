/* scratchpad.c: layout of the scratchpad, and what registers may point to in it. */
#include "analysis/scratchpad.h"

#include "analysis/cfg.h"
#include "analysis/defuse.h"
#include "analysis/usage.h"
#include "base/bitset.h"

#include <string.h>

/* -- layout -- */

/* Moves the entry of variable `var`, if it is among v[done..n), to place `done`. */
static size_t
take(struct scratch_var *v, size_t done, size_t n, const struct ptx_var *var)
{
    for (size_t i = done; i < n; i++)
        if (v[i].var == var) {
            memmove(&v[done + 1], &v[done], (i - done) * sizeof *v);
            v[done].var = var;
            return done + 1;
        }
    return done;
}

void
scratch_place(const struct ptx_module *m, struct scratch_var *v, size_t n,
              struct scratch_layout *out)
{
    size_t done = 0;
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        for (size_t i = 0; i < m->vars.n && done < n; i++)
            if (m->vars.v[i]->space == PTX_SPACE_SHARED &&
                m->vars.v[i]->dynamic == dynamic)
                done = take(v, done, n, m->vars.v[i]);
        for (size_t k = 0; k < m->funcs.n && done < n; k++)
            for (size_t i = 0; i < m->funcs.v[k]->vars.n; i++)
                if (m->funcs.v[k]->vars.v[i]->dynamic == dynamic)
                    done = take(v, done, n, m->funcs.v[k]->vars.v[i]);
    }
    uint64_t at = 0, align = 16;
    for (size_t i = 0; i < n; i++) {
        uint64_t a = v[i].var->align ? v[i].var->align : 1;
        if (v[i].var->dynamic) {
            align = a > align ? a : align;
            continue;
        }
        at = (at + a - 1) / a * a;
        v[i].at = at;
        at += v[i].var->size;
    }
    out->bytes = at;
    out->dynamic_base = (at + align - 1) / align * align;
    for (size_t i = 0; i < n; i++)
        if (v[i].var->dynamic)
            v[i].at = out->dynamic_base;
}

/* -- sets -- */

unsigned
scratch_bit(const struct scratch_use *u, size_t i)
{
    while (i && u->var.v[i].var->dynamic && u->var.v[i - 1].var->dynamic)
        i--;
    return i < 63 ? (unsigned)i : 63;
}

scratch_set
scratch_beyond(const struct scratch_use *u, uint64_t from)
{
    scratch_set s = 0;
    for (size_t i = 0; i < u->var.n; i++)
        if (u->var.v[i].var->dynamic || u->var.v[i].at + u->var.v[i].var->size > from)
            s |= (uint64_t)1 << scratch_bit(u, i);
    return s;
}

static scratch_set
set_of_var(const struct scratch_use *u, const struct ptx_var *v)
{
    if (!v || v->space != PTX_SPACE_SHARED)
        return 0;
    for (size_t i = 0; i < u->var.n; i++)
        if (u->var.v[i].var == v)
            return (uint64_t)1 << scratch_bit(u, i);
    return u->all; /* cannot be: usage lists all that occur */
}

/* -- what an instruction does to the sets of registers -- */

/* Sets of one function's registers: over the whole body, or at one point of it. */
struct state {
    struct scratch_use *u;
    const struct ptx_func *f;
    scratch_set *reg;
    bool strong; /* a full write replaces the old set */
    bool changed;
};

static scratch_set
value_of(const struct state *s, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPD_REG:
        return s->reg[o->reg];
    case PTX_OPD_SYM:
        return set_of_var(s->u, o->var);
    case PTX_OPD_VEC: {
        scratch_set set = 0;
        for (unsigned i = 0; i < o->n; i++)
            set |= value_of(s, &o->vec[i]);
        return set;
    }
    default: /* numbers, and addresses: what lies there is not what points there */
        return 0;
    }
}

static void
assign(struct state *s, const struct ptx_operand *o, scratch_set set, bool partial)
{
    if (o->kind == PTX_OPD_VEC)
        for (unsigned i = 0; i < o->n; i++)
            assign(s, &o->vec[i], set, partial);
    if (o->kind != PTX_OPD_REG || s->f->regs.v[o->reg].type == PTX_PRED)
        return;
    scratch_set old = s->reg[o->reg];
    s->reg[o->reg] = s->strong && !partial && !s->f->regs.v[o->reg].vec ? set : old | set;
    s->changed |= s->reg[o->reg] != old;
}

static bool
is_memory(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC);
}

/* Values that leave the registers here; results that come from outside them. */
static void
transfer(struct state *s, const struct ptx_inst *in)
{
    bool outside = is_memory(in) || in->op == PTX_OP_CALL;
    scratch_set set = 0;
    for (unsigned i = 0; i < in->nops; i++)
        if (!defuse_is_dest(in, i))
            set |= value_of(s, &in->ops[i]);
    if (outside) {
        s->changed |= (s->u->escaped | set) != s->u->escaped;
        s->u->escaped |= set;
        set = s->u->escaped;
    } else if (in->op == PTX_OP_CVTA && !set && ptx_inst_space(in) == PTX_SPACE_SHARED) {
        set = s->u->all; /* an address made from a number */
    }
    for (unsigned i = 0; i < in->nops; i++)
        if (defuse_is_dest(in, i))
            assign(s, &in->ops[i], set, in->guard >= 0);
}

/* -- what an instruction touches -- */

static scratch_set
touched_at(const struct state *s, const struct ptx_inst *in, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_VEC) {
        scratch_set set = 0;
        for (unsigned i = 0; i < o->n; i++)
            set |= touched_at(s, in, &o->vec[i]);
        return set;
    }
    if (o->kind != PTX_OPD_ADDR)
        return 0;
    scratch_set set = set_of_var(s->u, o->var) | (o->reg >= 0 ? s->reg[o->reg] : 0);
    unsigned space = ptx_inst_space(in);
    if (o->var && o->var->space != PTX_SPACE_SHARED)
        return 0;
    if (space != PTX_SPACE_NONE && space != PTX_SPACE_SHARED)
        return 0;
    return set || space == PTX_SPACE_NONE ? set : s->u->all;
}

static bool
is_async(const struct ptx_inst *in)
{
    const char *m = ptx_ops[in->op].mnemonic;
    return !strncmp(m, "cp.", 3) || !strcmp(m, "cp") || !strcmp(m, "mbarrier") ||
           !strcmp(m, "wgmma");
}

/* An asynchronous copy or product goes on until something waits for it: those that copy, and those
 * that wait, touch whatever the copies of the kernel may. */
static scratch_set
touched_by(const struct state *s, const struct ptx_inst *in)
{
    if (is_async(in))
        return s->u->all;
    scratch_set set = 0;
    for (unsigned i = 0; i < in->nops; i++)
        set |= touched_at(s, in, &in->ops[i]);
    return set;
}

static const struct scratch_func *
find_func(const struct scratch_use *u, const struct ptx_func *f)
{
    f = ptx_func_definition(f);
    for (size_t i = 0; i < u->funcs.n; i++)
        if (u->funcs.v[i].func == f)
            return &u->funcs.v[i];
    return NULL;
}

/* -- the sweeps -- */

/* What a whole function may touch. */
static scratch_set
summary(const struct scratch_func *sf)
{
    scratch_set set = 0;
    for (size_t i = 0; i < sf->func->body.n; i++)
        set |= sf->touch[i];
    return set;
}

static scratch_set
callee_touches(const struct scratch_use *u, const struct ptx_inst *in,
               const scratch_set *whole)
{
    scratch_set set = 0;
    bool direct = false;
    for (unsigned i = 0; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_FUNCSYM && !in->ops[i].func->is_proto) {
            const struct scratch_func *sf = find_func(u, in->ops[i].func);
            direct = true;
            if (sf)
                set |= whole[sf - u->funcs.v];
        }
    for (size_t i = 0; i < u->funcs.n && !direct; i++)
        set |= whole[i];
    return set;
}

static void
add_calls(struct scratch_use *u)
{
    scratch_set *whole = xcalloc(u->funcs.n + 1, sizeof *whole);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < u->funcs.n; k++) {
            struct scratch_func *sf = &u->funcs.v[k];
            for (size_t i = 0; i < sf->func->body.n; i++)
                if (sf->func->body.v[i].op == PTX_OP_CALL)
                    sf->touch[i] |= callee_touches(u, &sf->func->body.v[i], whole);
            scratch_set now = summary(sf);
            changed |= now != whole[k];
            whole[k] = now;
        }
    }
    free(whole);
}

/* Without regard to order: sets only grow, over all functions, until none does. */
static void
sweep_all(struct scratch_use *u, struct state *st)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < u->funcs.n; k++) {
            const struct ptx_func *f = u->funcs.v[k].func;
            st[k].changed = false;
            for (size_t i = 0; i < f->body.n; i++)
                if (!ptx_is_pseudo(&f->body.v[i]))
                    transfer(&st[k], &f->body.v[i]);
            changed |= st[k].changed;
        }
    }
    for (size_t k = 0; k < u->funcs.n; k++) {
        const struct ptx_func *f = u->funcs.v[k].func;
        for (size_t i = 0; i < f->body.n; i++)
            if (!ptx_is_pseudo(&f->body.v[i]))
                u->funcs.v[k].touch[i] = touched_by(&st[k], &f->body.v[i]);
    }
}

enum { FLOW_CELLS = 1 << 24 }; /* blocks x registers, at most */

/* Along the control flow, for the registers that may point anywhere at all. */
static void
sweep_flow(struct scratch_use *u, struct scratch_func *sf, const struct state *whole)
{
    const struct ptx_func *f = sf->func;
    struct cfg *g = cfg_new(f);
    uint32_t *tracked = xcalloc(f->regs.n + 1, sizeof *tracked), n = 0;
    for (uint32_t r = 0; r < f->regs.n; r++)
        if (whole->reg[r])
            tracked[n++] = r;
    if ((uint64_t)g->n * n > FLOW_CELLS) { /* what the first sweep knows must do */
        free(tracked);
        cfg_free(g);
        return;
    }
    scratch_set *in = xcalloc((size_t)g->n * n + 1, sizeof *in);
    struct state s = {.u = u, .f = f, .strong = true};
    s.reg = xcalloc(f->regs.n + 1, sizeof *s.reg);
    bool *visited = xcalloc(g->n, sizeof *visited);
    visited[0] = true;
    for (bool changed = true, last = false; changed || !last;) {
        last = !changed; /* once more, to note what is touched */
        changed = false;
        for (uint32_t r = 0; r < g->nrpo; r++) {
            uint32_t v = g->rpo[r];
            const struct cfg_block *b = &g->block[v];
            if (!visited[v])
                continue;
            for (uint32_t k = 0; k < n; k++)
                s.reg[tracked[k]] = in[(size_t)v * n + k];
            for (uint32_t i = b->first; i < b->end; i++) {
                if (ptx_is_pseudo(&f->body.v[i]))
                    continue;
                if (last)
                    sf->touch[i] = touched_by(&s, &f->body.v[i]);
                transfer(&s, &f->body.v[i]);
            }
            for (uint32_t e = 0; e < b->nsucc; e++) {
                if (b->succ[e] < 0)
                    continue;
                scratch_set *to = &in[(size_t)b->succ[e] * n];
                changed |= !visited[b->succ[e]];
                visited[b->succ[e]] = true;
                for (uint32_t k = 0; k < n; k++) {
                    scratch_set set = to[k] | s.reg[tracked[k]];
                    changed |= set != to[k];
                    to[k] = set;
                }
            }
        }
    }
    free(in);
    free(s.reg);
    free(visited);
    free(tracked);
    cfg_free(g);
}

/* Does an access of the function have a choice of variables? */
static bool
is_vague(const struct scratch_func *sf)
{
    for (size_t i = 0; i < sf->func->body.n; i++)
        if (sf->touch[i] & (sf->touch[i] - 1) && !is_async(&sf->func->body.v[i]))
            return true;
    return false;
}

struct scratch_use *
scratch_use_new(const struct ptx_func *f)
{
    struct scratch_use *u = xcalloc(1, sizeof *u);
    struct usage use;
    usage_of(f, &use);
    for (size_t i = 0; i < use.scratchpad_vars.n; i++)
        *vec_push(&u->var) = use.scratchpad_vars.v[i];
    u->layout = use.layout;
    u->nbits = u->var.n ? scratch_bit(u, u->var.n - 1) + 1 : 0;
    u->all = u->nbits == 64 ? UINT64_MAX : ((uint64_t)1 << u->nbits) - 1;
    struct state *st = xcalloc(use.funcs.n + 1, sizeof *st);
    for (size_t k = 0; k < use.funcs.n; k++) {
        const struct ptx_func *g = use.funcs.v[k];
        struct scratch_func *sf = vec_push(&u->funcs);
        sf->func = g;
        sf->touch = ARENA_ARRAY(&u->mem, scratch_set, g->body.n + 1);
        st[k].u = u;
        st[k].f = g;
        st[k].reg = ARENA_ARRAY(&u->mem, scratch_set, g->regs.n + 1);
    }
    if (u->all) {
        sweep_all(u, st);
        for (size_t k = 0; k < use.funcs.n; k++)
            if (is_vague(&u->funcs.v[k]))
                sweep_flow(u, &u->funcs.v[k], &st[k]);
        add_calls(u);
    }
    free(st);
    usage_free(&use);
    return u;
}

void
scratch_use_free(struct scratch_use *u)
{
    if (!u)
        return;
    vec_free(&u->var);
    vec_free(&u->funcs);
    arena_free(&u->mem);
    free(u);
}
