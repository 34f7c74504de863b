/* narrow_addresses.c: addresses of scratchpad, local and constant memory are computed in 32
 * bits.
 *
 * Compilers compute them in 64 bits, for their pointers have 64; an addition is then two
 * machine operations and each value two registers. An access to .shared, .local or .const
 * sees the low 32 bits of its address alone: ptxas narrows such computations, and an address
 * of 32 bits wraps at 2^32 as the card's does (exec/ops/exec_mem.c).
 *
 * A register is narrow if no instruction needs its high half and every instruction that
 * writes it computes the low half from low halves. Which are is found by assuming all of
 * them and striking out until nothing changes, against the order of the code, since demand
 * flows that way. Operands that stay wide are narrowed before the instruction by
 * cvt.u32.u64, the low half of a register pair. Narrow registers are replaced by fresh
 * ones. O(instructions x rounds); chains of copies against the order of the code need more
 * than three rounds. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "base/bitset.h"

struct narrow {
    struct ptx_func *f;
    uint64_t *is;   /* registers that are narrow, so far */
    bool struck;    /* one was struck out in this round */
    int32_t *fresh; /* the 32-bit register in place of a narrow one, -1: none yet */
    VEC(struct ptx_inst) body;
    size_t narrowed, cut;
};

static bool
is_wide_integer(const struct ptx_func *f, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPD_REG || o->comp || o->neg)
        return false;
    unsigned type = f->regs.v[o->reg].type;
    return !f->regs.v[o->reg].vec && ptx_types[type].bytes == 8 &&
           ptx_types[type].kind != PTX_K_FLT && ptx_types[type].kind != PTX_K_OPAQUE;
}

static bool
is_narrow(const struct narrow *n, const struct ptx_operand *o)
{
    return is_wide_integer(n->f, o) && bitset_has(n->is, (size_t)o->reg);
}

/* Operands whose low halves give the low half of operand 0: bit i; 0: it is not so. */
static unsigned
low_operands(const struct ptx_inst *in)
{
    bool wide = ptx_types[in->type[0]].bytes == 8 &&
                ptx_types[in->type[0]].kind != PTX_K_FLT && !in->mod[PTX_MG_SAT];
    bool product = in->mod[PTX_MG_PART] == PTX_PART_LO;
    switch ((enum ptx_op)in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SELP:
        return wide ? 6 : 0;
    case PTX_OP_NEG:
    case PTX_OP_NOT:
    case PTX_OP_MOV:
    case PTX_OP_SHL:
        return wide ? 2 : 0;
    case PTX_OP_MUL:
        return wide && product ? 6 : 0;
    case PTX_OP_MAD:
        return wide && product ? 14 : 0;
    default:
        return 0;
    }
}

/* Widening ones: operand 0 has 64 bits, of the others at most the addend. */
static bool
widens(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_MULW || in->op == PTX_OP_MADW)
               ? ptx_types[in->type[0]].bytes == 4
               : in->op == PTX_OP_CVTII && !in->mod[PTX_MG_SAT] &&
                     ptx_types[in->type[0]].bytes == 8 &&
                     ptx_types[in->type[1]].bytes == 4;
}

/* The low half of a 64-bit register moved to a 32-bit one. */
static bool
takes_low(const struct ptx_inst *in)
{
    return in->op == PTX_OP_CVTII && !in->mod[PTX_MG_SAT] &&
           ptx_types[in->type[0]].bytes == 4 && ptx_types[in->type[1]].bytes == 8;
}

/* Spaces whose addresses have 32 bits. */
static bool
is_small(enum ptx_space s)
{
    return s == PTX_SPACE_SHARED || s == PTX_SPACE_LOCAL || s == PTX_SPACE_CONST;
}

/* Operand i of an instruction that gives a low half: a register of 64 bits (narrow or cut),
 * a literal, or the address of a variable in such a space. */
static bool
has_low(const struct ptx_func *f, const struct ptx_operand *o)
{
    return is_wide_integer(f, o) || o->kind == PTX_OPD_IMM ||
           (o->kind == PTX_OPD_SYM && o->var && is_small(o->var->space));
}

/* Whether `in` can give operand 0 in 32 bits. */
static bool
can_narrow(const struct ptx_func *f, const struct ptx_inst *in)
{
    if (widens(in))
        return in->op != PTX_OP_MADW || has_low(f, &in->ops[3]);
    unsigned low = low_operands(in);
    for (unsigned i = 1; i < in->nops; i++)
        if (low >> i & 1 && !has_low(f, &in->ops[i]))
            return false;
    return low != 0;
}

static bool
reads_small_address(const struct ptx_inst *in, unsigned i)
{
    return in->ops[i].kind == PTX_OPD_ADDR && is_small(ptx_inst_space(in)) &&
           (in->op == PTX_OP_LD || in->op == PTX_OP_ST || in->op == PTX_OP_ATOM ||
            in->op == PTX_OP_RED);
}

static void
strike(struct narrow *n, int32_t reg)
{
    if (reg < 0 || !bitset_has(n->is, (size_t)reg))
        return;
    bitset_del(n->is, (size_t)reg);
    n->struck = true;
}

/* Everything named by the operand is needed, or written, in full. */
static void
strike_all(struct narrow *n, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR)
        strike(n, o->reg);
    else if (o->kind == PTX_OPD_VEC)
        for (unsigned i = 0; i < o->n; i++)
            strike_all(n, &o->vec[i]);
}

static void
judge(struct narrow *n, const struct ptx_inst *in)
{
    bool result = in->nops && is_narrow(n, &in->ops[0]) && can_narrow(n->f, in);
    unsigned low = result ? low_operands(in) | 1 : takes_low(in) ? 2 : 0;
    if (result && in->op == PTX_OP_MADW)
        low |= 8;
    for (unsigned i = 0; i < in->nops; i++)
        if (!(low >> i & 1) && !reads_small_address(in, i))
            strike_all(n, &in->ops[i]);
}

static int32_t
fresh(struct narrow *n, int32_t reg)
{
    if (n->fresh[reg] < 0) {
        n->fresh[reg] = ptx_reg_new(n->f, PTX_B32);
        n->narrowed++;
    }
    return n->fresh[reg];
}

/* Appends cvt.u32.u64 of a register that stays wide; o becomes the low half. */
static void
cut(struct narrow *n, const struct ptx_inst *in, struct ptx_operand *o)
{
    struct ptx_inst cvt = ptx_inst_new(n->f->module, PTX_OP_CVTII, 2);
    cvt.ntypes = 2;
    cvt.type[0] = PTX_U32;
    cvt.type[1] = PTX_U64;
    cvt.line = in->line;
    cvt.col = in->col;
    cvt.ops[1] = *o;
    o->reg = ptx_reg_new(n->f, PTX_B32);
    cvt.ops[0] = *o;
    *vec_push(&n->body) = cvt;
    n->cut++;
}

/* Makes operand o of 64 bits one of 32. */
static void
narrow_operand(struct narrow *n, const struct ptx_inst *in, struct ptx_operand *o)
{
    if (o->kind == PTX_OPD_IMM)
        o->imm = (uint64_t)(int64_t)(int32_t)o->imm;
    else if (is_narrow(n, o))
        o->reg = fresh(n, o->reg);
    else if (o->kind == PTX_OPD_REG)
        cut(n, in, o);
}

static unsigned
half_type(unsigned type)
{
    return type == PTX_S64 ? PTX_S32 : type == PTX_U64 ? PTX_U32 : PTX_B32;
}

/* Rewrites `in` and appends it, after what narrows its operands. */
static void
rewrite(struct narrow *n, struct ptx_inst in)
{
    for (unsigned i = 0; i < in.nops; i++) {
        struct ptx_operand *o = &in.ops[i];
        if (o->kind == PTX_OPD_ADDR && o->reg >= 0 && bitset_has(n->is, (size_t)o->reg))
            o->reg = fresh(n, o->reg);
    }
    if (in.nops && is_narrow(n, &in.ops[0])) {
        unsigned low = low_operands(&in) | 1 | (in.op == PTX_OP_MADW ? 8 : 0);
        for (unsigned i = 0; i < in.nops; i++)
            if (low >> i & 1)
                narrow_operand(n, &in, &in.ops[i]);
        if (in.op ==
            PTX_OP_CVTII) { /* of 32 bits; it may be the low half of a register */
            if (is_wide_integer(n->f, &in.ops[1]))
                narrow_operand(n, &in, &in.ops[1]);
            in.op = PTX_OP_MOV;
            in.ntypes = 1;
            in.type[0] = PTX_B32;
            in.type[1] = PTX_NOTYPE;
        } else if (in.op == PTX_OP_MULW || in.op == PTX_OP_MADW) {
            in.op = in.op == PTX_OP_MULW ? PTX_OP_MUL : PTX_OP_MAD;
            ptx_set_mod(n->f->module, &in, PTX_MG_WIDE, PTX_NOMOD);
            ptx_set_mod(n->f->module, &in, PTX_MG_PART, PTX_PART_LO);
        } else {
            in.type[0] = (uint8_t)half_type(in.type[0]);
        }
    } else if (takes_low(&in) && is_narrow(n, &in.ops[1])) {
        in.ops[1].reg = fresh(n, in.ops[1].reg);
        in.op = PTX_OP_MOV;
        in.ntypes = 1;
        in.type[0] = PTX_B32;
        in.type[1] = PTX_NOTYPE;
    }
    *vec_push(&n->body) = in;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)x;
    (void)diag;
    struct arena mem = {0};
    struct narrow n = {.f = f};
    size_t nregs = f->regs.n;
    n.is = bitset_new(&mem, nregs + 1);
    n.fresh = ARENA_ARRAY(&mem, int32_t, nregs + 1);
    for (size_t r = 0; r < nregs; r++) {
        n.fresh[r] = -1;
        if (is_wide_integer(
                f, &(struct ptx_operand){.kind = PTX_OPD_REG, .reg = (int32_t)r}))
            bitset_add(n.is, r);
    }
    do {
        n.struck = false;
        for (size_t i = f->body.n; i--;)
            judge(&n, &f->body.v[i]);
    } while (n.struck);
    vec_reserve(&n.body, f->body.n);
    for (size_t i = 0; i < f->body.n; i++)
        rewrite(&n, f->body.v[i]);
    vec_take(&f->body, &n.body);
    *changed = n.narrowed > 0;
    if (a->report && n.narrowed)
        strbuf_printf(a->report,
                      "%s: %zu registers of addresses have 32 bits, %zu conversions\n",
                      f->name, n.narrowed, n.cut);
    arena_free(&mem);
    return true;
}

const struct pass pass_narrow_addresses = {
    .name = "narrow-addresses",
    .meaning = "addresses but global and generic ones have 32 bits, as ptxas has it",
    .run_func = run,
};
