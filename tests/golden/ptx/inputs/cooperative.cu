/* Cooperative groups, shuffles, votes, reductions (nvcc only). */
#include "device.cuh"
#ifndef __clang__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(int *out, const int *in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    cg::grid_group grid = cg::this_grid();
    int v = in[grid.thread_rank()];
    v = cg::reduce(tile, v, cg::plus<int>());
    block.sync();
    grid.sync();
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0)
        atomicAdd(out, v + __popc(__ballot_sync(0xffffffffu, v > n)) + __any_sync(0xffffffffu, v));
    out[1 + tile.meta_group_rank()] = tile.shfl_xor(v, 3) + __match_any_sync(0xffffffffu, v);
}
#endif
