/* vecadd: the sum of two vectors. */
#include "allot/workload.h"

#include <stdlib.h>

static bool
run(struct allot_run *r)
{
    /* parameter n: elements */
    int n = (int)wl_param(r, "n", r->quick ? 10000 : 1048576, 1, 1 << 26);
    uint64_t shift = r->seed > 1 ? r->seed - 1 : 0; /* seeds 0 and 1: the plain series */
    float *a = malloc(sizeof *a * n), *b = malloc(sizeof *b * n);
    float *got = malloc(sizeof *got * n), *want = malloc(sizeof *want * n);

    if (a && b && got && want) {
        for (int i = 0; i < n; i++) {
            a[i] = (float)(7 * (i + shift) % 1000) * 0.5f;
            b[i] = (float)(13 * (i + shift) % 777) * 0.25f;
            want[i] = a[i] + b[i];
        }
        size_t bytes = sizeof *a * n;
        uint64_t da = wl_upload(r, a, bytes), db = wl_upload(r, b, bytes);
        uint64_t dc = wl_alloc(r, bytes);
        wl_launch(r, "vecadd", (n + 255) / 256, 1, 1, 256, 1, 1, 0, &da, &db, &dc, &n);
        wl_read(r, dc, got, bytes);
        wl_check_f32(r, "c", got, want, n, 0.0f, 0.0f);
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

const struct allot_workload allot_workload_vecadd = {
    .name = "vecadd",
    .summary = "sum of two vectors, one element a thread",
    .source = "microbenchmark: memory bound, no scratchpad; parameter n",
    .kernels = "vecadd",
    .run = run,
    .bench = true,
};
