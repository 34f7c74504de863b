/* constant_fold.c: what can be computed now is computed now.
 *
 * A register whose only definition is a mov of a literal is known wherever that reaches.
 * A pure instruction with only known sources becomes a mov of its value, which the
 * executor's own lane function computes (exec/lanes/lane.h, made from the value column of
 * opcodes.def), so that the folder cannot differ from the executor. Known sources of
 * other pure instructions become literals where PTX allows one, in second place where
 * operands commute. x + 0, x - 0, x | 0, x ^ 0, x * 1 and shifts by 0 become moves. A
 * guard that is known goes: with its instruction, or from it. Of a product of literals and a
 * sum the sum stays. One forward walk; each
 * result is known to what follows. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "base/bitset.h"

struct fold {
    struct ptx_func *f;
    const struct defs *defs;
    uint64_t *known; /* set of registers */
    uint64_t *value; /* of known registers: their bits */
    uint32_t at;
    bool changed;
};

static bool
reg_value(const void *user, int32_t reg, uint64_t *bits)
{
    const struct fold *c = user;
    if (!bitset_has(c->known, (size_t)reg) || !defs_reach(c->defs, reg, c->at))
        return false;
    *bits = c->value[reg];
    return true;
}

/* The bits of source operand o as `type`; false: not known. */
static bool
source_value(const struct fold *c, const struct ptx_operand *o, enum ptx_type type,
             uint64_t *bits)
{
    return rewrite_source_bits(c->f, o, type, reg_value, c, bits);
}

static bool
known_source(void *user, const struct ptx_operand *o, enum ptx_type type, uint64_t *bits)
{
    return source_value(user, o, type, bits);
}

/* -- literals as operands -- */

static bool
put_literal(void *user, struct ptx_inst *in, struct ptx_operand *o, unsigned index,
            bool in_list)
{
    struct fold *c = user;
    enum ptx_type type = rewrite_operand_type(in, index);
    uint64_t bits;
    if (in_list || o->neg || !rewrite_takes_literal(in, index) ||
        !source_value(c, o, type, &bits))
        return false;
    /* Of a position or length the low eight bits count; a literal may have no others. */
    if ((in->op == PTX_OP_BFE && index >= 2) || (in->op == PTX_OP_BFI && index >= 3))
        bits &= 255;
    *o = rewrite_literal_of(type, bits);
    return c->changed = true;
}

static bool
is_literal(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_F32 || o->kind == PTX_OPD_F64;
}

/* -- identities of integers -- */

static bool
identity(const struct ptx_inst *in)
{
    uint64_t v;
    if (in->nops != 3 || in->ops[1].kind != PTX_OPD_REG || in->ops[1].neg ||
        !rewrite_literal_bits(&in->ops[2], rewrite_operand_type(in, 2), &v))
        return false;
    switch (in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return v == 0;
    case PTX_OP_MUL:
        return v == 1 && in->mod[PTX_MG_PART] == PTX_PART_LO;
    default:
        return false;
    }
}

/* Do its first operand, a literal, and its second commute? Of two NaN the place decides
 * (docs/ptx.md). */
static bool
commutes(const struct ptx_inst *in)
{
    uint64_t v;
    if (!(ptx_ops[in->op].flags & PTX_COMM))
        return false;
    return in->type[0] != PTX_F64 || !rewrite_literal_bits(&in->ops[1], PTX_F64, &v) ||
           v << 1 <= 0x7ff0000000000000u << 1;
}

static bool
same_width(const struct ptx_func *f, int32_t a, int32_t b)
{
    return ptx_type_bytes(f->regs.v[a].type) == ptx_type_bytes(f->regs.v[b].type);
}

/* A product of literals in a sum: only the sum stays. */
static bool
fold_product(struct fold *c, struct ptx_inst *in)
{
    const bool wide = in->op == PTX_OP_MADW;
    uint64_t a, b;
    if ((!wide && (in->op != PTX_OP_MAD || in->mod[PTX_MG_PART] != PTX_PART_LO)) ||
        in->guard >= 0 || in->mod[PTX_MG_SAT] || in->mod[PTX_MG_CC] ||
        in->ops[3].kind != PTX_OPD_REG ||
        !rewrite_literal_bits(&in->ops[1], rewrite_operand_type(in, 1), &a) ||
        !rewrite_literal_bits(&in->ops[2], rewrite_operand_type(in, 2), &b))
        return false;
    const enum ptx_type type = rewrite_operand_type(in, 0);
    const bool is_signed = ptx_types[in->type[0]].kind == PTX_K_SINT;
    const unsigned bits = 8 * ptx_type_bytes(in->type[0]);
    if (wide && is_signed && bits < 64) {
        a = (uint64_t)((int64_t)(a << (64 - bits)) >> (64 - bits));
        b = (uint64_t)((int64_t)(b << (64 - bits)) >> (64 - bits));
    }
    struct ptx_inst add = ptx_inst_new(c->f->module, PTX_OP_ADD, 3);
    add.ntypes = 1;
    add.type[0] = (uint8_t)type;
    add.line = in->line;
    add.col = in->col;
    add.ops[0] = in->ops[0];
    add.ops[1] = in->ops[3];
    add.ops[2] = rewrite_literal_of(type, a * b);
    *in = add;
    return c->changed = true;
}

/* -- one instruction; true: it can never execute -- */
static bool
fold_inst(struct fold *c, struct ptx_inst *in)
{
    uint64_t v;
    struct rewrite_plan plan;
    if (in->guard >= 0 && reg_value(c, in->guard, &v)) {
        bool runs = (v != 0) != in->guard_neg;
        /* A branch that is never taken goes: what dominated before does so still. Others
         * keep theirs, so that no code stands where nothing leads. */
        if (!runs && in->op == PTX_OP_BRA)
            return c->changed = true;
        if (!(ptx_ops[in->op].flags & (PTX_JUMP | PTX_ENDS))) {
            c->changed = true;
            if (!runs)
                return true;
            in->guard = -1;
            in->guard_neg = false;
        }
    }
    if (!rewrite_is_pure(in) || in->op == PTX_OP_CVTA || in->op == PTX_OP_ISSPACEP)
        return false;
    int32_t d = in->ops[0].reg;
    bool literal_mov =
        (in->op == PTX_OP_MOV || in->op == PTX_OP_MOVP) && is_literal(&in->ops[1]);
    if (rewrite_plan(c->f, in, &plan) &&
        rewrite_evaluate(&plan, in, known_source, c, &v)) {
        if (!literal_mov) {
            struct ptx_operand lit = rewrite_literal(v);
            rewrite_as_mov(c->f, in, &lit);
            c->changed = true;
        }
        if (c->defs->at[d] == (int32_t)c->at) {
            bitset_add(c->known, (size_t)d);
            c->value[d] = v;
        }
        return false;
    }
    rewrite_sources(in, put_literal, c);
    if (in->nops >= 3 && is_literal(&in->ops[1]) && in->ops[2].kind == PTX_OPD_REG &&
        commutes(in)) {
        struct ptx_operand t = in->ops[1];
        in->ops[1] = in->ops[2];
        in->ops[2] = t;
        c->changed = true;
    }
    fold_product(c, in);
    if (identity(in) && same_width(c->f, d, in->ops[1].reg)) {
        struct ptx_operand src = in->ops[1];
        rewrite_as_mov(c->f, in, &src);
        c->changed = true;
    }
    return false;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    struct arena mem = {0};
    struct fold c = {.f = f, .defs = x->defs};
    c.known = bitset_new(&mem, f->regs.n + 1);
    c.value = ARENA_ARRAY(&mem, uint64_t, f->regs.n + 1);
    uint64_t *never = bitset_new(&mem, f->body.n + 1);
    bool deleted = false;
    for (size_t i = 0; i < f->body.n; i++) {
        c.at = (uint32_t)i;
        if (fold_inst(&c, &f->body.v[i])) {
            bitset_add(never, i);
            deleted = true;
        }
    }
    if (deleted)
        rewrite_delete(f, never);
    *changed = c.changed;
    arena_free(&mem);
    return true;
}

const struct pass pass_constant_fold = {
    .name = "constant-fold",
    .meaning = "computes what is known, with the executor's own arithmetic",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
