/* waits.h: the reasons for which a warp waits, by name: rows of waits.def. */
#ifndef ALLOT_TIMING_WAITS_H
#define ALLOT_TIMING_WAITS_H

#include <stdint.h>

enum sm_wait {
#define WAIT(id, cause, holds, ends, state, over, ...) WAIT_##id,
#include "timing/waits.def"
#undef WAIT
    SM_NWAITS
};
enum { SM_WAIT_HEAD, SM_WAIT_WARP };  /* what a reason holds */
enum { SM_WAIT_EVENT, SM_WAIT_POLL }; /* how it ends */

/* Masks of a scheduler's warps, bit = position. */
union sm_waits {
    struct {
#define WAIT(id, cause, holds, ends, state, over, ...) uint64_t id;
#include "timing/waits.def"
#undef WAIT
    };
    uint64_t by[SM_NWAITS]; /* enum sm_wait */
};

#endif
