/* nw: alignment of sequences, tiles of 16 x 16 by blocks of 16 threads. */
#define BLOCK 16
#include "needle.h"

static bool
run(struct allot_run *r)
{
    return r->quick ? needle(r, 64, 2) : needle(r, 192, 16);
}

const struct allot_workload allot_workload_nw = {
    .name = "nw",
    .summary = "Needleman-Wunsch alignment, blocks of 16; 2180 B of scratchpad a block",
    .source = "Rodinia nw, needle_cuda_shared_1 and _2: 001 Tables 2.2, 2.8",
    .kernels = "needle_cuda_shared_1 needle_cuda_shared_2",
    .run = run,
};
