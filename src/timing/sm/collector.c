/* collector.c: operand collectors and register banks.
 *
 * An instruction goes from its issue latch into a free collector unit of its class, or a
 * general one. It puts one read request per distinct source register into the queue of the
 * register's bank. It leaves for the pipeline's latch when all operands have come. A bank
 * serves the oldest request of its queue; a write-back to the bank goes first. All of this
 * is one step. A core cycle makes collector.bank_ports steps, as GPGPU-Sim's register file
 * ports do, so two ports also shorten the latency. What an f64 instruction reads beyond
 * collector.f64_registers comes beside its start: it makes no request.
 *
 * Within a step: units that are complete leave (in turn), banks are read, instructions
 * enter. So an instruction that enters in step k reads in k+1 at the earliest and leaves
 * in k+2; one without register operands leaves in k+1. The guard predicate is not read
 * here. */
#include "timing/sm/sm.h"

#include <string.h>

void
collector_init(struct sm *s, struct arena *a)
{
    const struct machine *m = s->m;
    unsigned units[SM_NSETS] = {m->collector.units_sp,      m->collector.units_sfu,
                                m->collector.units_dp,      m->collector.units_tensor,
                                m->collector.units_integer, m->collector.units_mem,
                                m->collector.units_general};
    unsigned ports[SM_NSETS] = {m->collector.ports_sp,      m->collector.ports_sfu,
                                m->collector.ports_dp,      m->collector.ports_tensor,
                                m->collector.ports_integer, m->collector.ports_mem,
                                m->collector.ports_general};
    for (unsigned k = 0; k < s->nparts; k++) {
        struct sm_part *p = &s->part[k];
        unsigned at = 0;
        for (unsigned c = 0; c < SM_NSETS; c++) {
            unsigned n = sm_share(units[c], s->nparts);
            if (n > 64)
                n = 64;
            p->set[c] = (struct sm_set){.first = (uint8_t)at,
                                        .n = (uint8_t)n,
                                        .free = n ? ~0ull >> (64 - n) : 0,
                                        .ports = (uint8_t)sm_share(ports[c], s->nparts),
                                        .last = (uint8_t)(n ? n - 1 : 0)};
            p->open |= (uint8_t)((unsigned)(n != 0) << c);
            at += n;
        }
        p->ncu = at;
        p->cu_inst = ARENA_ARRAY(a, uint16_t, at);
        p->cu_wait = ARENA_ARRAY(a, uint8_t, at);
        p->cu_cls = ARENA_ARRAY(a, uint8_t, at);
        p->cu_set = ARENA_ARRAY(a, uint8_t, at);
        for (unsigned c = 0; c < SM_NSETS; c++)
            memset(p->cu_set + p->set[c].first, (int)c, p->set[c].n);
        p->nbanks = sm_share(m->collector.banks, s->nparts);
        p->bank = ARENA_ARRAY(a, struct sm_bank, p->nbanks);
        for (unsigned b = 0; b < p->nbanks; b++)
            p->bank[b].v = ARENA_ARRAY(a, uint16_t, at * EXEC_MAX_SRC);
    }
}

/* Complete units of the set that have room before them. */
static uint64_t
can_leave(const struct sm_part *p, unsigned c)
{
    const struct sm_set *set = &p->set[c];
    uint64_t can = 0;
    if (c < SM_NCLS)
        return p->ex_full >> c & 1 ? 0 : set->ready;
    FOR_BITS(i, set->ready)
    can |= (uint64_t)(~p->ex_full >> p->cu_cls[set->first + i] & 1) << i;
    return can;
}

/* Complete units leave for the pipelines, a round robin per set. True: one did. */
static bool
leave(struct sm *s, struct sm_part *p)
{
    uint32_t busy = p->busy;
    FOR_BITS(c, p->complete & ~p->ex_full)
    {
        struct sm_set *set = &p->set[c];
        for (unsigned k = set->ports; k; k--) {
            uint64_t can = can_leave(p, (unsigned)c);
            if (!can)
                break;
            unsigned i = bit_in_turn(can, (set->last + 1u) % 64);
            unsigned cu = set->first + i;
            set->last = (uint8_t)i;
            set->ready &= ~((uint64_t)1 << i);
            set->free |= (uint64_t)1 << i;
            p->open |= (uint8_t)(1u << c);
            push_ex(p, p->cu_cls[cu], p->cu_inst[cu]);
            s->units |= p->bit;
            p->busy--;
            s->worked = true;
        }
        if (!set->ready)
            p->complete &= (uint8_t) ~(1u << c);
    }
    return p->busy != busy;
}

/* Tells scoreboard and mechanisms that an instruction has read its registers. */
static void __attribute__((noinline)) tell_read(struct sm *s, const struct sm_flight *fl)
{
    if (s->score.unread) {
        const struct sm_inst *in = &s->prog->inst[fl->pc];
        score_has_read(&s->score, fl->warp, in->reg, in->nsrc);
        score_has_read(&s->score, fl->warp, in->reg + in->nsrc + in->ndst, in->naddr);
        sm_read_over(s, fl->warp);
    }
    sm_tell(s, SM_EVENT_operands_read, fl->warp, fl->pc, 0, s->now);
}

static void
unit_complete(struct sm *s, struct sm_part *p, unsigned cu)
{
    struct sm_set *set = &p->set[p->cu_set[cu]];
    if (s->score.unread || s->listen[SM_EVENT_operands_read])
        tell_read(s, &s->flight[p->cu_inst[cu]]);
    set->ready |= (uint64_t)1 << (cu - set->first);
    p->complete |= (uint8_t)(1u << p->cu_set[cu]);
}

static void
operand_came(struct sm *s, struct sm_part *p, unsigned cu)
{
    if (--p->cu_wait[cu] == 0)
        unit_complete(s, p, cu);
}

static void
read_banks(struct sm *s, struct sm_part *p)
{
    unsigned waiting = p->reads_waiting;
    unsigned cap = p->ncu * EXEC_MAX_SRC;
    FOR_BITS(b, p->bank_queued & ~p->bank_written)
    {
        struct sm_bank *bank = &p->bank[b];
        operand_came(s, p, bank->v[bank->head]);
        bank->head = (uint16_t)(bank->head + 1u == cap ? 0 : bank->head + 1u);
        if (--bank->n == 0)
            p->bank_queued &= ~((uint64_t)1 << b);
        p->reads_waiting--;
    }
    s->stats->operand_reads += waiting - p->reads_waiting;
    s->stats->operand_bank_waits += p->reads_waiting;
    s->worked |= waiting != 0;
}

static void
enter_unit(struct sm *s, struct sm_part *p, unsigned cls, struct sm_set *set)
{
    unsigned i = (unsigned)bit_lowest(set->free);
    unsigned cu = set->first + i, n = 0;
    uint16_t f = latch_front(&p->id[cls]);
    const struct sm_flight *fl = &s->flight[f];
    const struct sm_inst *in = &s->prog->inst[fl->pc];
    unsigned cap = p->ncu * EXEC_MAX_SRC;
    pop_id(p, cls);
    s->sched_dirty |= p->waits[cls];
    p->waits[cls] = 0;
    set->free &= ~((uint64_t)1 << i);
    if (!set->free)
        p->open &= (uint8_t) ~(1u << (set - p->set));
    p->cu_inst[cu] = f;
    p->cu_cls[cu] = (uint8_t)cls;
    for (unsigned k = in->first_operand; k < in->late; k++, n++) {
        struct sm_bank *bank;
        unsigned b = wrap((uint64_t)in->reg[k] + fl->warp, p->nbanks), at;
        bank = &p->bank[b];
        at = bank->head + bank->n++;
        bank->v[at >= cap ? at - cap : at] = (uint16_t)cu;
        p->bank_queued |= (uint64_t)1 << b;
    }
    s->stats->operand_reads += (unsigned)in->nsrc - in->late;
    p->cu_wait[cu] = (uint8_t)n;
    p->reads_waiting += n;
    if (!n)
        unit_complete(s, p, cu);
    p->busy++;
    s->worked = true;
}

/* Classes with an instruction for which there is a free unit. */
static unsigned
can_enter(const struct sm_part *p)
{
    return p->open >> SET_GENERAL ? p->in_id : p->in_id & p->open;
}

/* Instructions enter: own class's units by their ports, then the general ones. True: one
 * did. */
static bool
enter(struct sm *s, struct sm_part *p)
{
    uint32_t busy = p->busy;
    struct sm_set *general = &p->set[SET_GENERAL];
    FOR_BITS(c, can_enter(p))
    for (unsigned k = p->set[c].ports; k && p->id[c].n; k--) {
        struct sm_set *set = p->set[c].free ? &p->set[c] : general;
        if (!set->free)
            break;
        enter_unit(s, p, (unsigned)c, set);
    }
    for (unsigned k = general->ports; k && general->free && p->in_id; k--)
        FOR_BITS(c, p->in_id)
        {
            if (!general->free)
                break;
            enter_unit(s, p, (unsigned)c, general);
        }
    return p->busy != busy;
}

/* After a step in which something has moved: may something in the next? */
static bool
due(const struct sm_part *p)
{
    if (p->reads_waiting || can_enter(p))
        return true;
    FOR_BITS(c, p->complete & ~p->ex_full)
    if (can_leave(p, (unsigned)c))
        return true;
    return false;
}

void
collector_cycle(struct sm *s)
{
    FOR_BITS(k, s->collect | s->written)
    {
        struct sm_part *p = &s->part[k];
        bool moved = true;
        for (unsigned step = s->m->collector.bank_ports; step && moved; step--) {
            moved = p->complete & ~p->ex_full && leave(s, p);
            if (p->reads_waiting) {
                read_banks(s, p);
                moved = true;
            }
            p->bank_written = 0;
            if (can_enter(p) && enter(s, p))
                moved = true;
        }
        if (!moved || !due(p))
            s->collect &= (uint8_t)~p->bit;
    }
    s->written = 0;
}
