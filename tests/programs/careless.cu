/* careless.cu MODE: programs that print success whatever becomes of their launches, for
 * tests of what `allot exec` says of them (tests/e2e/cuda-programs.sh). Without MODE all
 * launches are right. */
#include "check.h"

__global__ void fill(int *p, int n, int v) {
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x & 63] = v;
    __syncthreads();
    if (i < n)
        p[i] = tile[threadIdx.x & 63];
}

/* Adds the row above, which row 0 does not have. */
__global__ void row_above(const int *in, int *out, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i - width];
}

int main(int argc, char **argv) {
    enum { N = 256 };
    int *p, *q, host[N] = {0};
    const char *mode = argc > 1 ? argv[1] : "";
    OK(cudaMalloc(&p, sizeof host));
    OK(cudaMalloc(&q, sizeof host));
    fill<<<1, N>>>(p, N, 5);
    if (!strcmp(mode, "fault")) {
        fill<<<3, N>>>(q, 3 * N, 7);
    } else if (!strcmp(mode, "fault, reset at the end")) {
        fill<<<3, N>>>(q, 3 * N, 7);
        cudaDeviceReset();
    } else if (!strcmp(mode, "fault, new start")) {
        fill<<<3, N>>>(q, 3 * N, 7);
        cudaDeviceReset();
        OK(cudaMalloc(&p, sizeof host));
        fill<<<1, N>>>(p, N, 5);
    } else if (!strcmp(mode, "refused")) {
        fill<<<1, 2048>>>(p, N, 7);
        fill<<<1, 2048>>>(p, N, 7);
        fill<<<1, N, 1 << 20>>>(p, N, 7);
        fill<<<dim3(1, 70000), N>>>(p, N, 7);
    } else if (!strcmp(mode, "refused, asked")) {
        fill<<<1, 2048>>>(p, N, 7);
        IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    } else if (!strcmp(mode, "row above")) {
        row_above<<<4, N / 4>>>(p, q, 16);
        cudaMemcpy(host, q, sizeof host, cudaMemcpyDeviceToHost);
        printf("first %d, seventeenth %d\n", host[0], host[16]);
    }
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    puts("careless: success");
    return 0;
}
