/* mv: product of a matrix and a vector. */
#include "allot/workload.h"

#include <stdlib.h>

enum { TILE = 32, RESERVED = 4268 - 4224 };

static bool
run(struct allot_run *r)
{
    /* parameters rows, cols: of the matrix */
    int rows = (int)wl_param(r, "rows", r->quick ? 96 : 14 * 8 * 4 * TILE, TILE, 1 << 20),
        cols = (int)wl_param(r, "cols", r->quick ? 64 : 256, TILE, 1 << 16);
    if (r->ok && (rows % TILE || cols % TILE))
        return wl_fail(r, "parameters rows and cols: multiples of %d", TILE);
    size_t n = (size_t)rows, m = (size_t)cols;
    float *a = malloc(4 * n * m), *x = malloc(4 * m), *got = malloc(4 * n),
          *want = malloc(4 * n);
    if (a && x && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n * m; i++)
            a[i] = wl_uniform(&rng, 0.0f, 1.0f);
        for (size_t i = 0; i < m; i++)
            x[i] = wl_uniform(&rng, 0.0f, 1.0f);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t k = 0; k < m; k++)
                sum += (double)a[i * m + k] * x[k];
            want[i] = (float)sum;
        }
        uint64_t d_a = wl_upload(r, a, 4 * n * m), d_x = wl_upload(r, x, 4 * m),
                 d_y = wl_alloc(r, 4 * n);
        wl_launch(r, "mv", (uint32_t)rows / TILE, 1, 1, TILE, 1, 1, RESERVED, &d_y, &d_a,
                  &d_x, &cols);
        wl_read(r, d_y, got, 4 * n);
        /* No product is negative; two roundings each. */
        wl_check_f32(r, "elements", got, want, n, (float)(2 * m) * 0x1p-24f, 0.0f);
        wl_free(r, d_a);
        wl_free(r, d_x);
        wl_free(r, d_y);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(x);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_mv = {
    .name = "mv",
    .summary = "matrix times vector by tiles; 4268 B of scratchpad a block",
    .source = "matrix vector multiplication (MV): 003 Table 1",
    .kernels = "mv",
    .run = run,
};
