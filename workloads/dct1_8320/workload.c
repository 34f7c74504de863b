/* dct1_8320: 8x8 cosine transform, 64 x 32 pixels a block of 128; 8320 B of scratchpad.
 */
#include "../dct1/dct.h"

static bool
run(struct allot_run *r)
{
    return dct_run(r, "CUDAkernel2DCT", false, 64, 32, 128, 1, 20);
}

const struct allot_workload allot_workload_dct1_8320 = {
    .name = "dct1_8320",
    .summary =
        "8x8 cosine transform, 64 x 32 pixels a block of 128; 8320 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernel2DCT: 000 Table VII",
    .kernels = "CUDAkernel2DCT",
    .run = run,
};
