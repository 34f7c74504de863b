/* reorder.c: clusters of items by graph partitioning, and their order by reuse.
 *
 * Clusters (Kuo et al. 2012, as 004 uses them: "threads are grouped to minimize the
 * working-set size"). Items are vertices, pairs that share data edges; METIS cuts the graph
 * into as many parts as there are blocks. Its parts differ in size a little, blocks do not:
 * items move from parts that are too large to parts that are too small, neighbours first.
 * The smallest part is the last block, which need not be full. The same once more within each
 * block: its items are cut into warps, since that clustering looks at "both the coalescing and
 * the data reuse in the shared L1 cache" (004 section 7, of Kuo et al.).
 *
 * Reuse ("adjusts the scheduling order to exploit data reuse between thread groups"). The
 * next block is the one that shares most with the last `window` blocks: 45 run about
 * then; ties go to the lower number. O(edges + blocks * (window + blocks)).
 *
 * Scattered: the same blocks in a random order, drawn by a fixed seed.
 *
 * METIS is deterministic for a seed; another version of it may cut otherwise. */
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_METIS
#include <metis.h>
#else
typedef int32_t idx_t;
#endif

enum { WARP = 32, FEW = 8 /* parts */ };

struct graph {
    uint32_t n;
    idx_t *first, *to; /* each pair twice */
};

struct parts {
    uint32_t k, group, last; /* last: the part that need not be full */
    idx_t *of;               /* part of each item */
    uint32_t *size, *want;
};

bool
order_has_clusters(void)
{
#ifdef HAVE_METIS
    return true;
#else
    return false;
#endif
}

enum item_order
order_of(struct allot_run *r)
{
    enum item_order how =
        (enum item_order)wl_param(r, "order", ORDER_GIVEN, ORDER_GIVEN, ORDERS - 1);
    if (how < ORDER_CLUSTER || order_has_clusters())
        return how;
    wl_fail(
        r,
        "parameter order=%d: clusters of threads need METIS, and this build is without "
        "it (install libmetis-dev and build anew); orders 0 and 1 are there",
        (int)how);
    return ORDER_GIVEN;
}

uint32_t
block_of(struct allot_run *r)
{
    return (uint32_t)wl_param(r, "block", 256, 32, 1024);
}

uint32_t
window_of(struct allot_run *r)
{
    return (uint32_t)wl_param(r, "window", 45, 1, 1000);
}

static bool
both_ways(struct graph *g, uint32_t n, const uint32_t *first, const uint32_t *to)
{
    g->n = n;
    g->first = calloc((size_t)n + 2, sizeof *g->first);
    g->to = malloc((2 * (size_t)first[n] + 1) * sizeof *g->to);
    if (!g->first || !g->to)
        return false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = first[i]; e < first[i + 1]; e++)
            if (to[e] != i) {
                g->first[i + 2]++;
                g->first[to[e] + 2]++;
            }
    for (uint32_t i = 2; i < n + 2; i++)
        g->first[i] += g->first[i - 1];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = first[i]; e < first[i + 1]; e++)
            if (to[e] != i) {
                g->to[g->first[i + 1]++] = (idx_t)to[e];
                g->to[g->first[to[e] + 1]++] = (idx_t)i;
            }
    return true;
}

static bool
parts_init(struct parts *p, uint32_t n, uint32_t group)
{
    *p = (struct parts){.k = (n + group - 1) / group, .group = group};
    p->of = malloc(n * sizeof *p->of + 1);
    p->size = calloc(p->k + 1, sizeof *p->size);
    p->want = calloc(p->k + 1, sizeof *p->want);
    return p->of && p->size && p->want;
}

static void
parts_free(struct parts *p)
{
    free(p->of);
    free(p->size);
    free(p->want);
}

/* The part of each item. Recursive bisection for few parts is METIS's advice. */
static bool
partition(const struct graph *g, struct parts *p)
{
#ifdef HAVE_METIS
    idx_t options[METIS_NOPTIONS], n = (idx_t)g->n, k = (idx_t)p->k, one = 1, edges_cut;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_NUMBERING] = 0;
    if (p->k > FEW)
        return METIS_PartGraphKway(&n, &one, g->first, g->to, NULL, NULL, NULL, &k, NULL,
                                   NULL, options, &edges_cut, p->of) == METIS_OK;
    if (p->k > 1)
        return METIS_PartGraphRecursive(&n, &one, g->first, g->to, NULL, NULL, NULL, &k,
                                        NULL, NULL, options, &edges_cut,
                                        p->of) == METIS_OK;
    memset(p->of, 0, g->n * sizeof *p->of);
    return true;
#else
    (void)g, (void)p;
    return false;
#endif
}

static bool
cut(const struct graph *g, struct parts *p)
{
    if (!partition(g, p))
        return false;
    p->last = 0;
    memset(p->size, 0, p->k * sizeof *p->size);
    for (uint32_t i = 0; i < g->n; i++)
        p->size[p->of[i]]++;
    for (uint32_t i = 1; i < p->k; i++)
        p->last = p->size[i] < p->size[p->last] ? i : p->last;
    for (uint32_t i = 0; i < p->k; i++)
        p->want[i] = i == p->last ? g->n - (p->k - 1) * p->group : p->group;
    return true;
}

/* Links of item i into part q. */
static uint32_t
links(const struct graph *g, const struct parts *p, uint32_t i, uint32_t q)
{
    uint32_t n = 0;
    for (idx_t e = g->first[i]; e < g->first[i + 1]; e++)
        n += p->of[g->to[e]] == (idx_t)q;
    return n;
}

static void
move(struct parts *p, uint32_t i, uint32_t to)
{
    p->size[p->of[i]]--;
    p->of[i] = (idx_t)to;
    p->size[to]++;
}

/* First each item of a part that is too large goes to the part that is too small with which
 * it shares most, if it shares anything; what is then too much goes where there is room. */
static void
even_out(const struct graph *g, struct parts *p)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t best = p->k, most = 0;
        if (p->size[p->of[i]] <= p->want[p->of[i]])
            continue;
        for (idx_t e = g->first[i]; e < g->first[i + 1]; e++) {
            uint32_t q = (uint32_t)p->of[g->to[e]];
            uint32_t n = p->size[q] < p->want[q] ? links(g, p, i, q) : 0;
            if (n > most) {
                most = n;
                best = q;
            }
        }
        if (best < p->k)
            move(p, i, best);
    }
    uint32_t room = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        if (p->size[p->of[i]] <= p->want[p->of[i]])
            continue;
        while (p->size[room] >= p->want[room])
            room++;
        move(p, i, room);
    }
}

/* Items by part: those of part q are (*item)[(*start)[q]] on, to before that of q + 1. */
static bool
members(const struct graph *g, const struct parts *p, uint32_t **item, uint32_t **start)
{
    *item = malloc(g->n * sizeof **item + 1);
    *start = calloc((size_t)p->k + 2, sizeof **start);
    if (!*item || !*start)
        return false;
    for (uint32_t i = 0; i < g->n; i++)
        (*start)[p->of[i] + 2]++;
    for (uint32_t q = 2; q < p->k + 2; q++)
        (*start)[q] += (*start)[q - 1];
    for (uint32_t i = 0; i < g->n; i++)
        (*item)[(*start)[p->of[i] + 1]++] = i;
    return true;
}

/* -- warps of a part -- */

/* The pairs within part q, whose n items are numbered from 0: local. */
static void
inside(const struct graph *g, const struct parts *p, uint32_t q, const uint32_t *item,
       const uint32_t *local, struct graph *in)
{
    idx_t links = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        in->first[i] = links;
        for (idx_t e = g->first[item[i]]; e < g->first[item[i] + 1]; e++)
            if (p->of[g->to[e]] == (idx_t)q)
                in->to[links++] = (idx_t)local[g->to[e]];
    }
    in->first[in->n] = links;
}

/* Where each item stands in its part: warps of items that share data. */
static bool
by_warp(const struct graph *g, const struct parts *p, uint32_t *place)
{
    uint32_t *item = NULL, *start = NULL, *local = malloc(g->n * sizeof *local + 1);
    struct parts w = {0};
    struct graph in = {.first = malloc(((size_t)p->group + 2) * sizeof *in.first),
                       .to = malloc(((size_t)g->first[g->n] + 1) * sizeof *in.to)};
    bool ok = parts_init(&w, p->group, WARP) && local && in.first && in.to;
    ok = ok && members(g, p, &item, &start);
    for (uint32_t q = 0; ok && q < p->k; q++)
        for (uint32_t m = start[q]; m < start[q + 1]; m++)
            local[item[m]] = m - start[q];
    for (uint32_t q = 0; ok && q < p->k; q++) {
        const uint32_t *of = item + start[q];
        in.n = start[q + 1] - start[q];
        w.k = (in.n + WARP - 1) / WARP;
        if (!in.n)
            continue;
        inside(g, p, q, of, local, &in);
        ok = cut(&in, &w);
        if (!ok)
            break;
        even_out(&in, &w);
        for (uint32_t v = 0, next = 0; v < w.k;
             v++) /* from here on: the next free place */
            w.size[v] = v == w.last ? (w.k - 1) * WARP : WARP * next++;
        for (uint32_t i = 0; i < in.n; i++)
            place[of[i]] = w.size[w.of[i]]++;
    }
    free(item);
    free(start);
    free(local);
    free(in.first);
    free(in.to);
    parts_free(&w);
    return ok;
}

/* -- order of parts -- */

/* As the input has the first item of each. METIS numbers parts as it bisects, so those that
 * share follow each other; a clustering that looks into blocks alone does not. */
static void
by_first_item(const struct parts *p, uint32_t n, uint32_t *at)
{
    uint32_t next = 0;
    for (uint32_t q = 0; q < p->k; q++)
        at[q] = p->k;
    at[p->last] = p->k - 1;
    for (uint32_t i = 0; i < n; i++)
        if (at[p->of[i]] == p->k)
            at[p->of[i]] = next++;
}

/* In an order drawn by Fisher and Yates with a fixed seed. */
static void
scattered(const struct parts *p, uint32_t *at)
{
    uint64_t seed = 1;
    uint32_t n = 0;
    for (uint32_t q = 0; q < p->k; q++)
        if (q != p->last)
            at[q] = n++;
    at[p->last] = p->k - 1;
    for (uint32_t q = p->k, left = n; left > 1;) {
        if (--q == p->last)
            continue;
        uint32_t with = (uint32_t)((wl_random(&seed) >> 32) * left-- >> 32);
        with += with >= p->last; /* the with-th of those that are not the last part */
        uint32_t was = at[q];
        at[q] = at[with];
        at[with] = was;
    }
}

/* Links between parts as a list: part a shares weight[e] pairs with part other[e]. */
struct shared {
    uint32_t *first, *other, *weight;
};

static bool
sharing(const struct graph *g, const struct parts *p, struct shared *s)
{
    uint32_t *member = NULL, *start = NULL;
    uint32_t *seen = calloc(p->k, sizeof *seen); /* 1 + where the other part stands */
    const size_t most = (size_t)g->first[g->n] + 1;
    s->first = calloc((size_t)p->k + 1, sizeof *s->first);
    s->other = malloc(most * sizeof *s->other);
    s->weight = malloc(most * sizeof *s->weight);
    bool ok = seen && s->first && s->other && s->weight && members(g, p, &member, &start);
    uint32_t n = 0;
    for (uint32_t q = 0; ok && q < p->k; q++) {
        const uint32_t from = s->first[q] = n;
        for (uint32_t m = start[q]; m < start[q + 1]; m++)
            for (idx_t e = g->first[member[m]]; e < g->first[member[m] + 1]; e++) {
                uint32_t o = (uint32_t)p->of[g->to[e]];
                if (o == q)
                    continue;
                if (seen[o] <= from || s->other[seen[o] - 1] != o) {
                    s->other[n] = o;
                    s->weight[n] = 0;
                    seen[o] = ++n;
                }
                s->weight[seen[o] - 1]++;
            }
        memset(seen, 0, p->k * sizeof *seen);
    }
    if (ok)
        s->first[p->k] = n;
    free(member);
    free(start);
    free(seen);
    return ok;
}

static bool
by_reuse(const struct graph *g, const struct parts *p, uint32_t window, uint32_t *at)
{
    struct shared s = {0};
    uint64_t *with = calloc(p->k, sizeof *with); /* shared with the window */
    uint32_t *order = malloc(p->k * sizeof *order);
    bool *placed = calloc(p->k, sizeof *placed);
    bool ok = with && order && placed && sharing(g, p, &s);
    if (ok)
        placed[p->last] = true; /* its place is the end */
    for (uint32_t n = 0; ok && n + 1 < p->k; n++) {
        uint32_t best = p->k;
        for (uint32_t q = 0; q < p->k; q++)
            if (!placed[q] && (best == p->k || with[q] > with[best]))
                best = q;
        placed[best] = true;
        at[best] = n;
        order[n] = best;
        for (uint32_t e = s.first[best]; e < s.first[best + 1]; e++)
            with[s.other[e]] += s.weight[e];
        if (n >= window)
            for (uint32_t q = order[n - window], e = s.first[q]; e < s.first[q + 1]; e++)
                with[s.other[e]] -= s.weight[e];
    }
    if (ok)
        at[p->last] = p->k - 1;
    free(with);
    free(order);
    free(placed);
    free(s.first);
    free(s.other);
    free(s.weight);
    return ok;
}

/* Data packing (Ding and Kennedy 1999), the simple reordering for coalescing that Zhang et
 * al. 2011 use too: items by the first thread that touches them. */
static void
by_first_touch(uint32_t n, const uint32_t *first, const uint32_t *to, uint32_t *place)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; i++)
        place[i] = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (place[i] == UINT32_MAX)
            place[i] = next++;
        for (uint32_t e = first[i]; e < first[i + 1]; e++)
            if (place[to[e]] == UINT32_MAX)
                place[to[e]] = next++;
    }
}

bool
order_items(enum item_order how, uint32_t n, const uint32_t *first, const uint32_t *to,
            uint32_t group, uint32_t window, uint32_t *place)
{
    if (how == ORDER_COALESCED) {
        by_first_touch(n, first, to, place);
        return true;
    }
    struct graph g = {0};
    struct parts p = {0};
    if (how == ORDER_GIVEN || !n) {
        for (uint32_t i = 0; i < n; i++)
            place[i] = i;
        return true;
    }
    bool ok = parts_init(&p, n, group);
    uint32_t *at = malloc(p.k * sizeof *at);
    ok = ok && at && both_ways(&g, n, first, to) && cut(&g, &p);
    if (ok)
        even_out(&g, &p);
    ok = ok && by_warp(&g, &p, place);
    if (ok && how == ORDER_REUSE)
        ok = by_reuse(&g, &p, window, at);
    else if (ok && how == ORDER_SCATTERED)
        scattered(&p, at);
    else if (ok)
        by_first_item(&p, n, at);
    for (uint32_t q = 0; ok && q < p.k; q++) /* the first free number of each part */
        p.size[q] = at[q] * group;
    for (uint32_t i = 0; ok && i < n; i++)
        place[i] += p.size[p.of[i]];
    free(g.first);
    free(g.to);
    parts_free(&p);
    free(at);
    return ok;
}

bool
lists_by_thread(struct thread_lists *l, uint32_t n, const uint32_t *first,
                const uint32_t *to, const uint32_t *place)
{
    l->item = malloc((n + (size_t)1) * sizeof *l->item);
    l->first = malloc((n + (size_t)1) * sizeof *l->first);
    l->to = malloc((first[n] + (size_t)1) * sizeof *l->to);
    if (!l->item || !l->first || !l->to)
        return false;
    for (uint32_t i = 0; i < n; i++)
        l->item[place ? place[i] : i] = i;
    uint32_t k = 0;
    for (uint32_t t = 0; t < n; t++) {
        l->first[t] = k;
        for (uint32_t e = first[l->item[t]]; e < first[l->item[t] + 1]; e++)
            l->to[k++] = to[e];
    }
    l->first[n] = k;
    return true;
}

void
lists_free(struct thread_lists *l)
{
    free(l->item);
    free(l->first);
    free(l->to);
    *l = (struct thread_lists){0};
}
