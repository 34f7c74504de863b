/* schedule_min_pressure.c: an order of a region that makes little live at the same time.
 *
 * From the end of the region: of the instructions that all later ones allow the one goes next
 * that leaves least live before it. A store that loads must not go after counts without its
 * address (two registers): before it is placed they cannot be, and only they make less live. Of
 * equal ones
 *     - such a store,
 *     - the one whose value needs fewest registers (Sethi and Ullman 1970: operands that need
 *       more are computed first), the one at the end of the shorter path,
 *     - the one that was allowed last: what computes a value stands before its reader.
 * MOST_LOOKED of those allowed last are looked at: O(n MOST_LOOKED) for n instructions. */
#include "passes/sched/schedule_int.h"

enum { MOST_LOOKED = 64, MOST_OPERANDS = 16, ADDRESS = 2 };

/* Registers that the value of node i needs as if it were a tree: of its operands, in falling
 * order of need, the k-th is computed while k others are held. */
static uint32_t
need_of(const struct sched *s, uint32_t i, const uint32_t *need)
{
    uint32_t of[MOST_OPERANDS], n = 0, most = 1;
    const uint32_t end = schedule_edges_in_end(s, i);
    for (uint32_t e = s->node.v[i].first_in; e < end && n < MOST_OPERANDS; e++) {
        if (s->pred.v[e].why != SCHED_WHY_REGISTER)
            continue;
        uint32_t at = n++;
        for (; at > 0 && of[at - 1] < need[s->pred.v[e].from]; at--)
            of[at] = of[at - 1];
        of[at] = need[s->pred.v[e].from];
    }
    for (uint32_t k = 0; k < n; k++)
        most = of[k] + k > most ? of[k] + k : most;
    return most;
}

struct min_pressure {
    struct sched *s;
    uint32_t *need, *list; /* of each node; those that may go, the last allowed last */
    uint32_t n;
    bool *holds; /* of each node: a store that keeps loads from going after it */
};

static bool
holds_loads(const struct sched *s, uint32_t i)
{
    const uint32_t end = schedule_edges_in_end(s, i);
    for (uint32_t e = s->node.v[i].first_in; e < end; e++)
        if (s->pred.v[e].why == SCHED_WHY_MEMORY &&
            s->node.v[s->pred.v[e].from].order == MOTION_LOAD)
            return true;
    return false;
}

/* Whether node x goes rather than y, with so much live before either. */
static bool
goes_first(const struct min_pressure *l, uint32_t x, uint32_t live_x, uint32_t y,
           uint32_t live_y)
{
    const struct sched_node *a = &l->s->node.v[x], *b = &l->s->node.v[y];
    if (live_x != live_y)
        return live_x < live_y;
    if (l->holds[x] != l->holds[y])
        return l->holds[x];
    if (l->need[x] != l->need[y])
        return l->need[x] < l->need[y];
    return a->depth < b->depth;
}

/* Place in the list of the next one. */
static uint32_t
pick(const struct min_pressure *l)
{
    uint32_t best = l->n - 1, least = UINT32_MAX;
    for (uint32_t k = l->n; k-- > 0 && l->n - k <= MOST_LOOKED;) {
        uint32_t live = schedule_back_live(l->s, l->list[k]);
        if (l->holds[l->list[k]] && live > l->s->now_live + ADDRESS)
            live -= ADDRESS;
        if (least == UINT32_MAX ||
            goes_first(l, l->list[k], live, l->list[best], least)) {
            best = k;
            least = live;
        }
    }
    return best;
}

void
schedule_min_pressure(struct sched *s, uint32_t *order)
{
    struct min_pressure l = {.s = s,
                             .need = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1),
                             .list = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1),
                             .holds = ARENA_ARRAY(&s->mem, bool, s->node.n + 1)};
    schedule_back_start(s);
    for (uint32_t i = 0; i < s->node.n; i++) {
        struct sched_node *x = &s->node.v[i];
        l.need[i] = need_of(s, i, l.need);
        l.holds[i] = holds_loads(s, i);
        x->waits = schedule_edges_end(s, i) - x->first;
        if (!x->waits)
            l.list[l.n++] = i;
    }
    for (size_t k = s->node.n; k-- > 0;) {
        const uint32_t at = pick(&l), i = l.list[at];
        memmove(l.list + at, l.list + at + 1, (--l.n - at) * sizeof *l.list);
        order[k] = i;
        schedule_back_step(s, i);
        for (uint32_t e = s->node.v[i].first_in; e < schedule_edges_in_end(s, i); e++)
            if (!--s->node.v[s->pred.v[e].from].waits)
                l.list[l.n++] = s->pred.v[e].from;
    }
}
