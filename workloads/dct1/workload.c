/* dct1: 8x8 cosine transform of an image, 32 x 16 pixels a block; 2112 B of scratchpad.
 */
#include "dct.h"

static bool
run(struct allot_run *r)
{
    return dct_run(r, "CUDAkernel2DCT", false, 32, 16, 64, 1, 20);
}

const struct allot_workload allot_workload_dct1 = {
    .name = "dct1",
    .summary =
        "8x8 cosine transform of an image, 32 x 16 pixels a block; 2112 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernel2DCT: 000 Table I",
    .kernels = "CUDAkernel2DCT",
    .run = run,
};
