/* exec_cluster.c: clusters of blocks (PTX ISA 9.0, 5.1.6.1, 9.7.9.23, 9.7.9.24, 9.7.13.4).
 *
 * The blocks of a cluster run at the same time. In the window of shared memory the scratchpad
 * of the block of rank r begins at (r + 1) * DEV_RANK, so that an address in the space
 * .shared::cluster, or a generic one, says whose scratchpad it lies in; a block's own begins
 * at 0 too, which is where its .shared variables are:
 *
 *     0           own scratchpad          <- ld.shared, cvta.shared
 *     0x080000    that of rank 0          <- mapa ..., 0
 *     0x100000    that of rank 1          <- mapa ..., 1
 *
 * mem_resolve turns an address of the second kind into the first where it is the block's own,
 * so that an own address may be sent to others and comes back as its owner knows it.
 *
 * barrier.cluster counts threads: those of a warp may arrive in several paths. Who has ended
 * counts as arrived. A thread that arrives twice without a wait, or waits without having
 * arrived, is a fault; the ISA leaves both undefined. */
#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

#include <stdlib.h>

/* -- life -- */

struct exec_cluster *
exec_cluster_new(uint32_t blocks)
{
    struct exec_cluster *k = xcalloc(1, sizeof *k);
    k->n = blocks;
    k->cta = xcalloc(blocks, sizeof(struct exec_cta *));
    k->woken = xcalloc(blocks, sizeof *k->woken);
    return k;
}

void
exec_cluster_free(struct exec_cluster *k)
{
    if (!k)
        return;
    free(k->cta);
    free(k->woken);
    free(k);
}

void
exec_cluster_join(struct exec_cluster *k, struct exec_cta *c)
{
    k->cta[c->rank] = c;
    k->live += c->live_warps;
    k->woken[c->rank] = 0;
    c->cluster = k;
}

void
exec_cluster_start(struct exec_cluster *k)
{
    if (!k)
        return;
    k->live = k->arrived = 0;
    k->any_woken = false;
    for (uint32_t i = 0; i < k->n; i++)
        exec_cluster_join(k, k->cta[i]);
}

/* -- whose scratchpad -- */

struct exec_cta *
exec_shared_owner(const struct exec_warp *w, uint64_t addr, uint64_t *at)
{
    const struct exec_cluster *k = w->cta->cluster;
    *at = addr;
    if (addr < DEV_RANK || !k || k->n == 1)
        return w->cta;
    *at = addr % DEV_RANK;
    return addr / DEV_RANK <= k->n ? k->cta[addr / DEV_RANK - 1] : NULL;
}

/* -- barrier.cluster -- */

static uint32_t
all_lanes(const struct exec_warp *w)
{
    uint32_t m = w->active;
    for (uint32_t i = 0; i < w->sp; i++)
        m |= w->stack[i].mask;
    return m;
}

/* The phase is over once all warps have arrived: those that wait go on. */
static void
complete(struct exec_cluster *k)
{
    if (!k->live || k->arrived < k->live)
        return;
    k->arrived = 0;
    for (uint32_t r = 0; r < k->n; r++)
        for (uint32_t i = 0; i < k->cta[r]->nwarps; i++) {
            struct exec_warp *w = &k->cta[r]->warp[i];
            if (w->state == EXEC_DONE)
                continue;
            w->due |= w->came;
            w->came = 0;
            w->all_came = false;
            if (w->state != EXEC_BARRIER || w->barrier != EXEC_BARRIER_CLUSTER)
                continue;
            w->due &= ~w->barrier_mask;
            w->state = EXEC_READY;
            k->woken[r] |= (uint64_t)1 << i;
            k->any_woken = true;
        }
}

/* Have all threads of the warp arrived now? Warps of its own block that may go on are told of
 * in the step, as at any barrier. */
static void
count(struct exec_warp *w, struct exec_step *s)
{
    struct exec_cluster *k = w->cta->cluster;
    const bool all = w->state != EXEC_DONE && !(all_lanes(w) & ~w->came);
    k->arrived += all;
    k->arrived -= w->all_came;
    w->all_came = all;
    complete(k);
    s->woken |= k->woken[w->cta->rank];
    k->woken[w->cta->rank] = 0;
}

void
exec_cluster_exit(struct exec_warp *w, struct exec_step *s)
{
    struct exec_cluster *k = w->cta->cluster;
    k->live -= w->state == EXEC_DONE;
    count(w, s);
}

/* A block without a cluster is one of its own. Storage for its barrier is made when it is
 * first asked for, and kept. */
static struct exec_cluster *
cluster_of(struct exec_cta *c)
{
    if (c->cluster)
        return c->cluster;
    if (!c->ex->alone)
        c->ex->alone = exec_cluster_new(1);
    struct exec_cluster *k = c->ex->alone;
    k->live = k->arrived = 0;
    exec_cluster_join(k, c);
    return k;
}

enum { CLUSTER_ARRIVE, CLUSTER_WAIT };

static enum exec_result
h_cluster_barrier(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
                  struct exec_step *s)
{
    cluster_of(w->cta);
    if (!(mask = exec_gather(w, in, mask, s)))
        return EXEC_OK;
    if (in->sub == CLUSTER_ARRIVE) {
        if ((w->came | w->due) & mask)
            return exec_fault(
                w, in, (unsigned)bit_lowest((w->came | w->due) & mask),
                "each arrival has its barrier.cluster.wait before the next",
                "barrier.cluster.arrive of a thread that has arrived and not "
                "waited yet");
        w->came |= mask;
        count(w, s);
        return EXEC_OK;
    }
    if (mask & ~(w->came | w->due))
        return exec_fault(w, in, (unsigned)bit_lowest(mask & ~(w->came | w->due)),
                          "barrier.cluster.arrive comes first",
                          "barrier.cluster.wait of a thread that has not arrived");
    w->due &= ~mask;
    if (!(mask & w->came))
        return EXEC_OK;
    w->state = EXEC_BARRIER;
    w->barrier = EXEC_BARRIER_CLUSTER;
    w->barrier_mask = mask;
    w->barrier_pc = exec_inst_pc(w, in);
    return EXEC_OK;
}

bool
exec_cluster_explain(const struct exec_cta *c, bool first, struct strbuf *out)
{
    const struct exec_cluster *k = c->cluster;
    uint32_t shown = 0;
    for (uint32_t i = 0; k && i < c->nwarps; i++) {
        const struct exec_warp *w = &c->warp[i];
        if (w->state != EXEC_BARRIER || w->barrier != EXEC_BARRIER_CLUSTER)
            continue;
        if (!shown++)
            strbuf_printf(
                out,
                "%sbarrier.cluster: %u of %u live warps of the cluster arrived, "
                "waiting: warp",
                first ? "" : "; ", k->arrived, k->live);
        strbuf_printf(out, "%s %u at line %u", shown > 1 ? "," : "", i,
                      c->grid->prog->st[w->barrier_pc].line);
    }
    return shown;
}

/* -- mapa, getctarank -- */

static uint64_t
lane_of(const struct exec_warp *w, uint32_t ref, bool wide, unsigned i)
{
    const void *p = row(w, ref);
    return wide ? ((const uint64_t *)p)[i] : ((const uint32_t *)p)[i];
}

enum { WIDE_D = 1, WIDE_A = 2, GENERIC = 4 };

/* The place of an address, which may be generic, in the window; false: it lies outside. */
static bool
in_window(const struct exec_inst *in, uint64_t *a)
{
    if (in->aux & GENERIC)
        return mem_generic_space(a) == PTX_SPACE_SHARED;
    *a = (uint32_t)*a;
    return *a < DEV_WINDOW;
}

static enum exec_result
h_mapa(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    const uint32_t *rank = row(w, in->s[1]);
    FOR_BITS(i, mask)
    {
        uint64_t a = lane_of(w, in->s[0], in->aux & WIDE_A, (unsigned)i) + in->s[2], at;
        const uint64_t given = a;
        if (!in_window(in, &a) || !exec_shared_owner(w, a, &at))
            return exec_fault(w, in, (unsigned)i, NULL,
                              "mapa of 0x%llx, which is no address of shared memory",
                              (unsigned long long)given);
        if (rank[i] >= exec_cluster_blocks(w->cta->grid))
            return exec_fault(w, in, (unsigned)i, NULL,
                              "mapa with rank %u: the cluster has %u blocks", rank[i],
                              exec_cluster_blocks(w->cta->grid));
        if (w->cta->cluster && w->cta->cluster->n > 1)
            at += (uint64_t)(rank[i] + 1) * DEV_RANK;
        at += in->aux & GENERIC ? DEV_SHARED_BASE : 0;
        if (in->aux & WIDE_D)
            ((uint64_t *)row(w, in->d[0]))[i] = at;
        else
            ((uint32_t *)row(w, in->d[0]))[i] = (uint32_t)at;
    }
    return EXEC_OK;
}

static enum exec_result
h_getctarank(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
             struct exec_step *s)
{
    (void)s;
    uint32_t *d = row(w, in->d[0]);
    FOR_BITS(i, mask)
    {
        uint64_t a = lane_of(w, in->s[0], in->aux & WIDE_A, (unsigned)i) + in->s[2], at;
        const uint64_t given = a;
        const struct exec_cta *c =
            in_window(in, &a) ? exec_shared_owner(w, a, &at) : NULL;
        if (!c)
            return exec_fault(
                w, in, (unsigned)i, NULL,
                "getctarank of 0x%llx, which is no address of shared memory",
                (unsigned long long)given);
        d[i] = c->rank;
    }
    return EXEC_OK;
}

/* -- decoding -- */

/* The address operand of mapa and getctarank: a register, or a variable and an offset. */
static bool
decode_window(struct decoder *d, const struct ptx_operand *o, unsigned type)
{
    struct exec_inst *x = d->out;
    bool wide = false, frame;
    const unsigned space = ptx_inst_space(d->in);
    if (space != PTX_SPACE_NONE &&
        d->in->mod[PTX_MG_SPACE] != PTX_SPACE_SS_SHARED_CLUSTER)
        return decode_refuse(d, "its space is .shared::cluster, or none");
    x->s[2] = 0;
    if (o->kind == PTX_OPD_SYM) {
        uint64_t at;
        if (space == PTX_SPACE_NONE)
            return decode_refuse(d, "a variable needs .shared::cluster");
        if (!o->var || o->var->space != PTX_SPACE_SHARED)
            return decode_refuse(d, "it is no variable of shared memory");
        if (!decode_symbol(d, o, &at, &frame))
            return false;
        x->s[0] = decode_const_row(d, 0, 4);
        x->s[2] = (uint32_t)at;
    } else {
        x->s[0] = decode_row(d, o, type, &wide);
        if (x->s[0] == REF_NONE)
            return false;
        if (o->kind == PTX_OPD_REG &&
            ptx_type_bytes(decode_operand_type(d, o)) != ptx_type_bytes(type))
            return decode_refuse(d, "its address has the size of its type");
    }
    x->aux |= (wide ? WIDE_A : 0u) | (space == PTX_SPACE_NONE ? GENERIC : 0u);
    return true;
}

static bool
dec_mapa(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    bool wide;
    x->d[0] = decode_row(d, &in->ops[0], in->type[0], &wide);
    x->aux = wide ? WIDE_D : 0;
    x->s[1] = decode_operand(d, &in->ops[2], PTX_U32);
    if (x->d[0] == REF_NONE || x->s[1] == REF_NONE ||
        !decode_window(d, &in->ops[1], in->type[0]))
        return false;
    x->fn = h_mapa;
    return true;
}

static bool
dec_getctarank(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    struct exec_inst *x = d->out;
    bool wide;
    x->d[0] = decode_row(d, &in->ops[0], PTX_U32, &wide);
    x->aux = 0;
    if (x->d[0] == REF_NONE || !decode_window(d, &in->ops[1], in->type[0]))
        return false;
    if (wide)
        return decode_refuse(d, "the rank has 32 bits");
    x->fn = h_getctarank;
    return true;
}

bool
decode_cluster_barrier(struct decoder *d)
{
    d->out->sub = ptx_inst_has(d->in, "wait") ? CLUSTER_WAIT : CLUSTER_ARRIVE;
    d->out->fn = h_cluster_barrier;
    d->st->is_barrier = true;
    d->st->orders = true;
    return true;
}

const struct decode_row decode_cluster[] = {
    {"mapa", dec_mapa}, {"getctarank", dec_getctarank}, {NULL, NULL}};
