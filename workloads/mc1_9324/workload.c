/* mc1_9324: triangles of a surface, cells in blocks of 32, the table a texture. */
#include "../mc1/triangles.h"

enum { RESERVED = 9324 - 9216 };

static bool
run(struct allot_run *r)
{
    return marching_cubes(r, 32, RESERVED, false);
}

const struct allot_workload allot_workload_mc1_9324 = {
    .name = "mc1_9324",
    .summary = "marching cubes, blocks of 32, a 1D texture; 9324 B of scratchpad a block",
    .source = "CUDA SDK marchingCubes (MC), generateTriangles: 003 Table 1",
    .kernels = "generateTriangles",
    .run = run,
};
