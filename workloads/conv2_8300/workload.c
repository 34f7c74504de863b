/* conv2_8300: convolution of an image's columns, blocks of 112 rows. */
#include "../conv1/conv.h"

enum { RESERVED = 8300 - 8256 };

static bool
run(struct allot_run *r)
{
    return convolution(r, "convolutionColumnsKernel", 0, 1, 16, 8, 16, 112, RESERVED, 48,
                       8);
}

const struct allot_workload allot_workload_conv2_8300 = {
    .name = "conv2_8300",
    .summary =
        "convolution of an image's columns, radius 8; 8300 B of scratchpad a block",
    .source = "CUDA SDK convolutionSeparable (CV), convolutionColumnsKernel: 003 Table 1",
    .kernels = "convolutionColumnsKernel",
    .run = run,
};
