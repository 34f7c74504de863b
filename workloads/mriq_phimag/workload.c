/* mriq_phimag: squared magnitudes. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 512 };

static bool
run(struct allot_run *r)
{
    /* parameter samples: numbers */
    int n =
        (int)wl_param(r, "samples", r->quick ? 1500 : 14 * 4 * 8 * THREADS, 1, 1 << 24);
    size_t bytes = 4 * (size_t)n;
    float *re = malloc(bytes), *im = malloc(bytes), *got = malloc(bytes),
          *want = malloc(bytes);
    if (re && im && got && want) {
        uint64_t rng = r->seed;
        for (int i = 0; i < n; i++) {
            re[i] = wl_uniform(&rng, -1.0f, 1.0f);
            im[i] = wl_uniform(&rng, -1.0f, 1.0f);
            want[i] = (float)((double)re[i] * re[i] + (double)im[i] * im[i]);
        }
        uint64_t d_re = wl_upload(r, re, bytes), d_im = wl_upload(r, im, bytes),
                 d_mag = wl_alloc(r, bytes);
        wl_launch(r, "ComputePhiMag_GPU", (uint32_t)((n + THREADS - 1) / THREADS), 1, 1,
                  THREADS, 1, 1, 0, &d_re, &d_im, &d_mag, &n);
        wl_read(r, d_mag, got, bytes);
        /* Two or three roundings of numbers that are not negative. */
        wl_check_f32(r, "magnitudes", got, want, (size_t)n, 3 * 0x1p-24f, 0.0f);
        wl_free(r, d_re);
        wl_free(r, d_im);
        wl_free(r, d_mag);
    } else {
        wl_fail(r, "out of memory");
    }
    free(re);
    free(im);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_mriq_phimag = {
    .name = "mriq_phimag",
    .summary = "squared magnitudes of complex numbers; 512 threads, no scratchpad",
    .source = "Parboil mri-q, ComputePhiMag_GPU: 001 Table 4.3",
    .kernels = "ComputePhiMag_GPU",
    .run = run,
};
