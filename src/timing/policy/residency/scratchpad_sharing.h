/* scratchpad_sharing.h: what the combined policy asks of scratchpad sharing. Private to
 * src/timing/residency. */
#ifndef ALLOT_TIMING_RESIDENCY_SCRATCHPAD_SHARING_H
#define ALLOT_TIMING_RESIDENCY_SCRATCHPAD_SHARING_H

#include "timing/policy/policy.h"

/* Does the access need the pair's lock, which slot s does not hold? a may be NULL. */
bool scratchpad_sharing_wants(const void *state, unsigned s, const struct exec_access *a);
/* Does slot s hold the lock of its pair? */
bool scratchpad_sharing_holds(const void *state, unsigned s);
enum warp_class scratchpad_sharing_cls(const void *state, unsigned s);

#endif
