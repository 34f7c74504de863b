/* mriq: a sum of waves at every point. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { K_POINTS = 1024, THREADS = 256 };

static bool
run(struct allot_run *r)
{
    size_t n = THREADS * wl_param(r, "blocks", r->quick ? 2 : 14 * 6 * 2, 1, 65535),
           nk = wl_param(r, "samples", r->quick ? 258 : 512, 1, 1 << 16);
    float *p[3], *q[2], *want[2], *k = malloc(16 * nk);
    bool ok = k != NULL;
    for (int i = 0; i < 3; i++)
        ok &= (p[i] = malloc(4 * n)) != NULL;
    for (int i = 0; i < 2; i++) {
        ok &= (q[i] = calloc(n, 4)) != NULL;
        ok &= (want[i] = malloc(4 * n)) != NULL;
    }
    if (ok) {
        uint64_t rng = r->seed, at, bytes, d[5];
        for (int i = 0; i < 3; i++)
            for (size_t j = 0; j < n; j++)
                p[i][j] = wl_uniform(&rng, -0.5f, 0.5f);
        for (size_t j = 0; j < 4 * nk; j++)
            k[j] =
                j % 4 == 3 ? wl_uniform(&rng, 0.0f, 1.0f) : wl_uniform(&rng, -2.0f, 2.0f);
        for (int i = 0; i < 5; i++)
            d[i] = wl_upload(r, i < 3 ? p[i] : q[i - 3], 4 * n);
        if (!wl_symbol(r, "ck", &at, &bytes))
            wl_fail(r, "the module has no k points");
        for (size_t done = 0; done < nk && r->ok; done += K_POINTS) {
            int count = (int)(nk - done < K_POINTS ? nk - done : K_POINTS);
            wl_write(r, at, k + 4 * done, 16 * (size_t)count);
            wl_launch(r, "ComputeQ_GPU", (uint32_t)(n / THREADS), 1, 1, THREADS, 1, 1, 0,
                      &count, &d[0], &d[1], &d[2], &d[3], &d[4]);
        }
        for (size_t j = 0; j < n; j++) {
            double re = 0, im = 0;
            for (size_t m = 0; m < nk; m++) {
                const float *c = k + 4 * m;
                double angle = 2 * acos(-1.0) *
                               ((double)c[0] * p[0][j] + (double)c[1] * p[1][j] +
                                (double)c[2] * p[2][j]);
                re += c[3] * cos(angle);
                im += c[3] * sin(angle);
            }
            want[0][j] = (float)re;
            want[1][j] = (float)im;
        }
        /* Each term is right to about 2^-20 (turns below 3, the hardware's sine); sums of
         * 512 terms stay well below 64, whose rounding is smaller. */
        for (int i = 0; i < 2; i++) {
            wl_read(r, d[3 + i], q[i], 4 * n);
            wl_check_f32(r, i ? "imaginary parts" : "real parts", q[i], want[i], n, 0.0f,
                         (float)nk * 0x1p-20f);
        }
        for (int i = 0; i < 5; i++)
            wl_free(r, d[i]);
    } else {
        wl_fail(r, "out of memory");
    }
    for (int i = 0; i < 3; i++)
        free(p[i]);
    for (int i = 0; i < 2; i++) {
        free(q[i]);
        free(want[i]);
    }
    free(k);
    return r->ok;
}

const struct allot_workload allot_workload_mriq = {
    .name = "mriq",
    .summary = "a sum of waves at every point; 256 threads, no scratchpad",
    .source = "Parboil mri-q, ComputeQ_GPU: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "ComputeQ_GPU",
    .run = run,
};
