/* conv1: convolution of an image's rows, radius 8. */
#include "conv.h"

static bool
run(struct allot_run *r)
{
    return convolution(r, "convolutionRowsKernel", 1, 0, 16, 4, 128, 4, 0, 6, 120);
}

const struct allot_workload allot_workload_conv1 = {
    .name = "conv1",
    .summary = "convolution of an image's rows, radius 8; 2560 B of scratchpad a block",
    .source = "CUDA SDK convolutionSeparable, convolutionRowsKernel: 001 Table 2.2",
    .kernels = "convolutionRowsKernel",
    .run = run,
};
