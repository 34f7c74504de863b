/* Inputs, launch and check of the forward pass, for any extent of the scratchpad arrays.
 */
#include "allot/workload.h"

#include <stdlib.h>

#define TILE 16

static bool
layerforward(struct allot_run *r)
{
    /* parameter inputs */
    int in = (int)wl_param(r, "inputs", r->quick ? 160 : 4096, TILE, 1 << 20),
        hid = r->quick ? 32 : 16;
    if (in % TILE)
        return wl_fail(r, "parameter inputs: a multiple of %d", TILE);
    size_t nweights = (size_t)(in + 1) * (hid + 1), npartial = (size_t)in / TILE * hid;
    float *input = malloc(sizeof(float) * (in + 1)),
          *w = malloc(sizeof(float) * nweights);
    float *product = malloc(sizeof(float) * nweights),
          *want_product = calloc(nweights, sizeof(float));
    float *partial = malloc(sizeof(float) * npartial),
          *want = malloc(sizeof(float) * npartial);

    if (input && w && product && want_product && partial && want) {
        uint64_t rng = r->seed;
        for (int i = 0; i <= in; i++)
            input[i] = i == 0 ? 1.0f : wl_uniform(&rng, 0.0f, 1.0f);
        for (size_t i = 0; i < nweights; i++)
            w[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (int b = 0; b < in / TILE; b++) {
            for (int j = 1; j <= hid; j++) {
                double sum = 0.0;
                for (int i = b * TILE + 1; i <= (b + 1) * TILE; i++) {
                    size_t at = (size_t)i * (hid + 1) + j;
                    want_product[at] = w[at] * input[i];
                    sum += (double)w[at] * input[i];
                }
                want[b * hid + j - 1] = (float)sum;
            }
        }
        uint64_t d_input = wl_upload(r, input, sizeof(float) * (in + 1));
        uint64_t d_w = wl_upload(r, w, sizeof(float) * nweights);
        for (size_t i = 0; i < nweights; i++)
            product[i] = 0.0f; /* the bias row and column stay so */
        uint64_t d_product = wl_upload(r, product, sizeof(float) * nweights);
        uint64_t d_partial = wl_alloc(r, sizeof(float) * npartial);
        wl_launch(r, "bpnn_layerforward_CUDA", hid / TILE, in / TILE, 1, TILE, TILE, 1, 0,
                  &d_input, &d_w, &d_product, &d_partial, &hid);
        wl_read(r, d_product, product, sizeof(float) * nweights);
        wl_read(r, d_partial, partial, sizeof(float) * npartial);
        wl_check_f32(r, "product", product, want_product, nweights, 0.0f, 0.0f);
        /* 16 products below 1: half an ulp of each, and of partial sums below 2, 4, 8 and
         * 16; worst case 16 * 2^-25 + 4 * (8 * 2^-24), and half an ulp of `want`. */
        wl_check_f32(r, "partial", partial, want, npartial, 0.0f, 4.0e-6f);
        wl_free(r, d_input);
        wl_free(r, d_w);
        wl_free(r, d_product);
        wl_free(r, d_partial);
    } else {
        wl_fail(r, "out of memory");
    }
    free(input);
    free(w);
    free(product);
    free(want_product);
    free(partial);
    free(want);
    return r->ok;
}
