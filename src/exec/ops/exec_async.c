/* exec_async.c: asynchronous copies and mbarriers (PTX ISA 9.7.9.25, 9.7.13.15), for the
 * block's own scratchpad.
 *
 * A copy is done at once; when its data arrive, and what waits for them, is the timing
 * model's affair (exec_static.copy). An arrival of cp.async.mbarrier.arrive stands for
 * all earlier copies, so under the timing model it is only told (exec_step.arrive_*), and
 * made by exec_mbarrier_arrive when they are there.
 *
 * An mbarrier is 64 bits of scratchpad whose layout the ISA leaves open. Ours: arrivals
 * still to come in this phase (20 bits), arrivals of a phase (20), bytes still to come
 * (23, signed), the phase's parity (1). */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

enum { COUNT_MAX = (1 << 20) - 1, TX_MAX = (1 << 20) - 1, TX_BITS = 23 };

/* -- mbarriers -- */

struct mbar {
    uint32_t pending, expected;
    int32_t tx;
    bool phase;
};

static struct mbar
unpack(uint64_t v)
{
    int64_t tx = (int64_t)(v << 1) >> (64 - TX_BITS);
    return (struct mbar){.pending = (uint32_t)v & COUNT_MAX,
                         .expected = (uint32_t)(v >> 20) & COUNT_MAX,
                         .tx = (int32_t)tx,
                         .phase = v >> 63};
}

static uint64_t
pack(struct mbar b)
{
    uint64_t tx = (uint64_t)(uint32_t)b.tx & ((1u << TX_BITS) - 1);
    return b.pending | (uint64_t)b.expected << 20 | tx << 40 | (uint64_t)b.phase << 63;
}

/* The phase ends when nothing is to come any more. */
static void
settle(struct mbar *b)
{
    if (b->pending || b->tx)
        return;
    b->phase = !b->phase;
    b->pending = b->expected;
}

bool
exec_mbarrier_arrive(struct exec_cta *c, uint64_t addr, uint32_t count)
{
    uint64_t v;
    memcpy(&v, c->shared + addr, 8);
    struct mbar b = unpack(v);
    if (count > b.pending)
        return false;
    b.pending -= count;
    settle(&b);
    v = pack(b);
    memcpy(c->shared + addr, &v, 8);
    return true;
}

enum mbar_op {
    MB_INIT,
    MB_INVAL,
    MB_ARRIVE,
    MB_DROP,
    MB_EXPECT_TX,
    MB_COMPLETE_TX,
    MB_TEST,
    MB_COPIES /* cp.async.mbarrier.arrive */
};

enum {
    MBF_NO_COMPLETE = 1, /* arrive: may not end the phase */
    MBF_EXPECT = 2,      /* arrive: the operand is bytes to expect, one arrival */
    MBF_PARITY = 4,      /* test: the operand is a parity */
    MBF_NOINC = 8,       /* copies: the arrival is counted in already */
};

/* data[0]: destination (state, predicate: REF_NONE: none), data[1]: count, bytes, state
 * or parity, REF_NONE: 1; sub: mbar_op; type: MBF_... */
static enum exec_result
h_mbarrier(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    struct exec_access *x = &s->access;
    struct exec_cta *c = w->cta;
    mem_resolve(w, in, mask, x);
    if (!mem_allowed(w, in, mask, x))
        return mem_blame(w, in, mask, x, 8);
    uint64_t states[LANES] = {0};
    uint32_t yes = 0;
    bool later = in->sub == MB_COPIES && c->clock;
    s->arrive_count = 0;
    FOR_BITS(lane, mask)
    {
        unsigned i = (unsigned)lane;
        if ((x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space) !=
            PTX_SPACE_SHARED)
            return exec_fault(w, in, i, NULL, "an mbarrier lies in the scratchpad");
        uint8_t *p = c->shared + x->addr[i];
        uint64_t v, arg = in->data[1] == REF_NONE ? 1 : mem_data_lane(w, in, 1, i);
        memcpy(&v, p, 8);
        struct mbar b = unpack(v);
        states[i] = v;
        switch (in->sub) {
        case MB_INIT:
            if (!arg || (uint32_t)arg > COUNT_MAX)
                return exec_fault(w, in, i, NULL,
                                  "mbarrier.init with a count of %u: it is from 1 to %d",
                                  (uint32_t)arg, COUNT_MAX);
            b = (struct mbar){(uint32_t)arg, (uint32_t)arg, 0, false};
            break;
        case MB_INVAL:
            b = (struct mbar){0};
            break;
        case MB_ARRIVE:
        case MB_DROP:
        case MB_COPIES: {
            uint32_t n = in->type & MBF_EXPECT ? 1 : (uint32_t)arg;
            if (in->type & MBF_EXPECT)
                b.tx += (int32_t)(uint32_t)arg;
            if (in->sub == MB_COPIES && !(in->type & MBF_NOINC))
                b.pending++; /* and the same arrival takes it away again */
            if (b.tx > TX_MAX || n > b.pending)
                return exec_fault(w, in, i, "was it initialised, with enough arrivals?",
                                  "%u arrivals at an mbarrier that expects %u more", n,
                                  b.pending);
            if (in->type & MBF_NO_COMPLETE && n == b.pending)
                return exec_fault(w, in, i, NULL,
                                  "mbarrier.arrive.noComplete would end the phase");
            if (later) {
                if (s->arrive_count && s->arrive_addr != x->addr[i])
                    exec_mbarrier_arrive(c, s->arrive_addr, s->arrive_count),
                        s->arrive_count = 0;
                s->arrive_addr = x->addr[i];
                s->arrive_count++;
                break;
            }
            if (in->sub == MB_DROP)
                b.expected -= n < b.expected ? n : b.expected;
            b.pending -= n;
            settle(&b);
            break;
        }
        case MB_EXPECT_TX:
        case MB_COMPLETE_TX:
            b.tx += in->sub == MB_EXPECT_TX ? (int32_t)(uint32_t)arg
                                            : -(int32_t)(uint32_t)arg;
            if (b.tx > TX_MAX || b.tx < -TX_MAX)
                return exec_fault(w, in, i, NULL,
                                  "an mbarrier counts at most %d bytes to come", TX_MAX);
            if (in->sub == MB_COMPLETE_TX)
                settle(&b);
            break;
        default: {
            bool then = in->type & MBF_PARITY ? arg & 1 : arg >> 63;
            yes |= (uint32_t)(then != b.phase) << i;
        }
        }
        if (in->sub == MB_TEST)
            continue;
        v = pack(b);
        memcpy(p, &v, 8);
    }
    if (in->sub == MB_TEST) {
        uint32_t *d = row(w, in->data[0]);
        *d = (*d & ~mask) | yes;
    } else if (in->data[0] != REF_NONE) {
        uint64_t *d = row(w, in->data[0]);
        FOR_BITS(i, mask)
        d[i] = states[i];
    }
    x->space = PTX_SPACE_SHARED;
    x->atomic = in->sub != MB_TEST;
    x->load = in->sub == MB_TEST;
    x->store = false;
    s->has_access = true;
    return EXEC_OK;
}

int
exec_mbarrier_use(const struct exec_inst *in)
{
    return in->fn != h_mbarrier  ? EXEC_MBARRIER_NONE
           : in->sub == MB_INIT  ? EXEC_MBARRIER_INIT
           : in->sub == MB_INVAL ? EXEC_MBARRIER_INVAL
                                 : EXEC_MBARRIER_USE;
}

static enum exec_result
h_pending_count(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                struct exec_step *s)
{
    const uint64_t *a = row(w, in->s[0]);
    uint32_t *d = row(w, in->d[0]);
    FOR_BITS(i, mask)
    d[i] = unpack(a[i]).pending;
    return EXEC_OK;
}

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

static bool
shared_only(struct decoder *d, struct exec_inst *x)
{
    if (x->space == PTX_SPACE_SHARED || x->space == PTX_SPACE_NONE)
        return true;
    return decode_refuse(d, "an mbarrier lies in the scratchpad");
}

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

/* d->out, for h_mbarrier. */
static bool
decode_mbar(struct decoder *d, unsigned op, const struct ptx_operand *address,
            const struct ptx_operand *result, const struct ptx_operand *arg,
            unsigned arg_type)
{
    struct exec_inst *x = d->out;
    x->sub = (uint8_t)op;
    x->esize = 8;
    x->nvec = 1;
    x->kind = MEM_ATOMIC;
    x->flags |= IF_ACCESS;
    x->data[0] = x->data[1] = REF_NONE;
    if (!decode_address(d, address, ptx_inst_space(d->in)) || !shared_only(d, x))
        return false;
    if (arg && arg->kind != PTX_OPD_NONE && !decode_data(d, 1, arg, arg_type, false))
        return false;
    if (result && op == MB_TEST) {
        x->data[0] = decode_operand(d, result, PTX_PRED);
        if (x->data[0] == REF_NONE)
            return false;
    } else if (result && !decode_data(d, 0, result, PTX_B64, true)) {
        return false;
    }
    x->slot = d->pp->nslots++;
    x->fn = h_mbarrier;
    d->st->is_atomic = op != MB_TEST;
    d->st->is_load = op == MB_TEST;
    d->st->space = PTX_SPACE_SHARED;
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
        d->out->type = in->mod[PTX_MG_NOINC] ? MBF_NOINC : 0;
        d->st->copy = COPY_ARRIVE;
        return decode_mbar(d, MB_COPIES, &in->ops[0], NULL, NULL, 0);
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

static bool
dec_mbarrier(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    const struct ptx_operand *o = in->ops;
    bool drop, wide;
    switch (in->op) {
    case PTX_OP_MBINIT:
        return decode_mbar(d,
                           in->mod[PTX_MG_MBINIT] == PTX_MBINIT_INIT ? MB_INIT : MB_INVAL,
                           &o[0], NULL, &o[1], PTX_U32);
    case PTX_OP_MBARRIVE:
        drop = in->mod[PTX_MG_MBARRIVE] == PTX_MBARRIVE_DROP;
        x->type = in->mod[PTX_MG_MBX] == PTX_MBX_EXPECT        ? MBF_EXPECT
                  : in->mod[PTX_MG_MBX] == PTX_MBX_NO_COMPLETE ? MBF_NO_COMPLETE
                                                               : 0;
        return decode_mbar(d, drop ? MB_DROP : MB_ARRIVE, &o[1], &o[0], &o[2], PTX_U32);
    case PTX_OP_MBTX:
        return decode_mbar(
            d, in->mod[PTX_MG_MBTX] == PTX_MBTX_EXPECT ? MB_EXPECT_TX : MB_COMPLETE_TX,
            &o[0], NULL, &o[1], PTX_U32);
    case PTX_OP_MBWAIT:
        x->type = in->mod[PTX_MG_PARITY] ? MBF_PARITY : 0;
        return decode_mbar(d, MB_TEST, &o[1], &o[0], &o[2],
                           in->mod[PTX_MG_PARITY] ? PTX_U32 : PTX_B64);
    default:
        x->s[0] = decode_operand(d, &o[1], PTX_B64);
        x->d[0] = decode_row(d, &o[0], PTX_B32, &wide);
        x->fn = h_pending_count;
        return x->s[0] != REF_NONE && x->d[0] != REF_NONE &&
               (!wide || decode_refuse(d, "the count has 32 bits"));
    }
}

const struct decode_row decode_async[] = {
    {"cp", dec_cp}, {"mbarrier", dec_mbarrier}, {NULL, NULL}};
