/* limits.h: what limits a kernel, from its counters: the rows of limits.def. */
#ifndef ALLOT_ADVISE_LIMITS_H
#define ALLOT_ADVISE_LIMITS_H

#include "machine/machine.h"
#include "stats/stats.h"

enum limit_id {
#define CAUSE(id, words, value, threshold, reason) LIMIT_##id,
#define DETAIL(id, of, words, value, threshold, reason) LIMIT_##id,
#include "advise/limits.def"
#undef CAUSE
#undef DETAIL
    LIMITS
};

struct limit_row {
    const char *id, *words, *reason;
    double threshold;
    unsigned of; /* bit i: of cause i; 0: it is a cause itself */
};
extern const struct limit_row limits_rows[LIMITS];

/* Of a kernel's launches together. */
struct limits {
    double value[LIMITS]; /* NAN: there is nothing of the kind */
    enum limit_id cause; /* that limits it: the largest of those that hold, else of all */
    bool clear;          /* it holds */
};
void limits_of(const struct launch_stats *s, const struct machine *m, struct limits *l);
/* Whether the row's value reaches its threshold. */
bool limits_hold(const struct limits *l, enum limit_id i);
/* Whether the row is a detail to report: it holds, and is of what limits the kernel. */
bool limits_tells(const struct limits *l, enum limit_id i);

#endif
