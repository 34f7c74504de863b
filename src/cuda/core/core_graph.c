/* core_graph.c: graphs (core_graph.h): nodes, edges, copies, running, memory, capture. */
#include "cuda/core/core_graph.h"

#include "base/file.h"
#include "cuda/core/core_int.h"

#include <errno.h>

#include <stdio.h>

struct acu_memory {
    uint64_t addr, bytes;
    uint64_t epoch;      /* of the device: after a reset the address is nobody's */
    unsigned nodes;      /* that name it, in all graphs */
    unsigned running[2]; /* executable graphs that allocate it, that free it */
    bool live;
};

struct acu_condition {
    uint64_t word; /* device address: the handle */
    uint64_t epoch;
    unsigned value, flags;
    unsigned graphs; /* that have it */
};

typedef VEC(struct acu_node *) node_list;

/* -- memory -- */

/* Whether its addresses are reserved on the device that there is. */
static bool
known(const struct acu_memory *m)
{
    return acu.device && m->epoch == acu.epoch;
}

static struct acu_memory *
memory_at(uint64_t addr)
{
    for (size_t i = 0; i < acu.graph_memory.n; i++) {
        struct acu_memory *m = acu.graph_memory.v[i];
        if (m->addr == addr && known(m))
            return m;
    }
    return NULL;
}

/* Nobody names it any more, and it has no memory: its addresses are given back. */
static void
memory_check(struct acu_memory *m)
{
    if (m->nodes || (m->live && known(m)))
        return;
    if (known(m))
        allot_unreserve(acu.device, m->addr, NULL);
    for (size_t i = 0; i < acu.graph_memory.n; i++)
        if (acu.graph_memory.v[i] == m)
            acu.graph_memory.v[i] = acu.graph_memory.v[--acu.graph_memory.n];
    free(m);
}

static int
memory_new(uint64_t bytes, struct acu_memory **out)
{
    uint64_t addr;
    int e = bytes ? acu_reserve(bytes, &addr) : ACU_INVALID_VALUE;
    if (e)
        return e;
    struct acu_memory *m = xcalloc(1, sizeof *m);
    *m = (struct acu_memory){.addr = addr, .bytes = bytes, .epoch = acu.epoch};
    *vec_push(&acu.graph_memory) = *out = m;
    return 0;
}

static int
memory_commit(struct acu_memory *m)
{
    uint64_t *b = acu.graph_bytes;
    int e = known(m) ? acu_commit(m->addr, m->bytes) : ACU_INVALID_VALUE;
    if (e)
        return e;
    m->live = true;
    b[ACU_GRAPH_USED] += m->bytes;
    if (b[ACU_GRAPH_RESERVED] < b[ACU_GRAPH_USED])
        b[ACU_GRAPH_RESERVED] = b[ACU_GRAPH_USED];
    for (int i = ACU_GRAPH_USED; i <= ACU_GRAPH_RESERVED; i += 2)
        if (b[i + 1] < b[i])
            b[i + 1] = b[i];
    return 0;
}

void
acu_graph_freed(uint64_t addr)
{
    struct acu_memory *m = acu.graph_memory.n ? memory_at(addr) : NULL;
    if (!m || !m->live)
        return;
    m->live = false;
    acu.graph_bytes[ACU_GRAPH_USED] -= m->bytes;
    memory_check(m);
}

int
acu_graph_memory_get(int attribute, uint64_t *value)
{
    if (attribute < ACU_GRAPH_USED || attribute > ACU_GRAPH_RESERVED_HIGH || !value)
        return ACU_INVALID_VALUE;
    *value = acu.graph_bytes[attribute];
    return 0;
}

int
acu_graph_memory_set(int attribute, uint64_t value)
{
    if ((attribute != ACU_GRAPH_USED_HIGH && attribute != ACU_GRAPH_RESERVED_HIGH) ||
        value)
        return ACU_INVALID_VALUE;
    acu.graph_bytes[attribute] = acu.graph_bytes[attribute - 1];
    return 0;
}

void
acu_graph_memory_trim(void)
{
    acu.graph_bytes[ACU_GRAPH_RESERVED] = acu.graph_bytes[ACU_GRAPH_USED];
}

void
acu_graphs_reset(void)
{
    for (size_t i = 0; i < acu.captures.n; i++)
        vec_free(&acu.captures.v[i].front);
    for (size_t i = 0; i < acu.captured_events.n; i++)
        vec_free(&acu.captured_events.v[i].front);
    acu.captures.n = acu.captured_events.n = 0;
    memset(acu.graph_bytes, 0, sizeof acu.graph_bytes);
}

/* -- nodes -- */

static struct acu_graph *graph_copy(struct acu_graph *from, bool executable);
static int graph_run(struct acu_graph *g, struct acu_stream *s);
static bool acyclic(const struct acu_graph *g);

/* Pointers and values of a kernel's arguments in one block; NULL: it has none. */
static void **
copy_args(const struct acu_function *f, void *const *args)
{
    uint64_t at = 0, bytes = 0;
    size_t n = 0;
    while (acu_function_param(f, n, &at, &bytes))
        n++;
    if (!n)
        return NULL;
    char *block = xcalloc(1, n * sizeof(void *) + at + bytes); /* the last one's end */
    for (size_t i = 0; i < n; i++) {
        acu_function_param(f, i, &at, &bytes);
        char *value = block + n * sizeof(void *) + at;
        memcpy(value, args[i], bytes);
        ((void **)block)[i] = value;
    }
    return (void **)block;
}

/* What hangs on the node, but for its edges. */
static void
node_clear(struct acu_node *n)
{
    if (n->kind == ACU_NODE_KERNEL)
        free((void *)n->launch.args);
    for (unsigned i = 0; i < n->nbody; i++) {
        n->body[i]->body = false;
        acu_graph_free(n->body[i]);
    }
    if (n->nbody)
        free(n->body);
    if (n->memory) {
        n->memory->running[n->kind == ACU_NODE_FREE] -= n->owner->executable;
        n->memory->nodes--;
        memory_check(n->memory);
    }
}

static void
node_free(struct acu_node *n)
{
    node_clear(n);
    vec_free(&n->after);
    free(n);
}

static struct acu_graph *
body_new(void)
{
    struct acu_graph *g = acu_graph_new();
    g->body = true;
    return g;
}

/* The node's own copies of what its fields, copied from a description or another node,
 * point to. executable: the graphs in it become executable. */
static void
node_own(struct acu_node *n, bool executable)
{
    if (n->kind == ACU_NODE_KERNEL)
        n->launch.args = copy_args(n->f, n->launch.args);
    if (n->nbody) {
        struct acu_graph **from = n->body;
        n->body = xcalloc(n->nbody, sizeof *n->body);
        for (unsigned i = 0; i < n->nbody; i++) {
            n->body[i] = n->takes_over ? from[i] : graph_copy(from[i], executable);
            n->body[i]->body = true;
        }
        n->takes_over = false;
    }
    if (n->memory) {
        n->memory->nodes++;
        n->memory->running[n->kind == ACU_NODE_FREE] += executable;
    }
}

static bool
has_memory(const struct acu_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct acu_node *n = g->nodes.v[i];
        if (n->memory)
            return true;
        for (unsigned k = 0; k < n->nbody; k++)
            if (has_memory(n->body[k]))
                return true;
    }
    return false;
}

static struct acu_condition *
condition_of(const struct acu_graph *g, uint64_t handle)
{
    for (size_t i = 0; i < g->conditions.n; i++)
        if (g->conditions.v[i]->word == handle)
            return g->conditions.v[i];
    return NULL;
}

static bool
frees(const struct acu_graph *g, const struct acu_memory *m)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->kind == ACU_NODE_FREE && g->nodes.v[i]->memory == m)
            return true;
    return false;
}

/* Checks a description and fills in what it stands for. */
static int
describe(const struct acu_graph *g, struct acu_node *n)
{
    switch (n->kind) {
    case ACU_NODE_KERNEL: {
        int e = acu_function_load(n->f);
        return e ? e : n->f->kernel->nparams && !n->launch.args ? ACU_INVALID_VALUE : 0;
    }
    case ACU_NODE_SET:
        return n->element == 1 || n->element == 2 || n->element == 4 ? 0
                                                                     : ACU_INVALID_VALUE;
    case ACU_NODE_HOST:
        return n->host ? 0 : ACU_INVALID_VALUE;
    case ACU_NODE_EVENT_WAIT:
    case ACU_NODE_EVENT_RECORD:
        return acu_event_valid(n->event) ? 0 : ACU_INVALID_HANDLE;
    case ACU_NODE_GRAPH:
        if (n->nbody != 1 || !n->body[0] || n->body[0] == g ||
            (n->takes_over && n->body[0]->body) || !acyclic(n->body[0]))
            return ACU_INVALID_VALUE;
        /* Memory and conditions are one graph's. */
        return n->body[0]->conditions.n || (!n->takes_over && has_memory(n->body[0]))
                   ? ACU_NOT_SUPPORTED
                   : 0;
    case ACU_NODE_ALLOC:
        return memory_new(n->bytes, &n->memory);
    case ACU_NODE_FREE:
        n->memory = memory_at(n->addr);
        return n->memory && !frees(g, n->memory) ? 0 : ACU_INVALID_VALUE;
    case ACU_NODE_CONDITIONAL:
        n->condition = condition_of(g, n->handle);
        return n->condition && n->nbody &&
                       (n->conditional == ACU_SWITCH ||
                        (n->conditional == ACU_WHILE && n->nbody == 1) ||
                        (n->conditional == ACU_IF && n->nbody <= 2))
                   ? 0
                   : ACU_INVALID_VALUE;
    case ACU_NODE_COPY:
    case ACU_NODE_EMPTY:
        return 0;
    }
    return ACU_INVALID_VALUE;
}

static bool
in_graph(const struct acu_graph *g, const struct acu_node *n)
{
    for (size_t i = g->nodes.n; i--;) /* mostly one of the last */
        if (g->nodes.v[i] == n)
            return true;
    return false;
}

static bool
depends(const struct acu_node *n, const struct acu_node *on)
{
    for (size_t i = 0; i < n->after.n; i++)
        if (n->after.v[i] == on)
            return true;
    return false;
}

int
acu_node_add(struct acu_graph *g, struct acu_node *what, struct acu_node *const *after,
             size_t n, struct acu_node **node)
{
    if (!g || !what || !node || (n && !after))
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!in_graph(g, after[i]))
            return ACU_INVALID_VALUE;
    struct acu_node made = *what;
    int e = describe(g, &made);
    if (e)
        return e;
    if (made.kind == ACU_NODE_CONDITIONAL) {
        made.takes_over = true;
        made.body = xcalloc(made.nbody, sizeof *made.body);
        for (unsigned i = 0; i < made.nbody; i++)
            made.body[i] = body_new();
    }
    struct acu_graph **bodies = made.body;
    node_own(&made, false);
    if (made.kind == ACU_NODE_CONDITIONAL)
        free(bodies);
    if (made.kind == ACU_NODE_ALLOC)
        what->addr = made.addr = made.memory->addr;
    made.owner = g;
    struct acu_node *p = xcalloc(1, sizeof *p);
    *p = made;
    *vec_push(&g->nodes) = *node = p;
    for (size_t i = 0; i < n; i++)
        if (!depends(p, after[i]))
            *vec_push(&p->after) = after[i];
    what->body = p->body;
    return 0;
}

int
acu_node_set(struct acu_node *n, const struct acu_node *what)
{
    if (!n || !what || n->kind != what->kind || n->memory ||
        n->kind == ACU_NODE_CONDITIONAL)
        return ACU_INVALID_VALUE;
    struct acu_node made = *what;
    int e = describe(n->owner, &made);
    if (e)
        return e;
    node_own(&made, n->owner->executable);
    node_clear(n);
    made.owner = n->owner;
    made.origin = n->origin;
    made.disabled = n->disabled;
    if (n->kind == ACU_NODE_KERNEL) /* parameters are set, attributes stay */
        acu_launch_attributes_copy(&made.launch, &n->launch);
    memcpy(&made.after, &n->after, sizeof made.after);
    *n = made;
    return 0;
}

int
acu_node_remove(struct acu_node *n)
{
    struct acu_graph *g = n ? n->owner : NULL;
    if (!g || g->executable)
        return ACU_INVALID_VALUE;
    if (n->memory)
        return ACU_NOT_SUPPORTED;
    size_t at = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct acu_node *m = g->nodes.v[i];
        for (size_t k = 0; k < m->after.n;)
            if (m->after.v[k] == n)
                m->after.v[k] = m->after.v[--m->after.n];
            else
                k++;
        if (m != n)
            g->nodes.v[at++] = m;
    }
    g->nodes.n = at;
    node_free(n);
    return 0;
}

int
acu_node_enable(struct acu_node *n, bool enabled)
{
    if (!n || n->kind > ACU_NODE_SET)
        return ACU_INVALID_VALUE;
    n->disabled = !enabled;
    return 0;
}

/* -- edges -- */

static int
edges_check(const struct acu_graph *g, struct acu_node *const *from,
            struct acu_node *const *to, size_t n, bool there)
{
    if (!g || g->executable || (n && (!from || !to)))
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!in_graph(g, from[i]) || !in_graph(g, to[i]) || from[i] == to[i] ||
            depends(to[i], from[i]) != there)
            return ACU_INVALID_VALUE;
    return 0;
}

int
acu_graph_add_edges(struct acu_graph *g, struct acu_node *const *from,
                    struct acu_node *const *to, size_t n)
{
    int e = edges_check(g, from, to, n, false);
    for (size_t i = 0; !e && i < n; i++)
        *vec_push(&to[i]->after) = from[i];
    return e;
}

int
acu_graph_remove_edges(struct acu_graph *g, struct acu_node *const *from,
                       struct acu_node *const *to, size_t n)
{
    int e = edges_check(g, from, to, n, true);
    for (size_t i = 0; !e && i < n; i++) {
        if (from[i]->memory || to[i]->memory)
            return ACU_NOT_SUPPORTED;
        for (size_t k = 0; k < to[i]->after.n; k++)
            if (to[i]->after.v[k] == from[i]) {
                to[i]->after.v[k] = to[i]->after.v[--to[i]->after.n];
                break;
            }
    }
    return e;
}

/* Hands out list l as the APIs want it. */
static int
give(const node_list *l, struct acu_node **out, size_t *n)
{
    if (!out) {
        *n = l->n;
        return 0;
    }
    for (size_t i = 0; i < *n; i++)
        out[i] = i < l->n ? l->v[i] : NULL;
    *n = *n < l->n ? *n : l->n;
    return 0;
}

int
acu_graph_nodes(const struct acu_graph *g, struct acu_node **out, size_t *n)
{
    node_list l = {0};
    if (!g || !n)
        return ACU_INVALID_VALUE;
    memcpy(&l, &g->nodes, sizeof l);
    return give(&l, out, n);
}

int
acu_node_before(const struct acu_node *node, struct acu_node **out, size_t *n)
{
    node_list l = {0};
    if (!node || !n)
        return ACU_INVALID_VALUE;
    memcpy(&l, &node->after, sizeof l);
    return give(&l, out, n);
}

int
acu_graph_roots(const struct acu_graph *g, struct acu_node **out, size_t *n)
{
    node_list l = {0};
    if (!g || !n)
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!g->nodes.v[i]->after.n)
            *vec_push(&l) = g->nodes.v[i];
    give(&l, out, n);
    vec_free(&l);
    return 0;
}

int
acu_node_behind(const struct acu_node *node, struct acu_node **out, size_t *n)
{
    node_list l = {0};
    if (!node || !n)
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < node->owner->nodes.n; i++)
        if (depends(node->owner->nodes.v[i], node))
            *vec_push(&l) = node->owner->nodes.v[i];
    give(&l, out, n);
    vec_free(&l);
    return 0;
}

int
acu_graph_edges(const struct acu_graph *g, struct acu_node **from, struct acu_node **to,
                size_t *n)
{
    node_list a = {0}, b = {0};
    if (!g || !n || !from != !to)
        return ACU_INVALID_VALUE;
    for (size_t i = 0; i < g->nodes.n; i++)
        for (size_t k = 0; k < g->nodes.v[i]->after.n; k++) {
            *vec_push(&a) = g->nodes.v[i]->after.v[k];
            *vec_push(&b) = g->nodes.v[i];
        }
    size_t room = *n;
    give(&a, from, n);
    if (to)
        give(&b, to, &room);
    vec_free(&a);
    vec_free(&b);
    return 0;
}

/* -- graphs -- */

struct acu_graph *
acu_graph_new(void)
{
    return xcalloc(1, sizeof(struct acu_graph));
}

static void
condition_drop(struct acu_condition *c)
{
    if (--c->graphs)
        return;
    if (acu.device && c->epoch == acu.epoch)
        acu_free(c->word, 1u << ACU_KIND_DEVICE);
    free(c);
}

static void
graph_clear(struct acu_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        node_free(g->nodes.v[i]);
    for (size_t i = 0; i < g->conditions.n; i++)
        condition_drop(g->conditions.v[i]);
    vec_free(&g->nodes);
    vec_free(&g->conditions);
}

int
acu_graph_free(struct acu_graph *g)
{
    if (!g || g->body)
        return ACU_INVALID_VALUE;
    graph_clear(g);
    free(g);
    return 0;
}

/* The nodes so that each stands behind those it depends on, otherwise in the order in
 * which they were made: depth first, with a stack of its own. False: there is a cycle. */
static bool
sorted(const struct acu_graph *g, node_list *out)
{
    enum { NEW, OPEN, DONE };
    node_list stack = {0};
    bool ok = true;
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.v[i]->mark = NEW;
    for (size_t i = 0; ok && i < g->nodes.n; i++) {
        *vec_push(&stack) = g->nodes.v[i];
        while (ok && stack.n) {
            struct acu_node *n = stack.v[stack.n - 1];
            if (n->mark == NEW) {
                n->mark = OPEN;
                for (size_t k = n->after.n; ok && k--;) {
                    ok = n->after.v[k]->mark != OPEN;
                    if (n->after.v[k]->mark == NEW)
                        *vec_push(&stack) = n->after.v[k];
                }
                continue;
            }
            stack.n--;
            if (n->mark == OPEN)
                *vec_push(out) = n;
            n->mark = DONE;
        }
    }
    vec_free(&stack);
    return ok;
}

/* NULL: there is a cycle in an executable one. */
static struct acu_graph *
graph_copy(struct acu_graph *from, bool executable)
{
    node_list order = {0};
    struct acu_graph *g = acu_graph_new();
    g->executable = executable;
    bool ok = sorted(from, &order);
    for (size_t i = 0; ok && i < from->nodes.n; i++) {
        struct acu_node *old = executable ? order.v[i] : from->nodes.v[i];
        struct acu_node *n = *vec_push(&g->nodes) = old->copy = xcalloc(1, sizeof *n);
        *n = *old;
        n->owner = g;
        n->origin = old;
        n->after.v = NULL;
        n->after.n = n->after.cap = 0;
        node_own(n, executable);
    }
    for (size_t i = 0; ok && i < from->nodes.n; i++)
        for (size_t k = 0; k < from->nodes.v[i]->after.n; k++)
            *vec_push(&from->nodes.v[i]->copy->after) =
                from->nodes.v[i]->after.v[k]->copy;
    for (size_t i = 0; ok && i < from->conditions.n; i++) {
        *vec_push(&g->conditions) = from->conditions.v[i];
        from->conditions.v[i]->graphs++;
    }
    vec_free(&order);
    if (ok)
        return g;
    acu_graph_free(g);
    return NULL;
}

/* No cycle here, nor in any graph inside. */
static bool
acyclic(const struct acu_graph *g)
{
    node_list order = {0};
    bool ok = sorted(g, &order);
    vec_free(&order);
    for (size_t i = 0; ok && i < g->nodes.n; i++)
        for (unsigned k = 0; ok && k < g->nodes.v[i]->nbody; k++)
            ok = acyclic(g->nodes.v[i]->body[k]);
    return ok;
}

int
acu_graph_clone(struct acu_graph **out, struct acu_graph *g)
{
    if (!out || !g || !acyclic(g))
        return ACU_INVALID_VALUE;
    if (has_memory(g))
        return ACU_NOT_SUPPORTED;
    *out = graph_copy(g, false);
    return 0;
}

/* Whether memory of the graph is in an executable graph already. */
static bool
in_use(const struct acu_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct acu_node *n = g->nodes.v[i];
        if (n->memory && n->memory->running[n->kind == ACU_NODE_FREE])
            return true;
        for (unsigned k = 0; k < n->nbody; k++)
            if (in_use(n->body[k]))
                return true;
    }
    return false;
}

int
acu_graph_instantiate(struct acu_graph **out, struct acu_graph *g,
                      unsigned long long flags)
{
    if (!out || !g || g->executable || !acyclic(g))
        return ACU_INVALID_VALUE;
    if (in_use(g)) {
        acu_say("a graph that allocates or frees memory has one executable graph at a "
                "time: destroy the first");
        return ACU_NOT_SUPPORTED;
    }
    *out = graph_copy(g, true);
    (*out)->flags = flags;
    return 0;
}

struct acu_node *
acu_graph_copy_of(const struct acu_graph *copy, const struct acu_node *node)
{
    for (size_t i = 0; copy && node && i < copy->nodes.n; i++) {
        struct acu_node *n = copy->nodes.v[i], *inside = NULL;
        if (n->origin == node)
            return n;
        for (unsigned k = 0; !inside && k < n->nbody; k++)
            inside = acu_graph_copy_of(n->body[k], node);
        if (inside)
            return inside;
    }
    return NULL;
}

/* The first node of `to` that does not have the shape of its place in `from`. */
static struct acu_node *
differs(const struct acu_graph *from, const struct acu_graph *to, int *why)
{
    enum { TOPOLOGY = 2, TYPE = 3, PARAMETERS = 5 };
    for (size_t i = 0; i < to->nodes.n; i++) {
        struct acu_node *a = i < from->nodes.n ? from->nodes.v[i] : NULL,
                        *b = to->nodes.v[i], *inside = NULL;
        *why = !a || a->after.n != b->after.n ? TOPOLOGY
               : a->kind != b->kind           ? TYPE
               : a->nbody != b->nbody || a->conditional != b->conditional ||
                       a->memory != b->memory || a->condition != b->condition
                   ? PARAMETERS
                   : 0;
        for (unsigned k = 0; !*why && !inside && k < b->nbody; k++)
            inside = differs(a->body[k], b->body[k], why);
        if (*why)
            return inside ? inside : b;
    }
    *why = from->nodes.n != to->nodes.n ? TOPOLOGY : 0;
    return NULL;
}

/* The nodes are named as those of `old` were. */
static void
keep_names(struct acu_graph *g, const struct acu_graph *old)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct acu_node *n = g->nodes.v[i], *o = old->nodes.v[i];
        n->origin = o->origin;
        n->disabled = o->disabled;
        for (unsigned k = 0; k < n->nbody; k++)
            keep_names(n->body[k], o->body[k]);
    }
}

int
acu_graph_update(struct acu_graph *exec, struct acu_graph *g, struct acu_node **node,
                 int *why)
{
    enum { ERROR = 1 };
    *node = NULL;
    *why = ERROR;
    if (!exec || !g || !exec->executable || g->executable || !acyclic(g))
        return ACU_INVALID_VALUE;
    struct acu_graph *made = graph_copy(g, true), old = *exec;
    struct acu_node *n = differs(&old, made, why);
    if (*why) {
        *node = n ? (struct acu_node *)n->origin : NULL;
        acu_graph_free(made);
        return ACU_GRAPH_EXEC_UPDATE_FAILURE;
    }
    keep_names(made, &old);
    *exec = *made;
    exec->flags = old.flags;
    for (size_t i = 0; i < exec->nodes.n; i++)
        exec->nodes.v[i]->owner = exec;
    free(made);
    graph_clear(&old);
    return 0;
}

/* -- conditions -- */

int
acu_graph_condition(struct acu_graph *g, unsigned value, unsigned flags, uint64_t *handle)
{
    if (!g || !handle || flags > 1)
        return ACU_INVALID_VALUE;
    int e = acu_alloc(ACU_KIND_DEVICE, sizeof value, 0, handle);
    if (e)
        return e;
    struct acu_condition *c = xcalloc(1, sizeof *c);
    *c = (struct acu_condition){*handle, acu.epoch, value, flags, 1};
    *vec_push(&g->conditions) = c;
    return 0;
}

/* Device addresses are the host's. */
static uint32_t *
word_of(const struct acu_condition *c)
{
    return acu.device && c->epoch == acu.epoch ? (uint32_t *)(uintptr_t)c->word : NULL;
}

static int
conditional_run(const struct acu_node *n, struct acu_stream *s)
{
    const uint32_t *word = word_of(n->condition);
    int e = word ? 0 : ACU_INVALID_VALUE;
    if (e)
        return e;
    switch (n->conditional) {
    case ACU_WHILE:
        while (!e && !acu.sticky && *word)
            e = graph_run(n->body[0], s);
        return e;
    case ACU_IF:
        if (*word)
            return graph_run(n->body[0], s);
        return n->nbody > 1 ? graph_run(n->body[1], s) : 0;
    case ACU_SWITCH:
        break;
    }
    return *word < n->nbody ? graph_run(n->body[*word], s) : 0;
}

/* -- running -- */

static int
node_run(const struct acu_node *n, struct acu_stream *s)
{
    if (n->disabled)
        return 0;
    switch (n->kind) {
    case ACU_NODE_KERNEL:
        return acu_launch(n->f, &n->launch, s);
    case ACU_NODE_COPY:
        return acu_copy3d(&n->dst, &n->src, n->width, n->height, n->depth);
    case ACU_NODE_SET:
        return acu_set3d(n->dst.addr, n->dst.pitch, n->dst.slice, &n->value, n->element,
                         n->width, n->height, n->depth);
    case ACU_NODE_HOST:
        acu_call_back(n->host, n->user);
        return 0;
    case ACU_NODE_GRAPH:
        return graph_run(n->body[0], s);
    case ACU_NODE_EVENT_RECORD:
        return acu_event_record(n->event, s);
    case ACU_NODE_ALLOC:
        return memory_commit(n->memory);
    case ACU_NODE_FREE:
        return acu_free(n->addr, 1u << ACU_KIND_DEVICE);
    case ACU_NODE_CONDITIONAL:
        return conditional_run(n, s);
    case ACU_NODE_EMPTY:
    case ACU_NODE_EVENT_WAIT: /* what was recorded before is done */
        break;
    }
    return 0;
}

/* After a fault nothing more runs; the next call tells of it. */
static int
graph_run(struct acu_graph *g, struct acu_stream *s)
{
    int e = 0;
    for (size_t i = 0; !e && !acu.sticky && i < g->nodes.n; i++)
        e = node_run(g->nodes.v[i], s);
    return e;
}

/* Memory that an earlier launch left, which an allocation of this one would give again.
 */
static int
left_over(const struct acu_graph *g, bool free_it)
{
    int e = 0;
    for (size_t i = 0; !e && i < g->nodes.n; i++) {
        const struct acu_node *n = g->nodes.v[i];
        if (n->kind == ACU_NODE_ALLOC && n->memory->live && known(n->memory)) {
            if (free_it) {
                e = acu_free(n->addr, 1u << ACU_KIND_DEVICE);
            } else {
                acu_say("a graph is launched again while %llu bytes at 0x%llx that it "
                        "allocated before are not freed: free them, or instantiate with "
                        "cudaGraphInstantiateFlagAutoFreeOnLaunch",
                        (unsigned long long)n->bytes, (unsigned long long)n->addr);
                e = ACU_INVALID_VALUE;
            }
        }
        for (unsigned k = 0; !e && k < n->nbody; k++)
            e = left_over(n->body[k], free_it);
    }
    return e;
}

/* Conditions begin with their defaults. */
static int
defaults(const struct acu_graph *g)
{
    int e = 0;
    for (size_t i = 0; !e && i < g->conditions.n; i++) {
        const struct acu_condition *c = g->conditions.v[i];
        uint32_t *word = word_of(c);
        if (!word)
            e = ACU_INVALID_VALUE;
        else if (c->flags & 1)
            *word = c->value;
    }
    for (size_t i = 0; !e && i < g->nodes.n; i++)
        for (unsigned k = 0; !e && k < g->nodes.v[i]->nbody; k++)
            e = defaults(g->nodes.v[i]->body[k]);
    return e;
}

int
acu_graph_launch(struct acu_graph *exec, struct acu_stream *s)
{
    if (!exec || !exec->executable)
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    struct acu_graph *outer = acu_capturing(s);
    if (outer) {
        struct acu_node what = {.kind = ACU_NODE_GRAPH, .body = &exec, .nbody = 1}, *node;
        size_t n;
        struct acu_node *const *front =
            (struct acu_node *const *)acu_capture_front(s, &n);
        int e = acu_node_add(outer, &what, front, n, &node);
        return e ? e : acu_capture_move(s, &node, 1, false);
    }
    int e = left_over(exec, exec->flags & ACU_GRAPH_AUTO_FREE);
    if (!e)
        e = defaults(exec);
    return e ? e : graph_run(exec, s);
}

/* -- printing -- */

static void
print_graph(FILE *f, const struct acu_graph *g, const char *name)
{
    static const char *const kinds[] = {[ACU_NODE_KERNEL] = "kernel",
                                        [ACU_NODE_COPY] = "copy",
                                        [ACU_NODE_SET] = "set",
                                        [ACU_NODE_HOST] = "host",
                                        [ACU_NODE_GRAPH] = "graph",
                                        [ACU_NODE_EMPTY] = "empty",
                                        [ACU_NODE_EVENT_WAIT] = "event wait",
                                        [ACU_NODE_EVENT_RECORD] = "event record",
                                        [ACU_NODE_ALLOC] = "alloc",
                                        [ACU_NODE_FREE] = "free",
                                        [ACU_NODE_CONDITIONAL] = "conditional"};
    fprintf(f, "subgraph cluster_%s {\nlabel=\"%s\"\n", name, name);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct acu_node *n = g->nodes.v[i];
        fprintf(f, "n%p [label=\"%zu %s%s%s\"]\n", (const void *)n, i, kinds[n->kind],
                n->kind == ACU_NODE_KERNEL ? " " : "",
                n->kind == ACU_NODE_KERNEL ? n->f->name : "");
        for (size_t k = 0; k < n->after.n; k++)
            fprintf(f, "n%p -> n%p\n", (const void *)n->after.v[k], (const void *)n);
        for (unsigned k = 0; k < n->nbody; k++) {
            char inner[256];
            snprintf(inner, sizeof inner, "%.200s_%zu_%u", name, i, k);
            print_graph(f, n->body[k], inner);
        }
    }
    fputs("}\n", f);
}

int
acu_graph_print(const struct acu_graph *g, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = g && path ? open_memstream(&text, &n) : NULL;
    if (!f)
        return ACU_INVALID_VALUE;
    fputs("digraph {\n", f);
    print_graph(f, g, "graph");
    fputs("}\n", f);
    bool ok = !fclose(f), written = ok && file_write(path, text, n);
    if (!written)
        acu_say("cannot write %s: %s", path, strerror(errno));
    free(text);
    return !ok ? ACU_OUT_OF_MEMORY : written ? 0 : ACU_OPERATING_SYSTEM;
}

/* -- capture -- */

static struct acu_capture *
capture_of(const struct acu_stream *s)
{
    for (size_t i = 0; i < acu.captures.n; i++)
        if (acu.captures.v[i].stream == s)
            return &acu.captures.v[i];
    return NULL;
}

struct acu_graph *
acu_capturing(struct acu_stream *s)
{
    struct acu_capture *c = acu.captures.n ? capture_of(s) : NULL;
    return c ? c->graph : NULL;
}

int
acu_stream_capture_begin(struct acu_stream *s, int mode, struct acu_graph *g,
                         struct acu_node *const *after, size_t n)
{
    if (mode < 0 || mode > 2 || (g && g->executable))
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!s || s == ACU_STREAM_LEGACY)
        return ACU_STREAM_CAPTURE_UNSUPPORTED;
    if (capture_of(s))
        return ACU_ILLEGAL_STATE;
    for (size_t i = 0; i < n; i++)
        if (!g || !after || !in_graph(g, after[i]))
            return ACU_INVALID_VALUE;
    *vec_push(&acu.captures) = (struct acu_capture){
        .stream = s, .graph = g ? g : acu_graph_new(), .origin = true, .given = g};
    return acu_capture_move(s, after, n, false);
}

const struct acu_node *const *
acu_capture_front(struct acu_stream *s, size_t *n)
{
    struct acu_capture *c = capture_of(s);
    *n = c ? c->front.n : 0;
    return (const struct acu_node *const *)(c ? c->front.v : NULL);
}

int
acu_capture_move(struct acu_stream *s, struct acu_node *const *nodes, size_t n, bool add)
{
    struct acu_capture *c = capture_of(s);
    if (!c)
        return ACU_ILLEGAL_STATE;
    for (size_t i = 0; i < n; i++)
        if (!nodes || !in_graph(c->graph, nodes[i]))
            return ACU_INVALID_VALUE;
    if (!add)
        c->front.n = 0;
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t k = 0; k < c->front.n; k++)
            there |= c->front.v[k] == nodes[i];
        if (!there)
            *vec_push(&c->front) = nodes[i];
    }
    return 0;
}

int
acu_stream_capture_end(struct acu_stream *s, struct acu_graph **g)
{
    struct acu_capture *c = capture_of(s);
    if (!c)
        return ACU_ILLEGAL_STATE;
    if (!c->origin)
        return ACU_STREAM_CAPTURE_UNMATCHED;
    if (!g && !c->given) /* nobody could ever free the new graph */
        return ACU_INVALID_VALUE;
    struct acu_graph *into = c->graph;
    if (g)
        *g = into;
    for (size_t i = 0; i < acu.captures.n;) /* with the streams that had joined */
        if (acu.captures.v[i].graph == into) {
            vec_free(&acu.captures.v[i].front);
            acu.captures.v[i] = acu.captures.v[--acu.captures.n];
        } else {
            i++;
        }
    for (size_t i = 0; i < acu.captured_events.n;)
        if (acu.captured_events.v[i].graph == into) {
            vec_free(&acu.captured_events.v[i].front);
            acu.captured_events.v[i] = acu.captured_events.v[--acu.captured_events.n];
        } else {
            i++;
        }
    return 0;
}

/* Adds the node behind what the capturing stream did before. */
static int
capture(struct acu_stream *s, struct acu_node *what)
{
    struct acu_capture *c = capture_of(s);
    struct acu_node *node;
    int e = acu_node_add(c->graph, what, c->front.v, c->front.n, &node);
    if (e)
        return e;
    c->front.n = 0;
    *vec_push(&c->front) = node;
    return 0;
}

int
acu_do_launch(struct acu_stream *s, struct acu_function *f, const struct acu_launch *l)
{
    int e = !acu_capturing(s)
                ? acu_launch(f, l, s)
                : capture(s, &(struct acu_node){ACU_NODE_KERNEL, .f = f, .launch = *l});
    return e ? e : acu_launch_events(s, l);
}

int
acu_do_copy(struct acu_stream *s, const struct acu_place *dst,
            const struct acu_place *src, uint64_t width, uint64_t height, uint64_t depth)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!acu_capturing(s))
        return acu_copy3d(dst, src, width, height, depth);
    return capture(s,
                   &(struct acu_node){ACU_NODE_COPY, .dst = *dst, .src = *src,
                                      .width = width, .height = height, .depth = depth});
}

int
acu_do_set(struct acu_stream *s, const struct acu_place *dst, uint32_t value,
           unsigned element, uint64_t width, uint64_t height, uint64_t depth)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!acu_capturing(s))
        return acu_set3d(dst->addr, dst->pitch, dst->slice, &value, element, width,
                         height, depth);
    return capture(s, &(struct acu_node){ACU_NODE_SET, .dst = *dst, .value = value,
                                         .element = element, .width = width,
                                         .height = height, .depth = depth});
}

int
acu_do_host(struct acu_stream *s, void (*fn)(void *), void *user)
{
    if (!fn)
        return ACU_INVALID_VALUE;
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!acu_capturing(s)) {
        acu_call_back(fn, user);
        return 0;
    }
    return capture(s, &(struct acu_node){ACU_NODE_HOST, .host = fn, .user = user});
}

int
acu_do_alloc(struct acu_stream *s, uint64_t bytes, uint64_t *addr)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!acu_capturing(s))
        return acu_alloc(ACU_KIND_DEVICE, bytes, 0, addr);
    struct acu_node what = {ACU_NODE_ALLOC, .bytes = bytes};
    int e = capture(s, &what);
    *addr = what.addr;
    return e;
}

int
acu_do_free(struct acu_stream *s, uint64_t addr)
{
    if (!acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    if (!acu_capturing(s))
        return acu_free(addr, 1u << ACU_KIND_DEVICE | 1u << ACU_KIND_MANAGED);
    return capture(s, &(struct acu_node){ACU_NODE_FREE, .addr = addr});
}

static struct acu_captured_event *
captured_event(const struct acu_event *e)
{
    for (size_t i = 0; i < acu.captured_events.n; i++)
        if (acu.captured_events.v[i].event == e)
            return &acu.captured_events.v[i];
    return NULL;
}

void
acu_capture_forget(const struct acu_event *e)
{
    struct acu_captured_event *r = captured_event(e);
    if (!r)
        return;
    vec_free(&r->front);
    *r = acu.captured_events.v[--acu.captured_events.n];
}

/* Recorded in a capturing stream: whoever waits for it joins. */
int
acu_do_record(struct acu_stream *s, struct acu_event *e)
{
    if (!acu_event_valid(e) || !acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    const struct acu_capture *c = capture_of(s);
    if (!c) {
        acu_capture_forget(e); /* it stands for work outside again */
        return acu_event_record(e, s);
    }
    struct acu_captured_event *r = captured_event(e);
    if (!r)
        r = vec_push(&acu.captured_events);
    r->event = e;
    r->graph = c->graph;
    r->front.n = 0;
    for (size_t i = 0; i < c->front.n; i++)
        *vec_push(&r->front) = c->front.v[i];
    return 0;
}

int
acu_do_wait(struct acu_stream *s, struct acu_event *e)
{
    if (!acu_event_valid(e) || !acu_stream_valid(s))
        return ACU_INVALID_HANDLE;
    const struct acu_captured_event *r = captured_event(e);
    if (!r)
        return 0;
    struct acu_graph *g = acu_capturing(s);
    if (g && g != r->graph)
        return ACU_STREAM_CAPTURE_MERGE;
    if (!g)
        *vec_push(&acu.captures) = (struct acu_capture){.stream = s, .graph = r->graph};
    return acu_capture_move(s, r->front.v, r->front.n, true);
}
