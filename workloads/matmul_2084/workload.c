/* matmul_2084: product of two square matrices by tiles. */
#include "../matmul/matmul.h"

enum { RESERVED = 2084 - 2048 };

static bool
run(struct allot_run *r)
{
    return matrix_product(r, RESERVED);
}

const struct allot_workload allot_workload_matmul_2084 = {
    .name = "matmul_2084",
    .summary = "matrix product by 16 x 16 tiles; 2084 B of scratchpad a block",
    .source = "CUDA SDK matrixMul (MM): 003 Table 1",
    .kernels = "matmul",
    .run = run,
};
