/* matmul: C = A B for square row-major matrices, by tiles of 16 x 16 staged in scratchpad.
 * n is a multiple of 16; block (16, 16), grid (n / 16, n / 16). */
#define TILE 16

extern "C" __global__ void
matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int t = 0; t < n / TILE; t++) {
        tile_a[ty][tx] = a[row * n + t * TILE + tx];
        tile_b[ty][tx] = b[(t * TILE + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads(); /* before the next step overwrites the tiles */
    }
    c[row * n + col] = sum;
}
