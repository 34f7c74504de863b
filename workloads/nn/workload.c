/* nn: second layer of a network that reads digits. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { IN = 6 * 169, MAPS = 50, WEIGHTS = MAPS * 151 };

static bool
run(struct allot_run *r)
{
    size_t n = r->quick ? 1 : 14, maps = r->quick ? 30 : MAPS, out = maps * 25;
    float *in = malloc(4 * n * IN), *w = malloc(4 * WEIGHTS), *got = malloc(4 * n * out),
          *want = malloc(4 * n * out);
    if (in && w && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n * IN; i++)
            in[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (size_t i = 0; i < WEIGHTS; i++)
            w[i] = wl_uniform(&rng, -0.2f, 0.2f);
        uint64_t d_in = wl_upload(r, in, 4 * n * IN), d_w = wl_upload(r, w, 4 * WEIGHTS),
                 d_out = wl_alloc(r, 4 * n * out);
        wl_launch(r, "executeSecondLayer", (uint32_t)maps, (uint32_t)n, 1, 5, 5, 1, 0,
                  &d_in, &d_w, &d_out);
        wl_read(r, d_out, got, 4 * n * out);
        for (size_t p = 0; p < n; p++)
            for (size_t map = 0; map < maps; map++)
                for (int k = 0; k < 25; k++) {
                    const float *x = &in[p * IN + 2 * (k / 5) * 13 + 2 * (k % 5)];
                    double sum = w[map * 151];
                    for (int i = 0; i < 150; i++)
                        sum += (double)w[map * 151 + 1 + i] *
                               x[i % 6 * 169 + i / 6 / 5 * 13 + i / 6 % 5];
                    want[(p * maps + map) * 25 + k] = (float)(1.7159 * tanh(sum / 1.5));
                }
        /* 150 products below 0.2, a tangent of a few ulp. */
        wl_check_f32(r, "neurons", got, want, n * out, 0x1p-17f, 0x1p-16f);
        wl_free(r, d_in);
        wl_free(r, d_w);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(in);
    free(w);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_nn = {
    .name = "nn",
    .summary = "second layer of a network that reads digits; no scratchpad",
    .source = "GPGPU-Sim NN, executeSecondLayer: 000 Table IV, 001 Table 2.4",
    .kernels = "executeSecondLayer",
    .run = run,
};
