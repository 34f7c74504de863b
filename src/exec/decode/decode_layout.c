/* decode_layout.c: which functions a kernel may call, and where everything lies:
 * registers, predicates and parameters in a warp's rows, variables in the scratchpad and
 * in local frames. */
#include "exec/exec_int.h"

#include "ptx/fault.h"

#include <string.h>

enum { SHARED_GAP = 256 };

/* -- functions of the program -- */

const struct func_info *
decode_func(struct decoder *d, const struct ptx_func *f)
{
    f = ptx_definition(d->im->m, f);
    for (size_t i = 0; i < d->pp->funcs.n; i++) {
        if (d->pp->funcs.v[i]->f == f)
            return d->pp->funcs.v[i];
    }
    return NULL;
}

static void
add_func(struct decoder *d, const struct ptx_func *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->targets.n; i++) /* .calltargets */
        add_func(d, f->targets.v[i]);
    if (f->is_proto)
        return;
    if (!f->has_body) { /* a declaration: the definition may stand elsewhere */
        f = ptx_definition(d->im->m, f);
        if (!f)
            return; /* refused where it is called */
    }
    if (decode_func(d, f))
        return;
    struct func_info *fi = ARENA_NEW(&d->pp->mem, struct func_info);
    fi->f = f;
    fi->index = (uint32_t)d->pp->funcs.n;
    *vec_push(&d->pp->funcs) = fi;
}

static void
each_operand(const struct ptx_operand *o, unsigned n, struct decoder *d,
             void (*use)(struct decoder *, const struct ptx_operand *))
{
    for (unsigned i = 0; i < n; i++) {
        use(d, &o[i]);
        if (o[i].kind == PTX_OPD_VEC)
            each_operand(o[i].vec, o[i].n, d, use);
    }
}

static void
use_func(struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_FUNCSYM && !(o->func && o->func->is_entry))
        add_func(d,
                 o->func); /* a kernel whose address is taken is launched, not called */
}

static void
use_shared(struct decoder *d, const struct ptx_operand *o)
{
    if (!o->var || o->var->space != PTX_SPACE_SHARED || o->var->func)
        return;
    for (size_t i = 0; i < d->pp->shared_vars.n; i++)
        if (d->pp->shared_vars.v[i].var == o->var)
            return;
    vec_push(&d->pp->shared_vars)->var = o->var;
}

static bool
is_call(const struct ptx_inst *in)
{
    return !strcmp(ptx_ops[in->op].mnemonic, "call");
}

/* Every function that this one calls is known not to lead back to itself. */
static bool
calls_only(struct decoder *d, const struct ptx_func *f, const bool *known)
{
    for (size_t k = 0; k < f->body.n; k++) {
        const struct ptx_inst *in = &f->body.v[k];
        if (ptx_is_pseudo(in) || !is_call(in))
            continue;
        bool ok = false; /* stays so for calls through a register */
        for (unsigned o = 0; o < in->nops && !ok; o++)
            for (size_t i = 0; i < d->pp->funcs.n && !ok; i++)
                ok = in->ops[o].kind == PTX_OPD_FUNCSYM && !in->ops[o].func->is_proto &&
                     known[i] && decode_func(d, in->ops[o].func) == d->pp->funcs.v[i];
        if (!ok)
            return false;
    }
    return true;
}

/* Functions are struck off once all they call are; what is left calls itself, or what has
 * no body here (printf, malloc). */
static bool
recursive(struct decoder *d)
{
    size_t n = d->pp->funcs.n, left = n;
    bool *known = ARENA_ARRAY(&d->pp->mem, bool, n), more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++)
            if (!known[i] && calls_only(d, d->pp->funcs.v[i]->f, known)) {
                known[i] = more = true;
                left--;
            }
    }
    return left != 0;
}

void
decode_collect(struct decoder *d)
{
    bool indirect = false;
    add_func(d, d->p->entry);
    for (size_t i = 0; i < d->pp->funcs.n; i++) {
        const struct ptx_func *f = d->pp->funcs.v[i]->f;
        if (f->fault) {
            ptx_fault_tell(f, d->diag);
            d->failed = true;
        }
        for (size_t k = 0; k < f->body.n; k++) {
            const struct ptx_inst *in = &f->body.v[k];
            if (ptx_is_pseudo(in))
                continue;
            each_operand(in->ops, in->nops, d, use_func);
            each_operand(in->ops, in->nops, d, use_shared);
            if (is_call(in)) {
                bool direct = false;
                for (unsigned o = 0; o < in->nops; o++)
                    direct |=
                        in->ops[o].kind == PTX_OPD_FUNCSYM && !in->ops[o].func->is_proto;
                if (!direct && !indirect) { /* anything whose address is in a table */
                    indirect = true;
                    const struct ptx_module *m = d->im->m;
                    for (size_t v = 0; v < m->vars.n; v++)
                        for (size_t r = 0; r < m->vars.v[v]->relocs.n; r++)
                            add_func(d, m->vars.v[v]->relocs.v[r].func);
                }
                d->pp->has_calls = true;
            }
        }
    }
    d->p->in_order = recursive(d);
}

/* -- layout -- */

bool
decode_find_shared(const struct prog_priv *pp, const struct ptx_var *v, uint64_t *at)
{
    for (size_t i = 0; i < pp->shared_vars.n; i++)
        if (pp->shared_vars.v[i].var == v) {
            *at = pp->shared_vars.v[i].at;
            return true;
        }
    return false;
}

/* Where the variables lie: analysis/scratchpad.h. */
static bool
allocates(const struct ptx_func *f)
{
    for (size_t k = 0; k < f->body.n; k++)
        if (f->body.v[k].op == PTX_OP_SALLOC)
            return true;
    return false;
}

/* With a gap asked for (dev_set_gap): so much behind each static variable, in which checks.c
 * finds accesses beyond it. Code that allocates its scratchpad while it runs names bytes of
 * the plain layout, and keeps that. */
static void
spread(struct decoder *d, struct scratch_layout *lay)
{
    struct prog_priv *pp = d->pp;
    uint64_t at = 0, align = 16;
    bool plain = !dev_gap(d->im->mem) || !lay->bytes;
    for (size_t i = 0; i < pp->funcs.n; i++)
        plain |= allocates(pp->funcs.v[i]->f);
    if (plain)
        return;
    for (size_t i = 0; i < pp->shared_vars.n; i++) {
        struct scratch_var *v = &pp->shared_vars.v[i];
        const uint64_t a = v->var->align ? v->var->align : 1;
        if (v->var->dynamic) {
            align = a > align ? a : align;
            continue;
        }
        v->at = at = align_to(at, a);
        at += v->var->size + SHARED_GAP;
    }
    lay->bytes = at - SHARED_GAP; /* beyond the last one an access is a fault already */
    lay->dynamic_base = align_to(at, align);
    for (size_t i = 0; i < pp->shared_vars.n; i++)
        if (pp->shared_vars.v[i].var->dynamic)
            pp->shared_vars.v[i].at = lay->dynamic_base;
    pp->shared_gaps = true;
}

bool
decode_layout_shared(struct decoder *d)
{
    struct prog_priv *pp = d->pp;
    for (size_t i = 0; i < pp->funcs.n; i++) {
        const struct ptx_func *f = pp->funcs.v[i]->f;
        for (size_t k = 0; k < f->vars.n; k++)
            if (f->vars.v[k]->space == PTX_SPACE_SHARED)
                vec_push(&pp->shared_vars)->var = f->vars.v[k];
    }
    struct scratch_layout lay;
    scratch_place(d->p->entry->module, pp->shared_vars.v, pp->shared_vars.n, &lay);
    for (size_t i = 0; i < pp->shared_vars.n; i++)
        pp->has_dynamic |= pp->shared_vars.v[i].var->dynamic;
    spread(d, &lay);
    if (lay.dynamic_base > DEV_WINDOW)
        return decode_refuse(
            d,
            "%llu bytes of scratchpad are more than its address window of "
            "16 MiB",
            (unsigned long long)lay.bytes);
    d->p->static_shared = (uint32_t)lay.bytes;
    d->p->dynamic_base = (uint32_t)lay.dynamic_base;
    return true;
}

static void
place(struct func_info *fi, const struct ptx_var *v, uint64_t at)
{
    *vec_push(&fi->place) = (struct var_place){v, at};
}

/* Rows of `fi`: registers, then predicates, then parameter words. */
bool
decode_layout_func(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    struct arena *mem = &d->pp->mem;
    uint64_t at = align_to(d->pp->region_top, ROW_BYTES);
    fi->region = (uint32_t)at;
    fi->reg_base = d->p->nregs;
    fi->stack_base = f->is_entry ? 0 : d->pp->funcs.v[0]->f->registers;
    d->p->nregs += f->registers || f->predicates ? f->registers + f->predicates
                                                 : (uint32_t)f->regs.n;
    fi->reg_ref = ARENA_ARRAY(mem, uint32_t, f->regs.n + 1);
    for (size_t i = 0; i < f->regs.n; i++) {
        const struct ptx_reg *r = &f->regs.v[i];
        unsigned bytes = ptx_type_bytes(r->type), n = r->vec ? r->vec : 1;
        if (r->type == PTX_PRED)
            continue;
        fi->reg_ref[i] = (uint32_t)at;
        at += (uint64_t)(bytes == 8 ? 2 : bytes == 16 ? 4 : 1) * n * ROW_BYTES;
    }
    for (size_t i = 0; i < f->regs.n; i++)
        if (f->regs.v[i].type == PTX_PRED) {
            fi->reg_ref[i] = (uint32_t)at;
            at += 4;
        }
    fi->cc = (uint32_t)at;
    at = (at + 4 + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;

    uint64_t local = 0;
    for (size_t i = 0; i < f->vars.n; i++) {
        const struct ptx_var *v = f->vars.v[i];
        if (v->space == PTX_SPACE_LOCAL) {
            uint64_t a = v->align ? v->align : 1;
            local = (local + a - 1) / a * a;
            place(fi, v, local);
            local += v->size;
        } else if (v->space == PTX_SPACE_PARAM) {
            place(fi, v, at);
            at += (v->size + 7) / 8 * 2 * ROW_BYTES;
        }
    }
    for (int side = 0; side < 2 && !f->is_entry; side++) {
        size_t n = side ? f->rets.n : f->params.n;
        for (size_t i = 0; i < n; i++) {
            const struct ptx_var *v = side ? f->rets.v[i] : f->params.v[i];
            if (v->space != PTX_SPACE_REG) {
                place(fi, v, at);
                at += (v->size + 7) / 8 * 2 * ROW_BYTES;
                continue;
            }
            size_t r = 0;
            while (r < f->regs.n && strcmp(f->regs.v[r].name, v->name))
                r++;
            if (r < f->regs.n)
                place(fi, v, fi->reg_ref[r]);
            else
                return decode_refuse(d, "parameter '%s' has no register", v->name);
        }
    }
    /* Parameters whose address is taken have a copy in the frame. */
    fi->spill = ARENA_ARRAY(mem, struct param_spill, f->params.n + 1);
    for (size_t i = 0; i < f->params.n && !f->is_entry; i++) {
        const struct ptx_var *v = f->params.v[i];
        bool taken = false;
        for (size_t k = 0; k < f->body.n && !taken; k++)
            for (unsigned o = 0; o < f->body.v[k].nops && !is_call(&f->body.v[k]); o++)
                taken |= f->body.v[k].ops[o].kind == PTX_OPD_SYM &&
                         f->body.v[k].ops[o].var == v;
        if (!taken || v->space != PTX_SPACE_PARAM)
            continue;
        uint64_t row_at = 0;
        for (size_t k = 0; k < fi->place.n; k++)
            if (fi->place.v[k].var == v)
                row_at = fi->place.v[k].at;
        local = (local + 15) / 16 * 16;
        fi->spill[fi->nspill++] =
            (struct param_spill){v, (uint32_t)row_at, (uint32_t)local, (uint32_t)v->size};
        local += (v->size + 3) / 4 * 4;
    }
    local = (local + 15) / 16 * 16;
    if (local > 512 * 1024)
        return decode_refuse(d,
                             "%llu bytes of local memory a thread are more than 512 KiB",
                             (unsigned long long)local);
    if (at > REF_CONST / 2)
        return decode_refuse(d, "too many registers");
    fi->local_bytes = (uint32_t)local;
    fi->region_bytes = (uint32_t)(at - fi->region);
    d->pp->region_top = (uint32_t)at;

    fi->nhash = (uint32_t)fi->place.n * 2 + 1;
    fi->hash = ARENA_ARRAY(mem, struct var_place, fi->nhash);
    for (size_t i = 0; i < fi->place.n; i++) {
        size_t h = ((uintptr_t)fi->place.v[i].var >> 4) % fi->nhash;
        while (fi->hash[h].var)
            h = (h + 1) % fi->nhash;
        fi->hash[h] = fi->place.v[i];
    }
    return true;
}
