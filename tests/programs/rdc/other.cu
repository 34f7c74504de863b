/* other.cu: what main.cu refers to. */
#include "../check.h"

__device__ int offset = 1;
__constant__ int table[4] = {0, 10, 20, 30};
__device__ int triple(int x) { return 3 * x; }
__device__ int next(int x) { return x + 1; }
__device__ int square(int x) { return x * x; }
typedef int (*function)(int);
__device__ function chosen[2] = {next, square};

static __global__ void kernel(int *out) { out[threadIdx.x] = -(int)threadIdx.x; }

void launch_other(int *out) {
    kernel<<<1, 64>>>(out);
    OK(cudaGetLastError());
}
