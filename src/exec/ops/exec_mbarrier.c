/* exec_mbarrier.c: mbarriers (PTX ISA 9.7.13.15), in the block's scratchpad and in those of
 * its cluster.
 *
 * An mbarrier is 64 bits of scratchpad whose layout the ISA leaves open. Ours: arrivals
 * still to come in this phase (20 bits), arrivals of a phase (20), bytes still to come
 * (23, signed), the phase's parity (1). A phase is over when no arrivals and no bytes are to
 * come; both may be short of it for a while, and bytes may come before they are expected:
 *
 *     init 1                         1 arrival to come
 *     arrive.expect_tx 4096          0 arrivals, 4096 bytes
 *     complete_tx 4096, by a copy    0 arrivals, 0 bytes: the next phase, 1 arrival
 *
 * try_wait may block. A warp of which no lane finds its phase over waits (EXEC_MBARRIER) until
 * one is, or until whoever runs it says that its time is over (exec_mbarrier_resume); the
 * instruction has been executed then, and only its predicate is still to be written. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

#include <string.h>

enum { COUNT_MAX = (1 << 20) - 1, TX_MAX = (1 << 20) - 1, TX_BITS = 23 };

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
    c->mbarrier_changes++;
    return true;
}

bool
exec_mbarrier_complete(struct exec_cta *c, uint64_t addr, uint32_t bytes)
{
    uint64_t v;
    memcpy(&v, c->shared + addr, 8);
    struct mbar b = unpack(v);
    b.tx -= (int32_t)bytes;
    if (b.tx < -TX_MAX)
        return false;
    settle(&b);
    v = pack(b);
    memcpy(c->shared + addr, &v, 8);
    c->mbarrier_changes++;
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
    MBF_TRY = 16         /* test: may wait */
};

/* Lanes of `mask` whose phase is over. x: their addresses. */
static uint32_t
over(const struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
     const struct exec_access *x)
{
    uint32_t yes = 0;
    FOR_BITS(i, mask)
    {
        uint64_t v, arg = mem_data_lane(w, in, 1, (unsigned)i);
        memcpy(&v, w->cta->shared + x->addr[i], 8);
        const bool then = in->type & MBF_PARITY ? arg & 1 : arg >> 63;
        yes |= (uint32_t)(then != unpack(v).phase) << i;
    }
    return yes;
}

static void
answer(struct exec_warp *w, const struct exec_inst *in, uint32_t mask, uint32_t yes)
{
    uint32_t *d = row(w, in->data[0]);
    *d = (*d & ~mask) | yes;
}

void
exec_mbarrier_resume(struct exec_warp *w, bool time_is_over)
{
    const struct exec_inst *in = &w->cta->grid->prog->inst[w->barrier_pc];
    struct exec_access x;
    mem_resolve(w, in, w->barrier_mask, &x);
    const uint32_t yes = over(w, in, w->barrier_mask, &x);
    if (!yes && !time_is_over)
        return;
    answer(w, in, w->barrier_mask, yes);
    w->state = EXEC_READY;
}

uint64_t
exec_mbarrier_hint(const struct exec_warp *w)
{
    const struct exec_inst *in = &w->cta->grid->prog->inst[w->barrier_pc];
    return in->data[2] == REF_NONE
               ? 0
               : mem_data_lane(w, in, 2, (unsigned)bit_lowest(w->barrier_mask));
}

void
exec_mbarrier_explain(const struct exec_warp *w, struct strbuf *out)
{
    const struct exec_inst *in = &w->cta->grid->prog->inst[w->barrier_pc];
    struct exec_access x;
    uint64_t v;
    mem_resolve(w, in, w->barrier_mask, &x);
    const uint64_t at = x.addr[bit_lowest(w->barrier_mask)];
    memcpy(&v, w->cta->shared + at, 8);
    const struct mbar b = unpack(v);
    strbuf_printf(out, "waits at line %u for phase %u of the mbarrier in ",
                  w->cta->grid->prog->st[w->barrier_pc].line, b.phase);
    exec_print_place(w->cta->grid, PTX_SPACE_SHARED, at, out);
    strbuf_printf(out, ": %u of %u arrivals", b.pending, b.expected);
    if (b.tx > 0)
        strbuf_printf(out, " and %d bytes", b.tx);
    strbuf_addz(out, " are still to come");
    if (b.tx < 0)
        strbuf_printf(out, ", %d bytes have come that no expect_tx announced", -b.tx);
}

/* Where a lane's mbarrier is: the block, and the place in its scratchpad. */
static struct exec_cta *
owner(const struct exec_warp *w, const struct exec_access *x, unsigned i, uint64_t *at)
{
    *at = x->addr[i];
    return x->remote >> i & 1 ? exec_shared_owner(w, x->addr[i], at) : w->cta;
}

/* data[0]: destination (state, predicate: REF_NONE: none), data[1]: count, bytes, state
 * or parity, REF_NONE: 1; data[2]: time that try_wait may take, REF_NONE: not given; sub:
 * mbar_op; type: MBF_... */
static enum exec_result
h_mbarrier(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
           struct exec_step *s)
{
    struct exec_access *x = &s->access;
    mem_resolve(w, in, mask, x);
    if (!mem_allowed(w, in, mask, x))
        return mem_blame(w, in, mask, x, 8);
    FOR_BITS(i, mask)
    if ((x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space) != PTX_SPACE_SHARED)
        return exec_fault(w, in, (unsigned)i, NULL, "an mbarrier lies in the scratchpad");
    x->space = PTX_SPACE_SHARED;
    x->atomic = in->sub != MB_TEST;
    x->load = in->sub == MB_TEST;
    x->store = false;
    s->has_access = true;
    s->arrive_count = 0;
    if (x->remote && (in->sub == MB_TEST || in->data[0] != REF_NONE ||
                      in->sub == MB_INIT || in->sub == MB_INVAL || in->sub == MB_COPIES))
        return exec_fault(
            w, in, (unsigned)bit_lowest(x->remote), NULL,
            "in another block of the cluster, an mbarrier can only be arrived "
            "at, without a result, and be given bytes");
    if (in->sub == MB_TEST) {
        const uint32_t yes = over(w, in, mask, x);
        /* under the timing model the loop around it waits */
        if (yes || !(in->type & MBF_TRY) || w->cta->clock) {
            answer(w, in, mask, yes);
            return EXEC_OK;
        }
        w->state = EXEC_MBARRIER;
        w->barrier_mask = mask;
        w->barrier_pc = exec_inst_pc(w, in);
        return EXEC_OK;
    }
    uint64_t states[LANES] = {0};
    bool later = in->sub == MB_COPIES && w->cta->clock;
    FOR_BITS(lane, mask)
    {
        unsigned i = (unsigned)lane;
        uint64_t at;
        struct exec_cta *c = owner(w, x, i, &at);
        uint64_t v, arg = in->data[1] == REF_NONE ? 1 : mem_data_lane(w, in, 1, i);
        memcpy(&v, c->shared + at, 8);
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
            if (in->type & MBF_EXPECT) {
                const int64_t tx = b.tx + (int64_t)(uint32_t)arg;
                if (tx > TX_MAX)
                    return exec_fault(w, in, i, NULL,
                                      "an mbarrier counts at most %d bytes to come",
                                      TX_MAX);
                b.tx = (int32_t)tx;
            }
            if (in->sub == MB_COPIES && !(in->type & MBF_NOINC))
                b.pending++; /* and the same arrival takes it away again */
            if (n > b.pending)
                return exec_fault(w, in, i, "was it initialised, with enough arrivals?",
                                  "%u arrivals at an mbarrier that expects %u more", n,
                                  b.pending);
            if (in->type & MBF_NO_COMPLETE && n == b.pending)
                return exec_fault(w, in, i, NULL,
                                  "mbarrier.arrive.noComplete would end the phase");
            if (later) {
                if (s->arrive_count && s->arrive_addr != at)
                    exec_mbarrier_arrive(c, s->arrive_addr, s->arrive_count),
                        s->arrive_count = 0;
                s->arrive_addr = at;
                s->arrive_count++;
                break;
            }
            if (in->sub == MB_DROP)
                b.expected -= n < b.expected ? n : b.expected;
            b.pending -= n;
            settle(&b);
            break;
        }
        default: {
            const int64_t by = (uint32_t)arg,
                          tx = b.tx + (in->sub == MB_EXPECT_TX ? by : -by);
            if (tx > TX_MAX || tx < -TX_MAX)
                return exec_fault(w, in, i, NULL,
                                  "an mbarrier counts at most %d bytes to come", TX_MAX);
            b.tx = (int32_t)tx;
            if (in->sub == MB_COMPLETE_TX)
                settle(&b);
        }
        }
        v = pack(b);
        memcpy(c->shared + at, &v, 8);
        c->mbarrier_changes++;
    }
    if (in->data[0] != REF_NONE) {
        uint64_t *d = row(w, in->data[0]);
        FOR_BITS(i, mask)
        d[i] = states[i];
    }
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

/* -- decoding -- */

static bool
shared_only(struct decoder *d, struct exec_inst *x)
{
    if (x->space == PTX_SPACE_SHARED || x->space == PTX_SPACE_NONE)
        return true;
    return decode_refuse(d, "an mbarrier lies in the scratchpad");
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
    x->data[0] = x->data[1] = x->data[2] = REF_NONE;
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

bool
decode_mbarrier_copies(struct decoder *d)
{
    d->out->type = d->in->mod[PTX_MG_NOINC] ? MBF_NOINC : 0;
    return decode_mbar(d, MB_COPIES, &d->in->ops[0], NULL, NULL, 0);
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
        if (in->mod[PTX_MG_PARITY] && o[2].kind == PTX_OPD_REG &&
            ptx_type_bytes(decode_operand_type(d, &o[2])) != 4)
            return decode_refuse(d, "the parity has 32 bits");
        x->type = (in->mod[PTX_MG_PARITY] ? MBF_PARITY : 0) |
                  (in->mod[PTX_MG_MBWAIT] == PTX_MBWAIT_TRY ? MBF_TRY : 0);
        return decode_mbar(d, MB_TEST, &o[1], &o[0], &o[2],
                           in->mod[PTX_MG_PARITY] ? PTX_U32 : PTX_B64) &&
               (o[3].kind == PTX_OPD_NONE || decode_data(d, 2, &o[3], PTX_U32, false));
    default:
        x->s[0] = decode_operand(d, &o[1], PTX_B64);
        x->d[0] = decode_row(d, &o[0], PTX_B32, &wide);
        x->fn = h_pending_count;
        return x->s[0] != REF_NONE && x->d[0] != REF_NONE &&
               (!wide || decode_refuse(d, "the count has 32 bits"));
    }
}

const struct decode_row decode_mbarrier[] = {{"mbarrier", dec_mbarrier}, {NULL, NULL}};
