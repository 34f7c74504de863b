/* histogram_8224: of characters, counters a thread. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 64, BINS = 128, PER_THREAD = 63, RESERVED = 8224 - THREADS * BINS };

static bool
run(struct allot_run *r)
{
    /* parameter blocks: of 64 threads with 63 words each */
    uint32_t blocks =
        (uint32_t)wl_param(r, "blocks", r->quick ? 4 : 14 * 5 * 6, 1, 65535);
    size_t words = (size_t)blocks * THREADS * PER_THREAD, n = (size_t)blocks * BINS;
    uint32_t *data = malloc(4 * words);
    int32_t *got = malloc(4 * n), *want = calloc(n, 4);
    if (data && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < words; i++) {
            data[i] = (uint32_t)wl_random(&rng) & 0x7f7f7f7f;
            for (int b = 0; b < 4; b++)
                want[i / (THREADS * PER_THREAD) * BINS + (data[i] >> 8 * b & 127)]++;
        }
        uint64_t d_data = wl_upload(r, data, 4 * words), d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "histogram", blocks, 1, 1, THREADS, 1, 1, RESERVED, &d_out, &d_data);
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

const struct allot_workload allot_workload_histogram_8224 = {
    .name = "histogram_8224",
    .summary = "histogram of characters, counters a thread; 8224 B of scratchpad a block",
    .source = "AMD SDK Histogram (HG): 003 Table 1",
    .kernels = "histogram",
    .run = run,
};
