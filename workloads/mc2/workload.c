/* mc2: triangles of a surface, cells in blocks of 48. */
#include "../mc1/triangles.h"

static bool
run(struct allot_run *r)
{
    return marching_cubes(r, 48, 0, true);
}

const struct allot_workload allot_workload_mc2 = {
    .name = "mc2",
    .summary = "marching cubes, blocks of 48; 13824 B of scratchpad a block",
    .source = "CUDA SDK marchingCubes, generateTriangles: 000 Table VII",
    .kernels = "generateTriangles",
    .run = run,
};
