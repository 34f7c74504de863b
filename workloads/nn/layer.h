/* Host side of a layer of the network that reads digits (LeNet's kind): maps of out x out
 * neurons, each neuron from a window of side x side in every image (in x in) of the layer
 * before at every step-th place. Weights of a map: the bias, then place by place of the
 * window those of all images. Reference in double. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

struct nn_layer {
    const char *kernel;
    uint32_t images, in; /* of the layer before: maps, their side */
    uint32_t side, step; /* the window */
    uint32_t maps, out;  /* of this layer */
    float range;         /* weights: -range to range */
};

/* Parameters pictures, maps: of the launch. */
static inline bool
nn_layer(struct allot_run *r, const struct nn_layer *l, uint32_t quick_pictures,
         uint32_t quick_maps, uint32_t pictures)
{
    size_t n = wl_param(r, "pictures", r->quick ? quick_pictures : pictures, 1, 65535),
           maps = wl_param(r, "maps", r->quick ? quick_maps : l->maps, 1, l->maps),
           inputs = (size_t)l->images * l->in * l->in, area = (size_t)l->side * l->side,
           weights = 1 + area * l->images, neurons = (size_t)l->out * l->out,
           results = n * maps * neurons;
    float *in = malloc(4 * n * inputs), *w = malloc(4 * l->maps * weights),
          *got = malloc(4 * results), *want = malloc(4 * results);
    if (in && w && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n * inputs; i++)
            in[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (size_t i = 0; i < l->maps * weights; i++)
            w[i] = wl_uniform(&rng, -l->range, l->range);
        uint64_t d_in = wl_upload(r, in, 4 * n * inputs),
                 d_w = wl_upload(r, w, 4 * l->maps * weights),
                 d_out = wl_alloc(r, 4 * results);
        wl_launch(r, l->kernel, (uint32_t)maps, (uint32_t)n, 1, l->out, l->out, 1, 0,
                  &d_in, &d_w, &d_out);
        wl_read(r, d_out, got, 4 * results);
        for (size_t i = 0; i < results; i++) {
            size_t picture = i / neurons / maps, map = i / neurons % maps,
                   y = i % neurons / l->out * l->step, x = i % l->out * l->step;
            const float *mine = &w[map * weights];
            double sum = mine[0];
            for (size_t k = 0; k < area * l->images; k++) {
                size_t image = k % l->images, place = k / l->images,
                       row = y + place / l->side, col = x + place % l->side;
                sum += (double)mine[1 + k] *
                       in[picture * inputs + (image * l->in + row) * l->in + col];
            }
            want[i] = (float)(1.7159 * tanh(sum / 1.5));
        }
        /* Sums of up to 1250 products, whose roundings are random: below 2^-19; a tangent
         * of a few ulp. */
        wl_check_f32(r, "neurons", got, want, results, 0x1p-17f, 0x1p-16f);
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
