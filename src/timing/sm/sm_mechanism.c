/* sm_mechanism.c: the SM's side of timing/policy/mechanism.h: it calls handlers of events, asks
 * before an instruction issues or a block starts, and applies what a mechanism changed. */
#include "timing/sm/sm.h"

#include <string.h>

static void
handlers(struct sm *s, unsigned k)
{
    struct sm_mechanism *x = &s->mechanism[k];
#define EVENT(id, when, holds) x->handler[SM_EVENT_##id] = x->m->id;
#include "timing/sm_events.def"
#undef EVENT
    for (unsigned i = 0; i < SM_NEVENTS; i++) {
        if (!x->handler[i])
            continue;
        s->only[i] = !s->listen[i] && x->m->quiet >> i & 1 ? x : NULL;
        s->listen[i] |= (uint8_t)(1u << k);
    }
}

/* What the views say of the slot. */
static void
take_over(struct sm *s, unsigned slot)
{
    s->asks[slot] = 0;
    for (unsigned k = 0; k < s->nmechanisms; k++)
        s->asks[slot] |= (uint8_t)((s->mechanism[k].view.asks[slot] != 0) << k);
}

void
sm_mechanisms_init(struct sm *s, struct arena *a, const struct sm_setup *setup,
                   uint64_t now)
{
    assert(setup->nmechanisms <= SM_MAX_MECHANISMS);
    s->asks = ARENA_ARRAY(a, uint8_t, s->nslots);
    s->timer = NEVER;
    for (unsigned k = 0; k < setup->nmechanisms; k++) {
        const struct mechanism_use *use = &setup->mechanism[k];
        struct sm_mechanism *x = &s->mechanism[k];
        x->m = use->mechanism;
        x->view = (struct sm_view){.nslots = s->nslots,
                                   .cta = s->cta,
                                   .stats = s->stats,
                                   .now = now,
                                   .sm = s->id,
                                   .code = use->code,
                                   .timer = NEVER,
                                   .cls = ARENA_ARRAY(a, uint8_t, s->nslots),
                                   .asks = ARENA_ARRAY(a, uint8_t, s->nslots)};
        memset(x->view.cls, WARP_UNSHARED, s->nslots);
        memset(x->view.asks, 1, s->nslots);
        const void *plan = mechanism_plan(use);
        if (x->m->state_size)
            x->state = arena_alloc(a, x->m->state_size(plan) + 1);
        if (x->m->init)
            x->m->init(x->state, &x->view, s->m, plan);
        s->eager |= (uint8_t)(x->m->eager << k);
        s->peeks |= (uint8_t)(x->m->peeks << k);
        if (x->view.timer < s->timer)
            s->timer = x->view.timer;
        if (x->m->reads && !s->score.unread)
            score_track_reads(&s->score, a, s->nwarps);
        s->nmechanisms++;
        handlers(s, k);
    }
    for (unsigned i = 0; i < s->nslots; i++)
        take_over(s, i);
}

/* A class other than WARP_UNSHARED, where a mechanism gives one. */
enum warp_class
sm_class_of(const struct sm *s, unsigned slot)
{
    for (unsigned k = 0; k < s->nmechanisms; k++)
        if (s->mechanism[k].view.cls[slot] != WARP_UNSHARED)
            return s->mechanism[k].view.cls[slot];
    return WARP_UNSHARED;
}

void
sm_refused_again(struct sm *s)
{
    s->sched_dirty = (uint8_t)((1u << s->nsched) - 1);
    for (unsigned i = 0; i < s->nslots; i++)
        take_over(s, i);
    for (unsigned m = 0; m < s->nmechanisms; m++)
        for (unsigned k = 0; k < s->nsched; k++)
            s->sched[k].waits.by[s->mechanism[m].m->wait] = 0;
    for (unsigned w = 0; w < s->nwarps; w++) {
        struct sm_sched *c = &s->sched[s->warp[w].sched];
        uint64_t bit = (uint64_t)1 << s->warp[w].pos;
        unsigned slot = s->warp[w].slot;
        if (!s->warp[w].ew || !s->cta[slot])
            continue;
        c->wcls[s->warp[w].pos] = (uint8_t)sm_class_of(s, slot);
        c->concern &= ~bit;
        c->eager &= ~bit;
        if (c->head & bit)
            sm_note_concern(s, c, w, &s->prog->inst[s->warp[w].buf_pc]);
    }
}

/* All are told of the warps to which a mechanism has given registers. */
static void
tell_of_registers(struct sm *s, struct sm_mechanism *x)
{
    unsigned warps = s->prog->warps_per_cta;
    for (unsigned v = 0; v < SM_MAX_WARPS / 64; v++) {
        uint64_t got = x->view.got[v];
        x->view.got[v] = 0;
        FOR_BITS(i, got)
        {
            unsigned w = v * 64 + (unsigned)i;
            const struct sm_event e = {.slot = w / warps, .warp = w % warps};
            sm_tell_them(s, SM_EVENT_registers_got, &e, x->view.now);
        }
    }
}

/* Blocks of the first launch start in cycle 0, before which nothing is to be accounted for. */
static uint64_t
cycle_before(uint64_t now)
{
    return now ? now - 1 : 0;
}

/* What a mechanism has written into its view takes effect; true: something has changed. */
static bool
take_back(struct sm *s, struct sm_mechanism *x)
{
    if (x->view.got[0] | x->view.got[1])
        tell_of_registers(s, x);
    if (x->view.changed || x->view.again[0] || x->view.again[1])
        sm_catch_up(s, cycle_before(x->view.now)); /* in which they still waited */
    for (unsigned v = 0; v < SM_MAX_WARPS / 64; v++) {
        FOR_BITS(i, x->view.again[v])
        {
            const struct sm_warp *w = &s->warp[v * 64 + (unsigned)i];
            struct sm_sched *c = &s->sched[w->sched];
            c->waits.by[x->m->wait] &= ~((uint64_t)1 << w->pos);
            if (x->m->once && s->eager == (1u << (x - s->mechanism)))
                c->eager &= ~((uint64_t)1 << w->pos);
            s->sched_dirty |= (uint8_t)(1u << w->sched);
        }
        x->view.again[v] = 0;
    }
    if (!x->view.changed)
        return false;
    x->view.changed = false;
    sm_refused_again(s);
    return true;
}

/* The same, where it may have written nothing. */
static inline bool
take_any_back(struct sm *s, struct sm_mechanism *x)
{
    const struct sm_view *v = &x->view;
    if (v->timer < s->timer)
        s->timer = v->timer;
    return (v->got[0] | v->got[1] | v->again[0] | v->again[1] | v->changed) &&
           take_back(s, x);
}

bool
sm_tell_them(struct sm *s, enum sm_event_id id, const struct sm_event *e, uint64_t now)
{
    bool changed = false;
    FOR_BITS(k, s->listen[id])
    {
        struct sm_mechanism *x = &s->mechanism[k];
        x->view.now = now;
        x->handler[id](x->state, &x->view, e);
        if (x->m->quiet >> id & 1)
            continue;
        if (id == SM_EVENT_block_started)
            take_over(s, e->slot);
        changed |= take_any_back(s, x);
    }
    return changed;
}

void
sm_counted(struct sm *s, uint64_t now)
{
    const struct sm_event e = {0};
    sm_catch_up(s, now);
    if (s->always_on)
        s->stats->regpower_on_cycles = s->always_on * (now - s->start);
    if (s->listen[SM_EVENT_counted])
        sm_tell_them(s, SM_EVENT_counted, &e, now);
}

void
sm_timers(struct sm *s, uint64_t now)
{
    const struct sm_event e = {0};
    s->timer = NEVER;
    for (unsigned k = 0; k < s->nmechanisms; k++) {
        struct sm_mechanism *x = &s->mechanism[k];
        if (x->view.timer <= now) {
            x->view.timer = NEVER;
            x->view.now = now;
            if (x->m->timer)
                x->m->timer(x->state, &x->view, &e);
            s->worked = true;
        }
        take_any_back(s, x);
    }
}

/* A mechanism says that the instruction at hand must not be. */
static void __attribute__((noinline, cold))
broken_rule(struct sm *s, unsigned w, const char *fault)
{
    const struct exec_warp *ew = s->warp[w].ew;
    const struct exec_cta *c = ew->cta;
    struct diag_loc loc = exec_loc(s->prog->grid->prog, ew->pc);
    diag_add(c->diag, DIAG_ERROR, &loc, "kernel '%s', block (%u,%u,%u), warp %u: %s",
             s->prog->grid->prog->entry->name, c->ctaid.x, c->ctaid.y, c->ctaid.z,
             ew->index, fault);
    exec_note_source(s->prog->grid->prog, ew->pc, c->diag);
    s->failure = ALLOT_FAULT_OTHER;
    s->fault = true;
}

/* Asks one for the instruction at hand of warp w. */
static inline bool
ask_one(struct sm *s, struct sm_mechanism *x, unsigned w, const struct sm_event *e,
        uint64_t now)
{
    x->view.now = now;
    bool ok = x->m->may_issue(x->state, &x->view, e);
    if (ok && x->m->quiet & MECHANISM_YES)
        return true;
    take_any_back(s, x);
    if (x->view.fault)
        broken_rule(s, w, x->view.fault);
    if (!ok) {
        const struct sm_warp *at = &s->warp[w];
        s->sched[at->sched].waits.by[x->m->wait] |= (uint64_t)1 << at->pos;
    }
    return ok;
}

bool
sm_ask(struct sm *s, unsigned mechanisms, unsigned w, uint64_t now)
{
    struct exec_access peek;
    const struct exec_warp *ew = s->warp[w].ew;
    bool access = mechanisms & s->peeks && exec_peek_access(ew, &peek);
    const struct sm_event e = {.slot = s->warp[w].slot,
                               .warp = ew->index,
                               .pc = ew->pc,
                               .lanes = ew->active,
                               .st = &s->prog->st[ew->pc],
                               .access = access ? &peek : NULL};
    s->worked = true;
    if (mechanisms == 1) /* most often there is one */
        return ask_one(s, s->mechanism, w, &e, now);
    FOR_BITS(k, mechanisms)
    if (!ask_one(s, &s->mechanism[k], w, &e, now))
        return false;
    return true;
}

void
sm_period(struct sm *sms, unsigned n, uint64_t now)
{
    const struct sm_event e = {.first = sms[0].stats};
    for (unsigned i = 0; i < n; i++)
        sm_catch_up(&sms[i], cycle_before(now));
    for (unsigned i = 0; i < n; i++) {
        struct sm *s = &sms[i];
        uint64_t wake = sm_tell_them(s, SM_EVENT_period, &e, now) ? now : s->timer;
        if (wake < s->pipe_wake)
            s->pipe_wake = wake;
        if (wake < s->wake)
            s->wake = wake;
    }
}

bool
sm_waits_for_period(const struct sm *sms, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < sms[i].nmechanisms; k++)
            if (sms[i].mechanism[k].view.waits)
                return true;
    return false;
}
