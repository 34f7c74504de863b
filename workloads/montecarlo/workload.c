/* montecarlo: European call options, a block an option. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { THREADS = 256, CND_THREADS = 128 };

/* x with probability p of a smaller normal number, by bisection. */
static double
inverse_cdf(double p)
{
    double lo = -10, hi = 10;
    for (int i = 0; i < 60; i++) {
        double x = 0.5 * (lo + hi);
        if (0.5 * erfc(-x / sqrt(2.0)) < p)
            lo = x;
        else
            hi = x;
    }
    return 0.5 * (lo + hi);
}

static bool
run(struct allot_run *r)
{
    /* parameters options: blocks; paths: of an option */
    int options = (int)wl_param(r, "options", r->quick ? 3 : 14 * 8 * 4, 1, 65535),
        paths = (int)wl_param(r, "paths", r->quick ? 500 : 4096, 1, 1 << 22);
    size_t n = (size_t)options, np = (size_t)paths;
    float *option = malloc(16 * n), *got = malloc(8 * n), *want = malloc(8 * n),
          *z = malloc(4 * np), *exact = malloc(4 * np);
    if (option && got && want && z && exact) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++) {
            float *o = option + 4 * i, years = wl_uniform(&rng, 0.5f, 5.0f);
            float rate = 0.06f, volatility = wl_uniform(&rng, 0.1f, 0.3f);
            o[0] = wl_uniform(&rng, 20.0f, 40.0f);
            o[1] = o[0] * wl_uniform(&rng, 0.8f, 1.2f);
            o[2] = (rate - 0.5f * volatility * volatility) * years;
            o[3] = volatility * sqrtf(years);
        }
        for (size_t i = 0; i < np; i++)
            exact[i] = (float)inverse_cdf((float)(i + 1) / (float)(np + 1));
        for (size_t i = 0; i < n; i++) {
            double sum = 0, squares = 0;
            for (size_t k = 0; k < np; k++) {
                const float *o = option + 4 * i;
                double payoff = o[0] * exp(o[2] + (double)o[3] * exact[k]) - o[1];
                payoff = payoff > 0 ? payoff : 0;
                sum += payoff;
                squares += payoff * payoff;
            }
            want[2 * i] = (float)sum;
            want[2 * i + 1] = (float)squares;
        }
        uint64_t d_z = wl_alloc(r, 4 * np), d_option = wl_upload(r, option, 16 * n),
                 d_value = wl_alloc(r, 8 * n);
        wl_launch(r, "inverseCNDKernel",
                  (uint32_t)((paths + CND_THREADS - 1) / CND_THREADS), 1, 1, CND_THREADS,
                  1, 1, 0, &d_z, &paths);
        wl_launch(r, "MonteCarloOneBlockPerOption", (uint32_t)options, 1, 1, THREADS, 1,
                  1, 0, &d_value, &d_option, &d_z, &paths);
        /* Moro's formula is right to 3e-9. Its tails take a logarithm of a logarithm of at
         * least 2.5: 2^-21, times a slope below 3. */
        wl_read(r, d_z, z, 4 * np);
        wl_check_f32(r, "normal numbers", z, exact, np, 0x1p-19f, 0x1p-19f);
        /* A price is right to 2^-19, payoffs to that part of 40; half the paths or fewer
         * pay nothing. */
        wl_read(r, d_value, got, 8 * n);
        wl_check_f32(r, "sums of payoffs and their squares", got, want, 2 * n, 0x1p-14f,
                     0.0f);
        wl_free(r, d_z);
        wl_free(r, d_option);
        wl_free(r, d_value);
    } else {
        wl_fail(r, "out of memory");
    }
    free(option);
    free(got);
    free(want);
    free(z);
    free(exact);
    return r->ok;
}

const struct allot_workload allot_workload_montecarlo = {
    .name = "montecarlo",
    .summary = "options by Monte Carlo, a block an option; 2048 B of scratchpad a block",
    .source = "CUDA SDK MonteCarlo, inverseCNDKernel, MonteCarloOneBlockPerOption: 001 "
              "Table 4.3",
    .kernels = "inverseCNDKernel MonteCarloOneBlockPerOption",
    .run = run,
};
