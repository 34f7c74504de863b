/* blackscholes: prices of European options. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { THREADS = 128 };

static double
normal_cdf(double d)
{
    return 0.5 * erfc(-d / sqrt(2.0));
}

static bool
run(struct allot_run *r)
{
    /* parameters blocks; options: a thread has the same number of them, or one less */
    int blocks = (int)wl_param(r, "blocks", r->quick ? 3 : 14 * 16 * 4, 1, 65535),
        n = (int)wl_param(r, "options", r->quick ? 700 : 14 * 16 * 4 * THREADS * 2, 1,
                          1 << 24);
    size_t bytes = 4 * (size_t)n;
    float *in[3], *got[2], *want[2], rate = 0.02f, volatility = 0.3f;
    bool ok = true;
    for (int i = 0; i < 3; i++)
        ok &= (in[i] = malloc(bytes)) != NULL;
    for (int i = 0; i < 2; i++) {
        ok &= (got[i] = malloc(bytes)) != NULL;
        ok &= (want[i] = malloc(bytes)) != NULL;
    }
    if (ok) {
        uint64_t rng = r->seed, d_in[3], d_out[2];
        for (int i = 0; i < n; i++) {
            float s = wl_uniform(&rng, 5.0f, 30.0f),
                  x = s * wl_uniform(&rng, 0.75f, 1.25f),
                  t = wl_uniform(&rng, 0.5f, 10.0f);
            in[0][i] = s;
            in[1][i] = x;
            in[2][i] = t;
            double width = volatility * sqrt(t),
                   d1 = log((double)s / x) / width +
                        (rate / width + 0.5 * volatility / sqrt(t)) * t;
            double discounted = x * exp(-(double)rate * t);
            want[0][i] =
                (float)(s * normal_cdf(d1) - discounted * normal_cdf(d1 - width));
            want[1][i] =
                (float)(discounted * normal_cdf(width - d1) - s * normal_cdf(-d1));
        }
        for (int i = 0; i < 3; i++)
            d_in[i] = wl_upload(r, in[i], bytes);
        for (int i = 0; i < 2; i++)
            d_out[i] = wl_alloc(r, bytes);
        wl_launch(r, "BlackScholesGPU", (uint32_t)blocks, 1, 1, THREADS, 1, 1, 0,
                  &d_out[0], &d_out[1], &d_in[0], &d_in[1], &d_in[2], &rate, &volatility,
                  &n);
        /* Logarithm to 2^-21 over a width of at least 0.2: d to 3e-6, times a slope of 0.4
         * and prices below 37.5. */
        for (int i = 0; i < 2; i++) {
            wl_read(r, d_out[i], got[i], bytes);
            wl_check_f32(r, i ? "puts" : "calls", got[i], want[i], (size_t)n, 0.0f,
                         5e-5f);
            wl_free(r, d_out[i]);
        }
        for (int i = 0; i < 3; i++)
            wl_free(r, d_in[i]);
    } else {
        wl_fail(r, "out of memory");
    }
    for (int i = 0; i < 3; i++)
        free(in[i]);
    for (int i = 0; i < 2; i++) {
        free(got[i]);
        free(want[i]);
    }
    return r->ok;
}

const struct allot_workload allot_workload_blackscholes = {
    .name = "blackscholes",
    .summary = "prices of options by Black and Scholes; 128 threads, no scratchpad",
    .source = "CUDA SDK BlackScholes, BlackScholesGPU: 001 Table 4.3",
    .kernels = "BlackScholesGPU",
    .run = run,
};
