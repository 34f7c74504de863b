/* exec_stack.c: alloca, stacksave, stackrestore (PTX ISA 9.7.15).
 *
 * Each lane has its own end of the stack, an offset in local memory, in a program that
 * uses them, for each call under way; a call's frame starts above the highest of its
 * caller's. */
#include "exec/exec_int.h"

#include <string.h>

/* d[0]: destination, s[0]: size, esize: bytes of both; aux: alignment */
static enum exec_result
h_alloca(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    void *d = row(w, in->d[0]);
    const void *a = row(w, in->s[0]);
    uint32_t most = 0, *top = warp_tops(w);
    FOR_BITS(i, mask)
    {
        uint64_t n = in->esize == 8 ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        uint64_t at = align_to(top[i], in->aux);
        if (n > MAX_LOCAL || at + n > MAX_LOCAL)
            return exec_fault(
                w, in, (unsigned)i, NULL,
                "stack overflow: alloca of %llu bytes, the thread's local memory "
                "holds at most %d",
                (unsigned long long)n, MAX_LOCAL);
        top[i] = (uint32_t)(at + n);
        most = top[i] > most ? top[i] : most;
        if (in->esize == 8)
            ((uint64_t *)d)[i] = at;
        else
            ((uint32_t *)d)[i] = (uint32_t)at;
    }
    exec_warp_local_grow(w, align_to(most, 16));
    return EXEC_OK;
}

static enum exec_result
h_stacksave(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            struct exec_step *s)
{
    void *d = row(w, in->d[0]);
    const uint32_t *top = warp_tops(w);
    FOR_BITS(i, mask)
    {
        if (in->esize == 8)
            ((uint64_t *)d)[i] = top[i];
        else
            ((uint32_t *)d)[i] = top[i];
    }
    return EXEC_OK;
}

static enum exec_result
h_stackrestore(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
               struct exec_step *s)
{
    const void *a = row(w, in->s[0]);
    uint32_t *top = warp_tops(w);
    FOR_BITS(i, mask)
    {
        uint64_t to =
            in->esize == 8 ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        if (to > top[i])
            return exec_fault(w, in, (unsigned)i, "restore what stacksave gave",
                              "stackrestore to 0x%llx, above the stack's end at 0x%x",
                              (unsigned long long)to, top[i]);
        top[i] = (uint32_t)to;
    }
    return EXEC_OK;
}

static bool
operand(struct decoder *d, unsigned i, uint32_t *ref)
{
    *ref = decode_operand(d, &d->in->ops[i], d->in->type[0]);
    return *ref != REF_NONE;
}

static bool
dec_stack(struct decoder *d)
{
    struct exec_inst *x = d->out;
    uint64_t align = 8;
    x->esize = ptx_type_bytes(d->in->type[0]);
    d->pp->has_alloca = true;
    switch (d->in->op) {
    case PTX_OP_STACKSAVE:
        x->fn = h_stacksave;
        return operand(d, 0, &x->d[0]);
    case PTX_OP_STACKRESTORE:
        x->fn = h_stackrestore;
        return operand(d, 0, &x->s[0]);
    default:
        if (d->in->ops[2].kind != PTX_OPD_NONE &&
            (!decode_const_value(d, &d->in->ops[2], PTX_U32, &align) || !align ||
             align & (align - 1) || align > 4096))
            return decode_refuse(d, "alloca aligns to a power of two up to 4096");
        x->aux = (uint32_t)align;
        x->fn = h_alloca;
        return operand(d, 0, &x->d[0]) && operand(d, 1, &x->s[0]);
    }
}

const struct decode_row decode_stack[] = {{"alloca", dec_stack},
                                          {"stacksave", dec_stack},
                                          {"stackrestore", dec_stack},
                                          {NULL, NULL}};
