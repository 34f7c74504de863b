/* ir.c: small helpers on modules and functions; the names of the special registers. */
#include "ptx/ir.h"

#include <stdatomic.h>

const struct ptx_sreg_info ptx_sregs[PTX_NSREGS] = {
    [PTX_SREG_TID] = {"%tid", PTX_U32, 3, 0},
    [PTX_SREG_NTID] = {"%ntid", PTX_U32, 3, 0},
    [PTX_SREG_CTAID] = {"%ctaid", PTX_U32, 3, 0},
    [PTX_SREG_NCTAID] = {"%nctaid", PTX_U32, 3, 0},
    [PTX_SREG_LANEID] = {"%laneid", PTX_U32, 0, 0},
    [PTX_SREG_WARPID] = {"%warpid", PTX_U32, 0, 0},
    [PTX_SREG_NWARPID] = {"%nwarpid", PTX_U32, 0, 0},
    [PTX_SREG_SMID] = {"%smid", PTX_U32, 0, 0},
    [PTX_SREG_NSMID] = {"%nsmid", PTX_U32, 0, 0},
    [PTX_SREG_GRIDID] = {"%gridid", PTX_U64, 0, 0},
    [PTX_SREG_LANEMASK_EQ] = {"%lanemask_eq", PTX_U32, 0, 0},
    [PTX_SREG_LANEMASK_LE] = {"%lanemask_le", PTX_U32, 0, 0},
    [PTX_SREG_LANEMASK_LT] = {"%lanemask_lt", PTX_U32, 0, 0},
    [PTX_SREG_LANEMASK_GE] = {"%lanemask_ge", PTX_U32, 0, 0},
    [PTX_SREG_LANEMASK_GT] = {"%lanemask_gt", PTX_U32, 0, 0},
    [PTX_SREG_CLOCK] = {"%clock", PTX_U32, 0, 0},
    [PTX_SREG_CLOCK_HI] = {"%clock_hi", PTX_U32, 0, 0},
    [PTX_SREG_CLOCK64] = {"%clock64", PTX_U64, 0, 0},
    [PTX_SREG_GLOBALTIMER] = {"%globaltimer", PTX_U64, 0, 0},
    [PTX_SREG_GLOBALTIMER_LO] = {"%globaltimer_lo", PTX_U32, 0, 0},
    [PTX_SREG_GLOBALTIMER_HI] = {"%globaltimer_hi", PTX_U32, 0, 0},
    [PTX_SREG_TOTAL_SMEM_SIZE] = {"%total_smem_size", PTX_U32, 0, 0},
    [PTX_SREG_DYNAMIC_SMEM_SIZE] = {"%dynamic_smem_size", PTX_U32, 0, 0},
    [PTX_SREG_ENVREG] = {"%envreg", PTX_U32, 0, 32},
    [PTX_SREG_PM] = {"%pm", PTX_U32, 0, 8},
    [PTX_SREG_PM64] = {"%pm", PTX_U64, 0, 8}, /* %pm0_64: see print.c */
    [PTX_SREG_CLUSTERID] = {"%clusterid", PTX_U32, 3, 0},
    [PTX_SREG_NCLUSTERID] = {"%nclusterid", PTX_U32, 3, 0},
    [PTX_SREG_CLUSTER_CTAID] = {"%cluster_ctaid", PTX_U32, 3, 0},
    [PTX_SREG_CLUSTER_NCTAID] = {"%cluster_nctaid", PTX_U32, 3, 0},
    [PTX_SREG_CLUSTER_CTARANK] = {"%cluster_ctarank", PTX_U32, 0, 0},
    [PTX_SREG_CLUSTER_NCTARANK] = {"%cluster_nctarank", PTX_U32, 0, 0},
    [PTX_SREG_IS_EXPLICIT_CLUSTER] = {"%is_explicit_cluster", PTX_PRED, 0, 0},
    [PTX_SREG_AGGR_SMEM_SIZE] = {"%aggr_smem_size", PTX_U32, 0, 0},
    [PTX_SREG_RESERVED_SMEM_BEGIN] = {"%reserved_smem_offset_begin", PTX_U32, 0, 0},
    [PTX_SREG_RESERVED_SMEM_END] = {"%reserved_smem_offset_end", PTX_U32, 0, 0},
    [PTX_SREG_RESERVED_SMEM_CAP] = {"%reserved_smem_offset_cap", PTX_U32, 0, 0},
    [PTX_SREG_RESERVED_SMEM] = {"%reserved_smem_offset_", PTX_U32, 0, 2},
    [PTX_SREG_GRAPH_EXEC] = {"%current_graph_exec", PTX_U64, 0, 0},
};

struct ptx_func *
ptx_find_func(const struct ptx_module *m, const char *name)
{
    struct ptx_func *found = NULL;
    for (size_t i = 0; i < m->funcs.n; i++) {
        struct ptx_func *f = m->funcs.v[i];
        if (!strcmp(f->name, name) && (!found || f->has_body))
            found = f;
    }
    return found;
}

struct ptx_var *
ptx_find_var(const struct ptx_module *m, const char *name)
{
    struct ptx_var *found = NULL;
    for (size_t i = 0; i < m->vars.n; i++) {
        struct ptx_var *v = m->vars.v[i];
        if (!strcmp(v->name, name) && (!found || v->linkage != PTX_LINK_EXTERN))
            found = v;
    }
    return found;
}

enum ptx_space
ptx_inst_space(const struct ptx_inst *in)
{
    static const uint8_t space_of[PTX_NMODS] = {
        [PTX_SPACE_SS_GLOBAL] = PTX_SPACE_GLOBAL,
        [PTX_SPACE_SS_SHARED] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_SHARED_CTA] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_SHARED_CLUSTER] = PTX_SPACE_SHARED,
        [PTX_SPACE_SS_LOCAL] = PTX_SPACE_LOCAL,
        [PTX_SPACE_SS_CONST] = PTX_SPACE_CONST,
        [PTX_SPACE_SS_PARAM] = PTX_SPACE_PARAM,
        [PTX_SPACE_SS_PARAM_ENTRY] = PTX_SPACE_PARAM,
        [PTX_SPACE_SS_PARAM_FUNC] = PTX_SPACE_PARAM,
    };
    return space_of[in->mod[PTX_MG_SPACE]];
}

const struct ptx_func *
ptx_func_definition(const struct ptx_func *f)
{
    if (!f || f->has_body || f->is_proto)
        return f;
    const struct ptx_func *def = ptx_definition(f->module, f);
    return def ? def : f;
}

const struct ptx_func *
ptx_definition(const struct ptx_module *m, const struct ptx_func *f)
{
    if (f->has_body)
        return f;
    for (size_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->has_body && !strcmp(m->funcs.v[i]->name, f->name))
            return m->funcs.v[i];
    for (size_t i = 0; i < m->directives.n; i++) {
        char name[256], target[256];
        if (sscanf(m->directives.v[i], ".alias %255[^, \t\n] , %255[^; \t\n]", name,
                   target) != 2 ||
            strcmp(name, f->name))
            continue;
        const struct ptx_func *t = ptx_find_func(m, target);
        return t && t->has_body ? t : NULL;
    }
    return NULL;
}

const struct ptx_module *
ptx_module_of(const struct ptx_module *m, const struct ptx_var *v)
{
    for (size_t i = 0; i < m->parts.n; i++)
        for (size_t k = 0; k < m->parts.v[i]->vars.n; k++)
            if (m->parts.v[i]->vars.v[k] == v)
                return m->parts.v[i];
    return m;
}

struct ptx_inst
ptx_inst_new(struct ptx_module *m, enum ptx_op op, unsigned nops)
{
    struct ptx_inst in = {
        .op = (uint16_t)op, .nops = (uint8_t)nops, .guard = -1, .mod = ptx_no_mods};
    in.ops = nops ? ARENA_ARRAY(&m->mem, struct ptx_operand, nops) : NULL;
    for (unsigned i = 0; i < nops; i++)
        in.ops[i].reg = in.ops[i].label = -1;
    return in;
}

bool
ptx_operand_same(const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (a->kind != b->kind || a->neg != b->neg || a->comp != b->comp ||
        a->joined != b->joined || a->reg != b->reg || a->label != b->label ||
        a->sreg != b->sreg || a->n != b->n || a->imm != b->imm || a->off != b->off ||
        a->var != b->var || a->func != b->func)
        return false;
    for (unsigned k = 0; a->kind == PTX_OPD_VEC && k < a->n; k++)
        if (!ptx_operand_same(&a->vec[k], &b->vec[k]))
            return false;
    return true;
}

int
ptx_inst_barrier(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        return 0;
    case PTX_OP_BARRED:
    case PTX_OP_BARREDP:
    case PTX_OP_BARRIERRED:
    case PTX_OP_BARRIERREDP:
        return 1;
    default:
        return -1;
    }
}

const uint16_t ptx_no_mods[PTX_NMODGROUPS];

bool
ptx_inst_has(const struct ptx_inst *in, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = in->text; s && *s; s += strcspn(s, "."))
        if (!strncmp(++s, word, n) && (!s[n] || s[n] == '.'))
            return true;
    return false;
}

void
ptx_set_mod(struct ptx_module *m, struct ptx_inst *in, unsigned group, unsigned mod)
{
    uint16_t *own = arena_dup(&m->mem, in->mod, PTX_NMODGROUPS * sizeof *own);
    own[group] = (uint16_t)mod;
    in->mod = own;
}

int32_t
ptx_reg_new(struct ptx_func *f, enum ptx_type type)
{
    int32_t index = (int32_t)f->regs.n;
    const char *name = arena_printf(&f->module->mem, "%%_x%u", f->fresh++);
    *vec_push(&f->regs) = (struct ptx_reg){name, (uint8_t)type, 0, 0};
    *vec_push(&f->regdecls) = (struct ptx_regdecl){name, (uint8_t)type, 0, index, 0};
    return index;
}

int32_t
ptx_label_new(struct ptx_func *f)
{
    int32_t index = (int32_t)f->labels.n;
    vec_push(&f->labels)->name = arena_printf(&f->module->mem, "$_x%u", f->fresh++);
    return index;
}

struct ptx_operand *
ptx_operands_dup(struct ptx_module *m, const struct ptx_operand *ops, size_t n)
{
    if (!n)
        return NULL;
    struct ptx_operand *copy = arena_dup(&m->mem, ops, n * sizeof *ops);
    for (size_t i = 0; i < n; i++)
        if (copy[i].kind == PTX_OPD_VEC)
            copy[i].vec = ptx_operands_dup(m, ops[i].vec, ops[i].n);
    return copy;
}

static void
free_var(struct ptx_var *v)
{
    vec_free(&v->relocs);
}

void
ptx_body_free(struct ptx_func *f)
{
    for (size_t i = 0; i < f->vars.n; i++)
        free_var(f->vars.v[i]);
    vec_free(&f->vars);
    vec_free(&f->regdecls);
    vec_free(&f->labels);
    vec_free(&f->body);
}

void
ptx_func_free(struct ptx_func *f)
{
    for (size_t i = 0; i < f->params.n; i++)
        free_var(f->params.v[i]);
    for (size_t i = 0; i < f->rets.n; i++)
        free_var(f->rets.v[i]);
    ptx_body_free(f);
    vec_free(&f->params);
    vec_free(&f->rets);
    vec_free(&f->regs);
    vec_free(&f->pragmas);
    vec_free(&f->attrs);
    vec_free(&f->targets);
}

void
ptx_module_free(struct ptx_module *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->vars.n && !m->parts.n; i++)
        free_var(m->vars.v[i]);
    for (size_t i = 0; i < m->funcs.n && !m->parts.n; i++)
        ptx_func_free(m->funcs.v[i]);
    for (size_t i = 0; i < m->parts.n; i++)
        ptx_module_free(m->parts.v[i]);
    vec_free(&m->parts);
    for (size_t i = 0; i < m->protos.n; i++)
        ptx_func_free(m->protos.v[i]);
    vec_free(&m->vars);
    vec_free(&m->funcs);
    vec_free(&m->protos);
    vec_free(&m->directives);
    strtab_free(&m->names);
    arena_free(&m->mem);
    free(m->text);
    free(m);
}

/* Walks the operand pattern of the opcode's row beside the operands. */
uint64_t
ptx_inst_dests(const struct ptx_inst *in)
{
    /* Of each opcode, once its pattern has been read: the set, and the highest bit. */
    static _Atomic uint64_t sets[PTX_NOPS];
    const uint64_t found = (uint64_t)1 << 63;
    if (in->op == PTX_OP_CALL) /* return list, target, argument list */
        return in->ops[0].kind == PTX_OPD_VEC;
    uint64_t set = atomic_load_explicit(&sets[in->op], memory_order_relaxed), bit = 1;
    if (set)
        return set & ~found;
    bool begins = true;
    for (const char *p = ptx_ops[in->op].operands; *p; p++)
        if (*p == ',' || *p == '|') {
            bit <<= 1;
            begins = true;
        } else if (begins) {
            begins = false;
            if (*p == 'd' || *p == 'D' || *p == 'P' || *p == 'U' || *p == 'V' ||
                *p == 'L')
                set |= bit;
        }
    atomic_store_explicit(&sets[in->op], set | found, memory_order_relaxed);
    return set;
}

bool
ptx_reg_overlaps(const struct ptx_reg *a, const struct ptx_reg *b)
{
    if (!a->place || !b->place || (a->type == PTX_PRED) != (b->type == PTX_PRED))
        return a == b;
    unsigned na = (ptx_type_bytes(a->type) + 3) / 4,
             nb = (ptx_type_bytes(b->type) + 3) / 4;
    return a->place < b->place + (nb ? nb : 1) && b->place < a->place + (na ? na : 1);
}

/* -- power states -- */

const char *const ptx_power_names[4] = {"", "ON", "SLEEP", "OFF"};

struct power_regs {
    int32_t *reg;
    unsigned n, most;
};

static void
add_power_regs(const struct ptx_operand *o, struct power_regs *x)
{
    if (o->kind == PTX_OPD_REG && x->n < x->most)
        x->reg[x->n++] = o->reg;
    for (unsigned i = 0; o->kind == PTX_OPD_VEC && i < o->n; i++)
        add_power_regs(&o->vec[i], x);
}

unsigned
ptx_power_regs(const struct ptx_inst *in, int32_t reg[PTX_POWER_REGS])
{
    struct power_regs x = {.reg = reg};
    if (ptx_ops[in->op].flags & (PTX_JUMP | PTX_ENDS | PTX_PSEUDO) ||
        in->op == PTX_OP_CALL || ptx_ops[in->op].operands[0] == '*')
        return 0;
    uint64_t dests = ptx_inst_dests(in);
    for (unsigned side = 0; side < 2; side++) {
        x.most = side ? x.n + 2 : 1;
        for (unsigned i = 0; i < in->nops && i < 64; i++)
            if ((dests >> i & 1) == !side)
                add_power_regs(&in->ops[i], &x);
    }
    return x.n;
}
