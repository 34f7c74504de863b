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
 * Regions are those of accesses that may touch the rest. Of the sizes that cost no block of
 * an SM, own = auto takes the one that the fewest accesses cross, then the largest. Cost:
 * the candidates (starts of accesses) times the accesses. */
#include "passes/vtb_int.h"

#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "base/str.h"
#include "machine/occupancy.h"

#include <string.h>

enum { UNIT = 16 }; /* bytes: no access crosses a border between such pieces */

static bool
touches(const struct region_facts *x, const struct ptx_func *f, uint32_t i)
{
    const struct ptx_inst *in = &f->body.v[i];
    return x->use->funcs.v[0].touch[i] ||
           (ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC) &&
            ptx_inst_space(in) == PTX_SPACE_SHARED);
}

static int
address_index(const struct ptx_inst *in)
{
    for (unsigned k = 0; k < in->nops; k++)
        if (in->ops[k].kind == PTX_OPD_ADDR)
            return (int)k;
    return -1;
}

static const char *
access_refuses(const struct ptx_func *f, const struct ptx_inst *in)
{
    const int k = address_index(in);
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
        if (touches(x, m->f, i))
            why = access_refuses(m->f, &m->f->body.v[i]);
        i++;
    }
    if (!why)
        return NULL;
    return arena_printf(&x->use->mem, "%s (line %u)", why, m->f->body.v[i - 1].line);
}

/* -- the size of the own part -- */

static bool
fits(const struct merge *m, struct occ_kernel k, uint64_t bytes, uint64_t own,
     uint32_t blocks)
{
    struct allot_occupancy o;
    struct diag_sink quiet = {0};
    k.scratchpad = (uint32_t)(bytes + (m->k - 1) * own);
    bool ok = occ_compute(m->a->launch->machine, &k, OCC_SHARE_NONE, 1, &o, &quiet) &&
              o.resident_blocks >= blocks;
    diag_free(&quiet);
    return ok;
}

/* The largest that leaves an SM as many merged blocks as without own parts. */
static uint64_t
largest(const struct merge *m, const struct region_facts *x)
{
    const uint64_t size = regions_cells(x->use, 0),
                   bytes = region_block_bytes(x, m->a->launch);
    const uint32_t *b = m->a->launch->block;
    struct occ_kernel k = {.threads = b[0] * b[1] * b[2] * m->k, .registers = 16};
    struct allot_occupancy o;
    struct diag_sink quiet = {0};
    k.scratchpad = (uint32_t)bytes;
    bool ok = occ_compute(m->a->launch->machine, &k, OCC_SHARE_NONE, 1, &o, &quiet);
    diag_free(&quiet);
    uint64_t own = (size - 1) / UNIT * UNIT;
    while (ok && own && !fits(m, k, bytes, own, o.resident_blocks))
        own -= UNIT;
    return ok ? own : 0;
}

static unsigned
crossing(const struct region_facts *x, const struct ptx_func *f, uint64_t own)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < f->body.n; i++)
        n += touches(x, f, i) && region_part(x, i, own) == PART_BOTH;
    return n;
}

uint64_t
co_choose(const struct merge *m, const struct region_facts *x)
{
    const uint64_t size = regions_cells(x->use, 0);
    if (m->own_given >= 0)
        return (uint64_t)m->own_given < size ? (uint64_t)m->own_given / UNIT * UNIT : 0;
    if (!m->a->launch->machine || !m->a->launch->kernel || size <= UNIT)
        return 0;
    uint64_t best = largest(m, x), most = best;
    unsigned least = crossing(x, m->f, best);
    for (uint32_t i = 0; i < m->f->body.n && least; i++) {
        const uint64_t *may = touches(x, m->f, i) ? x->bytes->inst[i].may : NULL;
        uint64_t at = 0;
        while (may && at < size && !bitset_has(may, at))
            at++;
        if (!may || at % UNIT || at > most || 2 * at < most)
            continue;
        unsigned n = crossing(x, m->f, at);
        if (n < least || (n == least && at > best)) {
            least = n;
            best = at;
        }
    }
    return best;
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
    v->name = "__allot_parts";
    v->space = PTX_SPACE_SHARED;
    v->type = PTX_B8;
    v->align = UNIT;
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
    m->nregs = (uint32_t)m->f->regs.n;
    m->moved_to = ARENA_ARRAY(&x->use->mem, int32_t, m->nregs + 1);
    struct ptx_operand own = rewrite_literal(m->own),
                       area = {
                           .kind = PTX_OPD_SYM, .reg = -1, .label = -1, .var = m->area};
    m->shift = m->own ? vtb_emit(m, PTX_OP_MUL, PTX_U32, vtb_reg(m->reg.v), own) : -1;
    int32_t a = vtb_emit(m, PTX_OP_MOV, PTX_U32, area, area);
    m->border = vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(a), own);
    m->base = a;
}

void
co_block(struct merge *m)
{
    memset(m->moved_to, 0, m->nregs * sizeof *m->moved_to);
}

static void
forget(void *user, int32_t reg, bool write, bool partial)
{
    struct merge *m = user;
    (void)partial;
    if (write && (uint32_t)reg < m->nregs)
        m->moved_to[reg] = 0;
}

/* Address o in the own part: its register, moved by v own. */
static void
own_address(struct merge *m, struct ptx_operand *o)
{
    const int32_t was = o->reg >= 0 ? o->reg : m->base;
    int32_t *to =
        o->reg >= 0 && (uint32_t)o->reg < m->nregs ? &m->moved_to[o->reg] : NULL;
    int32_t r = to && *to
                    ? *to
                    : vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(was), vtb_reg(m->shift));
    if (to)
        *to = r;
    o->reg = r;
    o->var = NULL;
}

static void
either_address(struct merge *m, struct ptx_operand *o)
{
    int32_t at = o->reg >= 0 ? o->reg : m->base;
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
    o->reg = vtb_emit(m, PTX_OP_ADD, PTX_U32, vtb_reg(at), vtb_reg(d));
    o->off = 0;
    o->var = NULL;
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
    if (touches(x, m->f, i)) {
        const int k = address_index(in);
        in->ops = ptx_operands_dup(m->f->module, in->ops, in->nops);
        switch (x->part[i]) {
        case PART_OWN:
            own_address(m, &in->ops[k]);
            break;
        case PART_REST:
            in->ops[k].off += (int64_t)((m->k - 1) * m->own);
            break;
        default:
            either_address(m, &in->ops[k]);
        }
    }
    defuse_each(in, forget, m);
}
