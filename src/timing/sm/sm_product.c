/* sm_product.c: asynchronous matrix products (wgmma) and registers that change hands
 * (setmaxnreg) as the SM sees them.
 *
 * A warp's part of a product, 16 of the 64 rows, is an instruction of its tensor pipeline: it
 * keeps it for n/2 cycles, is complete some cycles later, and the warp goes on meanwhile. The
 * scoreboard does not know of the matrix D; who waits for it waits for a group. Products of a
 * warp complete in order, so that a group is a number of products. More than GROUPS open groups
 * count as the oldest.
 *
 * wgmma.fence waits until all that the warp has issued before, but products, is written.
 *
 * setmaxnreg: a warp that keeps fewer registers gives the others to its block, one that wants
 * more waits until the block has them. */
#include "timing/sm/sm.h"

#include <string.h>

enum { GROUPS = 16 };

struct warp_products {
    uint64_t started, done; /* products */
    uint64_t end[GROUPS];   /* started at the commit of group g, at g % GROUPS */
    uint64_t groups;        /* committed */
    uint64_t until;         /* the wait: so many must be done */
    bool fence;             /* ... or all else written */
    uint32_t registers;     /* of a thread */
    uint32_t wants;
};

void
sm_products_init(struct sm *s, struct arena *a)
{
    s->products = ARENA_SPARSE(a, struct warp_products, s->nwarps);
    s->spare_registers = ARENA_ARRAY(a, uint32_t, s->nwarps + 1);
}

void
sm_products_start(struct sm *s, unsigned w)
{
    s->products[w] = (struct warp_products){.registers = s->prog->thread_registers};
    s->spare_registers[s->warp[w].slot] = 0;
}

bool
sm_products_issue(struct sm *s, unsigned w, const struct sm_inst *in, bool executed)
{
    struct warp_products *k = &s->products[w];
    uint64_t keep = in->product_n;
    if (in->product == PRODUCT_START) /* by no lane too: it goes through the pipeline */
        k->started++;
    if (!executed || in->product == PRODUCT_START)
        return false;
    switch (in->product) {
    case PRODUCT_FENCE:
        k->fence = true;
        break;
    case PRODUCT_COMMIT:
        k->end[k->groups++ % GROUPS] = k->started;
        return false;
    case PRODUCT_WAIT:
        if (k->groups <= keep)
            return false;
        k->until = k->end[(k->groups - 1 - keep) % GROUPS];
        break;
    }
    return !sm_products_there(s, w);
}

bool
sm_products_there(const struct sm *s, unsigned w)
{
    struct warp_products *k = &s->products[w];
    /* The fence itself is under way too: it writes nothing. */
    if (k->fence && s->warp[w].flight_n > k->started - k->done + 1)
        return false;
    k->fence = false;
    return k->done >= k->until;
}

void
sm_products_done(struct sm *s, unsigned w)
{
    s->products[w].done++;
}

/* -- setmaxnreg -- */

bool
sm_registers_issue(struct sm *s, unsigned w, const struct sm_inst *in, bool executed)
{
    struct warp_products *k = &s->products[w];
    if (!executed || !s->prog->registers_move)
        return false;
    k->wants = in->product_bytes;
    if (in->product == PRODUCT_REGISTERS_INC)
        return !sm_registers_there(s, w);
    if (k->wants < k->registers) {
        s->spare_registers[s->warp[w].slot] += k->registers - k->wants;
        k->registers = k->wants;
    }
    return false;
}

bool
sm_registers_there(const struct sm *s, unsigned w)
{
    struct warp_products *k = &s->products[w];
    uint32_t *spare = &s->spare_registers[s->warp[w].slot];
    if (k->wants <= k->registers)
        return true;
    if (*spare < k->wants - k->registers)
        return false;
    *spare -= k->wants - k->registers;
    k->registers = k->wants;
    return true;
}
