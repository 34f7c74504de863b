/* bfs_mask: breadth-first search of a random graph, two launches a level. */
#include "../bfs/graph.h"

#define BLOCK 512

/* Marks of the nodes are what they should be: 1 where distance[v] is at least `from`. */
static void
check_marks(struct allot_run *r, const char *what, const uint8_t *got,
            const int32_t *distance, int from, int nodes)
{
    for (int v = 0; v < nodes; v++)
        if (got[v] != (distance[v] >= from)) {
            wl_fail(r, "%s[%d] is %d, should be %d", what, v, got[v],
                    distance[v] >= from);
            return;
        }
}

static bool
run(struct allot_run *r)
{
    /* parameter nodes */
    int nodes =
        (int)wl_param(r, "nodes", r->quick ? 1500 : 14 * 4 * 4 * BLOCK, 2, 1 << 24);
    struct graph g = {0};
    size_t n = (size_t)nodes, bytes = sizeof(int32_t) * n;
    int32_t *got = malloc(bytes), *want = malloc(bytes), *queue = malloc(bytes), more = 0;
    uint8_t *marks = calloc(n, 1);

    if (got && want && queue && marks && random_graph(&g, nodes, r->seed)) {
        int levels = search(&g, want, queue);
        uint32_t blocks = (uint32_t)(nodes + BLOCK - 1) / BLOCK;
        for (int v = 0; v < nodes; v++)
            got[v] = v ? -1 : 0;
        uint64_t d_first = wl_upload(r, g.first, sizeof(int) * (n + 1)),
                 d_edge = wl_upload(r, g.edge, sizeof(int) * (size_t)g.first[nodes]),
                 d_distance = wl_upload(r, got, bytes),
                 d_reached = wl_upload(r, marks, n),
                 d_more = wl_upload(r, &more, sizeof more);
        marks[0] = 1;
        uint64_t d_frontier = wl_upload(r, marks, n), d_visited = wl_upload(r, marks, n);
        for (int level = 0; level < levels; level++) {
            wl_launch(r, "Kernel", blocks, 1, 1, BLOCK, 1, 1, 0, &d_first, &d_edge,
                      &d_frontier, &d_reached, &d_visited, &d_distance, &nodes);
            wl_launch(r, "Kernel2", blocks, 1, 1, BLOCK, 1, 1, 0, &d_frontier, &d_reached,
                      &d_visited, &d_more, &nodes);
        }
        wl_read(r, d_distance, got, bytes);
        wl_check_i32(r, "distance", got, want, n);
        /* The last level's nodes are the frontier that a further launch would find. */
        wl_read(r, d_frontier, marks, n);
        check_marks(r, "frontier", marks, want, levels, nodes);
        wl_read(r, d_visited, marks, n);
        check_marks(r, "visited", marks, want, 0, nodes);
        wl_read(r, d_more, &more, sizeof more);
        wl_check_i32(r, "more", &more, &(int32_t){1}, 1);
        wl_free(r, d_first);
        wl_free(r, d_edge);
        wl_free(r, d_distance);
        wl_free(r, d_reached);
        wl_free(r, d_more);
        wl_free(r, d_frontier);
        wl_free(r, d_visited);
    } else {
        wl_fail(r, "out of memory");
    }
    free(g.first);
    free(g.edge);
    free(got);
    free(want);
    free(queue);
    free(marks);
    return r->ok;
}

const struct allot_workload allot_workload_bfs_mask = {
    .name = "bfs_mask",
    .summary = "breadth-first search with marks, two kernels a level; no scratchpad",
    .source = "Rodinia bfs, Kernel and Kernel2: 001 Table 4.3",
    .kernels = "Kernel Kernel2",
    .run = run,
};
