/* reduction: sum of numbers, a launch for the blocks' sums and one for theirs. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 128, RESERVED = 540 - 512 };

static bool
run(struct allot_run *r)
{
    /* parameters n: numbers; blocks: of the first launch */
    int n = (int)wl_param(r, "n", r->quick ? 3000 : 14 * 8 * 8 * THREADS * 8, 1, 1 << 26),
        blocks = (int)wl_param(r, "blocks", r->quick ? 5 : 14 * 8 * 8, 1, 65535);
    size_t count = (size_t)n;
    float *in = malloc(4 * count), *got = malloc(4 * (size_t)blocks),
          *want = malloc(4 * (size_t)blocks), total, want_total;
    double *sum = calloc((size_t)blocks, sizeof *sum), all = 0;
    if (in && got && want && sum) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < count; i++) {
            in[i] = wl_uniform(&rng, 0.0f, 1.0f);
            sum[i / THREADS % (size_t)blocks] += in[i];
            all += in[i];
        }
        for (int i = 0; i < blocks; i++)
            want[i] = (float)sum[i];
        want_total = (float)all;
        uint64_t d_in = wl_upload(r, in, 4 * count),
                 d_sum = wl_alloc(r, 4 * (size_t)blocks), d_total = wl_alloc(r, 4);
        wl_launch(r, "reduce", (uint32_t)blocks, 1, 1, THREADS, 1, 1, RESERVED, &d_sum,
                  &d_in, &n);
        wl_launch(r, "reduce", 1, 1, 1, THREADS, 1, 1, RESERVED, &d_total, &d_sum,
                  &blocks);
        wl_read(r, d_sum, got, 4 * (size_t)blocks);
        wl_read(r, d_total, &total, 4);
        /* No number is negative: a rounding for each of a thread's and 7 for the tree, in
         * either launch. */
        float first = (float)(n / (blocks * THREADS) + 1 + 7),
              second = (float)(blocks / THREADS + 1 + 7);
        wl_check_f32(r, "blocks' sums", got, want, (size_t)blocks, first * 0x1p-24f,
                     0.0f);
        wl_check_f32(r, "the sum", &total, &want_total, 1, (first + second) * 0x1p-24f,
                     0.0f);
        wl_free(r, d_in);
        wl_free(r, d_sum);
        wl_free(r, d_total);
    } else {
        wl_fail(r, "out of memory");
    }
    free(in);
    free(got);
    free(want);
    free(sum);
    return r->ok;
}

const struct allot_workload allot_workload_reduction = {
    .name = "reduction",
    .summary = "sum of numbers as a tree; 540 B of scratchpad a block",
    .source = "CUDA SDK reduction (RD): 003 Table 1",
    .kernels = "reduce",
    .run = run,
};
