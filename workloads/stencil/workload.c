/* stencil: Jacobi steps of the 7-point stencil. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 2 };

static bool
run(struct allot_run *r)
{
    int nx = (int)wl_param(r, "x", r->quick ? 70 : 512, 3, 1024),
        ny = (int)wl_param(r, "y", r->quick ? 20 : 160, 3, 1024),
        nz = (int)wl_param(r, "z", r->quick ? 5 : 8, 3, 1024);
    size_t n = (size_t)nx * ny * nz;
    float c0 = 0.1f, c1 = 0.15f;
    float *a = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n);
    double *ref[2] = {malloc(sizeof(double) * n), malloc(sizeof(double) * n)};
    if (a && got && want && ref[0] && ref[1]) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            ref[0][i] = ref[1][i] = a[i] = wl_uniform(&rng, 0.0f, 1.0f);
        uint64_t d[2] = {wl_upload(r, a, 4 * n), wl_upload(r, a, 4 * n)};
        for (int s = 0; s < STEPS; s++) {
            wl_launch(r, "block2D_hybrid_coarsen_x", (nx + 63) / 64, (ny + 15) / 16, 1,
                      32, 16, 1, 0, &c0, &c1, &d[s & 1], &d[!(s & 1)], &nx, &ny, &nz);
            const double *f = ref[s & 1];
            for (int k = 1; k < nz - 1; k++)
                for (int j = 1; j < ny - 1; j++)
                    for (int i = 1; i < nx - 1; i++) {
                        size_t at = ((size_t)k * ny + j) * nx + i, step = (size_t)nx * ny;
                        ref[!(s & 1)][at] =
                            (double)c1 * (f[at - 1] + f[at + 1] + f[at - nx] +
                                          f[at + nx] + f[at - step] + f[at + step]) -
                            (double)c0 * f[at];
                    }
        }
        for (size_t i = 0; i < n; i++)
            want[i] = (float)ref[STEPS & 1][i];
        wl_read(r, d[STEPS & 1], got, 4 * n);
        wl_check_f32(r, "cells", got, want, n, 0.0f, STEPS * 0x1p-21f);
        wl_free(r, d[0]);
        wl_free(r, d[1]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(got);
    free(want);
    free(ref[0]);
    free(ref[1]);
    return r->ok;
}

const struct allot_workload allot_workload_stencil = {
    .name = "stencil",
    .summary =
        "7-point stencil in a box, two cells a thread; 4096 B of scratchpad a block",
    .source = "Parboil stencil, block2D_hybrid_coarsen_x: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "block2D_hybrid_coarsen_x",
    .run = run,
};
