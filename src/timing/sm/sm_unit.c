/* sm_unit.c: execution pipelines and write-back.
 *
 * A pipeline takes an instruction from its class's latch under three conditions:
 *   - its entry register is free: the initiation interval of the one before has passed;
 *   - no other of its instructions leaves it in the same cycle;
 *   - one of the result buses (unit.writeback of them) is free in that cycle.
 * It is then known when the result is written back: S + latency + 2 for a start in cycle S,
 * one cycle for the result register, one for the write. Where results are forwarded, it is
 * unit.forward cycles earlier. Until then the instruction waits in a ring of lists by
 * cycle, at no cost.
 *
 * Operations of the load/store pipeline come back through ldst_done, one a cycle per
 * pipeline; such a write waits while an ALU result is written to the same bank. */
#include "timing/sm/sm.h"

#include <string.h>

void
sm_unit_init(struct sm *s, struct arena *a)
{
    const struct machine *m = s->m;
    unsigned units[SM_NCLS] = {m->unit.sp,     m->unit.sfu,     m->unit.dp,
                               m->unit.tensor, m->unit.integer, 0};
    unsigned slots[SM_NCLS] = {m->unit.slots_sp,      m->unit.slots_sfu,
                               m->unit.slots_dp,      m->unit.slots_tensor,
                               m->unit.slots_integer, m->unit.slots_mem};
    unsigned longest = s->prog->longest > 1 ? s->prog->longest : 1, in_pipes = 0;
    for (unsigned i = 0; i < PTX_NLATENCIES; i++) {
        if (m->latency[i].cycles > longest)
            longest = m->latency[i].cycles;
        if (m->latency[i].interval > longest)
            longest = m->latency[i].interval;
    }
    s->ring = 64;
    while (s->ring < longest + 8)
        s->ring *= 2;
    s->wheel = ARENA_ARRAY(a, uint16_t, s->ring);
    memset(s->wheel, 0xff, sizeof *s->wheel * s->ring);
    s->wheel_used = ARENA_ARRAY(a, uint64_t, s->ring / 64);
    s->bus_n = ARENA_ARRAY(a, uint8_t, s->ring);
    unsigned latched = 0;
    for (unsigned k = 0; k < s->nparts; k++) {
        struct sm_part *p = &s->part[k];
        p->bit = (uint8_t)(1u << k);
        latched += p->ncu;
        for (unsigned c = 0; c < SM_NCLS; c++) {
            p->id[c].cap = p->ex[c].cap = (uint8_t)sm_share(slots[c], s->nparts);
            latched += 2u * p->id[c].cap;
            p->id_full |= (uint8_t)((unsigned)!p->id[c].cap << c);
            p->ex_full = p->id_full;
            p->nunits[c] = (uint8_t)sm_share(units[c], s->nparts);
            p->unit[c] = ARENA_ARRAY(a, struct sm_unit, p->nunits[c]);
            in_pipes += p->nunits[c];
            for (unsigned u = 0; u < p->nunits[c]; u++)
                p->unit[c][u].complete = bitset_new(a, s->ring);
        }
    }
    /* No more can be under way than latches, collectors and pipelines hold, and the loads of
     * every warp. One instruction leaves a pipeline a cycle, and result buses bound all of
     * them. If this were not enough, issue would wait. */
    uint64_t n = latched +
                 (uint64_t)(longest + 4) *
                     (in_pipes < m->unit.writeback ? in_pipes : m->unit.writeback) +
                 32ull * s->nwarps + 64;
    s->nflight = n < SM_NO_INST ? (uint32_t)n : SM_NO_INST - 1;
    s->flight = ARENA_SPARSE(a, struct sm_flight, s->nflight);
    s->free_flight = SM_NO_INST;
}

static void
wheel_add(struct sm *s, uint16_t f, uint64_t at)
{
    unsigned k = (unsigned)at & (s->ring - 1);
    s->flight[f].next = s->wheel[k];
    s->wheel[k] = f;
    bitset_add(s->wheel_used, k);
    s->on_wheel++;
}

/* First cycle > now with a write-back, or NEVER. */
uint64_t
sm_unit_next_event(const struct sm *s, uint64_t now)
{
    if (!s->on_wheel)
        return NEVER;
    unsigned start = (unsigned)(now + 1) & (s->ring - 1), words = s->ring / 64;
    for (unsigned k = 0; k <= words; k++) {
        unsigned w = wrap(start / 64 + k, words);
        uint64_t v = s->wheel_used[w];
        if (k == 0)
            v = v >> (start % 64) << (start % 64);
        if (v) {
            unsigned at = w * 64 + (unsigned)bit_lowest(v);
            return now + 1 + ((at - start) & (s->ring - 1));
        }
    }
    return NEVER;
}

static void
write_registers(struct sm *s, unsigned w, const struct sm_inst *in)
{
    if (!in->ndst)
        return;
    unsigned k = s->warp[w].sched;
    struct sm_part *p = &s->part[s->split ? k : 0];
    const uint16_t *dst = in->reg + in->nsrc;
    for (unsigned i = 0; i < in->ndst; i++)
        p->bank_written |= (uint64_t)1 << wrap((uint64_t)dst[i] + w, p->nbanks);
    s->written |= p->bit;
    score_release(&s->score, w, dst, in->ndst, in->mem);
    sm_hazard_over(s, w);
}

/* Registers of warp w are free, and its head instruction has waited for some. */
void
sm_hazard_look(struct sm *s, unsigned w)
{
    unsigned k = s->warp[w].sched;
    struct sm_sched *c = &s->sched[k];
    uint64_t bit = (uint64_t)1 << s->warp[w].pos;
    const struct sm_inst *h = &s->prog->inst[s->warp[w].buf_pc];
    unsigned n = (unsigned)h->nsrc + h->ndst;
    bool memory = c->waits.memory & bit;
    if (score_hazard(&s->score, w, h->reg, n)) {
        if (!memory || score_hazard_in(&s->score, s->score.memory, w, h->reg, n))
            return;
        c->waits.result |= bit; /* what is left are results of pipelines */
    } else if (score_is_unread(&s->score, w, h->reg, sm_inst_registers(h))) {
        bitset_add(s->unread, w);
        if (!memory)
            return;
        c->waits.result |= bit;
    } else {
        c->waits.result &= ~bit;
        bitset_del(s->unread, w);
        warp_soon(s, w);
    }
    c->waits.memory &= ~bit;
    s->sched_dirty |= (uint8_t)(1u << k);
}

static void
complete(struct sm *s, uint16_t f)
{
    const struct sm_flight *fl = &s->flight[f];
    write_registers(s, fl->warp, &s->prog->inst[fl->pc]);
    if (s->prog->inst[fl->pc].product == PRODUCT_START)
        sm_products_done(s, fl->warp);
    sm_tell(s, SM_EVENT_written_back, fl->warp, fl->pc, 0, s->now);
    flight_done(s, f);
    s->worked = true;
}

void
sm_writeback_memory(struct sm *s)
{
    uint32_t token;
    for (unsigned n = s->m->unit.mem; n && ldst_done_peek(s->ldst, &token); n--) {
        const struct sm_flight *fl = &s->flight[token];
        const struct sm_inst *in = &s->prog->inst[fl->pc];
        const struct sm_part *p = &s->part[s->split ? s->warp[fl->warp].sched : 0];
        s->worked = true;
        for (unsigned i = 0; i < in->ndst; i++)
            if (p->bank_written >>
                    wrap((uint64_t)in->reg[in->nsrc + i] + fl->warp, p->nbanks) &
                1)
                return;
        ldst_done_pop(s->ldst);
        complete(s, (uint16_t)token);
    }
}

void
sm_writeback_cycle(struct sm *s, uint64_t now)
{
    unsigned k = (unsigned)now & (s->ring - 1);
    uint16_t f = s->wheel[k];
    if (f != SM_NO_INST) {
        s->wheel[k] = SM_NO_INST;
        bitset_del(s->wheel_used, k);
        while (f != SM_NO_INST) {
            uint16_t next = s->flight[f].next;
            s->on_wheel--;
            complete(s, f);
            f = next;
        }
    }
}

/* Cycles that have passed leave the rings. */
static void
sweep_complete(const struct sm *s, struct sm_unit *u, uint64_t now)
{
    uint64_t from = u->swept + 1;
    if (now - u->swept >= s->ring)
        from = now + 1 - s->ring;
    while (from <= now) { /* a word at a time */
        unsigned k = (unsigned)from & (s->ring - 1), n = 64 - k % 64;
        if (n > now + 1 - from)
            n = (unsigned)(now + 1 - from);
        u->complete[k / 64] &= ~(~0ull >> (64 - n) << k % 64);
        from += n;
    }
    u->swept = now;
}

static void
sweep_bus(struct sm *s, uint64_t now)
{
    uint64_t from = s->bus_swept + 1;
    if (now - s->bus_swept >= s->ring)
        from = now + 1 - s->ring;
    while (from <= now) { /* up to the ring's end at a time */
        unsigned k = (unsigned)from & (s->ring - 1), n = s->ring - k;
        if (n > now + 1 - from)
            n = (unsigned)(now + 1 - from);
        memset(s->bus_n + k, 0, n);
        from += n;
    }
    s->bus_swept = now;
}

static void
start_unit(struct sm *s, struct sm_part *p, unsigned cls, struct sm_unit *u, uint64_t now)
{
    if (u->free_at > now)
        return;
    sweep_complete(s, u, now);
    sweep_bus(s, now);
    uint16_t f = latch_front(&p->ex[cls]);
    const struct sm_inst *in = &s->prog->inst[s->flight[f].pc];
    unsigned lat = in->latency > in->interval ? in->latency : in->interval;
    uint64_t out = now + lat;
    unsigned k = (unsigned)out & (s->ring - 1);
    if (bitset_has(u->complete, k) || s->bus_n[k] >= s->m->unit.writeback)
        return;
    s->bus_n[k]++;
    bitset_add(u->complete, k);
    u->free_at = now + in->interval;
    pop_ex(p, cls);
    s->collect |= p->bit;
    uint64_t back = out + 2, early = s->m->unit.forward;
    wheel_add(s, f, back - early > now ? back - early : now + 1);
}

/* The load/store pipeline's latches: parts take turns. */
static void
start_memory(struct sm *s, unsigned parts, uint64_t now)
{
    for (unsigned i = 0; i < s->nparts; i++) {
        struct sm_part *p = &s->part[wrap(i + now, s->nparts)];
        if (!(parts & p->bit))
            continue;
        uint16_t f = latch_front(&p->ex[CLS_MEM]);
        struct sm_flight *fl = &s->flight[f];
        if (fl->op != LDST_NO_OP && !ldst_can_issue(s->ldst))
            continue;
        pop_ex(p, CLS_MEM);
        s->collect |= p->bit;
        s->warp[fl->warp].mem_n--;
        if (fl->op == LDST_NO_OP) { /* no lane accesses memory */
            wheel_add(s, f, now + 2);
        } else {
            ldst_issue(s->ldst, fl->op, now);
            if (!fl->returns)
                flight_done(s, f);
        }
    }
}

/* The front of the load/store pipeline's latch waits for that unit. */
static bool
memory_waits(const struct sm *s, const struct sm_part *p)
{
    return s->flight[latch_front(&p->ex[CLS_MEM])].op != LDST_NO_OP &&
           !ldst_can_issue(s->ldst);
}

void
sm_unit_cycle(struct sm *s, uint64_t now)
{
    unsigned memory = 0;
    FOR_BITS(k, s->units)
    {
        struct sm_part *p = &s->part[k];
        FOR_BITS(c, p->in_ex & ~(1u << CLS_MEM))
        for (unsigned u = 0; u < p->nunits[c] && p->ex[c].n; u++)
            start_unit(s, p, (unsigned)c, &p->unit[c][u], now);
        if (p->in_ex >> CLS_MEM & 1)
            memory |= p->bit;
        if (!(p->in_ex & ~(1u << CLS_MEM))) /* else one may take it in any cycle */
            s->units &= (uint8_t)~p->bit;
    }
    if (memory)
        start_memory(s, memory, now);
    FOR_BITS(k, memory)
    {
        struct sm_part *p = &s->part[k];
        if (p->in_ex >> CLS_MEM & 1)
            *(memory_waits(s, p) ? &s->mem_waits : &s->units) |= p->bit;
    }
}
