/* defuse.c: walks the operand pattern of the opcode's row beside the operands. */
#include "analysis/defuse.h"

bool
defuse_is_dest(const struct ptx_inst *in, unsigned operand)
{
    return operand < 64 && ptx_inst_dests(in) >> operand & 1;
}

static void each_of_list(const struct ptx_operand *o, bool write, bool partial,
                         void (*fn)(void *, int32_t, bool, bool), void *user);

static inline void
each_reg(const struct ptx_operand *o, bool write, bool partial,
         void (*fn)(void *, int32_t, bool, bool), void *user)
{
    if (o->kind == PTX_OPD_REG)
        fn(user, o->reg, write, partial);
    else if (o->kind ==
             PTX_OPD_ADDR) { /* the base is read whatever happens to the memory */
        if (o->reg >= 0)
            fn(user, o->reg, false, false);
    } else if (o->kind == PTX_OPD_VEC)
        each_of_list(o, write, partial, fn, user);
}

static void
each_of_list(const struct ptx_operand *o, bool write, bool partial,
             void (*fn)(void *, int32_t, bool, bool), void *user)
{
    for (unsigned i = 0; i < o->n; i++)
        each_reg(&o->vec[i], write, partial, fn, user);
}

void
defuse_each(const struct ptx_inst *in, void (*fn)(void *, int32_t, bool, bool),
            void *user)
{
    const uint64_t dest = ptx_inst_dests(in);
    const unsigned n = in->nops;
    if (in->guard >= 0)
        fn(user, in->guard, false, false);
    for (unsigned i = 0; i < n; i++)
        if (i >= 64 || !(dest >> i & 1))
            each_reg(&in->ops[i], false, false, fn, user);
    if (dest)
        for (unsigned i = 0; i < n && i < 64; i++)
            if (dest >> i & 1)
                each_reg(&in->ops[i], true, ptx_keeps_old(in), fn, user);
}
