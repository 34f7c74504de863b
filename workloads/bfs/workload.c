/* bfs: breadth-first search of a random graph, a launch a level. */
#include "graph.h"

#define BLOCK 512

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
        uint64_t d_reached = wl_upload(r, got, bytes);
        for (int level = 0; level < levels; level++) {
            wl_launch(r, "Kernel", (uint32_t)(nodes + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1,
                      1, 0, &d_first, &d_edge, &d_distance, &d_reached, &level, &nodes);
            wl_read(r, d_reached, got, bytes);
            wl_write(r, d_distance, got, bytes);
        }
        wl_check_i32(r, "distance", got, want, (size_t)nodes);
        wl_free(r, d_first);
        wl_free(r, d_edge);
        wl_free(r, d_distance);
        wl_free(r, d_reached);
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
    .bench = true,
};
