/* nqueen: solutions of the n queens problem, the first rows on the host. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 64, MAX_DEPTH = 10 };

struct board {
    uint32_t columns, left, right;
};

/* Counts the ways to fill `rows` more rows; with `out`, collects the boards instead. */
static uint64_t
walk(struct board b, uint32_t full, int rows, struct board *out, size_t *n)
{
    if (!rows) {
        if (out)
            out[(*n)++] = b;
        return 1;
    }
    uint64_t found = 0;
    for (uint32_t free = full & ~(b.columns | b.left | b.right); free; free &= free - 1) {
        uint32_t place = free & -free;
        struct board next = {b.columns | place, (b.left | place) << 1,
                             (b.right | place) >> 1};
        found += walk(next, full, rows - 1, out, n);
    }
    return found;
}

static bool
run(struct allot_run *r)
{
    /* The seed only turns the order of the beginnings. Parameters board, placed (rows by
     * the host), blocks (0: as many as there are beginnings for). */
    int n = (int)wl_param(r, "board", r->quick ? 7 : 11, 4, 16),
        first = (int)wl_param(r, "placed", r->quick ? 2 : 4, 1, 5), rest = n - first;
    size_t least = wl_param(r, "blocks", 0, 0, 65535);
    uint32_t full = (1u << n) - 1;
    size_t total = 0, cap = 1;
    for (int i = 0; i < first; i++)
        cap *= (size_t)n;
    struct board *list = malloc(cap * sizeof *list);
    uint32_t *columns[3];
    for (int k = 0; k < 3; k++)
        columns[k] = malloc(cap * sizeof **columns);
    if (rest < 1 || rest > MAX_DEPTH) {
        wl_fail(r, "%d of %d rows placed: 1 to %d must be left", first, n, MAX_DEPTH);
    } else if (list && columns[0] && columns[1] && columns[2]) {
        walk((struct board){0}, full, first, list, &total);
        size_t blocks = (total + THREADS - 1) / THREADS;
        blocks = least > blocks ? least : blocks;
        for (size_t i = 0; i < total; i++) {
            const struct board *b = &list[(i + r->seed) % total];
            columns[0][i] = b->columns;
            columns[1][i] = b->left;
            columns[2][i] = b->right;
        }
        uint64_t d[3], d_out = wl_alloc(r, 4 * blocks);
        for (int k = 0; k < 3; k++)
            d[k] = wl_upload(r, columns[k], 4 * total);
        int count = (int)total;
        wl_launch(r, "solve_nqueen_cuda_kernel", (uint32_t)blocks, 1, 1, THREADS, 1, 1, 0,
                  &n, &rest, &d[0], &d[1], &d[2], &d_out, &count);
        int32_t *got = malloc(4 * blocks), *want = calloc(blocks, 4);
        for (size_t i = 0; got && want && i < total; i++)
            want[i / THREADS] +=
                (int32_t)walk(list[(i + r->seed) % total], full, rest, NULL, NULL);
        if (got && want) {
            wl_read(r, d_out, got, 4 * blocks);
            wl_check_i32(r, "solutions of a block", got, want, blocks);
        } else {
            wl_fail(r, "out of memory");
        }
        free(got);
        free(want);
        for (int k = 0; k < 3; k++)
            wl_free(r, d[k]);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(list);
    for (int k = 0; k < 3; k++)
        free(columns[k]);
    return r->ok;
}

const struct allot_workload allot_workload_nqueen = {
    .name = "nqueen",
    .summary = "n queens depth first, a stack a thread; 10496 B of scratchpad a block",
    .source = "GPGPU-Sim NQU, solve_nqueen_cuda_kernel: 000 Tables I, V, VII",
    .kernels = "solve_nqueen_cuda_kernel",
    .run = run,
};
