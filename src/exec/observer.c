/* observer.c: shows what exec_run_grid does to those who watch it (observer.h). Cost: nothing
 * without a watch; else a call for each watch, instruction and handler. */
#include "exec/observer.h"
#include "exec/exec_int.h"

#include <assert.h>

void
exec_observe(struct exec_grid *g, const struct exec_observer *on, void *user)
{
    for (unsigned i = 0; i < g->nwatch; i++)
        if (g->watch[i].on == on && g->watch[i].user == user)
            return;
    assert(g->nwatch < EXEC_WATCHES);
    g->watch[g->nwatch++] = (struct exec_watch){on, user};
}

void
observer_launch_start(struct exec_grid *g)
{
    for (unsigned i = 0; i < g->nwatch; i++)
        if (g->watch[i].on->launch_start)
            g->watch[i].on->launch_start(g->watch[i].user, g);
}

void
observer_launch_end(struct exec_grid *g)
{
    for (unsigned i = g->nwatch; i-- > 0;)
        if (g->watch[i].on->launch_end)
            g->watch[i].on->launch_end(g->watch[i].user, g);
}

void
observer_block_start(struct exec_cta *c)
{
    const struct exec_grid *g = c->grid;
    for (unsigned i = 0; i < g->nwatch; i++)
        if (g->watch[i].on->block_start)
            g->watch[i].on->block_start(g->watch[i].user, c);
}

void
observer_block_end(struct exec_cta *c)
{
    const struct exec_grid *g = c->grid;
    for (unsigned i = g->nwatch; i-- > 0;)
        if (g->watch[i].on->block_end)
            g->watch[i].on->block_end(g->watch[i].user, c);
}

static void
after(const struct exec_watch *x, struct exec_warp *w, const struct exec_step *s)
{
    if (x->on->barrier &&
        (s->woken || (w->cta->grid->prog->st[s->pc].is_barrier && s->mask)))
        x->on->barrier(x->user, w, s);
    if (x->on->access && s->has_access && s->mask)
        x->on->access(x->user, w, s);
    if (x->on->step)
        x->on->step(x->user, w, s);
}

enum exec_result
observer_step(struct exec_warp *w, struct exec_step *s, const struct exec_watch *own)
{
    const struct exec_grid *g = w->cta->grid;
    enum exec_result r = EXEC_OK;
    for (unsigned i = 0; i < g->nwatch && r == EXEC_OK; i++)
        if (g->watch[i].on->before)
            r = g->watch[i].on->before(g->watch[i].user, w);
    if (r == EXEC_OK)
        r = exec_step(w, s);
    if (r != EXEC_OK)
        return r;
    for (unsigned i = 0; i < g->nwatch; i++)
        after(&g->watch[i], w, s);
    if (own)
        after(own, w, s);
    return EXEC_OK;
}
