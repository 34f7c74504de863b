/* gaussian_fan2: Gaussian elimination, rows subtracted by blocks of 4 x 4 threads. */
#include "../gaussian_fan1/gaussian.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? gaussian(r, 40, 41, 2, 512, 4) : gaussian(r, 208, 208, 4, 512, 4);
}

const struct allot_workload allot_workload_gaussian_fan2 = {
    .name = "gaussian_fan2",
    .summary =
        "Gaussian elimination, the subtraction, blocks of 16 threads; no scratchpad",
    .source = "Rodinia gaussian, Fan2: 001 Table 2.4",
    .kernels = "Fan2",
    .run = run,
};
