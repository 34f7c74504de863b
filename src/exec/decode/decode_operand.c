/* decode_operand.c: operands become references to rows: registers of the warp, constant
 * rows of the program, rows of special registers; symbols become addresses. And what a
 * refusal says. */
#include "exec/exec_int.h"

#include <stdarg.h>
#include <string.h>

/* -- diagnostics -- */

bool
decode_refuse(struct decoder *d, const char *fmt, ...)
{
    const struct ptx_module *m = d->fi ? d->fi->f->module : d->p->entry->module;
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
        if (d->in->text)
            strbuf_addz(&name, d->in->text);
        for (unsigned g = 0; g < PTX_NMODGROUPS && !d->in->text; g++)
            if (d->in->mod[g])
                strbuf_printf(&name, ".%s", ptx_mods[d->in->mod[g]].text);
        for (unsigned i = 0; i < d->in->ntypes && !d->in->text; i++)
            strbuf_printf(&name, ".%s", ptx_types[d->in->type[i]].text);
    }
    diag_add(d->diag, DIAG_ERROR, &loc, "kernel '%s': %s: %s", d->p->entry->name,
             name.s ? name.s : d->fi->f->name, text);
    strbuf_free(&name);
    d->failed = true;
    return false;
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

/* Room in the table for one row more: it has at least as many slots as rows. */
static void
grow_const_slots(struct prog_priv *pp)
{
    if (pp->const_rows.n < pp->const_nslots)
        return;
    pp->const_nslots = pp->const_nslots ? 2 * pp->const_nslots : 64;
    pp->const_slots = ARENA_ARRAY(&pp->mem, uint32_t, pp->const_nslots);
    for (size_t i = 0; i < pp->const_rows.n; i++) {
        struct decode_const_row *r = &pp->const_rows.v[i];
        uint32_t *slot = &pp->const_slots[r->hash & (pp->const_nslots - 1)];
        r->next = *slot;
        *slot = (uint32_t)i + 1;
    }
}

/* The row of these bytes; REF_NONE: there are too many. */
static uint32_t
new_const(struct decoder *d, const void *bytes, uint32_t n)
{
    struct prog_priv *pp = d->pp;
    const uint32_t *words = bytes;
    uint64_t hash = n;
    for (uint32_t i = 0; i < n / 4; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    uint32_t h = (uint32_t)(hash >> 32);
    grow_const_slots(pp);
    uint32_t *slot = &pp->const_slots[h & (pp->const_nslots - 1)];
    for (uint32_t i = *slot; i; i = pp->const_rows.v[i - 1].next) {
        const struct decode_const_row *r = &pp->const_rows.v[i - 1];
        if (r->hash == h && r->bytes == n && !memcmp(pp->consts + r->at, bytes, n))
            return r->at | REF_CONST;
    }
    if (pp->const_bytes > REF_CONST / 2 - n) {
        decode_refuse(d, "too many different constants");
        return REF_NONE;
    }
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
    *vec_push(&pp->const_rows) = (struct decode_const_row){at, n, h, *slot};
    *slot = (uint32_t)pp->const_rows.n;
    return at | REF_CONST;
}

uint32_t
decode_const_row(struct decoder *d, uint64_t value, unsigned bytes)
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
decode_const_pred(struct decoder *d, uint32_t mask)
{
    return decode_const_row(d, mask, 4);
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
decode_operand_type(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_REG || o->reg < 0 || (size_t)o->reg >= d->fi->f->regs.n)
        return 0;
    return d->fi->f->regs.v[o->reg].type;
}

bool
decode_const_value(const struct decoder *d, const struct ptx_operand *o, unsigned type,
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

uint32_t
decode_register(struct decoder *d, const struct ptx_operand *o)
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

unsigned
decode_elements(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_VEC)
        return o->n;
    unsigned vec = o->kind == PTX_OPD_REG && !o->comp ? d->fi->f->regs.v[o->reg].vec : 0;
    return vec ? vec : 1;
}

struct ptx_operand
decode_element(const struct decoder *d, const struct ptx_operand *o, unsigned e)
{
    if (o->kind == PTX_OPD_VEC)
        return o->vec[e];
    struct ptx_operand one = *o;
    if (decode_elements(d, o) > 1)
        one.comp = (uint8_t)(e + 1);
    return one;
}

uint32_t
decode_row(struct decoder *d, const struct ptx_operand *o, unsigned type, bool *wide)
{
    uint64_t v;
    unsigned t;
    switch (o->kind) {
    case PTX_OPD_REG:
        t = decode_operand_type(d, o);
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
        return decode_register(d, o);
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
        return decode_const_row(d, v, *wide ? 8 : 4);
    }
    default:
        if (!decode_const_value(d, o, type, &v)) {
            decode_refuse(d, "this operand is not a register or constant");
            return REF_NONE;
        }
        *wide = ptx_type_bytes(type) == 8;
        return decode_const_row(d, v, *wide ? 8 : ptx_type_bytes(type));
    }
}

uint32_t
decode_operand(struct decoder *d, const struct ptx_operand *o, unsigned type)
{
    if (type == PTX_PRED) {
        if (o->kind == PTX_OPD_IMM)
            return decode_const_pred(d, (o->imm != 0) != o->neg ? FULL_MASK : 0);
        if (o->kind == PTX_OPD_SREG && ptx_sregs[o->sreg].type == PTX_PRED)
            return sreg_ref(d, o->sreg, o->comp);
        if (o->kind != PTX_OPD_REG || decode_operand_type(d, o) != PTX_PRED) {
            decode_refuse(d, "a predicate is needed here");
            return REF_NONE;
        }
        return decode_register(d, o);
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
decode_find_place(const struct func_info *fi, const struct ptx_var *v, uint64_t *at)
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
        if (o->func && o->func->is_entry) {
            *v = image_function(d->im, o->func) + (uint64_t)o->off;
            return true;
        }
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
        if (!decode_find_shared(d->pp, var, v))
            return decode_refuse(d, "scratchpad variable '%s' has no place", var->name);
        break;
    case PTX_SPACE_LOCAL:
        if (!decode_find_place(d->fi, var, v))
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
