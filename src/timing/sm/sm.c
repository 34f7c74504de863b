/* sm.c: one streaming multiprocessor: the order of its stages, instruction fetch, the
 * life of blocks and warps, sleep and the accounts of each cycle. The pipeline follows
 * the structure that GPGPU-Sim documents for Fermi-like SMs (Bakhoda et al., ISPASS 2009;
 * its manual, "SIMT core"); docs/model.md has the rules.
 *
 * Sleep: a cycle in which nothing moved would repeat itself until a result is written
 * back, the load/store unit has an event, or something comes from outside; until then the
 * SM is not stepped, and the cycles are added to the counters by arithmetic. An event of
 * the load/store unit that the rest of the SM cannot see is no cycle either. */
#include "timing/sm/sm.h"

#include <stddef.h>
#include <string.h>

static void
init_scheds(struct sm *s, struct arena *a)
{
    for (unsigned w = 0; w < s->nwarps; w++) {
        s->warp[w].sched = (uint8_t)(w % s->nsched);
        s->warp[w].pos = (uint8_t)(w / s->nsched);
    }
    for (unsigned k = 0; k < s->nsched; k++) {
        struct sm_sched *c = &s->sched[k];
        unsigned n = (s->nwarps + s->nsched - 1 - k) / s->nsched;
        c->index = (uint8_t)k;
        c->part = (uint8_t)(s->split ? k : 0);
        c->cause = CAUSE_empty;
        c->dynamic_id = ARENA_ARRAY(a, uint32_t, n + 1);
        c->wcls = ARENA_ARRAY(a, uint8_t, n + 1);
        c->view = (struct sched_view){
            .n = n, .dynamic_id = c->dynamic_id, .cls = c->wcls, .machine = s->m};
        c->state = arena_alloc(a, s->policy->state_size + 1);
        if (s->policy->init)
            s->policy->init(c->state, n, s->m);
    }
}

void
sm_init(struct sm *s, struct arena *a, const struct machine *m,
        const struct sched_policy *policy, const struct sm_setup *setup,
        const struct sm_program *prog, struct ldst *ldst, struct stat_sm *stats,
        struct exec_log *log, unsigned id, uint64_t now)
{
    memset(s, 0, sizeof *s);
    s->m = m;
    s->policy = policy;
    s->prog = prog;
    s->ldst = ldst;
    s->stats = stats;
    s->log = log;
    s->id = id;
    s->nslots = setup->blocks;
    s->always_on = setup->always_on;
    s->start = now;
    s->nwarps = s->nslots * prog->warps_per_cta;
    s->nsched = m->sm.schedulers;
    s->split = m->sm.sub_cores == SUB_CORES_SPLIT;
    s->nparts = s->split ? s->nsched : 1;
    s->stepped = now;
    s->fetched = SM_NO_INST;
    s->last_fetch = (uint16_t)(s->nwarps - 1);
    init_scheds(s, a);
    score_init(&s->score, a, s->nwarps, prog->nregs);
    collector_init(s, a);
    sm_unit_init(s, a);
    sm_copies_init(s, a);
    sm_products_init(s, a);
    sm_barriers_init(s, a);
    s->cta = ARENA_ARRAY(a, struct exec_cta *, s->nslots);
    s->store = ARENA_ARRAY(a, struct exec_cta *, s->nslots);
    s->warps_left = ARENA_ARRAY(a, uint16_t, s->nslots);
    sm_mechanisms_init(s, a, setup, now);
    s->wake = s->timer;
}

void
sm_free(struct sm *s)
{
    for (unsigned k = 0; k < s->nslots; k++)
        exec_cta_free(s->store[k]);
    diag_free(&s->diag);
}

/* -- blocks -- */

bool
sm_has_room(const struct sm *s)
{
    if (s->blocks >= s->nslots)
        return false;
    for (unsigned k = 0; k < s->nmechanisms; k++) {
        const struct sm_mechanism *x = &s->mechanism[k];
        if (x->m->may_start && !x->m->may_start(x->state, &x->view))
            return false;
    }
    return true;
}

void
sm_start_block(struct sm *s, uint32_t id, uint64_t now)
{
    sm_catch_up(s, now);
    unsigned k = 0;
    while (s->cta[k])
        k++;
    if (!s->store[k])
        s->store[k] = exec_cta_new(s->prog->grid);
    struct exec_cta *b = s->store[k];
    b->clock = &s->now;
    b->diag = &s->diag;
    b->log = s->log;
    b->slot = k;
    b->sm = s->id;
    exec_cta_start(b, id);
    s->cta[k] = b;
    s->warps_left[k] = (uint16_t)b->nwarps;
    s->blocks++;
    s->live_warps += b->nwarps;
    if (s->listen[SM_EVENT_block_started])
        sm_tell_them(s, SM_EVENT_block_started, &(struct sm_event){.slot = k}, now);
    for (unsigned i = 0; i < b->nwarps; i++) {
        unsigned w = k * s->prog->warps_per_cta + i, pos = s->warp[w].pos;
        struct sm_sched *c = &s->sched[s->warp[w].sched];
        s->warp[w].ew = &b->warp[i];
        s->warp[w].regs = b->warp[i].regs;
        s->warp[w].slot = (uint8_t)k;
        s->warp[w].buf_n = 0;
        sm_copies_start(s, w);
        sm_products_start(s, w);
        s->warp[w].fetch_pc = b->warp[i].pc;
        b->warp[i].dynamic_id = c->dynamic_id[pos] = s->next_dynamic_id++;
        c->wcls[pos] = (uint8_t)sm_class_of(s, k);
        c->live |= (uint64_t)1 << pos;
        if (s->policy->warp)
            s->policy->warp(c->state, &c->view, (int)pos, true);
        sm_tell(s, SM_EVENT_warp_started, w, SM_NO_PC, b->warp[i].active, now);
        sm_head_changed(s, w);
    }
    s->pipe_wake = now + 1;
    if (s->wake > now + 1)
        s->wake = now + 1;
}

static void
end_block(struct sm *s, unsigned k, uint64_t now)
{
    s->cta[k] = NULL;
    s->blocks--;
    s->blocks_done++;
    s->stats->blocks_run++;
    if (s->listen[SM_EVENT_block_ended])
        sm_tell_them(s, SM_EVENT_block_ended, &(struct sm_event){.slot = k}, now);
    if (s->nmechanisms)
        sm_refused_again(s);
    s->worked = true;
}

/* Warps that ended leave when their instructions are through and their stores
 * acknowledged; fences open likewise (poll_waits), and warps held by their atomics. */
static void
retire(struct sm *s, uint64_t now)
{
    for (unsigned v = 0; v * 64 < s->nwarps; v++) {
        uint64_t candidates = s->finishing[v] & s->quiet[v];
        s->quiet[v] = 0;
        FOR_BITS(i, candidates)
        {
            unsigned w = v * 64 + (unsigned)i, k = s->warp[w].slot;
            if (s->warp[w].flight_n || ldst_outstanding(s->ldst, w))
                continue;
            sm_catch_up(s, now);
            bitset_del(s->finishing, w);
            s->worked = true;
            sm_tell(s, SM_EVENT_warp_ended, w, SM_NO_PC, 0, now);
            if (--s->warps_left[k] == 0)
                end_block(s, k, now);
        }
    }
}

/* Reasons to wait that end by being asked whether they have. */
static void
poll_waits(struct sm *s)
{
    s->polled = false;
    for (unsigned k = 0; k < s->nsched; k++) {
        struct sm_sched *c = &s->sched[k];
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    FOR_BITS(i, SM_WAIT_##ends == SM_WAIT_POLL ? c->waits.id : 0)                        \
    {                                                                                    \
        unsigned w __attribute__((unused)) = (unsigned)i * s->nsched + k;                \
        if (!(over)) {                                                                   \
            s->polled = true;                                                            \
            continue;                                                                    \
        }                                                                                \
        c->waits.id &= ~((uint64_t)1 << i);                                              \
        s->worked = true;                                                                \
        s->sched_dirty |= (uint8_t)(1u << k);                                            \
    }
#include "timing/waits.def"
#undef WAIT
    }
}

/* -- fetch -- */

/* Instructions of a fetch from pc on. What takes no issue slot is no instruction of a card's
 * code, so it comes with the next that is. */
static uint32_t
fetched_instructions(const struct sm *s, uint32_t pc)
{
    enum { MOST = UINT8_MAX }; /* what buf_n counts */
    const uint32_t width = s->m->sm.fetch_width, left = s->prog->ninst - pc;
    if (pc >= s->prog->ninst) /* past the end: on no path, found out at issue */
        return 1;
    if (!s->prog->folds)
        return width < left ? width : left;
    uint32_t n = 0;
    for (uint32_t k = 0; k < width && n < left && n < MOST; n++)
        k += !s->prog->inst[pc + n].folded;
    return n;
}

static void
decode(struct sm *s)
{
    unsigned w = s->fetched;
    uint32_t pc = s->warp[w].fetch_pc, n = fetched_instructions(s, pc);
    s->fetched = SM_NO_INST;
    bitset_del(s->coming, w);
    s->warp[w].buf_pc = pc;
    s->warp[w].buf_n = (uint8_t)n;
    s->warp[w].fetch_pc = pc + n;
    s->stats->fetches++;
    for (uint32_t i = 0; s->listen[SM_EVENT_decoded] && i < n && pc + i < s->prog->ninst;
         i++)
        if (!s->prog->inst[pc + i].operand)
            sm_tell(s, SM_EVENT_decoded, w, pc + i, 0, s->now);
    sm_head_changed(s, w);
    s->worked = true;
}

/* Next warp that wants instructions, after the one fetched for last; -1: none. */
static int
next_wanting(const struct sm *s)
{
    unsigned words = (s->nwarps + 63) / 64, start = s->last_fetch + 1u;
    if (start >= s->nwarps)
        start = 0;
    for (unsigned k = 0; k <= words; k++) {
        unsigned v = wrap(start / 64 + k, words);
        uint64_t set = s->want[v];
        if (k == 0)
            set = set >> (start % 64) << (start % 64);
        if (set)
            return (int)(v * 64 + (unsigned)bit_lowest(set));
    }
    return -1;
}

/* Where it lies in the code, which has no room for what is folded. */
static uint64_t
place_of(const struct sm_program *p, uint32_t pc)
{
    return p->folds && pc < p->ninst ? p->inst[pc].place : pc;
}

static void
fetch_cycle(struct sm *s, uint64_t now)
{
    for (unsigned k = s->m->sm.fetch_per_cycle; k; k--) {
        if (s->fetched != SM_NO_INST)
            decode(s);
        unsigned v = s->woken[0] ? 0 : 1;
        if (s->woken[v]) { /* a line that came goes to its warp */
            unsigned w = v * 64 + (unsigned)bit_lowest(s->woken[v]);
            bitset_del(s->woken, w);
            s->fetched = (uint16_t)w;
            s->worked = true;
            continue;
        }
        int w = next_wanting(s);
        if (w < 0) {
            if (s->fetched == SM_NO_INST)
                break;
            continue;
        }
        s->last_fetch = (uint16_t)w;
        s->worked = true;
        enum ldst_fetch r =
            ldst_fetch(s->ldst,
                       s->prog->code_address +
                           place_of(s->prog, s->warp[w].fetch_pc) * EXEC_INST_BYTES,
                       (unsigned)w, now);
        if (r == FETCH_RETRY)
            continue;
        bitset_del(s->want, (size_t)w);
        bitset_add(s->coming, (size_t)w);
        if (r == FETCH_HIT)
            s->fetched = (uint16_t)w;
    }
}

/* -- accounts -- */

static inline uint64_t *
cause_counter(struct stat_sm *t, enum sm_cause cause)
{
    static const uint16_t at[] = {
#define AT(id, word, meaning) [CAUSE_##id] = offsetof(struct stat_sm, issue_##id),
        ISSUE_CAUSES(AT, AT)
#undef AT
    };
    return (uint64_t *)(void *)((char *)t + at[cause]);
}

/* Of an SM whose schedulers have these causes: one bit each. */
static inline uint64_t *
cycle_counter(struct stat_sm *t, unsigned causes)
{
    enum { USED = 1 << CAUSE_used, STALL = 1 << CAUSE_stall };
    static const uint16_t at[] = {
        [0] = offsetof(struct stat_sm, idle_cycles),
        [USED] = offsetof(struct stat_sm, active_cycles),
        [STALL] = offsetof(struct stat_sm, stall_cycles),
        [USED | STALL] = offsetof(struct stat_sm, active_cycles),
    };
    return (uint64_t *)(void *)((char *)t + at[causes & (USED | STALL)]);
}

/* n cycles in which each scheduler had its cause. */
static void
account(struct sm *s, uint64_t n)
{
    struct stat_sm *t = s->stats;
    unsigned causes = 0;
    for (unsigned k = 0; k < s->nsched; k++) {
        const struct sm_sched *c = &s->sched[k];
        *cause_counter(t, c->cause) += n;
        causes |= 1u << c->cause;
        if (c->waits.lock | c->waits.wakeup) {
            t->share_wait_cycles += (unsigned)bit_count(c->waits.lock) * n;
            t->regpower_wait_cycles += (unsigned)bit_count(c->waits.wakeup) * n;
        }
    }
    if (s->lines)
        sm_lines_account(s, s->stepped, s->stepped + n);
    t->issue_slots += n * s->nsched;
    *cycle_counter(t, causes) += n;
    t->resident_block_cycles += n * s->blocks;
    t->occupied_cycles += s->blocks ? n : 0;
    t->resident_warp_cycles += n * s->live_warps;
}

void
sm_catch_up(struct sm *s, uint64_t now)
{
    if (s->stepped >= now)
        return;
    account(s, now - s->stepped);
    s->stepped = now;
}

void
sm_end(struct sm *s, uint64_t now)
{
    sm_catch_up(s, now);
    uint64_t n = s->stepped - now;
    s->stats->issue_empty -= n * s->nsched;
    s->stats->issue_slots -= n * s->nsched;
    s->stats->idle_cycles -= n;
    if (s->lines)
        sm_lines_take_back(s->lines, n * s->nsched);
    s->stepped = now;
}

/* -- the cycle -- */

/* Whether anything else but write-back and the load/store unit may, once collectors and
 * pipelines have done something. */
static bool
front_waits(const struct sm *s)
{
    uint64_t any = 0;
    for (unsigned v = 0; v < SM_MAX_WARPS / 64; v++)
        any |= s->want[v] | s->woken[v] | s->arriving[v];
    return any || s->sched_dirty | s->polled;
}

/* What the load/store unit tells of warps. */
static void
take_in(struct sm *s)
{
    uint64_t *came = ldst_fetch_woken(s->ldst), *acknowledged = ldst_quiet(s->ldst);
    for (unsigned v = 0; v < SM_MAX_WARPS / 64; v++) {
        s->woken[v] |= came[v];
        s->quiet[v] |= acknowledged[v];
        came[v] = acknowledged[v] = 0;
    }
}

static void
sleep(struct sm *s, uint64_t now)
{
    uint64_t b = ldst_next_event(s->ldst, now);
    s->wake = s->pipe_wake < b ? s->pipe_wake : b;
}

void
sm_cycle(struct sm *s, uint64_t now)
{
    bool asleep = s->pipe_wake > now && !s->trace;
    if (asleep) { /* most replies change nothing that the rest of the SM sees */
        ldst_cycle(s->ldst, now);
        if (!ldst_touched(s->ldst)) {
            sleep(s, now);
            return;
        }
        take_in(s);
    }
    s->now = now;
    if (s->log)
        s->log->now = now;
    s->worked = false;
    sm_writeback_cycle(s, now);
    if (!asleep) {
        ldst_cycle(s->ldst, now);
        if (ldst_touched(s->ldst))
            take_in(s);
    }
    if (s->mem_waits && ldst_can_issue(s->ldst)) {
        s->units |= s->mem_waits;
        s->mem_waits = 0;
    }
    if (s->every)
        s->units = s->collect = (uint8_t)((1u << s->nparts) - 1);
    sm_writeback_memory(s);
    if (s->timer <= now)
        sm_timers(s, now);
    if (s->opens_at <= now)
        sm_barriers_cycle(s, now);
    if (s->units)
        sm_unit_cycle(s, now);
    if (s->collect | s->written)
        collector_cycle(s);
    if (s->polled)
        poll_waits(s);
    if (s->arriving[0] | s->arriving[1])
        sm_copies_cycle(s);
    if (s->sched_dirty | s->every) {
        sm_catch_up(s, now - 1);
        sm_issue_cycle(s, now);
        if (s->fault)
            return;
        account(s, 1);
        s->stepped = now;
        sm_issue_over(s);
    }
    if (s->finishing[0] | s->finishing[1])
        retire(s, now);
    if (s->fetched != SM_NO_INST || s->want[0] | s->want[1] | s->woken[0] | s->woken[1])
        fetch_cycle(s, now);
    uint32_t token;
    bool due = s->fetched != SM_NO_INST || ldst_done_peek(s->ldst, &token);
    due |= s->units | s->collect || (s->worked && front_waits(s));
    s->pipe_wake = due ? now + 1 : sm_unit_next_event(s, now);
    if (s->timer < s->pipe_wake)
        s->pipe_wake = s->timer;
    if (s->opens_at < s->pipe_wake)
        s->pipe_wake = s->opens_at;
    sleep(s, now);
    if (s->trace)
        trace_cycle(s->trace, s, now);
}

/* -- explanation of an SM that is stuck -- */

static void
explain_warp(const struct sm *s, unsigned w, struct strbuf *out)
{
    const struct sm_sched *c = &s->sched[s->warp[w].sched];
    uint64_t bit = (uint64_t)1 << s->warp[w].pos;
    const struct exec_warp *ew = s->warp[w].ew;
    strbuf_printf(out, "    warp %u: ", ew->index);
    if (ew->state == EXEC_DONE)
        strbuf_printf(out,
                      "ended%s; %u instructions under way, %u memory operations "
                      "not acknowledged\n",
                      bitset_has(s->finishing, w) ? ", not yet retired" : "",
                      s->warp[w].flight_n, ldst_outstanding(s->ldst, w));
    else {
        const struct exec_prog *p = s->prog->grid->prog;
        strbuf_printf(out, "line %u (%s): ", exec_loc(p, ew->pc).line,
                      ptx_ops[p->st[ew->pc].op].mnemonic);
        switch (sm_wait_of(c, bit)) {
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    case WAIT_##id:                                                                      \
        strbuf_printf(out, __VA_ARGS__);                                                 \
        break;
#include "timing/waits.def"
#undef WAIT
        case SM_NWAITS:
            strbuf_addz(out, c->head & bit ? "ready, its unit is busy"
                                           : "waits for instructions");
        }
        strbuf_addz(out, "\n");
    }
}

void
sm_explain(const struct sm *s, struct strbuf *out)
{
    for (unsigned k = 0; k < s->nslots; k++) {
        const struct exec_cta *b = s->cta[k];
        if (!b)
            continue;
        strbuf_printf(out, "  SM %u slot %u: block (%u,%u,%u): ", s->id, k, b->ctaid.x,
                      b->ctaid.y, b->ctaid.z);
        exec_explain_cta(b, out);
        for (unsigned i = 0; i < s->nmechanisms; i++) {
            if (!s->mechanism[i].m->explain)
                continue;
            strbuf_addz(out, "; ");
            s->mechanism[i].m->explain(s->mechanism[i].state, k, out);
        }
        strbuf_addz(out, "\n");
        for (unsigned i = 0; i < b->nwarps; i++)
            explain_warp(s, k * s->prog->warps_per_cta + i, out);
    }
    if (!ldst_idle(s->ldst)) {
        strbuf_printf(out, "  SM %u load/store unit: ", s->id);
        ldst_explain(s->ldst, out);
        strbuf_addz(out, "\n");
    }
}
