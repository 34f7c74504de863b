/* Host side of the separable convolution: an image, one direction, reference in double.
 */
#include "allot/workload.h"

#include <stdlib.h>

enum { CONV_RADIUS = 8 };

/* dx, dy: direction; tx x ty threads; a block has bx x by pixels and `reserved` bytes of
 * dynamic scratchpad, which the kernel leaves alone. Parameters width and height: pixels.
 */
static inline bool
convolution(struct allot_run *r, const char *kernel, int dx, int dy, int tx, int ty,
            int bx, int by, uint32_t reserved, int blocks_x, int blocks_y)
{
    int w = (int)wl_param(r, "width", bx * (r->quick ? 2 : blocks_x), bx, 8192),
        h = (int)wl_param(r, "height", by * (r->quick ? 2 : blocks_y), by, 8192);
    if (w % bx || h % by)
        return wl_fail(r, "parameters width and height: multiples of %d and %d", bx, by);
    size_t n = (size_t)w * h;
    float *src = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n),
          weight[2 * CONV_RADIUS + 1];
    if (src && got && want) {
        uint64_t rng = r->seed, at, bytes;
        for (size_t i = 0; i < n; i++)
            src[i] = wl_uniform(&rng, 0.0f, 16.0f);
        for (int i = 0; i <= 2 * CONV_RADIUS; i++)
            weight[i] = wl_uniform(&rng, 0.0f, 0.1f);
        if (!wl_symbol(r, "weight", &at, &bytes))
            wl_fail(r, "the module has no weights");
        else
            wl_write(r, at, weight, sizeof weight);
        uint64_t d_src = wl_upload(r, src, 4 * n), d_dst = wl_alloc(r, 4 * n);
        wl_launch(r, kernel, w / bx, h / by, 1, tx, ty, 1, reserved, &d_dst, &d_src,
                  dx ? &w : &h, &w);
        wl_read(r, d_dst, got, 4 * n);
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                double sum = 0;
                for (int j = -CONV_RADIUS; j <= CONV_RADIUS; j++) {
                    int px = x + j * dx, py = y + j * dy;
                    if (px >= 0 && px < w && py >= 0 && py < h)
                        sum += (double)weight[CONV_RADIUS - j] * src[py * w + px];
                }
                want[y * w + x] = (float)sum;
            }
        /* 17 products below 1.6: sums below 28 of 17 roundings. */
        wl_check_f32(r, "pixels", got, want, n, 0.0f, 0x1p-15f);
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
