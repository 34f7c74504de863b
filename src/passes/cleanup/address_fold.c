/* address_fold.c: additions of literals move into addresses.
 *
 * a = b + 16; ld [a + 4] becomes ld [b + 20], where a and b are 64-bit registers with one
 * definition each that reaches (analysis/defs.h): arithmetic is modulo 2^64 either way.
 * A 32-bit register is not followed through additions, for the addition wraps and the
 * address does not. a = symbol (+ n); ld [a + 4] becomes ld [symbol + n + 4] where the
 * instruction names the symbol's space. The additions stay for dead-code. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <limits.h>

struct fold {
    const struct ptx_func *f;
    const struct defs *defs;
    uint32_t at;
    bool changed;
};

static bool
offset_fits(int64_t off)
{
    return off >= INT_MIN / 2 && off <= INT_MAX / 2; /* ptxas takes 32 bits */
}

static unsigned
named_space(const struct ptx_inst *in)
{
    switch (in->mod[PTX_MG_SPACE]) {
    case PTX_SPACE_SS_GLOBAL:
        return PTX_SPACE_GLOBAL;
    case PTX_SPACE_SS_SHARED:
    case PTX_SPACE_SS_SHARED_CTA:
        return PTX_SPACE_SHARED;
    case PTX_SPACE_SS_CONST:
        return PTX_SPACE_CONST;
    case PTX_SPACE_SS_LOCAL:
        return PTX_SPACE_LOCAL;
    case PTX_SPACE_SS_PARAM:
    case PTX_SPACE_SS_PARAM_ENTRY:
        return PTX_SPACE_PARAM;
    default:
        return PTX_SPACE_NONE;
    }
}

/* Whether an access of f to that space names v by its symbol: what calls pass is written by
 * names alone, so of parameters a kernel's only. */
static bool
can_name(const struct ptx_func *f, const struct ptx_var *v, unsigned space)
{
    return v->space == space &&
           (space != PTX_SPACE_PARAM || (f->is_entry && v->is_param));
}

static bool
fold_address(void *user, struct ptx_inst *in, struct ptx_operand *o, unsigned index,
             bool in_list)
{
    struct fold *c = user;
    bool changed = false;
    (void)index;
    (void)in_list;
    if (o->kind != PTX_OPD_ADDR || o->var || o->comp)
        return false;
    while (o->reg >= 0 && defs_reach(c->defs, o->reg, c->at)) {
        uint32_t def = (uint32_t)c->defs->at[o->reg];
        const struct ptx_inst *d = &c->f->body.v[def];
        int32_t base;
        int64_t n;
        if (rewrite_is_offset(c->f, d, &base, &n) && offset_fits(n) &&
            offset_fits(o->off + n) && defs_reach(c->defs, base, def)) {
            o->reg = base;
            o->off += n;
        } else if (d->op == PTX_OP_MOV && d->guard < 0 && d->nops == 2 &&
                   d->ops[1].kind == PTX_OPD_SYM && d->ops[1].var &&
                   can_name(c->f, d->ops[1].var, named_space(in)) &&
                   offset_fits(o->off + d->ops[1].off)) {
            o->reg = -1;
            o->var = d->ops[1].var;
            o->off += d->ops[1].off;
        } else {
            break;
        }
        changed = true;
    }
    c->changed |= changed;
    return changed;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    struct fold c = {.f = f, .defs = x->defs};
    for (size_t i = 0; i < f->body.n; i++) {
        c.at = (uint32_t)i;
        rewrite_sources(&f->body.v[i], fold_address, &c);
    }
    *changed = c.changed;
    return true;
}

const struct pass pass_address_fold = {
    .name = "address-fold",
    .meaning = "additions of literals, and symbols, move into addresses",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
    .keeps = AN_CFG | AN_DEFS,
};
