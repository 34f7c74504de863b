/* scalarprod_4144: scalar products of pairs of vectors, blocks of 64. */
#include "../scalarprod/scalarprod.h"

enum { RESERVED = 4144 - 4096 };

static bool
run(struct allot_run *r)
{
    return scalar_products(r, 64, RESERVED, 14 * 8 * 4);
}

const struct allot_workload allot_workload_scalarprod_4144 = {
    .name = "scalarprod_4144",
    .summary = "scalar products, blocks of 64; 4144 B of scratchpad a block",
    .source = "CUDA SDK scalarProd (SP), scalarProdGPU: 003 Table 1",
    .kernels = "scalarProdGPU",
    .run = run,
};
