/* srad_v2: speckle reducing anisotropic diffusion, blocks of 16 x 16. */
#define TILE 16
#include "srad.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? srad(r, 40, 52, 2) : srad(r, 256, 256, 2);
}

const struct allot_workload allot_workload_srad_v2 = {
    .name = "srad_v2",
    .summary =
        "image denoising by diffusion, blocks of 256; 6144 and 5120 B of scratchpad",
    .source = "Rodinia srad_v2, srad_cuda_1 and srad_cuda_2: 001 Tables 2.2, 2.8",
    .kernels = "srad_cuda_1 srad_cuda_2",
    .run = run,
};
