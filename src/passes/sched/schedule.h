/* schedule.h: pass schedule for others: a function ordered within a number of registers. */
#ifndef ALLOT_PASSES_SCHEDULE_H
#define ALLOT_PASSES_SCHEDULE_H

#include "passes/pass.h"

extern const struct pass pass_schedule;
extern const char schedule_taken_default[]; /* of its setting `taken` */
/* ... for cards of a compute capability (major * 10 + minor), by ptxas' stall counts. */
const char *schedule_taken(unsigned compute_capability);

/* What no order lets a load start before. */
enum schedule_bound {
    SCHEDULE_KERNEL, /* the function begins there */
    SCHEDULE_BLOCK,  /* its basic block begins there: loads stay in theirs */
    SCHEDULE_STAYS,  /* a call, or a read of a clock */
    SCHEDULE_MEMORY, /* an access that may touch the same bytes */
    SCHEDULE_FENCE,  /* a barrier, fence, atomic or volatile access */
    SCHEDULE_LOADED  /* a load that its address comes from */
};

/* Why a load starts later than that. */
enum schedule_late {
    SCHEDULE_NOT_LATE,
    SCHEDULE_ORDER,    /* the code has it later, and nothing was ordered */
    SCHEDULE_PRESSURE, /* more registers would be live than the limit */
    SCHEDULE_NO_GAIN   /* other loads take as long */
};

/* A load of a function, for a warp alone. */
struct schedule_load {
    uint32_t inst, line; /* in the body before it was ordered; in the PTX */
    uint32_t to_use;     /* instructions to its first use, 0: that is in another region */
    uint64_t wait;       /* cycles in which only it keeps the warp from going on */
    uint64_t late; /* cycles in which the warp waited and this load might have started */
    uint8_t bound, why_late; /* enum schedule_bound, schedule_late */
    uint32_t bound_line;     /* in the PTX, 0: unknown */
};

struct schedule_loads {
    VEC(struct schedule_load) load; /* in the order of the body */
    bool ordered;                   /* pass schedule was at work */
};

enum schedule_when {
    SCHEDULE_NOT,   /* the code is in its compiler's order, and stays so */
    SCHEDULE_NOW,   /* the pass orders it, which changes f */
    SCHEDULE_BEFORE /* it was ordered, and stays so */
};

/* Loads of f from memory (not parameters or constants), which has virtual registers. a: as for
 * the pass. */
bool schedule_loads(struct ptx_func *f, const struct pass_args *a,
                    enum schedule_when when, struct schedule_loads *out,
                    struct diag_sink *diag);
/* "its block begins at line 12": what bounds a load, in words. */
void schedule_bound_words(const struct schedule_load *l, struct strbuf *out);
/* "too many registers" and so on; "" where it is not late. */
const char *schedule_late_words(enum schedule_late why);

/* Orders f, which has virtual registers, for an allocation to that many. a: of a pass with the
 * setting `latencies`. */
bool schedule_within(struct ptx_func *f, const struct pass_args *a, uint32_t registers,
                     struct diag_sink *diag);

#endif
