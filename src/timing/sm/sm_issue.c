/* sm_issue.c: the warp schedulers.
 *
 * Everything that keeps a warp from issuing is a bit in a mask of its scheduler, changed
 * when it changes, so that a scheduler's cycle is a few bit operations: candidates = an
 * instruction of the warp's path at hand, no hazard, no barrier, no lock; ready =
 * candidates whose issue latch has room. The policy picks one of the ready; up to
 * issue_width instructions of that warp issue. The instruction is executed functionally
 * here.
 *
 * A branch is resolved when it issues. Instructions in the warp's buffer that are not on
 * its path are flushed in the scheduler's next turn, and fetch starts anew. With an issue
 * width of two that is at once, as the second of the pair. */
#include "timing/sm/sm.h"

/* -- what the head instruction of a warp's buffer allows -- */

void
sm_head_changed(struct sm *s, unsigned w)
{
    struct sm_sched *c = &s->sched[s->warp[w].sched];
    uint64_t bit = (uint64_t)1 << s->warp[w].pos;
    const struct exec_warp *ew = s->warp[w].ew;
    s->sched_dirty |= (uint8_t)(1u << c->index);
    c->head &= ~bit;
    c->bad &= ~bit;
    c->concern &= ~bit;
    c->eager &= ~bit;
    c->folded &= ~bit;
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    c->waits.id &= SM_WAIT_##holds == SM_WAIT_HEAD ? ~bit : ~0ull;
#include "timing/waits.def"
#undef WAIT
    for (unsigned k = 0; k < SM_NCLS; k++)
        c->cls[k] &= ~bit;
    if (ew->state == EXEC_DONE) {
        s->warp[w].buf_n = 0;
        bitset_del(s->want, w);
        return;
    }
    if (!s->warp[w].buf_n) {
        if (!bitset_has(s->coming, w))
            bitset_add(s->want, w);
        return;
    }
    if (s->warp[w].buf_pc != ew->pc) {
        c->bad |= bit;
        return;
    }
    const struct sm_inst *in = &s->prog->inst[ew->pc];
    c->head |= bit;
    *(in->folded ? &c->folded : &c->cls[in->cls]) |= bit; /* needs no room of a class */
    if (score_hazard(&s->score, w, in->reg, (unsigned)in->nsrc + in->ndst)) {
        bool load = score_hazard_in(&s->score, s->score.memory, w, in->reg,
                                    (unsigned)in->nsrc + in->ndst);
        *(load ? &c->waits.memory : &c->waits.result) |= bit;
    } else if (score_is_unread(&s->score, w, in->reg, sm_inst_registers(in))) {
        c->waits.result |= bit;
        bitset_add(s->unread, w);
    } else {
        warp_soon(s, w);
    }
    if (in->concern)
        sm_note_concern(s, c, w, in);
}

/* Throws away what is in the buffers of these warps. */
static void
flush(struct sm *s, struct sm_sched *c, uint64_t warps)
{
    FOR_BITS(i, warps)
    {
        unsigned w = (unsigned)i * s->nsched + c->index;
        s->warp[w].buf_n = 0;
        s->warp[w].fetch_pc = s->warp[w].ew->pc;
        sm_tell(s, SM_EVENT_flushed, w, SM_NO_PC, 0, s->now);
        s->stats->fetch_wrong_path++;
        sm_head_changed(s, w);
    }
    s->worked = true;
}

static uint8_t
all_schedulers(const struct sm *s)
{
    return (uint8_t)((1u << s->nsched) - 1);
}

/* -- issue -- */

static void
warp_ended(struct sm *s, struct sm_sched *c, unsigned i, unsigned w)
{
    c->live &= ~((uint64_t)1 << i);
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    c->waits.id &= SM_WAIT_##holds == SM_WAIT_WARP ? ~((uint64_t)1 << i) : ~0ull;
#include "timing/waits.def"
#undef WAIT
    bitset_add(s->finishing, w);
    bitset_add(s->quiet, w);
    s->live_warps--;
    if (s->policy->warp)
        s->policy->warp(c->state, &c->view, (int)i, false);
}

/* Classes for which no instruction can issue now. */
static unsigned
full(const struct sm *s, const struct sm_part *p)
{
    if (!flight_room(s))
        return (1u << SM_NCLS) - 1;
    return p->id_full | (unsigned)!ldst_can_prepare(s->ldst) << CLS_MEM;
}

/* Counts an instruction that has been executed by so many lanes. */
static void
count_line(struct sm_lines *l, uint64_t lanes)
{
    uint64_t *v = l->at[l->issuing].v;
    v[LINE_warp_instructions]++;
    v[LINE_thread_instructions] += lanes;
}

/* Warp w executes the head of its buffer; false: a fault. */
static bool
execute(struct sm *s, unsigned w, const struct sm_inst *in, struct exec_step *st)
{
    struct exec_warp *ew = s->warp[w].ew;
    if (s->lines)
        sm_lines_issue(s->lines, &s->sched[s->warp[w].sched], w, ew->pc);
    if (exec_step(ew, st) != EXEC_OK) {
        s->failure = ew->cta->failure;
        s->fault = true;
        return false;
    }
    if (in->operand)
        return true;
    unsigned lanes = (unsigned)__builtin_popcount(st->mask);
    s->stats->warp_instructions++;
    s->stats->thread_instructions += lanes;
    *(uint64_t *)((char *)s->stats + in->ops) += lanes;
    s->stats->other_operands += in->nother;
    if (s->lines)
        count_line(s->lines, lanes);
    return true;
}

/* Whether all mechanisms that the head instruction of warp w concerns let it issue. */
static bool
all_allow(struct sm *s, unsigned w, uint64_t now)
{
    unsigned who = s->prog->inst[s->warp[w].buf_pc].concern & s->asks[s->warp[w].slot];
    return !who || sm_ask(s, who, w, now);
}

/* Warps whose head instruction is a part or an operand of a later one go on to that: it is
 * executed, in no slot and no pipeline, and nobody waits for its result. Where it must not
 * be, as in shared scratchpad, the warp waits for it as for any other. */
static void
pass_folded(struct sm *s, struct sm_sched *c, uint64_t now)
{
    struct exec_step st;
    for (uint64_t at; (at = c->folded & c->head & ~sm_waits_any(c)) != 0;) {
        unsigned w = (unsigned)bit_lowest(at) * s->nsched + c->index;
        uint32_t pc = s->warp[w].ew->pc;
        if (!all_allow(s, w, now))
            continue; /* it waits now */
        if (!execute(s, w, &s->prog->inst[pc], &st))
            return;
        sm_tell(s, SM_EVENT_issued, w, pc, st.mask, now);
        sm_tell(s, SM_EVENT_operands_read, w, pc, 0, now);
        sm_tell(s, SM_EVENT_written_back, w, pc, 0, now);
        s->warp[w].buf_pc++;
        s->warp[w].buf_n--;
        sm_head_changed(s, w);
        s->worked = true;
    }
}

/* The warp at position i issues the head of its buffer. */
static void
issue_one(struct sm *s, struct sm_sched *c, unsigned i, uint64_t now,
          struct exec_step *st)
{
    unsigned w = i * s->nsched + c->index;
    struct exec_warp *ew = s->warp[w].ew;
    uint32_t pc = ew->pc;
    const struct sm_inst *in = &s->prog->inst[pc];
    if (!execute(s, w, in, st))
        return;
    s->stats->machine_operations += in->slots;
    if (s->lines)
        s->lines->at[pc].v[LINE_machine_operations] += in->slots;
    c->busy = (uint16_t)(c->busy + in->slots - 1);
    s->stats->register_writes += in->ndst;
    s->stats->barriers += in->barrier;
    sm_tell(s, SM_EVENT_issued, w, pc, st->mask, now);

    uint16_t f = flight_new(s);
    struct sm_flight *fl = &s->flight[f];
    fl->pc = pc;
    fl->warp = (uint8_t)w;
    fl->cls = in->cls;
    fl->op = LDST_NO_OP;
    fl->returns = false;
    s->warp[w].flight_n++;
    if (in->mem) {
        s->warp[w].mem_n++;
        if (st->has_access) {
            fl->returns = !st->access.store;
            fl->op = ldst_prepare(s->ldst, &st->access, w, f, now);
            if (in->scaled && fl->op != LDST_NO_OP)
                ldst_scaled(s->ldst, fl->op);
            if (st->access.atomic && s->m->memory.atomics_hold_warp)
                sm_poll(s, &c->waits.atomic, (uint64_t)1 << i);
        }
    }
    if (s->score.unread) {
        score_will_read(&s->score, w, in->reg, in->nsrc);
        score_will_read(&s->score, w, in->reg + in->nsrc + in->ndst, in->naddr);
    }
    if (in->ndst)
        score_reserve(&s->score, w, in->reg + in->nsrc, in->ndst, in->mem);
    struct sm_part *p = &s->part[c->part];
    push_id(p, in->cls, f);
    s->collect |= p->bit;

    s->warp[w].buf_pc++;
    s->warp[w].buf_n--;
    if (in->jump && s->m->sm.branch_latency && ew->pc != pc + 1 &&
        ew->state == EXEC_READY)
        sm_branch_taken(s, w, now);
    if (in->barrier && st->mask)
        sm_barrier_arrives(s, w, now);
    if (in->barrier && ew->state == EXEC_BARRIER)
        c->waits.barrier |= (uint64_t)1 << i;
    if (in->fence)
        sm_poll(s, &c->waits.fence, (uint64_t)1 << i);
    if (in->copy && sm_copies_issue(s, w, in, st))
        sm_poll(s, &c->waits.copy, (uint64_t)1 << i);
    if (in->product >= PRODUCT_REGISTERS_DEC) {
        if (sm_registers_issue(s, w, in, st->mask))
            sm_poll(s, &c->waits.registers, (uint64_t)1 << i);
    } else if (in->product && sm_products_issue(s, w, in, st->mask)) {
        sm_poll(s, &c->waits.product, (uint64_t)1 << i);
    }
    if (ew->state == EXEC_DONE)
        warp_ended(s, c, i, w);
    if (in->operation)
        sm_tell(s, SM_EVENT_operation, w, pc, st->mask, now);
    if (st->ended)
        sm_tell(s, SM_EVENT_threads_ended, w, SM_NO_PC, st->ended, now);
    if (st->woken)
        sm_barrier_opens(s, w, st->woken, now);
    sm_head_changed(s, w);
    s->worked = true;
}

/* Whether the mechanisms that the head instruction of warp w concerns let it issue. */
static bool
allowed(struct sm *s, unsigned w, uint64_t now)
{
    unsigned who = s->prog->inst[s->warp[w].buf_pc].concern & s->asks[s->warp[w].slot];
    return sm_ask(s, who & ~(unsigned)s->eager, w, now);
}

/* The same of those that are asked before the scheduler chooses: these warps of c, for which
 * nothing else speaks against their head instruction. Returns those that may. */
static uint64_t
allowed_early(struct sm *s, struct sm_sched *c, uint64_t warps, uint64_t now)
{
    uint64_t may = warps;
    FOR_BITS(i, warps & c->eager)
    {
        unsigned w = (unsigned)i * s->nsched + c->index;
        unsigned who = s->prog->inst[s->warp[w].buf_pc].concern;
        uint64_t bit = (uint64_t)1 << i;
        if (sm_ask(s, who & s->eager, w, now))
            c->eager &= ~bit;
        else
            may &= ~bit;
    }
    return may;
}

/* True if it issued. */
static bool
issue_sched(struct sm *s, struct sm_sched *c, uint64_t now)
{
    struct exec_step step; /* of the instruction issued last */
    if (c->folded)
        pass_folded(s, c, now);
    if (s->fault)
        return true;
    if (c->busy) {
        c->busy--;
        s->worked = true;
        return true;
    }
    if (c->bad) {
        uint64_t wrong = c->bad & ~sm_waits_warp(c);
        if (wrong)
            flush(s, c, wrong);
    }
    uint64_t ready = c->head & ~sm_waits_any(c);
    if (ready & c->eager)
        ready = allowed_early(s, c, ready, now);
    if (!ready)
        return false;
    const struct sm_part *p = &s->part[c->part];
    FOR_BITS(k, full(s, p))
    ready &= ~c->cls[k];
    c->view.now = now;
    while (ready) {
        unsigned i = (unsigned)s->policy->pick(c->state, &c->view, ready);
        uint64_t bit = (uint64_t)1 << i;
        unsigned w = i * s->nsched + c->index, n = 0;
        bool slow = false;
        if (c->concern & bit && !allowed(s, w, now)) {
            ready &= ~bit;
            continue;
        }
        unsigned used = 0;
        for (;;) {
            const struct sm_inst *in = &s->prog->inst[s->warp[w].buf_pc];
            used |= 1u << in->cls;
            issue_one(s, c, i, now, &step);
            if (s->fault)
                return true;
            n++;
            slow |= in->mem && in->ndst && step.has_access &&
                    step.access.space != PTX_SPACE_SHARED &&
                    step.access.space != PTX_SPACE_CONST &&
                    step.access.space != PTX_SPACE_PARAM;
            if (n >= s->m->sm.issue_width || c->busy || sm_waits_warp(c) & bit)
                break;
            if (c->bad & bit) {
                flush(s, c, bit);
                break;
            }
            if (!(c->head & ~sm_waits_any(c) & ~c->folded & bit))
                break;
            in = &s->prog->inst[s->warp[w].buf_pc];
            if (full(s, p) >> in->cls & 1 ||
                (s->m->sm.dual_issue_different_units && used >> in->cls & 1) ||
                (c->eager & bit && !allowed_early(s, c, bit, now)) ||
                (c->concern & bit && !allowed(s, w, now)))
                break;
        }
        if (s->policy->issued)
            s->policy->issued(c->state, &c->view, (int)i, (int)n, slow);
        s->stats->dual_issues += n > 1;
        return true;
    }
    return false;
}

/* Why this scheduler issues nothing in its present state. */
static enum sm_cause
issue_cause(const struct sm_sched *c, uint64_t ready)
{
    if (!c->live)
        return CAUSE_empty;
    if (ready)
        return CAUSE_stall;
    uint64_t held = sm_waits_warp(c);
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    if (c->waits.id & (SM_WAIT_##holds == SM_WAIT_WARP ? ~0ull : ~held))                 \
        return CAUSE_##cause;
#include "timing/waits.def"
#undef WAIT
    return CAUSE_fetch;
}

void
sm_issue_cycle(struct sm *s, uint64_t now)
{
    unsigned first = wrap(now, s->nsched);
    if (s->every)
        s->sched_dirty = all_schedulers(s);
    for (unsigned k = 0; k < s->nsched; k++) {
        unsigned turn = first + k - (first + k < s->nsched ? 0 : s->nsched);
        struct sm_sched *c = &s->sched[turn];
        if (!(s->sched_dirty >> turn & 1)) /* one before may have opened its barrier */
            continue;
        c->cause = (uint8_t)(issue_sched(s, c, now)
                                 ? CAUSE_used
                                 : issue_cause(c, c->head & ~sm_waits_any(c)));
        if (s->lines)
            sm_lines_share(s, c);
        if (s->fault)
            return;
    }
}

/* A scheduler without a ready warp whose class has room is not evaluated again before
 * something that it sees changes: until then each cycle has the same cause. */
void
sm_issue_over(struct sm *s)
{
    FOR_BITS(k, s->sched_dirty)
    {
        struct sm_sched *c = &s->sched[k];
        struct sm_part *p = &s->part[c->part];
        uint64_t ready = c->head & ~sm_waits_any(c), ask = ready & c->eager;
        if (c->busy)
            continue;
        c->cause =
            (uint8_t)issue_cause(c, ready); /* another may have opened its barrier */
        if (s->lines)
            sm_lines_share(s, c);
        FOR_BITS(i, ready ? p->id_full : 0)
        if (ready & c->cls[i]) {
            ready &= ~c->cls[i];
            p->waits[i] |= (uint8_t)(1u << k);
        }
        if (!(ready | ask | (c->bad & ~sm_waits_warp(c))))
            s->sched_dirty &= (uint8_t) ~(1u << k);
    }
}
