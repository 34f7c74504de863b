/* defuse.c: walks the operand pattern of the opcode's row beside the operands. */
#include "analysis/defuse.h"

#include <string.h>

bool
defuse_is_dest(const struct ptx_inst *in, unsigned operand)
{
    const char *p = ptx_ops[in->op].operands;
    if (in->op == PTX_OP_CALL) /* return list, target, argument list */
        return operand == 0 && in->ops[0].kind == PTX_OPD_VEC;
    for (unsigned i = 0; *p; i++) {
        if (i == operand)
            return *p && strchr("dDPUVL", *p);
        while (*p && *p != ',' && *p != '|')
            p++;
        if (*p)
            p++;
    }
    return false;
}

static void
each_reg(const struct ptx_operand *o, bool write, bool partial,
         void (*fn)(void *, int32_t, bool, bool), void *user)
{
    switch (o->kind) {
    case PTX_OPD_REG:
        fn(user, o->reg, write, partial);
        break;
    case PTX_OPD_ADDR: /* the base is read whatever happens to the memory */
        if (o->reg >= 0)
            fn(user, o->reg, false, false);
        break;
    case PTX_OPD_VEC:
        for (unsigned i = 0; i < o->n; i++)
            each_reg(&o->vec[i], write, partial, fn, user);
        break;
    default:
        break;
    }
}

void
defuse_each(const struct ptx_inst *in, void (*fn)(void *, int32_t, bool, bool),
            void *user)
{
    if (in->guard >= 0)
        fn(user, in->guard, false, false);
    for (unsigned i = 0; i < in->nops; i++)
        if (!defuse_is_dest(in, i))
            each_reg(&in->ops[i], false, false, fn, user);
    for (unsigned i = 0; i < in->nops; i++)
        if (defuse_is_dest(in, i))
            each_reg(&in->ops[i], true, in->guard >= 0, fn, user);
}
