/* Product of a matrix and a vector, a row a thread. A block goes along its 32 rows in tiles
 * of 32 x 32: a tile comes in row by row, so that a warp reads consecutive addresses, and
 * goes out of scratchpad with a row for each thread. A line of the tile is padded by a
 * number, so that neither direction has bank conflicts. Sides are multiples of 32. */
#define TILE 32

extern "C" __global__ void
mv(float *y, const float *a, const float *x, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int t = threadIdx.x, row = blockIdx.x * TILE;
    const float *in = a + (size_t)row * cols + t;
    float sum = 0.0f;

    for (int col = 0; col < cols; col += TILE) {
#pragma unroll
        for (int i = 0; i < TILE; i++)
            tile[i][t] = in[i * cols + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += tile[t][k] * x[col + k];
        __syncthreads(); /* before the next tile overwrites this one */
    }
    y[row + t] = sum;
}
