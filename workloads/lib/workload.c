/* lib: Monte Carlo of the LIBOR market model. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { N = 24, NMAT = 8, NOPT = 8, THREADS = 192 };

static const int32_t maturity[NOPT] = {2, 4, 6, 8, 10, 12, 14, 16};
static const float swaprate[NOPT] = {0.02f, 0.025f, 0.02f, 0.025f,
                                     0.02f, 0.025f, 0.02f, 0.025f};

static double
reference(const float *lambda, double delta, const float *z, int npaths)
{
    double L[N], B[N], S[N], b = 1, s = 0, sum = 0;
    for (int i = 0; i < N; i++)
        L[i] = 0.05f;
    for (int n = 0; n < NMAT; n++) {
        double v = 0, root = sqrt(delta) * z[(size_t)n * npaths];
        for (int i = n + 1; i < N; i++) {
            double lam = lambda[i - n - 1];
            v += delta * lam * L[i] / (1 + delta * L[i]);
            L[i] *= exp(delta * lam * v + lam * (root - 0.5 * delta * lam));
        }
    }
    for (int n = NMAT; n < N; n++) {
        b /= 1 + delta * L[n];
        s += delta * b;
        B[n] = b;
        S[n] = s;
    }
    for (int i = 0; i < NOPT; i++) {
        int m = maturity[i] + NMAT - 1;
        double swap = B[m] + swaprate[i] * S[m] - 1;
        sum -= swap < 0 ? 100 * swap : 0;
    }
    for (int n = 0; n < NMAT; n++)
        sum /= 1 + delta * L[n];
    return sum;
}

static void
set(struct allot_run *r, const char *name, const void *value, uint64_t bytes)
{
    uint64_t at, size;
    if (!allot_symbol(r->dev, r->module, name, &at, &size, r->diag))
        wl_fail(r, "the module has no %s", name);
    else
        wl_write(r, at, value, bytes);
}

static bool
run(struct allot_run *r)
{
    int blocks = (int)wl_param(r, "blocks", r->quick ? 1 : 14 * 8, 1, 4096),
        npaths = blocks * THREADS - 7;
    size_t nz = (size_t)npaths * NMAT;
    float delta = 0.25f, lambda[N], *z = malloc(4 * nz),
          *got = malloc(4 * (size_t)npaths), *want = malloc(4 * (size_t)npaths);
    if (z && got && want) {
        uint64_t rng = r->seed;
        for (int i = 0; i < N; i++)
            lambda[i] = wl_uniform(&rng, 0.15f, 0.25f);
        for (size_t i = 0; i < nz; i++) { /* nearly normal: a sum of uniform numbers */
            z[i] = -6.0f;
            for (int k = 0; k < 12; k++)
                z[i] += wl_uniform(&rng, 0.0f, 1.0f);
        }
        set(r, "lambda", lambda, sizeof lambda);
        set(r, "delta", &delta, sizeof delta);
        set(r, "maturity", maturity, sizeof maturity);
        set(r, "swaprate", swaprate, sizeof swaprate);
        uint64_t d_out = wl_alloc(r, 4 * (size_t)npaths), d_z = wl_upload(r, z, 4 * nz);
        wl_launch(r, "Pathcalc_Portfolio_KernelGPU", blocks, 1, 1, THREADS, 1, 1, 0,
                  &d_out, &d_z, &npaths);
        wl_read(r, d_out, got, 4 * (size_t)npaths);
        for (int i = 0; i < npaths; i++)
            want[i] = (float)reference(lambda, delta, z + i, npaths);
        /* Rates are right to 40 roundings; a swap is a difference of numbers near 1,
         * times 100, of up to 8 of them. */
        wl_check_f32(r, "values", got, want, (size_t)npaths, 0x1p-16f, 2e-3f);
        wl_free(r, d_out);
        wl_free(r, d_z);
    } else {
        wl_fail(r, "out of memory");
    }
    free(z);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_lib = {
    .name = "lib",
    .summary = "Monte Carlo of LIBOR rates, paths in local memory; 192 threads",
    .source = "GPGPU-Sim LIB, Pathcalc_Portfolio_KernelGPU: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "Pathcalc_Portfolio_KernelGPU",
    .run = run,
};
