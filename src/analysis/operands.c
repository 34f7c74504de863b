/* operands.c: what may be an operand is read off the opcode and the operand's place. */
#include "analysis/operands.h"

#include "ptx/expansion.h"

bool
operands_constant(const struct ptx_func *f, const struct ptx_inst *in)
{
    if (ptx_is_pseudo(in) || in->nops != 2 || in->ops[0].kind != PTX_OPD_REG ||
        in->ops[0].comp || in->guard >= 0 || ptx_machine_operations(in))
        return false;
    const struct ptx_operand *s = &in->ops[1];
    if (in->op == PTX_OP_MOV)
        return s->kind != PTX_OPD_SYM || (s->var && s->var->space != PTX_SPACE_LOCAL);
    return in->op == PTX_OP_LD && s->kind == PTX_OPD_ADDR && s->reg < 0 && s->var &&
           (ptx_inst_space(in) == PTX_SPACE_CONST || (f->is_entry && s->var->is_param));
}

static bool
is_literal(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_F32 || o->kind == PTX_OPD_F64;
}

bool
operands_zero(const struct ptx_inst *constant)
{
    return constant->op == PTX_OP_MOV && is_literal(&constant->ops[1]) &&
           !constant->ops[1].imm;
}

bool *
operands_constants(const struct ptx_func *f, const struct defs *d, bool zero,
                   struct arena *mem)
{
    bool *is = ARENA_ARRAY(mem, bool, d->nregs + 1);
    for (size_t r = 0; r < d->nregs; r++) {
        const struct ptx_reg *reg = &f->regs.v[r];
        is[r] = d->at[r] >= 0 && reg->type != PTX_PRED && !reg->vec &&
                operands_constant(f, &f->body.v[d->at[r]]) &&
                (zero || !operands_zero(&f->body.v[d->at[r]]));
    }
    return is;
}

bool
operands_flagged(const void *flags, int32_t reg)
{
    return ((const bool *)flags)[reg];
}

/* One machine operation, or one for each half, with a place for one constant. */
static bool
takes_one(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MULW:
    case PTX_OP_MAD:
    case PTX_OP_MADW:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SELP:
    case PTX_OP_SETP:
    case PTX_OP_ADDF:
    case PTX_OP_SUBF:
    case PTX_OP_MULF:
    case PTX_OP_FMAF:
    case PTX_OP_MINF:
    case PTX_OP_MAXF:
    case PTX_OP_SETPF:
    case PTX_OP_ADDD:
    case PTX_OP_SUBD:
    case PTX_OP_MULD:
    case PTX_OP_FMAD:
    case PTX_OP_SETPD:
        return true;
    default:
        return false;
    }
}

uint64_t
operands_in_registers(const struct ptx_inst *in,
                      bool (*constant)(const void *user, int32_t reg), const void *user)
{
    const uint64_t dests = ptx_inst_dests(in);
    const bool memory = ptx_ops[in->op].unit == PTX_UNIT_MEM && !ptx_is_pseudo(in),
               one = takes_one(in),
               scratch = memory && ptx_inst_space(in) == PTX_SPACE_SHARED;
    /* What a copy or a prefetch has as a literal is a size. */
    const bool fixed =
        memory && in->op != PTX_OP_ST && !(ptx_ops[in->op].flags & PTX_ATOMIC);
    uint64_t found = 0;
    bool taken = false;
    if (!memory && !one)
        return 0;
    for (unsigned k = in->nops; k-- > 0;) {
        const struct ptx_operand *o = &in->ops[k];
        const bool literal = is_literal(o), base = o->kind == PTX_OPD_ADDR;
        if (k >= 64 || dests >> k & 1 || o->comp || (literal && (fixed || !o->imm)) ||
            (base && (scratch || o->reg < 0)) ||
            (!literal && !base && o->kind != PTX_OPD_REG) ||
            (!literal && !constant(user, o->reg)))
            continue;
        if (memory || taken)
            found |= UINT64_C(1) << k;
        taken = true;
    }
    return found;
}

bool *
operands_late(const struct ptx_func *f, const struct defs *d, struct arena *mem)
{
    bool *is = operands_constants(f, d, true, mem);
    const bool *constant = operands_constants(f, d, false, mem);
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        uint64_t bits =
            ptx_is_pseudo(in) ? 0 : operands_in_registers(in, operands_flagged, constant);
        for (unsigned k = 0; bits >> k && k < 64; k++)
            if (bits >> k & 1 && in->ops[k].reg >= 0 &&
                (in->ops[k].kind == PTX_OPD_REG || in->ops[k].kind == PTX_OPD_ADDR))
                is[in->ops[k].reg] = false;
    }
    return is;
}
