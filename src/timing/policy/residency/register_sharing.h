/* register_sharing.h: what the combined policy asks of register sharing. Private to
 * src/timing/residency. */
#ifndef ALLOT_TIMING_RESIDENCY_REGISTER_SHARING_H
#define ALLOT_TIMING_RESIDENCY_REGISTER_SHARING_H

#include "timing/policy/policy.h"

/* Does the instruction need the lock of this warp's pair, which the warp does not hold?
 */
bool register_sharing_wants(const void *state, unsigned s, unsigned warp,
                            const struct exec_static *st);
/* Do locks of the partner's warps keep this one from taking its own? */
bool register_sharing_blocked(const void *state, unsigned s, unsigned warp);
/* Does the warp hold the lock of its pair? */
bool register_sharing_holds(const void *state, unsigned s, unsigned warp);
/* Does any warp of slot s hold its lock? */
bool register_sharing_holds_any(const void *state, unsigned s);
enum warp_class register_sharing_cls(const void *state, unsigned s);

#endif
