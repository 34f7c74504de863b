/* matmul: product of two square matrices by tiles. */
#include "matmul.h"

static bool
run(struct allot_run *r)
{
    return matrix_product(r, 0);
}

const struct allot_workload allot_workload_matmul = {
    .name = "matmul",
    .summary = "matrix product by 16 x 16 tiles in scratchpad",
    .source = "microbenchmark: the textbook tiled product",
    .kernels = "matmul",
    .run = run,
    .bench = true,
};
