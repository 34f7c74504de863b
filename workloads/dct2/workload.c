/* dct2: inverse 8x8 cosine transform, 32 x 16 pixels a block; 2112 B of scratchpad. */
#include "../dct1/dct.h"

static bool
run(struct allot_run *r)
{
    return dct_run(r, "CUDAkernel2IDCT", true, 32, 16, 64, 1, 20);
}

const struct allot_workload allot_workload_dct2 = {
    .name = "dct2",
    .summary =
        "inverse 8x8 cosine transform, 32 x 16 pixels a block; 2112 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernel2IDCT: 000 Table I",
    .kernels = "CUDAkernel2IDCT",
    .run = run,
};
