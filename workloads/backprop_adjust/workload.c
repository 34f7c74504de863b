/* backprop_adjust: new weights of a network's layer. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 16 };

static bool
run(struct allot_run *r)
{
    int inputs = (int)wl_param(r, "inputs", r->quick ? 64 : 16 * 1024, 16, 1 << 20),
        hidden = HIDDEN;
    if (inputs % 16)
        return wl_fail(r, "parameter inputs: a multiple of 16");
    size_t n = (size_t)(inputs + 1) * (HIDDEN + 1);
    float *w = malloc(4 * n), *old = malloc(4 * n), *got = malloc(4 * n),
          *in = malloc(4 * ((size_t)inputs + 1)), delta[HIDDEN + 1];
    if (w && old && got && in) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++) {
            w[i] = wl_uniform(&rng, -1.0f, 1.0f);
            old[i] = wl_uniform(&rng, -1.0f, 1.0f);
        }
        for (int i = 0; i <= inputs; i++)
            in[i] = i ? wl_uniform(&rng, 0.0f, 1.0f) : 1.0f;
        for (int i = 0; i <= HIDDEN; i++)
            delta[i] = wl_uniform(&rng, -0.5f, 0.5f);
        uint64_t d_w = wl_upload(r, w, 4 * n), d_old = wl_upload(r, old, 4 * n),
                 d_in = wl_upload(r, in, 4 * ((size_t)inputs + 1)),
                 d_delta = wl_upload(r, delta, sizeof delta);
        wl_launch(r, "bpnn_adjust_weights_cuda", 1, inputs / 16, 1, 16, 16, 1, 0,
                  &d_delta, &hidden, &d_in, &d_w, &d_old);
        for (int i = 0; i <= inputs; i++)
            for (int j = 1; j <= HIDDEN; j++) {
                size_t at = (size_t)i * (HIDDEN + 1) + j;
                double change = (double)0.3f * delta[j] * in[i] + (double)0.3f * old[at];
                old[at] = (float)change;
                w[at] = (float)(w[at] + change);
            }
        wl_read(r, d_w, got, 4 * n);
        wl_check_f32(r, "weights", got, w, n, 0x1p-22f, 0x1p-22f);
        wl_read(r, d_old, got, 4 * n);
        wl_check_f32(r, "changes", got, old, n, 0x1p-22f, 0x1p-22f);
        wl_free(r, d_w);
        wl_free(r, d_old);
        wl_free(r, d_in);
        wl_free(r, d_delta);
    } else {
        wl_fail(r, "out of memory");
    }
    free(w);
    free(old);
    free(got);
    free(in);
    return r->ok;
}

const struct allot_workload allot_workload_backprop_adjust = {
    .name = "backprop_adjust",
    .summary = "new weights of a network's layer; 256 threads, no scratchpad",
    .source = "Rodinia backprop, bpnn_adjust_weights_cuda: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "bpnn_adjust_weights_cuda",
    .run = run,
};
