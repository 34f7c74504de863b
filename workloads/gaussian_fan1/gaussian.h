/* Host side of Gaussian elimination: n rows of w columns with a dominant diagonal,
 * `columns` of them eliminated. Threads of a block: t1 in Fan1, t2 x t2 in Fan2. */
#include "allot/workload.h"

#include <stdlib.h>

static inline bool
gaussian(struct allot_run *r, int n, int w, int columns, int t1, int t2)
{
    size_t cells = (size_t)n * w;
    float *a = malloc(4 * cells), *got = malloc(4 * cells), *want = malloc(4 * cells),
          *b = malloc(4 * (size_t)n), *got_b = malloc(4 * (size_t)n);
    double *d = malloc(sizeof *d * (cells + n));
    if (a && got && want && b && got_b && d) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < cells; i++)
            d[i] = a[i] = i % (w + 1) ? wl_uniform(&rng, -1.0f, 1.0f) : (float)w;
        for (int i = 0; i < n; i++)
            d[cells + i] = b[i] = wl_uniform(&rng, -1.0f, 1.0f);
        uint64_t d_m = wl_alloc(r, 4 * cells), d_a = wl_upload(r, a, 4 * cells),
                 d_b = wl_upload(r, b, 4 * (size_t)n);
        for (int k = 0; k < columns; k++) {
            int gx = (n + t2 - 1) / t2, gy = (w + t2 - 1) / t2;
            wl_launch(r, "Fan1", (n + t1 - 1) / t1, 1, 1, t1, 1, 1, 0, &d_m, &d_a, &n, &w,
                      &k);
            wl_launch(r, "Fan2", gx, gy, 1, t2, t2, 1, 0, &d_m, &d_a, &d_b, &n, &w, &k);
            for (int i = k + 1; i < n; i++) {
                double f = d[i * w + k] / d[k * w + k];
                for (int j = k; j < w; j++)
                    d[i * w + j] -= f * d[k * w + j];
                d[cells + i] -= f * d[cells + k];
            }
        }
        wl_read(r, d_a, got, 4 * cells);
        wl_read(r, d_b, got_b, 4 * (size_t)n);
        for (size_t i = 0; i < cells; i++)
            want[i] = (float)d[i];
        for (int i = 0; i < n; i++)
            b[i] = (float)d[cells + i];
        wl_check_f32(r, "matrix", got, want, cells, 0x1p-20f, 0x1p-19f);
        wl_check_f32(r, "right side", got_b, b, (size_t)n, 0x1p-20f, 0x1p-19f);
        wl_free(r, d_m);
        wl_free(r, d_a);
        wl_free(r, d_b);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(got);
    free(want);
    free(b);
    free(got_b);
    free(d);
    return r->ok;
}
