/* Range queries in a B+ tree of order 508: a block finds the leaves and places of one
 * query's two ends, a thread a key of the node at hand; between levels they go down by
 * the node numbers that one thread each found. */
#define ORDER 508

struct knode {
    int location;
    int indices[ORDER + 1];
    int keys[ORDER + 1];
    int is_leaf;
    int num_keys;
};

extern "C" __global__ void
findRangeK(int height, const struct knode *knodes, int *currKnode, int *offset,
           int *lastKnode, int *offset_2, const int *start, const int *end,
           int *RecstartD, int *ReclenD)
{
    int tid = threadIdx.x, bid = blockIdx.x;

    for (int level = 0; level < height; level++) {
        const struct knode *a = &knodes[currKnode[bid]], *b = &knodes[lastKnode[bid]];
        if (a->keys[tid] <= start[bid] && a->keys[tid + 1] > start[bid])
            offset[bid] = a->indices[tid];
        if (b->keys[tid] <= end[bid] && b->keys[tid + 1] > end[bid])
            offset_2[bid] = b->indices[tid];
        __syncthreads();
        if (tid == 0) {
            currKnode[bid] = offset[bid];
            lastKnode[bid] = offset_2[bid];
        }
        __syncthreads();
    }
    const struct knode *leaf = &knodes[currKnode[bid]];
    if (leaf->keys[tid] == start[bid])
        RecstartD[bid] = leaf->indices[tid];
    __syncthreads();
    leaf = &knodes[lastKnode[bid]];
    if (leaf->keys[tid] == end[bid])
        ReclenD[bid] = leaf->indices[tid] - RecstartD[bid] + 1;
}
