/* print.cu: kernels that launch themselves, two at a time down to a depth, each block with
 * a number of its own and a line that says who launched it. */
#include "../check.h"

enum { DEPTH = 4, MOST = 128 };

#ifdef __NVCC__
__device__ int next;

__global__ void nested(int depth, int parent, int *depths, int *parents) {
    __shared__ int own;
    if (threadIdx.x == 0) {
        own = atomicAdd(&next, 1);
        depths[own] = depth;
        parents[own] = parent;
        if (parent < 0)
            printf("block %d launched by the host\n", own);
        else
            printf("%*sblock %d launched by thread %d of block %d\n", 2 * depth, "", own,
                   blockIdx.x, parent);
    }
    __syncthreads();
    if (depth + 1 < DEPTH && threadIdx.x < 2)
        nested<<<threadIdx.x + 1, 2>>>(depth + 1, own, depths, parents);
}
#else
__global__ void nested(int depth, int parent, int *depths, int *parents) {}
#endif

int main() {
    int *depths, *parents, d[MOST], p[MOST], blocks = 0, at[DEPTH] = {0};
    OK(cudaMalloc((void **)&depths, sizeof d));
    OK(cudaMalloc((void **)&parents, sizeof p));
    OK(cudaMemset(depths, 0xff, sizeof d));
    nested<<<2, 2>>>(0, -1, depths, parents);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(d, depths, sizeof d, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(p, parents, sizeof p, cudaMemcpyDeviceToHost));
    for (; blocks < MOST && d[blocks] >= 0; blocks++) {
        at[d[blocks]]++;
        if (d[blocks] == 0)
            EQ(p[blocks], -1);
        else
            EQ(d[p[blocks]], d[blocks] - 1);
    }
    /* Every block makes three on the next level. */
    for (int i = 0, want = 2; i < DEPTH; i++, want *= 3)
        EQ(at[i], want);
    return 0;
}
