/* lud: LU decomposition in tiles of 22 x 22. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { B = 22 };

static bool
run(struct allot_run *r)
{
    int tiles = r->quick ? 3 : 12, n = tiles * B;
    size_t cells = (size_t)n * n;
    float *a = malloc(4 * cells), *got = malloc(4 * cells), *want = malloc(4 * cells);
    double *d = malloc(sizeof *d * cells);
    if (a && got && want && d) {
        uint64_t rng = r->seed;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i * n + j] =
                    i == j ? (float)n : wl_uniform(&rng, -1.0f, 1.0f); /* dominant */
        uint64_t d_a = wl_upload(r, a, 4 * cells);
        for (int k = 0; k < tiles; k++) {
            int at = k * B, rest = tiles - k - 1;
            wl_launch(r, "lud_diagonal", 1, 1, 1, B, 1, 1, 0, &d_a, &n, &at);
            if (rest) {
                wl_launch(r, "lud_perimeter", rest, 1, 1, 2 * B, 1, 1, 0, &d_a, &n, &at);
                wl_launch(r, "lud_internal", rest, rest, 1, B, B, 1, 0, &d_a, &n, &at);
            }
        }
        wl_read(r, d_a, got, 4 * cells);
        for (size_t i = 0; i < cells; i++)
            d[i] = a[i];
        for (int k = 0; k < n; k++)
            for (int i = k + 1; i < n; i++) {
                double f = d[i * n + k] /= d[k * n + k];
                for (int j = k + 1; j < n; j++)
                    d[i * n + j] -= f * d[k * n + j];
            }
        for (size_t i = 0; i < cells; i++)
            want[i] = (float)d[i];
        /* Off the diagonal values stay near 1, factors below 2/n: n small products. */
        wl_check_f32(r, "factors", got, want, cells, 0x1p-20f, 0x1p-18f);
        wl_free(r, d_a);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(got);
    free(want);
    free(d);
    return r->ok;
}

const struct allot_workload allot_workload_lud = {
    .name = "lud",
    .summary = "LU decomposition, tiles of 22 x 22; 3872 B of scratchpad a block",
    .source = "Rodinia lud, lud_internal: 000 Table VII",
    .kernels = "lud_internal",
    .run = run,
};
