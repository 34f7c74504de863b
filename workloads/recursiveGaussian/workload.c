/* recursiveGaussian: a Gaussian blur down the columns of an image. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

/* 255 v in 8 bits. Cuts *sure off where single precision may fall on the other side of a
 * step: the filter's errors stay below 40 * 2^-24 of 1, its gain on white noise. */
static float
level(double v, bool *sure)
{
    double x = 255 * fmin(fmax(v, 0), 1);
    *sure &= fabs(x - round(x)) > 2e-3 || v <= -1e-5 || v >= 1 + 1e-5;
    return (float)floor(x);
}

/* One channel of a column, as the kernel rounds it: down, then up. */
static void
filter(const uint32_t *in, float *out, bool *sure, int width, int height, int shift,
       const double *a, double b1, double b2, double first, double last)
{
#define PIXEL(i) ((in[(size_t)(i)*width] >> shift & 255) / 255.0)
    double before = PIXEL(0), y1 = before * first, y2 = y1;
    for (int i = 0; i < height; i++) {
        double x = PIXEL(i), y = a[0] * x + a[1] * before - b1 * y1 - b2 * y2;
        sure[i] = true;
        out[i] = level(y, &sure[i]);
        before = x;
        y2 = y1;
        y1 = y;
    }
    double x1 = PIXEL(height - 1), x2 = x1;
    y2 = y1 = x1 * last;
    for (int i = height; i-- > 0;) {
        double x = PIXEL(i), y = a[2] * x1 + a[3] * x2 - b1 * y1 - b2 * y2;
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        out[i] = level(out[i] / 255.0 + y, &sure[i]);
    }
}

static bool
run(struct allot_run *r)
{
    /* parameters width, height: pixels; threads of a block */
    int w = (int)wl_param(r, "width", r->quick ? 100 : 4096, 1, 1 << 16),
        h = (int)wl_param(r, "height", r->quick ? 24 : 128, 1, 1 << 14);
    uint32_t threads = (uint32_t)wl_param(r, "threads", 64, 32, 1024);
    size_t n = (size_t)w * h;
    uint32_t *in = malloc(4 * n), *out = malloc(4 * n);
    float *got = malloc(4 * n), *want = malloc(4 * n);
    if (in && out && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            in[i] = (uint32_t)wl_uniform(&rng, 0, 65536) << 16 |
                    (uint32_t)wl_uniform(&rng, 0, 65536);
        /* Deriche's filter of a Gaussian with sigma 10 */
        const double alpha = 1.695 / 10, e = exp(-alpha), e2 = exp(-2 * alpha);
        const double k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - e2);
        const double a[] = {k, k * (alpha - 1) * e, k * (alpha + 1) * e, -k * e2};
        const double b1 = -2 * e, b2 = e2, sum = 1 + b1 + b2;
        float arg[8] = {(float)a[0],
                        (float)a[1],
                        (float)a[2],
                        (float)a[3],
                        (float)b1,
                        (float)b2,
                        (float)((a[0] + a[1]) / sum),
                        (float)((a[2] + a[3]) / sum)};
        uint64_t d_in = wl_upload(r, in, 4 * n), d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "d_recursiveGaussian_rgba", ((uint32_t)w + threads - 1) / threads, 1,
                  1, threads, 1, 1, 0, &d_in, &d_out, &w, &h, &arg[0], &arg[1], &arg[2],
                  &arg[3], &arg[4], &arg[5], &arg[6], &arg[7]);
        wl_read(r, d_out, out, 4 * n);
        float *column = malloc(4 * (size_t)h);
        bool *sure = malloc((size_t)h);
        for (int c = 0; column && sure && c < 4; c++) {
            for (size_t i = 0; i < n; i++)
                got[i] = (float)(out[i] >> 8 * c & 255);
            for (int x = 0; x < w; x++) {
                filter(in + x, column, sure, w, h, 8 * c, a, b1, b2, (a[0] + a[1]) / sum,
                       (a[2] + a[3]) / sum);
                for (int i = 0; i < h; i++) {
                    size_t at = (size_t)i * w + x;
                    bool either = !sure[i] && fabsf(got[at] - column[i]) <= 2;
                    want[at] = either ? got[at] : column[i];
                }
            }
            wl_check_f32(r, "channel", got, want, n, 0.0f, 0.0f);
        }
        free(column);
        free(sure);
        wl_free(r, d_in);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(in);
    free(out);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_recursiveGaussian = {
    .name = "recursiveGaussian",
    .summary = "recursive Gaussian blur down columns; 64 threads, no scratchpad",
    .source = "CUDA SDK recursiveGaussian, d_recursiveGaussian_rgba: 002 Table 1",
    .kernels = "d_recursiveGaussian_rgba",
    .run = run,
};
