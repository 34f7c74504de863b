/* lps: steps of Jacobi's iteration for Laplace's equation in three dimensions. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { X = 32, Y = 4 };

/* One step on the host, in the kernel's order of additions. */
static void
step(float *to, const float *from, size_t nx, size_t ny, size_t nz)
{
    size_t dy = nx, dz = nx * ny;
    memcpy(to, from, 4 * dz * nz);
    for (size_t z = 1; z + 1 < nz; z++)
        for (size_t y = 1; y + 1 < ny; y++)
            for (size_t x = 1; x + 1 < nx; x++) {
                const float *u = from + z * dz + y * dy + x;
                to[z * dz + y * dy + x] =
                    (u[-1] + u[1] + *(u - dy) + u[dy] + *(u - dz) + u[dz]) *
                    (1.0f / 6.0f);
            }
}

static bool
run(struct allot_run *r)
{
    /* parameters x, y, z: points; steps: launches */
    int nx = (int)wl_param(r, "x", r->quick ? 64 : 512, X, 4096),
        ny = (int)wl_param(r, "y", r->quick ? 8 : 256, Y, 4096),
        nz = (int)wl_param(r, "z", r->quick ? 5 : 8, 1, 4096),
        steps = (int)wl_param(r, "steps", r->quick ? 2 : 1, 1, 1000);
    if (r->ok && (nx % X || ny % Y))
        return wl_fail(r, "parameters x and y: multiples of %d and %d", X, Y);
    size_t n = (size_t)nx * ny * nz;
    float *u = malloc(4 * n), *want = malloc(4 * n);
    if (u && want) {
        uint64_t rng = r->seed, d[2];
        for (size_t i = 0; i < n; i++)
            u[i] = wl_uniform(&rng, 1.0f, 2.0f);
        d[0] = wl_upload(r, u, 4 * n);
        d[1] = wl_alloc(r, 4 * n);
        for (int i = 0; i < steps; i++) {
            wl_launch(r, "GPU_laplace3d", nx / X, ny / Y, 1, X, Y, 1, 0, &nx, &ny, &nz,
                      &d[i & 1], &d[~i & 1]);
            step(want, u, (size_t)nx, (size_t)ny, (size_t)nz);
            memcpy(u, want, 4 * n);
        }
        wl_read(r, d[steps & 1], u, 4 * n);
        wl_check_f32(r, "points", u, want, n, 0.0f, 0.0f);
        wl_free(r, d[0]);
        wl_free(r, d[1]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(u);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_lps = {
    .name = "lps",
    .summary = "Laplace's equation in 3D by Jacobi's steps; 2448 B of scratchpad a block",
    .source = "GPGPU-Sim LPS, GPU_laplace3d: 001 Table 4.3",
    .kernels = "GPU_laplace3d",
    .run = run,
};
