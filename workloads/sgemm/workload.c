/* sgemm: product of matrices, 16 sums a thread. */
#include "allot/workload.h"

#include <stdlib.h>

static bool
run(struct allot_run *r)
{
    int m = (int)wl_param(r, "m", r->quick ? 256 : 1024, 128, 8192),
        n = (int)wl_param(r, "n", r->quick ? 32 : 448, 16, 8192),
        k = (int)wl_param(r, "k", r->quick ? 24 : 96, 1, 8192);
    if (m % 128 || n % 16)
        return wl_fail(r, "parameters m and n: multiples of 128 and 16");
    float alpha = 0.75f, beta = 0.5f;
    float *a = malloc(4 * (size_t)m * k), *b = malloc(4 * (size_t)n * k),
          *c = malloc(4 * (size_t)m * n), *got = malloc(4 * (size_t)m * n);
    if (a && b && c && got) {
        uint64_t rng = r->seed;
        for (int i = 0; i < m * k; i++)
            a[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (int i = 0; i < n * k; i++)
            b[i] = wl_uniform(&rng, -1.0f, 1.0f);
        for (int i = 0; i < m * n; i++)
            c[i] = wl_uniform(&rng, -1.0f, 1.0f);
        uint64_t d_a = wl_upload(r, a, 4 * (size_t)m * k),
                 d_b = wl_upload(r, b, 4 * (size_t)n * k),
                 d_c = wl_upload(r, c, 4 * (size_t)m * n);
        wl_launch(r, "mysgemmNT", m / 128, n / 16, 1, 128, 1, 1, 0, &d_a, &m, &d_b, &n,
                  &d_c, &m, &k, &alpha, &beta);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int l = 0; l < k; l++)
                    sum += (double)a[i + l * m] * b[j + l * n];
                c[i + j * m] = (float)(beta * c[i + j * m] + alpha * sum);
            }
        wl_read(r, d_c, got, 4 * (size_t)m * n);
        /* k products below 1, partial sums below 32. */
        wl_check_f32(r, "elements", got, c, (size_t)m * n, 0.0f, (float)k * 0x1p-20f);
        wl_free(r, d_a);
        wl_free(r, d_b);
        wl_free(r, d_c);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(b);
    free(c);
    free(got);
    return r->ok;
}

const struct allot_workload allot_workload_sgemm = {
    .name = "sgemm",
    .summary = "product of matrices, 16 sums a thread; 512 B of scratchpad a block",
    .source = "Parboil sgemm, mysgemmNT: 001 Tables 2.1, 2.5, 2.6",
    .kernels = "mysgemmNT",
    .run = run,
};
