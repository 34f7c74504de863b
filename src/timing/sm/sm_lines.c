/* sm_lines.c: see sm_lines.h. */
#include "timing/sm/sm_lines.h"

#include "timing/sm/sm.h"

static_assert((int)SM_LINES_SCHEDULERS == (int)SM_MAX_SCHED, "one share a scheduler");
static_assert((int)SM_LINES_WARPS == (int)SM_MAX_WARPS, "one instruction a warp slot");

struct sm_lines *
sm_lines_new(struct arena *a, uint32_t ninst, uint32_t nops)
{
    struct sm_lines *l = ARENA_ARRAY(a, struct sm_lines, 1);
    l->at = ARENA_ARRAY(a, struct line_counts, (size_t)ninst + 1);
    l->op = ARENA_ARRAY(a, uint32_t, nops);
    l->ninst = ninst;
    for (unsigned i = 0; i < SM_MAX_SCHED; i++)
        l->share[i].pc = ninst;
    return l;
}

void
sm_lines_issue(struct sm_lines *l, const struct sm_sched *c, unsigned w, uint32_t pc)
{
    l->issuing = pc;
    l->used[c->index] = l->last[w] = pc;
}

void
sm_lines_share(struct sm *s, const struct sm_sched *c)
{
    struct sm_lines *l = s->lines;
    uint64_t next = 0, last = 0;
    uint32_t pc = l->ninst;
    switch ((enum sm_cause)c->cause) {
    case CAUSE_used:
        pc = l->used[c->index];
        break;
    case CAUSE_empty:
        break;
    case CAUSE_stall:
        next = c->head & ~sm_waits_any(c);
        break;
    default:
#define WAIT(id, reason, holds, ends, state, over, ...)                                  \
    if (CAUSE_##reason == c->cause)                                                      \
        *(SM_WAIT_##holds == SM_WAIT_WARP ? &last : &next) |= c->waits.id;
#include "timing/waits.def"
#undef WAIT
        next &= ~sm_waits_warp(c);
        if (c->cause == CAUSE_fetch)
            next |= c->live & ~sm_waits_any(c);
    }
    l->share[c->index] = (struct sm_lines_share){.next = next, .last = last, .pc = pc};
}

/* n lost slots of the scheduler's warp at position i. */
static void
add(const struct sm *s, const struct sm_sched *c, unsigned i, uint64_t n)
{
    struct sm_lines *l = s->lines;
    const unsigned w = i * s->nsched + c->index;
    const bool last = l->share[c->index].last >> i & 1;
    l->at[last ? l->last[w] : s->warp[w].ew->pc].v[c->cause] += n;
}

/* n cycles of a scheduler from cycle `at` on. */
static void
account(const struct sm *s, const struct sm_sched *c, uint64_t at, uint64_t n)
{
    struct sm_lines *l = s->lines;
    const struct sm_lines_share *x = &l->share[c->index];
    const uint64_t who = x->next | x->last;
    if (!who) {
        l->at[x->pc].v[c->cause] += n;
        return;
    }
    const unsigned warps = bit_count(who);
    const uint64_t each = n / warps;
    unsigned more = (unsigned)(n % warps);
    if (each)
        FOR_BITS(i, who)
    add(s, c, (unsigned)i, each);
    uint64_t left = who;
    for (unsigned k = (unsigned)(at % warps); more && k; k--)
        left &= left - 1; /* the warp that gets cycle `at` comes first */
    for (; more; more--) {
        left = left ? left : who;
        add(s, c, (unsigned)bit_lowest(left), 1);
        left &= left - 1;
    }
}

void
sm_lines_account(struct sm *s, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < s->nsched; i++)
        account(s, &s->sched[i], from + 1, to - from);
}

void
sm_lines_take_back(struct sm_lines *l, uint64_t n)
{
    l->at[l->ninst].v[CAUSE_empty] -= n;
}
