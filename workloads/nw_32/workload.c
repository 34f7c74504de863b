/* nw_32: alignment of sequences, tiles of 32 x 32 by blocks of 32 threads. */
#define BLOCK 32
#include "../nw/needle.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? needle(r, 64, 2) : needle(r, 256, 16);
}

const struct allot_workload allot_workload_nw_32 = {
    .name = "nw_32",
    .summary = "Needleman-Wunsch alignment, blocks of 32; 8452 B of scratchpad a block",
    .source = "Rodinia nw, needle_cuda_shared_1 and _2: 000 Tables I, V, VII",
    .kernels = "needle_cuda_shared_1 needle_cuda_shared_2",
    .run = run,
};
