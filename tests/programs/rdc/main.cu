/* main.cu: relocatable device code: kernels, functions and variables of one object used by
 * another, function pointers, and two kernels of the same name in different objects. */
#include "../check.h"

extern __device__ int offset;
extern __constant__ int table[4];
__device__ int triple(int x);
typedef int (*function)(int);
extern __device__ function chosen[2];
void launch_other(int *out);

static __global__ void kernel(int *out) {
    out[threadIdx.x] = triple(threadIdx.x) + offset + table[threadIdx.x % 4] +
                       chosen[threadIdx.x & 1](threadIdx.x);
}

int main() {
    int *dev, host[64], five = 5;
    OK(cudaMalloc(&dev, sizeof host));
    OK(cudaMemcpyToSymbol(offset, &five, sizeof five));
    kernel<<<1, 64>>>(dev);
    OK(cudaMemcpy(host, dev, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EQ(host[i], 3 * i + 5 + 10 * (i % 4) + (i & 1 ? i * i : i + 1));
    launch_other(dev);
    OK(cudaMemcpy(host, dev, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EQ(host[i], -i);
    return 0;
}
