/* watch.c: how often the registers of one warp are accessed, the first of SM 0 in a launch (001
 * section 4.1.1, Figure 4.1: "some registers of warp 0"). regpower.watch; it only counts.
 *
 * An access is an operand that the collectors have read, or a result that has been written.
 * Predicates lie outside of the register file. Cost: the operands of that warp's
 * instructions. */
#include "timing/policy/regpower/regpower.h"

#include <assert.h>

struct watch_plan {
    uint32_t registers;
};
static_assert(sizeof(struct watch_plan) <= sizeof(((struct mechanism_use *)0)->own),
              "room for it in the use");

enum phase { BEFORE, WATCHES, OVER };

struct watch {
    enum phase phase;
    unsigned slot, warp;
    uint64_t since;
    uint32_t registers;
    uint32_t accesses[]; /* of each */
};

static size_t
state_size(const void *plan)
{
    const struct watch_plan *p = plan;
    return sizeof(struct watch) + sizeof(uint32_t) * p->registers;
}

static void
init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct watch *x = state;
    const struct watch_plan *p = plan;
    (void)m;
    x->registers = p->registers;
    if (v->sm)
        x->phase = OVER;
}

static void
warp_started(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct watch *x = state;
    if (x->phase != BEFORE)
        return;
    x->phase = WATCHES;
    x->slot = e->slot;
    x->warp = e->warp;
    x->since = v->now;
}

static bool
is_it(const struct watch *x, const struct sm_event *e)
{
    return x->phase == WATCHES && x->slot == e->slot && x->warp == e->warp;
}

static void
accessed(struct watch *x, const struct sm_event *e, enum exec_role role)
{
    for (unsigned i = 0; is_it(x, e) && i < e->st->noperands; i++) {
        const struct exec_operand *o = &e->st->operand[i];
        if (o->role == role && o->place && o->place <= x->registers)
            x->accesses[o->place - 1]++;
    }
}

static void
operands_read(void *state, struct sm_view *v, const struct sm_event *e)
{
    (void)v;
    accessed(state, e, EXEC_READS);
}

static void
written_back(void *state, struct sm_view *v, const struct sm_event *e)
{
    (void)v;
    accessed(state, e, EXEC_WRITES);
}

static void
warp_ended(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct watch *x = state;
    uint32_t most = 0, least = UINT32_MAX;
    if (!is_it(x, e))
        return;
    x->phase = OVER;
    for (uint32_t r = 0; r < x->registers; r++) {
        uint32_t n = x->accesses[r];
        most = n > most ? n : most;
        least = n && n < least ? n : least;
    }
    v->stats->watch_cycles += v->now - x->since;
    v->stats->watch_most += most;
    v->stats->watch_least += most ? least : 0;
}

static const struct mechanism mechanism = {
    .wait = WAIT_wakeup,
    .state_size = state_size,
    .init = init,
    .warp_started = warp_started,
    .operands_read = operands_read,
    .written_back = written_back,
    .warp_ended = warp_ended,
};

struct mechanism_use
regpower_watch(unsigned registers)
{
    struct mechanism_use use = {.mechanism = &mechanism};
    *(struct watch_plan *)(void *)use.own = (struct watch_plan){registers};
    return use;
}
