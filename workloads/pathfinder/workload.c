/* pathfinder: cheapest ways down a grid of costs. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

static bool
run(struct allot_run *r)
{
    /* parameters cols, rows: of the grid; height: rows of a launch */
    int cols = (int)wl_param(r, "cols", r->quick ? 600 : 100000, 2, 1 << 24),
        rows = (int)wl_param(r, "rows", r->quick ? 11 : 41, 2, 1 << 16),
        height = (int)wl_param(r, "height", r->quick ? 5 : 20, 1, 100),
        width = THREADS - 2 * height;
    size_t n = (size_t)cols;
    int32_t *wall = malloc(4 * n * (size_t)rows), *cost = malloc(4 * n),
            *next = malloc(4 * n);
    if (wall && cost && next) {
        uint64_t rng = r->seed, d_cost[2];
        for (size_t i = 0; i < n * (size_t)rows; i++)
            wall[i] = (int32_t)(wl_random(&rng) % 1000);
        uint64_t d_wall = wl_upload(r, wall, 4 * n * (size_t)rows);
        d_cost[0] = wl_upload(r, wall, 4 * n); /* the first row's cost is its own */
        d_cost[1] = wl_alloc(r, 4 * n);
        int at = 0;
        for (int row = 1; row < rows; row += height, at ^= 1) {
            int steps = rows - row < height ? rows - row : height;
            wl_launch(r, "dynproc_kernel", (uint32_t)((cols + width - 1) / width), 1, 1,
                      THREADS, 1, 1, 0, &steps, &d_wall, &d_cost[at], &d_cost[at ^ 1],
                      &cols, &row, &height);
        }
        memcpy(cost, wall, 4 * n);
        for (int row = 1; row < rows; row++) {
            for (size_t i = 0; i < n; i++) {
                int32_t best = cost[i];
                if (i > 0 && cost[i - 1] < best)
                    best = cost[i - 1];
                if (i + 1 < n && cost[i + 1] < best)
                    best = cost[i + 1];
                next[i] = best + wall[(size_t)row * n + i];
            }
            memcpy(cost, next, 4 * n);
        }
        wl_read(r, d_cost[at], next, 4 * n);
        wl_check_i32(r, "costs", next, cost, n);
        wl_free(r, d_wall);
        wl_free(r, d_cost[0]);
        wl_free(r, d_cost[1]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(wall);
    free(cost);
    free(next);
    return r->ok;
}

const struct allot_workload allot_workload_pathfinder = {
    .name = "pathfinder",
    .summary = "cheapest ways down a grid of costs; 2048 B of scratchpad a block",
    .source = "Rodinia pathfinder, dynproc_kernel: 001 Table 4.3",
    .kernels = "dynproc_kernel",
    .run = run,
};
