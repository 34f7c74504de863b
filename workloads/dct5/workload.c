/* dct5: 8x8 cosine transform as matrix products, a thread an element; 512 B of
 * scratchpad. */
#include "../dct1/dct.h"

static bool
run(struct allot_run *r)
{
    double a[8][8];
    float matrix[64];
    dct_matrix(a);
    for (int i = 0; i < 64; i++)
        matrix[i] = (float)a[i / 8][i % 8];
    uint64_t addr, bytes;
    if (!wl_symbol(r, "A", &addr, &bytes))
        return wl_fail(r, "the module has no matrix A");
    wl_write(r, addr, matrix, sizeof matrix);
    return dct_run(r, "CUDAkernel1DCT", false, 8, 8, 8, 8, 40);
}

const struct allot_workload allot_workload_dct5 = {
    .name = "dct5",
    .summary =
        "8x8 cosine transform as matrix products, a thread an element; 512 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernel1DCT: 000 Table IV",
    .kernels = "CUDAkernel1DCT",
    .run = run,
};
