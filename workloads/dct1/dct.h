/* Host side of the 8x8 transforms: an image, one launch, a reference by the definition.
 */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

/* Matrix A of the transform: forward is A x A', backward A' x A. */
static inline void
dct_matrix(double a[8][8])
{
    for (int k = 0; k < 8; k++)
        for (int n = 0; n < 8; n++)
            a[k][n] = (k ? 0.5 : sqrt(0.125)) * cos((2 * n + 1) * k * acos(-1.0) / 16);
}

static inline void
dct_reference(const float *src, float *dst, int width, int height, bool inverse)
{
    double a[8][8];
    dct_matrix(a);
    for (int by = 0; by < height; by += 8)
        for (int bx = 0; bx < width; bx += 8)
            for (int v = 0; v < 8; v++)
                for (int u = 0; u < 8; u++) {
                    double sum = 0;
                    for (int y = 0; y < 8; y++)
                        for (int x = 0; x < 8; x++)
                            sum += (inverse ? a[y][v] * a[x][u] : a[v][y] * a[u][x]) *
                                   src[(by + y) * width + bx + x];
                    dst[(by + v) * width + bx + u] = (float)sum;
                }
}

/* Pixels of 8 bits around 0; a block of `threads` has a tile of tw x th. `bx`, `by`:
 * shape of the block of threads. Parameters width and height: pixels. */
static inline bool
dct_run(struct allot_run *r, const char *kernel, bool inverse, int tw, int th, int bx,
        int by, int tiles)
{
    int width = (int)wl_param(r, "width", tw * (r->quick ? 2 : tiles), tw, 8192),
        height = (int)wl_param(r, "height", th * (r->quick ? 3 : tiles), th, 8192);
    if (width % tw || height % th)
        return wl_fail(r, "parameters width, height: multiples of %d and %d", tw, th);
    size_t n = (size_t)width * height;
    float *src = malloc(sizeof *src * n), *got = malloc(sizeof *got * n),
          *want = malloc(sizeof *want * n);
    if (src && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            src[i] = (float)(wl_random(&rng) % 256) - 128.0f;
        uint64_t d_src = wl_upload(r, src, sizeof *src * n),
                 d_dst = wl_alloc(r, sizeof *src * n);
        wl_launch(r, kernel, width / tw, height / th, 1, bx, by, 1, 0, &d_dst, &d_src,
                  &width);
        wl_read(r, d_dst, got, sizeof *got * n);
        dct_reference(src, want, width, height, inverse);
        /* Two passes of 8 terms up to 1024 in size, each rounded to 2^-24: below 2^-10.
         */
        wl_check_f32(r, "coefficients", got, want, n, 0x1p-18f, 0x1p-10f);
        wl_free(r, d_src);
        wl_free(r, d_dst);
    } else {
        wl_fail(r, "out of memory");
    }
    free(src);
    free(got);
    free(want);
    return r->ok;
}
