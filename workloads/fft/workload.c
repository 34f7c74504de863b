/* fft: Fourier transforms of 1024 complex points. */
#include "allot/workload.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { POINTS = 1024, THREADS = 64, RESERVED = 8736 - 8704 };

/* Transform of the n points in[0], in[step], ...: even and odd ones apart. */
static void
transform(double complex *out, const float *in, int n, int step)
{
    if (n == 1) {
        out[0] = in[0] + in[1] * I;
        return;
    }
    double complex half[POINTS];
    transform(half, in, n / 2, 2 * step);
    transform(half + n / 2, in + 2 * step, n / 2, 2 * step);
    for (int k = 0; k < n / 2; k++) {
        double complex odd = half[n / 2 + k] * cexp(-2 * acos(-1.0) * I * k / n);
        out[k] = half[k] + odd;
        out[k + n / 2] = half[k] - odd;
    }
}

static bool
run(struct allot_run *r)
{
    /* parameter batch: transforms */
    uint32_t batch = (uint32_t)wl_param(r, "batch", r->quick ? 3 : 14 * 8 * 4, 1, 65535);
    size_t n = (size_t)batch * POINTS * 2;
    float *in = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n);
    if (in && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            in[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (size_t b = 0; b < batch; b++) {
            double complex point[POINTS];
            transform(point, in + b * POINTS * 2, POINTS, 1);
            for (size_t i = 0; i < POINTS; i++) {
                want[2 * (b * POINTS + i)] = (float)creal(point[i]);
                want[2 * (b * POINTS + i) + 1] = (float)cimag(point[i]);
            }
        }
        uint64_t d_in = wl_upload(r, in, 4 * n), d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "fft", batch, 1, 1, THREADS, 1, 1, RESERVED, &d_out, &d_in);
        wl_read(r, d_out, got, 4 * n);
        /* Each of four passes turns by the hardware's sine and cosine, right to 2^-20, so
         * a point of about 26 is wrong by 5e-5 on the average. */
        wl_check_f32(r, "points", got, want, n, 0.0f, 4e-4f);
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

const struct allot_workload allot_workload_fft = {
    .name = "fft",
    .summary = "Fourier transforms of 1024 points, radix 4; 8736 B of scratchpad a block",
    .source =
        "Fast Fourier Transform (FFT), 1K points, a block of 64: 003 Table 1, Figure 2",
    .kernels = "fft",
    .run = run,
};
