/* dct3: 8x8 cosine transform in whole numbers, 32 x 32 a block; 2176 B of scratchpad. */
#include "short.h"

static bool
run(struct allot_run *r)
{
    return short_run(r, "CUDAkernelShortDCT", false);
}

const struct allot_workload allot_workload_dct3 = {
    .name = "dct3",
    .summary =
        "8x8 cosine transform in whole numbers, 32 x 32 a block; 2176 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernelShortDCT: 000 Table I",
    .kernels = "CUDAkernelShortDCT",
    .run = run,
};
