/* srad_v2_24: speckle reducing anisotropic diffusion, blocks of 24 x 24. */
#define TILE 24
#include "../srad_v2/srad.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? srad(r, 50, 60, 1) : srad(r, 384, 384, 1);
}

const struct allot_workload allot_workload_srad_v2_24 = {
    .name = "srad_v2_24",
    .summary =
        "image denoising by diffusion, blocks of 576; 13824 and 11520 B of scratchpad",
    .source = "Rodinia srad_v2, srad_cuda_1 and srad_cuda_2: 000 Tables I, V",
    .kernels = "srad_cuda_1 srad_cuda_2",
    .run = run,
};
