/* schedule.c: blocks in the steps of a schedule (004 section 5; docs/cta-scheduling.md).
 *
 * The TLP of a step limits the blocks that run at once over all SMs. It is spread evenly:
 * SM i holds TLP / SMs of them, and one more if i < TLP mod SMs. So whether an SM may have
 * a block depends on that SM alone. Between two steps whose TLPs differ (or any two, as
 * the schedule says) stands a barrier: all blocks end, then cta.sync_cycles pass. Or (section
 * 2.1: "suspend the current execution and then resume the execution after changing the number
 * of concurrent CTAs") no block starts for cta.sync_cycles once the last one of the step
 * before has started, and then the new TLP holds; blocks under way go on.
 * Without a barrier the next step's blocks start as those of the step before end.
 *
 * A launch without a schedule has its blocks in order of their number. */
#include "timing/policy/policy.h"
#include "timing/policy/schedule.h"

struct scheduled {
    const struct cta_schedule *s; /* NULL: none */
    uint64_t blocks, next;        /* next: in s->order, or the block's number */
    uint64_t from;                /* suspended up to that cycle */
    uint32_t step, syncs;
    unsigned sms, sync_cycles;
    bool waits; /* at a barrier: the next step waits for all blocks so far */
};

static bool
accepts(const struct cta_launch *l, struct diag_sink *diag)
{
    const struct cta_schedule *s = l->schedule;
    if (!s || l->blocks == s->blocks)
        return true;
    struct diag *d =
        diag_add(diag, DIAG_ERROR, NULL,
                 "kernel '%s' is launched with %llu blocks, but its schedule "
                 "is for %u",
                 l->kernel, (unsigned long long)l->blocks, s->blocks);
    diag_hint(diag, d, "%s",
              s->kernel ? "make the schedule for this launch anew"
                        : "write 'kernel NAME' into the schedule if it is for another");
    return false;
}

static void
init(void *state, struct arena *a, const struct cta_launch *l)
{
    struct scheduled *x = state;
    *x = (struct scheduled){.s = l->schedule,
                            .blocks = l->blocks,
                            .sms = l->machine->sm.count,
                            .sync_cycles = l->machine->cta.sync_cycles};
}

static bool
open(const void *state, unsigned sm, unsigned resident, uint64_t now)
{
    const struct scheduled *x = state;
    if (!x->s)
        return true;
    uint32_t tlp = x->s->step[x->step].tlp;
    return !x->waits && now >= x->from && resident < tlp / x->sms + (sm < tlp % x->sms);
}

static int64_t
next(void *state, unsigned sm, uint64_t now)
{
    struct scheduled *x = state;
    if (x->waits || now < x->from || x->next == x->blocks)
        return -1;
    uint64_t at = x->next++;
    if (!x->s)
        return (int64_t)at;
    const struct cta_step *step = &x->s->step[x->step];
    if (x->next == step->first + step->n && x->step + 1 < x->s->nsteps) {
        x->waits = cta_step_is_barrier(x->s, x->step + 1);
        x->syncs += cta_step_synchronises(x->s, x->step + 1);
        if (!x->waits && cta_step_synchronises(x->s, x->step + 1))
            x->from = now + (x->sync_cycles ? x->sync_cycles : 1);
        x->step += !x->waits;
    }
    return x->s->order[at];
}

static uint64_t
again(const void *state, uint64_t now)
{
    const struct scheduled *x = state;
    return x->from > now ? x->from : NEVER;
}

static uint64_t
drained(void *state, uint64_t end)
{
    struct scheduled *x = state;
    if (!x->waits)
        return 0;
    x->waits = false;
    x->step++;
    return end + x->sync_cycles;
}

static uint64_t
syncs(const void *state)
{
    const struct scheduled *x = state;
    return x->syncs;
}

const struct cta_order_policy cta_order_schedule = {
    .name = "schedule",
    .meaning = "blocks in the steps of a schedule, at most a step's TLP at once",
    .state_size = sizeof(struct scheduled),
    .follows = true,
    .accepts = accepts,
    .init = init,
    .open = open,
    .next = next,
    .again = again,
    .drained = drained,
    .syncs = syncs,
};
