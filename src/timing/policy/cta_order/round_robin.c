/* round_robin.c: blocks in order of their id; whichever SM has room gets the next one.
 * The dispatcher goes round the SMs, so the first blocks land on SM 0, 1, 2, ... in turn.
 */
#include "timing/policy/policy.h"

struct round_robin {
    uint64_t next, blocks;
};

static void
init(void *state, struct arena *a, const struct cta_launch *l)
{
    struct round_robin *r = state;
    r->next = 0;
    r->blocks = l->blocks;
}

static int64_t
next(void *state, unsigned sm, uint64_t now)
{
    struct round_robin *r = state;
    return r->next < r->blocks ? (int64_t)r->next++ : -1;
}

const struct cta_order_policy cta_order_round_robin = {
    .name = "round-robin",
    .meaning = "blocks in order of their id, to SMs in turn",
    .state_size = sizeof(struct round_robin),
    .init = init,
    .next = next,
};
