/* schedule_lean.c: an order of a piece that makes little live at once.
 *
 * From the end of the piece: of the instructions that all later ones allow the one goes next
 * that leaves least live in front of it. Of equal ones
 *     - a store: loads that may read its bytes wait for it,
 *     - the one whose value needs fewest registers (Sethi and Ullman 1970: operands that need
 *       more are computed first), the one at the end of the shorter path,
 *     - the one that was allowed last: what computes a value stands in front of its reader.
 * MOST_LOOKED of those allowed last are looked at: O(n MOST_LOOKED) for n instructions. */
#include "passes/schedule_int.h"

enum { MOST_LOOKED = 64, MOST_OPERANDS = 16 };

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

struct lean {
    struct sched *s;
    uint32_t *need, *list; /* of each node; those that may go, the last allowed last */
    uint32_t n;
};

/* Whether node x goes rather than y, if both leave as much live. */
static bool
goes_first(const struct lean *l, uint32_t x, uint32_t y)
{
    const struct sched_node *a = &l->s->node.v[x], *b = &l->s->node.v[y];
    const bool stores = a->order == SCHED_STORE;
    if (stores != (b->order == SCHED_STORE))
        return stores;
    if (l->need[x] != l->need[y])
        return l->need[x] < l->need[y];
    return a->depth < b->depth;
}

/* Place in the list of the next one. */
static uint32_t
choose(const struct lean *l)
{
    uint32_t best = l->n - 1, least = UINT32_MAX;
    for (uint32_t k = l->n; k-- > 0 && l->n - k <= MOST_LOOKED;) {
        const uint32_t live = schedule_back_live(l->s, l->list[k]);
        if (live < least || (live == least && goes_first(l, l->list[k], l->list[best]))) {
            best = k;
            least = live;
        }
    }
    return best;
}

void
schedule_lean(struct sched *s, uint32_t *order)
{
    struct lean l = {.s = s,
                     .need = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1),
                     .list = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    schedule_back_start(s);
    for (uint32_t i = 0; i < s->node.n; i++) {
        struct sched_node *x = &s->node.v[i];
        l.need[i] = need_of(s, i, l.need);
        x->waits = schedule_edges_end(s, i) - x->first;
        if (!x->waits)
            l.list[l.n++] = i;
    }
    for (size_t k = s->node.n; k-- > 0;) {
        const uint32_t at = choose(&l), i = l.list[at];
        memmove(l.list + at, l.list + at + 1, (--l.n - at) * sizeof *l.list);
        order[k] = i;
        schedule_back_step(s, i);
        for (uint32_t e = s->node.v[i].first_in; e < schedule_edges_in_end(s, i); e++)
            if (!--s->node.v[s->pred.v[e].from].waits)
                l.list[l.n++] = s->pred.v[e].from;
    }
}
