/* bfs: breadth-first search of a random graph, a launch a level. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 512

struct graph {
    int nodes;
    int *first, *edge; /* edges of v: edge[first[v]] to edge[first[v + 1] - 1] */
};

/* 0 to 11 edges a node, to any node; one in 32 nodes has 32 more. */
static bool
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
static int
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

static bool
run(struct allot_run *r)
{
    int nodes = r->quick ? 1500 : 65536;
    struct graph g = {0};
    size_t bytes = sizeof(int32_t) * (size_t)nodes;
    int32_t *got = malloc(bytes), *want = malloc(bytes), *queue = malloc(bytes);

    if (got && want && queue && random_graph(&g, nodes, r->seed)) {
        int levels = search(&g, want, queue);
        for (int v = 0; v < nodes; v++)
            got[v] = v ? -1 : 0;
        uint64_t d_first = wl_upload(r, g.first, sizeof(int) * ((size_t)nodes + 1));
        uint64_t d_edge = wl_upload(r, g.edge, sizeof(int) * (size_t)g.first[nodes]);
        uint64_t d_distance = wl_upload(r, got, bytes);
        for (int level = 0; level < levels; level++)
            wl_launch(r, "Kernel", (uint32_t)(nodes + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1,
                      1, 0, &d_first, &d_edge, &d_distance, &level, &nodes);
        wl_read(r, d_distance, got, bytes);
        wl_check_i32(r, "distance", got, want, (size_t)nodes);
        wl_free(r, d_first);
        wl_free(r, d_edge);
        wl_free(r, d_distance);
    } else {
        wl_fail(r, "out of memory");
    }
    free(g.first);
    free(g.edge);
    free(got);
    free(want);
    free(queue);
    return r->ok;
}

const struct allot_workload allot_workload_bfs = {
    .name = "bfs",
    .summary = "breadth-first search of a random graph; no scratchpad",
    .source = "GPGPU-Sim BFS, Kernel: 001 Tables 2.4, 3.4",
    .kernels = "Kernel",
    .run = run,
};
