/* copy_propagation.c: reads of a copy become reads of what was copied.
 *
 * d = s is a copy where it moves one register into another of the same width; cvta.to
 * and cvta of .global are copies too, since global addresses are generic ones. Two
 * rules: where both registers have a single definition, every read that the copy reaches
 * (analysis/defs.h) is replaced; within a block, the reads between the copy and the next
 * write of either. The copy itself stays for dead-code. Registers of another kind (%r
 * read as .f32) are left, for PTX is typed. O(instructions x operands). */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"

enum { NO_REG = -1 };

struct copies {
    const struct ptx_func *f;
    const struct defs *defs;
    int32_t *global;      /* of a register: what it is a copy of everywhere, NO_REG */
    int32_t *local;       /* the same within the block so far */
    VEC(int32_t) current; /* registers with local != NO_REG */
    uint32_t at;
    bool changed;
};

/* The register that `in` copies into its destination, NO_REG. */
static int32_t
copied(const struct ptx_func *f, const struct ptx_inst *in)
{
    bool identity =
        in->op == PTX_OP_MOV || in->op == PTX_OP_MOVP ||
        (in->op == PTX_OP_CVTA && in->mod[PTX_MG_SPACE] == PTX_SPACE_SS_GLOBAL);
    if (!identity || in->guard >= 0 || in->nops != 2)
        return NO_REG;
    const struct ptx_operand *d = &in->ops[0], *s = &in->ops[1];
    if (d->kind != PTX_OPD_REG || s->kind != PTX_OPD_REG || d->comp || s->comp ||
        s->neg || d->reg == s->reg)
        return NO_REG;
    unsigned dt = f->regs.v[d->reg].type, st = f->regs.v[s->reg].type;
    unsigned width = ptx_type_bytes(in->type[0]);
    if (ptx_type_bytes(dt) != width || ptx_type_bytes(st) != width ||
        !rewrite_type_fits(dt, st))
        return NO_REG;
    return s->reg;
}

static bool
replace(void *user, struct ptx_inst *in, struct ptx_operand *o, unsigned index,
        bool in_list)
{
    struct copies *c = user;
    (void)in;
    (void)index;
    (void)in_list;
    int32_t r = o->reg;
    if (o->comp)
        return false;
    for (;;) { /* a copy of a copy */
        if (c->local[r] != NO_REG)
            r = c->local[r];
        else if (c->global[r] != NO_REG && defs_reach(c->defs, r, c->at))
            r = c->global[r];
        else
            break;
    }
    if (r == o->reg)
        return false;
    o->reg = r;
    return c->changed = true;
}

static void
forget(struct copies *c, int32_t reg)
{
    for (size_t i = 0; i < c->current.n; i++) {
        int32_t d = c->current.v[i];
        if (d != reg && c->local[d] != reg)
            continue;
        c->local[d] = NO_REG;
        c->current.v[i--] = c->current.v[--c->current.n];
    }
}

static void
forget_written(void *user, int32_t reg, bool write, bool partial)
{
    (void)partial;
    if (write)
        forget(user, reg);
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    struct arena mem = {0};
    struct copies c = {.f = f, .defs = x->defs};
    c.global = ARENA_ARRAY(&mem, int32_t, f->regs.n + 1);
    c.local = ARENA_ARRAY(&mem, int32_t, f->regs.n + 1);
    for (size_t r = 0; r < f->regs.n; r++)
        c.global[r] = c.local[r] = NO_REG;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        int32_t s = copied(f, in);
        if (s != NO_REG && defs_reach(x->defs, s, (uint32_t)i) &&
            x->defs->at[in->ops[0].reg] == (int32_t)i)
            c.global[in->ops[0].reg] = s;
    }
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst *in = &f->body.v[i];
        if (x->cfg->block[x->cfg->block_of[i]].first == i)
            while (c.current.n)
                c.local[c.current.v[--c.current.n]] = NO_REG;
        c.at = (uint32_t)i;
        rewrite_sources(in, replace, &c);
        if (in->guard >= 0) {
            struct ptx_operand g = {.kind = PTX_OPD_REG, .reg = in->guard};
            if (replace(&c, in, &g, 0, false))
                in->guard = g.reg;
        }
        int32_t s = copied(f, in);
        defuse_each(in, forget_written, &c);
        if (s != NO_REG && c.global[in->ops[0].reg] == NO_REG) {
            c.local[in->ops[0].reg] = s;
            *vec_push(&c.current) = in->ops[0].reg;
        }
    }
    *changed = c.changed;
    vec_free(&c.current);
    arena_free(&mem);
    return true;
}

const struct pass pass_copy_propagation = {
    .name = "copy-propagation",
    .meaning = "reads of a copied register become reads of its source",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
    .keeps = AN_CFG | AN_DEFS,
};
