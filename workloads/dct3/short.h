/* Host side of the transforms in whole numbers: the same numbers come out of the matrix
 * product, for sums of integers do not depend on their order. Parameters width and
 * height: numbers. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

static inline int16_t
short_scaled(int64_t sum, int shift)
{
    return (int16_t)((sum + ((int64_t)1 << (shift - 1))) >> shift);
}

static inline bool
short_run(struct allot_run *r, const char *kernel, bool inverse)
{
    int width = (int)wl_param(r, "width", r->quick ? 64 : 640, 32, 8192),
        height = (int)wl_param(r, "height", r->quick ? 64 : 640, 32, 8192);
    if (width % 32 || height % 32)
        return wl_fail(r, "parameters width, height: multiples of 32");
    size_t n = (size_t)width * height;
    int16_t *data = malloc(sizeof *data * n), *got = malloc(sizeof *got * n);
    int32_t *is = malloc(sizeof *is * n), *want = malloc(sizeof *want * n);
    int64_t a[8][8];
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 8; i++)
            a[k][i] = llround(8192 * (k ? 0.5 : sqrt(0.125)) *
                              cos((2 * i + 1) * k * acos(-1.0) / 16));
    if (data && got && is && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            data[i] = (int16_t)((int)(wl_random(&rng) % 256) - 128);
        uint64_t d_data = wl_upload(r, data, sizeof *data * n);
        wl_launch(r, kernel, width / 32, height / 32, 1, 128, 1, 1, 0, &d_data, &width);
        wl_read(r, d_data, got, sizeof *got * n);
        for (size_t b = 0; b < n / 64; b++) {
            size_t at = b / (width / 8) * 8 * width + b % (width / 8) * 8;
            int16_t rows[8][8];
            for (int y = 0; y < 8; y++)
                for (int u = 0; u < 8; u++) {
                    int64_t sum = 0;
                    for (int x = 0; x < 8; x++)
                        sum += (inverse ? a[x][u] : a[u][x]) * data[at + y * width + x];
                    rows[y][u] = short_scaled(sum, 10);
                }
            for (int v = 0; v < 8; v++)
                for (int u = 0; u < 8; u++) {
                    int64_t sum = 0;
                    for (int y = 0; y < 8; y++)
                        sum += (inverse ? a[y][v] : a[v][y]) * rows[y][u];
                    want[at + v * width + u] = short_scaled(sum, 16);
                }
        }
        for (size_t i = 0; i < n; i++)
            is[i] = got[i];
        wl_check_i32(r, "coefficients", is, want, n);
        wl_free(r, d_data);
    } else {
        wl_fail(r, "out of memory");
    }
    free(data);
    free(got);
    free(is);
    free(want);
    return r->ok;
}
