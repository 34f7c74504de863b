/* exec_wide.c: values of 128 bits. A register is two rows of 64-bit lanes, the low half
 * first. Loads and stores are those of a vector of two (exec_mem.c); here are moves and
 * atom.exch, atom.cas. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

enum { HALF = 2 * ROW_BYTES }; /* from the low half's row to the high one's */

bool
decode_wide(struct decoder *d, const struct ptx_operand *o, uint32_t ref[2])
{
    if (o->kind != PTX_OPD_REG || decode_operand_type(d, o) != PTX_B128)
        return decode_refuse(d, "a 128-bit register is needed here");
    ref[0] = decode_register(d, o);
    ref[1] = ref[0] + HALF;
    return ref[0] != REF_NONE;
}

/* d[0..1] = s[0..1]: two 64-bit rows each */
static enum exec_result
h_mov128(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
         struct exec_step *s)
{
    uint64_t v[2][LANES];
    for (int k = 0; k < 2; k++)
        memcpy(v[k], row(w, in->s[k]), sizeof v[k]);
    for (int k = 0; k < 2; k++) {
        uint64_t *d = in->d[k] == REF_NONE ? NULL : row(w, in->d[k]);
        FOR_BITS(i, mask)
        if (d)
            d[i] = v[k][i];
    }
    return EXEC_OK;
}

static bool
side(struct decoder *d, const struct ptx_operand *o, uint32_t ref[2], bool dest)
{
    if (o->kind != PTX_OPD_VEC)
        return decode_wide(d, o, ref);
    for (unsigned k = 0; k < 2; k++) {
        ref[k] = REF_NONE;
        if (dest && o->vec[k].kind == PTX_OPD_SINK)
            continue;
        ref[k] = decode_operand(d, &o->vec[k], PTX_B64);
        if (ref[k] == REF_NONE)
            return false;
    }
    return true;
}

bool
decode_mov128(struct decoder *d)
{
    struct exec_inst *x = d->out;
    x->fn = h_mov128;
    return side(d, &d->in->ops[0], x->d, true) && side(d, &d->in->ops[1], x->s, false);
}

/* -- atomics -- */

struct wide_plan {
    struct exec_inst at; /* the address */
    uint32_t dest[2], b[2], c[2];
    bool cas;
};

static enum exec_result
h_atom128(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    const struct wide_plan *p = in->plan;
    struct exec_access *x = &s->access;
    mem_resolve(w, &p->at, mask, x);
    s->has_access = true;
    if (!mem_allowed(w, &p->at, mask, x))
        return mem_blame(w, &p->at, mask, x, 16);
    FOR_BITS(i, mask)
    {
        unsigned space = x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space;
        if (space == PTX_SPACE_LOCAL)
            return exec_fault(w, in, (unsigned)i, NULL,
                              "128-bit atomics work on global and shared memory only");
        uint8_t *m = mem_host(w, space, x->addr[i]);
        uint64_t old[2], b[2], c[2];
        memcpy(old, m, 16);
        for (int k = 0; k < 2; k++) {
            b[k] = ((const uint64_t *)row(w, p->b[k]))[i];
            c[k] = p->cas ? ((const uint64_t *)row(w, p->c[k]))[i] : b[k];
        }
        if (!p->cas || (old[0] == b[0] && old[1] == b[1]))
            memcpy(m, c, 16);
        for (int k = 0; k < 2; k++)
            if (p->dest[k] != REF_NONE)
                ((uint64_t *)row(w, p->dest[k]))[i] = old[k];
    }
    return EXEC_OK;
}

bool
decode_atom128(struct decoder *d, unsigned op)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    struct wide_plan *p = ARENA_NEW(&d->pp->mem, struct wide_plan);
    d->p->in_order = d->p->in_turn = true;
    if (op != AT_EXCH && op != AT_CAS)
        return decode_refuse(d, "128-bit atomics are exch and cas");
    p->cas = op == AT_CAS;
    p->dest[0] = p->dest[1] = REF_NONE;
    if ((in->ops[0].kind != PTX_OPD_SINK && !decode_wide(d, &in->ops[0], p->dest)) ||
        !decode_wide(d, &in->ops[2], p->b) ||
        (p->cas && !decode_wide(d, &in->ops[3], p->c)))
        return false;
    p->at.esize = 16;
    p->at.nvec = 1;
    p->at.kind = MEM_ATOMIC;
    p->at.slot = d->pp->nslots++;
    d->out = &p->at;
    bool ok = decode_address(d, &in->ops[1], ptx_inst_space(in));
    d->out = x;
    if (!ok)
        return false;
    if (p->at.space != PTX_SPACE_NONE && p->at.space != PTX_SPACE_GLOBAL &&
        p->at.space != PTX_SPACE_SHARED)
        return decode_refuse(d, "atomics work on global and shared memory only");
    x->esize = 16;
    x->nvec = 1;
    x->kind = MEM_ATOMIC;
    x->flags |= IF_ACCESS | IF_COPY; /* the plan begins with the address */
    x->plan = p;
    x->fn = h_atom128;
    d->st->is_atomic = true;
    d->st->space = p->at.space;
    return true;
}
