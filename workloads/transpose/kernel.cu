/* Transpose of a matrix by tiles of 32 x 32: a tile comes in row by row and goes out column
 * by column, so that both are consecutive addresses. A line of the tile is padded by a
 * number against bank conflicts. A thread has 8 elements; sides are multiples of 32. */
#define TILE 32
#define ROWS 4

extern "C" __global__ void
transpose(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE, y = blockIdx.y * TILE, tx = threadIdx.x, ty = threadIdx.y;

#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        tile[ty + i][tx] = in[(y + ty + i) * width + x + tx];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        out[(x + ty + i) * height + y + tx] = tile[tx][ty + i];
}
