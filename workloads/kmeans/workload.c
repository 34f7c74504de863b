/* kmeans: clusters points, two steps. */
#include "allot/workload.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 576, CLUSTERS = 5, FEATURES = 8, STEPS = 2 };

static bool
run(struct allot_run *r)
{
    int nf = FEATURES, nc = CLUSTERS, n = r->quick ? 1000 : 42 * THREADS + 17;
    size_t blocks = ((size_t)n + THREADS - 1) / THREADS;
    float *x = malloc(sizeof *x * (size_t)n * FEATURES), centre[CLUSTERS * FEATURES];
    int32_t *member = malloc(4 * (size_t)n), *got = malloc(4 * (size_t)n),
            *changes = malloc(4 * blocks), *want_changes = calloc(blocks, 4),
            *sizes = malloc(4 * blocks * CLUSTERS),
            *want_sizes = calloc(blocks * CLUSTERS, 4);
    if (x && member && got && changes && want_changes && sizes && want_sizes) {
        uint64_t rng = r->seed, at, bytes;
        for (int i = 0; i < n; i++) {
            member[i] = -1;
            for (int f = 0; f < FEATURES; f++) /* points near one of the corners */
                x[f * n + i] = (float)((i * 7 + f) % CLUSTERS) * 0.25f +
                               wl_uniform(&rng, 0.0f, 0.4f);
        }
        uint64_t d_x = wl_upload(r, x, sizeof *x * (size_t)n * FEATURES),
                 d_member = wl_upload(r, member, 4 * (size_t)n),
                 d_changes = wl_alloc(r, 4 * blocks),
                 d_sizes = wl_alloc(r, 4 * blocks * CLUSTERS);
        if (!wl_symbol(r, "centres", &at, &bytes))
            wl_fail(r, "the module has no centres");
        for (int f = 0; f < FEATURES; f++)
            for (int c = 0; c < CLUSTERS; c++)
                centre[c * FEATURES + f] = x[f * n + c * 3];
        for (int step = 0; step < STEPS && r->ok; step++) {
            wl_write(r, at, centre, sizeof centre);
            wl_launch(r, "kmeansPoint", (uint32_t)blocks, 1, 1, THREADS, 1, 1, 0, &d_x,
                      &nf, &n, &nc, &d_member, &d_changes, &d_sizes);
            memset(want_changes, 0, 4 * blocks);
            memset(want_sizes, 0, 4 * blocks * CLUSTERS);
            wl_read(r, d_member, got, 4 * (size_t)n);
            wl_read(r, d_changes, changes, 4 * blocks);
            wl_read(r, d_sizes, sizes, 4 * blocks * CLUSTERS);
            double sum[CLUSTERS * FEATURES] = {0}, count[CLUSTERS] = {0};
            for (int i = 0; i < n && r->ok; i++) {
                int best = 0;
                double least = 1e300, mine = 0;
                for (int c = 0; c < CLUSTERS; c++) {
                    double d = 0;
                    for (int f = 0; f < FEATURES; f++) {
                        double e = (double)x[f * n + i] - centre[c * FEATURES + f];
                        d += e * e;
                    }
                    if (d < least) {
                        least = d;
                        best = c;
                    }
                    if (c == got[i])
                        mine = d;
                }
                /* Rounding may choose the other of two that are equally near. */
                if (got[i] < 0 || got[i] >= CLUSTERS || mine > least * (1 + 0x1p-18))
                    wl_fail(r, "point %d is in cluster %d, not %d", i, got[i], best);
                else
                    best = got[i];
                want_changes[i / THREADS] += member[i] != best;
                want_sizes[i / THREADS * CLUSTERS + best]++;
                member[i] = best;
                count[best]++;
                for (int f = 0; f < FEATURES; f++)
                    sum[best * FEATURES + f] += x[f * n + i];
            }
            wl_check_i32(r, "changes of a block", changes, want_changes, blocks);
            wl_check_i32(r, "cluster sizes of a block", sizes, want_sizes,
                         blocks * CLUSTERS);
            for (int k = 0; k < CLUSTERS * FEATURES; k++)
                if (count[k / FEATURES] > 0)
                    centre[k] = (float)(sum[k] / count[k / FEATURES]);
        }
        wl_free(r, d_x);
        wl_free(r, d_member);
        wl_free(r, d_changes);
        wl_free(r, d_sizes);
    } else {
        wl_fail(r, "out of memory");
    }
    free(x);
    free(member);
    free(got);
    free(changes);
    free(want_changes);
    free(sizes);
    free(want_sizes);
    return r->ok;
}

const struct allot_workload allot_workload_kmeans = {
    .name = "kmeans",
    .summary = "nearest cluster centres, two steps; 4608 B of scratchpad a block",
    .source = "Rodinia kmeans, kmeansPoint: 000 Table VII",
    .kernels = "kmeansPoint",
    .run = run,
};
