/* expansion.c: look-up in expansions.def. */
#include "ptx/expansion.h"

enum form { ANY, IEEE, FULL, FULL_FTZ, APPROX, APPROX_FTZ, LO, HI, SIGNED, UNSIGNED };

const struct ptx_expansion ptx_expansions[] = {
    {PTX_NOPS, 0, ANY, 1, 0, 0, PTX_LAT_OTHER, 0},
#define EXPANSION(op, bits, form, operations, more, class, chain, registers, what)       \
    {PTX_OP_##op, bits, form, operations, more, chain, PTX_LAT_##class, registers},
#include "ptx/expansions.def"
#undef EXPANSION
};
enum { ROWS = sizeof ptx_expansions / sizeof *ptx_expansions };
_Static_assert(ROWS <= 256, "exec_static.expansion holds a row in a byte");

static bool
has_form(const struct ptx_inst *in, unsigned form)
{
    unsigned prec = in->mod[PTX_MG_PREC];
    bool ftz = in->mod[PTX_MG_FTZ];
    switch ((enum form)form) {
    case ANY:
        return true;
    case IEEE:
        return !prec;
    case FULL:
        return prec == PTX_PREC_FULL && !ftz;
    case FULL_FTZ:
        return prec == PTX_PREC_FULL && ftz;
    case APPROX:
        return prec == PTX_PREC_APPROX && !ftz;
    case APPROX_FTZ:
        return prec == PTX_PREC_APPROX && ftz;
    case LO:
        return in->mod[PTX_MG_PART] == PTX_PART_LO;
    case HI:
        return in->mod[PTX_MG_PART] == PTX_PART_HI;
    case SIGNED:
        return ptx_types[in->type[0]].kind == PTX_K_SINT;
    case UNSIGNED:
        return ptx_types[in->type[0]].kind == PTX_K_UINT;
    }
    return false;
}

unsigned
ptx_expansion_of(const struct ptx_inst *in)
{
    for (unsigned i = 1; i < ROWS; i++) {
        const struct ptx_expansion *e = &ptx_expansions[i];
        if (e->op == in->op &&
            (!e->bits || e->bits == 8 * ptx_types[in->type[0]].bytes) &&
            has_form(in, e->form))
            return i;
    }
    return 0;
}

unsigned
ptx_machine_operations(const struct ptx_inst *in)
{
    if (ptx_is_pseudo(in))
        return 0;
    if (in->guard >= 0) /* it keeps what was there for some lanes: nobody's operand */
        return ptx_expansions[ptx_expansion_of(in)].operations;
    enum ptx_space space = ptx_inst_space(in);
    if (in->op == PTX_OP_LD && in->ops[1].reg < 0 &&
        (space == PTX_SPACE_PARAM || space == PTX_SPACE_CONST))
        return 0;
    if (in->op == PTX_OP_MOV && in->nops == 2 && in->ops[1].kind != PTX_OPD_REG &&
        in->ops[1].kind != PTX_OPD_VEC && in->ops[1].kind != PTX_OPD_SREG)
        return 0;
    if (in->op == PTX_OP_MOV && in->nops == 2 && in->ops[1].kind == PTX_OPD_SREG &&
        (in->ops[1].sreg == PTX_SREG_NTID || in->ops[1].sreg == PTX_SREG_NCTAID))
        return 0;
    if (in->op == PTX_OP_CVTII && ptx_types[in->type[0]].bytes <= 4 &&
        ptx_types[in->type[0]].bytes >= 2 &&
        ptx_types[in->type[1]].bytes >= ptx_types[in->type[0]].bytes &&
        !in->mod[PTX_MG_SAT])
        return 0;
    return ptx_expansions[ptx_expansion_of(in)].operations;
}

unsigned
ptx_machine_registers(const struct ptx_inst *in)
{
    return ptx_is_pseudo(in) ? 0 : ptx_expansions[ptx_expansion_of(in)].registers;
}

bool
ptx_machine_branches(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_DIV:
    case PTX_OP_REM:
        return ptx_type_bytes(in->type[0]) == 8;
    case PTX_OP_DIVF:
    case PTX_OP_RCPF:
    case PTX_OP_SQRTF:
    case PTX_OP_RCPD:
        return !in->mod[PTX_MG_PREC];
    case PTX_OP_DIVD:
    case PTX_OP_SQRTD:
    case PTX_OP_CALL:
        return true;
    default:
        return false;
    }
}
