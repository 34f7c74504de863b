/* Host side of breadth-first searches: a random graph, and distances by a queue. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

struct graph {
    int nodes;
    int *first, *edge; /* edges of v: edge[first[v]] to edge[first[v + 1] - 1] */
};

/* 0 to 11 edges a node, to any node; one in 32 nodes has 32 more. */
static inline bool
random_graph(struct graph *g, int nodes, uint64_t seed)
{
    g->nodes = nodes;
    g->first = malloc(sizeof *g->first * ((size_t)nodes + 1));
    g->edge = malloc(sizeof *g->edge * (size_t)nodes * 44);
    if (!g->first || !g->edge)
        return false;
    int n = 0;
    for (int v = 0; v < nodes; v++) {
        g->first[v] = n;
        uint64_t x = wl_random(&seed);
        int degree = (int)(x % 12) + (x >> 32) % 32 / 31 * 32;
        for (int i = 0; i < degree || (v == 0 && i == 0); i++)
            g->edge[n++] = (int)(wl_random(&seed) % (uint64_t)nodes);
    }
    g->first[nodes] = n;
    return true;
}

/* Distances from node 0 by a queue; the largest. */
static inline int
search(const struct graph *g, int *distance, int *queue)
{
    int head = 0, tail = 0, most = 0;
    for (int v = 0; v < g->nodes; v++)
        distance[v] = -1;
    distance[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        int v = queue[head++];
        most = distance[v];
        for (int i = g->first[v]; i < g->first[v + 1]; i++)
            if (distance[g->edge[i]] < 0) {
                distance[g->edge[i]] = distance[v] + 1;
                queue[tail++] = g->edge[i];
            }
    }
    return most;
}
