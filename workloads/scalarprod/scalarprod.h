/* Host side of scalar products of pairs of vectors; reference in double. */
#include "allot/workload.h"

#include <stdlib.h>

/* Parameters vectors: pairs; elements: of a vector; blocks: of the launch (default: one a
 * pair). reserved: dynamic scratchpad of a block, which the kernel leaves alone. */
static inline bool
scalar_products(struct allot_run *r, uint32_t threads, uint32_t reserved,
                uint32_t full_vectors)
{
    int vectors = (int)wl_param(r, "vectors", r->quick ? 5 : full_vectors, 1, 1 << 20),
        elements = (int)wl_param(r, "elements", r->quick ? 1500 : 4096, 1, 1 << 20);
    uint32_t blocks =
        (uint32_t)wl_param(r, "blocks", r->quick ? 3 : (uint64_t)vectors, 1, 1 << 20);
    size_t n = (size_t)vectors, all = n * (size_t)elements;
    float *a = malloc(4 * all), *b = malloc(4 * all), *got = malloc(4 * n),
          *want = malloc(4 * n);
    if (a && b && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < all; i++) {
            a[i] = wl_uniform(&rng, 0.0f, 1.0f);
            b[i] = wl_uniform(&rng, 0.0f, 1.0f);
        }
        for (size_t v = 0; v < n; v++) {
            double sum = 0;
            for (size_t i = v * (size_t)elements; i < (v + 1) * (size_t)elements; i++)
                sum += (double)a[i] * b[i];
            want[v] = (float)sum;
        }
        uint64_t d_a = wl_upload(r, a, 4 * all), d_b = wl_upload(r, b, 4 * all),
                 d_c = wl_alloc(r, 4 * n);
        wl_launch(r, "scalarProdGPU", blocks, 1, 1, threads, 1, 1, reserved, &d_c, &d_a,
                  &d_b, &vectors, &elements);
        wl_read(r, d_c, got, 4 * n);
        /* No product is negative: a rounding for each product of a partial sum (and one of
         * its own), and 10 for the tree. */
        float roundings = (float)(2 * (elements / 1024 + 1) + 10);
        wl_check_f32(r, "products", got, want, n, roundings * 0x1p-24f, 0.0f);
        wl_free(r, d_a);
        wl_free(r, d_b);
        wl_free(r, d_c);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(b);
    free(got);
    free(want);
    return r->ok;
}
