/* dct4: inverse 8x8 cosine transform in whole numbers; 2176 B of scratchpad. */
#include "../dct3/short.h"

static bool
run(struct allot_run *r)
{
    return short_run(r, "CUDAkernelShortIDCT", true);
}

const struct allot_workload allot_workload_dct4 = {
    .name = "dct4",
    .summary = "inverse 8x8 cosine transform in whole numbers; 2176 B of scratchpad",
    .source = "CUDA SDK dct8x8, CUDAkernelShortIDCT: 000 Table I",
    .kernels = "CUDAkernelShortIDCT",
    .run = run,
};
