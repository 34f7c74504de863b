/* mc1: triangles of a surface, cells in blocks of 32. */
#include "triangles.h"

static bool
run(struct allot_run *r)
{
    return marching_cubes(r, 32, 0, true);
}

const struct allot_workload allot_workload_mc1 = {
    .name = "mc1",
    .summary = "marching cubes, blocks of 32; 9216 B of scratchpad a block",
    .source = "CUDA SDK marchingCubes, generateTriangles: 000 Tables I, VII",
    .kernels = "generateTriangles",
    .run = run,
};
