/* histogram: of bytes, 384 counters a warp. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 192, BINS = 384 };

static bool
run(struct allot_run *r)
{
    /* parameter words: of 4 bytes */
    int words =
            (int)wl_param(r, "words", r->quick ? 3000 : 240 * THREADS * 4, 1, 1 << 26),
        blocks = r->quick ? 4 : 240;
    size_t n = (size_t)blocks * BINS;
    uint32_t *data = malloc(4 * (size_t)words);
    int32_t *got = malloc(4 * n), *want = calloc(n, 4);
    if (data && got && want) {
        uint64_t rng = r->seed;
        for (int i = 0; i < words; i++) {
            data[i] = (uint32_t)wl_random(&rng);
            for (int b = 0; b < 4; b++)
                want[i / THREADS % blocks * BINS + (data[i] >> 8 * b & 255)]++;
        }
        uint64_t d_data = wl_upload(r, data, 4 * (size_t)words),
                 d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "histogram256Kernel", blocks, 1, 1, THREADS, 1, 1, 0, &d_out,
                  &d_data, &words);
        wl_read(r, d_out, got, 4 * n);
        wl_check_i32(r, "counters", got, want, n);
        wl_free(r, d_data);
        wl_free(r, d_out);
    } else {
        wl_fail(r, "out of memory");
    }
    free(data);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_histogram = {
    .name = "histogram",
    .summary = "histogram of bytes, counters a warp, no atomics; 9216 B of scratchpad a block",
    .source = "CUDA SDK histogram, histogram256Kernel: 000 Tables I, V, VII",
    .kernels = "histogram256Kernel",
    .run = run,
};
