/* live.h: liveness of virtual registers, and from it how many are live at once. */
#ifndef ALLOT_ANALYSIS_LIVE_H
#define ALLOT_ANALYSIS_LIVE_H

#include "analysis/cfg.h"
#include "base/bitset.h"

struct live {
    const struct cfg *cfg;
    uint32_t nregs;
    uint64_t **in, **out; /* per block: registers live at its start and end */
    struct arena mem;
};

/* Backward may-analysis over g's function (a guarded write does not end a life, since
 * other lanes keep the old value). Free with live_free; g must outlive it. */
struct live *live_new(const struct cfg *g);
void live_free(struct live *l);

/* Over one instruction: from the registers live behind it to those live before it. */
void live_step_back(const struct ptx_inst *in, uint64_t *live);
/* Adds the registers that it writes, which exist behind it even if nothing reads them. */
void live_add_written(const struct ptx_inst *in, uint64_t *set);

/* Most 32-bit registers, and most predicates, live at one point: MAXLIVE. A 64-bit
 * register counts as two, a narrower one as one. At an instruction its sources and
 * destinations count together only if the source lives on. */
void live_max(const struct live *l, uint32_t *registers, uint32_t *predicates);

#endif
