/* dct2_8320: inverse 8x8 cosine transform, 64 x 32 pixels a block of 128; 8320 B of
 * scratchpad. */
#include "../dct1/dct.h"

static bool
run(struct allot_run *r)
{
    return dct_run(r, "CUDAkernel2IDCT", true, 64, 32, 128, 1, 20);
}

const struct allot_workload allot_workload_dct2_8320 = {
    .name = "dct2_8320",
    .summary =
        "inverse 8x8 cosine transform, 64 x 32 pixels a block of 128; 8320 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernel2IDCT: 000 Table VII",
    .kernels = "CUDAkernel2IDCT",
    .run = run,
};
