/* vtb_votes.c: regions in code that virtual blocks run unequally often, such as a loop from
 * %ctaid on. Turns need all virtual blocks at each end of a region, so one that is done must
 * go on taking turns, for nothing, until all are done. None knows how often the others come:
 * they ask.
 *
 *     loop:  vote yes; take; region; give          done:  vote no
 *            @more bra loop                               nobody said yes: leave
 *     done:                                               take; give; go to done
 *
 * A vote is a reduction at a barrier of all virtual blocks (bar.red.or.pred). Each votes yes
 * before a region of its own. At the first place after the code that all threads of the
 * grid pass equally often (the meeting), it votes no. So before each turn all have voted, and
 * all see whether there is one: their barriers meet, however often and in whatever branches
 * or loops each comes to a region, also if it never does.
 *
 * It needs a meeting, so no virtual block may leave the kernel before that, and none may come
 * there with the scratchpad. Under vtb-pipe the later virtual blocks
 * wait at the start for the first one's turn, which would wait for their vote: turns are vtb's
 * then. Cost: the blocks of the flow graph and their edges. */
#include "passes/blocks/vtb_int.h"

#include "analysis/uniform.h"

#include <stdlib.h>
#include <string.h>

/* The first block after v on all ways, or v, that all threads of the grid run equally often.
 * Below 0: there is none. */
static int32_t
meeting(const struct cfg *g, const struct uniform *u, uint32_t v)
{
    int32_t to = (int32_t)v;
    while (to >= 0 && u->block[to] != UNIFORM_GRID)
        to = g->block[to].ipdom;
    return to;
}

/* Whether a virtual block could come to a meeting with the scratchpad. */
static bool
open_at_meeting(const struct merge *m, const struct cfg *g, const struct regions *r)
{
    for (uint32_t v = 0; v < g->n; v++)
        if (m->meets[v] && r->open[v])
            return true;
    return false;
}

void
vtb_votes_free(struct merge *m)
{
    free(m->asks);
    free(m->meets);
    m->asks = m->meets = NULL;
    m->nasks = 0;
}

const char *
vtb_votes(struct merge *m, const struct region_facts *x)
{
    const struct cfg *g = x->cfg;
    const struct regions *r = x->regions;
    struct uniform *u = uniform_new(g);
    const char *why = NULL;
    vtb_votes_free(m);
    m->asks = xcalloc(g->n + 1, sizeof *m->asks);
    m->meets = xcalloc(g->n + 1, sizeof *m->meets);
    for (size_t i = 0; i < r->point.n && !why; i++) {
        const struct region_point *p = &r->point.v[i];
        if (!p->take || u->block[p->block] == UNIFORM_GRID)
            continue;
        const int32_t to = meeting(g, u, p->block);
        if (to < 0) {
            why = "some virtual blocks would leave while others take turns";
            break;
        }
        m->asks[p->block] = m->meets[to] = 1;
        m->nasks++;
    }
    if (!why && open_at_meeting(m, g, r))
        why = "virtual blocks would meet within a region";
    if (!why && m->nasks && m->scheme == PIPE)
        m->scheme = VTB;
    uniform_free(u);
    return why;
}

static void
find(struct region_facts *x, const struct merge *m, unsigned gap,
     enum uniform_level places)
{
    x->places = places;
    region_facts_find(x, m->f, m->a->launch, gap);
}

const char *
vtb_regions(struct merge *m, struct region_facts *x, unsigned gap)
{
    const enum scheme scheme = m->scheme;
    find(x, m, gap, UNIFORM_BLOCK);
    if (x->regions->why)
        return x->regions->why;
    const char *why = vtb_votes(m, x);
    if (!why && !m->nasks)
        return NULL; /* all ends stand where the grid passes */
    const uint64_t inside = x->regions->inside;
    region_facts_drop(x);
    find(x, m, gap, UNIFORM_GRID);
    if (why || (!x->regions->why && x->regions->inside <= inside)) {
        vtb_votes_free(m);
        m->scheme = scheme;
        return x->regions->why ? x->regions->why : vtb_votes(m, x);
    }
    region_facts_drop(x);
    find(x, m, gap, UNIFORM_BLOCK);
    return NULL;
}
