/* exec_async.c: asynchronous copies by threads, cp.async (PTX ISA 9.7.9.25.1 to 9.7.9.25.3).
 *
 * A copy is done at once; when its data arrive, and what waits for them, is the timing
 * model's affair (exec_static.copy). An arrival of cp.async.mbarrier.arrive stands for
 * all earlier copies, so under the timing model it is only told (exec_step.arrive_*), and
 * made by exec_mbarrier_arrive when they are there. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

/* -- cp.async -- */

struct copy_plan {
    struct exec_inst to, from; /* address parts of records; `to` first: IF_COPY */
    uint32_t bytes;            /* row: bytes to read, REF_NONE: all */
    uint32_t ignore;           /* predicate: read none, REF_NONE: none */
    bool ignore_neg;
};

static enum exec_result
h_cp_async(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    const struct copy_plan *p = in->plan;
    struct exec_access *x = &s->access, to;
    struct exec_cta *c = w->cta;
    unsigned size = in->esize;
    mem_resolve(w, &p->to, mask, &to);
    if (!mem_allowed(w, &p->to, mask, &to))
        return mem_blame(w, &p->to, mask, &to, size);
    uint32_t read[LANES], reading = 0, whole = 0, zone = 0;
    uint32_t ignore = p->ignore == REF_NONE ? 0 : *(const uint32_t *)row(w, p->ignore);
    if (p->ignore_neg)
        ignore = ~ignore;
    FOR_BITS(i, mask)
    {
        read[i] = p->bytes == REF_NONE ? size : ((const uint32_t *)row(w, p->bytes))[i];
        if (read[i] > size)
            return exec_fault(w, in, (unsigned)i, NULL,
                              "cp.async of %u bytes with a source of %u bytes", size,
                              read[i]);
        if (ignore >> i & 1)
            read[i] = 0;
        reading |= (uint32_t)(read[i] != 0) << i;
        whole |= (uint32_t)(read[i] == size) << i;
    }
    if (reading) {
        mem_resolve(w, &p->from, reading, x);
        if (whole && !mem_allowed(w, &p->from, whole, x) &&
            !guard_lanes(w, &p->from, whole, x, size, &zone))
            return mem_blame(w, &p->from, whole, x, size);
    }
    if (c->log && c->log->foot &&
        !exec_foot_lanes(c->log->foot, reading, x->addr, size, FOOT_READ))
        return EXEC_FAULT;
    FOR_BITS(lane, mask)
    {
        unsigned i = (unsigned)lane;
        if (read[i] && read[i] < size) {
            struct dev_range r;
            if (x->addr[i] % size || !dev_find(c->grid->mem, x->addr[i], &r) || r.dead ||
                x->addr[i] - r.addr + read[i] > r.size)
                return exec_fault_memory(w, &p->from, i, PTX_SPACE_GLOBAL, x->addr[i]);
        }
        uint8_t *d = c->shared + to.addr[i];
        if (zone >> i & 1)
            guard_copy(c->grid->mem, x->addr[i], d, size);
        else if (read[i])
            memcpy(d, dev_host(c->grid->mem, x->addr[i]), read[i]);
        memset(d + read[i], 0, size - read[i]);
        c->ex->list[i] = to.addr[i];
    }
    x->space = PTX_SPACE_GLOBAL;
    x->bytes = (uint8_t)size;
    x->load = true;
    x->store = x->atomic = false;
    x->async = true;
    x->cache = in->cache;
    x->mask = reading;
    x->list = c->ex->list;
    x->list[LANES] = mask;
    s->has_access = true;
    return EXEC_OK;
}

static enum exec_result
h_nothing(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
          struct exec_step *s)
{
    return EXEC_OK;
}

/* -- decoding -- */

/* One address operand into record x. */
static bool
copy_address(struct decoder *d, struct exec_inst *x, const struct ptx_operand *o,
             unsigned space, unsigned size, unsigned kind)
{
    struct exec_inst *out = d->out;
    d->out = x;
    x->esize = (uint8_t)size;
    x->nvec = 1;
    x->kind = (uint8_t)kind;
    bool ok = decode_address(d, o, space);
    x->slot = d->pp->nslots++;
    d->out = out;
    return ok;
}

static bool
decode_copy(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    struct copy_plan *p = ARENA_NEW(&d->pp->mem, struct copy_plan);
    uint64_t size;
    if (!decode_const_value(d, &in->ops[2], PTX_U32, &size) ||
        (size != 4 && size != 8 && size != 16))
        return decode_refuse(d, "cp.async copies 4, 8 or 16 bytes");
    if (in->mod[PTX_MG_CACHE] == PTX_CACHE_CG && size != 16)
        return decode_refuse(d, "cp.async.cg copies 16 bytes");
    if (in->mod[PTX_MG_CACHE] != PTX_CACHE_CG && in->mod[PTX_MG_CACHE] != PTX_CACHE_CA)
        return decode_refuse(d, "cp.async needs .ca or .cg");
    p->bytes = p->ignore = REF_NONE;
    const struct ptx_operand *o = in->nops > 3 ? &in->ops[3] : NULL;
    bool wide = false, hint = in->mod[PTX_MG_L2HINT];
    bool extra = o && !(hint && in->nops == 4);
    const struct ptx_operand *policy = hint && o ? &in->ops[in->nops - 1] : NULL;
    if (hint && (!policy || (policy->kind == PTX_OPD_REG &&
                             ptx_type_bytes(decode_operand_type(d, policy)) != 8)))
        return decode_refuse(d, ".L2::cache_hint needs a cache policy of 64 bits");
    if (extra && o->kind == PTX_OPD_REG && decode_operand_type(d, o) == PTX_PRED) {
        struct ptx_operand c = *o;
        p->ignore_neg = c.neg;
        c.neg = false;
        p->ignore = decode_operand(d, &c, PTX_PRED);
        if (p->ignore == REF_NONE)
            return false;
    } else if (extra) {
        p->bytes = decode_row(d, o, PTX_U32, &wide);
        if (p->bytes == REF_NONE || wide)
            return wide && decode_refuse(d, "the source's size has 32 bits");
    }
    if (!copy_address(d, &p->to, &in->ops[0], PTX_SPACE_SHARED, (unsigned)size,
                      MEM_STORE) ||
        !copy_address(d, &p->from, &in->ops[1], PTX_SPACE_GLOBAL, (unsigned)size,
                      MEM_LOAD))
        return false;
    x->esize = (uint8_t)size;
    x->nvec = 1;
    x->kind = MEM_LOAD;
    x->flags |= IF_ACCESS | IF_COPY;
    x->plan = p;
    x->fn = h_cp_async;
    d->st->is_load = true;
    d->st->space = PTX_SPACE_GLOBAL;
    return true;
}

static bool
dec_cp(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    uint64_t n = 0;
    d->p->in_order = true;
    switch (in->op) {
    case PTX_OP_CPASYNC:
        return decode_copy(d);
    case PTX_OP_CPMBAR:
        d->st->copy = COPY_ARRIVE;
        return decode_mbarrier_copies(d);
    default:
        d->out->fn = h_nothing;
        d->st->copy = in->mod[PTX_MG_CPOP] == PTX_CPOP_COMMIT     ? COPY_COMMIT
                      : in->mod[PTX_MG_CPOP] == PTX_CPOP_WAIT_ALL ? COPY_WAIT_ALL
                                                                  : COPY_WAIT;
        if (d->st->copy == COPY_WAIT && !decode_const_value(d, &in->ops[0], PTX_U32, &n))
            return decode_refuse(d, "cp.async.wait_group needs a constant number");
        d->st->copy_n = n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
        return true;
    }
}

const struct decode_row decode_async[] = {{"cp", dec_cp}, {NULL, NULL}};
