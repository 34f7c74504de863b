/* scalarprod: scalar products of pairs of vectors. */
#include "scalarprod.h"

static bool
run(struct allot_run *r)
{
    return scalar_products(r, 256, 0, 14 * 8 * 4);
}

const struct allot_workload allot_workload_scalarprod = {
    .name = "scalarprod",
    .summary = "scalar products of pairs of vectors; 4096 B of scratchpad a block",
    .source = "CUDA SDK scalarProd, scalarProdGPU: 001 Table 4.3",
    .kernels = "scalarProdGPU",
    .run = run,
};
