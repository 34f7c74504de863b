/* transpose: of a matrix, by tiles. */
#include "allot/workload.h"

#include <stdlib.h>

enum { TILE = 32, ROWS = 4, RESERVED = 4260 - 4224 };

static bool
run(struct allot_run *r)
{
    /* parameters width, height: of the matrix */
    int w = (int)wl_param(r, "width", r->quick ? 96 : 1024, TILE, 16384),
        h = (int)wl_param(r, "height", r->quick ? 64 : 896, TILE, 16384);
    if (r->ok && (w % TILE || h % TILE))
        return wl_fail(r, "parameters width and height: multiples of %d", TILE);
    size_t n = (size_t)w * h;
    float *in = malloc(4 * n), *got = malloc(4 * n), *want = malloc(4 * n);
    if (in && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            in[i] = wl_uniform(&rng, 1.0f, 2.0f);
        for (size_t y = 0; y < (size_t)h; y++)
            for (size_t x = 0; x < (size_t)w; x++)
                want[x * (size_t)h + y] = in[y * (size_t)w + x];
        uint64_t d_in = wl_upload(r, in, 4 * n), d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "transpose", w / TILE, h / TILE, 1, TILE, ROWS, 1, RESERVED, &d_out,
                  &d_in, &w, &h);
        wl_read(r, d_out, got, 4 * n);
        wl_check_f32(r, "elements", got, want, n, 0.0f, 0.0f);
        wl_free(r, d_in);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(in);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_transpose = {
    .name = "transpose",
    .summary = "transpose of a matrix by tiles; 4260 B of scratchpad a block",
    .source = "CUDA SDK transpose (TP): 003 Table 1",
    .kernels = "transpose",
    .run = run,
};
