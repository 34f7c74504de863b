/* conv2: convolution of an image's columns, radius 8. */
#include "../conv1/conv.h"

static bool
run(struct allot_run *r)
{
    return convolution(r, "convolutionColumnsKernel", 0, 1, 16, 8, 16, 64, 0, 48, 8);
}

const struct allot_workload allot_workload_conv2 = {
    .name = "conv2",
    .summary =
        "convolution of an image's columns, radius 8; 5184 B of scratchpad a block",
    .source = "CUDA SDK convolutionSeparable, convolutionColumnsKernel: 001 Table 2.2",
    .kernels = "convolutionColumnsKernel",
    .run = run,
};
