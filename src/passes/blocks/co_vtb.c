/* co_vtb.c: the scratchpad of merged blocks in two parts (003 section 4.3). Each virtual
 * block has the first `own` bytes of the original's scratchpad for itself; the rest is one
 * for all, and virtual blocks take turns with it. With K of them:
 *
 *     original      0 .. own .. size
 *     merged        K times own, then size - own
 *     address a     own part: a + v own          rest: a + (K - 1) own
 *
 * thread_bytes.h says for which accesses all threads of a block are in one part: those get
 * one addition, or none. Where threads differ, or the index is not known (it comes from a
 * table), the address decides when it runs, as in Figure 6b:
 *
 *     p = a < border;  a += p ? v own : (K - 1) own
 *
 * Regions are those of accesses that may touch the rest. Which accesses share such an
 * answer, and the size of the own part: co_plan.c. Cost: the instructions. */
#include "passes/blocks/vtb_int.h"

#include "passes/rewrite.h"

#include "base/str.h"

#include <string.h>

static const char *
access_refuses(const struct ptx_func *f, const struct ptx_inst *in)
{
    const int k = co_address(in);
    if (ptx_inst_space(in) != PTX_SPACE_SHARED)
        return "a generic address may be in scratchpad";
    if (k < 0 || !(ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC)))
        return "an access to scratchpad is no load, store or atomic";
    if (in->ops[k].reg >= 0 &&
        (in->ops[k].var || ptx_type_bytes(f->regs.v[in->ops[k].reg].type) != 4))
        return "a scratchpad address is no 32-bit register";
    return NULL;
}

const char *
co_refuses(struct merge *m, const struct region_facts *x)
{
    const struct scratch_use *u = x->use;
    const char *why = NULL;
    uint32_t i = 0;
    if (!x->bytes)
        return "which thread uses which bytes is not known without the size of a block";
    if (u->var.n && u->var.v[u->var.n - 1].var->dynamic)
        return "it uses extern arrays";
    while (i < m->f->body.n && !why) {
        if (co_touches(x, m->f, i))
            why = access_refuses(m->f, &m->f->body.v[i]);
        i++;
    }
    if (!why)
        return NULL;
    return arena_printf(&x->use->mem, "%s (line %u)", why, m->f->body.v[i - 1].line);
}

/* -- the code -- */

/* One array in the place of all variables. */
static void
make_area(struct merge *m, const struct region_facts *x)
{
    struct ptx_func *f = m->f;
    struct ptx_module *mod = f->module;
    struct ptx_var *v = ARENA_NEW(&mod->mem, struct ptx_var);
    m->area = v;
    v->name = rewrite_new_name(f, "__allot_parts", false);
    v->space = PTX_SPACE_SHARED;
    v->type = PTX_B8;
    v->align = CO_UNIT;
    v->ndims = 1;
    v->dims = ARENA_NEW(&mod->mem, uint64_t);
    v->dims[0] = v->size = regions_cells(x->use, 0) + (m->k - 1) * m->own;
    v->func = f;
    size_t n = 0;
    for (size_t i = 0; i < f->vars.n; i++)
        if (f->vars.v[i]->space != PTX_SPACE_SHARED)
            f->vars.v[n++] = f->vars.v[i];
        else if (f->vars.v[i]->align > v->align)
            v->align = f->vars.v[i]->align;
    f->vars.n = n;
    *vec_push(&f->vars) = v;
}

void
co_begin(struct merge *m, const struct region_facts *x)
{
    make_area(m, x);
    struct ptx_operand own = rewrite_literal(m->own),
                       area = {
                           .kind = PTX_OPD_SYM, .reg = -1, .label = -1, .var = m->area};
    m->shift = m->own ? vtb_emit(m, PTX_OP_MUL, PTX_U32, vtb_reg(m->reg.v), own) : -1;
    int32_t a = vtb_emit(m, PTX_OP_MOV, PTX_U32, area, area);
    m->border = vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(a), own);
    m->base = a;
}

/* The register that access o, without its offset, has in the own part. */
static int32_t
own_address(struct merge *m, const struct ptx_operand *o)
{
    return vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(o->reg >= 0 ? o->reg : m->base),
                    vtb_reg(m->shift));
}

/* The same where the address decides. */
static int32_t
either_address(struct merge *m, const struct ptx_operand *o)
{
    const int32_t from = o->reg >= 0 ? o->reg : m->base;
    int32_t at = from;
    if (o->off)
        at = vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(at),
                      rewrite_literal((uint32_t)o->off));
    const int32_t p = vtb_compare(m, PTX_CMP_LT, vtb_reg(at), vtb_reg(m->border)),
                  d = ptx_reg_new(m->f, PTX_U32);
    struct ptx_inst in = ptx_inst_new(m->f->module, PTX_OP_SELP, 4);
    in.ntypes = 1;
    in.type[0] = PTX_U32;
    in.ops[0] = vtb_reg(d);
    in.ops[1] = vtb_reg(m->shift);
    in.ops[2] = rewrite_literal((m->k - 1) * m->own);
    in.ops[3] = vtb_reg(p);
    *vec_push(&m->to) = in;
    return vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(from), vtb_reg(d));
}

/* Symbols become places of the array. */
static void
move_symbols(struct merge *m, const struct region_facts *x, struct ptx_inst *in)
{
    bool own = false;
    for (unsigned k = 0; k < in->nops; k++) {
        const struct ptx_var *v = in->ops[k].var;
        const bool names =
            in->ops[k].kind == PTX_OPD_SYM || in->ops[k].kind == PTX_OPD_ADDR;
        if (!names || !v || v->space != PTX_SPACE_SHARED || v == m->area)
            continue;
        if (!own)
            in->ops = ptx_operands_dup(m->f->module, in->ops, in->nops);
        own = true;
        for (size_t i = 0; i < x->use->var.n; i++)
            if (x->use->var.v[i].var == v) {
                in->ops[k].var = m->area;
                in->ops[k].off += (int64_t)x->use->var.v[i].at;
                break;
            }
    }
}

void
co_rewrite(struct merge *m, const struct region_facts *x, uint32_t i, struct ptx_inst *in)
{
    if (ptx_is_pseudo(in))
        return;
    move_symbols(m, x, in);
    struct co_access *to = &m->plan[i];
    if (to->part == PART_NONE)
        return;
    in->ops = ptx_operands_dup(m->f->module, in->ops, in->nops);
    struct ptx_operand *o = &in->ops[co_address(in)];
    if (to->part == PART_REST) {
        o->off += (int64_t)((m->k - 1) * m->own);
        return;
    }
    to->reg = to->like >= 0          ? m->plan[to->like].reg
              : to->part == PART_OWN ? own_address(m, o)
                                     : either_address(m, o);
    o->reg = to->reg;
    o->var = NULL;
}
