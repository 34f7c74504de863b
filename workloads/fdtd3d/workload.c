/* fdtd3d: finite differences in a box, radius 4. */
#include "allot/workload.h"

#include <stdlib.h>

enum { RADIUS = 4, WIDTH = 32, ROWS = 4, MAX_ROWS = 16 };

static bool
run(struct allot_run *r)
{
    /* parameters x, y, z: cells; rows: of 32 threads a block has */
    int dimx = (int)wl_param(r, "x", r->quick ? 40 : 376, 1, 1024),
        dimy = (int)wl_param(r, "y", r->quick ? 10 : 56, 1, 1024),
        dimz = (int)wl_param(r, "z", r->quick ? 5 : 16, 1, 1024);
    uint32_t rows = (uint32_t)wl_param(r, "rows", ROWS, RADIUS, MAX_ROWS);
    int sx = dimx + 2 * RADIUS, sy = dimy + 2 * RADIUS, sz = dimz + 2 * RADIUS;
    size_t n = (size_t)sx * sy * sz;
    float *in = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n);
    float stencil[RADIUS + 1];
    if (in && got && want) {
        uint64_t rng = r->seed, at, bytes;
        for (size_t i = 0; i < n; i++) {
            in[i] = wl_uniform(&rng, 0.0f, 1.0f);
            want[i] = 1.0f; /* the border stays */
        }
        for (int i = 0; i <= RADIUS; i++)
            stencil[i] = wl_uniform(&rng, 0.0f, 0.1f);
        if (!wl_symbol(r, "stencil", &at, &bytes))
            wl_fail(r, "the module has no coefficients");
        else
            wl_write(r, at, stencil, sizeof stencil);
        uint64_t d_in = wl_upload(r, in, 4 * n), d_out = wl_upload(r, want, 4 * n);
        wl_launch(r, "FiniteDifferencesKernel", (dimx + WIDTH - 1) / WIDTH,
                  ((uint32_t)dimy + rows - 1) / rows, 1, WIDTH, rows, 1, 0, &d_out, &d_in,
                  &dimx, &dimy, &dimz);
        wl_read(r, d_out, got, 4 * n);
        for (int z = RADIUS; z < dimz + RADIUS; z++)
            for (int y = RADIUS; y < dimy + RADIUS; y++)
                for (int x = RADIUS; x < dimx + RADIUS; x++) {
                    const float *c = &in[((size_t)z * sy + y) * sx + x];
                    double sum = (double)stencil[0] * *c;
                    for (int i = 1; i <= RADIUS; i++)
                        sum +=
                            stencil[i] * ((double)c[i] + c[-i] + c[i * sx] + c[-i * sx] +
                                          c[i * sx * sy] + c[-i * sx * sy]);
                    want[c - in] = (float)sum;
                }
        /* Sums of 25 terms below 0.1: a few units of 2^-24 of 3. */
        wl_check_f32(r, "cells", got, want, n, 0.0f, 0x1p-19f);
        wl_free(r, d_in);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(in);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_fdtd3d = {
    .name = "fdtd3d",
    .summary = "finite differences in a box, radius 4; 3840 B of scratchpad a block",
    .source = "CUDA SDK FDTD3d, FiniteDifferencesKernel: 000 Tables I, VII",
    .kernels = "FiniteDifferencesKernel",
    .run = run,
};
