/* lib: Monte Carlo of the LIBOR market model, with sensitivities. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { N = 80, NMAT = 40, NOPT = 15, THREADS = 192, KINDS = 5 };

/* Rates, periods, swaptions. */
struct sizes {
    int32_t rates, periods, options;
};

/* Five maturities, three rates for each, as in the benchmark. */
static const int32_t maturity[NOPT] = {4,  4,  4,  8,  8,  8,  20, 20,
                                       20, 28, 28, 28, 40, 40, 40};
static const float swaprate[NOPT] = {0.045f, 0.05f,  0.055f, 0.045f, 0.05f,
                                     0.055f, 0.045f, 0.05f,  0.055f, 0.045f,
                                     0.05f,  0.055f, 0.045f, 0.05f,  0.055f};
static const double delta = 0.25, sigma = 0.2f;

/* Value of a path with noise z in every period, and its derivative by today's last rate, by
 * the chain rule forwards: no other rate's path depends on the last one. */
static void
reference(const struct sizes *k, double z, float *value, float *sensitivity)
{
    double L[N], dlast = 1, B[NMAT], S[NMAT], b = 1, s = 0, sum = 0, dsum = 0,
                 discount = 1;
    const int nrates = k->rates, nperiods = k->periods;
    for (int i = 0; i < nrates; i++)
        L[i] = 0.05f;
    for (int n = 0; n < nperiods; n++) {
        double v = 0, con = delta * sigma;
        for (int i = n + 1; i < nrates; i++) {
            double d = 1 / (1 + delta * L[i]);
            v += con * L[i] * d;
            double ratio = exp(con * v + sigma * (sqrt(delta) * z - 0.5 * con));
            if (i == nrates - 1)
                dlast *= ratio * (1 + L[i] * con * con * d * d);
            L[i] *= ratio;
        }
    }
    for (int n = nperiods; n < nrates; n++) {
        b /= 1 + delta * L[n];
        s += delta * b;
        B[n - nperiods] = b;
        S[n - nperiods] = s;
    }
    double db = -b * delta / (1 + delta * L[nrates - 1]) * dlast;
    for (int i = 0; i < k->options; i++) {
        int m = maturity[i] - 1;
        double swap = B[m] + swaprate[i] * S[m] - 1;
        sum -= swap < 0 ? 100 * swap : 0;
        if (swap < 0 && m == nrates - nperiods - 1)
            dsum -= 100 * (db + swaprate[i] * delta * db);
    }
    for (int n = 0; n < nperiods; n++)
        discount /= 1 + delta * L[n];
    *value = (float)(sum * discount);
    *sensitivity = (float)(dsum * discount);
}

static void
set(struct allot_run *r, const char *name, const void *value, uint64_t bytes)
{
    uint64_t at, size;
    if (!wl_symbol(r, name, &at, &size))
        wl_fail(r, "the module has no %s", name);
    else
        wl_write(r, at, value, bytes);
}

static void
check(struct allot_run *r, const char *what, const float *got, const float *kind,
      float *want, int npaths, float bound)
{
    for (int i = 0; i < npaths; i++)
        want[i] = kind[i % KINDS];
    wl_check_f32(r, what, got, want, (size_t)npaths, 1e-4f, bound);
}

static bool
run(struct allot_run *r)
{
    int blocks = (int)wl_param(r, "blocks", r->quick ? 1 : 64, 1, 4096),
        npaths = (int)wl_param(r, "paths", r->quick ? 151 : 4096, 1, 1 << 20);
    size_t bytes = 4 * (size_t)npaths;
    const struct sizes k =
        r->quick ? (struct sizes){20, 12, 6} : (struct sizes){N, NMAT, NOPT};
    float step = (float)delta, lambda[N], value[KINDS], sensitivity[KINDS],
          *got = malloc(bytes), *want = malloc(bytes);
    if (got && want) {
        for (int i = 0; i < N; i++)
            lambda[i] = (float)sigma;
        set(r, "nrates", &k.rates, 4);
        set(r, "nperiods", &k.periods, 4);
        set(r, "noptions", &k.options, 4);
        set(r, "lambda", lambda, sizeof lambda);
        set(r, "delta", &step, sizeof step);
        set(r, "maturity", maturity, sizeof maturity);
        set(r, "swaprate", swaprate, sizeof swaprate);
        uint64_t d_value = wl_alloc(r, bytes), d_sensitivity = wl_alloc(r, bytes);
        wl_launch(r, "Pathcalc_Portfolio_KernelGPU", blocks, 1, 1, THREADS, 1, 1, 0,
                  &d_value, &d_sensitivity, &npaths);
        for (int i = 0; i < KINDS; i++)
            reference(&k, (double)0.3f + 0.0625 * i, &value[i], &sensitivity[i]);
        /* 40 steps of a few roundings each, fast division and exp: 1e-4 of the sum. */
        wl_read(r, d_value, got, bytes);
        check(r, "values", got, value, want, npaths, 1e-3f);
        wl_read(r, d_sensitivity, got, bytes);
        check(r, "sensitivities", got, sensitivity, want, npaths, 1e-3f);
        wl_free(r, d_value);
        wl_free(r, d_sensitivity);
    } else {
        wl_fail(r, "out of memory");
    }
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_lib = {
    .name = "lib",
    .summary =
        "Monte Carlo of LIBOR rates with sensitivities, paths in local memory; 192 threads",
    .source = "GPGPU-Sim LIB, Pathcalc_Portfolio_KernelGPU: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "Pathcalc_Portfolio_KernelGPU",
    .run = run,
};
