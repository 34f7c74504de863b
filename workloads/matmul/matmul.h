/* Host side of the product of two square matrices by tiles of 16 x 16. */
#include "allot/workload.h"

#include <stdlib.h>

#define TILE 16

/* Parameter n: rows, a multiple of 16. reserved: dynamic scratchpad of a block, which the
 * kernel leaves alone. */
static inline bool
matrix_product(struct allot_run *r, uint32_t reserved)
{
    int n = (int)wl_param(r, "n", r->quick ? 48 : 256, TILE, 4096);
    if (r->ok && n % TILE)
        return wl_fail(r, "parameter n: a multiple of %d", TILE);
    size_t count = (size_t)n * n, bytes = sizeof(float) * count;
    uint64_t shift = r->seed > 1 ? r->seed - 1 : 0; /* seeds 0 and 1: the plain series */
    float *a = malloc(bytes), *b = malloc(bytes), *got = malloc(bytes),
          *want = malloc(bytes);

    if (a && b && got && want) {
        for (size_t i = 0; i < count; i++) {
            a[i] = (float)(7 * (i + shift) % 100) * 0.01f;
            b[i] = (float)(13 * (i + shift) % 77) * 0.02f;
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                double sum = 0.0;
                for (int k = 0; k < n; k++)
                    sum += (double)a[i * n + k] * b[k * n + j];
                want[i * n + j] = (float)sum;
            }
        }
        uint64_t da = wl_upload(r, a, bytes), db = wl_upload(r, b, bytes);
        uint64_t dc = wl_alloc(r, bytes);
        wl_launch(r, "matmul", n / TILE, n / TILE, 1, TILE, TILE, 1, reserved, &da, &db,
                  &dc, &n);
        wl_read(r, dc, got, bytes);
        /* No term is negative, so n roundings cost at most n * 2^-24 of the sum. */
        wl_check_f32(r, "c", got, want, count, (float)n * 0x1p-24f, 0.0f);
        wl_free(r, da);
        wl_free(r, db);
        wl_free(r, dc);
    } else {
        wl_fail(r, "out of memory");
    }
    free(a);
    free(b);
    free(got);
    free(want);
    return r->ok;
}
