/* spmv: product of a sparse matrix, stored as jagged diagonals, and a vector. */
#include "allot/workload.h"

#include <stdlib.h>

enum { THREADS = 192, DIAGONALS = 128, WARPS = 12288, WARP = 32 };

static void
set(struct allot_run *r, const char *name, const void *value, uint64_t bytes)
{
    uint64_t at, size;
    if (!wl_symbol(r, name, &at, &size))
        wl_fail(r, "the module has no %s", name);
    else
        wl_write(r, at, value, bytes);
}

/* Elements of a row: 4 to 19, one row in 16 has up to 64 more. */
static int
elements_of_row(uint64_t *rng)
{
    uint64_t v = wl_random(rng);
    return 4 + (int)(v % 16) + (v >> 8 & 15 ? 0 : (int)(v >> 16 & 63));
}

static bool
run(struct allot_run *r)
{
    /* parameter rows: of a square matrix */
    int n =
        (int)wl_param(r, "rows", r->quick ? 500 : 14 * 8 * 4 * THREADS, 1, WARPS * WARP);
    size_t rows = (size_t)n, padded = (rows + WARP - 1) / WARP * WARP, cells = 0;
    int32_t *count = malloc(4 * rows), *row_of = malloc(4 * rows),
            *length = calloc(WARPS, 4), first[DIAGONALS] = {0},
            start[DIAGONALS + 1] = {0};
    float *x = malloc(4 * rows), *got = malloc(4 * rows), *want = malloc(4 * rows),
          *value = NULL;
    int32_t *column = NULL;
    bool ok = count && row_of && length && x && got && want;
    uint64_t rng = r->seed;
    if (ok) {
        /* The longest rows first, equal ones in their order: a counting sort. */
        for (size_t i = 0; i < rows; i++) {
            count[i] = elements_of_row(&rng);
            start[DIAGONALS - count[i]]++;
        }
        for (int k = DIAGONALS, sum = n; k >= 0; k--)
            start[k] = sum -= start[k];
        for (size_t i = 0; i < rows; i++)
            row_of[start[DIAGONALS - count[i]]++] = (int32_t)i;
        for (size_t i = 0; i < padded; i += WARP)
            length[i / WARP] = count[row_of[i]];
        for (int k = 0; k < length[0]; k++) {
            first[k] = (int32_t)cells;
            for (size_t w = 0; w < padded / WARP && length[w] > k; w++)
                cells += WARP;
        }
        value = calloc(cells, 4);
        column = calloc(cells, 4);
        ok = value && column;
    }
    if (ok) {
        for (size_t i = 0; i < rows; i++)
            x[i] = wl_uniform(&rng, 0.0f, 1.0f);
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (int k = 0; k < count[row_of[i]]; k++) {
                size_t at = (size_t)first[k] + i;
                value[at] = wl_uniform(&rng, 0.0f, 1.0f);
                column[at] = (int32_t)(wl_random(&rng) % rows);
                sum += (double)value[at] * x[column[at]];
            }
            want[row_of[i]] = (float)sum;
        }
        set(r, "first", first, sizeof first);
        set(r, "length", length, 4 * WARPS);
        uint64_t d_value = wl_upload(r, value, 4 * cells),
                 d_column = wl_upload(r, column, 4 * cells),
                 d_row = wl_upload(r, row_of, 4 * rows), d_x = wl_upload(r, x, 4 * rows),
                 d_y = wl_alloc(r, 4 * rows);
        wl_launch(r, "spmv_jds", (uint32_t)((n + THREADS - 1) / THREADS), 1, 1, THREADS,
                  1, 1, 0, &d_y, &d_value, &d_column, &d_row, &d_x, &n);
        wl_read(r, d_y, got, 4 * rows);
        /* At most 82 products, none negative; two roundings each. */
        wl_check_f32(r, "elements", got, want, rows, 164 * 0x1p-24f, 0.0f);
        wl_free(r, d_value);
        wl_free(r, d_column);
        wl_free(r, d_row);
        wl_free(r, d_x);
        wl_free(r, d_y);
    } else {
        wl_fail(r, "out of memory");
    }
    free(count);
    free(row_of);
    free(length);
    free(x);
    free(got);
    free(want);
    free(value);
    free(column);
    return r->ok;
}

const struct allot_workload allot_workload_spmv = {
    .name = "spmv",
    .summary = "sparse matrix times vector, jagged diagonals; 192 threads, no scratchpad",
    .source = "Parboil spmv, spmv_jds: 001 Table 4.3",
    .kernels = "spmv_jds",
    .run = run,
};
