/* cfg.c: basic blocks and (post-)dominators. Dominators: semidominators of Lengauer and
 * Tarjan with path compression, then nearest common ancestors (Georgiadis, "Linear-Time
 * Algorithms for Dominators and Related Problems", 2005, section 2.3, SNCA), run forward
 * for dominators and on the reversed graph with a virtual exit for post-dominators. */
#include "analysis/cfg.h"

#include "base/bitset.h"
#include "base/vec.h"

#include <string.h>

/* -- dominators of a plain graph -- */

/* Reverse post-order of the nodes that root reaches; returns how many. */
static uint32_t
reverse_postorder(uint32_t n, const uint32_t *start, const uint32_t *to, uint32_t root,
                  uint32_t *order)
{
    uint32_t *stack = xcalloc(n, sizeof *stack), *next = xcalloc(n, sizeof *next);
    bool *seen = xcalloc(n, sizeof *seen);
    uint32_t sp = 0, at = n;
    stack[sp++] = root;
    seen[root] = true;
    next[root] = start[root];
    while (sp) {
        uint32_t v = stack[sp - 1];
        if (next[v] < start[v + 1]) {
            uint32_t t = to[next[v]++];
            if (!seen[t]) {
                seen[t] = true;
                next[t] = start[t];
                stack[sp++] = t;
            }
        } else {
            order[--at] = v;
            sp--;
        }
    }
    memmove(order, order + at, (n - at) * sizeof *order);
    free(stack);
    free(next);
    free(seen);
    return n - at;
}

/* A walk from the root: nodes are numbered as they are reached, and all that follows
 * speaks of these numbers. */
struct semi {
    uint32_t *node, *num;  /* node of a number; number of a node + 1, 0: not reached */
    uint32_t *parent;      /* in the tree of the walk; shortened as it is climbed */
    uint32_t *semi, *best; /* semidominator; least one found between here and parent */
    uint32_t *stack, n;
};

static void
number_nodes(struct semi *s, const uint32_t *start, const uint32_t *to, uint32_t root,
             uint32_t *next)
{
    uint32_t sp = 0;
    s->num[root] = ++s->n;
    s->node[0] = root;
    next[root] = start[root];
    s->stack[sp++] = root;
    while (sp) {
        uint32_t v = s->stack[sp - 1];
        if (next[v] == start[v + 1]) {
            sp--;
            continue;
        }
        uint32_t t = to[next[v]++];
        if (s->num[t])
            continue;
        s->parent[s->n] = s->num[v] - 1;
        s->node[s->n] = t;
        s->num[t] = ++s->n;
        next[t] = start[t];
        s->stack[sp++] = t;
    }
}

/* Of the nodes from v up to the first that is below `done`: the one with the least
 * semidominator. The path is shortened on the way. */
static uint32_t
climb(struct semi *s, uint32_t v, uint32_t done)
{
    uint32_t sp = 0;
    if (s->parent[v] < done)
        return s->best[v];
    for (; s->parent[v] >= done; v = s->parent[v])
        s->stack[sp++] = v;
    while (sp) {
        uint32_t above = v;
        v = s->stack[--sp];
        s->parent[v] = s->parent[above];
        if (s->semi[s->best[above]] < s->semi[s->best[v]])
            s->best[v] = s->best[above];
    }
    return s->best[v];
}

void
cfg_idoms(uint32_t n, const uint32_t *start, const uint32_t *to, uint32_t root,
          int32_t *idom)
{
    struct semi s = {xcalloc(n, sizeof *s.node),
                     xcalloc(n, sizeof *s.num),
                     xcalloc(n, sizeof *s.parent),
                     xcalloc(n, sizeof *s.semi),
                     xcalloc(n, sizeof *s.best),
                     xcalloc(n, sizeof *s.stack),
                     0};
    uint32_t *dom = xcalloc(n, sizeof *dom);
    number_nodes(&s, start, to, root, dom);

    /* Predecessors, from the successors of reached nodes. */
    uint32_t *pstart = xcalloc((size_t)s.n + 2, sizeof *pstart);
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t e = start[s.node[i]]; e < start[s.node[i] + 1]; e++)
            pstart[s.num[to[e]] + 1]++;
    for (uint32_t v = 2; v < s.n + 2; v++)
        pstart[v] += pstart[v - 1];
    uint32_t *pred = xcalloc(pstart[s.n + 1] + 1, sizeof *pred);
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t e = start[s.node[i]]; e < start[s.node[i] + 1]; e++)
            pred[pstart[s.num[to[e]]]++] = i;

    for (uint32_t i = 0; i < s.n; i++) {
        s.semi[i] = s.best[i] = i;
        dom[i] = s.parent[i];
    }
    for (uint32_t i = s.n; i-- > 1;) {
        s.semi[i] = s.parent[i];
        for (uint32_t e = pstart[i]; e < pstart[i + 1]; e++) {
            uint32_t least = s.semi[climb(&s, pred[e], i + 1)];
            s.semi[i] = least < s.semi[i] ? least : s.semi[i];
        }
    }
    for (uint32_t i = 1; i < s.n; i++)
        while (dom[i] > s.semi[i])
            dom[i] = dom[dom[i]];
    for (uint32_t v = 0; v < n; v++)
        idom[v] = s.num[v] ? (int32_t)s.node[dom[s.num[v] - 1]] : -1;
    free(s.node);
    free(s.num);
    free(s.parent);
    free(s.semi);
    free(s.best);
    free(s.stack);
    free(dom);
    free(pstart);
    free(pred);
}

/* -- blocks -- */

uint32_t
cfg_targets(const struct ptx_inst *in, int32_t *label, uint32_t max)
{
    if (!(ptx_ops[in->op].flags & PTX_JUMP))
        return 0;
    uint32_t n = 0;
    for (unsigned i = 0; i < in->nops; i++) {
        const struct ptx_operand *o = &in->ops[i];
        const struct ptx_operand *list = o->kind == PTX_OPD_VEC ? o->vec : o;
        unsigned len = o->kind == PTX_OPD_VEC ? o->n : 1;
        for (unsigned k = 0; k < len; k++)
            if (list[k].kind == PTX_OPD_LABEL) {
                if (n < max)
                    label[n] = list[k].label;
                n++;
            }
    }
    return n;
}

static bool
ends_block(const struct ptx_inst *in)
{
    return ptx_ops[in->op].flags & PTX_ENDS || cfg_targets(in, NULL, 0);
}

static bool
is_label(const struct ptx_inst *in)
{
    return in->op == PTX_OP_LABEL;
}

static void
find_labels(struct cfg *g)
{
    const struct ptx_func *f = g->func;
    g->label_at = ARENA_ARRAY(&g->mem, uint32_t, f->labels.n + 1);
    memset(g->label_at, 0xff, (f->labels.n + 1) * sizeof *g->label_at);
    for (uint32_t i = 0; i < f->body.n; i++)
        if (is_label(&f->body.v[i]))
            g->label_at[f->body.v[i].ops[0].label] = i;
}

/* A block starts at the first instruction, at a label after something that is no label,
 * and after whatever ends a block. */
static void
find_blocks(struct cfg *g)
{
    const struct ptx_func *f = g->func;
    uint32_t n = 0;
    g->block_of = ARENA_ARRAY(&g->mem, uint32_t, f->body.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i], *prev = in - 1;
        if (!i || ends_block(prev) || (is_label(in) && !is_label(prev)))
            n++;
        g->block_of[i] = n - 1;
    }
    g->n = n ? n : 1; /* an empty body is one empty block */
    g->block = ARENA_ARRAY(&g->mem, struct cfg_block, g->n);
    for (uint32_t i = 0; i < f->body.n; i++) {
        struct cfg_block *b = &g->block[g->block_of[i]];
        if (!i || g->block_of[i - 1] != g->block_of[i])
            b->first = i;
        b->end = i + 1;
    }
}

static void
add_succ(struct cfg_block *b, int32_t *list, int32_t to)
{
    for (uint32_t i = 0; i < b->nsucc; i++)
        if (list[i] == to)
            return;
    list[b->nsucc++] = to;
}

static void
find_edges(struct cfg *g)
{
    const struct ptx_func *f = g->func;
    for (uint32_t v = 0; v < g->n; v++) {
        struct cfg_block *b = &g->block[v];
        const struct ptx_inst *last = b->end > b->first ? &f->body.v[b->end - 1] : NULL;
        uint32_t nt = last ? cfg_targets(last, NULL, 0) : 0;
        int32_t *succ = ARENA_ARRAY(&g->mem, int32_t, nt + 2);
        int32_t *label = ARENA_ARRAY(&g->mem, int32_t, nt + 1);
        if (nt)
            cfg_targets(last, label, nt);
        bool ends = last && ptx_ops[last->op].flags & PTX_ENDS && !nt;
        for (uint32_t t = 0; t < nt; t++) {
            uint32_t at = g->label_at[label[t]];
            add_succ(b, succ, at == UINT32_MAX ? CFG_EXIT : (int32_t)g->block_of[at]);
        }
        if (ends)
            add_succ(b, succ, CFG_EXIT);
        if (!(nt || ends) || last->guard >= 0) /* may go on after */
            add_succ(b, succ, v + 1 < g->n ? (int32_t)v + 1 : CFG_EXIT);
        b->succ = succ;
        for (uint32_t i = 0; i < b->nsucc; i++)
            if (succ[i] >= 0)
                g->block[succ[i]].npred++;
    }
    for (uint32_t v = 0; v < g->n; v++) {
        g->block[v].pred = ARENA_ARRAY(&g->mem, int32_t, g->block[v].npred + 1);
        g->block[v].npred = 0;
    }
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int32_t t = g->block[v].succ[i];
            if (t >= 0)
                ((int32_t *)g->block[t].pred)[g->block[t].npred++] = (int32_t)v;
        }
}

/* The graph as plain arrays, node n being the exit; reversed if `back`. Forward the exit
 * is left out: nothing asks who dominates it, and it may have very many predecessors. */
static void
plain_graph(const struct cfg *g, bool back, uint32_t **start, uint32_t **to)
{
    uint32_t n = g->n + 1, *s = xcalloc((size_t)n + 2, sizeof *s);
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int32_t t = g->block[v].succ[i];
            uint32_t w = t < 0 ? g->n : (uint32_t)t;
            if (back || t >= 0)
                s[(back ? w : v) + 2]++;
        }
    for (uint32_t v = 2; v < n + 2; v++)
        s[v] += s[v - 1];
    uint32_t *e = xcalloc(s[n + 1] + 1, sizeof *e);
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int32_t t = g->block[v].succ[i];
            uint32_t w = t < 0 ? g->n : (uint32_t)t;
            if (back || t >= 0)
                e[s[(back ? w : v) + 1]++] = back ? v : w;
        }
    *start = s;
    *to = e;
}

static void
find_dominators(struct cfg *g)
{
    uint32_t n = g->n + 1, *start, *to;
    int32_t *idom = xcalloc(n, sizeof *idom);
    plain_graph(g, false, &start, &to);
    uint32_t *order = xcalloc(n, sizeof *order);
    uint32_t nr = reverse_postorder(n, start, to, 0, order);
    g->rpo = ARENA_ARRAY(&g->mem, uint32_t, g->n);
    for (uint32_t v = 0; v < g->n; v++)
        g->block[v].rpo = -1;
    for (uint32_t i = 0; i < nr; i++)
        if (order[i] < g->n) {
            g->block[order[i]].rpo = (int32_t)g->nrpo;
            g->rpo[g->nrpo++] = order[i];
        }
    cfg_idoms(n, start, to, 0, idom);
    for (uint32_t v = 0; v < g->n; v++)
        g->block[v].idom = v && idom[v] >= 0 ? idom[v] : CFG_NONE;
    free(start);
    free(to);
    free(order);

    plain_graph(g, true, &start, &to);
    cfg_idoms(n, start, to, g->n, idom);
    for (uint32_t v = 0; v < g->n; v++)
        g->block[v].ipdom = idom[v] < 0                ? CFG_NONE
                            : idom[v] == (int32_t)g->n ? CFG_EXIT
                                                       : idom[v];
    free(start);
    free(to);
    free(idom);
}

/* Parent of a block in the tree of dominators (0) or post-dominators (1); below 0: it
 * has none. */
static int32_t
parent(const struct cfg *g, uint32_t b, int tree)
{
    return tree ? g->block[b].ipdom : g->block[b].idom;
}

/* Numbers the blocks of a tree depth first. */
static void
number_tree(struct cfg *g, int tree)
{
    uint32_t *child = xcalloc((size_t)g->n + 1, sizeof *child),
             *sibling = xcalloc((size_t)g->n + 1, sizeof *sibling),
             *stack = xcalloc((size_t)g->n + 1, sizeof *stack), sp = 0, at = 0;
    for (uint32_t b = g->n; b-- > 0;) { /* first children, siblings: numbers + 1 */
        int32_t p = parent(g, b, tree);
        if (p >= 0) {
            sibling[b] = child[p];
            child[p] = b + 1;
        }
    }
    for (uint32_t root = 0; root < g->n; root++) {
        if (parent(g, root, tree) >= 0)
            continue;
        stack[sp++] = root;
        g->block[root].enter[tree] = at++;
        while (sp) {
            uint32_t b = stack[sp - 1], c = child[b];
            if (!c) {
                g->block[b].leave[tree] = at;
                sp--;
                continue;
            }
            child[b] = sibling[c - 1];
            g->block[c - 1].enter[tree] = at++;
            stack[sp++] = c - 1;
        }
    }
    free(child);
    free(sibling);
    free(stack);
}

static bool
above(const struct cfg *g, int32_t a, int32_t b, int tree)
{
    uint32_t at = g->block[b].enter[tree];
    return at >= g->block[a].enter[tree] && at < g->block[a].leave[tree];
}

struct cfg *
cfg_new(const struct ptx_func *f)
{
    struct cfg *g = xcalloc(1, sizeof *g);
    g->func = f;
    find_labels(g);
    find_blocks(g);
    find_edges(g);
    find_dominators(g);
    number_tree(g, 0);
    number_tree(g, 1);
    return g;
}

void
cfg_free(struct cfg *g)
{
    if (!g)
        return;
    arena_free(&g->mem);
    free(g);
}

bool
cfg_dominates(const struct cfg *g, int32_t a, int32_t b)
{
    if (a < 0 || b < 0 || g->block[a].rpo < 0 || g->block[b].rpo < 0)
        return false;
    return above(g, a, b, 0);
}

bool
cfg_postdominates(const struct cfg *g, int32_t a, int32_t b)
{
    if (b == CFG_EXIT)
        return a == CFG_EXIT;
    if (b < 0 || g->block[b].ipdom == CFG_NONE)
        return false;
    return a == CFG_EXIT || (a >= 0 && above(g, a, b, 1));
}

const struct ptx_inst *
cfg_condition(const struct cfg *g, uint32_t v)
{
    const struct cfg_block *b = &g->block[v];
    const struct ptx_inst *in = b->end > b->first ? &g->func->body.v[b->end - 1] : NULL;
    return in && in->op == PTX_OP_BRA && in->guard >= 0 ? in : NULL;
}

bool
cfg_leaves(const struct cfg *g, uint32_t v)
{
    for (uint32_t i = g->block[v].first; i < g->block[v].end; i++) {
        const struct ptx_inst *in = &g->func->body.v[i];
        if (!ptx_is_pseudo(in))
            return (in->op == PTX_OP_RET || in->op == PTX_OP_EXIT) && in->guard < 0;
    }
    return false;
}

void
cfg_reach(const struct cfg *g, uint32_t v, int32_t stop, uint64_t *set)
{
    VEC(uint32_t) stack = {0};
    *vec_push(&stack) = v;
    while (stack.n) {
        const struct cfg_block *b = &g->block[stack.v[--stack.n]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (b->succ[e] >= 0 && b->succ[e] != stop &&
                !bitset_has(set, (size_t)b->succ[e])) {
                bitset_add(set, (size_t)b->succ[e]);
                *vec_push(&stack) = (uint32_t)b->succ[e];
            }
    }
    vec_free(&stack);
}

bool
cfg_is_reducible(const struct cfg *g)
{
    for (uint32_t k = 0; k < g->nrpo; k++) {
        const struct cfg_block *b = &g->block[g->rpo[k]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (b->succ[e] >= 0 && g->block[b->succ[e]].rpo <= b->rpo &&
                !cfg_dominates(g, b->succ[e], (int32_t)g->rpo[k]))
                return false;
    }
    return true;
}
