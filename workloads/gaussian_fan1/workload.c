/* gaussian_fan1: Gaussian elimination, multipliers by blocks of 512 threads. */
#include "gaussian.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? gaussian(r, 1300, 8, 2, 512, 16)
                    : gaussian(r, 14 * 6 * 3 * 512, 4, 2, 512, 16);
}

const struct allot_workload allot_workload_gaussian_fan1 = {
    .name = "gaussian_fan1",
    .summary = "Gaussian elimination, the multipliers; no scratchpad",
    .source = "Rodinia gaussian, Fan1: 000 Table IV",
    .kernels = "Fan1",
    .run = run,
};
