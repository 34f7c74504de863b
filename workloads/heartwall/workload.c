/* heartwall: points followed through frames by their templates. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { T = 51, TEMPLATE = T * T, THREADS = 128 };

static bool
run(struct allot_run *r)
{
    /* One frame, as 000 Table V says: all blocks only keep their templates. The small
     * input has a second one, moved by a known way. */
    int rows = r->quick ? 70 : 400, cols = r->quick ? 74 : 420,
        points = r->quick ? 2 : 140;
    int frames = r->quick ? 2 : 1, search = 2, move_row = 1, move_col = -2;
    size_t n = (size_t)rows * cols;
    float *image = malloc(4 * n), *moved = malloc(4 * n),
          *got = malloc(4 * (size_t)points * TEMPLATE),
          *want = malloc(4 * (size_t)points * TEMPLATE);
    int32_t *at[2] = {malloc(4 * (size_t)points), malloc(4 * (size_t)points)},
            *now = malloc(4 * (size_t)points);
    if (image && moved && got && want && at[0] && at[1] && now) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++)
            image[i] = moved[i] = wl_uniform(&rng, 0.0f, 255.0f);
        for (int i = 3; i < rows - 3; i++)
            for (int j = 3; j < cols - 3; j++)
                moved[(i + move_row) * cols + j + move_col] =
                    0.9f * image[i * cols + j] + wl_uniform(&rng, 0.0f, 20.0f);
        for (int p = 0; p < points; p++) {
            at[0][p] = T / 2 + 6 + (int)(wl_random(&rng) % (uint64_t)(rows - T - 11));
            at[1][p] = T / 2 + 6 + (int)(wl_random(&rng) % (uint64_t)(cols - T - 11));
            for (int i = 0; i < TEMPLATE; i++)
                want[p * TEMPLATE + i] =
                    image[(at[0][p] - T / 2 + i / T) * cols + at[1][p] - T / 2 + i % T];
        }
        uint64_t d_frame = wl_upload(r, image, 4 * n),
                 d_temp = wl_alloc(r, 4 * (uint64_t)points * TEMPLATE),
                 d_at[2] = {wl_upload(r, at[0], 4 * (uint64_t)points),
                            wl_upload(r, at[1], 4 * (uint64_t)points)};
        for (int f = 0; f < frames; f++) {
            if (f)
                wl_write(r, d_frame, moved, 4 * n);
            wl_launch(r, "kernel", points, 1, 1, THREADS, 1, 1, 0, &d_frame, &rows, &cols,
                      &f, &search, &d_temp, &d_at[0], &d_at[1]);
        }
        wl_read(r, d_temp, got, 4 * (uint64_t)points * TEMPLATE);
        wl_check_f32(r, "templates", got, want, (size_t)points * TEMPLATE, 0.0f, 0.0f);
        for (int k = 0; k < 2; k++) {
            for (int p = 0; p < points && frames > 1; p++)
                at[k][p] += k ? move_col : move_row;
            wl_read(r, d_at[k], now, 4 * (uint64_t)points);
            wl_check_i32(r, k ? "columns of points" : "rows of points", now, at[k],
                         (size_t)points);
        }
        wl_free(r, d_frame);
        wl_free(r, d_temp);
        wl_free(r, d_at[0]);
        wl_free(r, d_at[1]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(image);
    free(moved);
    free(got);
    free(want);
    free(at[0]);
    free(at[1]);
    free(now);
    return r->ok;
}

const struct allot_workload allot_workload_heartwall = {
    .name = "heartwall",
    .summary =
        "points followed through frames by templates; 11872 B of scratchpad a block",
    .source = "Rodinia heartwall, kernel: 000 Tables I, V, VII",
    .kernels = "kernel",
    .run = run,
};
