/* access_range.c: the data-flow problems of 000 section 6 over bit vectors of variables,
 * iterated in (reverse) post-order. */
#include "analysis/access_range.h"

#include "base/bitset.h"

/* -- ranges -- */

static scratch_set
touched_in(const struct access_range *a, uint32_t block)
{
    scratch_set s = 0;
    for (uint32_t i = a->cfg->block[block].first; i < a->cfg->block[block].end; i++)
        s |= a->touch[i];
    return s;
}

struct access_range *
access_range_new(const struct cfg *g, const scratch_set *touch)
{
    struct access_range *a = xcalloc(1, sizeof *a);
    a->cfg = g;
    a->touch = touch;
    scratch_set **const all[] = {&a->pre_in, &a->pre_out, &a->post_in, &a->post_out};
    for (int i = 0; i < 4; i++)
        *all[i] = ARENA_ARRAY(&a->mem, scratch_set, g->n + 1);
    scratch_set *has = ARENA_ARRAY(&a->mem, scratch_set, g->n + 1);
    for (uint32_t v = 0; v < g->n; v++)
        has[v] = touched_in(a, v);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = 0; r < g->nrpo; r++) {
            uint32_t v = g->rpo[r];
            for (uint32_t i = 0; i < g->block[v].npred; i++)
                a->pre_in[v] |= a->pre_out[g->block[v].pred[i]];
            scratch_set out = a->pre_in[v] | has[v];
            changed |= out != a->pre_out[v];
            a->pre_out[v] = out;
        }
        for (uint32_t r = g->nrpo; r-- > 0;) {
            uint32_t v = g->rpo[r];
            for (uint32_t i = 0; i < g->block[v].nsucc; i++)
                if (g->block[v].succ[i] >= 0)
                    a->post_out[v] |= a->post_in[g->block[v].succ[i]];
            scratch_set in = a->post_out[v] | has[v];
            changed |= in != a->post_in[v];
            a->post_in[v] = in;
        }
    }
    return a;
}

void
access_range_free(struct access_range *a)
{
    if (!a)
        return;
    arena_free(&a->mem);
    free(a);
}

/* Instructions of a block that lie in the range. */
static uint64_t
length_in(const struct access_range *a, uint32_t v, scratch_set s)
{
    const struct cfg_block *b = &a->cfg->block[v];
    const struct ptx_inst *body = a->cfg->func->body.v;
    uint32_t first = b->end, last = b->first; /* accesses: [first, last) */
    uint64_t n = 0;
    for (uint32_t i = b->first; i < b->end; i++)
        if (a->touch[i] & s) {
            first = first < i ? first : i;
            last = i + 1;
        }
    uint32_t from = a->pre_in[v] & s ? b->first : first;
    uint32_t to = a->post_out[v] & s ? b->end : last;
    for (uint32_t i = from; i < to; i++)
        n += !ptx_is_pseudo(&body[i]);
    return n;
}

static uint64_t
add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t
access_length(const struct access_range *a, scratch_set s, const uint64_t *weight)
{
    const struct cfg *g = a->cfg;
    uint64_t *down = xcalloc(g->n + 1, sizeof *down);
    for (uint32_t r = g->nrpo; r-- > 0;) {
        uint32_t v = g->rpo[r];
        uint64_t n = length_in(a, v, s), w = weight ? weight[v] : 1, best = 0;
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int32_t t = g->block[v].succ[i];
            if (t >= 0 && g->block[t].rpo > g->block[v].rpo && down[t] > best)
                best = down[t];
        }
        down[v] = add_capped(n && w > UINT64_MAX / n ? UINT64_MAX : n * w, best);
    }
    uint64_t n = g->n ? down[0] : 0;
    free(down);
    return n;
}

/* -- where to release -- */

static void
put(struct release_plan *p, int kind, uint32_t inst, uint32_t from, uint32_t to)
{
    *vec_push(&p->point) = (struct release_point){kind, inst, from, to};
}

/* The block's first instruction that is one. */
static uint32_t
start_of(const struct cfg *g, uint32_t v)
{
    uint32_t i = g->block[v].first;
    while (i < g->block[v].end && ptx_is_pseudo(&g->func->body.v[i]))
        i++;
    return i;
}

static uint32_t
behind_last_access(const struct access_range *a, uint32_t v, scratch_set s)
{
    uint32_t i = a->cfg->block[v].end;
    while (i > a->cfg->block[v].first && !(a->touch[i - 1] & s))
        i--;
    return i;
}

/* SafeIN over all blocks: the greatest solution, so that an endless loop is safe. */
static void
solve_safe(const struct access_range *a, scratch_set s, bool *safe_in, bool *safe_out)
{
    const struct cfg *g = a->cfg;
    for (uint32_t v = 0; v < g->n; v++) {
        safe_out[v] = true;
        safe_in[v] = !(touched_in(a, v) & s);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = g->nrpo; r-- > 0;) {
            uint32_t v = g->rpo[r];
            for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
                int32_t t = g->block[v].succ[i];
                if (t >= 0 && !safe_in[t] && safe_out[v]) {
                    safe_out[v] = false;
                    changed |= safe_in[v];
                    safe_in[v] = false;
                }
            }
        }
    }
}

/* If the kernel can be left at the end of block v: the point right before that. */
static void
put_exit(struct release_plan *p, const struct cfg *g, uint32_t v)
{
    const struct cfg_block *b = &g->block[v];
    bool leaves = false;
    for (uint32_t i = 0; i < b->nsucc; i++)
        leaves |= b->succ[i] == CFG_EXIT;
    if (!leaves)
        return;
    const struct ptx_inst *last = b->end > b->first ? &g->func->body.v[b->end - 1] : NULL;
    if (!last || !(ptx_ops[last->op].flags & PTX_ENDS))
        put(p, RELEASE_BEFORE, b->end, 0, 0); /* the end of the body */
    else if (b->nsucc > 1)
        put(p, RELEASE_GUARDED, b->end - 1, 0, 0); /* others go on */
    else
        put(p, RELEASE_BEFORE, b->end - 1, 0, 0);
}

static void
plan_optimal(const struct access_range *a, scratch_set s, struct release_plan *p)
{
    const struct cfg *g = a->cfg;
    bool *safe_in = xcalloc(g->n + 1, 1), *safe_out = xcalloc(g->n + 1, 1);
    solve_safe(a, s, safe_in, safe_out);
    for (uint32_t r = 0; r < g->nrpo; r++) {
        uint32_t v = g->rpo[r];
        const struct cfg_block *b = &g->block[v];
        if (safe_out[v] && !safe_in[v]) /* INS_OUT, moved up within the block */
            put(p, RELEASE_BEFORE, behind_last_access(a, v, s), 0, 0);
        if (!safe_out[v])
            put_exit(p, g, v);
        if (!safe_in[v])
            continue;
        uint32_t unsafe = 0, reached = 0; /* INS_IN */
        for (uint32_t i = 0; i < b->npred; i++) {
            reached += g->block[b->pred[i]].rpo >= 0;
            unsafe += g->block[b->pred[i]].rpo >= 0 && !safe_out[b->pred[i]];
        }
        if (unsafe && unsafe == reached && v)
            put(p, RELEASE_BEFORE, start_of(g, v), 0, 0);
        else
            for (uint32_t i = 0; i < b->npred && unsafe; i++)
                if (g->block[b->pred[i]].rpo >= 0 && !safe_out[b->pred[i]])
                    put(p, RELEASE_EDGE, 0, (uint32_t)b->pred[i], v);
    }
    free(safe_in);
    free(safe_out);
}

static void
plan_exits(const struct access_range *a, struct release_plan *p)
{
    const struct cfg *g = a->cfg;
    for (uint32_t r = 0; r < g->nrpo; r++)
        put_exit(p, g, g->rpo[r]);
}

/* On a cycle? */
static bool
repeats(const struct cfg *g, uint32_t v)
{
    bool *seen = xcalloc(g->n + 1, 1);
    VEC(uint32_t) todo = {0};
    *vec_push(&todo) = v;
    bool found = false;
    while (todo.n && !found) {
        const struct cfg_block *b = &g->block[todo.v[--todo.n]];
        for (uint32_t i = 0; i < b->nsucc; i++) {
            found |= b->succ[i] == (int32_t)v;
            if (b->succ[i] >= 0 && !seen[b->succ[i]]) {
                seen[b->succ[i]] = true;
                *vec_push(&todo) = (uint32_t)b->succ[i];
            }
        }
    }
    vec_free(&todo);
    free(seen);
    return found;
}

static void
plan_postdom(const struct access_range *a, scratch_set s, struct release_plan *p)
{
    const struct cfg *g = a->cfg;
    int32_t at = 0; /* up the tree of post-dominators from the entry: those all pass */
    for (; at >= 0; at = g->block[at].ipdom) {
        bool behind_all = !repeats(g, (uint32_t)at) && !(a->post_out[at] & s);
        for (uint32_t r = 0; r < g->nrpo && behind_all; r++)
            if (touched_in(a, g->rpo[r]) & s)
                behind_all = cfg_postdominates(g, at, (int32_t)g->rpo[r]);
        if (behind_all)
            break;
    }
    if (at < 0)
        plan_exits(a, p);
    else if (touched_in(a, (uint32_t)at) & s)
        put(p, RELEASE_BEFORE, behind_last_access(a, (uint32_t)at, s), 0, 0);
    else
        put(p, RELEASE_BEFORE, start_of(g, (uint32_t)at), 0, 0);
}

void
release_plan(const struct access_range *a, scratch_set s, enum release_mode mode,
             struct release_plan *out)
{
    *out = (struct release_plan){0};
    bool any = false;
    for (uint32_t r = 0; r < a->cfg->nrpo; r++)
        any |= (touched_in(a, a->cfg->rpo[r]) & s) != 0;
    if (!any)
        return;
    if (mode == RELEASE_OPTIMAL)
        plan_optimal(a, s, out);
    else if (mode == RELEASE_POSTDOM)
        plan_postdom(a, s, out);
    else
        plan_exits(a, out);
}

void
release_plan_free(struct release_plan *p)
{
    vec_free(&p->point);
}
