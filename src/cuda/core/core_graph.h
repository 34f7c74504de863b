/* core_graph.h: graphs of both APIs: work that is noted down, by capturing streams or
 * node by node, and done later as often as asked for.
 *
 * A node is described by a struct acu_node that the caller fills in; adding it makes a
 * copy, kernel arguments and dependencies included. An executable graph is a copy of a
 * graph, sorted so that every node stands behind those it depends on. Its nodes remember
 * the node that they were copied from (`origin`), by which programs name them; that one
 * may be gone by then.
 *
 * Memory of graphs. An allocation node has its address from when it is made; the memory
 * is there from when the node runs until a free node or cudaFree takes it away. In
 * between, and after, a kernel that touches it faults. */
#ifndef ALLOT_CUDA_CORE_GRAPH_H
#define ALLOT_CUDA_CORE_GRAPH_H

#include "base/vec.h"
#include "cuda/core/core.h"

#pragma GCC visibility push(default)

/* The numbers of CUgraphNodeType. */
enum acu_node_kind {
    ACU_NODE_KERNEL,
    ACU_NODE_COPY,
    ACU_NODE_SET,
    ACU_NODE_HOST,
    ACU_NODE_GRAPH,
    ACU_NODE_EMPTY,
    ACU_NODE_EVENT_WAIT,
    ACU_NODE_EVENT_RECORD,
    ACU_NODE_ALLOC = 10,
    ACU_NODE_FREE = 11,
    ACU_NODE_CONDITIONAL = 13,
};
enum acu_conditional { ACU_IF, ACU_WHILE, ACU_SWITCH };

struct acu_graph;
struct acu_memory;    /* an allocation of a graph */
struct acu_condition; /* behind a conditional handle */

struct acu_node {
    enum acu_node_kind kind;
    /* -- KERNEL -- */
    struct acu_function *f;
    struct acu_launch launch; /* args: in a node its own copies, in one block */
    /* -- COPY, SET -- */
    struct acu_place dst, src;
    uint64_t width, height, depth; /* bytes, rows, slices; SET: elements, rows, slices */
    uint32_t value;
    unsigned element; /* bytes: 1, 2, 4 */
    /* -- HOST -- */
    void (*host)(void *);
    void *user;
    /* -- EVENT_RECORD, EVENT_WAIT -- */
    struct acu_event *event;
    /* -- GRAPH, CONDITIONAL: in a node its own graphs -- */
    struct acu_graph **body;
    unsigned nbody;
    bool takes_over; /* GRAPH: body[0] itself becomes the node's, instead of a copy */
    enum acu_conditional conditional;
    uint64_t handle;
    /* -- ALLOC, FREE -- */
    uint64_t addr, bytes; /* bytes: ALLOC */
    /* -- the graph's own; zero in a description -- */
    struct acu_graph *owner;
    const struct acu_node *origin; /* compared only */
    bool disabled;
    unsigned char mark;    /* while sorting */
    struct acu_node *copy; /* while copying */
    struct acu_memory *memory;
    struct acu_condition *condition;
    VEC(struct acu_node *) after; /* what it depends on */
};

struct acu_graph {
    VEC(struct acu_node *) nodes;
    VEC(struct acu_condition *) conditions;
    bool executable;
    unsigned long long flags; /* of instantiation */
    bool body;                /* it belongs to a node */
};

struct acu_graph *acu_graph_new(void);
/* Of a graph and of an executable one. */
int acu_graph_free(struct acu_graph *g);
int acu_graph_clone(struct acu_graph **out, struct acu_graph *g);
enum { ACU_GRAPH_AUTO_FREE = 1 }; /* flag: memory of the last launch is freed first */
int acu_graph_instantiate(struct acu_graph **out, struct acu_graph *g,
                          unsigned long long flags);
/* Does the work, or adds a child graph where the stream captures. */
int acu_graph_launch(struct acu_graph *exec, struct acu_stream *s);
/* The executable graph becomes what g is; both must be of the same shape. *node: the one
 * that differs, or NULL; *why: a number of CUgraphExecUpdateResult. */
int acu_graph_update(struct acu_graph *exec, struct acu_graph *g, struct acu_node **node,
                     int *why);
/* The value written into the device's word by cudaGraphSetConditional; flag 1: the
 * default is written at each launch. */
int acu_graph_condition(struct acu_graph *g, unsigned value, unsigned flags,
                        uint64_t *handle);

/* Adds a copy of what `what` describes, behind `after`. ALLOC: what->addr is the answer.
 * CONDITIONAL: what->body is the node's own array of new graphs. */
int acu_node_add(struct acu_graph *g, struct acu_node *what,
                 struct acu_node *const *after, size_t n, struct acu_node **node);
/* The node becomes what `what` describes, of the same kind. */
int acu_node_set(struct acu_node *n, const struct acu_node *what);
int acu_node_remove(struct acu_node *n);
/* from[i] before to[i]. */
int acu_graph_add_edges(struct acu_graph *g, struct acu_node *const *from,
                        struct acu_node *const *to, size_t n);
int acu_graph_remove_edges(struct acu_graph *g, struct acu_node *const *from,
                           struct acu_node *const *to, size_t n);
/* Lists, as the APIs want them: with out NULL *n becomes their number; otherwise *n is
 * the room, the rest of which is filled with NULL, and becomes how many were written. */
int acu_graph_nodes(const struct acu_graph *g, struct acu_node **out, size_t *n);
int acu_graph_roots(const struct acu_graph *g, struct acu_node **out, size_t *n);
int acu_graph_edges(const struct acu_graph *g, struct acu_node **from,
                    struct acu_node **to, size_t *n);
int acu_node_before(const struct acu_node *node, struct acu_node **out, size_t *n);
int acu_node_behind(const struct acu_node *node, struct acu_node **out, size_t *n);
/* The node of a copy (executable or clone) that came from `node`, NULL: none. */
struct acu_node *acu_graph_copy_of(const struct acu_graph *copy,
                                   const struct acu_node *node);
/* Attributes of a kernel node. */
int acu_node_attribute_set(struct acu_node *n, int number, const void *value);
int acu_node_attribute_get(const struct acu_node *n, int number, void *value);
int acu_node_attributes_copy(struct acu_node *dst, const struct acu_node *src);
/* Kernels, copies and fills of executable graphs can be left out. */
int acu_node_enable(struct acu_node *n, bool enabled);
/* The graph in Graphviz's language. */
int acu_graph_print(const struct acu_graph *g, const char *path);

/* Bytes of graphs' memory; the numbers are those of CUgraphMem_attribute. */
enum { ACU_GRAPH_USED, ACU_GRAPH_USED_HIGH, ACU_GRAPH_RESERVED, ACU_GRAPH_RESERVED_HIGH };
int acu_graph_memory_get(int attribute, uint64_t *value);
int acu_graph_memory_set(int attribute, uint64_t value); /* a high one, to 0 */
void acu_graph_memory_trim(void);

/* -- capture -- */
/* The graph into which a stream captures, NULL: it does not. */
struct acu_graph *acu_capturing(struct acu_stream *s);
/* g NULL: into a new graph. */
int acu_stream_capture_begin(struct acu_stream *s, int mode, struct acu_graph *g,
                             struct acu_node *const *after, size_t n);
/* g may be NULL where the graph was given at the begin. */
int acu_stream_capture_end(struct acu_stream *s, struct acu_graph **g);
/* What the stream's next node will depend on; valid until the next call. */
const struct acu_node *const *acu_capture_front(struct acu_stream *s, size_t *n);
/* Replaces that, or adds to it. */
int acu_capture_move(struct acu_stream *s, struct acu_node *const *nodes, size_t n,
                     bool add);

/* Work on a stream: noted down where it captures, done at once otherwise. */
int acu_do_launch(struct acu_stream *s, struct acu_function *f,
                  const struct acu_launch *l);
int acu_do_copy(struct acu_stream *s, const struct acu_place *dst,
                const struct acu_place *src, uint64_t width, uint64_t height,
                uint64_t depth);
/* dst's side is not looked at. */
int acu_do_set(struct acu_stream *s, const struct acu_place *dst, uint32_t value,
               unsigned element, uint64_t width, uint64_t height, uint64_t depth);
int acu_do_host(struct acu_stream *s, void (*fn)(void *), void *user);
int acu_do_alloc(struct acu_stream *s, uint64_t bytes, uint64_t *addr);
int acu_do_free(struct acu_stream *s, uint64_t addr);
int acu_do_record(struct acu_stream *s, struct acu_event *e);
int acu_do_wait(struct acu_stream *s, struct acu_event *e);

#pragma GCC visibility pop
#endif
