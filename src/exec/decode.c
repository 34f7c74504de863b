/* decode.c: a kernel and the functions it may call, as one flat array of records.
 *
 * Steps: collect the functions (calls, and functions whose address is taken); lay out
 * each function's registers, predicates and parameters in a warp's rows, its variables in
 * the scratchpad and in local frames; decode instruction by instruction. Mnemonics with
 * their own handlers are found in the tables of exec_mem.c, exec_control.c and
 * exec_warp.c; all others are lane functions, their operands resolved by the pattern of
 * the opcode's row. */
#include "exec/exec_int.h"

#include "analysis/cfg.h"

#include <stdarg.h>
#include <string.h>

/* -- diagnostics -- */

bool
decode_refuse(struct decoder *d, const char *fmt, ...)
{
    struct ptx_module *m = d->p->entry->module;
    struct diag_loc loc = {m->file, m->text, d->in ? d->in->line : 0,
                           d->in ? d->in->col : 0, 0};
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct strbuf name = {0};
    if (d->in) {
        strbuf_addz(&name, ptx_ops[d->in->op].mnemonic);
        for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
            if (d->in->mod[g])
                strbuf_printf(&name, ".%s", ptx_mods[d->in->mod[g]].text);
        for (unsigned i = 0; i < d->in->ntypes; i++)
            strbuf_printf(&name, ".%s", ptx_types[d->in->type[i]].text);
    }
    diag_add(d->diag, DIAG_ERROR, &loc, "kernel '%s': %s: %s", d->p->entry->name,
             name.s ? name.s : d->fi->f->name, text);
    strbuf_free(&name);
    d->failed = true;
    return false;
}

const char *
decode_mod(const struct ptx_inst *in, unsigned group)
{
    return in->mod[group] ? ptx_mods[in->mod[group]].text : "";
}

bool
decode_has(const struct ptx_inst *in, const char *text)
{
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
        if (in->mod[g] && !strcmp(ptx_mods[in->mod[g]].text, text))
            return true;
    return false;
}

/* -- constant rows -- */

static uint32_t
new_const(struct decoder *d, const void *bytes, uint32_t n)
{
    struct prog_priv *pp = d->pp;
    for (uint32_t at = 0; at + n <= pp->const_bytes; at += ROW_BYTES)
        if (!memcmp(pp->consts + at, bytes, n) && at + n <= pp->const_bytes)
            return at | REF_CONST;
    if (pp->const_bytes + n > pp->const_cap) {
        uint32_t cap = pp->const_cap ? 2 * pp->const_cap : 64 * ROW_BYTES;
        uint8_t *p = aligned_alloc(64, cap);
        if (!p)
            abort(); /* out of memory, like xmalloc */
        if (pp->consts)
            memcpy(p, pp->consts, pp->const_bytes);
        free(pp->consts);
        pp->consts = p;
        pp->const_cap = cap;
    }
    uint32_t at = pp->const_bytes;
    memcpy(pp->consts + at, bytes, n);
    pp->const_bytes += n;
    return at | REF_CONST;
}

uint32_t
const_row(struct decoder *d, uint64_t value, unsigned bytes)
{
    if (bytes == 8) {
        uint64_t r[LANES];
        for (int i = 0; i < LANES; i++)
            r[i] = value;
        return new_const(d, r, sizeof r);
    }
    uint32_t r[LANES];
    if (bytes < 4)
        value &= ((uint64_t)1 << bytes * 8) - 1;
    for (int i = 0; i < LANES; i++)
        r[i] = (uint32_t)value;
    return new_const(d, r, sizeof r);
}

uint32_t
const_pred(struct decoder *d, uint32_t mask)
{
    return const_row(d, mask, 4);
}

/* %laneid and %lanemask_*: the same in all warps. */
static uint32_t
lane_row(struct decoder *d, unsigned sreg)
{
    uint32_t r[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t eq = 1u << i;
        r[i] = sreg == PTX_SREG_LANEID        ? i
               : sreg == PTX_SREG_LANEMASK_EQ ? eq
               : sreg == PTX_SREG_LANEMASK_LT ? eq - 1
               : sreg == PTX_SREG_LANEMASK_LE ? (eq - 1) | eq
               : sreg == PTX_SREG_LANEMASK_GT ? ~((eq - 1) | eq)
                                              : ~(eq - 1);
    }
    return new_const(d, r, sizeof r);
}

static uint32_t
sreg_ref(struct decoder *d, unsigned sreg, unsigned comp)
{
    struct prog_priv *pp = d->pp;
    if (sreg >= PTX_SREG_CLOCK && sreg <= PTX_SREG_GLOBALTIMER_HI) {
        decode_refuse(d, "this special register can only be read by mov");
        return REF_NONE;
    }
    if (sreg == PTX_SREG_LANEID ||
        (sreg >= PTX_SREG_LANEMASK_EQ && sreg <= PTX_SREG_LANEMASK_GT))
        return lane_row(d, sreg);
    for (size_t i = 0; i < pp->sregs.n; i++)
        if (pp->sregs.v[i].sreg == sreg && pp->sregs.v[i].comp == comp)
            return pp->sregs.v[i].ref;
    uint32_t ref = pp->region_top;
    pp->region_top += sreg == PTX_SREG_GRIDID ? 2 * ROW_BYTES : ROW_BYTES;
    *vec_push(&pp->sregs) = (struct sreg_row){ref, (uint16_t)sreg, (uint8_t)comp};
    return ref;
}

/* -- operands -- */

unsigned
operand_type(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_REG || o->reg < 0 || (size_t)o->reg >= d->fi->f->regs.n)
        return 0;
    return d->fi->f->regs.v[o->reg].type;
}

bool
const_value(const struct decoder *d, const struct ptx_operand *o, unsigned type,
            uint64_t *v)
{
    unsigned kind = ptx_types[type].kind;
    double x;
    float f;
    uint32_t b;
    switch (o->kind) {
    case PTX_OPD_IMM:
        *v = o->imm;
        if (kind == PTX_K_FLT && type == PTX_F32) {
            f = (float)(int64_t)o->imm;
            memcpy(&b, &f, 4);
            *v = b;
        } else if (type == PTX_F64) {
            x = (double)(int64_t)o->imm;
            memcpy(v, &x, 8);
        }
        break;
    case PTX_OPD_F32:
        *v = (uint32_t)o->imm;
        if (type == PTX_F64) {
            b = (uint32_t)o->imm;
            memcpy(&f, &b, 4);
            x = f;
            memcpy(v, &x, 8);
        }
        break;
    case PTX_OPD_F64:
        *v = o->imm;
        if (type == PTX_F32) {
            memcpy(&x, &o->imm, 8);
            f = (float)x;
            memcpy(&b, &f, 4);
            *v = b;
        }
        break;
    default:
        return false;
    }
    unsigned bytes = ptx_type_bytes(type);
    if (bytes && bytes < 8)
        *v &= ((uint64_t)1 << bytes * 8) - 1;
    return true;
}

static uint32_t
reg_ref(struct decoder *d, const struct ptx_operand *o)
{
    if (o->reg < 0 || (size_t)o->reg >= d->fi->f->regs.n) {
        decode_refuse(d, "a register is missing");
        return REF_NONE;
    }
    const struct ptx_reg *r = &d->fi->f->regs.v[o->reg];
    uint32_t ref = d->fi->reg_ref[o->reg];
    if (r->vec && !o->comp) {
        decode_refuse(d, "vector register '%s' needs a component here", r->name);
        return REF_NONE;
    }
    if (o->comp)
        ref +=
            (uint32_t)(o->comp - 1) * (ptx_type_bytes(r->type) == 8 ? 2 : 1) * ROW_BYTES;
    return ref;
}

uint32_t
decode_row(struct decoder *d, const struct ptx_operand *o, unsigned type, bool *wide)
{
    uint64_t v;
    unsigned t;
    switch (o->kind) {
    case PTX_OPD_REG:
        t = operand_type(d, o);
        if (t == PTX_PRED) {
            decode_refuse(d, "a predicate stands where a value is needed");
            return REF_NONE;
        }
        if (ptx_type_bytes(t) > 8) {
            decode_refuse(d, "128-bit registers are not supported");
            return REF_NONE;
        }
        if (o->neg) {
            decode_refuse(d, "a minus sign before a register is not allowed here");
            return REF_NONE;
        }
        *wide = ptx_type_bytes(t) == 8;
        return reg_ref(d, o);
    case PTX_OPD_SREG:
        *wide = o->sreg == PTX_SREG_GRIDID;
        return sreg_ref(d, o->sreg, o->comp);
    case PTX_OPD_SYM:
    case PTX_OPD_FUNCSYM: {
        bool frame;
        if (!decode_symbol(d, o, &v, &frame))
            return REF_NONE;
        if (frame && !d->fi->f->is_entry) {
            decode_refuse(d, "the address of a local variable can only be taken by mov");
            return REF_NONE;
        }
        *wide = ptx_type_bytes(type) == 8;
        return const_row(d, v, *wide ? 8 : 4);
    }
    default:
        if (!const_value(d, o, type, &v)) {
            decode_refuse(d, "this operand is not a register or constant");
            return REF_NONE;
        }
        *wide = ptx_type_bytes(type) == 8;
        return const_row(d, v, *wide ? 8 : ptx_type_bytes(type));
    }
}

uint32_t
decode_operand(struct decoder *d, const struct ptx_operand *o, unsigned type)
{
    if (type == PTX_PRED) {
        if (o->kind == PTX_OPD_IMM)
            return const_pred(d, (o->imm != 0) != o->neg ? FULL_MASK : 0);
        if (o->kind != PTX_OPD_REG || operand_type(d, o) != PTX_PRED) {
            decode_refuse(d, "a predicate is needed here");
            return REF_NONE;
        }
        return reg_ref(d, o);
    }
    bool wide;
    uint32_t ref = decode_row(d, o, type, &wide);
    if (ref != REF_NONE && wide != (ptx_type_bytes(type) == 8)) {
        decode_refuse(d, "the register has the wrong size for .%s", ptx_types[type].text);
        return REF_NONE;
    }
    return ref;
}

bool
find_place(const struct func_info *fi, const struct ptx_var *v, uint64_t *at)
{
    if (!fi->nhash)
        return false;
    for (size_t h = ((uintptr_t)v >> 4) % fi->nhash;; h = (h + 1) % fi->nhash) {
        if (!fi->hash[h].var)
            return false;
        if (fi->hash[h].var == v) {
            *at = fi->hash[h].at;
            return true;
        }
    }
}

bool
decode_symbol(struct decoder *d, const struct ptx_operand *o, uint64_t *v, bool *frame)
{
    *frame = false;
    *v = 0;
    if (o->kind == PTX_OPD_FUNCSYM) {
        const struct func_info *fi = o->func ? decode_func(d, o->func) : NULL;
        if (!fi)
            return decode_refuse(d, "function '%s' has no body here",
                                 o->func ? o->func->name : "?");
        *v = image_function(d->im, fi->f) + (uint64_t)o->off;
        return true;
    }
    const struct ptx_var *var = o->var;
    if (!var)
        return decode_refuse(d, "a symbol is missing");
    switch (var->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        if (!image_address(d->im, var, v))
            return decode_refuse(d, "variable '%s' is not defined in this module",
                                 var->name);
        break;
    case PTX_SPACE_SHARED:
        if (!find_shared(d->pp, var, v))
            return decode_refuse(d, "scratchpad variable '%s' has no place", var->name);
        break;
    case PTX_SPACE_LOCAL:
        if (!find_place(d->fi, var, v))
            return decode_refuse(d, "local variable '%s' is not of this function",
                                 var->name);
        *frame = !d->fi->f->is_entry;
        break;
    case PTX_SPACE_PARAM:
        if (var->is_param && d->fi->f->is_entry) {
            *v = var->offset;
            break;
        }
        for (uint32_t i = 0; i < d->fi->nspill; i++)
            if (d->fi->spill[i].var == var) {
                *v = d->fi->spill[i].local;
                *frame = true;
                *v += (uint64_t)o->off;
                return true;
            }
        return decode_refuse(d, "the address of parameter '%s' cannot be taken",
                             var->name);
    default:
        return decode_refuse(d, "'%s' has no address", var->name);
    }
    *v += (uint64_t)o->off;
    return true;
}

/* -- functions of the program -- */

const struct func_info *
decode_func(struct decoder *d, const struct ptx_func *f)
{
    for (size_t i = 0; i < d->pp->funcs.n; i++) {
        const struct ptx_func *g = d->pp->funcs.v[i]->f;
        if (g == f || (!g->is_entry && !strcmp(g->name, f->name)))
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
        struct ptx_module *m = d->p->entry->module;
        const struct ptx_func *def = NULL;
        for (size_t i = 0; i < m->funcs.n && !def; i++)
            if (m->funcs.v[i]->has_body && !strcmp(m->funcs.v[i]->name, f->name))
                def = m->funcs.v[i];
        if (!def)
            return; /* refused where it is called */
        f = def;
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
    if (o->kind == PTX_OPD_FUNCSYM)
        add_func(d, o->func);
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
is_pseudo(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_PSEUDO;
}

static bool
is_call(const struct ptx_inst *in)
{
    return !strcmp(ptx_ops[in->op].mnemonic, "call");
}

static void
collect(struct decoder *d)
{
    bool indirect = false;
    add_func(d, d->p->entry);
    for (size_t i = 0; i < d->pp->funcs.n; i++) {
        const struct ptx_func *f = d->pp->funcs.v[i]->f;
        for (size_t k = 0; k < f->body.n; k++) {
            const struct ptx_inst *in = &f->body.v[k];
            if (is_pseudo(in))
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
                    struct ptx_module *m = d->p->entry->module;
                    for (size_t v = 0; v < m->vars.n; v++)
                        for (size_t r = 0; r < m->vars.v[v]->relocs.n; r++)
                            add_func(d, m->vars.v[v]->relocs.v[r].func);
                }
                d->pp->has_calls = true;
            }
        }
    }
}

/* -- layout -- */

static uint32_t
align_to(uint32_t n, uint32_t a)
{
    return (n + a - 1) / a * a;
}

bool
find_shared(const struct prog_priv *pp, const struct ptx_var *v, uint64_t *at)
{
    for (size_t i = 0; i < pp->shared_vars.n; i++)
        if (pp->shared_vars.v[i].var == v) {
            *at = pp->shared_vars.v[i].at;
            return true;
        }
    return false;
}

/* Static variables in order; all extern arrays share what is behind them. */
static bool
layout_shared(struct decoder *d)
{
    struct prog_priv *pp = d->pp;
    for (size_t i = 0; i < pp->funcs.n; i++) {
        const struct ptx_func *f = pp->funcs.v[i]->f;
        for (size_t k = 0; k < f->vars.n; k++)
            if (f->vars.v[k]->space == PTX_SPACE_SHARED)
                vec_push(&pp->shared_vars)->var = f->vars.v[k];
    }
    uint64_t at = 0, align = 16;
    for (size_t i = 0; i < pp->shared_vars.n; i++) {
        const struct ptx_var *v = pp->shared_vars.v[i].var;
        uint64_t a = v->align ? v->align : 1;
        if (v->dynamic) {
            align = a > align ? a : align;
            pp->has_dynamic = true;
            continue;
        }
        at = (at + a - 1) / a * a;
        pp->shared_vars.v[i].at = at;
        at += v->size;
    }
    uint64_t base = (at + align - 1) / align * align;
    if (base > DEV_WINDOW)
        return decode_refuse(
            d,
            "%llu bytes of scratchpad are more than its address window of "
            "16 MiB",
            (unsigned long long)at);
    d->p->static_shared = (uint32_t)at;
    d->p->dynamic_base = (uint32_t)base;
    for (size_t i = 0; i < pp->shared_vars.n; i++)
        if (pp->shared_vars.v[i].var->dynamic)
            pp->shared_vars.v[i].at = base;
    return true;
}

static void
place(struct func_info *fi, const struct ptx_var *v, uint64_t at)
{
    *vec_push(&fi->place) = (struct var_place){v, at};
}

/* Rows of `fi`: registers, then predicates, then parameter words. */
static bool
layout_func(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    struct arena *mem = &d->pp->mem;
    uint64_t at = align_to(d->pp->region_top, ROW_BYTES);
    fi->region = (uint32_t)at;
    fi->reg_base = d->p->nregs;
    d->p->nregs += (uint32_t)f->regs.n;
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

/* -- pure instructions -- */

static enum exec_result
h_lane(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0]), row(w, in->d[1])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1]), row(w, in->s[2]),
                              row(w, in->s[3])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

/* The common shapes: one destination, two or three sources. */
static enum exec_result
h_lane2(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

static enum exec_result
h_lane3(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    void *const d[2] = {row(w, in->d[0])};
    const void *const a[4] = {row(w, in->s[0]), row(w, in->s[1]), row(w, in->s[2])};
    in->lane(d, a, mask, in->aux);
    return EXEC_OK;
}

/* An instruction with operands of other widths than its type says (cvt with wider
 * registers), or with negated predicates: they are brought into form first. */
struct adapt {
    lane_fn *lane;
    uint32_t aux;
    uint8_t nd, ns;
    struct {
        uint32_t ref;
        bool narrow,
            negate; /* source: 64-bit row read as 32-bit lanes; predicate inverted */
        bool sink;  /* destination: not wanted */
        uint8_t have, want; /* destination: bytes of the register and of the result; the
                             * result is extended where they differ */
        bool is_signed;
    } d[2], s[4];
};

static enum exec_result
h_adapt(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
        struct exec_step *s)
{
    (void)s;
    const struct adapt *p = in->plan;
    _Alignas(64) union {
        uint64_t v64[LANES];
        uint32_t v32[2 * LANES];
    } scratch[6];
    void *d[2] = {&scratch[0], &scratch[1]};
    const void *a[4] = {&scratch[2], &scratch[2], &scratch[2], &scratch[2]};
    for (int i = 0; i < p->ns; i++) {
        const void *r = row(w, p->s[i].ref);
        a[i] = r;
        if (p->s[i].negate) {
            scratch[2 + i].v32[0] = ~*(const uint32_t *)r;
            a[i] = &scratch[2 + i];
        } else if (p->s[i].narrow) {
            for (int k = 0; k < LANES; k++)
                scratch[2 + i].v32[k] = (uint32_t)((const uint64_t *)r)[k];
            a[i] = &scratch[2 + i];
        }
    }
    for (int i = 0; i < p->nd; i++)
        if (!p->d[i].sink && p->d[i].have == p->d[i].want)
            d[i] = row(w, p->d[i].ref);
    p->lane(d, a, mask, p->aux);
    for (int i = 0; i < p->nd; i++) {
        if (p->d[i].sink || p->d[i].have == p->d[i].want)
            continue;
        const uint32_t *v = d[i];
        unsigned shift = 64 - 8 * p->d[i].want;
        FOR_BITS(k, mask)
        {
            uint64_t x = (uint64_t)v[k] << shift;
            x = p->d[i].is_signed ? (uint64_t)((int64_t)x >> shift) : x >> shift;
            if (p->d[i].have == 8)
                ((uint64_t *)row(w, p->d[i].ref))[k] = x;
            else
                ((uint32_t *)row(w, p->d[i].ref))[k] =
                    (uint32_t)x & (p->d[i].have == 2 ? 0xffff : FULL_MASK);
        }
    }
    return EXEC_OK;
}

/* Type a pattern token gives its operand; 0: none. */
static unsigned
token_bytes(const struct ptx_inst *in, const char *tok)
{
    unsigned t = 0, bytes;
    if (*tok == 'U' || *tok == 'u')
        return 4;
    if (*tok == 'P' || *tok == 'p')
        return 0;
    if (tok[1] >= '0' && tok[1] <= '9')
        t = (unsigned)(tok[1] - '0');
    bytes = t < in->ntypes ? ptx_type_bytes(in->type[t]) : 4;
    if (tok[1] && tok[2] == 'w')
        bytes *= 2;
    if (tok[1] && tok[2] == 'h')
        bytes /= 2;
    return bytes;
}

static unsigned
token_type(const struct ptx_inst *in, const char *tok)
{
    unsigned t = 0, bytes = token_bytes(in, tok);
    if (*tok == 'U' || *tok == 'u')
        return PTX_B32;
    if (*tok == 'P' || *tok == 'p')
        return PTX_PRED;
    if (tok[1] >= '0' && tok[1] <= '9')
        t = (unsigned)(tok[1] - '0');
    unsigned type = t < in->ntypes ? in->type[t] : PTX_B32;
    if (ptx_type_bytes(type) == bytes)
        return type;
    return bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : bytes == 2 ? PTX_B16 : PTX_B8;
}

bool
decode_pure(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    struct adapt ad = {0};
    bool special = false;
    uint32_t aux = 0;
    lane_fn *lane = lane_select(in, &aux);
    if (!lane)
        return decode_refuse(d, "this instruction is not supported");
    const char *tok = ptx_ops[in->op].operands;
    unsigned nd = 0, ns = 0;
    for (unsigned i = 0; i < in->nops && *tok; i++) {
        const struct ptx_operand *o = &in->ops[i];
        bool dest = *tok == 'd' || *tok == 'P' || *tok == 'U';
        unsigned type = token_type(in, tok);
        if ((dest && nd >= 2) || (!dest && ns >= 4))
            return decode_refuse(d, "too many operands");
        if (o->kind == PTX_OPD_NONE || (dest && o->kind == PTX_OPD_SINK)) {
            if (dest) {
                ad.d[nd].sink = true;
                special |= o->kind == PTX_OPD_SINK;
                nd++;
            } else {
                ad.s[ns++].ref = const_row(d, 0, 8);
            }
        } else if (dest) {
            bool wide = false;
            ad.d[nd].ref = type == PTX_PRED ? decode_operand(d, o, PTX_PRED)
                                            : decode_row(d, o, type, &wide);
            if (ad.d[nd].ref == REF_NONE)
                return false;
            unsigned have = type == PTX_PRED ? 0 : ptx_type_bytes(operand_type(d, o)),
                     want = ptx_type_bytes(type);
            if (have < want)
                return decode_refuse(d, "the destination has %u bits, the result %u",
                                     have * 8, want * 8);
            ad.d[nd].have = (uint8_t)have;
            ad.d[nd].want = (uint8_t)want;
            ad.d[nd].is_signed = ptx_types[type].kind == PTX_K_SINT;
            special |= have != want;
            nd++;
        } else {
            bool wide = false;
            struct ptx_operand c = *o;
            if (type == PTX_PRED && c.kind == PTX_OPD_REG && c.neg) {
                ad.s[ns].negate = special = true;
                c.neg = false;
            }
            ad.s[ns].ref = type == PTX_PRED ? decode_operand(d, &c, PTX_PRED)
                                            : decode_row(d, &c, type, &wide);
            if (ad.s[ns].ref == REF_NONE)
                return false;
            unsigned want = ptx_type_bytes(type);
            if (c.kind == PTX_OPD_REG && type != PTX_PRED &&
                ptx_type_bytes(operand_type(d, &c)) < want)
                return decode_refuse(
                    d, "operand %u has %u bits, the instruction needs %u", i + 1,
                    ptx_type_bytes(operand_type(d, &c)) * 8, want * 8);
            if (type != PTX_PRED && wide && want < 8)
                ad.s[ns].narrow = special = true;
            else if (type != PTX_PRED && !wide && want == 8)
                return decode_refuse(
                    d, "operand %u has 32 bits, the instruction needs 64", i + 1);
            ns++;
        }
        while (*tok && *tok != ',' && *tok != '|')
            tok++;
        if (*tok)
            tok++;
    }
    if (in->mod[PTX_MG_CC] || ptx_ops[in->op].flags & PTX_CCIN) {
        ad.d[1].ref = d->fi->cc;
        ad.d[1].sink = false;
        ad.d[1].have = ad.d[1].want = 0;
        nd = 2;
    }
    for (unsigned i = 0; i < 2; i++)
        if (i >= nd)
            ad.d[i].sink = true;
    if (nd == 2 && ad.d[1].sink)
        nd = 1;
    for (unsigned i = in->nops; i-- && ns && in->ops[i].kind == PTX_OPD_NONE;)
        ns--; /* optional sources at the end that were left out */
    ad.lane = lane;
    ad.aux = aux;
    ad.nd = (uint8_t)nd;
    ad.ns = (uint8_t)ns;
    if (special || !nd || ad.d[0].sink) {
        struct adapt *p = ARENA_NEW(&d->pp->mem, struct adapt);
        *p = ad;
        x->plan = p;
        x->fn = h_adapt;
        return true;
    }
    x->lane = lane;
    x->aux = aux;
    for (unsigned i = 0; i < 2; i++)
        x->d[i] = i < nd && !ad.d[i].sink ? ad.d[i].ref : ad.d[0].ref;
    for (unsigned i = 0; i < 4; i++)
        x->s[i] = i < ns ? ad.s[i].ref : const_row(d, 0, 8);
    x->fn = nd == 1 && ns <= 2 ? h_lane2 : nd == 1 && ns == 3 ? h_lane3 : h_lane;
    return true;
}

/* -- the program -- */

static void
note_reg(struct decoder *d, const struct ptx_operand *o, bool dest)
{
    struct exec_static *st = d->st;
    if ((o->kind != PTX_OPD_REG && o->kind != PTX_OPD_ADDR) || o->reg < 0)
        return;
    uint16_t r = (uint16_t)(d->fi->reg_base + (uint32_t)o->reg);
    uint16_t *list = dest ? st->dst : st->src;
    uint8_t *n = dest ? &st->ndst : &st->nsrc;
    for (unsigned i = 0; i < *n; i++)
        if (list[i] == r)
            return;
    if (*n < (dest ? EXEC_MAX_DST : EXEC_MAX_SRC))
        list[(*n)++] = r;
}

/* Registers read and written, from the pattern of the opcode's row: which operands are
 * destinations. */
static void
note_regs(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    const char *tok = ptx_ops[in->op].operands;
    bool call = is_call(in), seen_target = false;
    if (in->guard >= 0) {
        struct ptx_operand g = {.kind = PTX_OPD_REG, .reg = in->guard};
        note_reg(d, &g, false);
        d->st->guarded = true;
    }
    for (unsigned i = 0; i < in->nops; i++) {
        const struct ptx_operand *o = &in->ops[i];
        bool dest =
            *tok == 'd' || *tok == 'P' || *tok == 'U' || *tok == 'V' || *tok == 'D';
        if (call) {
            dest = o->kind == PTX_OPD_VEC && !seen_target;
            seen_target |= o->kind != PTX_OPD_VEC && o->kind != PTX_OPD_NONE;
        }
        if (o->kind == PTX_OPD_VEC)
            for (unsigned k = 0; k < o->n; k++)
                note_reg(d, &o->vec[k], dest && o->vec[k].kind == PTX_OPD_REG);
        else
            note_reg(d, o, dest && o->kind == PTX_OPD_REG);
        while (*tok && *tok != ',' && *tok != '|')
            tok++;
        if (*tok)
            tok++;
    }
}

static bool
decode_inst(struct decoder *d)
{
    static const struct decode_row *const tables[] = {decode_memory, decode_control,
                                                      decode_warp};
    const struct ptx_inst *in = d->in;
    const struct ptx_op_info *info = &ptx_ops[in->op];
    struct exec_inst *x = d->out;
    struct exec_static *st = d->st;
    st->unit = info->unit;
    st->latency = info->latency;
    st->op = in->op;
    st->line = in->line;
    st->col = in->col;
    st->cache = in->mod[PTX_MG_CACHE];
    x->cache = st->cache;
    x->reconv = EXEC_NO_PC;
    note_regs(d);
    if (in->guard >= 0) {
        struct ptx_operand g = {.kind = PTX_OPD_REG, .reg = in->guard};
        x->guard = decode_operand(d, &g, PTX_PRED);
        if (x->guard == REF_NONE)
            return false;
        x->flags = (uint8_t)(IF_GUARD | (in->guard_neg ? IF_GUARD_NEG : 0));
    }
    if (info->flags & PTX_REFUSED)
        return decode_refuse(d, "this instruction is not supported");
    for (size_t t = 0; t < 3; t++)
        for (const struct decode_row *r = tables[t]; r->mnemonic; r++)
            if (!strcmp(r->mnemonic, info->mnemonic))
                return r->fn(d);
    return decode_pure(d);
}

/* pc at which the paths of a branch meet again. */
static uint32_t
reconvergence(const struct func_info *fi, size_t at)
{
    const struct cfg *g = fi->cfg;
    int32_t b = g->block[g->block_of[at]].ipdom;
    return b < 0 ? EXEC_NO_PC : fi->pc_of[g->block[b].first];
}

static bool
ends_with_jump(const struct ptx_func *f)
{
    for (size_t i = f->body.n; i--;) {
        const struct ptx_inst *in = &f->body.v[i];
        if (is_pseudo(in)) {
            if (in->op == PTX_OP_LABEL)
                return false;
            continue;
        }
        return in->guard < 0 &&
               (ptx_ops[in->op].flags & PTX_ENDS || cfg_targets(in, NULL, 0));
    }
    return false;
}

static void
number_instructions(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    fi->entry_pc = d->p->ninst;
    fi->pc_of = ARENA_ARRAY(&d->pp->mem, uint32_t, f->body.n + 1);
    for (size_t i = 0; i < f->body.n; i++) {
        fi->pc_of[i] = d->p->ninst;
        d->p->ninst += !is_pseudo(&f->body.v[i]);
    }
    fi->pc_of[f->body.n] = d->p->ninst;
    if (!ends_with_jump(f)) /* the end of the body returns */
        d->p->ninst++;
    fi->end_pc = d->p->ninst;
}

static void
decode_body(struct decoder *d, struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    d->fi = fi;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (is_pseudo(in))
            continue;
        d->in = in;
        d->pc = fi->pc_of[i];
        d->out = &d->p->inst[d->pc];
        d->st = &d->p->st[d->pc];
        if (!decode_inst(d))
            d->failed = true;
        if (cfg_targets(in, NULL, 0))
            d->out->reconv = reconvergence(fi, i);
    }
    if (fi->pc_of[f->body.n] < fi->end_pc) {
        struct ptx_inst ret = {
            .op = d->ret_op, .guard = -1, .line = f->line, .col = f->col};
        for (size_t i = f->body.n; i-- && ret.line == f->line;)
            if (f->body.v[i].line)
                ret.line = f->body.v[i].line, ret.col = 0;
        d->in = &ret;
        d->pc = fi->pc_of[f->body.n];
        d->out = &d->p->inst[d->pc];
        d->st = &d->p->st[d->pc];
        decode_inst(d);
    }
    d->in = NULL;
}

/* -- registers that may be read before they are written -- */

struct rows_used {
    uint64_t *read, *write;
};

static void
mark_regs(const struct ptx_operand *o, unsigned n, uint64_t *set)
{
    for (unsigned i = 0; i < n; i++) {
        if ((o[i].kind == PTX_OPD_REG || o[i].kind == PTX_OPD_ADDR) && o[i].reg >= 0)
            bitset_add(set, (size_t)o[i].reg);
        if (o[i].kind == PTX_OPD_VEC)
            mark_regs(o[i].vec, o[i].n, set);
    }
}

/* Rows of the kernel that are live on entry: the block's storage is used for one block
 * after another, and they must not see what the last one left. Backward liveness over the
 * CFG; guarded writes do not end a live range. */
static void
find_zero_rows(struct decoder *d, const struct func_info *fi)
{
    const struct ptx_func *f = fi->f;
    const struct cfg *g = fi->cfg;
    size_t n = f->regs.n, words = BITSET_WORDS(n ? n : 1);
    uint64_t *in = xcalloc((size_t)g->n * words, 8), *live = xcalloc(words, 8),
             *def = xcalloc(words, 8);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = g->nrpo; r--;) {
            const struct cfg_block *b = &g->block[g->rpo[r]];
            memset(live, 0, words * 8);
            for (uint32_t k = 0; k < b->nsucc; k++)
                if (b->succ[k] >= 0)
                    bitset_or(live, in + (size_t)b->succ[k] * words, n);
            for (uint32_t i = b->end; i-- > b->first;) {
                const struct ptx_inst *x = &f->body.v[i];
                if (is_pseudo(x))
                    continue;
                const char *tok = ptx_ops[x->op].operands;
                memset(def, 0, words * 8);
                for (unsigned pass = 0; pass < 2; pass++) { /* writes, then reads */
                    const char *t = tok;
                    for (unsigned o = 0; o < x->nops; o++) {
                        bool dest = (*t == 'd' || *t == 'P' || *t == 'U' || *t == 'V' ||
                                     *t == 'D') &&
                                    x->ops[o].kind != PTX_OPD_ADDR;
                        if (pass == 0 && dest && x->guard < 0) {
                            mark_regs(&x->ops[o], 1, def);
                            if (x->ops[o].kind == PTX_OPD_REG && x->ops[o].comp)
                                memset(def, 0, words * 8); /* one component only */
                        } else if (pass == 1 && !dest) {
                            mark_regs(&x->ops[o], 1, live);
                        }
                        while (*t && *t != ',' && *t != '|')
                            t++;
                        if (*t)
                            t++;
                    }
                    if (pass == 0)
                        for (size_t k = 0; k < words; k++)
                            live[k] &= ~def[k];
                }
                if (x->guard >= 0)
                    bitset_add(live, (size_t)x->guard);
            }
            changed |= bitset_or(in + (size_t)g->rpo[r] * words, live, n);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (bitset_has(in, i)) {
            const struct ptx_reg *r = &f->regs.v[i];
            bool wide = ptx_type_bytes(r->type) == 8;
            for (unsigned c = 0; c < (r->vec ? r->vec : 1u); c++)
                *vec_push(&d->pp->zero_rows) =
                    (struct zero_row){fi->reg_ref[i] + c * (wide ? 2 : 1) * ROW_BYTES,
                                      r->type == PTX_PRED ? 4
                                      : wide              ? 2 * ROW_BYTES
                                                          : ROW_BYTES};
        }
    *vec_push(&d->pp->zero_rows) = (struct zero_row){fi->cc, 4};
    free(in);
    free(live);
    free(def);
}

struct exec_prog *
exec_decode(struct exec_image *im, const struct ptx_func *f, struct diag_sink *diag)
{
    struct exec_prog *p = xcalloc(1, sizeof *p);
    struct prog_priv *pp = xcalloc(1, sizeof *pp);
    struct decoder d = {.im = im, .p = p, .pp = pp, .diag = diag};
    struct diag_loc loc = {f->module->file, f->module->text, f->line, f->col, 0};
    p->entry = f;
    p->priv = pp;
    p->image = im;
    p->param_bytes = (uint32_t)f->param_bytes;
    if (!f->is_entry || !f->has_body) {
        diag_add(diag, DIAG_ERROR, &loc, "'%s' is no kernel with a body", f->name);
        exec_prog_free(p);
        return NULL;
    }
    lane_init();
    for (int op = 0; op < PTX_NOPS; op++)
        if (!strcmp(ptx_ops[op].mnemonic, "ret"))
            d.ret_op = (uint16_t)op;
    const_row(&d, 0, 8); /* so that there is a block of constants */
    collect(&d);
    d.fi = pp->funcs.v[0];
    bool ok = layout_shared(&d);
    for (size_t i = 0; ok && i < pp->funcs.n; i++) {
        d.fi = pp->funcs.v[i];
        ok = layout_func(&d, pp->funcs.v[i]);
        if (ok) {
            pp->funcs.v[i]->cfg = cfg_new(pp->funcs.v[i]->f);
            number_instructions(&d, pp->funcs.v[i]);
        }
    }
    if (ok && p->nregs > UINT16_MAX)
        ok = decode_refuse(&d, "%u registers are more than 65535", p->nregs);
    if (ok) {
        p->local_bytes = pp->funcs.v[0]->local_bytes;
        p->inst = aligned_alloc(64, sizeof *p->inst * (p->ninst + 1));
        if (!p->inst)
            abort(); /* out of memory, like xmalloc */
        memset(p->inst, 0, sizeof *p->inst * (p->ninst + 1));
        p->st = xcalloc(p->ninst + 1, sizeof *p->st);
        for (size_t i = 0; i < pp->funcs.n; i++)
            decode_body(&d, pp->funcs.v[i]);
        find_zero_rows(&d, pp->funcs.v[0]);
        p->row_bytes = align_to(pp->region_top, ROW_BYTES);
        ok = !d.failed;
    }
    if (!ok) {
        exec_prog_free(p);
        return NULL;
    }
    p->code_address = dev_code_space(im->mem, (uint64_t)p->ninst * EXEC_INST_BYTES);
    return p;
}

void
exec_prog_free(struct exec_prog *p)
{
    if (!p)
        return;
    struct prog_priv *pp = p->priv;
    for (size_t i = 0; i < pp->funcs.n; i++) {
        cfg_free(pp->funcs.v[i]->cfg);
        vec_free(&pp->funcs.v[i]->place);
    }
    vec_free(&pp->funcs);
    vec_free(&pp->sregs);
    vec_free(&pp->shared_vars);
    vec_free(&pp->zero_rows);
    free(pp->consts);
    arena_free(&pp->mem);
    free(pp);
    free(p->inst);
    free(p->st);
    free(p);
}
