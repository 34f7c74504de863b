/* limits.c: see limits.h. */
#include "advise/limits.h"

#include <math.h>

#define OF(id) (1u << LIMIT_##id)
const struct limit_row limits_rows[LIMITS] = {
#define CAUSE(id, words, value, threshold, reason) {#id, words, reason, threshold, 0},
#define DETAIL(id, of, words, value, threshold, reason)                                  \
    {#id, words, reason, threshold, of},
#include "advise/limits.def"
#undef CAUSE
#undef DETAIL
};

bool
limits_hold(const struct limits *l, enum limit_id i)
{
    return l->value[i] >= limits_rows[i].threshold; /* not of NAN */
}

bool
limits_tells(const struct limits *l, enum limit_id i)
{
    return limits_rows[i].of >> l->cause & 1 && limits_hold(l, i);
}

static double
number(double v)
{
    return isfinite(v) ? v : NAN;
}

void
limits_of(const struct launch_stats *s, const struct machine *m, struct limits *l)
{
    /* Counters by their names, for the rows. */
#define STAT(owner, id, kind, unit, meaning)                                             \
    const double id __attribute__((unused)) = (double)s->owner.id;
#define DERIVED(id, unit, meaning, expression)
#define IDENTITY(left, right, meaning)
#include "stats/stats.def"
#undef STAT
#undef DERIVED
#undef IDENTITY
    const double warps = m->sm.max_threads / 32;
    /* Of the accesses to memory, those that an SM did not serve itself. */
    const double near = l1d_accesses + bypass_accesses + scratchpad_accesses;
    const double far = near > 0 ? (packets_read + packets_atomic) / near : 0;
#define CAUSE(id, words, value_, threshold, reason) l->value[LIMIT_##id] = number(value_);
#define DETAIL(id, of, words, value_, threshold, reason)                                 \
    l->value[LIMIT_##id] = number(value_);
#include "advise/limits.def"
#undef CAUSE
#undef DETAIL
    l->cause = 0;
    l->clear = false;
    for (enum limit_id i = 0; i < LIMITS && !limits_rows[i].of; i++) {
        const bool holds = limits_hold(l, i);
        if ((holds && !l->clear) ||
            (holds == l->clear && l->value[i] > l->value[l->cause])) {
            l->cause = i;
            l->clear = holds;
        }
    }
}
